//! Role-based access control: roles and bindings, indexed so that a request looks only at the bindings of its own user.
//!
//! What the index makes cheap: the dozens of bindings of a fresh cluster are never walked; a request reads one map for its user's
//! name and one for each group, and then only the rules of the roles found there.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::collections::Map;
use serde_json::Value;

use crate::auth::attributes::Attributes;
use crate::auth::identity::{MASTERS, User};
use crate::auth::rules::Rule;
use crate::auth::service_account;
use crate::field::go_quoted;
use crate::status::Status;

/// The group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// What the authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Which binding allows it, or which roles could not be found; empty where there is nothing to say.
    pub reason: String,
}

/// A reference from a binding to a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleRef {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// The role's group.
    pub api_group: String,
    /// The role's name.
    pub name: String,
}

impl RoleRef {
    /// Reads the `roleRef` of a binding.
    pub fn of(binding: &Value) -> Self {
        let text = |key| text(binding.get("roleRef").unwrap_or(&Value::Null), key);
        Self { kind: text("kind"), api_group: text("apiGroup"), name: text("name") }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

impl Subject {
    /// The key under which the index holds it; `None` for a subject that is nobody.
    fn key(&self, binding_namespace: &str) -> Option<Key> {
        match self.kind.as_str() {
            "User" => Some(Key::User(self.name.clone())),
            "Group" => Some(Key::Group(self.name.clone())),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
                (!namespace.is_empty()).then(|| Key::User(service_account::username(namespace, &self.name)))
            }
            _ => None,
        }
    }

    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.key(binding_namespace) {
            Some(Key::User(name)) => user.name == name,
            Some(Key::Group(group)) => user.is_in(&group),
            None => false,
        }
    }

    fn described(&self, binding_namespace: &str) -> String {
        if self.kind != "ServiceAccount" {
            return format!("{} {}", self.kind, go_quoted(&self.name));
        }
        let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
        format!("{} {}", self.kind, go_quoted(&format!("{}/{namespace}", self.name)))
    }
}

enum Key {
    User(String),
    Group(String),
}

#[derive(Debug, Clone)]
struct Binding {
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The bindings of the cluster, or of one namespace.
#[derive(Debug, Default)]
struct Bindings {
    by_name: BTreeMap<String, Binding>,
    /// Users, and service accounts by their user names, to the names of the bindings that name them.
    users: Map<String, BTreeSet<String>>,
    groups: Map<String, BTreeSet<String>>,
}

impl Bindings {
    fn insert(&mut self, name: &str, namespace: &str, binding: Binding) {
        self.remove(name, namespace);
        for subject in &binding.subjects {
            let index = match subject.key(namespace) {
                Some(Key::User(user)) => self.users.entry(user).or_default(),
                Some(Key::Group(group)) => self.groups.entry(group).or_default(),
                None => continue,
            };
            index.insert(name.to_owned());
        }
        self.by_name.insert(name.to_owned(), binding);
    }

    fn remove(&mut self, name: &str, namespace: &str) {
        let Some(binding) = self.by_name.remove(name) else { return };
        for subject in &binding.subjects {
            let (index, key) = match subject.key(namespace) {
                Some(Key::User(user)) => (&mut self.users, user),
                Some(Key::Group(group)) => (&mut self.groups, group),
                None => continue,
            };
            if let Some(names) = index.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&key);
                }
            }
        }
    }

    /// The sets of binding names that may concern a user; one binding can be in several.
    fn candidates<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a BTreeSet<String>> {
        self.users.get(&user.name).into_iter().chain(user.groups.iter().filter_map(|g| self.groups.get(g)))
    }
}

/// All roles and bindings.
#[derive(Debug, Default)]
pub struct Rbac {
    cluster_roles: Map<String, Vec<Rule>>,
    roles: Map<String, Map<String, Vec<Rule>>>,
    cluster: Bindings,
    namespaces: Map<String, Bindings>,
}

impl Rbac {
    /// Takes in a new or changed object; other kinds are ignored.
    pub fn apply(&mut self, kind: &str, object: &Value) {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        let (name, namespace) = (text(metadata, "name"), text(metadata, "namespace"));
        match kind {
            "ClusterRole" => {
                self.cluster_roles.insert(name, Rule::all_of(object));
            }
            "Role" => {
                self.roles.entry(namespace).or_default().insert(name, Rule::all_of(object));
            }
            "ClusterRoleBinding" => self.cluster.insert(&name, "", binding(object)),
            "RoleBinding" => {
                self.namespaces.entry(namespace.clone()).or_default().insert(&name, &namespace, binding(object));
            }
            _ => {}
        }
    }

