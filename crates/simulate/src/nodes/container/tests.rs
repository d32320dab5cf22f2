use super::*;

const UID: &str = "u";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn moment(second: i64) -> Moment<'static> {
    Moment { now: at(second), namespace: "n", pod: "p", uid: UID }
}

/// A pod with one container, brought on second by second as a node does.
struct Story {
    pod: Value,
    memory: Memory,
    told: Vec<(String, Told)>,
}

impl Story {
    fn new(policy: &str, annotations: Value) -> Self {
        let pod = json!({"metadata": {"annotations": annotations},
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]}});
        Self { pod, memory: Memory::default(), told: Vec::new() }
    }

    /// Looks at the container now; returns how long until the next look.
    fn look(&mut self, second: i64) -> Option<i64> {
        let pod = self.pod.clone();
        let mut container = Container::of(&pod, &pod["spec"]["containers"][0], Role::Main);
        let due = container.live(moment(second), at(0), None, &mut self.memory, &mut self.told);
        self.pod["status"]["containerStatuses"] = json!([container.status(UID)]);
        due.map(|due| due.as_second() - at(second).as_second())
    }

    fn status(&self) -> &Value {
        &self.pod["status"]["containerStatuses"][0]
    }
}

#[test]
fn a_server_starts_and_stays() {
    let mut story = Story::new("Always", json!({}));
    assert_eq!(story.look(0), None);
    let status = story.status();
    assert_eq!(status["state"]["running"]["startedAt"], "2026-01-01T00:00:00Z");
    assert_eq!(
        (&status["ready"], &status["started"], &status["restartCount"]),
        (&json!(true), &json!(true), &json!(0))
    );
    assert!(status["containerID"].as_str().unwrap().starts_with("simulated://"));
    assert_eq!(story.told, [("c".to_owned(), Told::Started)]);
    assert_eq!(story.look(1000), None);
    assert_eq!(story.told.len(), 1);
}

#[test]
fn work_ends_and_is_not_started_again() {
    let mut story = Story::new("OnFailure", json!({"simulate.plimsoll.dev/run-for": "5s"}));
    assert_eq!(story.look(0), Some(5));
    // Looked at late: it ended when it ended.
    assert_eq!(story.look(60), None);
    let ended = &story.status()["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(0), &json!("Completed")));
    assert_eq!(ended["finishedAt"], "2026-01-01T00:00:05Z");
    assert_eq!(story.status()["ready"], false);
}

#[test]
fn a_crash_loop_waits_longer_and_longer() {
    let mut story = Story::new("Always", json!({"simulate.plimsoll.dev/crash-loop": "true"}));
    let mut second = 0;
    let mut waits = Vec::new();
    assert_eq!(story.look(second), Some(1));
    for _ in 0..9 {
        second += 1;
        // It ends; the next look is at its next start, or a second later where it was started at once.
        let wait = story.look(second).unwrap();
        waits.push(wait);
        second += wait;
        if story.status()["state"]["waiting"].is_object() {
            let reason = &story.status()["state"]["waiting"]["reason"];
            assert_eq!(reason, "CrashLoopBackOff");
            assert_eq!(story.look(second), Some(1));
        } else {
            second -= wait;
        }
    }
    assert_eq!(waits, [1, 10, 20, 40, 80, 160, 300, 300, 300]);
    assert_eq!(story.status()["restartCount"], 9);
    assert_eq!(story.status()["lastState"]["terminated"]["reason"], "Error");
}

#[test]
fn a_back_off_says_what_a_kubelet_says_and_outlives_the_node() {
    let mut story = Story::new("Always", json!({"simulate.plimsoll.dev/crash-loop": "true"}));
    story.look(0);
    story.look(1);
    assert_eq!(story.look(2), Some(10));
    let waiting = &story.status()["state"]["waiting"];
    assert_eq!(waiting["message"], "back-off 10s restarting failed container=c pod=p_n(u)");
    assert_eq!(story.told.last(), Some(&("c".to_owned(), Told::BackOff)));
    // A new life knows what the status knows.
    story.memory = Memory::default();
    story.told.clear();
    assert_eq!(story.look(4), Some(8));
    assert!(story.told.is_empty());
    assert_eq!(story.look(12), Some(1));
    assert_eq!(story.status()["restartCount"], 2);
}

#[test]
fn a_long_run_is_forgiven() {
    let mut story = Story::new("Always", json!({"simulate.plimsoll.dev/run-for": "10m"}));
    story.look(0);
    for n in 1..5 {
        assert_eq!(story.look(600 * n), Some(600));
        assert_eq!(story.status()["restartCount"], n);
    }
}

#[test]
fn starts_and_readiness_take_their_time() {
    let annotations = json!({"simulate.plimsoll.dev/start-after": "3s", "simulate.plimsoll.dev/ready-after": "4s"});
    let mut story = Story::new("Always", annotations);
    assert_eq!(story.look(0), Some(3));
    assert_eq!(story.status()["state"]["waiting"]["reason"], "ContainerCreating");
    assert_eq!(story.look(3), Some(4));
    assert_eq!((&story.status()["ready"], &story.status()["started"]), (&json!(false), &json!(true)));
    assert_eq!(story.look(7), None);
    assert_eq!(story.status()["ready"], true);
}

#[test]
fn what_is_stopped_ends_by_what_it_was() {
    for (policy, annotations, grace, code) in [
        ("Always", json!({}), 30, 0),
        ("Never", json!({"simulate.plimsoll.dev/run-for": "1h"}), 30, 143),
        ("Always", json!({"simulate.plimsoll.dev/stop-after": "1m"}), 30, 137),
        ("Always", json!({"simulate.plimsoll.dev/stop-after": "20s"}), 30, 0),
    ] {
        let mut story = Story::new(policy, annotations);
        story.look(0);
        let mut container = Container::of(&story.pod, &story.pod["spec"]["containers"][0], Role::Main);
        container.stop(moment(5), Duration::from_secs(grace));
        assert_eq!(container.ended_with(), Some(code), "{policy}");
    }
}

#[test]
fn a_container_that_cannot_be_made_says_so_once() {
    let story = Story::new("Always", json!({}));
    let mut container = Container::of(&story.pod, &story.pod["spec"]["containers"][0], Role::Main);
    let (mut memory, mut told) = (Memory::default(), Vec::new());
    for second in 0..3 {
        let why = Some("configmap \"m\" not found");
        container.live(moment(second), at(0), why, &mut memory, &mut told);
    }
    assert_eq!(container.status(UID)["state"]["waiting"]["reason"], "CreateContainerConfigError");
    assert_eq!(told.len(), 1);
    container.live(moment(3), at(0), None, &mut memory, &mut told);
    assert!(container.is_running());
}
