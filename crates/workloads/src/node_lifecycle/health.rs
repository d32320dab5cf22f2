//! What is known of a node's health: what it says, and when it last said anything, by this process's own clock.

use std::time::Duration;

use jiff::Timestamp;
use plimsoll_api::kinds::{Node, Taint};
use plimsoll_api::names;
use plimsoll_clock::Clock;
use plimsoll_runtime::{Mirrored, Whole};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::times;

/// A condition of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    /// `None` where it is null, which is how a real API server writes a time that was never set.
    last_heartbeat_time: Option<String>,
}

/// The conditions that can be read: one that somebody wrote oddly must not hide that the node is ready, or is not.
fn conditions(written: &Value) -> Vec<Condition> {
    let written = written.as_array().into_iter().flatten();
    written.filter_map(|condition| Condition::deserialize(condition).ok()).collect()
}

/// What is read of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) zone: String,
    /// Whether it does not count for its zone's state.
    pub(super) excluded: bool,
    created: String,
    unschedulable: bool,
    pub(super) taints: Vec<Taint>,
    pub(super) conditions: Vec<Condition>,
}

/// Label: the node does not count when it is asked how much of a zone is out of reach.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// Which taint goes with which condition.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", names::TAINT_NOT_READY),
    ("Ready", "Unknown", names::TAINT_UNREACHABLE),
    ("MemoryPressure", "True", names::TAINT_MEMORY_PRESSURE),
    ("DiskPressure", "True", names::TAINT_DISK_PRESSURE),
    ("NetworkUnavailable", "True", names::TAINT_NETWORK_UNAVAILABLE),
    ("PIDPressure", "True", names::TAINT_PID_PRESSURE),
];

/// Whether a NoSchedule taint of this key is this controller's to give and take.
pub(super) fn is_own(key: &str) -> bool {
    key == names::TAINT_UNSCHEDULABLE || TAINTS.iter().any(|(_, _, own)| *own == key)
}

impl Facts {
    /// Reads a node.
    pub(super) fn of(node: &Whole<Node>) -> Self {
        let meta = node.meta();
        let label = |key: &str| meta.labels.get(key);
        let zone = label("failure-domain.beta.kubernetes.io/zone").or_else(|| label("topology.kubernetes.io/zone"));
        let region =
            label("failure-domain.beta.kubernetes.io/region").or_else(|| label("topology.kubernetes.io/region"));
        let zone = match (region.unwrap_or_default(), zone.unwrap_or_default()) {
            ("", "") => String::new(),
            (region, zone) => format!("{region}:\0:{zone}"),
        };
        Self {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            zone,
            excluded: label(EXCLUDED).is_some(),
            created: meta.creation_timestamp.clone(),
            unschedulable: node.slim.spec.unschedulable,
            taints: node.slim.spec.taints.clone(),
            conditions: conditions(&node.value()["status"]["conditions"]),
        }
    }

    /// What it says about being ready.
    pub(super) fn ready(&self) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == "Ready")
    }

    /// Whether it has a taint.
    pub(super) fn has(&self, key: &str, effect: &str) -> bool {
        self.taints.iter().any(|t| t.key == key && t.effect == effect)
    }

    /// The keys of the NoSchedule taints that go with what is said of it.
    pub(super) fn no_schedule(&self) -> Vec<&'static str> {
        let by_condition = self.conditions.iter().filter_map(|c| {
            TAINTS.iter().find(|(kind, status, _)| c.kind == *kind && c.status == *status).map(|(_, _, key)| *key)
        });
        by_condition.chain(self.unschedulable.then_some(names::TAINT_UNSCHEDULABLE)).collect()
    }
}

/// A moment by two clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// What others are told, and what their word is compared with.
    pub(super) told: Timestamp,
    /// By it silence is measured: it stands still while the machine sleeps, and nobody sets it. Otherwise every node would be taken for
    /// lost when a laptop wakes up.
    pub(super) steady: Instant,
}

