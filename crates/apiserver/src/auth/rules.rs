//! One rule of a role: what it allows, and whether it covers another.

use std::fmt;

use serde_json::{Value, json};

use crate::auth::attributes::Attributes;
use crate::field::go_quoted;

/// A rule of a Role or ClusterRole.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// What may be done; `*` is everything.
    pub verbs: Vec<String>,
    /// The groups of the resources; `*` is every group.
    pub api_groups: Vec<String>,
    /// The resources: `pods`, `pods/log`, `*/scale`, `*`.
    pub resources: Vec<String>,
    /// The names of the objects; none means any name.
    pub resource_names: Vec<String>,
    /// Paths, with a `*` at the end for everything below.
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; what is not a list of texts counts as empty.
    pub fn from_value(rule: &Value) -> Self {
        let list = |key: &str| -> Vec<String> {
            let entries = rule.get(key).and_then(Value::as_array).into_iter().flatten();
            entries.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            api_groups: list("apiGroups"),
            resources: list("resources"),
            resource_names: list("resourceNames"),
            non_resource_urls: list("nonResourceURLs"),
        }
    }

    /// The rules of a role.
    pub fn all_of(role: &Value) -> Vec<Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Self::from_value).collect()
    }

    /// As a role holds it: `verbs` always, the rest where there is something.
    pub fn to_value(&self) -> Value {
        let mut out = json!({ "verbs": self.verbs });
        for (key, list) in [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            if !list.is_empty() {
                out[key] = json!(list);
            }
        }
        out
    }

    /// Whether the rule allows a request.
    pub fn allows(&self, request: &Attributes<'_>) -> bool {
        if !has_or_star(&self.verbs, request.verb) {
            return false;
        }
        if !request.resource_request {
            return self.non_resource_urls.iter().any(|url| url_covers(url, request.path));
        }
        has_or_star(&self.api_groups, request.group)
            && self.resources.iter().any(|r| resource_matches(r, request.resource, request.subresource))
            && (self.resource_names.is_empty() || has(&self.resource_names, request.name))
    }

    /// Whether the rule grants all that a broken-down rule ([`Self::broken_down`]) grants.
    fn covers(&self, part: &Self) -> bool {
        let names_covered = self.resource_names.is_empty()
            || (!part.resource_names.is_empty() && part.resource_names.iter().all(|n| has(&self.resource_names, n)));
        names_covered
            && (has(&self.verbs, "*") || part.verbs.iter().all(|v| has(&self.verbs, v)))
            && (has(&self.api_groups, "*") || part.api_groups.iter().all(|g| has(&self.api_groups, g)))
            && (has(&self.resources, "*") || part.resources.iter().all(|r| self.covers_resource(r)))
            && part.non_resource_urls.iter().all(|path| self.non_resource_urls.iter().any(|own| url_covers(own, path)))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        has(&self.resources, resource)
            || resource
                .split_once('/')
                .is_some_and(|(_, sub)| self.resources.iter().any(|r| r.strip_prefix("*/") == Some(sub)))
    }

    /// The same rights as rules of one verb, one group, one resource and at most one name each (or one verb and one path).
    pub fn broken_down(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut out = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let part =
                        Self { verbs: one(verb), api_groups: one(group), resources: one(resource), ..Self::default() };
                    if self.resource_names.is_empty() {
                        out.push(part);
                    } else {
                        let named = |name| Self { resource_names: one(name), ..part.clone() };
                        out.extend(self.resource_names.iter().map(named));
                    }
                }
            }
        }
        for url in &self.non_resource_urls {
            for verb in &self.verbs {
                out.push(Self { verbs: one(verb), non_resource_urls: one(url), ..Self::default() });
            }
        }
        out
    }
}

/// As refusals of an escalation show a rule.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (label, list) in [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ] {
            if !list.is_empty() {
                parts.push(format!("{label}:{}", go_quoted_list(list)));
            }
        }
        write!(f, "{{{}}}", parts.join(", "))
    }
}

/// The parts of `wanted` that `owned` does not grant.
pub fn missing(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(Rule::broken_down);
    parts.filter(|part| !owned.iter().any(|own| own.covers(part))).collect()
}

/// Broken-down rules put together again: those that differ in nothing but the verb become one.
pub fn compacted(parts: Vec<Rule>) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    for part in parts {
        let simple = part.non_resource_urls.is_empty();
        let same = |r: &&mut Rule| {
            r.non_resource_urls.is_empty()
                && r.api_groups == part.api_groups
                && r.resources == part.resources
                && r.resource_names == part.resource_names
        };
        match out.iter_mut().find(|r| simple && same(r)) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => out.push(part),
        }
    }
    out
}

/// A list as Go's `%q` shows it.
pub fn go_quoted_list(list: &[String]) -> String {
    format!("[{}]", list.iter().map(|t| go_quoted(t)).collect::<Vec<_>>().join(" "))
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|entry| entry == text)
}

fn has_or_star(list: &[String], text: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == text)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    rule.strip_prefix("*/") == Some(subresource)
        || rule.strip_prefix(resource).and_then(|rest| rest.strip_prefix('/')) == Some(subresource)
}

/// A rule's path and a path (or another rule's): equal, or below a trailing star.
fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}
