//! Nobody hands out more rights than they have.

use std::sync::PoisonError;

use serde_json::Value;

use crate::auth::Attributes;
use crate::auth::escalation::escalation_check;
use crate::status::Status;
use crate::verbs::Call;

/// Refuses a role or binding with which its writer would gain rights.
pub fn on_write(call: &Call, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    if call.served.group != "rbac.authorization.k8s.io" {
        return Ok(());
    }
    let verb = if old.is_some() { "update" } else { "create" };
    let request = Attributes::resource(
        &call.user,
        verb,
        &call.served.group,
        &call.served.version,
        &call.served.resource.resource,
    )
    .in_namespace(&call.path.namespace)
    .named(&call.path.name);
    let rbac = call.core.rbac.read().unwrap_or_else(PoisonError::into_inner);
    escalation_check(&rbac, &request, &call.served.kind, new, old)
}