impl Moment {
    /// This one.
    pub(super) fn now(clock: &Clock) -> Self {
        Self { told: clock.now(), steady: Instant::now() }
    }

    /// The same moment as another one that was told, if it is past.
    fn of(self, told: Timestamp) -> Instant {
        let ago = self.told.duration_since(told).try_into().unwrap_or_default();
        self.steady.checked_sub(ago).unwrap_or(self.steady)
    }
}

/// When a node last showed that it lives.
#[derive(Clone, Debug)]
pub(super) struct Health {
    /// By this process's clock: the clocks of nodes may differ.
    pub(super) probe: Instant,
    ready: Option<Condition>,
    pub(super) lease: Option<Renewal>,
}

/// A lease as it was last seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Renewal {
    /// The lease's version.
    pub(super) version: String,
    /// When its node says that it renewed it.
    pub(super) time: Option<Timestamp>,
}

impl Health {
    /// The health after a look at a node and its lease.
    pub(super) fn after(saved: Option<&Self>, node: &Facts, lease: Option<Renewal>, now: Moment) -> Self {
        let current = node.ready();
        let news = match saved {
            None => current.is_some(),
            Some(saved) => match (&saved.ready, current) {
                (None, None) => false,
                (Some(saved), Some(current)) => saved.last_heartbeat_time != current.last_heartbeat_time,
                _ => true,
            },
        };
        let probe = match saved {
            _ if news => now.steady,
            Some(saved) => saved.probe,
            None => times::read(&node.created).map_or(now.steady, |created| now.of(created)),
        };
        let known = saved.and_then(|saved| saved.lease.clone());
        let renewed = lease.as_ref().is_some_and(|new| known.as_ref().is_none_or(|old| old.time < new.time));
        let probe = if renewed { now.steady } else { probe };
        let seen = if renewed || known.is_none() { lease } else { known };
        Self { probe, ready: current.cloned(), lease: seen }
    }

    /// Whether the node has been silent for longer than it may.
    pub(super) fn is_silent(&self, grace: Duration, now: Moment) -> bool {
        now.steady.saturating_duration_since(self.probe) > grace
    }
}

