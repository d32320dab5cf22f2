//! Volumes: whether all that a pod mounts is there, and what a kubelet says where it is not.
//!
//! Nothing is mounted: no simulated process reads. A volume counts as mounted when a kubelet could mount it: its claim is
//! bound and the volume within reach, its directory is there, its ConfigMap or Secret exists. Directories are looked at and
//! never written to. What is the machine's own (`hostPath` in a pod) a simulated machine has, whatever it is; and so is the
//! volume with the API's token, which the API server adds to every pod.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_api::kinds::{CsiNode, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use plimsoll_controllers::node_check;
use plimsoll_runtime::{Error, Objects, Resource};
use serde_json::Value;

/// What the volume with the API's token is called, up to its made-up end.
const API_ACCESS: &str = "kube-api-access-";
/// Who keeps a claim from going while a pod uses it.
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

const CONFIG_MAPS: Resource =
    Resource { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const SECRETS: Resource = Resource { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true };

/// Looks for what a node's pods need.
pub(super) struct Search<'a> {
    pub(super) objects: &'a Objects,
    pub(super) node: &'a Node,
    pub(super) pod: &'a Pod,
    pub(super) value: &'a Value,
}

impl Search<'_> {
    /// What keeps the pod's volumes from being mounted, as events tell it. Nothing where all are there.
    pub(super) async fn volumes(&self) -> Result<Vec<String>, Error> {
        let mut troubles = Vec::new();
        let (mut unprocessed, mut errors) = (Vec::new(), Vec::new());
        for volume in list(&self.value["spec"], "volumes") {
            let name = volume["name"].as_str().unwrap_or_default();
            match self.volume(volume, name).await? {
                Found::There => {}
                Found::NotMounted(why) => troubles.push(why),
                Found::Unprocessed(why) => {
                    unprocessed.push(name);
                    errors.push(why);
                }
            }
        }
        if !errors.is_empty() {
            unprocessed.sort_unstable();
            let names = unprocessed.join(" ");
            let errors = errors.join("; ");
            troubles.push(format!(
                "Unable to attach or mount volumes: unmounted volumes=[{names}], unattached volumes=[], \
                 failed to process volumes=[{names}]: {errors}"
            ));
        }
        Ok(troubles)
    }

    async fn volume(&self, volume: &Value, name: &str) -> Result<Found, Error> {
        let set_up = |why: String| Found::NotMounted(format!("MountVolume.SetUp failed for volume \"{name}\" : {why}"));
        if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
            return self.claim(claim, false).await;
        }
        if volume["ephemeral"].is_object() {
            return self.claim(&format!("{}-{name}", self.pod.metadata.name), true).await;
        }
        let mut wanted = Vec::new();
        if volume["configMap"].is_object() {
            wanted.push((CONFIG_MAPS, Wanted::of(&volume["configMap"], "name")));
        }
        if volume["secret"].is_object() {
            wanted.push((SECRETS, Wanted::of(&volume["secret"], "secretName")));
        }
        if !name.starts_with(API_ACCESS) {
            for source in list(&volume["projected"], "sources") {
                if source["configMap"].is_object() {
                    wanted.push((CONFIG_MAPS, Wanted::of(&source["configMap"], "name")));
                }
                if source["secret"].is_object() {
                    wanted.push((SECRETS, Wanted::of(&source["secret"], "name")));
                }
            }
        }
        for (resource, wanted) in wanted {
            let missing = |key: &str| match resource {
                CONFIG_MAPS => format!("configmap references non-existent config key: {key}"),
                _ => format!("references non-existent secret key: {key}"),
            };
            if let Some(why) = self.lacks(resource, &wanted, missing).await? {
                return Ok(set_up(why));
            }
        }
        Ok(Found::There)
    }

    /// What is wrong with a ConfigMap or Secret that is wanted.
    async fn lacks(
        &self,
        resource: Resource,
        wanted: &Wanted<'_>,
        missing: impl Fn(&str) -> String,
    ) -> Result<Option<String>, Error> {
        if wanted.name.is_empty() {
            return Ok(None);
        }
        let found = self.objects.get::<Value>(resource, &self.pod.metadata.namespace, wanted.name).await?;
        let Some(found) = found else {
            let kind = resource.kind.to_lowercase();
            return Ok((!wanted.optional).then(|| format!("{kind} \"{}\" not found", wanted.name)));
        };
        let has = |key: &str| found["data"].get(key).or_else(|| found["binaryData"].get(key)).is_some();
        let lacking = wanted.keys.iter().find(|key| !has(key)).filter(|_| !wanted.optional);
        Ok(lacking.map(|key| missing(key)))
    }

    async fn claim(&self, name: &str, ephemeral: bool) -> Result<Found, Error> {
        let meta = &self.pod.metadata;
        let namespace = &meta.namespace;
        let refuse = |why: String| Ok(Found::Unprocessed(format!("error processing PVC {namespace}/{name}: {why}")));
        let claim = self.objects.get::<PersistentVolumeClaim>(Resource::CLAIMS, namespace, name).await?;
        let Some(claim) = claim else {
            return refuse(format!("failed to fetch PVC from API server: persistentvolumeclaims \"{name}\" not found"));
        };
        let protected = claim.metadata.finalizers.iter().any(|f| f == CLAIM_PROTECTION);
        if claim.metadata.deletion_timestamp.0 && !protected {
            return refuse("PVC is being deleted".to_owned());
        }
        if claim.status.phase != "Bound" {
            return refuse("PVC is not bound".to_owned());
        }
        let volume = claim.spec.volume_name.as_str();
        if volume.is_empty() {
            return refuse("PVC has empty pvc.Spec.VolumeName".to_owned());
        }
        if ephemeral && claim.metadata.controller().is_none_or(|owner| owner.uid != meta.uid) {
            let why =
                format!("PVC {namespace}/{name} was not created for pod {namespace}/{} (pod is not owner)", meta.name);
            return Ok(Found::Unprocessed(why));
        }
        let found = self.objects.get::<Value>(Resource::VOLUMES, "", volume).await?;
        let Some(found) = found else {
            return refuse(format!(
                "failed to fetch PV {volume} from API server: persistentvolumes \"{volume}\" not found"
            ));
        };
        let uid = found["spec"]["claimRef"]["uid"].as_str();
        if found["spec"]["claimRef"].is_null() {
            return refuse(format!(
                "found PV object {volume} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
            ));
        }
        if uid != Some(claim.metadata.uid.as_str()) {
            let (uid, own) = (uid.unwrap_or_default(), &claim.metadata.uid);
            return refuse(format!(
                "found PV object {volume} but its pv.Spec.ClaimRef.UID {uid} does not point to claim.UID {own}"
            ));
        }
        self.mount(&found).await
    }

    /// Whether a volume that is the pod's can be mounted here.
    async fn mount(&self, value: &Value) -> Result<Found, Error> {
        let volume = match serde_json::from_value::<PersistentVolume>(value.clone()) {
            Ok(volume) => volume,
            Err(error) => return Ok(Found::NotMounted(error.to_string())),
        };
        // Only the old plugins' volumes may be others' by now, which the node's CSINode tells.
        let is_itself = ["csi", "local", "hostPath"].iter().any(|source| value["spec"][source].is_object());
        let csi_node = match is_itself {
            true => None,
            false => self.objects.get::<CsiNode>(Resource::CSI_NODES, "", &self.node.metadata.name).await?,
        };
        if let Err(refused) = node_check::check(&volume, self.node, csi_node.as_ref()) {
            return Ok(Found::NotMounted(refused.message));
        }
        let name = &volume.metadata.name;
        let spec = &value["spec"];
        let why = if spec["volumeMode"] == "Block" {
            None
        } else if let Some(path) = spec["local"]["path"].as_str() {
            local(path).map(|why| format!("MountVolume.NewMounter initialization failed for volume \"{name}\" : {why}"))
        } else if let Some(path) = spec["hostPath"]["path"].as_str() {
            let kind = spec["hostPath"]["type"].as_str().unwrap_or_default();
            host_path(path, kind).map(|why| format!("MountVolume.SetUp failed for volume \"{name}\" : {why}"))
        } else {
            None
        };
        Ok(why.map_or(Found::There, Found::NotMounted))
    }

    /// The containers among these that cannot be made, and why: their environment is to come from what is not there.
    pub(super) async fn environment(&self, containers: &[&Value]) -> Result<BTreeMap<String, String>, Error> {
        let mut unable = BTreeMap::new();
        for container in containers {
            let name = container["name"].as_str().unwrap_or_default();
            if let Some(why) = self.environment_of(container).await? {
                unable.insert(name.to_owned(), why);
            }
        }
        Ok(unable)
    }

    async fn environment_of(&self, container: &Value) -> Result<Option<String>, Error> {
        let namespace = &self.pod.metadata.namespace;
        let whole = list(container, "envFrom")
            .flat_map(|source| [(CONFIG_MAPS, &source["configMapRef"], None), (SECRETS, &source["secretRef"], None)]);
        let single = list(container, "env").flat_map(|variable| {
            let from = &variable["valueFrom"];
            [(CONFIG_MAPS, &from["configMapKeyRef"]), (SECRETS, &from["secretKeyRef"])]
                .map(|(resource, source)| (resource, source, source["key"].as_str()))
        });
        for (resource, source, key) in whole.chain(single).filter(|(_, source, _)| source.is_object()) {
            let wanted = Wanted { keys: key.into_iter().collect(), ..Wanted::of(source, "name") };
            let missing =
                |key: &str| format!("couldn't find key {key} in {} {namespace}/{}", resource.kind, wanted.name);
            if let Some(why) = self.lacks(resource, &wanted, missing).await? {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }
}

enum Found {
    There,
    /// The mount itself fails.
    NotMounted(String),
    /// It is not even known what to mount.
    Unprocessed(String),
}

/// A ConfigMap or Secret that somebody names.
struct Wanted<'v> {
    name: &'v str,
    keys: Vec<&'v str>,
    optional: bool,
}

