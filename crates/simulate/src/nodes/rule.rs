//! The rule by which containers run, and the annotations of the pod that change it.
//!
//! | annotation of the pod | means | unless told |
//! | --- | --- | --- |
//! | `simulate.plimsoll.dev/run-for` | how long a container runs before it ends: a duration, or `forever` | `forever` where it would be restarted always, otherwise `1s` |
//! | `simulate.plimsoll.dev/exit-code` | what it ends with, 0–255 | `0` |
//! | `simulate.plimsoll.dev/crash-loop` | `"true"`: it ends with 1 after a second, again and again | `"false"` |
//! | `simulate.plimsoll.dev/start-after` | how long until it starts, as a large image would take | `0s` |
//! | `simulate.plimsoll.dev/ready-after` | how long after its start until it is ready | `0s` |
//! | `simulate.plimsoll.dev/stop-after` | how long it takes to end when it is asked to; killed when the grace is over | `0s` |
//!
//! They are for all containers of the pod but init containers, which end with 0 at once, and sidecars, which run for ever.
//! `.<container>` after the name makes it one container's, init containers and sidecars included:
//! `simulate.plimsoll.dev/run-for.migrate: 30s`. An exit code by itself means an end, after a second. Whether a container is
//! restarted is its restart policy's to say, and a value that cannot be read is told in an event and left out.

use std::time::Duration;

use plimsoll_clock::duration;
use serde_json::Value;

/// What all annotations begin with.
const PREFIX: &str = "simulate.plimsoll.dev/";
/// What they are called behind that.
const NAMES: [&str; 6] = ["run-for", "exit-code", "crash-loop", "start-after", "ready-after", "stop-after"];
/// How long work takes unless told.
const WORK: Duration = Duration::from_secs(1);

/// What part a container has in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It runs to its end before the others start.
    Init,
    /// An init container that stays.
    Sidecar,
    /// One of the others.
    Main,
}

/// When containers are started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "Always" => Some(Self::Always),
            "OnFailure" => Some(Self::OnFailure),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }

    /// A pod's.
    pub(super) fn of_pod(pod: &Value) -> Self {
        pod["spec"]["restartPolicy"].as_str().and_then(Self::from_name).unwrap_or(Self::Always)
    }

    /// A container's: its own where it has one, and the pod's otherwise.
    fn of(pod: &Value, container: &Value, role: Role) -> Self {
        let own = container["restartPolicy"].as_str().and_then(Self::from_name);
        match (own, Self::of_pod(pod), role) {
            (Some(own), ..) => own,
            // An init container that is done is done.
            (None, Self::Always, Role::Init) => Self::OnFailure,
            (None, of_pod, _) => of_pod,
        }
    }
}

/// How one container behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// When it is started again.
    pub(super) restart: Restart,
    /// What ends with which the container is started again whatever its policy (`restartPolicyRules`).
    restart_codes: Vec<CodeRule>,
    /// How long it runs; `None` for ever.
    pub(super) run_for: Option<Duration>,
    /// What it ends with.
    pub(super) code: i64,
    /// How long until it starts.
    pub(super) start_after: Duration,
    /// How long until it is ready.
    pub(super) ready_after: Duration,
    /// How long it takes to end when asked to.
    pub(super) stop_after: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CodeRule {
    among: bool,
    codes: Vec<i64>,
}

