//! Nobody hands out rights that they do not have: the check on writing roles and bindings.

use serde_json::Value;

use crate::auth::attributes::Attributes;
use crate::auth::identity::MASTERS;
use crate::auth::rbac::{GROUP, Rbac, RoleRef};
use crate::auth::rules::{Rule, compacted, go_quoted_list, missing};
use crate::field::go_quoted;
use crate::status::{GroupResource, Status};

/// Whether the user of `request` may write this role or binding. `old` is what it replaces; other kinds always pass.
///
/// `request` is the request as it came in (its name and namespace are those of the path). It is called after validation.
pub fn escalation_check(
    rbac: &Rbac,
    request: &Attributes<'_>,
    kind: &str,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if request.user.is_in(MASTERS) || old.is_some_and(|old| only_housekeeping(object, old)) {
        return Ok(());
    }
    match kind {
        "Role" | "ClusterRole" => {
            let escalate = Attributes { verb: "escalate", version: "*", subresource: "", ..*request };
            if rbac.allows(&escalate) {
                return Ok(());
            }
            held(rbac, request, object, &Rule::all_of(object))?;
            let aggregates = |role: &Value| {
                let selectors = role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array);
                selectors.is_some_and(|s| !s.is_empty())
            };
            // A selector can gather any right, so setting one needs all of them.
            if kind == "ClusterRole"
                && (aggregates(object) || old.is_some_and(aggregates))
                && held(rbac, request, object, &everything()).is_err()
            {
                return Err(refused(request, object, "must have cluster-admin privileges to use the aggregationRule"));
            }
            Ok(())
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = RoleRef::of(object);
            let namespace = if kind == "RoleBinding" { request.namespace } else { "" };
            let resource = match role.kind.as_str() {
                "ClusterRole" => "clusterroles",
                "Role" => "roles",
                _ => "",
            };
            let bind = Attributes::resource(request.user, "bind", &role.api_group, "*", resource);
            if !resource.is_empty() && rbac.allows(&bind.in_namespace(namespace).named(&role.name)) {
                return Ok(());
            }
            match rbac.rules_of(&role, namespace) {
                Ok(rules) => held(rbac, request, object, rules),
                Err(sentence) if resource.is_empty() => Err(Status::new(500, "", sentence)),
                // Upstream names the resource of the request, not that of the role.
                Err(_) => {
                    Err(Status::not_found(GroupResource { group: GROUP, resource: request.resource }, &role.name))
                }
            }
        }
        _ => Ok(()),
    }
}

fn held(rbac: &Rbac, request: &Attributes<'_>, object: &Value, wanted: &[Rule]) -> Result<(), Status> {
    let (own, lost) = rbac.rules_for(request.user, request.namespace);
    let own: Vec<Rule> = own.into_iter().cloned().collect();
    let missing = missing(&own, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = compacted(missing).iter().map(Rule::to_string).collect();
    lines.sort();
    lines.dedup();
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        go_quoted(&request.user.name),
        go_quoted_list(&request.user.groups),
        lines.join("\n")
    );
    if let Some(lost) = lost {
        why.push_str(&format!("; resolution errors: [{lost}]"));
    }
    Err(refused(request, object, &why))
}

fn refused(request: &Attributes<'_>, object: &Value, why: &str) -> Status {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Status::forbidden(GroupResource { group: GROUP, resource: request.resource }, name, why)
}

fn everything() -> [Rule; 2] {
    let star = || vec!["*".to_owned()];
    [
        Rule { verbs: star(), api_groups: star(), resources: star(), ..Rule::default() },
        Rule { verbs: star(), non_resource_urls: star(), ..Rule::default() },
    ]
}

/// Whether nothing changes but what the garbage collector writes: it may, without holding any of the role's rights.
pub(super) fn only_housekeeping(object: &Value, old: &Value) -> bool {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(key);
            }
        }
        object
    };
    stripped(object) == stripped(old)
}

#[cfg(test)]
mod tests;
