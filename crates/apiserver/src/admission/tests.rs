//! The words of refusals, as the real server says them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::value::{list, name, namespace};

struct Objects(Vec<(&'static str, Value)>);

impl Cluster for Objects {
    fn get(&self, _group: &str, resource: &str, ns: &str, wanted: &str) -> Option<Arc<Value>> {
        let found = self.0.iter().find(|(r, o)| *r == resource && namespace(o) == ns && name(o) == wanted);
        found.map(|(_, o)| Arc::new(o.clone()))
    }

    fn list(&self, _group: &str, resource: &str, ns: Option<&str>) -> Vec<Arc<Value>> {
        let of = self.0.iter().filter(|(r, o)| *r == resource && ns.is_none_or(|ns| namespace(o) == ns));
        of.map(|(_, o)| Arc::new(o.clone())).collect()
    }
}

fn cluster() -> Objects {
    Objects(vec![
        ("namespaces", json!({"metadata": {"name": "a"}, "status": {"phase": "Active"}})),
        ("namespaces", json!({"metadata": {"name": "gone"}, "status": {"phase": "Terminating"}})),
        ("priorityclasses", json!({"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})),
        ("priorityclasses", json!({"metadata": {"name": "usual"}, "value": 3, "globalDefault": true})),
        ("storageclasses", class("old", "2026-01-01T00:00:00Z", true)),
        ("storageclasses", class("new", "2026-02-01T00:00:00Z", true)),
        ("storageclasses", class("newest", "2026-03-01T00:00:00Z", false)),
        ("nodes", json!({"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z", "other": "o"}}})),
        (
            "runtimeclasses",
            json!({
                "metadata": {"name": "vm"}, "overhead": {"podFixed": {"cpu": "1"}},
                "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
            }),
        ),
        (
            "limitranges",
            json!({"metadata": {"name": "l", "namespace": "l"}, "spec": {"limits": [
                {"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "100m"},
                 "default": {"cpu": "500m", "memory": "128Mi"}, "defaultRequest": {"cpu": "500m", "memory": "128Mi"},
                 "maxLimitRequestRatio": {"cpu": "3"}},
                {"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}, "min": {"storage": "1Gi"}},
                {"type": "Pod", "max": {"cpu": "3"}},
            ]}}),
        ),
        ("namespaces", json!({"metadata": {"name": "l"}, "status": {"phase": "Active"}})),
        (
            "serviceaccounts",
            json!({"metadata": {"name": "default", "namespace": "a"}, "imagePullSecrets": [{"name": "s"}]}),
        ),
    ])
}

fn class(name: &str, created: &str, default: bool) -> Value {
    let annotation = json!({"storageclass.kubernetes.io/is-default-class": default.to_string()});
    json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotation}, "allowVolumeExpansion": true})
}

fn request<'a>(operation: Operation, resource: &'a str, namespace: &'a str, name: &'a str) -> Request<'a> {
    let (group, kind) = match resource {
        "pods" => ("", "Pod"),
        "namespaces" => ("", "Namespace"),
        "priorityclasses" => ("scheduling.k8s.io", "PriorityClass"),
        _ => ("", "PersistentVolumeClaim"),
    };
    Request {
        operation,
        kind: Kind::new(group, "v1", kind),
        resource: GroupResource { group, resource },
        subresource: "",
        namespace,
        name,
        old: None,
        dry_run: false,
        suffix: "abcde",
        plugins: Plugins::default(),
    }
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "x"}, "spec": spec})
}

fn container(resources: Value) -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
}

