use plimsoll_engine::Object;
use plimsoll_engine::model::{AccessModes, Feature, Features, InTreeDisk, PodVolumeSource, VolumeMode, VolumeSource};
use plimsoll_engine::quantity::Quantity;
use serde_json::{Value, json};

use crate::document::DocumentKind;
use crate::interner::Interner;

fn convert(value: &Value) -> Result<Object, String> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let kind = DocumentKind::find(text("apiVersion"), text("kind")).unwrap();
    let document = kind.decode(value).map_err(|e| e.to_string())?;
    document.to_engine(&mut Interner::new()).map(Option::unwrap).map_err(|e| e.to_string())
}

macro_rules! read {
    ($variant:ident, $api:literal, $kind:literal, $($rest:tt)*) => {{
        let mut value = json!({$($rest)*});
        value["apiVersion"] = json!($api);
        value["kind"] = json!($kind);
        match convert(&value) {
            Ok(Object::$variant(object)) => object,
            other => panic!("{other:?}"),
        }
    }};
}

fn gi(count: &str) -> Quantity {
    Quantity::parse(count).unwrap()
}

#[test]
fn a_volume_and_what_the_annotation_says() {
    let volume = read!(Volume, "v1", "PersistentVolume",
        "metadata": {"name": "v", "resourceVersion": "12", "labels": {"a": "b"}, "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"volume.beta.kubernetes.io/storage-class": "old", "pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {"capacity": {"storage": "5Gi"}, "storageClassName": "new", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
            "volumeMode": "Block", "csi": {"driver": "d", "volumeHandle": "h", "fsType": "ext4"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": []}}, "claimRef": {"namespace": "n", "name": "c", "uid": "u"}},
        "status": {"phase": "Released"});
    assert_eq!((&*volume.class, &*volume.class_field, volume.version), ("old", "new", 12));
    assert_eq!(volume.capacity, gi("5Gi"));
    assert!(volume.deleting && volume.bound_by_controller);
    assert_eq!(volume.access_modes, AccessModes::READ_WRITE_ONCE.with(AccessModes::READ_ONLY_MANY));
    assert_eq!(volume.mode, VolumeMode::Block);
    assert!(volume.affinity.is_some_and(|a| a.terms().is_empty()));
    assert_eq!(volume.source, VolumeSource::Csi { driver: "d".into(), handle: "h".into() });
    assert_eq!(volume.claim_ref.map(|r| (r.claim.to_string(), r.uid.to_string())), Some(("n/c".into(), "u".into())));
}

#[test]
fn in_tree_disks_of_volumes() {
    let disk = |spec: Value| match convert(&json!({"apiVersion": "v1", "kind": "PersistentVolume", "spec": spec})) {
        Ok(Object::Volume(v)) => match v.source {
            VolumeSource::InTree(disk) => disk,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(
        disk(json!({"awsElasticBlockStore": {"volumeID": "vol-1"}})),
        InTreeDisk::AwsEbs { volume_id: "vol-1".into() }
    );
    assert_eq!(disk(json!({"gcePersistentDisk": {"pdName": "p"}})), InTreeDisk::GcePd { name: "p".into() });
    assert_eq!(
        disk(json!({"azureDisk": {"diskURI": "u", "diskName": "n", "kind": "Managed"}})),
        InTreeDisk::AzureDisk { uri: "u".into(), kind: "Managed".into() }
    );
    assert_eq!(
        disk(json!({"azureFile": {"shareName": "s", "secretName": "t", "secretNamespace": null}})),
        InTreeDisk::AzureFile { share: "s".into(), secret: "t".into(), secret_namespace: "".into() }
    );
    assert_eq!(disk(json!({"cinder": {"volumeID": "c"}})), InTreeDisk::Cinder { volume_id: "c".into() });
    assert_eq!(disk(json!({"portworxVolume": {"volumeID": "x"}})), InTreeDisk::Portworx { volume_id: "x".into() });
    assert_eq!(disk(json!({"vsphereVolume": {"volumePath": "/p"}})), InTreeDisk::Vsphere { path: "/p".into() });
}

#[test]
fn a_claim_and_its_annotations() {
    let claim = read!(Claim, "v1", "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "annotations": {"pv.kubernetes.io/bind-completed": "yes",
            "volume.kubernetes.io/selected-node": ""}, "ownerReferences": [{"uid": "p", "controller": true}]},
        "spec": {"volumeName": "v", "storageClassName": null, "resources": {"requests": {"storage": 5}},
            "selector": {"matchExpressions": [{"key": "a", "operator": "Wrong"}]}},
        "status": {"phase": "Lost"});
    assert!(claim.is_fully_bound() && claim.has_annotations);
    assert_eq!(claim.selected_node.as_deref(), Some(""));
    assert_eq!(claim.controller_uid.as_deref(), Some("p"));
    assert_eq!(claim.request, Some(gi("5")));
    assert!(claim.selector.is_some_and(|s| s.is_err()), "an invalid selector is kept as such");
    let bare = read!(Claim, "v1", "PersistentVolumeClaim", "metadata": {"name": "c", "annotations": {"other": "x"}});
    assert!(bare.has_annotations && !bare.bind_completed && bare.request.is_none());
    assert!(!read!(Claim, "v1", "PersistentVolumeClaim", "metadata": {"annotations": null}).has_annotations);
}

#[test]
fn errors_name_the_field() {
    let error = |value: Value| convert(&value).unwrap_err();
    let volume = |spec: Value| json!({"apiVersion": "v1", "kind": "PersistentVolume", "spec": spec});
    assert!(
        error(volume(json!({"capacity": {"storage": "big"}}))).starts_with("spec.capacity.storage: quantities must")
    );
    assert_eq!(error(volume(json!({"accessModes": ["RWO"]}))), "spec.accessModes[0]: unknown value \"RWO\"");
    assert_eq!(error(volume(json!({"volumeMode": "Tape"}))), "spec.volumeMode: unknown value \"Tape\"");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}, {"resources": {"requests": {"cpu": ""}}}]}});
    assert!(error(pod).starts_with("spec.containers[1].resources.requests.cpu: "));
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "Later"});
    assert_eq!(error(class), "volumeBindingMode: unknown value \"Later\"");
}

