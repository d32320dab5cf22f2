//! A pod's status from its containers: phase and conditions, as a kubelet puts them together.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::container::{Container, State};
use super::rule::Role;
use super::time;

/// The conditions that are a kubelet's, in its order; all others are somebody else's, and stay.
const OURS: [&str; 5] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// How a pod is, beside its containers.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// Whether its sandbox is there: volumes mounted, address given.
    pub(super) sandbox: bool,
    /// Whether it had one: then it is said to be not ready, and otherwise not to be there.
    pub(super) had_sandbox: bool,
    /// Nothing is started again.
    pub(super) over: bool,
    /// It failed for this reason, whatever its containers say.
    pub(super) failed: Option<(&'static str, &'static str)>,
    /// Its node's address.
    pub(super) host: String,
    /// Its own, where it has one by now.
    pub(super) address: Option<String>,
}

/// The status of a pod whose containers are these, as it follows from the one it has.
pub(super) fn compose(pod: &Value, containers: &[Container<'_>], shape: &Shape, now: Timestamp) -> Value {
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let before = &pod["status"];
    let mut status = before.as_object().cloned().unwrap_or_else(Map::new);
    let list = |main: bool| -> Vec<Value> {
        containers.iter().filter(|c| (c.role == Role::Main) == main).map(|c| c.status(uid)).collect()
    };
    let mut main = list(true);
    // A kubelet sorts them; init containers keep their order.
    main.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    status.insert("containerStatuses".to_owned(), json!(main));
    let init = list(false);
    if !init.is_empty() {
        status.insert("initContainerStatuses".to_owned(), json!(init));
    }
    let phase = match phase(containers, shape.over) {
        _ if shape.failed.is_some() => "Failed",
        // Over before it began.
        "Pending" | "Running" if shape.over => "Failed",
        phase => phase,
    };
    status.insert("phase".to_owned(), json!(phase));
    if let Some((reason, message)) = shape.failed {
        status.insert("reason".to_owned(), json!(reason));
        status.insert("message".to_owned(), json!(message));
    }
    status.entry("startTime").or_insert_with(|| json!(time::text(now)));
    status.insert("hostIP".to_owned(), json!(shape.host));
    status.insert("hostIPs".to_owned(), json!([{"ip": shape.host}]));
    if let Some(address) = &shape.address {
        status.insert("podIP".to_owned(), json!(address));
        status.insert("podIPs".to_owned(), json!([{"ip": address}]));
    }
    if let Some(generation) = pod["metadata"]["generation"].as_i64() {
        status.insert("observedGeneration".to_owned(), json!(generation));
    }
    status.insert("conditions".to_owned(), json!(conditions(pod, containers, phase, shape, now)));
    Value::Object(status)
}

/// The status of a pod that the node does not take.
pub(super) fn refused(pod: &Value, reason: &str, message: &str, now: Timestamp) -> Value {
    let before = &pod["status"];
    let mut status = json!({
        "phase": "Failed", "reason": reason, "message": format!("Pod was rejected: {message}"),
        "qosClass": before["qosClass"], "startTime": time::text(now),
    });
    let others: Vec<&Value> = list(before, "conditions").filter(|c| !is_ours(c)).collect();
    if !others.is_empty() {
        status["conditions"] = json!(others);
    }
    if let Some(generation) = pod["metadata"]["generation"].as_i64() {
        status["observedGeneration"] = json!(generation);
    }
    status
}

fn is_ours(condition: &Value) -> bool {
    condition["type"].as_str().is_some_and(|kind| OURS.contains(&kind))
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

/// The phase that follows from the containers. `over` says that nothing is started again.
fn phase(containers: &[Container<'_>], over: bool) -> &'static str {
    let init = || containers.iter().filter(|c| c.role == Role::Init);
    let last_code = |c: &Container<'_>| match &c.state {
        State::Ended(ended) => Some(ended.code),
        State::Waiting { .. } => c.last.as_ref().map(|last| last.code),
        State::Running { .. } => None,
    };
    if init().filter_map(|c| Some((c, last_code(c)?))).any(|(c, code)| code != 0 && !c.rule.restarts(code)) {
        return "Failed";
    }
    let started = containers.iter().any(|c| c.role == Role::Main && !c.is_new());
    let pending_init = init().any(|c| last_code(c).is_none());
    let pending_sidecar = containers.iter().any(|c| c.role == Role::Sidecar && c.is_new());
    let waiting = containers.iter().any(|c| c.role == Role::Main && c.is_new());
    if pending_init || (pending_sidecar && !started) || waiting {
        return "Pending";
    }
    if containers.iter().any(|c| c.role != Role::Init && c.is_running()) {
        return "Running";
    }
    let ends: Vec<(i64, bool)> = containers
        .iter()
        .filter(|c| c.role == Role::Main)
        .filter_map(|c| last_code(c).map(|code| (code, c.rule.restarts(code))))
        .collect();
    match ends.as_slice() {
        [] => "Pending",
        ends if !over && ends.iter().any(|(_, again)| *again) => "Running",
        ends if ends.iter().all(|(code, _)| *code == 0) => "Succeeded",
        _ => "Failed",
    }
}

/// What a condition says.
struct Says {
    status: bool,
    reason: &'static str,
    message: String,
}

fn yes() -> Says {
    Says { status: true, reason: "", message: String::new() }
}

fn no(reason: &'static str, message: String) -> Says {
    Says { status: false, reason, message }
}

fn conditions(pod: &Value, containers: &[Container<'_>], phase: &str, shape: &Shape, now: Timestamp) -> Vec<Value> {
    let before = &pod["status"];
    let mut all: Vec<Value> = list(before, "conditions").filter(|c| !is_ours(c)).cloned().collect();
    let generation = pod["metadata"]["generation"].as_i64();
    let containers_ready = containers_ready(containers, phase);
    let ready = match &containers_ready {
        says if says.status => gates_open(pod, &all),
        says => no(says.reason, says.message.clone()),
    };
    let sandbox = match (shape.sandbox, shape.had_sandbox) {
        (true, _) => yes(),
        (false, true) => no("PodSandboxNotReady", "pod sandbox is not ready".to_owned()),
        (false, false) => no("PodSandboxNotReady", "no pod sandbox exists".to_owned()),
    };
    let says = [sandbox, initialized(containers, phase), ready, containers_ready, yes()];
    for (kind, says) in OURS.into_iter().zip(says) {
        let status = if says.status { "True" } else { "False" };
        let known = list(before, "conditions").find(|c| c["type"] == kind && c["status"] == status);
        let since = known.map(|c| c["lastTransitionTime"].clone()).filter(Value::is_string);
        let mut condition = json!({
            "type": kind, "status": status, "lastProbeTime": null,
            "lastTransitionTime": since.unwrap_or_else(|| json!(time::text(now))),
        });
        if let Some(generation) = generation {
            condition["observedGeneration"] = json!(generation);
        }
        for (field, text) in [("reason", says.reason), ("message", &says.message)] {
            if !text.is_empty() {
                condition[field] = json!(text);
            }
        }
        all.push(condition);
    }
    all
}

/// Names as Go prints a list of them.
fn names<'c>(containers: impl Iterator<Item = &'c Container<'c>>) -> Option<String> {
    let names: Vec<&str> = containers.map(|c| c.name).collect();
    (!names.is_empty()).then(|| format!("[{}]", names.join(" ")))
}

fn containers_ready(containers: &[Container<'_>], phase: &str) -> Says {
    match phase {
        "Succeeded" => return no("PodCompleted", String::new()),
        "Failed" => return no("PodFailed", String::new()),
        _ => {}
    }
    let sidecars = containers.iter().filter(|c| c.role == Role::Sidecar);
    let all = sidecars.chain(containers.iter().filter(|c| c.role == Role::Main));
    match names(all.filter(|c| !c.ready)) {
        Some(names) => no("ContainersNotReady", format!("containers with unready status: {names}")),
        None => yes(),
    }
}

/// Whether others have said that the pod is ready, where its readiness gates ask them.
fn gates_open(pod: &Value, conditions: &[Value]) -> Says {
    let closed: Vec<String> = list(&pod["spec"], "readinessGates")
        .filter_map(|gate| {
            let kind = gate["conditionType"].as_str().unwrap_or_default();
            match conditions.iter().find(|c| c["type"] == kind) {
                None => Some(format!("corresponding condition of pod readiness gate \"{kind}\" does not exist.")),
                Some(c) if c["status"] != "True" => {
                    let status = c["status"].as_str().unwrap_or_default();
                    Some(format!("the status of pod readiness gate \"{kind}\" is not \"True\", but {status}"))
                }
                Some(_) => None,
            }
        })
        .collect();
    if closed.is_empty() { yes() } else { no("ReadinessGatesNotReady", closed.join(", ")) }
}

fn initialized(containers: &[Container<'_>], phase: &str) -> Says {
    if phase == "Succeeded" {
        return Says { status: true, reason: "PodCompleted", message: String::new() };
    }
    if containers.iter().any(|c| c.role == Role::Main && !c.is_new()) {
        return yes();
    }
    let incomplete = containers.iter().filter(|c| match c.role {
        Role::Init => c.ended_with() != Some(0),
        Role::Sidecar => !c.is_running(),
        Role::Main => false,
    });
    match names(incomplete) {
        Some(names) => no("ContainersNotInitialized", format!("containers with incomplete status: {names}")),
        None => yes(),
    }
}

/// Whether two statuses say the same: a server may leave out, or fill in, what is nothing.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let absent = Value::Null;
            a.keys().chain(b.keys()).all(|key| same(a.get(key).unwrap_or(&absent), b.get(key).unwrap_or(&absent)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (a, b) if is_nothing(a) && is_nothing(b) => true,
        (a, b) => a == b,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
