//! Role, ClusterRole, RoleBinding, ClusterRoleBinding.

use serde_json::Value;

use super::found::Found;
use super::gojson::Type;
use super::gotypes::ROLE_REF;
use crate::field::FieldError;
use crate::validation::names::{self, name_is_path_segment};
use crate::validation::path::{Path, get, has, list, same, text};
use crate::validation::selectors::label_selector;
use crate::validation::shown::{self, go_json};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A new role.
pub(super) fn create_role(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_path_segment);
    rules(found, new, true, None);
}

/// A role that replaces another.
pub(super) fn update_role(found: &mut Found, new: &Value, old: &Value) {
    found.metadata(new, true, name_is_path_segment);
    rules(found, new, true, Some(old));
    found.metadata_update(new, old);
}

/// A new cluster role.
pub(super) fn create_cluster_role(found: &mut Found, new: &Value) {
    cluster_role(found, new, None);
}

/// A cluster role that replaces another.
pub(super) fn update_cluster_role(found: &mut Found, new: &Value, old: &Value) {
    cluster_role(found, new, Some(old));
    found.metadata_update(new, old);
}

fn selectors(role: &Value) -> &[Value] {
    list(get(role, "aggregationRule"), "clusterRoleSelectors")
}

fn cluster_role(found: &mut Found, new: &Value, old: Option<&Value>) {
    found.metadata(new, false, name_is_path_segment);
    rules(found, new, false, old);
    if !has(new, "aggregationRule") {
        return;
    }
    let bad = |selector: &Value| !label_selector(selector, false, &Path::new("")).is_empty();
    let invalid_values = old.is_some_and(|old| selectors(old).iter().any(bad));
    let path = Path::new("aggregationRule").child("clusterRoleSelectors");
    if selectors(new).is_empty() {
        let said = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        found.required(&path, said);
    }
    for (i, selector) in selectors(new).iter().enumerate() {
        let path = path.index(i);
        let errors = label_selector(selector, invalid_values, &path);
        let unreadable = bad(selector);
        found.extend(errors);
        if unreadable {
            // What could not be read is gone by the time upstream shows it.
            found.push(shown::invalid(&path, "null".into(), "invalid label selector."));
        }
    }
}

fn rules(found: &mut Found, new: &Value, namespaced: bool, old: Option<&Value>) {
    for (i, rule) in list(new, "rules").iter().enumerate() {
        let path = Path::new("rules").index(i);
        if list(rule, "verbs").is_empty() {
            // The declarative rule speaks for rules that were not there before.
            let known = old.is_some_and(|old| list(old, "rules").iter().any(|other| same(other, rule)));
            if known {
                found.required(path.child("verbs"), "verbs must contain at least one value");
            } else {
                found.late(FieldError::required(path.child("verbs"), ""));
            }
        }
        let urls = get(rule, "nonResourceURLs");
        if !list(rule, "nonResourceURLs").is_empty() {
            let path = path.child("nonResourceURLs");
            if namespaced {
                let said = "namespaced rules cannot apply to non-resource URLs";
                found.push(shown::invalid(&path, go_json(urls), said));
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|name| has(rule, name)) {
                let said = "rules cannot apply to both regular resources and non-resource URLs";
                found.push(shown::invalid(&path, go_json(urls), said));
            }
            continue;
        }
        if list(rule, "apiGroups").is_empty() {
            found.required(path.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if list(rule, "resources").is_empty() {
            found.required(path.child("resources"), "resource rules must supply at least one resource");
        }
    }
}

/// A new role binding.
pub(super) fn create_binding(found: &mut Found, new: &Value) {
    binding(found, new, true, None);
}

/// A role binding that replaces another.
pub(super) fn update_binding(found: &mut Found, new: &Value, old: &Value) {
    binding(found, new, true, Some(old));
    found.metadata_update(new, old);
    same_role(found, new, old);
}

/// A new cluster role binding.
pub(super) fn create_cluster_binding(found: &mut Found, new: &Value) {
    binding(found, new, false, None);
}

/// A cluster role binding that replaces another.
pub(super) fn update_cluster_binding(found: &mut Found, new: &Value, old: &Value) {
    binding(found, new, false, Some(old));
    found.metadata_update(new, old);
    same_role(found, new, old);
}

fn same_role(found: &mut Found, new: &Value, old: &Value) {
    let role = Type::Struct(ROLE_REF);
    found.unchanged_struct(&Path::new("roleRef"), role, get(new, "roleRef"), get(old, "roleRef"));
}

fn binding(found: &mut Found, new: &Value, namespaced: bool, old: Option<&Value>) {
    found.metadata(new, namespaced, name_is_path_segment);
    let (path, role) = (Path::new("roleRef"), get(new, "roleRef"));
    let group = text(role, "apiGroup");
    if group != GROUP {
        found.unsupported(&path.child("apiGroup"), group, &[GROUP]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    let kind = text(role, "kind");
    if !kinds.contains(&kind) {
        found.unsupported(&path.child("kind"), kind, kinds);
    }
    let name = text(role, "name");
    if !name.is_empty() {
        found.complain(&path.child("name"), name, names::is_path_segment_name(name));
    } else if old.is_some() {
        // On updates the declarative rules stop at whether the role has changed.
        found.required(path.child("name"), "");
    }
    for (i, subject) in list(new, "subjects").iter().enumerate() {
        let known = old.is_some_and(|old| list(old, "subjects").iter().any(|other| same(other, subject)));
        self::subject(found, subject, namespaced, known, &Path::new("subjects").index(i));
    }
    // Declarative rules go by the order of the fields, and the role comes last.
    if name.is_empty() && old.is_none() {
        found.late(FieldError::required(path.child("name"), ""));
    }
}

fn subject(found: &mut Found, subject: &Value, namespaced: bool, known: bool, path: &Path) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        let error = FieldError::required(path.child("name"), "");
        if known {
            found.push(error);
        } else {
            found.late(error);
        }
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                found.subdomain(&path.child("name"), name);
            }
            if !group.is_empty() {
                found.unsupported(&path.child("apiGroup"), group, &[""]);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                found.required(path.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                found.unsupported(&path.child("apiGroup"), group, &[GROUP]);
            }
        }
        kind => found.unsupported(&path.child("kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
}
