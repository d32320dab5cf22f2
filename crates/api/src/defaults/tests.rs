use plimsoll_engine::Object;
use plimsoll_engine::model::{BindingMode, Claim, ClaimPhase, Node, Pod, TaintEffect, Volume, VolumePhase};
use plimsoll_engine::quantity::Quantity;

use crate::{Cluster, Loaded, Source};

fn load(text: &str) -> Loaded {
    Cluster::read(&[Source { name: "f", text }]).unwrap_or_else(|e| panic!("{}", e[0]))
}

fn pod(loaded: &Loaded, name: &str) -> Pod {
    let found = loaded.objects.iter().find_map(|o| match o {
        Object::Pod(p) if &*p.key.name == name => Some((**p).clone()),
        _ => None,
    });
    found.unwrap()
}

fn claim(loaded: &Loaded, name: &str) -> Claim {
    let found = loaded.objects.iter().find_map(|o| match o {
        Object::Claim(c) if &*c.key.name == name => Some(c.clone()),
        _ => None,
    });
    found.unwrap()
}

fn volume(loaded: &Loaded, name: &str) -> Volume {
    let found = loaded.objects.iter().find_map(|o| match o {
        Object::Volume(v) if &*v.name == name => Some(v.clone()),
        _ => None,
    });
    found.unwrap()
}

fn node(text: &str) -> Node {
    match load(text).objects.remove(0) {
        Object::Node(node) => node,
        other => panic!("{other:?}"),
    }
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

#[test]
fn objects_without_a_namespace_are_in_default() {
    let loaded = load("{apiVersion: v1, kind: Pod, metadata: {name: p}}");
    assert_eq!(&*pod(&loaded, "p").key.namespace, "default");
}

#[test]
fn a_class_binds_at_once_unless_it_says_otherwise() {
    let loaded = load("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: c}, provisioner: x}");
    let Object::Class(class) = &loaded.objects[0] else { panic!("not a class") };
    assert_eq!(class.binding_mode, Some(BindingMode::Immediate));
}

#[test]
fn a_volume_without_a_phase_is_available_or_bound() {
    let loaded = load(
        "{apiVersion: v1, kind: PersistentVolume, metadata: {name: free}}\n---\n\
         {apiVersion: v1, kind: PersistentVolume, metadata: {name: taken}, spec: {claimRef: {namespace: a, name: c}}}\n---\n\
         {apiVersion: v1, kind: PersistentVolume, metadata: {name: new}, status: {phase: Pending}}",
    );
    assert_eq!(volume(&loaded, "free").phase, VolumePhase::Available);
    assert_eq!(volume(&loaded, "taken").phase, VolumePhase::Bound);
    assert_eq!(volume(&loaded, "new").phase, VolumePhase::Pending);
}

const CLASSES: &str = "\
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: b, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: 0}}
---
";

#[test]
fn a_claim_without_a_class_gets_the_default_one() {
    let classes = CLASSES.replace("name: 0", "name: 'c'");
    let loaded = load(&format!(
        "{classes}{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: default}}}}\n---\n\
         {{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: none}}, spec: {{storageClassName: ''}}}}\n---\n\
         {{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: stored}}, status: {{phase: Pending}}}}\n---\n\
         {{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: beta, annotations: {{volume.beta.kubernetes.io/storage-class: x}}}}}}\n---\n\
         {{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{volumes: [{{name: v, ephemeral: {{volumeClaimTemplate: {{spec: {{}}}}}}}}]}}}}",
    ));
    assert_eq!(&*claim(&loaded, "default").class, "a");
    assert_eq!(&*claim(&loaded, "none").class, "");
    assert_eq!(&*claim(&loaded, "stored").class, "");
    assert_eq!(&*claim(&loaded, "beta").class, "x");
    let plimsoll_engine::model::PodVolumeSource::Ephemeral { template } = &pod(&loaded, "p").volumes[0].source else {
        panic!("not ephemeral")
    };
    assert_eq!(template.class.as_deref(), Some("a"));
}

#[test]
fn the_newest_default_class_wins() {
    let newer = CLASSES.replace("{name: b,", "{name: b, creationTimestamp: '2026-01-01T00:00:00Z',");
    let loaded = load(&format!(
        "{}{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: c}}}}",
        newer.replace("name: 0", "name: 'c'")
    ));
    assert_eq!(&*claim(&loaded, "c").class, "b");
}

#[test]
fn a_claim_is_bound_to_the_volume_that_is_its_own() {
    let claims = "\
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v1}, spec: {claimRef: {namespace: default, name: by-uid, uid: u1}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v2}, spec: {claimRef: {namespace: default, name: reserved}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v3}, spec: {claimRef: {namespace: default, name: mutual}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v4}, spec: {claimRef: {namespace: default, name: another, uid: old}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: by-uid}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: reserved}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: mutual}, spec: {volumeName: v3}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: another, uid: new}}
";
    let loaded = load(claims);
    let by_uid = claim(&loaded, "by-uid");
    assert!(by_uid.is_fully_bound());
    assert_eq!((&*by_uid.volume, &*by_uid.uid, by_uid.phase), ("v1", "u1", ClaimPhase::Bound));
    assert!(claim(&loaded, "mutual").is_fully_bound());
    assert_eq!(claim(&loaded, "reserved").phase, ClaimPhase::Pending);
    assert_eq!(claim(&loaded, "another").phase, ClaimPhase::Pending);
}

#[test]
fn requests_default_to_limits() {
    let loaded = load(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}]}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: stored}, spec: {containers: [{name: c, resources: {limits: {cpu: 2}}}]}, status: {phase: Running}}",
    );
    let requests = &pod(&loaded, "p").demand.containers[0].requests;
    assert_eq!((requests["cpu"], requests["memory"]), (quantity("1"), quantity("1Gi")));
    assert!(pod(&loaded, "stored").demand.containers[0].requests.is_empty());
}