/// Says in a node's conditions that nothing is known of it. The network's is left alone: no kubelet reports it.
pub(super) fn forget(node: &mut Value, now: Timestamp) {
    let created = node["metadata"]["creationTimestamp"].clone();
    let now = times::written(now);
    if !node["status"]["conditions"].is_array() {
        node["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = node["status"]["conditions"].as_array_mut() else { return };
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        match conditions.iter_mut().find(|c| c["type"] == kind) {
            None => conditions.push(json!({"type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.", "lastHeartbeatTime": created,
                "lastTransitionTime": now})),
            Some(known) if known["status"] != "Unknown" => {
                known["status"] = json!("Unknown");
                known["reason"] = json!("NodeStatusUnknown");
                known["message"] = json!("Kubelet stopped posting node status.");
                known["lastTransitionTime"] = json!(now);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn node(ready: Option<(&str, &str)>) -> Facts {
        let conditions = ready.map(|(status, heartbeat)| Condition {
            kind: "Ready".to_owned(),
            status: status.to_owned(),
            last_heartbeat_time: Some(heartbeat.to_owned()),
        });
        Facts {
            created: "1970-01-01T00:00:10Z".to_owned(),
            conditions: conditions.into_iter().collect(),
            ..Facts::default()
        }
    }

    fn lease(second: i64) -> Option<Renewal> {
        Some(Renewal { version: second.to_string(), time: Some(at(second)) })
    }

    #[test]
    fn a_condition_that_is_written_oddly_hides_no_other() {
        let written = json!([{"type": "Disks", "status": "True", "lastHeartbeatTime": null}, {"type": 5}, "odd",
            {"type": "Ready", "status": "False", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]);
        let read: Vec<(String, String)> = conditions(&written).into_iter().map(|c| (c.kind, c.status)).collect();
        assert_eq!(read, [("Disks".into(), "True".into()), ("Ready".into(), "False".to_owned())]);
        assert!(conditions(&Value::Null).is_empty());
    }

    #[tokio::test]
    async fn a_node_lives_by_its_status_or_its_lease() {
        let (grace, begin) = (Duration::from_secs(50), Instant::now());
        let steady = |second: u64| begin + Duration::from_secs(second);
        let now = |second: u32| Moment { told: at(second.into()), steady: steady(second.into()) };
        let silent = |health: &Health, second: u32| health.is_silent(grace, now(second));
        // One that never said anything is given time from when it was made.
        let never = Health::after(None, &node(None), None, now(20));
        assert_eq!((never.probe, silent(&never, 60), silent(&never, 61)), (steady(10), false, true));
        // One that this process sees for the first time is given time from now, however old its word is.
        let first = Health::after(None, &node(Some(("True", "a"))), None, now(1000));
        assert_eq!((first.probe, silent(&first, 1050), silent(&first, 1051)), (steady(1000), false, true));
        // The same word again is no news, a new one is, and so is a renewed lease.
        let same = Health::after(Some(&first), &node(Some(("True", "a"))), None, now(1040));
        assert_eq!(same.probe, steady(1000));
        let new = Health::after(Some(&same), &node(Some(("True", "b"))), None, now(1045));
        assert_eq!(new.probe, steady(1045));
        let leased = Health::after(Some(&new), &node(Some(("True", "b"))), lease(7), now(1060));
        assert_eq!(leased.probe, steady(1060));
        let stale = Health::after(Some(&leased), &node(Some(("True", "b"))), lease(7), now(1070));
        assert_eq!(stale.probe, steady(1060));
        let older = Health::after(Some(&leased), &node(Some(("True", "b"))), lease(6), now(1070));
        assert_eq!((older.probe, older.lease), (steady(1060), lease(7)));
        let renewed = Health::after(Some(&stale), &node(Some(("True", "b"))), lease(8), now(1080));
        assert_eq!((renewed.probe, renewed.lease), (steady(1080), lease(8)));
    }

    #[tokio::test]
    async fn a_clock_that_jumps_silences_nobody() {
        let (grace, begin) = (Duration::from_secs(50), Instant::now());
        let health = Health::after(None, &node(Some(("True", "a"))), None, Moment { told: at(1000), steady: begin });
        for told in [0, 100_000] {
            let now = Moment { told: at(told), steady: begin + Duration::from_secs(5) };
            assert!(!health.is_silent(grace, now), "after a jump to {told}");
        }
        // A node that is said to be made later has its time from now on.
        let never = Health::after(None, &node(None), None, Moment { told: at(0), steady: begin });
        assert_eq!(never.probe, begin);
    }

    #[test]
    fn what_is_not_known_is_said_in_upstreams_words() {
        let mut node = json!({"metadata": {"creationTimestamp": "c"}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "h", "lastTransitionTime": "t"},
            {"type": "DiskPressure", "status": "Unknown", "reason": "x"},
            {"type": "NetworkUnavailable", "status": "False"}]}});
        forget(&mut node, at(5));
        let never = |kind: &str| {
            json!({"type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.", "lastHeartbeatTime": "c",
            "lastTransitionTime": "1970-01-01T00:00:05Z"})
        };
        assert_eq!(
            node["status"]["conditions"],
            json!([
                {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastHeartbeatTime": "h",
                 "message": "Kubelet stopped posting node status.", "lastTransitionTime": "1970-01-01T00:00:05Z"},
                {"type": "DiskPressure", "status": "Unknown", "reason": "x"},
                {"type": "NetworkUnavailable", "status": "False"},
                never("MemoryPressure"), never("PIDPressure"),
            ])
        );
        let once = node.clone();
        forget(&mut node, at(9));
        assert_eq!(node, once);
    }
}
