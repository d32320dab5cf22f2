//! Provisioners by themselves: what they make, what they refuse, and that both calls may be repeated.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use plimsoll_api::kinds::Node;
use plimsoll_engine::quantity::Quantity;
use plimsoll_runtime::Mirrored;
use serde_json::{Value, json};

use super::{DeleteError, Directories, Disks, LOCAL_DIRECTORY, Made, Provisioner, REGIONAL, Request, simulated};
use crate::world::Claim;

const GCE: &str = "kubernetes.io/gce-pd";
const ZONE: &str = "topology.kubernetes.io/zone";
const BETA: &str = "failure-domain.beta.kubernetes.io/zone";

fn node(name: &str, labels: &Value) -> Arc<Node> {
    Arc::new(serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap())
}

fn zoned(name: &str, zone: &str) -> Arc<Node> {
    node(name, &json!({ZONE: zone, "kubernetes.io/hostname": name}))
}

fn claim(spec: &Value) -> Arc<Claim> {
    let object = json!({"metadata": {"name": "data", "namespace": "default", "uid": "u-1"}, "spec": spec});
    Arc::new(Claim::read(&object.to_string()).unwrap())
}

fn request(class: &Value, selected: Option<&Arc<Node>>, nodes: &[Arc<Node>]) -> Request {
    Request {
        volume_name: "pvc-u-1".to_owned(),
        claim: claim(&json!({"accessModes": ["ReadWriteOnce"]})),
        size: Quantity::parse("1500Mi").unwrap(),
        class: Arc::new(serde_json::from_value(class.clone()).unwrap()),
        selected_node: selected.cloned(),
        nodes: nodes.to_vec(),
    }
}

fn volume(made: &Made) -> Value {
    json!({"metadata": {"name": "pvc-u-1"}, "spec": made.source})
}

fn internal(disks: &Arc<Disks>, plugin: &str) -> Arc<dyn Provisioner> {
    simulated(disks).internal(plugin).unwrap()
}

