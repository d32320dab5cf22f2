//! CustomResourceDefinition: names, versions and conversion; schemas are in `schemas`.
//!
//! Upstream's internal type keeps what all versions share (schema, subresources, columns) once, above the versions, and its
//! refusals name it there: `spec.validation` for the schema of a definition with one version.

use serde_json::Value;

use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::CUSTOM_RESOURCE_DEFINITION_VERSION;
use super::{schemas, webhooks};
use crate::validation::names::{self, is_dns1035_label};
use crate::validation::path::{Path, at, flag, get, has, list, same, text, texts};
use crate::validation::shown::{self, go_json};

/// A new definition.
pub(super) fn create(found: &mut Found, new: &Value) {
    let (metadata, spec) = (get(new, "metadata"), get(new, "spec"));
    let name = text(metadata, "name");
    let path = Path::new("metadata").child("name");
    if !name.is_empty() {
        found.subdomain(&path, name);
        if name != format!("{}.{}", text(get(spec, "names"), "plural"), text(spec, "group")) {
            found.invalid(&path, name, "must be spec.names.plural+\".\"+spec.group");
        }
    }
    found.plain_metadata(new, false, |_, _| Vec::new());
    specification(found, spec, &Value::Null);
    rest(found, new, None);
}

/// A definition that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.plain_metadata_update(new, old);
    let (path, spec, before) = (Path::new("spec"), get(new, "spec"), get(old, "spec"));
    // What is stored stays, whatever was asked of it when it came: its finalizers must be able to go.
    if !same(spec, before) {
        specification(found, spec, before);
    }
    let established = list(get(old, "status"), "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    if established {
        found.unchanged_text(&path.child("scope"), text(spec, "scope"), text(before, "scope"));
        unchanged_name(found, spec, before, "kind");
    }
    found.unchanged_text(&path.child("group"), text(spec, "group"), text(before, "group"));
    unchanged_name(found, spec, before, "plural");
    rest(found, new, Some(old));
}

fn unchanged_name(found: &mut Found, spec: &Value, before: &Value, name: &str) {
    let path = Path::new("spec").child("names").child(name);
    found.unchanged_text(&path, text(get(spec, "names"), name), text(get(before, "names"), name));
}

/// A definition's status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.plain_metadata_update(new, old);
    accepted(found, new);
}

fn accepted(found: &mut Found, new: &Value) {
    let accepted = at(new, &["status", "acceptedNames"]);
    resource_names(found, accepted, &Path::new("status").child("acceptedNames"));
}

fn rest(found: &mut Found, new: &Value, old: Option<&Value>) {
    accepted(found, new);
    stored_versions(found, new);
    approval(found, new, old);
    let keeps_unknown = |object| flag(get(object, "spec"), "preserveUnknownFields");
    if keeps_unknown(new) && !old.is_some_and(keeps_unknown) {
        let said =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        found.invalid("spec.preserveUnknownFields", true, said);
    }
}

fn stored_versions(found: &mut Found, new: &Value) {
    let path = Path::new("status").child("storedVersions");
    let stored = texts(get(new, "status"), "storedVersions");
    let all = go_json(at(new, &["status", "storedVersions"]));
    if stored.is_empty() {
        found.push(shown::invalid(&path, "null".into(), "must have at least one stored version"));
        return;
    }
    let versions = list(get(new, "spec"), "versions");
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.contains(&name) {
            found.push(shown::invalid(&path, all.clone(), format!("must have the storage version {name}")));
        }
    }
    for (i, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == *name) {
            let said = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a \
                 storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            found.invalid(path.index(i), *name, said);
        }
    }
}

const APPROVED: &str = "api-approved.kubernetes.io";

fn approval_state(object: &Value) -> &'static str {
    let said = text(at(object, &["metadata", "annotations"]), APPROVED);
    let has_host = said.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    match said {
        "" => "missing",
        said if said.starts_with("unapproved") => "bypassed",
        _ if has_host => "approved",
        _ => "invalid",
    }
}

