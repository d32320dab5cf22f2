//! Where a pod may run: affinity, tolerations, spreading, gates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Options;
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, entries, get, has, list, number, text, texts};
use crate::validation::selectors;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// All terms of a pod (anti-)affinity.
pub fn pod_terms(affinity: &Value) -> Vec<&Value> {
    let preferred = list(affinity, PREFERRED).iter().map(|term| get(term, "podAffinityTerm"));
    list(affinity, REQUIRED).iter().chain(preferred).collect()
}

/// All affinities.
pub fn affinity(out: &mut Found, affinity: &Value, path: &Path, options: &Options) {
    let (node, field) = (get(affinity, "nodeAffinity"), path.child("nodeAffinity"));
    if has(node, REQUIRED) {
        let required = get(node, REQUIRED);
        out.extend(selectors::node_selector(required, options.node_affinity_values, &field.child(REQUIRED)));
    }
    for (i, term) in list(node, PREFERRED).iter().enumerate() {
        let field = field.child(PREFERRED).index(i);
        weight(out, term, &field);
        out.extend(selectors::node_selector_term(get(term, "preference"), true, &field.child("preference")));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (pods, field) = (get(affinity, kind), path.child(kind));
        for (i, term) in list(pods, REQUIRED).iter().enumerate() {
            pod_term(out, term, options.selector_values, &field.child(REQUIRED).index(i));
        }
        for (i, term) in list(pods, PREFERRED).iter().enumerate() {
            let field = field.child(PREFERRED).index(i);
            weight(out, term, &field);
            let inner = field.child("podAffinityTerm");
            pod_term(out, get(term, "podAffinityTerm"), options.selector_values, &inner);
        }
    }
}

