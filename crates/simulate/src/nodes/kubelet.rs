//! One simulated kubelet: its machine, what it knows of its pods, and whether it is on duty.
//!
//! ```text
//!                  registers                    cut off              brought back
//!   unregistered ─────────────► on duty ─────────────────► cut off ─────────────► on duty
//!                                  │                          │
//!                                  └── its Node is deleted ───┴──► deregistered ── until its next life
//! ```
//! A kubelet that is cut off does nothing that the API could see; its containers live on, and when it is brought back it
//! tells what became of them. One whose Node was deleted does not make it again, as a real one does not before it is
//! restarted.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use plimsoll_api::kinds::{Node, Pod};
use plimsoll_runtime::write::about;
use plimsoll_runtime::{About, Place, Recorder, Resource, Severity, Whole};
use serde_json::Value;
use tokio::time::Instant;

use super::admission::Seats;
use super::container::Memory;
use super::machine::Machine;
use crate::laboratory::lock;

/// The annotation of a Node that cuts its kubelet off for as long as it is `"true"`.
pub const CUT_OFF: &str = "simulate.plimsoll.dev/cut-off";

/// How often a kubelet tries again to mount what is not there: half a second, doubled by each failure.
const FIRST_TRY: Duration = Duration::from_millis(500);
/// The longest wait. A kubelet's is two minutes, which nobody wants to see twice.
const LONGEST_TRY: Duration = Duration::from_secs(10);
/// The longest between two complaints of the same: a kubelet's.
const COMPLAIN: Duration = Duration::from_secs(122);

/// A simulated kubelet.
pub(super) struct Kubelet {
    pub(super) machine: Machine,
    recorder: Recorder,
    /// What its pods hold.
    pub(super) seats: Mutex<Seats>,
    pods: Mutex<BTreeMap<String, PodMemory>>,
    duty: Mutex<Duty>,
    /// Its lease as last written.
    pub(super) lease: Mutex<Option<Value>>,
}

/// What is remembered of a pod in this life, by its uid.
#[derive(Default)]
struct PodMemory {
    containers: Memory,
    trouble: Option<Trouble>,
    /// Its containers were asked to end, and that was told.
    killing: bool,
}

/// What a pod waits for.
struct Trouble {
    why: String,
    tries: u32,
    said: Instant,
    complaints: u32,
}

/// Whether a kubelet does its work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    Unregistered,
    OnDuty,
    CutOff,
    /// Since then.
    Deregistered(Instant),
}

#[derive(Default)]
struct Duty {
    registered: bool,
    cut_off: bool,
    /// The uid of its Node.
    uid: String,
    gone: Option<Instant>,
    unschedulable: bool,
    /// When the status was last reported.
    reported: Option<Instant>,
}

impl Kubelet {
    pub(super) fn new(machine: Machine, recorder: Recorder) -> Self {
        let (seats, pods, duty, lease) = Default::default();
        Self { machine, recorder, seats, pods, duty, lease }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.machine.name
    }

    /// Whether it does its work.
    pub(super) fn standing(&self) -> Standing {
        match &*lock(&self.duty) {
            Duty { gone: Some(since), registered: true, .. } => Standing::Deregistered(*since),
            Duty { cut_off: true, .. } => Standing::CutOff,
            Duty { registered: true, .. } => Standing::OnDuty,
            Duty { .. } => Standing::Unregistered,
        }
    }

    /// It has made its Node, or found it.
    pub(super) fn registered(&self) {
        lock(&self.duty).registered = true;
    }

    /// The uid of its Node; empty where it has none.
    pub(super) fn node_uid(&self) -> String {
        lock(&self.duty).uid.clone()
    }

