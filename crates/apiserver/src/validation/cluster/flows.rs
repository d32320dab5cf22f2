//! FlowSchema and PriorityLevelConfiguration. That the mandatory ones keep their fixed specs is not looked at.

use serde_json::Value;

use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::FLOW_DISTINGUISHER_METHOD;
use crate::field::{FieldError, Wrong};
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, flag, get, has, list, number, same, text, texts};
use crate::validation::shown::{self, go_json};

/// A schema, new or in place of another.
pub(super) fn create_schema(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_subdomain);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let precedence = number(spec, "matchingPrecedence").unwrap_or_default();
    let field = path.child("matchingPrecedence");
    if precedence <= 0 {
        found.invalid(&field, precedence, "must be a positive value");
    }
    if precedence > 10000 {
        found.invalid(&field, precedence, "must not be greater than 10000");
    }
    if precedence == 1 && text(get(new, "metadata"), "name") != "exempt" {
        found.invalid(&field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    let method = get(spec, "distinguisherMethod");
    if !method.is_null() && !matches!(text(method, "type"), "ByNamespace" | "ByUser") {
        found.push(FieldError {
            wrong: Wrong::NotSupported,
            field: path.child("distinguisherMethod").child("type").into(),
            value: gojson::compact(Type::Struct(FLOW_DISTINGUISHER_METHOD), method),
            detail: "supported values: \"ByNamespace\", \"ByUser\"".into(),
        });
    }
    let (level, field) =
        (text(get(spec, "priorityLevelConfiguration"), "name"), path.child("priorityLevelConfiguration"));
    if level.is_empty() {
        found.required(field.child("name"), "must reference a priority level");
    } else {
        found.subdomain(&field.child("name"), level);
    }
    for (i, rule) in list(spec, "rules").iter().enumerate() {
        rule_of_schema(found, rule, &path.child("rules").index(i));
    }
    conditions(found, new);
}

fn conditions(found: &mut Found, new: &Value) {
    let all = list(get(new, "status"), "conditions");
    for (i, condition) in all.iter().enumerate() {
        let path = Path::new("status").child("conditions").index(i).child("type");
        let kind = text(condition, "type");
        if all.iter().take(i).any(|other| text(other, "type") == kind) {
            found.duplicate(&path, kind);
        }
        if kind.is_empty() {
            found.required(&path, "");
        }
    }
}

/// The status of either kind.
pub(super) fn update_status(found: &mut Found, new: &Value, _old: &Value) {
    conditions(found, new);
}

fn rule_of_schema(found: &mut Found, rule: &Value, path: &Path) {
    let subjects = list(rule, "subjects");
    if subjects.is_empty() {
        found.required(path.child("subjects"), "subjects must contain at least one value");
    }
    for (i, one) in subjects.iter().enumerate() {
        subject(found, one, &path.child("subjects").index(i));
    }
    let (resources, urls) = (list(rule, "resourceRules"), list(rule, "nonResourceRules"));
    if resources.is_empty() && urls.is_empty() {
        found.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for (i, one) in resources.iter().enumerate() {
        resource_rule(found, one, &path.child("resourceRules").index(i));
    }
    for (i, one) in urls.iter().enumerate() {
        url_rule(found, one, &path.child("nonResourceRules").index(i));
    }
}

fn subject(found: &mut Found, subject: &Value, path: &Path) {
    const KINDS: [(&str, &str); 3] = [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = text(subject, "kind");
    let Some((_, own)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        found.unsupported(&path.child("kind"), kind, &["Group", "ServiceAccount", "User"]);
        return;
    };
    let (value, field) = (get(subject, own), path.child(own));
    if value.is_null() {
        found.required(&field, &format!("{own} is required when subject kind is '{kind}'"));
    } else {
        let name = text(value, "name");
        if found.need(value, "name", &field) && kind == "ServiceAccount" && name != "*" {
            found.subdomain(&field.child("name"), name);
        }
        if kind == "ServiceAccount" {
            let namespace = text(value, "namespace");
            if namespace.is_empty() {
                found.required(field.child("namespace"), "must specify namespace for service account");
            } else {
                found.label(&field.child("namespace"), namespace);
            }
        }
    }
    for (name, other) in KINDS.iter().filter(|(name, other)| *name != kind && has(subject, other)) {
        found.forbidden(path.child(other), &format!("{other} is forbidden when subject kind is not '{name}'"));
    }
}

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

fn alone(found: &mut Found, object: &Value, name: &str, what: &str, path: &Path) -> bool {
    let words = texts(object, name);
    let wildcard = words.contains(&"*");
    if wildcard && words.len() > 1 {
        let said = format!("if '*' is present, must not specify other {what}");
        found.push(shown::invalid(&path.child(name), go_json(get(object, name)), said));
    }
    wildcard
}

fn verbs(found: &mut Found, rule: &Value, path: &Path) {
    let words = texts(rule, "verbs");
    let field = path.child("verbs");
    if words.is_empty() {
        found.required(&field, "verbs must contain at least one value");
    } else if !alone(found, rule, "verbs", "verbs", path) && !words.iter().all(|verb| VERBS.contains(verb)) {
        let mut error = shown::unsupported(&field, &Value::Null, VERBS);
        error.value = go_json(get(rule, "verbs"));
        found.push(error);
    }
}

fn resource_rule(found: &mut Found, rule: &Value, path: &Path) {
    verbs(found, rule, path);
    for (name, one, many) in [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")] {
        if list(rule, name).is_empty() {
            found.required(path.child(name), &format!("resource rules must supply at least one {one}"));
        } else {
            alone(found, rule, name, many, path);
        }
    }
    let namespaces = texts(rule, "namespaces");
    if namespaces.is_empty() && !flag(rule, "clusterScope") {
        let said = "resource rules that are not cluster scoped must supply at least one namespace";
        found.required(path.child("namespaces"), said);
    } else if !alone(found, rule, "namespaces", "namespaces", path) {
        for (i, namespace) in namespaces.into_iter().enumerate() {
            for complaint in names::is_dns1123_label(namespace) {
                let said = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                found.invalid(path.child("namespaces").index(i), namespace, said);
            }
        }
    }
}

fn url_rule(found: &mut Found, rule: &Value, path: &Path) {
    verbs(found, rule, path);
    let urls = texts(rule, "nonResourceURLs");
    if urls.is_empty() {
        found.required(path.child("nonResourceURLs"), "nonResourceURLs must contain at least one value");
    } else if !alone(found, rule, "nonResourceURLs", "non-resource URLs", path) {
        for (i, url) in urls.into_iter().enumerate() {
            let said = match url {
                "" => "must not be empty",
                "/" => continue,
                url if !url.starts_with('/') => "must start with slash",
                url if url.contains(' ') => "must not contain white-space",
                url if url.contains("//") => "must not contain double slash",
                url => match url.matches('*').count() {
                    0 => continue,
                    1 if url.ends_with("/*") => continue,
                    _ => "wildcard can only do suffix matching",
                },
            };
            found.invalid(path.child("nonResourceURLs").index(i), url, said);
        }
    }
}

/// A new level.
pub(super) fn create_level(found: &mut Found, new: &Value) {
    level(found, new, true);
}

/// A level that replaces another. What did not change is not looked at by the declarative rules.
pub(super) fn update_level(found: &mut Found, new: &Value, old: &Value) {
    level(found, new, !same(get(new, "spec"), get(old, "spec")));
}

fn level(found: &mut Found, new: &Value, declarative: bool) {
    found.metadata(new, false, name_is_dns_subdomain);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let kind = text(spec, "type");
    if (text(get(new, "metadata"), "name") == "exempt") != (kind == "Exempt") {
        found.invalid(path.child("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    if declarative {
        declared(found, spec, &path);
    }
    let limited_path = path.child("limited");
    match kind {
        "Exempt" => {
            if has(spec, "limited") && !declarative {
                found.forbidden(limited_path, "must be nil if the type is not Limited");
            }
            shares(found, get(spec, "exempt"), &path.child("exempt"));
        }
        "Limited" => {
            if has(spec, "exempt") && !declarative {
                found.forbidden(path.child("exempt"), "must be nil if the type is Limited");
            }
            if has(spec, "limited") {
                limited(found, get(spec, "limited"), declarative, &limited_path);
            } else if !declarative {
                found.required(limited_path, "must not be empty when type is Limited");
            }
        }
        "" if declarative => {}
        "" => found.required(path.child("type"), ""),
        other => found.unsupported(&path.child("type"), other, &["Exempt", "Limited"]),
    }
    conditions(found, new);
}

/// The declarative rules: each type has its own struct and no other, whatever else is wrong.
fn declared(found: &mut Found, spec: &Value, path: &Path) {
    let kind = text(spec, "type");
    for name in ["exempt", "limited"] {
        if has(spec, name) && !kind.eq_ignore_ascii_case(name) {
            found.late(FieldError::forbidden(path.child(name), ""));
        }
    }
    if kind == "Limited" && !has(spec, "limited") {
        found.late(FieldError::required(path.child("limited"), ""));
    }
    if kind.is_empty() {
        found.late(FieldError::required(path.child("type"), ""));
    }
    if !has(spec, "limited") {
        return;
    }
    let (response, path) = (get(get(spec, "limited"), "limitResponse"), path.child("limited").child("limitResponse"));
    match (text(response, "type"), has(response, "queuing")) {
        ("Queue", false) => found.late(FieldError::required(path.child("queuing"), "")),
        ("Queue", true) | (_, false) => {}
        (_, true) => found.late(FieldError::forbidden(path.child("queuing"), "")),
    }
    if text(response, "type").is_empty() {
        found.late(FieldError::required(path.child("type"), ""));
    }
}

fn shares(found: &mut Found, level: &Value, path: &Path) {
    if let Some(shares) = number(level, "nominalConcurrencyShares").filter(|it| *it < 0) {
        found.invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
    if let Some(percent) = number(level, "lendablePercent").filter(|it| !(0..=100).contains(it)) {
        found.invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
}

fn limited(found: &mut Found, level: &Value, declarative: bool, path: &Path) {
    let lendable = get(level, "lendablePercent");
    let mut without = level.clone();
    if let Some(fields) = without.as_object_mut() {
        fields.remove("lendablePercent");
    }
    shares(found, &without, path);
    response(found, get(level, "limitResponse"), declarative, &path.child("limitResponse"));
    if let Some(percent) = lendable.as_i64().filter(|it| !(0..=100).contains(it)) {
        found.invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
    if let Some(percent) = number(level, "borrowingLimitPercent").filter(|it| *it < 0) {
        found.invalid(path.child("borrowingLimitPercent"), percent, "if specified, must be a non-negative integer");
    }
}

fn response(found: &mut Found, response: &Value, declarative: bool, path: &Path) {
    let queuing = get(response, "queuing");
    match (text(response, "type"), queuing.is_null()) {
        ("Queue", false) => queues(found, queuing, &path.child("queuing")),
        ("Reject", true) => {}
        ("Reject" | "Queue" | "", _) if declarative => {}
        ("Reject", false) => {
            found.forbidden(path.child("queuing"), "must be nil if limited.limitResponse.type is not Limited");
        }
        ("Queue", true) => {
            found.required(path.child("queuing"), "must not be empty if limited.limitResponse.type is Limited");
        }
        ("", _) => found.required(path.child("type"), ""),
        (other, _) => found.unsupported(&path.child("type"), other, &["Queue", "Reject"]),
    }
}

fn queues(found: &mut Found, queuing: &Value, path: &Path) {
    let of = |name| number(queuing, name).unwrap_or_default();
    let (length, queues, hand) = (of("queueLengthLimit"), of("queues"), of("handSize"));
    if length <= 0 {
        found.invalid(path.child("queueLengthLimit"), length, "must be positive");
    }
    if queues <= 0 {
        found.invalid(path.child("queues"), queues, "must be positive");
    } else if queues > 10_000_000 {
        found.invalid(path.child("queues"), queues, "must not be greater than 10000000");
    }
    if hand <= 0 {
        found.invalid(path.child("handSize"), hand, "must be positive");
    } else if hand > queues {
        found.invalid(path.child("handSize"), hand, format!("should not be greater than queues ({queues})"));
    } else if entropy(queues, hand) > 60 {
        let said =
            format!("required entropy bits of deckSize {queues} and handSize {hand} should not be greater than 60");
        found.invalid(path.child("handSize"), hand, said);
    }
}

/// How many bits it takes to deal a hand.
fn entropy(deck: i64, hand: i64) -> i64 {
    ((deck as f64).log2() * hand as f64).ceil() as i64
}
