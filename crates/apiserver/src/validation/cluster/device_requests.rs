//! What a claim asks for: requests, what they have in common, and what their drivers are told.
//!
//! Half of the rules are upstream's declarative ones, which are said last; where both have a rule, only these speak.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::{Found, too_many};
use super::storage::driver;
use crate::field::{FieldError, Wrong};
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, str_value, text, texts};
use crate::validation::shown;

/// The most requests, constraints, configurations and selectors.
const MOST: usize = 32;
/// The most alternatives of a request.
const ALTERNATIVES_MAX: usize = 8;
/// The longest name of an attribute, and of the domain before it.
const ATTRIBUTE_MAX: usize = 32;
const DOMAIN_MAX: usize = 63;
/// What a driver can be told at most.
const PARAMETERS_MAX: usize = 10 * 1024;

const ONE_OF: &str = "exactly one of `exactly` or `firstAvailable` is required";
const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// The names of requests, each by itself and with each of its alternatives. Not put together: that would be a copy of a name for each
/// alternative, and both are as long as their sender likes.
type Names<'a> = BTreeSet<(&'a str, Option<&'a str>)>;

/// A claim's spec.
pub(super) fn spec(found: &mut Found, spec: &Value, path: &Path) {
    let (devices, path) = (get(spec, "devices"), path.child("devices"));
    let mut names = Names::new();
    for request in list(devices, "requests") {
        let name = text(request, "name");
        names.insert((name, None));
        names.extend(list(request, "firstAvailable").iter().map(|other| (name, Some(text(other, "name")))));
    }
    let field = path.child("requests");
    for (i, one) in few(found, devices, "requests", MOST, &path).iter().enumerate() {
        let all = list(devices, "requests");
        if all.iter().take(i).any(|other| text(other, "name") == text(one, "name")) {
            let shown = shown::published("io.k8s.api.resource.v1.DeviceRequest", one);
            found.late(shown::duplicate(&field.index(i), shown));
        }
    }
    for (i, one) in few_quietly(devices, "requests", MOST).iter().enumerate() {
        request(found, one, &field.index(i));
    }
    let field = path.child("constraints");
    for (i, constraint) in few(found, devices, "constraints", MOST, &path).iter().enumerate() {
        let field = field.index(i);
        request_names(found, constraint, &names, &field);
        let attributes = ["matchAttribute", "distinctAttribute"];
        if !attributes.iter().any(|name| has(constraint, name)) {
            let said =
                "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
            found.required(&field, said);
        }
        for name in attributes {
            if let Some(attribute) = get(constraint, name).as_str() {
                qualified(found, attribute, &field.child(name));
            }
        }
    }
    configurations(found, devices, Some(&names), &path.child("config"));
}

/// The entries of a list that may not be long; none where it is too long, for then nothing else is said.
fn few<'a>(found: &mut Found, of: &'a Value, name: &str, most: usize, path: &Path) -> &'a [Value] {
    let count = list(of, name).len();
    if count > most {
        found.late(too_many(&path.child(name), count, most));
    }
    few_quietly(of, name, most)
}

fn few_quietly<'a>(of: &'a Value, name: &str, most: usize) -> &'a [Value] {
    let all = list(of, name);
    if all.len() > most { &[] } else { all }
}

/// Complaints of a declarative rule.
pub(super) fn declared(found: &mut Found, value: &str, complaints: Vec<String>, path: &Path) {
    for said in complaints {
        found.late(FieldError::invalid(path, &str_value(value), names::declared(&said)));
    }
}

fn request(found: &mut Found, request: &Value, path: &Path) {
    found.label(&path.child("name"), text(request, "name"));
    let (exact, others) = (get(request, "exactly"), list(request, "firstAvailable"));
    let either = match (exact.is_null(), others.is_empty()) {
        (true, true) => {
            found.required(path, ONE_OF);
            false
        }
        (false, false) => {
            found.invalid(path, Value::Null, format!("{ONE_OF}, but multiple fields are set"));
            false
        }
        _ => true,
    };
    if !exact.is_null() {
        let path = path.child("exactly");
        if either {
            let class = text(exact, "deviceClassName");
            if class.is_empty() {
                found.required(path.child("deviceClassName"), "");
            } else {
                found.subdomain(&path.child("deviceClassName"), class);
            }
        }
        wanted(found, exact, either, &path);
    }
    let field = path.child("firstAvailable");
    let others = few(found, request, "firstAvailable", ALTERNATIVES_MAX, path);
    for (i, other) in others.iter().enumerate() {
        if others.iter().take(i).any(|before| text(before, "name") == text(other, "name")) {
            let shown = shown::published("io.k8s.api.resource.v1.DeviceSubRequest", other);
            found.late(shown::duplicate(&field.index(i), shown));
        }
    }
    for (i, other) in others.iter().enumerate() {
        let path = field.index(i);
        if either {
            found.label(&path.child("name"), text(other, "name"));
        }
        let (class, field) = (text(other, "deviceClassName"), path.child("deviceClassName"));
        if class.is_empty() {
            found.late(FieldError::required(&field, ""));
        } else {
            declared(found, class, names::is_dns1123_subdomain(class), &field);
        }
        wanted(found, other, either, &path);
    }
}