fn approval(found: &mut Found, new: &Value, old: Option<&Value>) {
    let group = text(get(new, "spec"), "group");
    let of = |domain: &str| group == domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    let state = approval_state(new);
    if !(of("k8s.io") || of("kubernetes.io")) || old.is_some_and(|old| approval_state(old) == state) {
        return;
    }
    let path = Path::new("metadata").child("annotations").key(APPROVED);
    let said = format!("protected groups must have approval annotation \"{APPROVED}\"");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state {
        "missing" => found.required(&path, &format!("{said}, {see}")),
        "invalid" => {
            let value = text(at(new, &["metadata", "annotations"]), APPROVED);
            found.invalid(
                &path,
                value,
                format!("{said} with either a URL or a reason starting with \"unapproved\", {see}"),
            );
        }
        _ => {}
    }
}

/// What all versions share of a field, if it is the same in all of them.
fn shared<'a>(versions: &'a [Value], name: &str) -> Option<&'a Value> {
    let first = get(versions.first()?, name);
    versions.iter().all(|version| same(get(version, name), first)).then_some(first)
}

/// `before` is what it was, if it was: schemas that were there are not looked at again.
fn specification(found: &mut Found, spec: &Value, before: &Value) {
    let path = Path::new("spec");
    let known = |schema: &Value| list(before, "versions").iter().any(|version| same(get(version, "schema"), schema));
    let group = text(spec, "group");
    if found.need(spec, "group", &path) {
        let complaints = names::is_dns1123_subdomain(group);
        if !complaints.is_empty() {
            found.invalid(path.child("group"), group, complaints.join(","));
        } else if !group.contains('.') {
            found.invalid(path.child("group"), group, "should be a domain with at least one dot");
        }
    }
    one_of(found, text(spec, "scope"), &["Cluster", "Namespaced"], &path.child("scope"));
    let versions = list(spec, "versions");
    for (i, version) in versions.iter().enumerate() {
        if !has(get(version, "schema"), "openAPIV3Schema") {
            found.required(path.child("versions").index(i).children(&["schema", "openAPIV3Schema"]), "");
        }
    }
    let has_defaults =
        |version| schemas::any(at(version, &["schema", "openAPIV3Schema"]), &|node| has(node, "default"));
    if flag(spec, "preserveUnknownFields") && versions.iter().any(has_defaults) {
        found.invalid(
            path.child("preserveUnknownFields"),
            true,
            "must be false in order to use defaults in the schema",
        );
    }
    let (schema, subresources) = (shared(versions, "schema"), shared(versions, "subresources"));
    let selectable = shared(versions, "selectableFields");
    let columns = shared(versions, "additionalPrinterColumns");
    for (i, version) in versions.iter().enumerate() {
        let path = path.child("versions").index(i);
        let name = text(version, "name");
        let complaints = is_dns1035_label(name);
        if !complaints.is_empty() {
            found.invalid(path.child("name"), name, complaints.join(","));
        }
        deprecation(found, version, &path.child("deprecationWarning"));
        if schema.is_none() && !known(get(version, "schema")) {
            schemas::check(found, get(version, "schema"), &path.child("schema"));
        }
        if subresources.is_none() {
            scale(found, get(version, "subresources"), &path.child("subresources"));
        }
        if columns.is_none() {
            self::columns(found, list(version, "additionalPrinterColumns"), &path.child("additionalPrinterColumns"));
        }
        if selectable.is_none() && !list(version, "selectableFields").is_empty() {
            let path = path.child("selectableFields");
            // The words are upstream's, and say the opposite of what they mean. A schema that all versions share is not here.
            if schema.is_some() || !has(get(version, "schema"), "openAPIV3Schema") {
                let said = "may only be set when `version.schema.openAPIV3Schema` is not included";
                found.invalid(&path, "", said);
            } else {
                let of = at(version, &["schema", "openAPIV3Schema"]);
                schemas::selectable(found, list(version, "selectableFields"), of, &path);
            }
        }
    }
    let all = || {
        let mut versions = versions.to_vec();
        for name in ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] {
            if shared(&versions, name).is_some() {
                for fields in versions.iter_mut().filter_map(Value::as_object_mut) {
                    fields.remove(name);
                }
            }
        }
        let versions = Value::Array(versions);
        gojson::compact(Type::List(&Type::Struct(CUSTOM_RESOURCE_DEFINITION_VERSION)), &versions)
    };
    let name = |version| text(version, "name");
    if (0..versions.len()).any(|i| versions.iter().take(i).any(|other| versions.get(i).map(name) == Some(name(other))))
    {
        found.push(shown::invalid(&path.child("versions"), all(), "must contain unique version names"));
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let said = "must have exactly one version marked as storage version";
        found.push(shown::invalid(&path.child("versions"), all(), said));
    }
    if let Some(first) = versions.first().map(name).filter(|name| !name.is_empty()) {
        let complaints = is_dns1035_label(first);
        if !complaints.is_empty() {
            found.invalid(path.child("version"), first, complaints.join(","));
        }
    }
    let names = get(spec, "names");
    for name in ["plural", "singular", "kind", "listKind"] {
        found.need(names, name, &path.child("names"));
    }
    resource_names(found, names, &path.child("names"));
    if let Some(schema) = schema.filter(|schema| !known(schema)) {
        schemas::check(found, schema, &path.child("validation"));
    }
    if let Some(subresources) = subresources {
        scale(found, subresources, &path.child("subresources"));
    }
    if let Some(all) = columns.and_then(Value::as_array) {
        self::columns(found, all, &path.child("additionalPrinterColumns"));
    }
    if let Some(fields) = selectable.and_then(Value::as_array).filter(|fields| !fields.is_empty()) {
        let path = path.child("selectableFields");
        match schema {
            Some(schema) => schemas::selectable(found, fields, get(schema, "openAPIV3Schema"), &path),
            None => found.invalid(&path, "", "may only be set when validations.schema is included"),
        }
    }
    conversion(found, get(spec, "conversion"), &path.child("conversion"));
}

