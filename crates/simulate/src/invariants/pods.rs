//! What must hold of pods that are placed.

use plimsoll_api::DocumentKind;
use plimsoll_api::Interner;
use plimsoll_engine::model;
use plimsoll_engine::nodes::demand;
use plimsoll_engine::object::Object;
use serde_json::Value;

use super::volumes::read::{annotation, claim_uid, uid, volume_name};
use super::{Change, Invariant, State};

/// The annotation of a claim whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// A pod gets its node only when its claims have their volumes, and these can be reached from there.
pub struct PlacedWithVolumes;

impl Invariant for PlacedWithVolumes {
    fn name(&self) -> &'static str {
        "a pod is placed only where its volumes are"
    }

    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String> {
        let Some((after, node)) = newly_placed(change) else { return Ok(()) };
        // A node may have gone in the moment in which the pod was bound to it.
        let found = state.nodes.get(node).and_then(|found| engine(DocumentKind::Node, found));
        let Some(Object::Node(node_object)) = found else { return Ok(()) };
        for claim in claims(after) {
            let key = format!("{}/{claim}", after["metadata"]["namespace"].as_str().unwrap_or_default());
            // So may a claim that somebody deleted.
            let Some(found) = state.claims.get(&key) else { continue };
            let name = volume_name(found);
            if annotation(found, BIND_COMPLETED).is_none() || name.is_empty() {
                return Err(format!("it is on {node}, and its claim {key} is not bound"));
            }
            // A volume that somebody deleted by force since is not the scheduler's doing.
            let Some(volume) = state.volumes.get(name) else { continue };
            if claim_uid(volume) != uid(found) {
                return Err(format!("its claim {key} has {name}, which is another's"));
            }
            let Some(Object::Volume(volume)) = engine(DocumentKind::Volume, volume) else { continue };
            if !reaches(&volume, &node_object) {
                return Err(format!("it is on {node}, from where {name} cannot be reached"));
            }
        }
        Ok(())
    }
}

/// No node holds more than it has room for.
pub struct NotOverfull;

impl Invariant for NotOverfull {
    fn name(&self) -> &'static str {
        "no node is given more than it has"
    }

    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String> {
        let Some((_, node)) = newly_placed(change) else { return Ok(()) };
        let Some(Object::Node(room)) = state.nodes.get(node).and_then(|n| engine(DocumentKind::Node, n)) else {
            return Ok(());
        };
        let mut used = model::Resources::default();
        let mut pods = 0;
        for pod in state.pods.values().filter(|pod| pod["spec"]["nodeName"] == node) {
            if let Some(Object::Pod(pod)) = engine(DocumentKind::Pod, pod)
                && !pod.ended
            {
                used.add(&demand::asked(&pod));
                pods += 1;
            }
        }
        let room = room.allocatable;
        if used.cpu_milli > room.cpu_milli || used.memory > room.memory || pods > room.pods {
            return Err(format!("{node} holds {pods} pods with {} m of cpu, of {}", used.cpu_milli, room.cpu_milli));
        }
        Ok(())
    }
}

/// A scheduler removes a pod only for one that matters more, and tells it so first.
#[derive(Default)]
pub struct RemovedForAnother {
    /// The highest priority that a pod ever had.
    highest: i64,
}

impl Invariant for RemovedForAnother {
    fn name(&self) -> &'static str {
        "a pod is removed only for one that matters more"
    }

    fn check(&mut self, _: &State, change: &Change<'_>) -> Result<(), String> {
        if change.resource != "pods" {
            return Ok(());
        }
        let priority = |pod: &Value| pod["spec"]["priority"].as_i64().unwrap_or(0);
        let going = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
        self.highest = self.highest.max(change.after.as_deref().map_or(0, priority));
        let Some(before) = change.before.as_deref().filter(|pod| !going(pod)) else { return Ok(()) };
        if !change.by.starts_with("scheduler") || change.after.as_deref().is_some_and(|pod| !going(pod)) {
            return Ok(());
        }
        if priority(before) >= self.highest {
            return Err("nobody matters more".to_owned());
        }
        let told = |c: &Value| c["type"] == "DisruptionTarget" && c["status"] == "True";
        match before["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(told)) {
            true => Ok(()),
            false => Err("it was not told why".to_owned()),
        }
    }
}

/// The pod that a component has just placed, and where.
fn newly_placed<'a>(change: &'a Change<'_>) -> Option<(&'a Value, &'a str)> {
    let after = change.after.as_deref().filter(|_| change.resource == "pods" && change.by_component())?;
    let node = |pod: &Value| pod["spec"]["nodeName"].as_str().map(str::to_owned);
    let before = change.before.as_deref().and_then(node);
    let now = after["spec"]["nodeName"].as_str()?;
    (before.as_deref() != Some(now)).then_some((after, now))
}

fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|v| v["persistentVolumeClaim"]["claimName"].as_str())
}

fn engine(kind: DocumentKind, object: &Value) -> Option<Object> {
    kind.decode(object).ok()?.to_engine(&mut Interner::new()).ok()?
}

fn reaches(volume: &model::Volume, node: &model::Node) -> bool {
    volume.affinity.as_ref().is_none_or(|affinity| affinity.matches_labels(&node.labels))
}