    /// Forgets an object that is gone; `namespace` is empty for the cluster's.
    pub fn remove(&mut self, kind: &str, namespace: &str, name: &str) {
        match kind {
            "ClusterRole" => {
                self.cluster_roles.remove(name);
            }
            "Role" => {
                if let Some(roles) = self.roles.get_mut(namespace) {
                    roles.remove(name);
                    if roles.is_empty() {
                        self.roles.remove(namespace);
                    }
                }
            }
            "ClusterRoleBinding" => self.cluster.remove(name, ""),
            "RoleBinding" => {
                if let Some(bindings) = self.namespaces.get_mut(namespace) {
                    bindings.remove(name, namespace);
                    if bindings.by_name.is_empty() {
                        self.namespaces.remove(namespace);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a request may go on, without a reason: what every request asks, and it allocates nothing.
    pub fn allows(&self, request: &Attributes<'_>) -> bool {
        request.user.is_in(MASTERS)
            || self.scopes(request.namespace).any(|(namespace, bindings)| {
                let names = bindings.candidates(request.user).flatten();
                names.filter_map(|name| bindings.by_name.get(name)).any(|binding| {
                    let rules = self.rules_of(&binding.role, namespace).unwrap_or_default();
                    rules.iter().any(|rule| rule.allows(request))
                })
            })
    }

    /// Lets a request pass, or answers with the 403.
    pub fn check(&self, request: &Attributes<'_>) -> Result<(), Status> {
        if self.allows(request) { Ok(()) } else { Err(request.forbidden(&self.authorize(request).reason)) }
    }

    /// Whether a request may go on, and why. Bindings are looked at by name, those of the cluster first.
    pub fn authorize(&self, request: &Attributes<'_>) -> Decision {
        if request.user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let mut lost = Vec::new();
        for (namespace, name, binding) in self.bindings_of(request.user, request.namespace) {
            match self.rules_of(&binding.role, namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(request)) => {
                    let reason = format!("RBAC: allowed by {}", described(name, namespace, binding, request.user));
                    return Decision { allowed: true, reason };
                }
                Ok(_) => {}
                Err(error) => lost.push(error),
            }
        }
        // Upstream's chain of authorizers puts the authorizer's name before what it says when it does not allow.
        let reason = aggregated(&lost).map(|errors| format!("rbac: RBAC: {errors}")).unwrap_or_default();
        Decision { allowed: false, reason }
    }

    /// The rules that apply to a user in a namespace (empty: in the cluster as a whole), and what could not be resolved.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Option<String>) {
        let (mut rules, mut lost) = (Vec::new(), Vec::new());
        for (scope, _, binding) in self.bindings_of(user, namespace) {
            match self.rules_of(&binding.role, scope) {
                Ok(found) => rules.extend(found),
                Err(error) => lost.push(error),
            }
        }
        (rules, aggregated(&lost))
    }

    /// The rules of a role that a binding in `namespace` refers to; `Err` is upstream's sentence.
    pub fn rules_of(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (found, word) = match role.kind.as_str() {
            "ClusterRole" => (self.cluster_roles.get(&role.name), "clusterrole"),
            "Role" => (self.roles.get(namespace).and_then(|roles| roles.get(&role.name)), "role"),
            other => return Err(format!("unsupported role reference kind: {}", go_quoted(other))),
        };
        found.map(Vec::as_slice).ok_or_else(|| format!("{word}.{GROUP} {} not found", go_quoted(&role.name)))
    }

    fn scopes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a str, &'a Bindings)> {
        let local = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        std::iter::once(("", &self.cluster)).chain(local.map(|bindings| (namespace, bindings)))
    }

    fn bindings_of<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Binding)> {
        self.scopes(namespace).flat_map(move |(scope, bindings)| {
            let names: BTreeSet<&str> = bindings.candidates(user).flatten().map(String::as_str).collect();
            names.into_iter().filter_map(move |name| Some((scope, name, bindings.by_name.get(name)?)))
        })
    }
}

fn binding(object: &Value) -> Binding {
    let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
    let subject = |s: &Value| Subject { kind: text(s, "kind"), name: text(s, "name"), namespace: text(s, "namespace") };
    Binding { role: RoleRef::of(object), subjects: subjects.map(subject).collect() }
}

fn described(name: &str, namespace: &str, binding: &Binding, user: &User) -> String {
    let subject = binding.subjects.iter().find(|s| s.is(user, namespace));
    let subject = subject.map(|s| s.described(namespace)).unwrap_or_default();
    let (kind, shown) = if namespace.is_empty() {
        ("ClusterRoleBinding", go_quoted(name))
    } else {
        ("RoleBinding", go_quoted(&format!("{name}/{namespace}")))
    };
    let (role_kind, role) = (&binding.role.kind, go_quoted(&binding.role.name));
    format!("{kind} {shown} of {role_kind} {role} to {subject}")
}

/// Several errors as upstream shows them: one bare, more in brackets, equal ones once.
fn aggregated(errors: &[String]) -> Option<String> {
    let mut unique: Vec<&str> = Vec::new();
    for error in errors {
        if !unique.contains(&error.as_str()) {
            unique.push(error);
        }
    }
    match unique.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn text(object: &Value, key: &str) -> String {
    object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
