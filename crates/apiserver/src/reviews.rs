//! Creates that are questions: access reviews, token reviews, token requests.

use std::sync::PoisonError;

use serde_json::Value;

use crate::auth::reviews::{Reviewer, is_review};
use crate::auth::token_request;
use crate::core::Core;
use crate::reply::Reply;
use crate::status::Status;
use crate::verbs::Call;

/// Answers a review; none for everything else.
pub fn answer(call: &Call, body: &Value) -> Result<Option<Reply>, Status> {
    if !is_review(&call.served.group, &call.served.kind) {
        return Ok(None);
    }
    let core = &call.core;
    let lookup = |resource: &str, namespace: &str, name: &str| core.look_up(resource, namespace, name);
    let rbac = core.rbac.read().unwrap_or_else(PoisonError::into_inner);
    let reviewer = Reviewer {
        user: &call.user,
        namespace: &call.path.namespace,
        rbac: &rbac,
        authenticator: &core.authenticator,
        now: core.clock.now(),
        lookup: &lookup,
    };
    // Upstream shows who asked on those reviews that are objects with a status of their own.
    let mut body = body.clone();
    if !matches!(call.served.kind.as_str(), "SelfSubjectRulesReview" | "SelfSubjectReview") {
        let manager = call.manager(call.query.get("fieldManager").unwrap_or_default());
        call.own(None, &mut body, &manager, "");
    }
    let mut answer = reviewer.answer(&call.served.kind, &body)?;
    answer["kind"] = call.served.kind.clone().into();
    answer["apiVersion"] = call.served.api_version().into();
    Ok(Some(Reply::Other(201, answer)))
}

/// Issues a token for a service account.
pub fn token(core: &Core, namespace: &str, name: &str, body: &Value) -> Result<Value, Status> {
    let lookup = |resource: &str, namespace: &str, name: &str| core.look_up(resource, namespace, name);
    let issuer = &core.authenticator.service_accounts;
    core.entropy
        .with(|random| token_request::answer(body, (namespace, name), issuer, core.clock.now(), random, &lookup))
}
