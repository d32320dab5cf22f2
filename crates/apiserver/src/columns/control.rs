//! The kinds that rule the cluster itself: who may do what, which requests are admitted, in which order, for which devices.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, seconds, since, time};
use super::core::creation;
use super::labels::{go_struct, labels};
use super::view::View;

fn name(object: View<'_>) -> Value {
    json!(object.at("metadata.name").text())
}

/// A binding of a role, in a namespace or in the cluster.
pub(super) fn role_binding(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let subjects = |kind: &str| {
        let subject = |s: View<'_>| match kind {
            "ServiceAccount" => format!("{}/{}", s.at("namespace").text(), s.at("name").text()),
            _ => s.at("name").text().to_owned(),
        };
        let of_kind = object.at("subjects").items().filter(|s| s.at("kind").text() == kind);
        json!(of_kind.map(subject).collect::<Vec<_>>().join(", "))
    };
    vec![
        name(object),
        json!(format!("{}/{}", object.at("roleRef.kind").text(), object.at("roleRef.name").text())),
        json!(age(object, now)),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

/// A request for a certificate.
pub(super) fn signing_request(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let has = |condition: &str| status.at("conditions").find("type", condition).exists();
    let mut state = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !status.at("certificate").text().is_empty() {
        state.push_str(",Issued");
    }
    let lifetime = spec.at("expirationSeconds").some();
    vec![
        name(object),
        json!(age(object, now)),
        json!(spec.at("signerName").text_or("<none>")),
        json!(spec.at("username").text()),
        json!(lifetime.map_or_else(|| "<none>".to_owned(), |s| seconds(s.number()))),
        json!(state),
    ]
}

/// A bundle of trusted certificates.
pub(super) fn trust_bundle(object: View<'_>) -> Vec<Value> {
    vec![name(object), json!(object.at("spec.signerName").text_or("<none>"))]
}

/// A pod's request for a certificate.
pub(super) fn pod_certificate_request(object: View<'_>) -> Vec<Value> {
    let spec = object.at("spec");
    let decided = |c: &View<'_>| matches!(c.at("type").text(), "Issued" | "Denied" | "Failed");
    let state = object.at("status.conditions").items().rev().find(decided);
    vec![
        name(object),
        json!(spec.at("podName").text()),
        json!(spec.at("serviceAccountName").text()),
        json!(spec.at("nodeName").text()),
        json!(spec.at("signerName").text()),
        json!(state.map_or("Pending", |c| c.at("type").text())),
        json!(labels(spec.at("unverifiedUserAnnotations"))),
    ]
}

/// A configuration of webhooks.
pub(super) fn webhooks(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("webhooks").len()), json!(age(object, now))]
}

/// An admission policy, with the count of its rules.
pub(super) fn admission_policy(object: View<'_>, rules: &str, now: Timestamp) -> Vec<Value> {
    let parameters = object.at("spec.paramKind").some().map_or_else(
        || "<unset>".to_owned(),
        |kind| format!("{}/{}", kind.at("apiVersion").text(), kind.at("kind").text()),
    );
    vec![name(object), json!(object.at("spec").key(rules).len()), json!(parameters), json!(age(object, now))]
}

/// A binding of an admission policy.
pub(super) fn policy_binding(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let reference = object.at("spec.paramRef");
    // Whether the parameters live in a namespace cannot be told from here.
    let parameters = match (reference.at("namespace").text_or("*"), reference.at("name").text()) {
        (_, "") if reference.at("selector").exists() => go_struct(reference.at("selector")),
        (_, "") => "<unset>".to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    vec![name(object), json!(object.at("spec.policyName").text()), json!(parameters), json!(age(object, now))]
}

/// A flow schema.
pub(super) fn flow_schema(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let dangling = object.at("status.conditions").find("type", "Dangling");
    vec![
        name(object),
        json!(spec.at("priorityLevelConfiguration.name").text()),
        json!(spec.at("matchingPrecedence").number()),
        json!(spec.at("distinguisherMethod").some().map_or("<none>", |m| m.at("type").text())),
        json!(age(object, now)),
        json!(if dangling.exists() { dangling.at("status").text() } else { "?" }),
    ]
}

/// What flow schemas are listed by: the order in which they are tried.
pub(super) fn flow_schema_order<'a>(object: View<'a>) -> (i64, &'a str) {
    (object.at("spec.matchingPrecedence").number(), object.at("metadata.name").text())
}

