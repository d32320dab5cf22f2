//! ValidatingWebhookConfiguration and MutatingWebhookConfiguration. Expressions of match conditions are not compiled.

use serde_json::Value;

use super::found::Found;
use crate::validation::names::{self, name_is_dns_subdomain};
use crate::validation::path::{Path, get, has, list, number, text, texts};
use crate::validation::selectors::label_selector;
use crate::validation::shown::{self, go_json};

/// A new validating configuration.
pub(super) fn create_validating(found: &mut Found, new: &Value) {
    configuration(found, new, false, None);
}

/// A validating configuration that replaces another.
pub(super) fn update_validating(found: &mut Found, new: &Value, old: &Value) {
    configuration(found, new, false, Some(old));
}

/// A new mutating configuration.
pub(super) fn create_mutating(found: &mut Found, new: &Value) {
    configuration(found, new, true, None);
}

/// A mutating configuration that replaces another.
pub(super) fn update_mutating(found: &mut Found, new: &Value, old: &Value) {
    configuration(found, new, true, Some(old));
}

const REVIEWS: &[&str] = &["v1", "v1beta1"];

/// What an older configuration has already, and what stays accepted for its sake.
#[derive(Debug, Clone, Copy)]
struct Strict {
    side_effects: bool,
    reviews: bool,
    unique: bool,
    label_values: bool,
}

impl Strict {
    fn after(old: Option<&Value>) -> Self {
        let Some(old) = old else {
            return Self { side_effects: true, reviews: true, unique: true, label_values: true };
        };
        let hooks = list(old, "webhooks");
        let quiet = |hook: &Value| matches!(text(hook, "sideEffects"), "None" | "NoneOnDryRun");
        let reviewed = |hook: &Value| texts(hook, "admissionReviewVersions").iter().any(|it| REVIEWS.contains(it));
        let selected = |hook: &Value| {
            ["namespaceSelector", "objectSelector"]
                .iter()
                .all(|name| label_selector(get(hook, name), false, &Path::new("")).is_empty())
        };
        Self {
            side_effects: hooks.iter().all(quiet),
            reviews: hooks.iter().all(reviewed),
            unique: (0..hooks.len()).all(|i| !is_repeated(hooks, i)),
            label_values: hooks.iter().all(selected),
        }
    }
}

fn is_repeated(hooks: &[Value], i: usize) -> bool {
    let name = hooks.get(i).map_or("", |hook| text(hook, "name"));
    !name.is_empty() && hooks.iter().take(i).any(|other| text(other, "name") == name)
}

fn configuration(found: &mut Found, new: &Value, mutating: bool, old: Option<&Value>) {
    found.plain_metadata(new, false, name_is_dns_subdomain);
    let strict = Strict::after(old);
    let hooks = list(new, "webhooks");
    for (i, one) in hooks.iter().enumerate() {
        let path = Path::new("webhooks").index(i);
        hook(found, one, mutating, strict, &path);
        reviews(found, one, strict.reviews, &path.child("admissionReviewVersions"));
        if strict.unique && is_repeated(hooks, i) {
            found.duplicate(path.child("name"), text(one, "name"));
        }
    }
}

fn word(found: &mut Found, hook: &Value, name: &str, words: &[&str], path: &Path) {
    if let Some(word) = get(hook, name).as_str().filter(|word| !words.contains(word)) {
        found.unsupported(&path.child(name), word, words);
    }
}

fn hook(found: &mut Found, hook: &Value, mutating: bool, strict: Strict, path: &Path) {
    found.extend(names::is_fully_qualified_name(&path.child("name"), text(hook, "name")));
    for (i, one) in list(hook, "rules").iter().enumerate() {
        rule(found, one, &path.child("rules").index(i));
    }
    word(found, hook, "failurePolicy", &["Fail", "Ignore"], path);
    word(found, hook, "matchPolicy", &["Equivalent", "Exact"], path);
    let effects: &[&str] =
        if strict.side_effects { &["None", "NoneOnDryRun"] } else { &["None", "NoneOnDryRun", "Some", "Unknown"] };
    if !has(hook, "sideEffects") {
        found.required(path.child("sideEffects"), &format!("must specify one of {}", effects.join(", ")));
    }
    word(found, hook, "sideEffects", effects, path);
    if let Some(time) = number(hook, "timeoutSeconds").filter(|time| !(1..=30).contains(time)) {
        found.invalid(path.child("timeoutSeconds"), time, "the timeout value must be between 1 and 30 seconds");
    }
    for name in ["namespaceSelector", "objectSelector"] {
        found.extend(label_selector(get(hook, name), !strict.label_values, &path.child(name)));
    }
    if mutating {
        word(found, hook, "reinvocationPolicy", &["IfNeeded", "Never"], path);
    }
    client(found, get(hook, "clientConfig"), &path.child("clientConfig"));
    match_conditions(found, list(hook, "matchConditions"), &path.child("matchConditions"));
}

fn match_conditions(found: &mut Found, conditions: &[Value], path: &Path) {
    if conditions.len() > 64 {
        found.too_many(path, conditions.len(), 64);
    }
    for (i, condition) in conditions.iter().enumerate() {
        let (name, path) = (text(condition, "name"), path.index(i));
        if text(condition, "expression").trim().is_empty() {
            found.required(path.child("expression"), "");
        }
        if found.need(condition, "name", &path) {
            found.qualified(&path.child("name"), name);
            if conditions.iter().take(i).any(|other| text(other, "name") == name) {
                found.duplicate(path.child("name"), name);
            }
        }
    }
}

