//! A claim that needs a volume made: handed to who makes them (pv-controller.md 4.7).

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::StorageClass;
use plimsoll_api::names;
use plimsoll_engine::binder::{Maker, Say, maker, volume_name};
use plimsoll_engine::labels::Name;
use plimsoll_engine::quantity::Quantity;
use plimsoll_runtime::{Error, Next, Resource};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::binder::claims::{has_data_source, selected_node};
use crate::binder::{Binder, edits, making};
use crate::provision::{Made, Provisioner, Request};
use crate::world::Claim;
use plimsoll_api::edit::unannotate;
use plimsoll_runtime::write::{Part, about};

/// How often, and how long apart, a volume that was made is tried to be written down: upstream's.
const SAVES: u32 = 5;
const BETWEEN_SAVES: Duration = Duration::from_secs(10);

impl Binder {
    pub(super) async fn provision(&self, claim: &Arc<Claim>, class: &Name) -> Result<Next, Error> {
        if !self.options.provisioning {
            return Ok(Next::After(self.options.sync_period));
        }
        let again = Ok(Next::After(self.options.sync_period));
        let Some(class) = self.world.classes.named(class) else {
            self.refuse(claim, format!("storageclass.storage.k8s.io \"{class}\" not found"));
            return again;
        };
        let plugin = self.options.provisioners.internal(&class.provisioner);
        match (maker(&class.provisioner, plugin.is_some()), plugin) {
            (Maker::Here, Some(plugin)) => self.make(claim, &class, &*plugin).await,
            (Maker::Elsewhere(driver), _) => {
                let asked = self.claim_writer.change(claim, Part::Object, |c| edits::ask_provisioner(c, &driver)).await;
                let claim = asked.inspect_err(|error| {
                    if !error.is_conflict() {
                        self.refuse(claim, format!("Error saving claim: {error}"));
                    }
                })?;
                let message = format!(
                    "Waiting for a volume to be created either by the external provisioner '{driver}' or manually by the \
                     system administrator. If volume creation is delayed, please verify that the provisioner is running \
                     and correctly registered."
                );
                self.say(&about(&*claim), &Say { warning: false, reason: "ExternalProvisioning", message });
                again
            }
            _ => {
                self.refuse(claim, format!("no volume plugin matched name: {}", class.provisioner));
                again
            }
        }
    }

    fn refuse(&self, claim: &Arc<Claim>, message: String) {
        self.say(&about(&**claim), &Say { warning: true, reason: "ProvisioningFailed", message });
    }

    /// Makes a volume with a plugin of this process, and writes it down.
    async fn make(&self, claim: &Arc<Claim>, class: &Arc<StorageClass>, by: &dyn Provisioner) -> Result<Next, Error> {
        let work = making(&claim.slim.metadata.name, &claim.slim.metadata.uid);
        let plugin = by.plugin();
        if has_data_source(&claim.value()) {
            self.refuse(
                claim,
                format!(
                    "plugin \"{plugin}\" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource"
                ),
            );
            return Ok(self.failed(&work));
        }
        let claim =
            self.claim_writer.change(claim, Part::Object, |c| edits::ask_provisioner(c, &class.provisioner)).await?;
        let name = volume_name(&claim.slim.metadata.uid);
        if self.volume_writer.look("", &name).await?.is_some() {
            // Made by a turn that did not live to see it; the mirror knows it now, and wakes whom it concerns. One that does
            // not fit the claim (it is being deleted, say) is waited for.
            return Ok(Next::After(self.options.sync_period));
        }
        if !by.mount_options_supported() && !class.mount_options.is_empty() {
            let (class, options) = (&class.metadata.name, class.mount_options.join(" "));
            self.refuse(
                &claim,
                format!(
                    "Mount options are not supported by the provisioner but StorageClass \"{class}\" has mount options [{options}]"
                ),
            );
            return Ok(self.failed(&work));
        }
        let whole = claim.value();
        let node = match selected_node(&whole) {
            None => None,
            Some(node) => match self.world.nodes.named(node) {
                Some(node) => Some(node),
                None => {
                    self.refuse(&claim, format!("Failed to get target node: node \"{node}\" not found"));
                    return Ok(self.failed(&work));
                }
            },
        };
        let request = Request {
            volume_name: name.to_string(),
            claim: claim.clone(),
            size: requested(&claim),
            class: class.clone(),
            selected_node: node,
            nodes: self.world.nodes.all(),
        };
        match by.provision(&request).await {
            Ok(made) => self.save(&claim, &volume(&request, plugin, made), by, &work).await,
            Err(refusal) => {
                // The scheduler may find another node for it. Only the plugin's own no asks for that.
                self.claim_writer.change(&claim, Part::Object, |c| unannotate(c, names::SELECTED_NODE)).await?;
                self.refuse(
                    &claim,
                    format!("Failed to provision volume with StorageClass \"{}\": {refusal}", class.metadata.name),
                );
                Ok(self.failed(&work))
            }
        }
    }

