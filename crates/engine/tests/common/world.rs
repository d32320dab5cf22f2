//! A cluster that is told of objects and asked about pods.

use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::reason::{Plugin, Refusal, Status};
use plimsoll_engine::volumes::{ClaimPlan, Outcome, VolumePlan};
use plimsoll_engine::{Catalog, Decision, Event, Kind, Object};

use super::{IntoObject, key};

/// A catalog whose objects get rising versions, and the gates that its questions are asked with.
#[derive(Debug)]
pub struct World {
    pub catalog: Catalog,
    pub gates: Gates,
    version: Version,
}

/// An empty cluster that decides as upstream does.
pub fn world() -> World {
    World { catalog: Catalog::new(), gates: Gates::AS_UPSTREAM, version: 0 }
}

impl World {
    /// Adds or changes an object; one without a version gets the next.
    #[must_use]
    pub fn with(mut self, object: impl IntoObject) -> Self {
        self.set(object);
        self
    }

    /// Turns a gate on.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gates = self.gates.with(gate, true);
        self
    }

    /// As [`World::with`]; returns the version that the object got.
    pub fn set(&mut self, object: impl IntoObject) -> Version {
        let mut object = object.into_object();
        if object.version() == 0 {
            self.version += 1;
            set_version(&mut object, self.version);
        }
        let version = object.version();
        self.catalog.apply(Event::Set(object));
        version
    }

    pub fn remove(&mut self, kind: Kind, name: &str) {
        let key = if kind.is_namespaced() { key(name) } else { ObjectKey::new("", name) };
        self.catalog.apply(Event::Gone { kind, key, version: 0 });
    }

    pub fn decide(&self, pod: &Pod) -> Decision {
        self.catalog.decide(pod, self.gates)
    }

    /// Why the pod as a whole is refused: (plugin, status, reason).
    pub fn rejection(&self, pod: &Pod) -> Option<(Plugin, Status, String)> {
        self.decide(pod).rejection.map(told)
    }

    /// Every reason against a node.
    pub fn refusals(&self, pod: &Pod, node: &str) -> Vec<(Plugin, Status, String)> {
        let decision = self.decide(pod);
        assert_eq!(decision.rejection, None, "the pod as a whole is refused");
        let found = decision.nodes.into_iter().find(|n| &*n.node == node).expect("the node exists");
        found.refusals.into_iter().map(told).collect()
    }

    /// Every reason string against a node.
    pub fn reasons(&self, pod: &Pod, node: &str) -> Vec<String> {
        self.refusals(pod, node).into_iter().map(|(_, _, reason)| reason).collect()
    }

    pub fn fits(&self, pod: &Pod, node: &str) -> bool {
        self.refusals(pod, node).is_empty()
    }

    /// The nodes that fit, in order.
    pub fn feasible(&self, pod: &Pod) -> Vec<String> {
        self.decide(pod).nodes.iter().filter(|n| n.is_feasible()).map(|n| n.node.to_string()).collect()
    }

    pub fn plan(&self, pod: &Pod, node: &str) -> VolumePlan {
        let decision = self.decide(pod);
        assert_eq!(decision.rejection, None, "the pod as a whole is refused");
        decision.nodes.into_iter().find(|n| &*n.node == node).expect("the node exists").plan
    }

    /// The plan in short, claim by claim: the volume's name, `new`, `none`; `=` stands before one that is bound.
    pub fn planned(&self, pod: &Pod, node: &str) -> Vec<String> {
        self.plan(pod, node).claims.iter().map(short).collect()
    }

    /// VolumeBinding's score of a node that fits.
    pub fn volume_score(&self, pod: &Pod, node: &str) -> i64 {
        let decision = self.decide(pod);
        let found = decision.nodes.iter().find(|n| &*n.node == node).expect("the node exists");
        let scores = found.scores.as_ref().expect("the node fits");
        scores.iter().find(|(plugin, _)| *plugin == Plugin::VolumeBinding).map_or(0, |(_, score)| *score)
    }

    /// Makes the pod known and assumes it on the node by the plan that is best now.
    pub fn place(&mut self, pod: &Pod, node: &str) -> VolumePlan {
        let plan = self.plan(pod, node);
        self.set(pod.clone());
        self.catalog.assume(&pod.key, &Name::from(node), &plan).expect("the plan is fresh");
        plan
    }
}

fn short(plan: &ClaimPlan) -> String {
    let volume = || plan.volume.as_deref().unwrap_or_default().to_owned();
    match plan.outcome {
        Outcome::Bound => format!("={}", volume()),
        Outcome::Static => volume(),
        Outcome::Provision => "new".to_owned(),
        Outcome::Unsatisfied => "none".to_owned(),
    }
}

fn told(refusal: Refusal) -> (Plugin, Status, String) {
    (refusal.plugin, refusal.status, refusal.reason.into_owned())
}

/// Gives an object a version.
pub fn set_version(object: &mut Object, version: Version) {
    match object {
        Object::Node(o) => o.version = version,
        Object::Pod(o) => o.version = version,
        Object::Volume(o) => o.version = version,
        Object::Claim(o) => o.version = version,
        Object::Class(o) => o.version = version,
        Object::Driver(o) => o.version = version,
        Object::CsiNode(o) => o.version = version,
        Object::Pool(o) => o.version = version,
        Object::Attachment(o) => o.version = version,
        Object::Namespace(o) => o.version = version,
        Object::Workload(o) => o.version = version,
        Object::Budget(o) => o.version = version,
    }
}