fn weight(out: &mut Found, term: &Value, path: &Path) {
    let weight = number(term, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        out.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod_term(out: &mut Found, term: &Value, lenient: bool, path: &Path) {
    for name in ["labelSelector", "namespaceSelector"] {
        out.extend(selectors::label_selector(get(term, name), lenient, &path.child(name)));
    }
    for name in texts(term, "namespaces") {
        out.said(&path.child("namespace"), name, names::is_dns1123_label(name));
    }
    label_keys(out, term, true, path);
    let topology = text(term, "topologyKey");
    if topology.is_empty() {
        out.required(&path.child("topologyKey"), "can not be empty");
    }
    out.extend(meta::label_name(topology, &path.child("topologyKey")));
}

/// Keys whose values are taken from the pod itself go with the selector, and not twice.
fn label_keys(out: &mut Found, term: &Value, mismatch: bool, path: &Path) {
    let selector = get(term, "labelSelector");
    let keys = texts(term, "matchLabelKeys");
    let others = if mismatch { texts(term, "mismatchLabelKeys") } else { Vec::new() };
    for (name, keys) in [("matchLabelKeys", &keys), ("mismatchLabelKeys", &others)] {
        let field = path.child(name);
        if !keys.is_empty() && selector.is_null() {
            out.forbidden(&field, "must not be specified when labelSelector is not set");
            continue;
        }
        for (i, key) in keys.iter().enumerate() {
            out.extend(meta::label_name(key, &field.index(i)));
        }
    }
    let at: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(i, key)| (*key, i)).collect();
    let mut selected: BTreeSet<&str> = entries(selector, "matchLabels").map(|(key, _)| key.as_str()).collect();
    for wanted in list(selector, "matchExpressions") {
        let key = text(wanted, "key");
        if let Some(i) = at.get(key).filter(|_| selected.contains(key)) {
            out.invalid(&path.index(*i), key, "exists in both matchLabelKeys and labelSelector");
        }
        selected.insert(key);
    }
    for (i, key) in keys.iter().enumerate().filter(|(_, key)| others.contains(key)) {
        let field = path.child("matchLabelKeys").index(i);
        out.invalid(&field, *key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

/// The keys of a spread constraint, as they are checked now.
pub fn spread_keys(rule: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    label_keys(&mut out, rule, false, path);
    out.into_errors()
}

/// The keys of a spread constraint, as they were checked once.
fn spread_keys_before(out: &mut Found, rule: &Value, path: &Path) {
    let (selector, keys) = (get(rule, "labelSelector"), texts(rule, "matchLabelKeys"));
    if keys.is_empty() {
        return;
    }
    if selector.is_null() {
        out.forbidden(path, "must not be specified when labelSelector is not set");
    }
    let selected: BTreeSet<&str> = entries(selector, "matchLabels")
        .map(|(key, _)| key.as_str())
        .chain(list(selector, "matchExpressions").iter().map(|wanted| text(wanted, "key")))
        .collect();
    for (i, key) in keys.iter().enumerate() {
        out.extend(meta::label_name(key, &path.index(i)));
        if selected.contains(key) {
            out.invalid(&path.index(i), *key, "exists in both matchLabelKeys and labelSelector");
        }
    }
}

/// How pods are spread over a topology.
pub fn spread(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    let rules = list(spec, "topologySpreadConstraints");
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        let positive = |out: &mut Found, name: &str, value: i64| {
            if value <= 0 {
                out.invalid(&path.child(name), value, "must be greater than zero");
            }
        };
        positive(out, "maxSkew", number(rule, "maxSkew").unwrap_or_default());
        let (key, action) = (text(rule, "topologyKey"), text(rule, "whenUnsatisfiable"));
        if key.is_empty() {
            out.required(&path.child("topologyKey"), "can not be empty");
        }
        out.one_of(&path.child("whenUnsatisfiable"), action, &["DoNotSchedule", "ScheduleAnyway"]);
        let again = rules
            .iter()
            .skip(i + 1)
            .any(|other| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action);
        if again {
            out.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), format!("{{{key}, {action}}}"));
        }
        if let Some(domains) = number(rule, "minDomains") {
            positive(out, "minDomains", domains);
            if action != "DoNotSchedule" {
                let said = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                out.invalid(&path.child("minDomains"), domains, said);
            }
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if has(rule, name) {
                out.one_of(&path.child(name), text(rule, name), &["Honor", "Ignore"]);
            }
        }
        if options.spread_keys {
            spread_keys_before(out, rule, &path.child("matchLabelKeys"));
        } else {
            label_keys(out, rule, false, &path);
        }
        if !options.spread_selectors {
            let selector = get(rule, "labelSelector");
            out.extend(selectors::label_selector(selector, false, &path.child("labelSelector")));
        }
    }
}

/// Which taints are put up with.
pub fn tolerations(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    for (i, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = path.index(i);
        let (key, value) = (text(toleration, "key"), text(toleration, "value"));
        let (operator, effect) = (text(toleration, "operator"), text(toleration, "effect"));
        let field = path.child("operator");
        if !key.is_empty() {
            out.extend(meta::label_name(key, &path.child("key")));
        } else if operator != "Exists" {
            let said = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            out.invalid(&field, operator, said);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let said = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            out.invalid(&path.child("effect"), effect, said);
        }
        match operator {
            "Equal" | "" => {
                let said = names::is_label_value(value);
                if !said.is_empty() {
                    out.invalid(&field, value, said.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    out.invalid(&field, value, "value must be empty when `operator` is 'Exists'");
                }
            }
            "Lt" | "Gt" if options.comparisons => decimal(out, value, &path.child("value")),
            "Lt" | "Gt" => out.unsupported(&field, operator, &["Equal", "Exists", "Lt", "Gt"]),
            _ => out.unsupported(&field, operator, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            out.one_of(&path.child("effect"), effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

fn decimal(out: &mut Found, value: &str, path: &Path) {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical =
        value == "0" || (!digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
    if value.is_empty() {
        out.invalid(path, value, "must be non-empty");
    } else if !canonical {
        out.invalid(path, value, "must be a valid decimal integer in canonical form");
    }
    if value.parse::<i64>().is_err() {
        let why = if canonical { "value out of range" } else { "invalid syntax" };
        out.invalid(path, value, format!("strconv.ParseInt: parsing {}: {why}", crate::field::go_quoted(value)));
    }
}

/// Tolerations of a pod are only added, or last longer.
pub fn only_added_tolerations(out: &mut Found, new: &Value, old: &Value, path: &Path, options: &Options) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let now: Vec<Value> = list(new, "tolerations").iter().map(without_seconds).collect();
    if list(old, "tolerations").iter().any(|before| !now.contains(&without_seconds(before))) {
        out.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
    tolerations(out, new, path, options);
}

/// Conditions that must be there before scheduling.
pub fn gates(out: &mut Found, spec: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        out.said(&path.index(i), name, names::is_qualified_name(name));
        if !seen.insert(name) {
            out.duplicate(&path.index(i), name);
        }
    }
}

/// Gates of a pod are only taken away.
pub fn only_deleted_gates(out: &mut Found, new: &Value, old: &Value, path: &Path) {
    let before: BTreeSet<&str> = list(old, "schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    let now: BTreeMap<&str, usize> =
        list(new, "schedulingGates").iter().enumerate().map(|(i, gate)| (text(gate, "name"), i)).collect();
    for (name, i) in now.into_iter().filter(|(name, _)| !before.contains(name)) {
        let said = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        out.forbidden(&path.index(i).child("name"), said);
    }
}

/// Whether others may be thrown out for a pod.
pub fn preemption_policy(out: &mut Found, object: &Value, path: &Path) {
    if has(object, "preemptionPolicy") {
        let path = path.child("preemptionPolicy");
        match text(object, "preemptionPolicy") {
            "" => out.required(&path, ""),
            policy => out.one_of(&path, policy, &["PreemptLowerPriority", "Never"]),
        }
    }
}
