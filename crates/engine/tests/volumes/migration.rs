//! node-selector.md 1.7.3 and upstream-1.37.md: in-tree disks migrated to CSI.

use plimsoll_engine::model::{CsiNode, InTreeDisk, Volume};

use crate::common::*;

const EBS_ZONE: &str = "topology.ebs.csi.aws.com/zone";
const GCE_ZONE: &str = "topology.gke.io/zone";
const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";

fn migrated(node: &str, plugin: &str) -> CsiNode {
    CsiNode { migrated_plugins: vec![plugin.into()], ..csi_node(node, "") }
}

/// A cluster with nodes that carry only the driver's label, in zones a, b and c, and a claim bound to the volume. The
/// claim is an ephemeral volume's, so that VolumeZone does not look at the volume's labels.
fn zones(key: &str, plugin: Option<&str>, volume: Volume) -> Vec<String> {
    let mut world = world().with(claim("p-v0").bound_to("v").owned_by("p")).with(volume.bound_to("p-v0"));
    for zone in ["a", "b", "c"] {
        world.set(node(zone, &format!("{key}={zone}")));
        if let Some(plugin) = plugin {
            world.set(migrated(zone, plugin));
        }
    }
    world.feasible(&pod("p").ephemeral("fast", "1Gi"))
}

#[test]
fn ns_33_zone_labels_become_the_drivers_topology() {
    let volume = volume("v").disk(ebs("vol-1")).labelled(&format!("{ZONE}=a__b"));
    assert_eq!(zones(EBS_ZONE, Some("kubernetes.io/aws-ebs"), volume), ["a", "b"]);
}

#[test]
fn ns_34_without_the_annotation_the_volume_is_taken_as_it_is() {
    let volume = || volume("v").disk(ebs("vol-1")).labelled(&format!("{ZONE}=a__b"));
    assert_eq!(zones(EBS_ZONE, None, volume()), ["a", "b", "c"]);
    assert_eq!(zones(EBS_ZONE, Some("kubernetes.io/gce-pd"), volume()), ["a", "b", "c"]);
}

#[test]
fn sb_46_affinity_is_read_under_the_drivers_key() {
    let volume = || volume("v").disk(ebs("vol-1")).in_zone("b");
    assert_eq!(zones(EBS_ZONE, Some("kubernetes.io/aws-ebs"), volume()), ["b"]);
    assert_eq!(zones(EBS_ZONE, None, volume()), Vec::<String>::new());
    assert_eq!(zones(ZONE, None, volume()), ["b"]);
}

#[test]
fn up_4_binding_needs_the_annotation_and_limits_only_a_csi_node() {
    let world = world().with(node("n1", "")).with(csi_node("n1", "ebs.csi.aws.com=1")).with(claim("c").bound_to("v"));
    let world = world.with(volume("v").disk(ebs("vol-1")).in_zone("a").bound_to("c"));
    let world = world.with(pod("q").inline_disk(ebs("vol-2"), false).on("n1"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), ["node(s) exceed max volume count", AFFINITY]);
    // An attachment of an in-tree volume never counts.
    let world = world.with(csi_node("n1", "ebs.csi.aws.com=2")).with(volume("w").disk(ebs("vol-3")));
    let world = world.with(attachment("va", "ebs.csi.aws.com", "n1", "w"));
    assert_eq!(world.reasons(&pod("p").uses("c"), "n1"), [AFFINITY]);
}

#[test]
fn up_5_gce_and_ebs_keys_are_rewritten_and_azures_is_not() {
    let gce_volume = volume("v").disk(gce("disk")).in_zone("c");
    assert_eq!(zones(GCE_ZONE, Some("kubernetes.io/gce-pd"), gce_volume), ["c"]);
    let azure = InTreeDisk::AzureDisk { uri: "disk".into(), kind: "Managed".into() };
    let azure_volume = || volume("v").disk(azure.clone()).in_zone("c");
    assert_eq!(zones(ZONE, Some("kubernetes.io/azure-disk"), azure_volume()), ["c"]);
    let driver_key = "topology.disk.csi.azure.com/zone";
    assert_eq!(zones(driver_key, Some("kubernetes.io/azure-disk"), azure_volume()), Vec::<String>::new());
}
