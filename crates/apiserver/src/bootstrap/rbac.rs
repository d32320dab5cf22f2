//! The roles and bindings of every cluster, and how those of an older store catch up.

use serde_json::{Map, Value, json};

use crate::auth::rbac::GROUP;
use crate::auth::rules::{Rule, missing};
use crate::kind::Kind;

/// Made by `e2e/kubernetes/control-plane/facts` from the release's own policy; one object a line.
const POLICY: &str = include_str!("../../data/bootstrap-rbac.json");
/// Whoever sets this to `false` on a role or binding keeps it as it is.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The roles first, then the bindings.
#[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
pub fn objects() -> Vec<(Kind<'static>, Value)> {
    let all: Vec<Value> = serde_json::from_str(POLICY).expect("data/bootstrap-rbac.json is what facts writes");
    all.into_iter().filter_map(|object| Some((kind_of(&object)?, object))).collect()
}

fn kind_of(object: &Value) -> Option<Kind<'static>> {
    let kinds = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    let kind = kinds.into_iter().find(|kind| object.get("kind").and_then(Value::as_str) == Some(kind))?;
    Some(Kind::new(GROUP, "v1", kind))
}

/// What to do with a role or binding that is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Reconciled {
    /// Nothing: it grants what it should, or is protected.
    Same,
    /// Store this instead.
    Update(Value),
    /// Delete it and create this: a binding's role cannot be changed.
    Recreate(Value),
}

/// Adds to an existing role or binding what the expected one has and it lacks (labels, annotations, rules, selectors, subjects).
/// What an administrator added stays.
pub fn reconcile(existing: &Value, expected: &Value) -> Reconciled {
    let annotation = existing.pointer("/metadata/annotations").and_then(|a| a.get(AUTO_UPDATE));
    if annotation.and_then(Value::as_str) == Some("false") {
        return Reconciled::Same;
    }
    let is_binding = expected.get("roleRef").is_some();
    if is_binding && existing.get("roleRef") != expected.get("roleRef") {
        return Reconciled::Recreate(expected.clone());
    }
    let mut updated = existing.clone();
    for key in ["annotations", "labels"] {
        merge(&mut updated, expected, key);
    }
    if is_binding {
        append(&mut updated, "subjects", list(expected, "subjects").iter());
    } else {
        let lacking = missing(&Rule::all_of(existing), &Rule::all_of(expected));
        if !lacking.is_empty() {
            let mut rules = list(existing, "rules");
            rules.extend(lacking.iter().map(Rule::to_value));
            updated["rules"] = Value::Array(rules);
        }
        match expected.get("aggregationRule") {
            None => {
                if let Some(object) = updated.as_object_mut() {
                    object.remove("aggregationRule");
                }
            }
            Some(rule) => {
                if !updated.get("aggregationRule").is_some_and(Value::is_object) {
                    updated["aggregationRule"] = json!({});
                }
                let selectors = list(rule, "clusterRoleSelectors");
                append(&mut updated["aggregationRule"], "clusterRoleSelectors", selectors.iter());
            }
        }
    }
    if updated == *existing { Reconciled::Same } else { Reconciled::Update(updated) }
}

fn list(object: &Value, key: &str) -> Vec<Value> {
    object.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn append<'a>(object: &mut Value, key: &str, wanted: impl Iterator<Item = &'a Value>) {
    let mut entries = list(object, key);
    let before = entries.len();
    for entry in wanted {
        if !entries.contains(entry) {
            entries.push(entry.clone());
        }
    }
    if entries.len() > before {
        object[key] = Value::Array(entries);
    }
}

/// Labels or annotations: what is there has precedence.
fn merge(object: &mut Value, expected: &Value, key: &str) {
    let read = |object: &Value| object.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_object).cloned();
    let mut all: Map<String, Value> = read(expected).unwrap_or_default();
    all.extend(read(object).unwrap_or_default());
    if !all.is_empty() && object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"][key] = Value::Object(all);
    }
}
