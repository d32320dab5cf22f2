use plimsoll_engine::Object;
use plimsoll_engine::model::{Pod, PodVolumeSource, WorkloadKind};

use crate::{Cluster, Loaded, Source};

fn load(text: &str) -> Loaded {
    Cluster::read(&[Source { name: "f", text }]).unwrap_or_else(|e| panic!("{}", e[0]))
}

fn pods(loaded: &Loaded) -> Vec<&Pod> {
    loaded.objects.iter().filter_map(|o| if let Object::Pod(p) = o { Some(&**p) } else { None }).collect()
}

fn names(loaded: &Loaded) -> Vec<String> {
    pods(loaded).iter().map(|p| p.key.to_string()).collect()
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}
status: {}
";

#[test]
fn a_deployment_makes_a_replica_set_and_its_pods() {
    let loaded = load(DEPLOYMENT);
    let Object::Workload(set) = &loaded.objects[0] else { panic!("no ReplicaSet first") };
    assert_eq!(set.kind, WorkloadKind::ReplicaSet);
    let pods = pods(&loaded);
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        assert!(pod.key.name.starts_with(&*set.key.name), "{}", pod.key);
        assert_eq!(pod.controller.as_ref().map(|(k, n)| (&**k, n)), Some(("ReplicaSet", &set.key.name)));
        assert!(set.selector.as_ref().unwrap().matches(&pod.labels));
        assert!(pod.labels.contains_key("pod-template-hash"));
        assert!(pod.demand.containers[0].requests.contains_key("cpu"), "defaults are filled in");
    }
    assert_eq!(names(&loaded), names(&load(DEPLOYMENT)), "names are the same in every run");
}

#[test]
fn pods_that_are_there_count() {
    let pod = |name: &str, owner: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: shop, labels: {{app: web}}, \
             ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: {owner}, controller: true}}]}}, status: {{phase: Running}}}}\n"
        )
    };
    let with = |more: String| names(&load(&format!("{DEPLOYMENT}{more}"))).len();
    assert_eq!(with(pod("web-1-a", "web-1")), 3);
    assert_eq!(with(pod("web-1-a", "web-1").replace("Running", "Failed")), 4);
    assert_eq!(with(pod("other-1-a", "other-1")), 4);
    let set = "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: odd, namespace: shop, ownerReferences: \
               [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]}, spec: {replicas: 3}}\n";
    // The given ReplicaSet is the Deployment's: its pods count, the rest are made for it, and it makes none itself.
    let loaded = load(&format!("{DEPLOYMENT}{set}{}", pod("x", "odd")));
    assert_eq!(pods(&loaded).len(), 3);
    assert!(pods(&loaded).iter().all(|p| p.controller.as_ref().is_some_and(|(_, n)| &**n == "odd")));
}

#[test]
fn a_workload_with_a_status_has_the_pods_it_has() {
    assert_eq!(pods(&load(&DEPLOYMENT.replace("status: {}", "status: {replicas: 3}"))).len(), 0);
}

#[test]
fn a_stateful_set_makes_pods_with_their_claims() {
    let text = "\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: x
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {namespace: default, name: data-db-3, uid: u}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-2}, status: {phase: Running}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-1}, spec: {storageClassName: slow}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  ordinals: {start: 1}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {resources: {requests: {storage: 1Gi}}}
";
    let loaded = load(text);
    assert_eq!(names(&loaded), ["default/db-2", "default/db-1", "default/db-3"]);
    let claims: Vec<_> =
        loaded.objects.iter().filter_map(|o| if let Object::Claim(c) = o { Some(c) } else { None }).collect();
    let seen: Vec<_> = claims.iter().map(|c| (&*c.key.name, &*c.class, &*c.volume)).collect();
    assert_eq!(seen, [("data-db-1", "slow", ""), ("data-db-3", "fast", "v")]);
    let made = pods(&loaded)[1];
    assert_eq!(made.volumes.len(), 2);
    assert!(matches!(&made.volumes[1].source, PodVolumeSource::Claim { name } if &**name == "data-db-1"));
    assert_eq!(made.labels.get("apps.kubernetes.io/pod-index").map(|l| &**l), Some("1"));
    assert_eq!(made.controller.as_ref().map(|(k, n)| (&**k, &**n)), Some(("StatefulSet", "db")));
}

#[test]
fn a_daemon_set_makes_a_pod_for_each_node_it_matches() {
    let text = "\
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {disk: ssd}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {disk: ssd}}, spec: {unschedulable: true}}
---
{apiVersion: v1, kind: Node, metadata: {name: c, labels: {disk: ssd}}, spec: {taints: [{key: x, effect: NoSchedule}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: d}}
---
{apiVersion: v1, kind: Node, metadata: {name: e, labels: {disk: ssd}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: log-x, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: log, controller: true}]}, spec: {nodeName: e}, status: {phase: Running}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: log}, spec: {template: {spec: {nodeSelector: {disk: ssd}}}}}
";
    let loaded = load(text);
    let made = pods(&loaded);
    assert_eq!(made.len(), 3);
    for (pod, node) in made[1..].iter().zip(["a", "b"]) {
        let affinity = pod.required_node_affinity.as_ref().unwrap();
        let empty = plimsoll_engine::labels::Labels::default();
        assert!(affinity.matches_node(node, &empty) && !affinity.matches_node("e", &empty));
        assert_eq!(pod.tolerations.len(), 6);
    }
}

#[test]
fn jobs_and_controllers_make_pods() {
    let job =
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 3, completions: 2, template: {}}}";
    let loaded = load(job);
    assert_eq!(pods(&loaded).len(), 2);
    assert_eq!(pods(&loaded)[0].labels.get("job-name").map(|l| &**l), Some("j"));
    assert_eq!(pods(&load(&job.replace("parallelism: 3, completions: 2, ", ""))).len(), 1);
    assert_eq!(pods(&load(&job.replace("template", "suspend: true, template"))).len(), 0);
    let indexed = load(&job.replace("template", "completionMode: Indexed, template"));
    assert!(pods(&indexed)[1].key.name.starts_with("j-1-"));
    let controller = "{apiVersion: v1, kind: ReplicationController, metadata: {name: r}, spec: {replicas: 2, template: {metadata: {labels: {a: b}}}}}";
    let loaded = load(controller);
    assert_eq!(pods(&loaded).len(), 2);
    let Object::Workload(workload) = &loaded.objects[0] else { panic!("no controller first") };
    assert!(workload.selector.as_ref().unwrap().matches(&pods(&loaded)[0].labels));
}

#[test]
fn faults_in_templates_are_reported_once() {
    let error = |text: &str| {
        let errors = Cluster::read(&[Source { name: "f", text }]).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        error(&DEPLOYMENT.replace("cpu: 1", "cpu: many"))[0].split(": quantities").next(),
        Some("f: document 1, line 1: Deployment shop/web: spec.template.spec.containers[0].resources.requests.cpu")
    );
    assert_eq!(
        error(&DEPLOYMENT.replace("replicas: 3", "replicas: 2000000000")),
        [
            "f: document 1, line 1: Deployment shop/web: spec.replicas: 2000000000 pods are more than the limit of 100000"
        ]
    );
}
