//! What makes pods, and what keeps them: sets, jobs, budgets, autoscalers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, between, since, time};
use super::labels::{labels, requirements, selector};
use super::pods::containers;
use super::view::View;

fn name(object: View<'_>) -> Value {
    json!(object.at("metadata.name").text())
}

/// A replication controller, whose selector is plain labels.
pub(super) fn replication_controller(object: View<'_>, now: Timestamp) -> Vec<Value> {
    replicas(object, labels(object.at("spec.selector")), now)
}

/// A replica set.
pub(super) fn replica_set(object: View<'_>, now: Timestamp) -> Vec<Value> {
    replicas(object, selector(object.at("spec.selector")), now)
}

fn replicas(object: View<'_>, selector: String, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![
        name(object),
        json!(object.at("spec.replicas").number()),
        json!(object.at("status.replicas").number()),
        json!(object.at("status.readyReplicas").number()),
        json!(age(object, now)),
        names,
        images,
        json!(selector),
    ]
}

fn ready_of_desired(object: View<'_>) -> Value {
    json!(format!("{}/{}", object.at("status.readyReplicas").number(), object.at("spec.replicas").number()))
}

/// A deployment.
pub(super) fn deployment(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.at("spec.template.spec"));
    // Unlike elsewhere, a selector without requirements is shown as nothing at all.
    let selector = requirements(object.at("spec.selector")).unwrap_or_else(|| "<invalid>".to_owned());
    vec![
        name(object),
        ready_of_desired(object),
        json!(object.at("status.updatedReplicas").number()),
        json!(object.at("status.availableReplicas").number()),
        json!(age(object, now)),
        names,
        images,
        json!(selector),
    ]
}

/// A stateful set.
pub(super) fn stateful_set(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![name(object), ready_of_desired(object), json!(age(object, now)), names, images]
}

/// A daemon set.
pub(super) fn daemon_set(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.at("spec.template.spec"));
    let status = object.at("status");
    vec![
        name(object),
        json!(status.at("desiredNumberScheduled").number()),
        json!(status.at("currentNumberScheduled").number()),
        json!(status.at("numberReady").number()),
        json!(status.at("updatedNumberScheduled").number()),
        json!(status.at("numberAvailable").number()),
        json!(labels(object.at("spec.template.spec.nodeSelector"))),
        json!(age(object, now)),
        names,
        images,
        json!(selector(object.at("spec.selector"))),
    ]
}

/// A controller revision.
pub(super) fn controller_revision(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let owner = object.at("metadata.ownerReferences").items().find(|o| o.at("controller").flag());
    let controller = owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let group = owner.at("apiVersion").text().split_once('/').map_or("", |(group, _)| group);
            match (owner.at("kind").text(), group) {
                ("", "") => owner.at("name").text().to_owned(),
                (kind, "") => format!("{}/{}", kind.to_lowercase(), owner.at("name").text()),
                (kind, group) => format!("{}/{}", format!("{kind}.{group}").to_lowercase(), owner.at("name").text()),
            }
        },
    );
    vec![name(object), json!(controller), json!(object.at("revision").number()), json!(age(object, now))]
}

/// A job.
pub(super) fn job(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let succeeded = status.at("succeeded").number();
    let completions = match (spec.at("completions").some(), spec.at("parallelism").number()) {
        (Some(completions), _) => format!("{succeeded}/{}", completions.number()),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    // Times that stand there count even if they are Go's zero, as they do upstream.
    let duration = match (time(status.at("startTime")), time(status.at("completionTime"))) {
        (None, _) => String::new(),
        (Some(start), end) => between(start, end.unwrap_or(now)),
    };
    let [names, images] = containers(spec.at("template.spec"));
    vec![
        name(object),
        json!(job_status(object)),
        json!(completions),
        json!(duration),
        json!(age(object, now)),
        names,
        images,
        json!(selector(spec.at("selector"))),
    ]
}

fn job_status(object: View<'_>) -> &'static str {
    let conditions = object.at("status.conditions");
    let holds = |name: &str| conditions.find("type", name).at("status").text() == "True";
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if object.at("metadata.deletionTimestamp").exists() => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

/// A cron job.
pub(super) fn cron_job(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let last = object.at("status.lastScheduleTime");
    let [names, images] = containers(spec.at("jobTemplate.spec.template.spec"));
    vec![
        name(object),
        json!(spec.at("schedule").text()),
        json!(spec.at("timeZone").text_unless_absent("<none>")),
        json!(spec.at("suspend").flag_if_given().map_or("<unset>", |s| if s { "True" } else { "False" })),
        json!(object.at("status.active").len()),
        json!(if last.exists() { since(time(last), now) } else { "<none>".to_owned() }),
        json!(age(object, now)),
        names,
        images,
        json!(selector(spec.at("jobTemplate.spec.selector"))),
    ]
}

/// A pod disruption budget.
pub(super) fn disruption_budget(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let bound = |field: &str| {
        let bound = object.at("spec").key(field);
        if bound.exists() { bound.int_or_string() } else { "N/A".to_owned() }
    };
    vec![
        name(object),
        json!(bound("minAvailable")),
        json!(bound("maxUnavailable")),
        json!(object.at("status.disruptionsAllowed").number()),
        json!(age(object, now)),
    ]
}

/// The scale of something, as its subresource has it.
pub(super) fn scale(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(object.at("spec.replicas").number()),
        json!(object.at("status.replicas").number()),
        json!(age(object, now)),
    ]
}
