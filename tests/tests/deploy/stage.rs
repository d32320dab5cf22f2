//! The server that the scenes are played on, and what a scene needs: objects, identities with fewer rights, patience.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::Method;
use plimsoll_tests::deploy::{self, NAMESPACE, Right};
use plimsoll_tests::identities::{self, ADMIN, token};
use plimsoll_tests::upstream::{Options, Upstream};
use serde_json::{Value, json};
use tokio::time::sleep;

pub const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const VOLUMES: &str = "/api/v1/persistentvolumes";
const JSON: &str = "application/json";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The real server with the manifests applied.
pub struct Stage {
    pub server: Upstream,
}

impl Stage {
    pub async fn start() -> Result<Self> {
        // Owners are checked, as careful clusters do, so that the right that needs is used.
        let options = Options { audit: true, admission: "OwnerReferencesPermissionEnforcement", ..Options::default() };
        let stage = Self { server: Upstream::start(options).await? };
        stage
            .until("the namespace of the components", &format!("/api/v1/namespaces/{NAMESPACE}"), |n| {
                n["metadata"]["uid"].is_string()
            })
            .await?;
        deploy::kubectl(&stage.server.kubeconfig, &["apply"], &deploy::manifests()?)?;
        stage.nodes().await?;
        Ok(stage)
    }