fn one_of(found: &mut Found, word: &str, words: &[&str], path: &Path) {
    if word.is_empty() {
        found.required(path, "");
    } else if !words.contains(&word) {
        found.unsupported(path, word, words);
    }
}

fn deprecation(found: &mut Found, version: &Value, path: &Path) {
    let Some(warning) = get(version, "deprecationWarning").as_str() else { return };
    if !flag(version, "deprecated") {
        found.invalid(path, warning, "can only be set for deprecated versions");
        return;
    }
    if warning.len() > 256 {
        found.invalid(path, warning, "must be <= 256 characters long");
    }
    if warning.is_empty() {
        found.invalid(path, warning, "must not be an empty string");
    }
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        let said = format!("must only contain printable UTF-8 characters; non-printable character found at index {i}");
        found.invalid(path, warning, said);
    }
}

fn resource_names(found: &mut Found, names: &Value, path: &Path) {
    for name in ["plural", "singular"] {
        let word = text(names, name);
        let complaints = is_dns1035_label(word);
        if !word.is_empty() && !complaints.is_empty() {
            found.invalid(path.child(name), word, complaints.join(","));
        }
    }
    for name in ["kind", "listKind"] {
        let word = text(names, name);
        let complaints = is_dns1035_label(&word.to_lowercase());
        if !word.is_empty() && !complaints.is_empty() {
            let said = format!("may have mixed case, but should otherwise match: {}", complaints.join(","));
            found.invalid(path.child(name), word, said);
        }
    }
    let list_of = |found: &mut Found, name: &str| {
        for (i, word) in texts(names, name).into_iter().enumerate() {
            let complaints = is_dns1035_label(word);
            if !complaints.is_empty() {
                found.invalid(path.child(name).index(i), word, complaints.join(","));
            }
        }
    };
    list_of(found, "shortNames");
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        found.invalid(path.child("listKind"), kind, "kind and listKind may not be the same");
    }
    list_of(found, "categories");
}

fn scale(found: &mut Found, subresources: &Value, path: &Path) {
    let scale = get(subresources, "scale");
    if scale.is_null() {
        return;
    }
    for (name, under) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (target, path) = (text(scale, name), path.child("scale").child(name));
        if target.is_empty() {
            found.required(&path, "");
        } else if !target.starts_with(&format!("{under}.")) {
            found.invalid(&path, target, format!("should be a json path under {under}"));
        }
    }
    let target = text(scale, "labelSelectorPath");
    if !target.is_empty() && !target.starts_with(".spec.") && !target.starts_with(".status.") {
        let said = "should be a json path under either .spec or .status";
        found.invalid(path.child("scale").child("labelSelectorPath"), target, said);
    }
}

