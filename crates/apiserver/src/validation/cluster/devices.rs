//! The kinds of resource.k8s.io. Slices are looked at no further than their names; expressions are not compiled.

use serde_json::{Map, Value};

use super::device_requests;
use super::found::{Found, IMMUTABLE};
use super::gojson::Type;
use super::gotypes::RESOURCE_CLAIM_TEMPLATE_SPEC;
use crate::field::FieldError;
use crate::validation::claim::template_metadata;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, get, same};

/// A new claim.
pub(super) fn create_claim(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    device_requests::spec(found, get(new, "spec"), &Path::new("spec"));
}

/// A claim that replaces another.
pub(super) fn update_claim(found: &mut Found, new: &Value, old: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    found.metadata_update(new, old);
    if !same(get(new, "spec"), get(old, "spec")) {
        found.late(FieldError::invalid("spec", &Value::Null, IMMUTABLE));
    }
}

/// A new template of claims.
pub(super) fn create_template(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_subdomain);
    template(found, new);
}

/// A template that replaces another.
pub(super) fn update_template(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    template(found, new);
    let spec = get(new, "spec");
    if !same(spec, get(old, "spec")) {
        // Inside, the metadata is no field of its own.
        let mut shown: Map<String, Value> = get(spec, "metadata").as_object().cloned().unwrap_or_default();
        shown.insert("spec".into(), get(spec, "spec").clone());
        let shown = Value::Object(shown);
        found.invalid_struct(&Path::new("spec"), Type::Struct(RESOURCE_CLAIM_TEMPLATE_SPEC), &shown, IMMUTABLE);
    }
}

fn template(found: &mut Found, new: &Value) {
    let path = Path::new("spec");
    found.extend(template_metadata(at(new, &["spec", "metadata"]), &path.child("metadata")));
    device_requests::spec(found, at(new, &["spec", "spec"]), &path.child("spec"));
}

/// A new class.
pub(super) fn create_class(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    class(found, new);
}

/// A class that replaces another.
pub(super) fn update_class(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    class(found, new);
}

fn class(found: &mut Found, new: &Value) {
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    device_requests::selectors(found, spec, &path);
    device_requests::configurations(found, spec, None, &path.child("config"));
    if let Some(name) = get(spec, "extendedResourceName").as_str() {
        let field = path.child("extendedResourceName");
        if !name.contains('/') {
            let said = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
            found.late(FieldError::invalid(&field, &name.into(), said));
        }
        device_requests::declared(found, name, extended_name(name), &field);
    }
}

/// What is wrong with a qualified name, as the declarative rule says it: what is empty is of the wrong form, and no more.
fn extended_name(name: &str) -> Vec<String> {
    let said = names::is_qualified_name(name).into_iter().filter(|said| said != "name part must be non-empty");
    let form = || names::is_dns1123_subdomain("").into_iter().map(|said| format!("prefix part {said}"));
    said.flat_map(|said| if said == "prefix part must be non-empty" { form().collect::<Vec<_>>() } else { vec![said] })
        .collect()
}

/// A new slice.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
}

/// A slice that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    create(found, new);
    found.metadata_update(new, old);
}