    pub async fn ask(&self, method: Method, path: &str, kind: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        self.server.client.ask(&token(ADMIN), method, path, kind, body).await
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.ask(Method::GET, path, JSON, None).await?.1)
    }

    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        let (code, answer) = self.ask(Method::POST, path, JSON, Some(object)).await?;
        ensure!(code == 201, "POST {path}: {code} {answer}");
        Ok(answer)
    }

    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        let (code, answer) = self.ask(Method::PATCH, path, "application/merge-patch+json", Some(patch)).await?;
        ensure!(code == 200, "PATCH {path}: {code} {answer}");
        Ok(answer)
    }

    /// Deletes at once, as a kubelet does at the end.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let options = json!({"gracePeriodSeconds": 0});
        let (code, answer) = self.ask(Method::DELETE, path, JSON, Some(&options)).await?;
        ensure!(code < 300 || code == 404, "DELETE {path}: {code} {answer}");
        Ok(())
    }

    /// Waits until a path answers as wanted.
    pub async fn until(&self, what: &str, path: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        for _ in 0..600 {
            last = self.get(path).await?;
            if wanted(&last) {
                return Ok(last);
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("{what} does not happen: {path} is {last}")
    }

    pub async fn until_placed(&self, pod: &str) -> Result<String> {
        let what = format!("{pod} gets a node");
        let placed = self.until(&what, &format!("{PODS}/{pod}"), |p| p["spec"]["nodeName"].is_string()).await?;
        Ok(placed["spec"]["nodeName"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits for the condition of a pod that has no node.
    pub async fn until_refused(&self, pod: &str, reason: &str, words: &str) -> Result<()> {
        let what = format!("{pod} is told {reason}: {words}");
        self.until(&what, &format!("{PODS}/{pod}"), |p| {
            let conditions = p["status"]["conditions"].as_array().into_iter().flatten();
            let mut scheduled = conditions.filter(|c| c["type"] == "PodScheduled" && c["status"] == "False");
            scheduled.any(|c| c["reason"] == reason && c["message"].as_str().is_some_and(|m| m.contains(words)))
        })
        .await
        .map(drop)
    }

    /// Whether the events about an object have this reason, often enough.
    pub async fn until_event(&self, object: &str, reason: &str, times: u64) -> Result<()> {
        let path = format!("/api/v1/events?fieldSelector=involvedObject.name%3D{object}");
        let what = format!("event {reason} about {object}");
        self.until(&what, &path, |events| {
            let events = events["items"].as_array().into_iter().flatten();
            // The scheduler's have a series where there is more than one.
            let count = |e: &Value| e["count"].as_u64().or_else(|| e["series"]["count"].as_u64()).unwrap_or(1);
            events.filter(|e| e["reason"] == reason).map(count).sum::<u64>() >= times
        })
        .await
        .map(drop)
    }

    /// Whether one event about an object stands for several.
    pub async fn until_series(&self, object: &str, reason: &str) -> Result<()> {
        let path = format!("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3D{object},reason%3D{reason}");
        let what = format!("a series of {reason} about {object}");
        self.until(&what, &path, |events| {
            events["items"].as_array().into_iter().flatten().any(|e| e["series"]["count"].as_u64() >= Some(2))
        })
        .await
        .map(drop)
    }

    async fn nodes(&self) -> Result<()> {
        for name in ["node-0", "node-1"] {
            let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": name});
            self.create("/api/v1/nodes", &json!({"metadata": {"name": name, "labels": labels}})).await?;
            let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "100"});
            let status = json!({"status": {"capacity": resources, "allocatable": resources}});
            self.patch(&format!("/api/v1/nodes/{name}/status"), &status).await?;
        }
        for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("fast", "made.example.com")] {
            let class = json!({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"});
            self.create("/apis/storage.k8s.io/v1/storageclasses", &class).await?;
        }
        Ok(())
    }

    /// A volume on the first node.
    pub async fn local_volume(&self, name: &str) -> Result<()> {
        let terms =
            json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}]}]);
        let volume = json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local", "local": {"path": "/disk"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}});
        self.create(VOLUMES, &volume).await.map(drop)
    }

    pub async fn claim(&self, name: &str, class: &str) -> Result<Value> {
        self.create(CLAIMS, &json!({"metadata": {"name": name}, "spec": claim_spec(class)})).await
    }

    /// A pod with these claims and further fields of its spec.
    pub async fn pod(&self, name: &str, claims: &[&str], spec: Value) -> Result<()> {
        let volumes: Vec<Value> =
            claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}})).collect();
        let mut pod = json!({"metadata": {"name": name}, "spec": {"volumes": volumes,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}]}});
        for (field, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        self.create(PODS, &pod).await.map(drop)
    }

    /// What an external provisioner does for a claim with a selected node.
    pub async fn provision(&self, claim: &str) -> Result<()> {
        let selected = "volume.kubernetes.io/selected-node";
        let path = format!("{CLAIMS}/{claim}");
        let claim = self
            .until(&format!("{claim} gets its node"), &path, |c| c["metadata"]["annotations"][selected].is_string())
            .await?;
        let meta = &claim["metadata"];
        let name = format!("pvc-{}", meta["uid"].as_str().unwrap_or_default());
        let volume = json!({"metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "made.example.com"}},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": "made.example.com", "volumeHandle": name},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": meta["name"],
                    "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}});
        self.create(VOLUMES, &volume).await.map(drop)
    }

    /// A user with what the roles of a manifest allow, but for some rights. Returns its kubeconfig.
    pub async fn user_with(
        &self,
        user: &str,
        role: &str,
        lease: &str,
        manifest: &str,
        but: &[&str],
    ) -> Result<PathBuf> {
        self.grant(role, manifest, but).await?;
        let subjects = json!([{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]);
        let refer =
            |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        let binding = json!({"metadata": {"name": role}, "subjects": subjects, "roleRef": refer("ClusterRole", role)});
        self.create(&format!("{RBAC}/clusterrolebindings"), &binding).await?;
        let binding = json!({"metadata": {"name": role}, "subjects": subjects, "roleRef": refer("Role", lease)});
        self.create(&format!("{RBAC}/namespaces/{NAMESPACE}/rolebindings"), &binding).await?;
        let path = self.server.folder().join(format!("kubeconfig-{role}"));
        identities::kubeconfig(&path, &self.server.client.url(), &self.server.ca, user)?;
        Ok(path)
    }

    /// Makes or replaces a role of what a manifest's ClusterRole allows, but for these rights.
    pub async fn grant(&self, role: &str, manifest: &str, but: &[&str]) -> Result<()> {
        let all = deploy::rights(&[manifest])?;
        let kept: Vec<&Right> = all.iter().filter(|right| right.namespace.is_empty()).collect();
        for but in but {
            kept.iter()
                .find(|right| right.to_string() == **but)
                .with_context(|| format!("{manifest} does not allow {but}"))?;
        }
        let kept = kept.into_iter().filter(|right| !but.contains(&right.to_string().as_str()));
        let rules: Vec<Value> = kept
            .map(|right| json!({"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb]}))
            .collect();
        let path = format!("{RBAC}/clusterroles");
        let object = json!({"metadata": {"name": role}, "rules": rules});
        if self.ask(Method::POST, &path, JSON, Some(&object)).await?.0 == 409 {
            self.patch(&format!("{path}/{role}"), &object).await?;
        }
        Ok(())
    }
}

pub fn claim_spec(class: &str) -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": "1Gi"}}})
}
