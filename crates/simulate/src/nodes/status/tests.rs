use super::*;

fn now() -> Timestamp {
    "2026-01-01T00:00:09Z".parse().unwrap()
}

fn state(word: &str) -> Value {
    let ended =
        |code: i64| json!({"exitCode": code, "startedAt": null, "finishedAt": null, "containerID": "simulated://x"});
    match word {
        "running" => {
            json!({"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "ready": true, "started": true})
        }
        "unready" => {
            json!({"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "ready": false, "started": true})
        }
        "done" => json!({"state": {"terminated": ended(0)}}),
        "failed" => json!({"state": {"terminated": ended(1)}}),
        "again" => json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended(1)}}),
        _ => json!({"state": {"waiting": {"reason": "ContainerCreating"}}}),
    }
}

/// A pod of this policy whose init containers, sidecars (`~`) and containers are in these states.
fn pod(policy: &str, init: &[&str], main: &[&str]) -> Value {
    let mut pod = json!({"metadata": {"uid": "u", "generation": 2}, "spec": {"restartPolicy": policy}, "status": {}});
    for (list, statuses, states) in
        [("initContainers", "initContainerStatuses", init), ("containers", "containerStatuses", main)]
    {
        let names = states.iter().enumerate().map(|(i, word)| (format!("{}{i}", &list[..1]), *word));
        let (mut specs, mut known) = (Vec::new(), Vec::new());
        for (name, word) in names {
            let mut spec = json!({"name": name, "image": "i"});
            if word.starts_with('~') {
                spec["restartPolicy"] = json!("Always");
            }
            specs.push(spec);
            let mut status = state(word.trim_start_matches('~'));
            status["name"] = json!(name);
            known.push(status);
        }
        pod["spec"][list] = json!(specs);
        pod["status"][statuses] = json!(known);
    }
    pod
}

fn composed(pod: &Value, over: bool) -> Value {
    let role = |spec: &Value| if spec["restartPolicy"] == "Always" { Role::Sidecar } else { Role::Init };
    let init = pod["spec"]["initContainers"].as_array().unwrap().iter().map(|s| Container::of(pod, s, role(s)));
    let main = pod["spec"]["containers"].as_array().unwrap().iter().map(|s| Container::of(pod, s, Role::Main));
    let containers: Vec<_> = init.chain(main).collect();
    compose(pod, &containers, &Shape { sandbox: true, over, host: "h".to_owned(), ..Shape::default() }, now())
}

#[test]
fn the_phase_is_what_a_kubelet_says() {
    for (policy, init, main, over, phase) in [
        ("Always", &[][..], &["waiting"][..], false, "Pending"),
        ("Always", &[], &["running", "waiting"], false, "Pending"),
        ("Always", &[], &["running", "again"], false, "Running"),
        ("Always", &[], &["again"], false, "Running"),
        ("Always", &[], &["done"], false, "Running"),
        ("Always", &[], &["done"], true, "Succeeded"),
        ("Always", &[], &["done", "failed"], true, "Failed"),
        ("Always", &[], &["waiting"], true, "Failed"),
        ("OnFailure", &[], &["done"], false, "Succeeded"),
        ("OnFailure", &[], &["done", "again"], false, "Running"),
        ("Never", &[], &["done", "failed"], false, "Failed"),
        ("Never", &[], &["running", "failed"], false, "Running"),
        ("Always", &["running"], &["waiting"], false, "Pending"),
        ("Always", &["again"], &["waiting"], false, "Pending"),
        ("Never", &["failed"], &["waiting"], false, "Failed"),
        ("Always", &["done"], &["running"], false, "Running"),
        ("Never", &["~running"], &["done"], false, "Running"),
        ("Never", &["~done"], &["done"], false, "Succeeded"),
        ("Always", &["~waiting"], &["waiting"], false, "Pending"),
    ] {
        assert_eq!(composed(&pod(policy, init, main), over)["phase"], phase, "{policy} {init:?} {main:?} {over}");
    }
}

fn says(status: &Value, kind: &str) -> (String, String, String) {
    let found = status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == kind).unwrap();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn said(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn conditions_say_what_a_kubelet_says() {
    let status = composed(&pod("Always", &["running"], &["waiting"]), false);
    let message = "containers with incomplete status: [i0]";
    assert_eq!(says(&status, "Initialized"), said("False", "ContainersNotInitialized", message));
    let message = "containers with unready status: [c0]";
    for kind in ["Ready", "ContainersReady"] {
        assert_eq!(says(&status, kind), said("False", "ContainersNotReady", message));
    }
    let status = composed(&pod("Always", &[], &["running", "unready"]), false);
    assert_eq!(says(&status, "Ready").2, "containers with unready status: [c1]");
    let status = composed(&pod("Always", &[], &["running"]), false);
    for kind in OURS {
        assert_eq!(says(&status, kind), said("True", "", ""), "{kind}");
    }
    let kinds: Vec<&Value> = status["conditions"].as_array().unwrap().iter().map(|c| &c["type"]).collect();
    assert_eq!(kinds, OURS);
    assert_eq!(status["observedGeneration"], 2);
    assert!(status["conditions"].as_array().unwrap().iter().all(|c| c["observedGeneration"] == 2));
    let status = composed(&pod("Never", &[], &["done"]), false);
    assert_eq!(says(&status, "Ready"), said("False", "PodCompleted", ""));
    assert_eq!(says(&status, "Initialized"), said("True", "PodCompleted", ""));
    let status = composed(&pod("Never", &[], &["failed"]), false);
    assert_eq!(says(&status, "Ready"), said("False", "PodFailed", ""));
}

#[test]
fn readiness_gates_are_asked_and_others_conditions_stay() {
    let mut pod = pod("Always", &[], &["running"]);
    pod["spec"]["readinessGates"] = json!([{"conditionType": "a.b/c"}]);
    let message = "corresponding condition of pod readiness gate \"a.b/c\" does not exist.";
    assert_eq!(says(&composed(&pod, false), "Ready"), said("False", "ReadinessGatesNotReady", message));
    pod["status"]["conditions"] = json!([{"type": "a.b/c", "status": "False"}]);
    let message = "the status of pod readiness gate \"a.b/c\" is not \"True\", but False";
    assert_eq!(says(&composed(&pod, false), "Ready").2, message);
    pod["status"]["conditions"] = json!([{"type": "a.b/c", "status": "True"}]);
    let status = composed(&pod, false);
    assert_eq!(says(&status, "Ready").0, "True");
    assert_eq!(status["conditions"][0]["type"], "a.b/c");
}

#[test]
fn a_condition_keeps_its_time_while_it_says_the_same() {
    let mut pod = pod("Always", &[], &["running"]);
    pod["status"]["conditions"] = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:01Z"}]);
    let status = composed(&pod, false);
    let time = |kind: &str| {
        let all = status["conditions"].as_array().unwrap();
        all.iter().find(|c| c["type"] == kind).unwrap()["lastTransitionTime"].clone()
    };
    assert_eq!(time("PodScheduled"), "2026-01-01T00:00:01Z");
    assert_eq!(time("Ready"), "2026-01-01T00:00:09Z");
}

#[test]
fn what_was_written_is_the_same_when_it_is_read() {
    let mut pod = pod("Always", &["done"], &["again", "running"]);
    let status = composed(&pod, false);
    pod["status"] = status.clone();
    assert!(same(&composed(&pod, false), &status));
    assert!(same(&json!({"a": {}, "b": null, "c": [{"x": ""}]}), &json!({"c": [{}]})));
    assert!(!same(&json!({"a": 1}), &json!({})));
    assert!(!same(&json!({"a": [1]}), &json!({"a": []})));
}
