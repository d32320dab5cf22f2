//! A stand-in of an external provisioner: it sees the node that was selected for a claim, and makes a volume there or gives the node up.
//!
//! ```text
//!  claim with selected-node, no volume ──► makes      a volume that this node reaches, reserved for the claim
//!                                     └──► givesUp    the annotation is taken off, each time
//!                                     └──► givesUpOnce  the first time so, then as `makes`
//! ```

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::observe::Seen;

/// The annotation by which a scheduler asks for a volume.
const SELECTED: &str = "volume.kubernetes.io/selected-node";
/// The annotation by which the volume controller hands a claim over; no provisioner acts before it is there.
const HANDED_OVER: &str = "volume.kubernetes.io/storage-provisioner";

/// What is done for a claim that has a selected node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// A volume is made.
    Makes,
    /// The node is given up, each time.
    GivesUp,
    /// The node is given up once; the next one gets its volume.
    GivesUpOnce,
}

/// A request that the stand-in makes: method, `KIND/NAME` or nothing for a new volume, and body.
pub type Call = (Method, Option<String>, Value);

/// What the stand-in does about what it sees. `answered` holds what it did already.
pub fn answers(
    seen: &Seen,
    id: &str,
    wanted: &BTreeMap<String, Answer>,
    answered: &mut BTreeSet<(String, String)>,
) -> Vec<Call> {
    let mut calls = Vec::new();
    for (reference, claim) in &seen.objects {
        let Some(name) = reference.strip_prefix("pvc/") else { continue };
        let Some(answer) = wanted.get(name).or_else(|| wanted.get("*")) else { continue };
        let text = |pointer: &str| claim.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let node = claim["metadata"]["annotations"][SELECTED].as_str().unwrap_or_default().to_owned();
        let handed_over = claim["metadata"]["annotations"].get(HANDED_OVER).is_some();
        if node.is_empty() || !handed_over || !text("/spec/volumeName").is_empty() {
            continue;
        }
        let (uid, version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        let gave_up = (uid.clone(), String::from("gave up"));
        if *answer == Answer::GivesUp || *answer == Answer::GivesUpOnce && answered.insert(gave_up) {
            if answered.insert((uid, version)) {
                let patch = json!({"metadata": {"annotations": {SELECTED: null}}});
                calls.push((Method::PATCH, Some(reference.clone()), patch));
            }
        } else if answered.insert((uid.clone(), String::from("made"))) {
            let term =
                json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]});
            let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": format!("made-{name}-{id}"), "annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.com"}},
                "spec": {"capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
                    "accessModes": claim["spec"]["accessModes"], "storageClassName": claim["spec"]["storageClassName"],
                    "persistentVolumeReclaimPolicy": "Delete",
                    "csi": {"driver": "csi.example.com", "volumeHandle": name},
                    "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": id, "name": name, "uid": uid},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}});
            calls.push((Method::POST, None, volume));
        }
    }
    calls
}
