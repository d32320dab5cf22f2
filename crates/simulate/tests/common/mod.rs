//! What the tests of the controllers share: objects, and stand-ins for the parts of a cluster that are not on trial.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod pods;

use std::time::Duration;

use plimsoll_controllers::{Options as Controllers, start};
use plimsoll_runtime::{Context, Resource};
use plimsoll_simulate::invariants::volumes::read;
use plimsoll_simulate::{Bed, Component};
use serde_json::{Value, json};

/// The provisioner of the classes `fast` (Immediate) and `late` (WaitForFirstConsumer).
pub const DRIVER: &str = "csi.example.com";
/// The finalizer of volumes that it made.
const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// What a write said, as the scenario's failure.
pub fn told(error: plimsoll_runtime::Error) -> String {
    error.to_string()
}

pub fn volume(name: &str, class: &str, gib: u64, policy: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"capacity": {"storage": format!("{gib}Gi")}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": class, "persistentVolumeReclaimPolicy": policy,
                    "csi": {"driver": DRIVER, "volumeHandle": name}}})
}

pub fn claim(name: &str, class: Option<&str>, gib: u64) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
           "metadata": {"name": name, "namespace": "default"},
           "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": format!("{gib}Gi")}}}});
    if let Some(class) = class {
        claim["spec"]["storageClassName"] = json!(class);
    }
    claim
}

pub fn class(name: &str, provisioner: &str, delayed: bool) -> Value {
    let mode = if delayed { "WaitForFirstConsumer" } else { "Immediate" };
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
           "provisioner": provisioner, "volumeBindingMode": mode})
}

/// Makes an object.
pub async fn create(bed: &Bed, resource: Resource, object: &Value) -> Result<(), String> {
    bed.objects().create::<Value>(resource, "default", object).await.map(|_| ()).map_err(told)
}

/// The classes of every world: `fast` and `late` have a provisioner, `disk` and `shelf` have only what is there.
pub async fn classes(bed: &Bed) -> Result<(), String> {
    for (name, provisioner, delayed) in [
        ("fast", DRIVER, false),
        ("late", DRIVER, true),
        ("disk", "kubernetes.io/no-provisioner", false),
        ("shelf", "kubernetes.io/no-provisioner", true),
    ] {
        create(bed, Resource::CLASSES, &class(name, provisioner, delayed)).await?;
    }
    Ok(())
}

/// The controllers, as `plimsoll controller` runs them. Lists are repeated every minute, so that a watch that left
/// something out is healed within the time that a run needs to come to rest.
pub fn controllers() -> Component {
    Component::new("binder", |context: Context| async move {
        let options = Controllers { relist: Duration::from_secs(60), ..Controllers::default() };
        start(&context, &options);
        context.tasks.stopping().await;
    })
}

/// Stands in for an external provisioner: makes `pvc-<uid>` for claims that were handed to it, and deletes what is Released.
pub fn provisioner(bed: &Bed) -> Component {
    let bed = bed.clone();
    Component::new("provisioner", move |context: Context| provision(bed.clone(), context)).spared()
}

async fn provision(bed: Bed, context: Context) {
    loop {
        let state = bed.state();
        // Between looking and making, the world may change: that is how one volume too many comes to be.
        tokio::time::sleep(Duration::from_millis(600)).await;
        for claim in state.claims.values() {
            let handed = read::annotation(claim, "volume.kubernetes.io/storage-provisioner") == Some(DRIVER);
            let name = format!("pvc-{}", read::uid(claim));
            if handed && read::volume_name(claim).is_empty() && !state.volumes.contains_key(&name) {
                let mut made = volume(&name, "", 1, "Delete");
                made["spec"]["storageClassName"] = claim["spec"]["storageClassName"].clone();
                made["spec"]["capacity"] = claim["spec"]["resources"]["requests"].clone();
                made["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": DRIVER});
                made["metadata"]["finalizers"] = json!([FINALIZER]);
                made["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                    "namespace": claim["metadata"]["namespace"], "name": claim["metadata"]["name"],
                    "uid": read::uid(claim)});
                let _ = context.objects().create::<Value>(Resource::VOLUMES, "", &made).await;
            }
        }
        for (name, volume) in &state.volumes {
            let ours = read::annotation(volume, "pv.kubernetes.io/provisioned-by") == Some(DRIVER);
            if ours && read::phase(volume) == "Released" && read::policy(volume) == "Delete" {
                let mut bare = (**volume).clone();
                without_finalizer(&mut bare, FINALIZER);
                let _ = context.objects().replace::<Value>(Resource::VOLUMES, &bare).await;
                let _ = context.objects().delete(Resource::VOLUMES, "", name, &Default::default()).await;
            }
        }
    }
}

fn without_finalizer(object: &mut Value, finalizer: &str) {
    if let Some(all) = object["metadata"]["finalizers"].as_array_mut() {
        all.retain(|known| known != finalizer);
    }
}