fn zones(affinity: &Option<Value>) -> (&str, Vec<&str>) {
    let terms = &affinity.as_ref().unwrap()["required"]["nodeSelectorTerms"];
    let expression = &terms[0]["matchExpressions"][0];
    let values = expression["values"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    (expression["key"].as_str().unwrap(), values)
}

#[test]
fn a_name_is_ours_or_not() {
    let ours = simulated(&Disks::new());
    assert!(ours.names().all(|name| ours.internal(name).is_some_and(|p| p.plugin() == name)));
    assert!(ours.internal(GCE).is_some());
    assert!(ours.internal("kubernetes.io/no-provisioner").is_none());
    assert!(super::Provisioners::none().internal(GCE).is_none());
}

#[tokio::test]
async fn a_zonal_disk_is_made_where_the_node_is_and_only_once() {
    let disks = Disks::new();
    let gce = internal(&disks, GCE);
    let nodes = [zoned("n1", "us-central1-a"), zoned("n2", "us-central1-b")];
    let made = gce.provision(&request(&json!({}), Some(&nodes[1]), &nodes)).await.unwrap();
    assert_eq!(zones(&made.node_affinity), (ZONE, vec!["us-central1-b"]));
    assert_eq!(made.labels.get(ZONE).map(String::as_str), Some("us-central1-b"));
    assert_eq!(made.capacity.to_string(), "2Gi", "rounded up to whole GiB, as that cloud does");
    assert_eq!(made.source["gcePersistentDisk"], json!({"pdName": "kubernetes-dynamic-pvc-u-1", "fsType": "ext4"}));
    // Asked again, even for another node: the disk is there and may be in use.
    let again = gce.provision(&request(&json!({}), Some(&nodes[0]), &nodes)).await.unwrap();
    assert_eq!(again, made);
    assert_eq!(disks.all().len(), 1);
    for _ in 0..2 {
        gce.delete(&volume(&made)).await.unwrap();
        assert!(disks.all().is_empty());
    }
}

#[tokio::test]
async fn a_regional_disk_spans_the_nodes_zone_and_another() {
    let disks = Disks::new();
    let nodes = [zoned("n1", "us-central1-a"), zoned("n2", "us-central1-b"), zoned("n3", "europe-west1-b")];
    let class = json!({"parameters": {"Replication-Type": "regional-pd"}});
    let made = internal(&disks, GCE).provision(&request(&class, Some(&nodes[0]), &nodes)).await.unwrap();
    assert_eq!(zones(&made.node_affinity).1, ["us-central1-a", "us-central1-b"]);
    assert_eq!(made.labels[ZONE], "us-central1-a__us-central1-b");

    let one = json!({"allowedTopologies": [{"matchLabelExpressions": [{"key": BETA, "values": ["us-central1-a"]}]}]});
    let refused = internal(&disks, REGIONAL).provision(&request(&one, Some(&nodes[0]), &nodes)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("2 zones of one region cannot be made"), "{refused}");
    let odd = json!({"parameters": {"replication-type": "everywhere"}});
    let refused = internal(&disks, GCE).provision(&request(&odd, None, &nodes)).await.unwrap_err();
    assert_eq!(refused.to_string(), "replication-type must be none or regional-pd, not \"everywhere\"");
}

#[tokio::test]
async fn the_affinity_speaks_the_labels_that_the_nodes_have() {
    let disks = Disks::new();
    let old = [node("n1", &json!({BETA: "a", "failure-domain.beta.kubernetes.io/region": "r"}))];
    let made = internal(&disks, "kubernetes.io/aws-ebs").provision(&request(&json!({}), None, &old)).await.unwrap();
    assert_eq!(zones(&made.node_affinity), (BETA, vec!["a"]));
    assert_eq!(made.labels["failure-domain.beta.kubernetes.io/region"], "r");
    assert_eq!(made.source["awsElasticBlockStore"]["volumeID"], "aws://a/vol-u1");
    // One node of the zone has no region: writing it would keep that node away from the disk.
    let mixed = [node("n1", &json!({ZONE: "a", "topology.kubernetes.io/region": "r"})), zoned("n2", "a")];
    let made = internal(&disks, "kubernetes.io/cinder").provision(&request(&json!({}), None, &mixed)).await.unwrap();
    assert_eq!(made.labels.keys().collect::<Vec<_>>(), [ZONE]);
}

#[tokio::test]
async fn impossible_requests_are_refused_with_a_sentence() {
    let disks = Disks::new();
    let nodes = [zoned("n1", "a"), zoned("n2", "b")];
    let refuse = async |plugin: &str, request: Request| {
        internal(&disks, plugin).provision(&request).await.unwrap_err().to_string()
    };
    let both = json!({"parameters": {"zone": "a", "zones": "a,b"}});
    assert_eq!(
        refuse(GCE, request(&both, None, &nodes)).await,
        "both zone and zones StorageClass parameters must not be used at the same time"
    );
    let outside = json!({"parameters": {"availability": "a"}});
    assert!(refuse("kubernetes.io/cinder", request(&outside, Some(&nodes[1]), &nodes)).await.contains("\"b\""));
    let shared =
        Request { claim: claim(&json!({"accessModes": ["ReadWriteMany"]})), ..request(&json!({}), None, &nodes) };
    assert!(refuse(GCE, shared).await.starts_with("invalid AccessModes [ReadWriteMany]"));
    let picky = Request { claim: claim(&json!({"selector": {}})), ..request(&json!({}), None, &nodes) };
    assert!(refuse(GCE, picky).await.contains("Selector is not supported"));
    disks.limit(GCE, "a", Quantity::parse("1Gi").unwrap());
    assert_eq!(
        refuse(GCE, request(&json!({}), Some(&nodes[0]), &nodes)).await,
        "zone a has 1Gi left, and the volume needs 2Gi"
    );
    assert!(disks.all().is_empty(), "a refusal leaves nothing behind");
}

#[tokio::test]
async fn an_attached_disk_is_in_use() {
    let disks = Disks::new();
    let gce = internal(&disks, GCE);
    let nodes = [zoned("n1", "a")];
    let made = gce.provision(&request(&json!({}), None, &nodes)).await.unwrap();
    let handle = "kubernetes-dynamic-pvc-u-1";
    assert!(disks.attach(GCE, handle, "n1"));
    assert!(matches!(gce.delete(&volume(&made)).await, Err(DeleteError::InUse(_))));
    disks.detach(GCE, handle, "n1");
    gce.delete(&volume(&made)).await.unwrap();
    assert!(matches!(gce.delete(&json!({"metadata": {"name": "x"}, "spec": {}})).await, Err(DeleteError::Failed(_))));
}

fn exists(root: &Path, path: &str) -> bool {
    root.join(path).is_dir()
}

#[tokio::test]
async fn a_directory_is_made_for_the_selected_node_and_removed_with_its_content() {
    let root = tempfile::tempdir().unwrap();
    let local = Directories::new(root.path()).unwrap();
    assert_eq!(local.plugin(), LOCAL_DIRECTORY);
    let nodes = [zoned("n1", "a"), zoned("n2", "b")];
    let made = local.provision(&request(&json!({}), Some(&nodes[1]), &nodes)).await.unwrap();
    assert_eq!(zones(&made.node_affinity), ("kubernetes.io/hostname", vec!["n2"]));
    assert!(exists(root.path(), "n2/pvc-u-1"));
    assert_eq!(made, local.provision(&request(&json!({}), Some(&nodes[1]), &nodes)).await.unwrap());
    // Another node was selected since, but this is the volume that there is.
    assert_eq!(made, local.provision(&request(&json!({}), Some(&nodes[0]), &nodes)).await.unwrap());
    assert!(!exists(root.path(), "n1"));

    fs::write(root.path().join("n2/pvc-u-1/file"), "data").unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "").unwrap();
    symlink(outside.path(), root.path().join("n2/pvc-u-1/link")).unwrap();
    for _ in 0..2 {
        local.delete(&volume(&made)).await.unwrap();
        assert!(!exists(root.path(), "n2/pvc-u-1"));
    }
    assert!(outside.path().join("kept").exists());
    assert_eq!(fs::read_dir(root.path().join(".deleted")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_directory_on_a_node_that_is_gone_is_made_anew_and_both_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let local = Directories::new(root.path()).unwrap();
    let nodes = [zoned("n1", "a"), zoned("n2", "b")];
    local.provision(&request(&json!({}), Some(&nodes[0]), &nodes)).await.unwrap();
    let made = local.provision(&request(&json!({}), Some(&nodes[1]), &nodes[1..])).await.unwrap();
    assert_eq!(zones(&made.node_affinity).1, ["n2"]);
    // What an interrupted deletion left is swept, too.
    fs::create_dir_all(root.path().join(".deleted/pvc-u-1@n9/half")).unwrap();
    fs::create_dir_all(root.path().join(".deleted/pvc-other@n9")).unwrap();
    local.delete(&volume(&made)).await.unwrap();
    assert!(!exists(root.path(), "n1/pvc-u-1") && !exists(root.path(), "n2/pvc-u-1"));
    assert!(!exists(root.path(), ".deleted/pvc-u-1@n9") && exists(root.path(), ".deleted/pvc-other@n9"));
}

#[tokio::test]
async fn a_directory_needs_a_node_and_nothing_leads_out_of_the_root() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("pvc-u-1")).unwrap();
    let local = Directories::new(root.path()).unwrap();
    let nodes = [zoned("n1", "a")];
    let refused = local.provision(&request(&json!({}), None, &nodes)).await.unwrap_err();
    assert!(refused.to_string().contains("need a selected node"), "{refused}");
    for name in ["../x", "a/b", "", ".deleted", "..", "A"] {
        let evil = Request { volume_name: name.to_owned(), ..request(&json!({}), Some(&nodes[0]), &nodes) };
        assert!(local.provision(&evil).await.is_err(), "{name}");
        let evil = node(name, &json!({}));
        assert!(local.provision(&request(&json!({}), Some(&evil), &nodes)).await.is_err(), "{name}");
    }
    // A link where the node's directory should be.
    symlink(outside.path(), root.path().join("n1")).unwrap();
    let refused = local.provision(&request(&json!({}), Some(&nodes[0]), &nodes)).await.unwrap_err();
    assert!(refused.to_string().contains("not a directory"), "{refused}");
    let paths = [
        outside.path().join("pvc-u-1"),
        root.path().join("n1/../../x/pvc-u-1"),
        root.path().join("n1/pvc-other"),
        root.path().to_owned(),
    ];
    for path in paths {
        let volume = json!({"metadata": {"name": "pvc-u-1"}, "spec": {"local": {"path": path}}});
        assert!(matches!(local.delete(&volume).await, Err(DeleteError::Failed(_))), "{}", path.display());
    }
    let linked = json!({"metadata": {"name": "pvc-u-1"},
                        "spec": {"local": {"path": local_path(root.path(), "n1/pvc-u-1")}}});
    local.delete(&linked).await.unwrap();
    assert!(exists(outside.path(), "pvc-u-1"), "nothing is deleted through a link");
}

fn local_path(root: &Path, rest: &str) -> String {
    fs::canonicalize(root).unwrap().join(rest).to_str().unwrap().to_owned()
}
