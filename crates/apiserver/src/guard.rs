//! Nobody hands out more rights than they have.

use std::sync::PoisonError;

use serde_json::Value;

use crate::auth::escalation::escalation_check;
use crate::auth::signers::{self, signer_check};
use crate::auth::{Attributes, rbac};
use crate::status::Status;
use crate::verbs::Call;

/// Refuses a role or binding with which its writer would gain rights, and a certificate by whom may not speak for its signer.
pub fn on_write(call: &Call, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let check = match call.served.group.as_str() {
        rbac::GROUP => escalation_check,
        signers::GROUP => signer_check,
        _ => return Ok(()),
    };
    let verb = if old.is_some() { "update" } else { "create" };
    let resource = &call.served.resource.resource;
    let request = Attributes {
        subresource: &call.path.subresource,
        ..Attributes::resource(&call.user, verb, &call.served.group, &call.served.version, resource)
            .in_namespace(&call.path.namespace)
            .named(&call.path.name)
    };
    let rbac = call.core.rbac.read().unwrap_or_else(PoisonError::into_inner);
    check(&rbac, &request, &call.served.kind, new, old)
}
