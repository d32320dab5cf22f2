//! Custom resources: what a CustomResourceDefinition adds to the served kinds.

use std::sync::Arc;

use serde_json::Value;

use crate::registry::Served;
use crate::columns::CustomColumns;
use crate::field::FieldError;

/// What the stored definitions serve.
pub fn served(_definitions: &[Arc<Value>]) -> Vec<Arc<Served>> {
    Vec::new()
}

/// Where a custom resource has its replicas.
#[derive(Debug, Clone, Default)]
pub struct Scale {
    /// The path of the wanted number.
    pub spec_replicas: String,
    /// The path of the number there is.
    pub status_replicas: String,
    /// The path of the selector, as text.
    pub label_selector: Option<String>,
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct CustomResource {
    /// The kind of its lists.
    pub list_kind: String,
    /// It has the status subresource.
    pub has_status: bool,
    /// Its scale subresource.
    pub scale: Option<Scale>,
    /// What `kubectl get` shows.
    pub columns: CustomColumns,
}

impl CustomResource {
    /// Drops what the schema does not know and fills in its defaults.
    pub fn prune_and_default(&self, _object: &mut Value) {}

    /// What selectors may ask of an object beyond its metadata.
    pub fn selectable_fields(&self, _object: &Value) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether a field can be selected by.
    pub fn is_selectable(&self, _field: &str) -> bool {
        false
    }

    /// Makes a new object ready.
    pub fn prepare_create(&self, _object: &mut Value) {}

    /// Makes another state ready.
    pub fn prepare_update(&self, _subresource: &str, _new: &mut Value, _old: &Value) {}

    /// What is wrong with a new object.
    pub fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with another state.
    pub fn validate_update(&self, _subresource: &str, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }
}