/// A level of priority among requests.
pub(super) fn priority_level(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let limited = object.at("spec.limited");
    let queuing = limited.at("limitResponse.queuing");
    let of = |part: View<'_>, field: &str| {
        if part.exists() { json!(part.key(field).number()) } else { json!("<none>") }
    };
    vec![
        name(object),
        json!(object.at("spec.type").text()),
        of(limited, "nominalConcurrencyShares"),
        of(queuing, "queues"),
        of(queuing, "handSize"),
        of(queuing, "queueLengthLimit"),
        json!(age(object, now)),
    ]
}

/// A class of priority among pods.
pub(super) fn priority_class(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(object.at("value").number()),
        json!(object.at("globalDefault").flag()),
        json!(age(object, now)),
        json!(object.at("preemptionPolicy").text()),
    ]
}

/// A class of container runtimes.
pub(super) fn runtime_class(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("handler").text()), json!(age(object, now))]
}

/// A lease.
pub(super) fn lease(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("spec.holderIdentity").text()), json!(age(object, now))]
}

/// A claim on devices.
pub(super) fn resource_claim(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let allocated = object.at("status.allocation").exists();
    let deleted = object.at("metadata.deletionTimestamp").exists();
    let states = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && object.at("status.reservedFor").len() > 0, "reserved"),
    ];
    let states: Vec<&str> = states.into_iter().filter(|(holds, _)| *holds).map(|(_, state)| state).collect();
    vec![name(object), json!(states.join(",")), json!(age(object, now))]
}

/// A slice of a driver's devices.
pub(super) fn resource_slice(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    vec![
        name(object),
        json!(spec.at("nodeName").text()),
        json!(spec.at("driver").text()),
        json!(spec.at("pool.name").text()),
        json!(age(object, now)),
    ]
}

/// A rule that taints devices.
pub(super) fn device_taint_rule(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let taint = object.at("spec.taint");
    let added = taint.at("timeAdded");
    vec![
        name(object),
        json!(taint.at("key").text()),
        json!(taint.at("value").text()),
        json!(taint.at("effect").text()),
        json!(if added.exists() { since(time(added), now) } else { String::new() }),
        json!(age(object, now)),
    ]
}

/// A migration of stored objects to another version; the last condition that holds is its state.
pub(super) fn storage_migration(object: View<'_>) -> Vec<Value> {
    let resource = match (object.at("spec.resource.resource").text(), object.at("spec.resource.group").text()) {
        (resource, "") => resource.to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let state =
        object.at("status.conditions").items().rev().find(|c| {
            c.at("status").text() == "True" && matches!(c.at("type").text(), "Running" | "Failed" | "Succeeded")
        });
    vec![name(object), json!(resource), json!(state.map_or("Unknown", |c| c.at("type").text()))]
}

/// A group and version of an aggregated API.
pub(super) fn api_service(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let service = object.at("spec.service").some().map_or_else(
        || "Local".to_owned(),
        |service| format!("{}/{}", service.at("namespace").text(), service.at("name").text()),
    );
    let available = object.at("status.conditions").find("type", "Available");
    let state = match (available.at("status").text(), available.at("reason").text()) {
        _ if !available.exists() => "Unknown".to_owned(),
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    };
    vec![name(object), json!(service), json!(state), json!(age(object, now))]
}

/// The definition of a kind of custom resources.
pub(super) fn resource_definition(object: View<'_>) -> Vec<Value> {
    let spec = object.at("spec");
    let mut versions: Vec<String> = spec
        .at("versions")
        .items()
        .filter(|v| v.at("served").flag())
        .map(|v| format!("{}{}", v.at("name").text(), if v.at("storage").flag() { "(storage)" } else { "" }))
        .collect();
    versions.sort();
    let established = |c: View<'_>| c.at("type").text() == "Established" && c.at("status").text() == "True";
    vec![
        name(object),
        json!(spec.at("scope").text()),
        json!(versions.join(",")),
        json!(creation(object)),
        json!(spec.at("group").text()),
        json!(spec.at("names.kind").text()),
        json!(spec.at("names.shortNames").join(",")),
        json!(object.at("status.conditions").items().any(established)),
    ]
}
