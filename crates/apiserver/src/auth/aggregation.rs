//! Aggregated ClusterRoles: a role with an `aggregationRule` holds the rules of all roles that its selectors choose.
//!
//! Upstream leaves this to a controller; the embedded server does it itself, so that `admin`, `edit` and `view` work from the start.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The new `rules` of each aggregated role whose rules are not what its selectors choose, by name.
///
/// One call settles roles that aggregate other aggregated roles too (`admin` holds `edit`, which holds `view`): rounds go on
/// until nothing changes, and a circle ends because rules are only ever gathered once.
pub fn aggregate<'a>(cluster_roles: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, Value> {
    let roles: BTreeMap<&str, &Value> =
        cluster_roles.into_iter().filter_map(|role| Some((name(role)?, role))).collect();
    let mut rules: BTreeMap<&str, Vec<Value>> = roles.iter().map(|(name, role)| (*name, list(role, "rules"))).collect();
    let mut changed: BTreeMap<String, Value> = BTreeMap::new();
    // A chain of n roles settles in n rounds; one more would mean a circle that keeps turning.
    for _ in 0..=roles.len() {
        let mut moved = false;
        for (name, role) in &roles {
            let Some(wanted) = gathered(name, role, &roles, &rules) else { continue };
            if rules.get(name).is_some_and(|has| *has == wanted) {
                continue;
            }
            moved = true;
            changed.insert((*name).to_owned(), Value::Array(wanted.clone()));
            rules.insert(name, wanted);
        }
        if !moved {
            break;
        }
    }
    changed.retain(|name, new| roles.get(name.as_str()).is_none_or(|role| Value::Array(list(role, "rules")) != *new));
    changed
}

fn gathered(
    name: &str,
    role: &Value,
    roles: &BTreeMap<&str, &Value>,
    rules: &BTreeMap<&str, Vec<Value>>,
) -> Option<Vec<Value>> {
    let aggregation = role.get("aggregationRule").filter(|rule| rule.is_object())?;
    let mut out: Vec<Value> = Vec::new();
    for selector in list(aggregation, "clusterRoleSelectors") {
        for (other, candidate) in roles {
            if *other == name || !selects(&selector, candidate)? {
                continue;
            }
            for rule in rules.get(other).into_iter().flatten() {
                if !out.contains(rule) {
                    out.push(rule.clone());
                }
            }
        }
    }
    Some(out)
}

/// Whether a label selector chooses an object; `None` for a selector that makes no sense, which aggregates nothing at all.
fn selects(selector: &Value, object: &Value) -> Option<bool> {
    let none = Map::new();
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).unwrap_or(&none);
    let wanted = selector.get("matchLabels").and_then(Value::as_object).unwrap_or(&none);
    let mut all = wanted.iter().all(|(key, value)| labels.get(key) == Some(value));
    for expression in list(selector, "matchExpressions") {
        let value = expression.get("key").and_then(Value::as_str).and_then(|key| labels.get(key));
        let values = list(&expression, "values");
        all &= match expression.get("operator").and_then(Value::as_str)? {
            "In" => value.is_some_and(|v| values.contains(v)),
            "NotIn" => value.is_none_or(|v| !values.contains(v)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => return None,
        };
    }
    Some(all)
}

fn name(role: &Value) -> Option<&str> {
    role.pointer("/metadata/name").and_then(Value::as_str)
}

fn list(object: &Value, key: &str) -> Vec<Value> {
    object.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, labels: Value, rules: Value, selectors: Option<Value>) -> Value {
        let mut out = json!({ "metadata": { "name": name, "labels": labels }, "rules": rules });
        if let Some(selectors) = selectors {
            out["aggregationRule"] = json!({ "clusterRoleSelectors": selectors });
        }
        out
    }

    #[test]
    fn chains_settle_in_one_call_and_stay() {
        let rule = |verb: &str| json!({ "verbs": [verb], "apiGroups": [""], "resources": ["pods"] });
        let mut roles = vec![
            role("admin", json!({}), Value::Null, Some(json!([{ "matchLabels": { "to": "admin" } }]))),
            role("edit", json!({ "to": "admin" }), Value::Null, Some(json!([{ "matchLabels": { "to": "edit" } }]))),
            role("view", json!({ "to": "edit" }), json!([rule("get")]), None),
            role("other-edit", json!({ "to": "edit" }), json!([rule("create"), rule("get")]), None),
            role("extra", json!({ "more": "x" }), json!([rule("watch")]), None),
        ];
        let changed = aggregate(&roles);
        let want = json!([rule("create"), rule("get")]);
        assert_eq!(changed.get("admin"), Some(&want));
        assert_eq!(changed.get("edit"), Some(&want));
        assert_eq!(changed.len(), 2);
        for role in &mut roles {
            let name = name(role).unwrap().to_owned();
            if let Some(rules) = changed.get(&name) {
                role["rules"] = rules.clone();
            }
        }
        assert!(aggregate(&roles).is_empty());
    }

    #[test]
    fn expressions_and_nonsense() {
        let rules = json!([{ "verbs": ["get"], "nonResourceURLs": ["/x"] }]);
        let source = role("source", json!({ "a": "1" }), rules.clone(), None);
        for (expression, chosen) in [
            (json!({ "key": "a", "operator": "In", "values": ["1", "2"] }), true),
            (json!({ "key": "a", "operator": "NotIn", "values": ["1"] }), false),
            (json!({ "key": "b", "operator": "NotIn", "values": ["1"] }), true),
            (json!({ "key": "a", "operator": "Exists" }), true),
            (json!({ "key": "a", "operator": "DoesNotExist" }), false),
            (json!({ "key": "a", "operator": "Near" }), false),
        ] {
            let roles = [
                source.clone(),
                role("all", json!({}), Value::Null, Some(json!([{ "matchExpressions": [expression.clone()] }]))),
            ];
            assert_eq!(aggregate(&roles).contains_key("all"), chosen, "{expression}");
        }
    }

    #[test]
    fn a_circle_ends() {
        let any = || Some(json!([{}]));
        let roles = [
            role("a", json!({}), json!([{ "verbs": ["get"] }]), any()),
            role("b", json!({}), json!([{ "verbs": ["list"] }]), any()),
        ];
        aggregate(&roles);
    }
}