impl<'v> Wanted<'v> {
    fn of(source: &'v Value, name: &str) -> Self {
        Self {
            name: source[name].as_str().unwrap_or_default(),
            keys: list(source, "items").filter_map(|item| item["key"].as_str()).collect(),
            optional: source["optional"] == true,
        }
    }
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

/// What is wrong with the directory of a local volume. A single system call: not worth a thread.
fn local(path: &str) -> Option<String> {
    match std::fs::metadata(Path::new(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(format!("path \"{path}\" does not exist")),
        Err(error) => Some(error.to_string()),
        Ok(found) if found.is_dir() || is_block_device(&found) => None,
        Ok(_) => Some("only directory and block device are supported".to_owned()),
    }
}

/// The same for a path of the host, which need not be there unless it says of which type it is.
fn host_path(path: &str, kind: &str) -> Option<String> {
    let (is_right, expected) = match kind {
        "Directory" => (std::fs::Metadata::is_dir as fn(&std::fs::Metadata) -> bool, "directory"),
        "File" => (std::fs::Metadata::is_file as fn(&std::fs::Metadata) -> bool, "file"),
        // What would be made is taken as made: a simulated node writes nothing.
        _ => return None,
    };
    match std::fs::metadata(Path::new(path)) {
        Ok(found) if is_right(&found) => None,
        Ok(found) => {
            let is = if found.is_dir() { "Directory" } else { "File" };
            Some(format!("hostPath type check failed: {path} is not a {expected}, it's a {is}"))
        }
        Err(_) => Some(format!(
            "hostPath type check failed, {path} is not a {expected}, unable to determine its type: path \"{path}\" \
             does not exist"
        )),
    }
}

#[cfg(unix)]
fn is_block_device(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type())
}

#[cfg(not(unix))]
fn is_block_device(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_volume_needs_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(local(path), None);
        let gone = format!("{path}/gone");
        assert_eq!(local(&gone).unwrap(), format!("path \"{gone}\" does not exist"));
        let file = format!("{path}/file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(local(&file).unwrap(), "only directory and block device are supported");
    }

    #[test]
    fn a_path_of_the_host_is_looked_at_where_it_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let gone = format!("{path}/gone");
        for kind in ["", "DirectoryOrCreate"] {
            assert_eq!(host_path(&gone, kind), None);
        }
        assert!(!Path::new(&gone).exists(), "nothing is made");
        assert_eq!(host_path(path, "Directory"), None);
        assert!(host_path(&gone, "Directory").unwrap().ends_with("does not exist"));
        let is = host_path(path, "File").unwrap();
        assert_eq!(is, format!("hostPath type check failed: {path} is not a file, it's a Directory"));
    }
}
