//! RuntimeClass.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::found::{Found, IMMUTABLE};
use super::gojson::Type;
use super::gotypes::TOLERATION;
use crate::field::FieldError;
use crate::validation::meta;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, at, get, has, list, str_value, text};
use crate::validation::resources::{container_resource_name, requirements};

/// A new class.
pub(super) fn create(found: &mut Found, new: &Value) {
    class(found, new, true);
}

/// A class that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    let (handler, before) = (text(new, "handler"), text(old, "handler"));
    let path = Path::new("handler");
    // A changed handler is refused as such by the declarative rules, which then look no further than whether it is there.
    if handler != before {
        found.late(FieldError::invalid(&path, &Value::Null, IMMUTABLE));
    }
    class(found, new, handler.is_empty() && handler != before);
    found.plain_metadata_update(new, old);
}

fn class(found: &mut Found, new: &Value, declarative: bool) {
    found.plain_metadata(new, false, name_is_dns_subdomain);
    let (handler, path) = (text(new, "handler"), Path::new("handler"));
    let mut say = |error| if declarative { found.late(error) } else { found.push(error) };
    if handler.is_empty() {
        say(FieldError::required(&path, ""));
    } else {
        for complaint in names::is_dns1123_label(handler) {
            let complaint = if declarative { names::declared(&complaint) } else { complaint };
            say(FieldError::invalid(&path, &str_value(handler), complaint));
        }
    }
    // To upstream, what the runtime itself needs are the limits of a container.
    let overhead = json!({"limits": at(new, &["overhead", "podFixed"])});
    let none = BTreeSet::new();
    found.extend(requirements(&overhead, container_resource_name, &none, false, &Path::new("overhead")));
    let path = Path::new("scheduling");
    found.extend(meta::labels(get(new, "scheduling"), "nodeSelector", &path.child("nodeSelector")));
    tolerations(found, list(at(new, &["scheduling"]), "tolerations"), &path.child("tolerations"));
}

fn tolerations(found: &mut Found, tolerations: &[Value], path: &Path) {
    for (i, toleration) in tolerations.iter().enumerate() {
        let path = path.index(i);
        let word = |name| text(toleration, name);
        let (key, value, effect) = (word("key"), word("value"), word("effect"));
        if !key.is_empty() {
            found.extend(meta::label_name(key, &path.child("key")));
        } else if word("operator") != "Exists" {
            let said = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            found.invalid(path.child("operator"), word("operator"), said);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            found.invalid(path.child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match word("operator") {
            "Equal" | "" => {
                let complaints = names::is_label_value(value);
                if !complaints.is_empty() {
                    found.invalid(path.child("operator"), value, complaints.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    found.invalid(path.child("operator"), value, "value must be empty when `operator` is 'Exists'");
                }
            }
            other @ ("Lt" | "Gt") => {
                found.unsupported(&path.child("operator"), other, &["Equal", "Exists", "Lt", "Gt"])
            }
            other => found.unsupported(&path.child("operator"), other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() && !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            found.unsupported(&path.child("effect"), effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
    let same =
        |a: &Value, b: &Value| ["key", "operator", "value", "effect"].iter().all(|name| text(a, name) == text(b, name));
    for (i, toleration) in tolerations.iter().enumerate() {
        if tolerations.iter().take(i).any(|other| same(other, toleration)) {
            found.duplicate_struct(&path.index(i), Type::Struct(TOLERATION), toleration);
        }
    }
}