#[test]
fn storage_kinds() {
    let class = read!(Class, "storage.k8s.io/v1", "StorageClass", "metadata": {"name": "c"}, "provisioner": "p",
        "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}]);
    assert!(class.provisions() && !class.allowed_topologies.is_unrestricted());
    let driver = read!(Driver, "storage.k8s.io/v1", "CSIDriver", "metadata": {"name": "d"},
        "spec": {"storageCapacity": true, "preventPodSchedulingIfMissing": true});
    assert!(driver.storage_capacity && driver.prevent_scheduling_if_missing);
    let node = read!(CsiNode, "storage.k8s.io/v1", "CSINode",
        "metadata": {"name": "n", "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "a,b"}},
        "spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 3}}, {"name": "e", "allocatable": null}]});
    assert_eq!(node.drivers.iter().map(|d| d.attach_limit).collect::<Vec<_>>(), [Some(3), None]);
    assert_eq!(node.migrated_plugins.len(), 2);
    let pool = read!(Pool, "storage.k8s.io/v1beta1", "CSIStorageCapacity", "metadata": {"name": "p", "namespace": "n"},
        "storageClassName": "c", "nodeTopology": {}, "capacity": "3Gi");
    assert_eq!((pool.limit(), pool.topology.is_some()), (Some(gi("3Gi")), true));
    let broken = read!(Pool, "storage.k8s.io/v1", "CSIStorageCapacity", "nodeTopology": {"matchLabels": {"a b": "c"}});
    assert_eq!(broken.topology, None);
    let attachment = read!(Attachment, "storage.k8s.io/v1", "VolumeAttachment", "metadata": {"name": "a"},
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}});
    assert_eq!(attachment.volume.as_deref(), Some("v"));
}

#[test]
fn a_running_pod_and_what_its_status_reports() {
    let pod = read!(Pod, "v1", "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "initContainers": [{"name": "s", "restartPolicy": "Always", "ports": [{"hostPort": 1}]},
                {"name": "i", "ports": [{"hostPort": 2}]}],
            "containers": [{"name": "c", "ports": [{"hostPort": 3, "protocol": "UDP", "hostIP": "1.2.3.4"}, {"containerPort": 4}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "2"}}}],
            "initContainerStatuses": [{"name": "s", "allocatedResources": {"cpu": "3"}, "resources": {}}],
            "allocatedResources": {"cpu": "9"}});
    assert!(pod.demand.resize_infeasible && !pod.ended);
    let container = &pod.demand.containers[0];
    assert_eq!(container.allocated.as_ref().unwrap()["cpu"], gi("1"));
    assert_eq!(container.actual.as_ref().unwrap()["cpu"], gi("2"));
    let sidecar = &pod.demand.init_containers[0];
    assert!(sidecar.sidecar && sidecar.actual.is_none() && sidecar.allocated.is_some());
    assert_eq!(pod.demand.status_pod_level, None, "allocated counts only beside what is reported as had");
    let ports: Vec<_> = pod.host_ports.iter().map(|p| (p.port, &*p.protocol, &*p.ip)).collect();
    assert_eq!(ports, [(1, "TCP", ""), (3, "UDP", "1.2.3.4")]);
}