/// What a request and an alternative of one have in common. The rules by hand are asked only where it is the one or the other.
fn wanted(found: &mut Found, request: &Value, by_hand: bool, path: &Path) {
    if by_hand {
        selectors(found, request, path);
    }
    let mode = text(request, "allocationMode");
    let count = number(request, "count").unwrap_or_default();
    match mode {
        "All" if by_hand && count != 0 => {
            found.invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if by_hand && count <= 0 => {
            found.invalid(path.child("count"), count, "must be greater than zero");
        }
        "All" | "ExactCount" => {}
        other => {
            found.late(shown::unsupported(&path.child("allocationMode"), &str_value(other), &["All", "ExactCount"]))
        }
    }
    for (i, toleration) in list(request, "tolerations").iter().enumerate() {
        tolerate(found, toleration, by_hand, &path.child("tolerations").index(i));
    }
}

fn tolerate(found: &mut Found, toleration: &Value, by_hand: bool, path: &Path) {
    let word = |name| text(toleration, name);
    let (key, operator, value, effect) = (word("key"), word("operator"), word("value"), word("effect"));
    match operator {
        "Exists" if by_hand && !value.is_empty() => {
            found.invalid(path.child("value"), value, "must be empty for operator `Exists`");
        }
        "Equal" if by_hand => found.complain(&path.child("value"), value, names::is_label_value(value)),
        _ => {}
    }
    if !key.is_empty() {
        declared(found, key, names::is_qualified_name(key), &path.child("key"));
    }
    if !matches!(operator, "" | "Equal" | "Exists") {
        found.late(shown::unsupported(&path.child("operator"), &str_value(operator), &["Equal", "Exists"]));
    }
    if !matches!(effect, "" | "NoSchedule" | "NoExecute" | "None") {
        let words = &["NoExecute", "NoSchedule", "None"];
        found.late(shown::unsupported(&path.child("effect"), &str_value(effect), words));
    }
}

/// Which devices will do: expressions, which are not looked into.
pub(super) fn selectors(found: &mut Found, of: &Value, path: &Path) {
    for (i, selector) in few(found, of, "selectors", MOST, path).iter().enumerate() {
        if !has(selector, "cel") {
            found.required(path.child("selectors").index(i).child("cel"), "");
        }
    }
}

/// What drivers are told. A class has no requests that could be named.
pub(super) fn configurations(found: &mut Found, of: &Value, requests: Option<&Names<'_>>, path: &Path) {
    let count = list(of, "config").len();
    if count > MOST {
        found.late(too_many(path, count, MOST));
    }
    for (i, config) in few_quietly(of, "config", MOST).iter().enumerate() {
        let path = path.index(i);
        if let Some(requests) = requests {
            request_names(found, config, requests, &path);
        }
        let (opaque, field) = (get(config, "opaque"), path.child("opaque"));
        if opaque.is_null() {
            found.required(&field, "");
            continue;
        }
        parameters(found, get(opaque, "parameters"), &field.child("parameters"));
        driver(found, text(opaque, "driver"), true, &field.child("driver"));
    }
}

fn parameters(found: &mut Found, parameters: &Value, path: &Path) {
    if parameters.is_null() {
        found.required(path, "");
    } else if parameters.to_string().len() > PARAMETERS_MAX {
        found.too_long(path, PARAMETERS_MAX);
    } else if !parameters.is_object() {
        found.invalid(path, "<value omitted>", "must be a valid JSON object");
    }
}

/// The names of requests that something is about.
fn request_names(found: &mut Found, of: &Value, known: &Names<'_>, path: &Path) {
    let all: Vec<&str> = texts(of, "requests");
    let field = path.child("requests");
    if all.len() > MOST {
        found.late(too_many(&field, all.len(), MOST));
        return;
    }
    for (i, name) in all.iter().enumerate() {
        let path = field.index(i);
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() <= 2 {
            parts.iter().for_each(|part| found.label(&path, part));
        }
        let alternative = name.split_once('/').map(|(request, other)| (request, Some(other)));
        if !known.contains(&(*name, None)) && !alternative.is_some_and(|both| known.contains(&both)) {
            found.invalid(&path, *name, NO_REQUEST);
        }
    }
    for (i, name) in all.iter().enumerate() {
        if all.iter().take(i).any(|other| other == name) {
            found.late(FieldError::duplicate(field.index(i), &str_value(name)));
        }
    }
}

/// The name of an attribute behind its domain.
fn qualified(found: &mut Found, name: &str, path: &Path) {
    let empty = |what: &str| FieldError::invalid(path, &str_value(""), format!("{what} must not be empty"));
    let long =
        |max: usize| FieldError::new(Wrong::TooLong, path, &Value::Null, format!("may not be more than {max} bytes"));
    let identifier = |found: &mut Found, name: &str| {
        if name.len() > ATTRIBUTE_MAX {
            found.late(long(ATTRIBUTE_MAX));
        }
        declared(found, name, names::is_c_identifier(name), path);
    };
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [name] => identifier(found, name),
        [domain, name] => {
            if domain.is_empty() {
                found.late(empty("prefix"));
            } else {
                if domain.len() > DOMAIN_MAX {
                    found.late(long(DOMAIN_MAX));
                }
                for said in names::is_dns1123_subdomain(domain) {
                    let said = format!("prefix: {}", names::declared(&said));
                    found.late(FieldError::invalid(path, &str_value(domain), said));
                }
            }
            if name.is_empty() {
                found.late(empty("name"));
            } else {
                identifier(found, name);
            }
        }
        _ => {}
    }
    if !name.contains('/') {
        let said = "a fully qualified name must be a domain and a name separated by a slash";
        found.late(FieldError::invalid(path, &str_value(name), said));
    }
}
