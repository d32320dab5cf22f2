//! The plain kinds of the core group: nodes, namespaces, quotas, events and so on.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, since, time};
use super::view::View;

fn name(object: View<'_>) -> Value {
    json!(object.at("metadata.name").text())
}

/// A node.
pub(super) fn node(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let status = object.at("status");
    // The last condition of the name counts.
    let ready = status.at("conditions").items().rev().find(|c| c.at("type").text() == "Ready");
    let mut state = match ready {
        None => "Unknown",
        Some(condition) if condition.at("status").text() == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if object.at("spec.unschedulable").flag() {
        state.push_str(",SchedulingDisabled");
    }
    let info = status.at("nodeInfo");
    let mut kernel = info.at("kernelVersion").text_or("<unknown>").to_owned();
    let architecture = info.at("architecture").text();
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    let address = |kind: &str| {
        let address = status.at("addresses").find("type", kind);
        json!(if address.exists() { address.at("address").text() } else { "<none>" })
    };
    vec![
        name(object),
        json!(state),
        json!(roles(object.at("metadata.labels"))),
        json!(age(object, now)),
        json!(info.at("kubeletVersion").text()),
        address("InternalIP"),
        address("ExternalIP"),
        json!(info.at("osImage").text_or("<unknown>")),
        json!(kernel),
        json!(info.at("containerRuntimeVersion").text_or("<unknown>")),
    ]
}

fn roles(labels: View<'_>) -> String {
    let role = |(key, value): (&str, View<'_>)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => value.text().to_owned(),
        None => String::new(),
    };
    let roles: std::collections::BTreeSet<String> = labels.entries().map(role).filter(|r| !r.is_empty()).collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

/// A namespace.
pub(super) fn namespace(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("status.phase").text()), json!(age(object, now))]
}

/// A secret.
pub(super) fn secret(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("type").text()), json!(object.at("data").len()), json!(age(object, now))]
}

/// A config map.
pub(super) fn config_map(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let count = object.at("data").len().saturating_add(object.at("binaryData").len());
    vec![name(object), json!(count), json!(age(object, now))]
}

/// A kind of which only the name and the age are shown.
pub(super) fn name_and_age(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(age(object, now))]
}

/// A kind without columns of its own: the name, and the time of creation as it is.
pub(super) fn name_and_creation(object: View<'_>) -> Vec<Value> {
    vec![name(object), json!(creation(object))]
}

/// The time of creation, with Go's zero for one that is not set.
pub(super) fn creation<'a>(object: View<'a>) -> &'a str {
    object.at("metadata.creationTimestamp").text_or("0001-01-01T00:00:00Z")
}

/// A resource quota: what is used of what is granted, limits apart from the rest.
pub(super) fn resource_quota(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in object.at("status.hard").entries() {
        let used = object.at("status.used").key(resource);
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{resource}: {}/{}", used.quantity(), hard.quantity()));
    }
    vec![name(object), json!(requests.join(", ")), json!(limits.join(", ")), json!(age(object, now))]
}

/// The state of a component.
pub(super) fn component_status(object: View<'_>) -> Vec<Value> {
    let healthy = object.at("conditions").find("type", "Healthy");
    let status = match healthy.at("status").text() {
        _ if !healthy.exists() => "Unknown",
        "True" => "Healthy",
        _ => "Unhealthy",
    };
    vec![name(object), json!(status), json!(healthy.at("message").text()), json!(healthy.at("error").text())]
}

/// An event of the core group, or of `events.k8s.io`, which has other names for the same fields.
pub(super) fn event(group: &str, object: View<'_>, now: Timestamp) -> Vec<Value> {
    let field = |core: &str, events: &str| object.at(if group.is_empty() { core } else { events });
    let first = time(field("firstTimestamp", "deprecatedFirstTimestamp")).or_else(|| time(object.at("eventTime")));
    let mut last = time(field("lastTimestamp", "deprecatedLastTimestamp")).or(first);
    // An event of the new kind that happened once has no count.
    let mut count = Some(field("count", "deprecatedCount").number()).filter(|c| *c != 0).unwrap_or(1);
    if let Some(series) = object.at("series").some() {
        last = time(series.at("lastObservedTime"));
        count = series.at("count").number();
    }
    let involved = field("involvedObject", "regarding");
    let target = match (involved.at("kind").text().to_lowercase(), involved.at("name").text()) {
        (kind, "") => kind,
        (kind, name) => format!("{kind}/{name}"),
    };
    let source = field("source", "deprecatedSource");
    let component = source.at("component").text_or(field("reportingComponent", "reportingController").text());
    let source = match source.at("host").text_or(object.at("reportingInstance").text()) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        json!(since(last, now)),
        json!(object.at("type").text()),
        json!(object.at("reason").text()),
        json!(target),
        json!(involved.at("fieldPath").text()),
        json!(source),
        json!(field("message", "note").text().trim()),
        json!(since(first, now)),
        json!(count),
        name(object),
    ]
}