/// Where a webhook is: at a URL or behind a service.
pub(super) fn client(found: &mut Found, config: &Value, path: &Path) {
    match (get(config, "url").as_str(), has(config, "service")) {
        (Some(url), false) => web_address(found, url, &path.child("url")),
        (None, true) => service(found, get(config, "service"), &path.child("service")),
        _ => found.required(path, "exactly one of url or service is required"),
    }
}

fn web_address(found: &mut Found, url: &str, path: &Path) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once(':').unwrap_or(("", rest));
    let authority = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme.to_lowercase() != "https" {
        found.invalid(path, scheme.to_lowercase(), format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        found.invalid(path, host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        found.invalid(path, user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        found.invalid(path, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        found.invalid(path, query, "query parameters are not permitted in the URL");
    }
}

fn service(found: &mut Found, service: &Value, path: &Path) {
    // Upstream takes the name for the namespace and the other way round.
    for (value, said) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, value).is_empty() {
            found.required(path.child(said), "");
        }
    }
    let port = number(service, "port").unwrap_or_default();
    let complaints = names::is_port_number(port);
    if !complaints.is_empty() {
        found.invalid(path.child("port"), port, format!("port is not valid: {}", complaints.join(", ")));
    }
    let (target, path) = (text(service, "path"), path.child("path"));
    match target {
        "" | "/" => return,
        "//" => {
            found.invalid(&path, target, "segment[0] may not be empty");
            return;
        }
        target if !target.starts_with('/') => found.invalid(&path, target, "must start with a '/'"),
        _ => {}
    }
    let mut rest = target.chars();
    rest.next();
    let rest = rest.as_str();
    for (i, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            found.invalid(&path, target, format!("segment[{i}] may not be empty"));
            continue;
        }
        for complaint in names::is_dns1123_subdomain(step) {
            found.invalid(&path, target, format!("segment[{i}]: {complaint}"));
        }
    }
}

/// Versions of reviews that a webhook understands.
pub(super) fn reviews(found: &mut Found, hook: &Value, strict: bool, path: &Path) {
    let versions = texts(hook, "admissionReviewVersions");
    if versions.is_empty() {
        found.required(path, "must specify one of v1, v1beta1");
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        if versions.iter().take(i).any(|other| other == version) {
            found.invalid(path.index(i), *version, "duplicate version");
            continue;
        }
        found.complain(&path.index(i), version, names::is_dns1035_label(version));
    }
    if strict && !versions.iter().any(|version| REVIEWS.contains(version)) {
        let all = go_json(get(hook, "admissionReviewVersions"));
        found.push(shown::invalid(path, all, "must include at least one of v1, v1beta1"));
    }
}

fn wildcard(found: &mut Found, rule: &Value, name: &str, what: &str, path: &Path) {
    let words = texts(rule, name);
    if words.len() > 1 && words.contains(&"*") {
        let said = format!("if '*' is present, must not specify other {what}");
        found.push(shown::invalid(&path.child(name), go_json(get(rule, name)), said));
    }
}

fn rule(found: &mut Found, rule: &Value, path: &Path) {
    const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    if list(rule, "operations").is_empty() {
        found.required(path.child("operations"), "");
    }
    wildcard(found, rule, "operations", "operations", path);
    for (i, operation) in texts(rule, "operations").into_iter().enumerate() {
        if !OPERATIONS.contains(&operation) {
            found.unsupported(&path.child("operations").index(i), operation, OPERATIONS);
        }
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        if list(rule, name).is_empty() {
            found.required(path.child(name), "");
        }
        wildcard(found, rule, name, what, path);
    }
    for (i, _) in texts(rule, "apiVersions").into_iter().enumerate().filter(|(_, version)| version.is_empty()) {
        found.required(path.child("apiVersions").index(i), "");
    }
    resources(found, rule, &path.child("resources"));
    word(found, rule, "scope", &["*", "Cluster", "Namespaced"], path);
}

fn resources(found: &mut Found, rule: &Value, path: &Path) {
    let resources = texts(rule, "resources");
    if resources.is_empty() {
        found.required(path, "");
    }
    let (mut all_of, mut any_of): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut plain = false;
    for (i, resource) in resources.iter().enumerate() {
        let path = path.index(i);
        if resource.is_empty() {
            found.required(&path, "");
            continue;
        }
        let Some((name, sub)) = resource.split_once('/') else {
            plain = *resource != "*";
            continue;
        };
        if all_of.contains(&name) {
            found.invalid(&path, *resource, format!("if '{name}/*' is present, must not specify {resource}"));
        }
        if any_of.contains(&sub) {
            found.invalid(&path, *resource, format!("if '*/{sub}' is present, must not specify {resource}"));
        }
        if sub == "*" {
            all_of.push(name);
        }
        if name == "*" {
            any_of.push(sub);
        }
    }
    let all = go_json(get(rule, "resources"));
    if resources.len() > 1 && resources.contains(&"*/*") {
        found.push(shown::invalid(path, all.clone(), "if '*/*' is present, must not specify other resources"));
    }
    if resources.contains(&"*") && plain {
        let said = "if '*' is present, must not specify other resources without subresources";
        found.push(shown::invalid(path, all, said));
    }
}