    /// Takes note of its Node as it is. Returns whether its standing is another now.
    pub(super) fn note_node(&self, node: &Whole<Node>) -> bool {
        let before = self.standing();
        let cut_off = node.value()["metadata"]["annotations"][CUT_OFF] == "true";
        let mut duty = lock(&self.duty);
        duty.cut_off = cut_off;
        duty.gone = None;
        duty.uid.clone_from(&node.slim.metadata.uid);
        let unschedulable = node.slim.spec.unschedulable;
        let news = (duty.unschedulable != unschedulable && duty.registered && !cut_off).then_some(unschedulable);
        duty.unschedulable = unschedulable;
        drop(duty);
        match news {
            Some(true) => self.node_event("NodeNotSchedulable"),
            Some(false) => self.node_event("NodeSchedulable"),
            None => {}
        }
        self.standing() != before
    }

    /// Takes note that its Node is gone.
    pub(super) fn note_gone(&self) {
        let mut duty = lock(&self.duty);
        duty.gone.get_or_insert_with(Instant::now);
        duty.cut_off = false;
        drop(duty);
        *lock(&self.lease) = None;
    }

    /// When the status was last reported.
    pub(super) fn reported(&self) -> Option<Instant> {
        lock(&self.duty).reported
    }

    /// The status is reported now.
    pub(super) fn note_report(&self) {
        lock(&self.duty).reported = Some(Instant::now());
    }

    /// Says something of a pod, or of the part of it that `field` names.
    pub(super) fn say(&self, pod: &Whole<Pod>, field: &str, severity: Severity, reason: &str, message: &str) {
        let place = Place { host: self.machine.name.clone(), field: field.to_owned() };
        self.recorder.event_at(place, &about(pod), severity, reason, message);
    }

    /// Says that the node's state is another now.
    pub(super) fn node_event(&self, state: &str) {
        self.say_of_node(state, &format!("Node {} status is now: {state}", self.machine.name));
    }

    /// Says something of the node.
    pub(super) fn say_of_node(&self, reason: &str, message: &str) {
        let node = About {
            resource: Resource::NODES,
            namespace: String::new(),
            name: self.machine.name.clone(),
            uid: self.node_uid(),
            version: String::new(),
        };
        let place = Place { host: self.machine.name.clone(), field: String::new() };
        self.recorder.event_at(place, &node, Severity::Normal, reason, message);
    }

    /// Works with what is remembered of a pod's containers.
    pub(super) fn with_memory<T>(&self, uid: &str, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut lock(&self.pods).entry(uid.to_owned()).or_default().containers)
    }

    /// Whether it is news that the pod's containers are asked to end.
    pub(super) fn begins_to_kill(&self, uid: &str) -> bool {
        !std::mem::replace(&mut lock(&self.pods).entry(uid.to_owned()).or_default().killing, true)
    }

    /// Says why a pod waits, at once where it is news and then ever more seldom; returns when to try again.
    pub(super) fn complain(&self, pod: &Whole<Pod>, troubles: &[String]) -> Duration {
        let why = troubles.join("\n");
        let now = Instant::now();
        let mut pods = lock(&self.pods);
        let memory = pods.entry(pod.slim.metadata.uid.clone()).or_default();
        let trouble =
            memory.trouble.get_or_insert_with(|| Trouble { why: String::new(), tries: 0, said: now, complaints: 0 });
        let news = trouble.why != why;
        if news {
            (trouble.why, trouble.complaints) = (why, 0);
        }
        if news || now - trouble.said >= doubled(trouble.complaints, COMPLAIN) {
            trouble.said = now;
            trouble.complaints += 1;
            for message in troubles {
                self.say(pod, "", Severity::Warning, plimsoll_controllers::node_check::REASON, message);
            }
        }
        trouble.tries += 1;
        doubled(trouble.tries - 1, LONGEST_TRY)
    }

    /// The pod waits no more.
    pub(super) fn is_content(&self, uid: &str) {
        if let Some(memory) = lock(&self.pods).get_mut(uid) {
            memory.trouble = None;
        }
    }

    /// Forgets a pod that ended or went.
    pub(super) fn forget(&self, uid: &str) {
        lock(&self.seats).free(uid);
        lock(&self.pods).remove(uid);
    }
}

fn doubled(times: u32, longest: Duration) -> Duration {
    FIRST_TRY.saturating_mul(1 << times.min(16)).min(longest)
}
