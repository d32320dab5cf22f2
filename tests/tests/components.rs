//! Upstream's own kube-scheduler and kube-controller-manager on the embedded server: a StatefulSet with claims comes to life, other
//! workloads too, and what is deleted takes along what it owns.
//!
//! No kubelet runs, so the test says of every pod that has a node that it runs, and lets a deleted one go.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::identities::{ADMIN, token};
use plimsoll_tests::process::Folder;
use plimsoll_tests::upstream::{Content, kube_controller_manager, kube_scheduler};
use serde_json::{Value, json};
use tokio::time::sleep;

/// All controllers that a cluster of these tests can use; those of nodes and clouds have nothing to look at here.
const CONTROLLERS: &str = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,\
    persistentvolume-protection-controller,statefulset-controller,deployment-controller,replicaset-controller,daemonset-controller,\
    job-controller,disruption-controller,garbage-collector-controller,namespace-controller,ephemeral-volume-controller,\
    serviceaccount-controller,root-ca-certificate-publisher-controller,endpointslice-controller";

struct Api<'a>(&'a Embedded);

impl Api<'_> {
    async fn ask(&self, method: Method, path: &str, content_type: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let mut request = Request::builder().method(method).uri(path);
        request =
            request.header("authorization", format!("Bearer {}", token(ADMIN))).header("content-type", content_type);
        let body = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
        let response = self.0.client.send(request.body(Full::new(body))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.ask(Method::GET, path, "application/json", None).await?.1)
    }

    async fn create(&self, path: &str, object: Value) -> Result<Value> {
        let (code, answer) = self.ask(Method::POST, path, "application/json", Some(&object)).await?;
        if code != 201 {
            bail!("POST {path}: {code} {answer}");
        }
        Ok(answer)
    }

    async fn patch(&self, path: &str, patch: Value) -> Result<Value> {
        let (code, answer) = self.ask(Method::PATCH, path, "application/merge-patch+json", Some(&patch)).await?;
        if code != 200 {
            bail!("PATCH {path}: {code} {answer}");
        }
        Ok(answer)
    }

    async fn delete(&self, path: &str, options: Value) -> Result<()> {
        let (code, answer) = self.ask(Method::DELETE, path, "application/json", Some(&options)).await?;
        if code >= 300 {
            bail!("DELETE {path}: {code} {answer}");
        }
        Ok(())
    }

    /// What a kubelet would do: pods on nodes run, deleted ones go.
    async fn play_kubelet(&self) -> Result<()> {
        let pods = self.get("/api/v1/pods").await?;
        for pod in pods["items"].as_array().into_iter().flatten() {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let path = format!("/api/v1/namespaces/{}/pods/{}", text("/metadata/namespace"), text("/metadata/name"));
            if text("/spec/nodeName").is_empty() {
                continue;
            }
            if !text("/metadata/deletionTimestamp").is_empty() {
                // It may be gone already.
                let _ = self.delete(&path, json!({"gracePeriodSeconds": 0})).await;
            } else if text("/status/phase") == "Pending" {
                let done = !text("/metadata/labels/job-name").is_empty();
                let (phase, ready) = if done { ("Succeeded", "False") } else { ("Running", "True") };
                let condition =
                    |kind: &str| json!({"type": kind, "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"});
                let status = json!({"status": {"phase": phase, "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
                    "conditions": [{"type": "PodScheduled", "status": "True"}, condition("Ready"), condition("ContainersReady")]}});
                let _ = self.patch(&format!("{path}/status"), status).await;
            }
        }
        Ok(())
    }

    /// Waits until a path answers as wanted.
    async fn until(&self, what: &str, path: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        for _ in 0..600 {
            self.play_kubelet().await?;
            last = self.get(path).await?;
            if wanted(&last) {
                return Ok(last);
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("{what} does not happen: {path} is {last}")
    }
}

fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

async fn nodes_and_volumes(api: &Api<'_>) -> Result<()> {
    for (i, zone) in ["a", "b", "c"].into_iter().enumerate() {
        let name = format!("node-{i}");
        let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone});
        api.create("/api/v1/nodes", json!({"metadata": {"name": name, "labels": labels}})).await?;
        let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "100"});
        let ready = json!({"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = json!({"status": {"capacity": resources, "allocatable": resources, "conditions": [ready]}});
        api.patch(&format!("/api/v1/nodes/{name}/status"), status).await?;
        let terms =
            json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}]);
        api.create(
            "/api/v1/persistentvolumes",
            json!({"metadata": {"name": format!("disk-{i}")}, "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local", "local": {"path": "/disk"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}),
        )
        .await?;
    }
    let class = json!({"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    api.create("/apis/storage.k8s.io/v1/storageclasses", class).await?;
    Ok(())
}

async fn workloads_live_and_die(content: Content) -> Result<()> {
    // Upstream's controllers collect garbage and empty namespaces themselves.
    let server = Embedded::start(false).await?;
    let logs = Folder::new("components")?;
    let _manager = kube_controller_manager(logs.path(), &server.kubeconfig, CONTROLLERS, content)?;
    let _scheduler = kube_scheduler(logs.path(), &server.kubeconfig, content)?;
    let api = Api(&server);
    nodes_and_volumes(&api).await?;

    let apps = "/apis/apps/v1/namespaces/default";
    let claims = json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
        "resources": {"requests": {"storage": "5Gi"}}}}]);
    let set = json!({"metadata": {"name": "db"}, "spec": {"serviceName": "db", "replicas": 3, "selector": {"matchLabels": {"app": "db"}},
        "template": template("db"), "volumeClaimTemplates": claims}});
    api.create(&format!("{apps}/statefulsets"), set).await?;
    api.until("a StatefulSet with three ready pods", &format!("{apps}/statefulsets/db"), |s| {
        s["status"]["readyReplicas"] == 3
    })
    .await?;
    let bound = api.get("/api/v1/namespaces/default/persistentvolumeclaims").await?;
    let bound = bound["items"].as_array().context("no claims")?;
    assert_eq!(bound.len(), 3);
    assert!(bound.iter().all(|claim| claim["status"]["phase"] == "Bound"), "{bound:?}");
    // Each pod runs where its volume is.
    let pods = api.get("/api/v1/namespaces/default/pods?labelSelector=app%3Ddb").await?;
    for pod in pods["items"].as_array().context("no pods")? {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let claim = bound.iter().find(|c| c["metadata"]["name"] == format!("data-{name}")).context("no claim")?;
        let disk = claim["spec"]["volumeName"].as_str().unwrap_or_default();
        assert_eq!(pod["spec"]["nodeName"].as_str().unwrap_or_default().replace("node", "disk"), disk);
    }
    // A claim in use is protected: its deletion waits for its pod.
    api.delete("/api/v1/namespaces/default/persistentvolumeclaims/data-db-2", json!({})).await?;
    let claim = api.get("/api/v1/namespaces/default/persistentvolumeclaims/data-db-2").await?;
    assert!(claim["metadata"]["deletionTimestamp"].is_string(), "{claim}");
    let smaller = json!({"spec": {"replicas": 2}});
    api.patch(&format!("{apps}/statefulsets/db"), smaller).await?;
    let gone = |answer: &Value| answer["code"] == 404;
    api.until(
        "the protected claim goes with its pod",
        "/api/v1/namespaces/default/persistentvolumeclaims/data-db-2",
        gone,
    )
    .await?;
    api.until("its volume is released", "/api/v1/persistentvolumes", |list| {
        list["items"].as_array().is_some_and(|l| l.iter().filter(|v| v["status"]["phase"] == "Released").count() == 1)
    })
    .await?;

    let web = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web")}});
    api.create(&format!("{apps}/deployments"), web).await?;
    let agent = json!({"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent")}});
    api.create(&format!("{apps}/daemonsets"), agent).await?;
    let mut once = template("once");
    once["spec"]["restartPolicy"] = "Never".into();
    let job = json!({"metadata": {"name": "once"}, "spec": {"template": once}});
    api.create("/apis/batch/v1/namespaces/default/jobs", job).await?;
    api.until("a Deployment", &format!("{apps}/deployments/web"), |d| d["status"]["availableReplicas"] == 2).await?;
    api.until("a DaemonSet", &format!("{apps}/daemonsets/agent"), |d| d["status"]["numberReady"] == 3).await?;
    api.until("a Job", "/apis/batch/v1/namespaces/default/jobs/once", |j| j["status"]["succeeded"] == 1).await?;

    // Foreground: the Deployment stays until its ReplicaSet and pods are gone.
    api.delete(&format!("{apps}/deployments/web"), json!({"propagationPolicy": "Foreground"})).await?;
    api.until("the Deployment goes last", &format!("{apps}/deployments/web"), gone).await?;
    let left = api.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb").await?;
    assert_eq!(left["items"], json!([]));
    // Orphan: the DaemonSet's pods stay.
    api.delete(&format!("{apps}/daemonsets/agent"), json!({"propagationPolicy": "Orphan"})).await?;
    api.until("the DaemonSet goes", &format!("{apps}/daemonsets/agent"), gone).await?;
    let left = api.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dagent").await?;
    assert_eq!(left["items"].as_array().map(Vec::len), Some(3));
    // A namespace takes its content along.
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "brief"}})).await?;
    api.until("the default service account", "/api/v1/namespaces/brief/serviceaccounts/default", |a| {
        a["metadata"]["uid"].is_string()
    })
    .await?;
    api.delete("/api/v1/namespaces/brief", json!({})).await?;
    api.until("the namespace goes", "/api/v1/namespaces/brief", gone).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstreams_components_run_on_json() {
    workloads_live_and_die(Content::Json).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstreams_components_run_on_protobuf() {
    workloads_live_and_die(Content::Protobuf).await.unwrap();
}
