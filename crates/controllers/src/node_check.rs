//! The node's own check: a volume whose affinity does not match the node is not mounted, whoever put the pod there.
//!
//! It is the last guard for pods that no scheduler looked at, and for volumes that changed since one did.

use plimsoll_api::Interner;
use plimsoll_api::kinds::{CsiNode, Node, PersistentVolume};
use plimsoll_api::names::MIGRATED_PLUGINS;
use plimsoll_engine::volumes::Reach;

/// The reason of the event that a node says it with; for block devices too.
pub const REASON: &str = "FailedMount";

/// A volume that the node must not mount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The event's message, as a kubelet says it.
    pub message: String,
}

/// Whether the node may mount the volume. Where the node's plugins are migrated, the volume is judged as its CSI driver's.
pub fn check(volume: &PersistentVolume, node: &Node, csi_node: Option<&CsiNode>) -> Result<(), Refused> {
    let plugins = csi_node.and_then(|c| c.metadata.annotation(MIGRATED_PLUGINS)).unwrap_or_default();
    let refuse = |why: &str| {
        // A kubelet maps block devices and mounts the rest.
        let verb = if volume.spec.volume_mode == "Block" { "MapVolume" } else { "MountVolume" };
        // The blank before the colon is a kubelet's.
        let message = format!("{verb}.NodeAffinity check failed for volume \"{}\" : {why}", volume.metadata.name);
        Err(Refused { message })
    };
    let mut names = Interner::new();
    let converted = match volume.to_engine(&mut names) {
        Ok(converted) => converted,
        // What cannot be read cannot be judged, and is then not mounted.
        Err(error) => return refuse(&error.to_string()),
    };
    let labels = node.metadata.labels.to_labels(&mut names);
    match Reach::of(&converted, |plugin| plugins.split(',').any(|p| p == plugin)).evaluate(&labels) {
        Ok(true) => Ok(()),
        Ok(false) => refuse("no matching NodeSelectorTerms"),
        Err(error) => refuse(&error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume(spec: serde_json::Value) -> PersistentVolume {
        serde_json::from_value(json!({"metadata": {"name": "pv-1"}, "spec": spec})).unwrap()
    }

    fn node(labels: serde_json::Value) -> Node {
        serde_json::from_value(json!({"metadata": {"name": "n", "labels": labels}})).unwrap()
    }

    fn affinity(key: &str, operator: &str, values: &[&str]) -> serde_json::Value {
        let expression = json!({"key": key, "operator": operator, "values": values});
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}})
    }

    #[test]
    fn ns_1_a_volume_without_affinity_is_mounted_anywhere() {
        assert_eq!(check(&volume(json!({})), &node(json!({})), None), Ok(()));
    }

    #[test]
    fn a_node_that_does_not_match_says_what_a_kubelet_says() {
        let spec = json!({"nodeAffinity": affinity("zone", "In", &["a"])});
        assert_eq!(check(&volume(spec.clone()), &node(json!({"zone": "a"})), None), Ok(()));
        let refused = check(&volume(spec), &node(json!({"zone": "b"})), None).unwrap_err();
        let text = "MountVolume.NodeAffinity check failed for volume \"pv-1\" : no matching NodeSelectorTerms";
        assert_eq!(refused.to_string(), text);
        let spec = json!({"volumeMode": "Block", "nodeAffinity": affinity("zone", "In", &["a"])});
        let refused = check(&volume(spec), &node(json!({})), None).unwrap_err();
        let text = "MapVolume.NodeAffinity check failed for volume \"pv-1\" : no matching NodeSelectorTerms";
        assert_eq!(refused.message, text);
    }

    #[test]
    fn ns_15_an_invalid_term_is_a_failure_with_its_own_words() {
        let spec = json!({"nodeAffinity": affinity("zone", "Foo", &["a"])});
        let refused = check(&volume(spec), &node(json!({"zone": "a"})), None).unwrap_err();
        assert!(refused.message.contains(" : nodeSelectorTerms[0].matchExpressions[0].operator"), "{refused}");
    }

    #[test]
    fn ns_33_ns_34_a_migrated_volume_is_judged_as_its_drivers() {
        let value = json!({
            "metadata": {"name": "pv-1", "labels": {"topology.kubernetes.io/zone": "us-east1-a__us-east1-b"}},
            "spec": {"gcePersistentDisk": {"pdName": "d"}},
        });
        let volume: PersistentVolume = serde_json::from_value(value).unwrap();
        let csi_node: CsiNode = serde_json::from_value(json!({
            "metadata": {"name": "n", "annotations": {MIGRATED_PLUGINS: "kubernetes.io/gce-pd,kubernetes.io/cinder"}},
        }))
        .unwrap();
        let near = node(json!({"topology.gke.io/zone": "us-east1-b"}));
        let far = node(json!({"topology.gke.io/zone": "us-east1-c"}));
        assert_eq!(check(&volume, &near, Some(&csi_node)), Ok(()));
        assert!(check(&volume, &far, Some(&csi_node)).is_err());
        assert_eq!(check(&volume, &far, None), Ok(()));
    }
}
