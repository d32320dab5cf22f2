//! Pods, and what shows their template.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, since, time};
use super::labels::labels;
use super::view::View;

/// What the containers of a pod say about it.
struct Summary {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

/// The cells of a pod.
pub(super) fn pod(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let summary = summarise(object);
    let status = object.at("status");
    let restarts = match summary.last_restart {
        Some(at) if summary.restarts != 0 => format!("{} ({} ago)", summary.restarts, since(Some(at), now)),
        _ => summary.restarts.to_string(),
    };
    // Kubelets of old report one address only.
    let ip = status.at("podIP").text_or(status.at("podIPs").first().at("ip").text_or("<none>"));
    vec![
        json!(object.at("metadata.name").text()),
        json!(format!("{}/{}", summary.ready, summary.total)),
        json!(summary.reason),
        json!(restarts),
        json!(age(object, now)),
        json!(ip),
        json!(object.at("spec.nodeName").text_or("<none>")),
        json!(status.at("nominatedNodeName").text_or("<none>")),
        json!(readiness_gates(object)),
    ]
}

/// The row's conditions: a pod that ran to its end may be shown with less weight.
pub(super) fn conditions(object: View<'_>) -> Option<Value> {
    let (reason, message) = match object.at("status.phase").text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

fn condition_is_true(status: View<'_>, name: &str) -> bool {
    status.at("conditions").find("type", name).at("status").text() == "True"
}

fn readiness_gates(object: View<'_>) -> String {
    let gates = object.at("spec.readinessGates");
    if gates.len() == 0 {
        return "<none>".to_owned();
    }
    let passed = gates.items().filter(|g| condition_is_true(object.at("status"), g.at("conditionType").text())).count();
    format!("{passed}/{}", gates.len())
}

fn summarise(object: View<'_>) -> Summary {
    let status = object.at("status");
    let phase = status.at("phase").text();
    let mut reason = status.at("reason").text_or(phase).to_owned();
    let gated = |c: View<'_>| c.at("type").text() == "PodScheduled" && c.at("reason").text() == "SchedulingGated";
    if status.at("conditions").items().any(gated) {
        "SchedulingGated".clone_into(&mut reason);
    }

    let init = object.at("spec.initContainers");
    let sidecars = init.items().filter(|c| is_sidecar(*c)).count();
    let mut summary = Summary {
        ready: 0,
        total: object.at("spec.containers").items().len() + sidecars,
        reason,
        restarts: 0,
        last_restart: None,
    };
    // Restarts of sidecars count for as long as the pod lives, those of other init containers only while it starts.
    let mut of_sidecars = (0i64, None::<Timestamp>);
    let mut initializing = false;
    for (i, container) in status.at("initContainerStatuses").items().enumerate() {
        let sidecar = is_sidecar(init.find("name", container.at("name").text()));
        let restarted = time(container.at("lastState.terminated.finishedAt"));
        summary.restarts = summary.restarts.saturating_add(container.at("restartCount").number());
        summary.last_restart = summary.last_restart.max(restarted);
        if sidecar {
            of_sidecars.0 = of_sidecars.0.saturating_add(container.at("restartCount").number());
            of_sidecars.1 = of_sidecars.1.max(restarted);
        }
        let terminated = container.at("state.terminated");
        if terminated.exists() && terminated.at("exitCode").number() == 0 {
            continue;
        }
        if sidecar && container.at("started").flag() {
            summary.ready += usize::from(container.at("ready").flag());
            continue;
        }
        let waiting = container.at("state.waiting.reason").text();
        summary.reason = if terminated.exists() {
            format!("Init:{}", termination(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{i}/{}", init.len())
        };
        initializing = true;
        break;
    }

    if !initializing || condition_is_true(status, "Initialized") {
        (summary.restarts, summary.last_restart) = of_sidecars;
        summarise_main_containers(status, &mut summary);
    }

    if object.at("metadata.deletionTimestamp").exists() {
        if status.at("reason").text() == "NodeLost" {
            "Unknown".clone_into(&mut summary.reason);
        } else if !matches!(phase, "Failed" | "Succeeded") {
            "Terminating".clone_into(&mut summary.reason);
        }
    }
    summary
}

fn summarise_main_containers(status: View<'_>, summary: &mut Summary) {
    let mut running = false;
    let mut failure = None;
    // Backwards: the first container with something to say has the last word.
    for container in status.at("containerStatuses").items().rev() {
        summary.restarts = summary.restarts.saturating_add(container.at("restartCount").number());
        summary.last_restart = summary.last_restart.max(time(container.at("lastState.terminated.finishedAt")));
        let waiting = container.at("state.waiting.reason").text();
        let terminated = container.at("state.terminated");
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if terminated.exists() {
            summary.reason = termination(terminated);
            if terminated.at("exitCode").number() != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if container.at("ready").flag() && container.at("state.running").exists() {
            running = true;
            summary.ready += 1;
        }
    }
    // A container that completed does not speak for those that go on.
    if summary.reason == "Completed" {
        if running && status.at("conditions").items().any(is_ready) {
            "Running".clone_into(&mut summary.reason);
        } else if let Some(failure) = failure {
            summary.reason = failure;
        } else if running {
            "NotReady".clone_into(&mut summary.reason);
        }
    }
}

fn is_ready(condition: View<'_>) -> bool {
    condition.at("type").text() == "Ready" && condition.at("status").text() == "True"
}

fn is_sidecar(container: View<'_>) -> bool {
    container.at("restartPolicy").text() == "Always"
}

fn termination(state: View<'_>) -> String {
    match (state.at("reason").text(), state.at("signal").number()) {
        ("", 0) => format!("ExitCode:{}", state.at("exitCode").number()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Names and images of a template's containers.
pub(super) fn containers(spec: View<'_>) -> [Value; 2] {
    let all = |field: &str| {
        let texts: Vec<&str> = spec.at("containers").items().map(|c| c.key(field).text()).collect();
        json!(texts.join(","))
    };
    [all("name"), all("image")]
}

/// The cells of a pod template.
pub(super) fn template(object: View<'_>) -> Vec<Value> {
    let [names, images] = containers(object.at("template.spec"));
    vec![json!(object.at("metadata.name").text()), names, images, json!(labels(object.at("template.metadata.labels")))]
}