#[test]
fn refusals() {
    let claim = |size: &str| json!({"metadata": {"name": "x"}, "spec": {"resources": {"requests": {"storage": size}}}});
    for (resource, ns, object, message) in [
        ("pods", "nope", pod(json!({})), "namespaces \"nope\" not found"),
        (
            "pods",
            "gone",
            json!({"metadata": {"generateName": "gen-"}}),
            "pods \"gen-\" is forbidden: unable to create new content in namespace gone because it is being terminated",
        ),
        (
            "pods",
            "a",
            pod(json!({"priorityClassName": "zz"})),
            "pods \"x\" is forbidden: no PriorityClass with name zz was found",
        ),
        (
            "pods",
            "a",
            pod(json!({"priority": 9})),
            "pods \"x\" is forbidden: the integer value of priority (9) must not be provided in pod spec; priority admission controller computed 3 from the given PriorityClass name",
        ),
        (
            "pods",
            "a",
            pod(json!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"})),
            "pods \"x\" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name",
        ),
        (
            "pods",
            "a",
            pod(json!({"runtimeClassName": "nope"})),
            "pods \"x\" is forbidden: pod rejected: RuntimeClass \"nope\" not found",
        ),
        (
            "pods",
            "a",
            pod(json!({"overhead": {"cpu": "1"}})),
            "pods \"x\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            "pods",
            "a",
            pod(json!({"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}})),
            "pods \"x\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
        ),
        (
            "priorityclasses",
            "",
            json!({"metadata": {"name": "b"}, "globalDefault": true}),
            "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass usual is already marked as default. Only one default can exist",
        ),
        (
            "pods",
            "l",
            pod(container(json!({"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}))),
            "pods \"x\" is forbidden: [maximum cpu usage per Container is 2, but limit is 4, maximum cpu usage per Pod is 3, but limit is 4]",
        ),
        (
            "pods",
            "l",
            pod(container(json!({"limits": {"cpu": "50m"}, "requests": {"cpu": "50m"}}))),
            "pods \"x\" is forbidden: minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            "pods",
            "l",
            pod(container(json!({"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}))),
            "pods \"x\" is forbidden: cpu max limit to request ratio per Container is 3, but provided ratio is 10.000000",
        ),
        (
            "persistentvolumeclaims",
            "l",
            claim("10Gi"),
            "persistentvolumeclaims \"x\" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi",
        ),
        (
            "persistentvolumeclaims",
            "l",
            claim("1Mi"),
            "persistentvolumeclaims \"x\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi",
        ),
    ] {
        let request = request(Operation::Create, resource, ns, "");
        let mut object = object;
        let answer = mutate(&request, &mut object, &cluster()).and_then(|()| validate(&request, &object, &cluster()));
        assert_eq!(answer.unwrap_err().message, message);
    }
    let answer =
        mutate(&request(Operation::Delete, "namespaces", "", "default"), &mut json!({}), &cluster()).unwrap_err();
    assert_eq!(answer.message, "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

#[test]
fn changes() {
    let run = |resource: &str, ns: &str, plugins: Plugins, mut object: Value| {
        let request = Request { plugins, ..request(Operation::Create, resource, ns, "") };
        mutate(&request, &mut object, &cluster()).unwrap();
        validate(&request, &object, &cluster()).unwrap();
        object
    };
    let plain = run("pods", "a", Plugins::default(), pod(json!({"nodeName": "n"})));
    assert_eq!(plain["spec"]["priority"], 3);
    assert_eq!(plain["spec"]["priorityClassName"], "usual");
    assert_eq!(plain["metadata"]["labels"], json!({"topology.kubernetes.io/zone": "z"}));
    assert_eq!(list(&plain, &["spec", "tolerations"]).len(), 2);
    let virtual_machine = run("pods", "a", Plugins::default(), pod(json!({"runtimeClassName": "vm"})));
    assert_eq!(virtual_machine["spec"]["overhead"], json!({"cpu": "1"}));
    assert_eq!(list(&virtual_machine, &["spec", "tolerations"]).len(), 3);
    let limited = run("pods", "l", Plugins::default(), pod(container(json!({}))));
    assert_eq!(
        limited["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
    );
    let claim = json!({"metadata": {"name": "x"}, "spec": {}});
    let claimed = run("persistentvolumeclaims", "a", Plugins::default(), claim);
    assert_eq!(claimed["spec"]["storageClassName"], "new");
    assert_eq!(claimed["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    let with_account = Plugins { service_account: true, ..Plugins::default() };
    let account = run("pods", "a", with_account, pod(container(json!({}))));
    assert_eq!(account["spec"]["volumes"][0]["name"], "kube-api-access-abcde");
    assert_eq!(account["spec"]["serviceAccount"], "default");
    assert_eq!(account["spec"]["imagePullSecrets"], json!([{"name": "s"}]));
}

#[test]
fn expansion() {
    let claim = |size: &str, phase: &str, class: &str| {
        json!({
            "metadata": {"name": "x"}, "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}, "status": {"phase": phase},
        })
    };
    for (old, new, message) in [
        (claim("1Gi", "Bound", "new"), claim("2Gi", "Bound", "new"), ""),
        (
            claim("1Gi", "Pending", "new"),
            claim("2Gi", "Pending", "new"),
            "Only bound persistent volume claims can be expanded",
        ),
        (
            claim("1Gi", "Bound", "none"),
            claim("2Gi", "Bound", "none"),
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
        ),
    ] {
        let request = Request { old: Some(&old), ..request(Operation::Update, "persistentvolumeclaims", "a", "x") };
        let said = validate(&request, &new, &cluster()).err().map(|s| s.message).unwrap_or_default();
        assert!(said.ends_with(message) && said.is_empty() == message.is_empty(), "{said}");
    }
}

#[test]
fn bindings() {
    let bound = |pod: Value, binding: Value| {
        let mut pod = pod;
        binding::check(&binding, "p")
            .and_then(|()| binding::assign(&mut pod, &binding, "2026-11-16T03:00:00Z"))
            .map(|()| pod)
    };
    let to = |target: Value, uid: &str| json!({"metadata": {"name": "p", "uid": uid, "annotations": {"k": "v"}}, "target": target});
    let node = || to(json!({"kind": "Node", "name": "n"}), "");
    let pod = |spec: Value| json!({"metadata": {"name": "p", "namespace": "a", "uid": "u"}, "spec": spec, "status": {"phase": "Pending", "nominatedNodeName": "m"}});
    let done = bound(pod(json!({})), node()).unwrap();
    assert_eq!(done["spec"]["nodeName"], "n");
    assert_eq!(
        done["status"],
        json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-16T03:00:00Z"}]})
    );
    for (pod, binding, code, message) in [
        (pod(json!({})), to(json!({"kind": "Node"}), ""), 500, "target.name: Required value"),
        (
            pod(json!({})),
            to(json!({"kind": "Foo", "name": "n"}), ""),
            500,
            "target.kind: Unsupported value: \"Foo\": supported values: \"Node\", \"<empty>\"",
        ),
        (pod(json!({})), json!({"metadata": {"name": "q"}}), 400, "name in URL does not match name in Binding object"),
        (
            pod(json!({})),
            to(json!({"name": "n"}), "zz"),
            409,
            "Operation cannot be fulfilled on pods \"p\": StorageError: invalid object, Code: 4, Key: /registry/pods/a/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: zz, UID in object meta: u",
        ),
        (
            pod(json!({"nodeName": "m"})),
            node(),
            409,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"m\"",
        ),
        (
            pod(json!({"schedulingGates": [{"name": "g"}]})),
            node(),
            409,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p has non-empty .spec.schedulingGates",
        ),
    ] {
        let status = bound(pod, binding).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}

#[test]
fn evictions() {
    let budget = |name: &str, status: Value| {
        Arc::new(json!({
        "metadata": {"name": name, "generation": 1}, "spec": {"selector": {"matchLabels": {"app": "ev"}}}, "status": status}))
    };
    let running = json!({"metadata": {"name": "e", "labels": {"app": "ev"}}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let now = "2026-11-16T03:00:00Z";
    let refused = |status: Value| eviction::decide(&running, &[budget("p1", status)], now).unwrap_err();
    let cause = |s: &Status| s.details.as_ref().unwrap().causes[0].message.clone();
    let busy = refused(json!({}));
    assert_eq!((busy.code, busy.details.as_ref().unwrap().retry_after_seconds), (429, 10));
    assert_eq!(cause(&busy), "The disruption budget p1 is still being processed by the server.");
    for (status, message) in [
        (
            json!({"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1}),
            "The disruption budget p1 needs 1 healthy pods and has 1 currently",
        ),
        (
            json!({"observedGeneration": 1, "currentHealthy": 3, "desiredHealthy": 1}),
            "The disruption budget p1 does not allow evicting pods currently",
        ),
        (
            json!({"observedGeneration": 1, "currentHealthy": 3, "desiredHealthy": 1, "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "boom"}]}),
            "The disruption budget p1 does not allow evicting pods currently because it failed sync: boom",
        ),
    ] {
        assert_eq!(cause(&refused(status)), message);
    }
    let room = json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1});
    let two = eviction::decide(&running, &[budget("p1", room.clone()), budget("p2", room.clone())], now).unwrap_err();
    assert_eq!((two.code, two.reason), (500, ""));
    let taken = eviction::decide(&running, &[budget("p1", room)], now).unwrap().budget.unwrap();
    assert_eq!(
        taken["status"],
        json!({
        "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "disruptedPods": {"e": now},
        "conditions": [{"type": "DisruptionAllowed", "status": "False", "observedGeneration": 1, "lastTransitionTime": now, "reason": "InsufficientPods", "message": ""}]})
    );
    assert_eq!(eviction::decide(&running, &[], now).unwrap().budget, None);
}

#[test]
fn a_resize_is_refused_where_the_node_can_never_do_it() {
    let on = |node: &str, cpu: &str| {
        let mut spec = container(json!({"requests": {"cpu": cpu}}));
        spec["nodeName"] = node.into();
        pod(spec)
    };
    let said = |old: Value, new: Value| {
        let resize = Request { old: Some(&old), subresource: "resize", ..request(Operation::Update, "pods", "a", "x") };
        validate(&resize, &new, &cluster()).err().map(|status| status.message)
    };
    let lacking =
        "pods \"x\" is forbidden: node didn't have enough allocatable resources: cpu, requested: 200, allocatable: 0";
    assert_eq!(said(on("n", "100m"), on("n", "200m")).as_deref(), Some(lacking));
    let gone = "pods \"x\" is forbidden: node \"m\" not found";
    assert_eq!(said(on("m", "100m"), on("m", "200m")).as_deref(), Some(gone));
    // Nothing changes, or there is no node yet.
    assert_eq!(said(on("m", "100m"), on("m", "100m")), None);
    assert_eq!(said(on("", "100m"), on("", "200m")), None);
}

#[test]
fn access_to_devices_in_use_needs_a_marked_namespace() {
    let claim = |namespace: &str| {
        json!({"metadata": {"name": "c", "namespace": namespace}, "spec": {"devices": {"requests": [
            {"name": "a", "exactly": {"deviceClassName": "x"}},
            {"name": "b", "exactly": {"deviceClassName": "x", "adminAccess": true}},
        ]}}})
    };
    let mut objects = cluster();
    let labels = json!({"resource.kubernetes.io/admin-access": "true"});
    objects.0.push(("namespaces", json!({"metadata": {"name": "marked", "labels": labels}})));
    let kind = Kind::new("resource.k8s.io", "v1", "ResourceClaim");
    let fields = |namespace: &str| -> Vec<String> {
        let refused = admin_access_refused(kind, "", &claim(namespace), None, &objects);
        refused.into_iter().map(|error| error.field).collect()
    };
    assert_eq!(fields("a"), ["spec.devices.requests[1].adminAccess"]);
    assert!(fields("marked").is_empty());
    let granted = |namespace: &str, access: bool| {
        let results = json!([{"device": "d", "adminAccess": access}]);
        json!({"metadata": {"namespace": namespace}, "status": {"allocation": {"devices": {"results": results}}}})
    };
    let status = |new: Value, old: Value| admin_access_refused(kind, "status", &new, Some(&old), &objects).len();
    assert_eq!(status(granted("a", true), granted("a", false)), 1);
    assert_eq!(status(granted("a", true), granted("a", true)), 0, "it was granted before");
    assert_eq!(status(granted("marked", true), granted("marked", false)), 0);
}
