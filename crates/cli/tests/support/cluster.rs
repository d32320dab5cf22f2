//! A cluster of `plimsoll up` as a test looks at it: objects, and waiting for what is to become of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{Answer, Client, Lost, Server};

/// How long anything may take to happen: far more than it needs, on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The objects of a cluster.
#[derive(Clone)]
pub struct Objects(pub Client);

impl Objects {
    pub async fn of(server: &Server) -> Self {
        Self(server.client().await.unwrap())
    }

    pub async fn try_get(&self, path: &str) -> Result<Answer, Lost> {
        self.0.call("GET", path, "", "").await
    }

    /// One object, or nothing.
    pub async fn get(&self, path: &str) -> Option<Value> {
        let answer = self.try_get(path).await.unwrap();
        assert!(matches!(answer.code, 200 | 404), "{path}: {}", answer.shown());
        (answer.code == 200).then(|| answer.json())
    }

    /// All objects of a collection.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.try_get(path).await.unwrap();
        assert_eq!(answer.code, 200, "{path}: {}", answer.shown());
        answer.json()["items"].as_array().cloned().unwrap_or_default()
    }

    /// Makes an object.
    pub async fn create(&self, collection: &str, object: &Value) -> Answer {
        self.0.call("POST", collection, "application/json", object.to_string()).await.unwrap()
    }

    /// Makes an object, and expects that it can be.
    pub async fn made(&self, collection: &str, object: &Value) -> Value {
        let answer = self.create(collection, object).await;
        assert_eq!(answer.code, 201, "{collection}: {}", answer.shown());
        answer.json()
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.0.call("DELETE", path, "", "").await.unwrap()
    }

    /// Waits until something is so, and says what was there instead where it never is.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn(&Self) -> Result<T, String>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match look(self).await {
                Ok(found) => return found,
                Err(instead) => assert!(Instant::now() < end, "{what}: after {PATIENCE:?} still {instead}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a pod of namespace default is in a phase; gives back the pod.
    pub async fn phase(&self, pod: &str, phase: &str) -> Value {
        let path = format!("{PODS}/{pod}");
        self.until(&format!("pod {pod} {phase}"), async |objects| {
            let found = objects.get(&path).await.ok_or("not there")?;
            if found["status"]["phase"] == phase { Ok(found) } else { Err(found["status"].to_string()) }
        })
        .await
    }

    /// Waits until an object is gone.
    pub async fn gone(&self, path: &str) {
        self.until(&format!("{path} gone"), async |objects| match objects.get(path).await {
            None => Ok(()),
            Some(found) => Err(found["metadata"].to_string()),
        })
        .await;
    }
}

/// Asks a server to end, and expects that it does in good order.
pub async fn end(server: &mut Server) {
    let asked = Instant::now();
    server.terminate();
    assert_eq!(server.ended(Duration::from_secs(20)).await, Some(0), "{}", server.said());
    assert!(asked.elapsed() < Duration::from_secs(10), "it took {:?}", asked.elapsed());
}

pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
pub const VOLUMES: &str = "/api/v1/persistentvolumes";
pub const NODES: &str = "/api/v1/nodes";

/// A claim of the default class.
pub fn claim(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

/// A pod that ends as soon as it is asked to, with a claim's volume where one is named.
pub fn pod(name: &str, claim: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "test"}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}});
    if let Some(claim) = claim {
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    }
    pod
}

/// The directories under the folder of volumes: the name of the volume and the node that it is on.
pub fn directories(data: &Path) -> BTreeMap<String, String> {
    let entries = |path: PathBuf| -> Vec<PathBuf> {
        std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut out = BTreeMap::new();
    for node in entries(data.join("volumes")).into_iter().filter(|node| name(node) != ".deleted") {
        for volume in entries(node.clone()) {
            let twice = out.insert(name(&volume), name(&node));
            assert!(twice.is_none(), "{} is on two nodes", volume.display());
        }
    }
    out
}

/// No volume is bound twice: claims and volumes name each other, and nobody else. Says what is not so.
pub fn bound_once(claims: &[Value], volumes: &[Value]) -> Result<(), String> {
    let mut taken = BTreeSet::new();
    for volume in volumes {
        let (name, uid) = (&volume["metadata"]["name"], &volume["spec"]["claimRef"]["uid"]);
        if uid.is_string() && !taken.insert(uid.to_string()) {
            return Err(format!("the claim {uid} has two volumes, one is {name}"));
        }
    }
    for claim in claims.iter().filter(|claim| claim["spec"]["volumeName"].is_string()) {
        let (name, wanted) = (&claim["metadata"]["name"], &claim["spec"]["volumeName"]);
        let volume = volumes.iter().find(|volume| volume["metadata"]["name"] == *wanted);
        let Some(volume) = volume else {
            return Err(format!("claim {name} has the volume {wanted}, which is not there"));
        };
        if volume["spec"]["claimRef"]["uid"] != claim["metadata"]["uid"] {
            return Err(format!("claim {name} has the volume {wanted}, which is another's"));
        }
    }
    Ok(())
}