impl Rule {
    /// The rule for a container of a pod, and what of the annotations cannot be read.
    pub(super) fn of(pod: &Value, container: &Value, role: Role) -> (Self, Vec<String>) {
        let mut wrong = Vec::new();
        let name = container["name"].as_str().unwrap_or_default();
        let annotations = &pod["metadata"]["annotations"];
        let find = |what: &str| {
            let own = format!("{PREFIX}{what}.{name}");
            let all = format!("{PREFIX}{what}");
            match (annotations[&own].as_str(), annotations[&all].as_str()) {
                (Some(value), _) => Some((own, value.to_owned())),
                (None, Some(value)) if role == Role::Main => Some((all, value.to_owned())),
                _ => None,
            }
        };
        let mut note = |key: &str, why: String| wrong.push(format!("{key} is left out: {why}"));
        let mut time = |what: &str| {
            let (key, value) = find(what)?;
            duration::parse(&value).map_err(|why| note(&key, why)).ok()
        };
        let (start_after, ready_after, stop_after) = (time("start-after"), time("ready-after"), time("stop-after"));
        let run_for = find("run-for").and_then(|(key, value)| match value.as_str() {
            "forever" => Some(None),
            value => duration::parse(value).map(Some).map_err(|why| note(&key, why)).ok(),
        });
        let code = find("exit-code").and_then(|(key, value)| match value.parse::<u8>() {
            Ok(code) => Some(i64::from(code)),
            Err(_) => {
                note(&key, format!("{value} is not an exit code; they are 0 to 255"));
                None
            }
        });
        let crashes = find("crash-loop").is_some_and(|(key, value)| match value.parse::<bool>() {
            Ok(crashes) => crashes,
            Err(_) => {
                note(&key, format!("{value} is neither true nor false"));
                false
            }
        });
        let restart = Restart::of(pod, container, role);
        let stays = role == Role::Sidecar || restart == Restart::Always;
        let by_default = match role {
            Role::Init if !crashes => Some(Duration::ZERO),
            _ if crashes || code.is_some() || !stays => Some(WORK),
            _ => None,
        };
        let rule = Self {
            restart,
            restart_codes: code_rules(container),
            run_for: run_for.unwrap_or(by_default),
            code: code.unwrap_or(i64::from(crashes)),
            start_after: start_after.unwrap_or_default(),
            ready_after: ready_after.unwrap_or_default(),
            stop_after: stop_after.unwrap_or_default(),
        };
        (rule, wrong)
    }

    /// Whether a container that ended with this code is started again.
    pub(super) fn restarts(&self, code: i64) -> bool {
        self.restart_codes.iter().any(|rule| rule.codes.contains(&code) == rule.among)
            || match self.restart {
                Restart::Always => true,
                Restart::OnFailure => code != 0,
                Restart::Never => false,
            }
    }
}

/// What is wrong with the names of a pod's annotations: one that nobody reads was meant to be another.
pub(super) fn misnamed(pod: &Value) -> Vec<String> {
    let lists = ["initContainers", "containers"].map(|list| pod["spec"][list].as_array());
    let containers: Vec<&str> = lists.into_iter().flatten().flatten().filter_map(|c| c["name"].as_str()).collect();
    let wrong = |key: &String| {
        let (name, container) = match key.strip_prefix(PREFIX)?.split_once('.') {
            Some((name, container)) => (name, Some(container)),
            None => (key.strip_prefix(PREFIX)?, None),
        };
        if !NAMES.contains(&name) {
            return Some(format!("{key} is left out: there are {}", NAMES.join(", ")));
        }
        let container = container.filter(|container| !containers.contains(container))?;
        Some(format!("{key} is left out: the pod has no container {container}"))
    };
    pod["metadata"]["annotations"].as_object().into_iter().flat_map(|all| all.keys()).filter_map(wrong).collect()
}