#[test]
fn volumes_of_pods() {
    let pod = read!(Pod, "v1", "Pod", "metadata": {"name": "p"}, "spec": {"volumes": [
        {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "b", "rbd": {"monitors": ["m"], "image": "i", "readOnly": true}},
        {"name": "c", "iscsi": {"iqn": "q"}},
        {"name": "d", "csi": {"driver": "d"}},
        {"name": "e", "gcePersistentDisk": {"pdName": "p", "readOnly": true}},
        {"name": "f", "emptyDir": {}},
        {"name": "g", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "k", "resources": {"requests": {"storage": "1Gi"}}}}}}]});
    let sources: Vec<_> = pod.volumes.iter().map(|v| v.source.clone()).collect();
    assert_eq!(sources[0], PodVolumeSource::Claim { name: "c".into() });
    assert!(matches!(&sources[1], PodVolumeSource::Rbd { pool, read_only: true, .. } if &**pool == "rbd"));
    assert_eq!(sources[2], PodVolumeSource::Iscsi { iqn: "q".into(), read_only: false });
    assert_eq!(sources[3], PodVolumeSource::InlineCsi { driver: "d".into() });
    assert!(matches!(&sources[4], PodVolumeSource::Disk { disk: InTreeDisk::GcePd { .. }, read_only: true }));
    assert_eq!(sources[5], PodVolumeSource::Other);
    assert!(matches!(&sources[6], PodVolumeSource::Ephemeral { template } if template.class.as_deref() == Some("k")));
}

#[test]
fn where_a_pod_wants_to_be() {
    let pod = read!(Pod, "v1", "Pod",
        "metadata": {"name": "p", "ownerReferences": [{"kind": "X", "name": "x"},
            {"apiVersion": "apps.kruise.io/v1", "kind": "StatefulSet", "name": "s", "controller": true}]},
        "spec": {"schedulingGates": [{"name": "g"}], "priority": 7,
            "tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "Sometimes"}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": "Honor"},
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Ignore", "labelSelector": {}}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": {}}]},
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 4, "podAffinityTerm": {"topologyKey": "h"}}]},
                "podAntiAffinity": null}},
        "status": {"phase": "Failed", "nominatedNodeName": "n"});
    assert!(pod.gated && pod.ended && pod.node.is_none());
    assert_eq!(pod.nominated_node.as_deref(), Some("n"));
    assert_eq!(pod.tolerations.len(), 1, "an effect that no taint has tolerates nothing");
    let policies: Vec<_> = pod.spread.iter().map(|c| (c.hard, c.honor_affinity, c.honor_taints)).collect();
    assert_eq!(policies, [(false, true, true), (true, false, false)]);
    assert_eq!((pod.preferred_node_affinity[0].weight, pod.preferred_affinity[0].weight), (3, 4));
    assert_eq!(pod.preferred_affinity[0].term.selector, None);
    // Another group's StatefulSet is not the one that default spreading knows.
    assert_ne!(pod.controller.map(|(kind, _)| kind.to_string()), Some("StatefulSet".to_owned()));
}

#[test]
fn selectors_of_workloads() {
    let none = read!(Workload, "v1", "Service", "metadata": {"name": "s"}, "spec": {"selector": null});
    assert_eq!(none.selector, None);
    let service = read!(Workload, "v1", "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}});
    assert_eq!(service.selector.unwrap().requirements().len(), 1);
    let set = read!(Workload, "apps/v1", "ReplicaSet", "metadata": {"name": "r"},
        "spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
    assert_eq!(set.selector, None, "one that does not parse selects nothing");
    let controller = read!(Workload, "v1", "ReplicationController", "metadata": {"name": "r"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}});
    assert_eq!(controller.selector.unwrap().requirements().len(), 1);
}

#[test]
fn what_a_node_declares_and_a_pod_needs() {
    use Feature::{
        RestartAllContainersOnContainerExits as Restart, UserNamespacesHostNetworkSupport as Users,
        VolumeBindMountOptions as Mount,
    };
    let set = |features: &[Feature]| features.iter().copied().collect::<Features>();
    let node = read!(Node, "v1", "Node", "metadata": {"name": "n"},
        "status": {"declaredFeatures": ["ExtendWebSocketsToKubelet", "NewerThanThis", "UserNamespacesHostNetworkSupport"]});
    assert_eq!(node.features, set(&[Users]));
    let needs = |spec: Value| match convert(&json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})) {
        Ok(Object::Pod(pod)) => pod.features,
        other => panic!("{other:?}"),
    };
    assert_eq!(needs(json!({"hostNetwork": true, "hostUsers": false})), set(&[Users]));
    for unasked in
        [json!({"hostNetwork": true}), json!({"hostUsers": false}), json!({"hostNetwork": true, "hostUsers": true})]
    {
        assert_eq!(needs(unasked), Features::default());
    }
    let restart =
        |action: &str| json!([{"name": "c", "restartPolicyRules": [{"action": "Restart"}, {"action": action}]}]);
    assert_eq!(needs(json!({"containers": restart("RestartAllContainers")})), set(&[Restart]));
    assert_eq!(needs(json!({"initContainers": restart("RestartAllContainers")})), set(&[Restart]));
    assert_eq!(needs(json!({"containers": restart("Restart")})), Features::default());
    let mount =
        |options: &[&str]| json!([{"name": "c", "volumeMounts": [{"name": "v"}, {"bindMountOptions": options}]}]);
    for place in ["containers", "initContainers", "ephemeralContainers"] {
        assert_eq!(needs(json!({place: mount(&["noexec"])})), set(&[Mount]));
        assert_eq!(needs(json!({place: mount(&[])})), Features::default());
    }
}
