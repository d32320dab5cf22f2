//! Kinds of the cluster itself: volumes, claims, storage, nodes, namespaces, services, rules. (Written apart from this.)

use serde_json::Value;

use crate::field::FieldError;
use crate::kind::Kind;

/// What is wrong with a new object; nothing said about kinds that are not known here.
pub fn create(_kind: Kind<'_>, _new: &Value) -> Option<Vec<FieldError>> {
    None
}

/// What is wrong with an object that replaces another.
pub fn update(_kind: Kind<'_>, _new: &Value, _old: &Value) -> Option<Vec<FieldError>> {
    None
}

/// What is wrong with an object written through a subresource.
pub fn update_subresource(_kind: Kind<'_>, _subresource: &str, _new: &Value, _old: &Value) -> Option<Vec<FieldError>> {
    None
}