    /// Writes the volume down. What cannot be written down is deleted again, so that nothing is left that nobody knows.
    async fn save(&self, claim: &Arc<Claim>, volume: &Value, by: &dyn Provisioner, work: &str) -> Result<Next, Error> {
        let mut last = None;
        for attempt in 0..SAVES {
            if attempt > 0 {
                tokio::time::sleep(BETWEEN_SAVES).await;
            }
            let answer = self.context.objects().create::<Box<RawValue>>(Resource::VOLUMES, "", volume).await;
            match answer {
                Ok(raw) => {
                    self.volume_writer.learn(&raw)?;
                    last = None;
                    break;
                }
                // Ours, of an attempt whose answer was lost: nobody else makes volumes of this name.
                Err(Error::AlreadyExists(_)) => {
                    last = None;
                    break;
                }
                // Another leads by now, and may have written the same.
                Err(error @ Error::Fenced(_)) => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        let Some(error) = last else {
            self.succeeded(work);
            let name = volume["metadata"]["name"].as_str().unwrap_or_default();
            let message = format!("Successfully provisioned volume {name} using {}", by.plugin());
            self.say(&about(&**claim), &Say { warning: false, reason: "ProvisioningSucceeded", message });
            return Ok(Next::After(self.options.sync_period));
        };
        let key = about(&**claim);
        let key = format!("{}/{}", key.namespace, key.name);
        self.refuse(
            claim,
            format!("Error creating provisioned PV object for claim {key}: {error}. Deleting the volume."),
        );
        // One of the tries may have been written after all. Deleting what a volume in the API stands for would lose it, so
        // the API is asked first; where it cannot be, the next turn finds either.
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        match self.volume_writer.look("", name).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return Ok(self.failed(work)),
        }
        if let Err(why) = by.delete(volume).await {
            let message = format!("Error cleaning provisioned volume for claim {key}: {why}. Please delete manually.");
            self.say(&about(&**claim), &Say { warning: true, reason: "ProvisioningCleanupFailed", message });
        }
        Ok(self.failed(work))
    }
}

fn requested(claim: &Claim) -> Quantity {
    claim.slim.spec.resources.requests.parse(names::STORAGE).ok().flatten().unwrap_or(Quantity::ZERO)
}

/// The PersistentVolume for what was made: the plugin's part, the class's and the claim's.
fn volume(request: &Request, plugin: &str, made: Made) -> Value {
    let (claim, class) = (request.claim.value(), &request.class);
    let policy = if class.reclaim_policy.is_empty() { "Delete" } else { &class.reclaim_policy };
    let mut annotations = made.annotations;
    annotations.insert(names::BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    annotations.insert(names::PROVISIONED_BY.to_owned(), plugin.to_owned());
    let mut spec = made.source;
    spec.insert("capacity".to_owned(), json!({"storage": made.capacity.to_string()}));
    spec.insert("accessModes".to_owned(), json!(made.access_modes));
    spec.insert("persistentVolumeReclaimPolicy".to_owned(), json!(policy));
    spec.insert("storageClassName".to_owned(), json!(request.claim.slim.class_name().unwrap_or_default()));
    if let Some(mode) = claim["spec"]["volumeMode"].as_str() {
        spec.insert("volumeMode".to_owned(), json!(mode));
    }
    let attributes = &request.claim.slim.spec.volume_attributes_class_name;
    if !attributes.is_empty() {
        spec.insert("volumeAttributesClassName".to_owned(), json!(attributes));
    }
    if !class.mount_options.is_empty() {
        spec.insert("mountOptions".to_owned(), json!(class.mount_options));
    }
    if let Some(affinity) = made.node_affinity {
        spec.insert("nodeAffinity".to_owned(), affinity);
    }
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": request.volume_name, "annotations": annotations},
        "spec": spec,
    });
    if !made.labels.is_empty() {
        volume["metadata"]["labels"] = json!(made.labels);
    }
    edits::refer_to_claim(&mut volume, &claim);
    if policy == "Delete" {
        volume["metadata"]["finalizers"] = json!([names::DELETION_IN_TREE]);
    }
    volume
}
