//! The kinds of resource.k8s.io: names, and that claims do not change. What they ask for is not looked at.

use serde_json::Value;

use super::found::{Found, IMMUTABLE};
use crate::field::FieldError;
use crate::validation::names::name_is_dns_subdomain;
use crate::validation::path::{get, same};

/// A new claim, or a template of one.
pub(super) fn create_claim(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
}

/// A claim that replaces another.
pub(super) fn update_claim(found: &mut Found, new: &Value, old: &Value) {
    create_claim(found, new);
    found.metadata_update(new, old);
    if !same(get(new, "spec"), get(old, "spec")) {
        found.late(FieldError::invalid("spec", &Value::Null, IMMUTABLE));
    }
}

/// A template that replaces another.
pub(super) fn update_template(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    if !same(get(new, "spec"), get(old, "spec")) {
        found.invalid("spec", get(new, "spec").clone(), IMMUTABLE);
    }
}

/// A new class or slice.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
}

/// A class or slice that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    create(found, new);
    found.metadata_update(new, old);
}