#[test]
fn pod_level_requests_come_from_containers_then_limits() {
    let loaded = load(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {limits: {cpu: 4, memory: 8Gi}},
          initContainers: [{name: i, resources: {requests: {cpu: 3}}}, {name: s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}],
          containers: [{name: c, resources: {requests: {cpu: 1}}}, {name: d, resources: {requests: {cpu: 1}}}]}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: none}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: huge}, spec: {resources: {requests: {cpu: 1}}, containers: [{name: c, resources: {limits: {hugepages-2Mi: 4Mi}}}]}}",
    );
    let requests = pod(&loaded, "p").demand.pod_level.unwrap();
    assert_eq!((requests["cpu"], requests["memory"]), (quantity("3"), quantity("8Gi")));
    assert_eq!(pod(&loaded, "none").demand.pod_level, None);
    assert_eq!(pod(&loaded, "huge").demand.pod_level.unwrap()["hugepages-2Mi"], quantity("4Mi"));
}

#[test]
fn ports_of_the_nodes_network_are_host_ports() {
    let loaded = load(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}]}]}}",
    );
    let ports = &pod(&loaded, "p").host_ports;
    assert_eq!((ports[0].port, &*ports[0].protocol, &*ports[0].ip), (80, "TCP", ""));
}

#[test]
fn pods_stand_trouble_for_a_while() {
    let loaded = load(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: all}, spec: {tolerations: [{operator: Exists}]}}",
    );
    let keys: Vec<String> = pod(&loaded, "p").tolerations.iter().map(|t| t.key.to_string()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    assert_eq!(pod(&loaded, "all").tolerations.len(), 1);
}

#[test]
fn priorities_come_from_their_classes() {
    let loaded = load(
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 5, globalDefault: true}\n---\n\
         {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 900}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: none}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priorityClassName: high}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: system}, spec: {priorityClassName: system-node-critical}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {priorityClassName: gone}}\n---\n\
         {apiVersion: v1, kind: Pod, metadata: {name: stored}, status: {phase: Pending}}",
    );
    let priority = |name| pod(&loaded, name).priority;
    assert_eq!(["none", "high", "system", "lost", "stored"].map(priority), [5, 900, 2_000_001_000, 0, 0]);
    assert_eq!(
        loaded.notes[0].to_string(),
        "PriorityClass gone of 1 pods is not in the input: their priority is taken as 0"
    );
}

#[test]
fn label_keys_are_merged_on_creation_only() {
    let spec = "metadata: {name: p, labels: {app: web, rev: '2'}}, spec: {
        topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [rev, absent]}],
        affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
          {topologyKey: z, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev], mismatchLabelKeys: [app]},
          {topologyKey: z, matchLabelKeys: [rev]}]}}}";
    let fresh = pod(&load(&format!("{{apiVersion: v1, kind: Pod, {spec}}}")), "p");
    let requirements = |s: &Option<Result<plimsoll_engine::selector::LabelSelector, _>>| {
        s.as_ref().map(|s| s.as_ref().unwrap().requirements().len())
    };
    assert_eq!(requirements(&fresh.required_anti_affinity[0].selector), Some(3));
    assert_eq!(requirements(&fresh.required_anti_affinity[1].selector), None);
    assert_eq!(requirements(&fresh.spread[0].selector), Some(1));
    let stored = pod(&load(&format!("{{apiVersion: v1, kind: Pod, {spec}, status: {{phase: Pending}}}}")), "p");
    assert_eq!(requirements(&stored.required_anti_affinity[0].selector), Some(1));
    assert_eq!(requirements(&stored.spread[0].selector), Some(0));
}

#[test]
fn a_node_without_allocatable_has_its_capacity() {
    let got = node(
        "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 4, memory: 1Ki, pods: 10, nvidia.com/gpu: 2, foo: 1}}}",
    );
    assert_eq!((got.allocatable.cpu_milli, got.allocatable.memory, got.allocatable.pods), (4000, 1024, 10));
    assert_eq!(got.allocatable.scalar.iter().map(|(k, v)| (&**k, *v)).collect::<Vec<_>>(), [("nvidia.com/gpu", 2)]);
}

#[test]
fn an_unschedulable_node_is_tainted_unless_a_kubelet_has_reported() {
    let text = "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {unschedulable: true}}";
    let taints = node(text).taints;
    assert_eq!((taints.len(), taints[0].effect), (1, TaintEffect::NoSchedule));
    let reported = text.replace("}}", "}, status: {conditions: [{type: Ready, status: 'True'}]}}");
    assert_eq!(node(&reported).taints, []);
}

#[test]
fn a_namespace_has_its_name_as_a_label() {
    let loaded = load("{apiVersion: v1, kind: Namespace, metadata: {name: n}}");
    let Object::Namespace(namespace) = &loaded.objects[0] else { panic!("not a namespace") };
    assert_eq!(namespace.labels.get("kubernetes.io/metadata.name").map(|n| &**n), Some("n"));
}