fn columns(found: &mut Found, columns: &[Value], path: &Path) {
    const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
    const FORMATS: &[&str] = &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (i, column) in columns.iter().enumerate() {
        let path = path.index(i);
        found.need(column, "name", &path);
        let (kind, format) = (text(column, "type"), text(column, "format"));
        let said = format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            found.required(path.child("type"), &said);
        } else if !TYPES.contains(&kind) {
            found.invalid(path.child("type"), kind, said);
        }
        if !format.is_empty() && !FORMATS.contains(&format) {
            found.invalid(path.child("format"), format, format!("must be one of {}", FORMATS.join(",")));
        }
        let target = text(column, "jsonPath");
        if target.is_empty() {
            found.required(path.child("JSONPath"), "");
        } else if !target.starts_with('.') {
            found.invalid(path.child("JSONPath"), target, "must be a simple json path starting with .");
        }
    }
}

fn conversion(found: &mut Found, conversion: &Value, path: &Path) {
    if conversion.is_null() {
        return;
    }
    let strategy = text(conversion, "strategy");
    one_of(found, strategy, &["None", "Webhook"], &path.child("strategy"));
    let webhook = get(conversion, "webhook");
    let (client, versions) = (get(webhook, "clientConfig"), texts(webhook, "conversionReviewVersions"));
    let (at, field) = (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    if strategy != "Webhook" {
        let said = "should not be set when strategy is not set to Webhook";
        if !client.is_null() {
            found.forbidden(&at, said);
        }
        if !versions.is_empty() {
            found.forbidden(&field, said);
        }
        return;
    }
    if client.is_null() {
        found.required(&at, "required when strategy is set to Webhook");
    } else {
        webhooks::client(found, client, &at);
    }
    if versions.is_empty() {
        found.required(&field, "");
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        if versions.iter().take(i).any(|other| other == version) {
            found.invalid(field.index(i), *version, "duplicate version");
            continue;
        }
        found.complain(&field.index(i), version, is_dns1035_label(version));
    }
    if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        let all = go_json(get(webhook, "conversionReviewVersions"));
        found.push(shown::invalid(&field, all, "must include at least one of v1, v1beta1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(versions: &[(&str, &str)]) -> Value {
        let versions: Vec<Value> = versions
            .iter()
            .map(|(name, pattern)| {
                let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
                json!({"name": name, "served": true, "storage": *name == "v1", "schema": {"openAPIV3Schema": schema}})
            })
            .collect();
        json!({
            "metadata": {"name": "as.x.y", "uid": "1", "resourceVersion": "1", "finalizers": ["x.y/wait"]},
            "spec": {
                "group": "x.y", "scope": "Namespaced", "versions": versions,
                "names": {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"},
            },
            "status": {"storedVersions": ["v1"], "acceptedNames": {"plural": "as", "kind": "A"}},
        })
    }

    fn said(new: &Value, old: &Value) -> Vec<String> {
        let mut found = Found::default();
        update(&mut found, new, old);
        found.finish_plainly().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_schema_that_is_stored_stays() {
        let none = Vec::<String>::new();
        let old = definition(&[("v1", "(")]);
        let mut created = Found::default();
        create(&mut created, &old);
        assert!(!created.is_empty());
        let mut released = old.clone();
        released["metadata"]["finalizers"] = json!([]);
        assert_eq!(said(&released, &old), none);
        assert_eq!(said(&definition(&[("v1", "("), ("v2", "a")]), &old), none);
        let wrong = said(&definition(&[("v1", "("), ("v2", ")")]), &old);
        assert!(matches!(wrong.as_slice(), [one] if one.starts_with("spec.versions[1].schema.")), "{wrong:?}");
        let mut wrong = released.clone();
        wrong["spec"]["scope"] = json!("Galaxy");
        let scope = r#"spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced""#;
        assert_eq!(said(&wrong, &old), [scope]);
    }
}