fn code_rules(container: &Value) -> Vec<CodeRule> {
    let rules = container["restartPolicyRules"].as_array().into_iter().flatten();
    rules
        .filter(|rule| rule["action"] == "Restart")
        .map(|rule| {
            let codes =
                rule["exitCodes"]["values"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
            CodeRule { among: rule["exitCodes"]["operator"] != "NotIn", codes }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(policy: &str, role: Role, annotations: Value) -> (Rule, Vec<String>) {
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {"restartPolicy": policy}});
        Rule::of(&pod, &json!({"name": "c"}), role)
    }

    #[test]
    fn a_name_that_nobody_reads_is_told() {
        let pod = json!({"metadata": {"annotations": {
            "simulate.plimsoll.dev/crash-lop": "true", "simulate.plimsoll.dev/run-for.other": "1s",
            "simulate.plimsoll.dev/run-for.c": "1s", "simulate.plimsoll.dev/exit-code": "1", "example.com/crash-lop": "x",
        }}, "spec": {"containers": [{"name": "c"}]}});
        assert_eq!(
            misnamed(&pod),
            [
                "simulate.plimsoll.dev/crash-lop is left out: there are run-for, exit-code, crash-loop, start-after, ready-after, stop-after",
                "simulate.plimsoll.dev/run-for.other is left out: the pod has no container other",
            ]
        );
        assert!(misnamed(&json!({})).is_empty());
    }

    const SECOND: Option<Duration> = Some(Duration::from_secs(1));

    #[test]
    fn without_annotations_servers_stay_and_work_ends() {
        assert_eq!(rule("Always", Role::Main, json!(null)).0.run_for, None);
        for policy in ["OnFailure", "Never"] {
            let (rule, _) = rule(policy, Role::Main, json!({}));
            assert_eq!((rule.run_for, rule.code), (SECOND, 0));
        }
        let (init, _) = rule("Always", Role::Init, json!({}));
        assert_eq!((init.run_for, init.code), (Some(Duration::ZERO), 0));
        assert!(init.restarts(1) && !init.restarts(0));
        assert_eq!(rule("Never", Role::Sidecar, json!({})).0.run_for, None);
    }

    #[test]
    fn annotations_are_for_containers_and_by_name_for_any() {
        let annotations = json!({
            "simulate.plimsoll.dev/exit-code": "3", "simulate.plimsoll.dev/exit-code.other": "4",
            "simulate.plimsoll.dev/start-after": "1m30s", "simulate.plimsoll.dev/ready-after.c": "2s",
            "simulate.plimsoll.dev/stop-after": "500ms",
        });
        let (main, wrong) = rule("Always", Role::Main, annotations.clone());
        assert_eq!((main.run_for, main.code), (SECOND, 3));
        assert_eq!(main.start_after, Duration::from_secs(90));
        assert_eq!(main.stop_after, Duration::from_millis(500));
        assert!(wrong.is_empty());
        let (init, _) = rule("Always", Role::Init, annotations);
        assert_eq!((init.code, init.start_after, init.ready_after), (0, Duration::ZERO, Duration::from_secs(2)));
    }

    #[test]
    fn a_crash_loop_ends_with_one_and_forever_is_for_ever() {
        let (crash, _) = rule("Always", Role::Main, json!({"simulate.plimsoll.dev/crash-loop": "true"}));
        assert_eq!((crash.run_for, crash.code), (SECOND, 1));
        let (stays, _) = rule("Never", Role::Main, json!({"simulate.plimsoll.dev/run-for": "forever"}));
        assert_eq!(stays.run_for, None);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_left_out() {
        let annotations = json!({
            "simulate.plimsoll.dev/run-for": "soon", "simulate.plimsoll.dev/exit-code": "256",
            "simulate.plimsoll.dev/crash-loop": "yes",
        });
        let (found, wrong) = rule("Always", Role::Main, annotations);
        assert_eq!(found, rule("Always", Role::Main, json!({})).0);
        assert_eq!(wrong.len(), 3);
        assert!(wrong[0].starts_with("simulate.plimsoll.dev/run-for is left out: soon is not a duration"), "{wrong:?}");
    }

    #[test]
    fn a_containers_own_policy_and_its_rules_come_first() {
        let pod = json!({"spec": {"restartPolicy": "Never"}});
        let container = json!({"name": "c", "restartPolicy": "Never", "restartPolicyRules": [
            {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]});
        let (rule, _) = Rule::of(&pod, &container, Role::Main);
        assert!(rule.restarts(42) && !rule.restarts(1));
    }
}
