//! Node-local volumes: real directories, and the class that asks for them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_controllers::provision::{Directories, LOCAL_DIRECTORY};
use plimsoll_runtime::{Error, Objects, Resource};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::failure::Failure;
use crate::server::args::ServerArgs;

/// The class that claims get unless they name another.
pub const CLASS: &str = "local";
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// Says that the class was made once: who deleted it does not get it back.
const MARK: (&str, &str) = ("kube-system", "plimsoll-up");
/// Who made a volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Where deleted directories are emptied.
const DELETED: &str = ".deleted";

/// Where volumes are.
pub struct Volumes {
    root: PathBuf,
    /// Goes with the process, and all that is in it.
    _temporary: Option<TempDir>,
}

impl Volumes {
    /// Makes the folder: beside the store, or a temporary one where nothing is kept.
    pub fn open(args: &ServerArgs) -> Result<Self, Failure> {
        if args.in_memory {
            let folder = tempfile::Builder::new().prefix("plimsoll-volumes-").tempdir();
            let folder = folder.map_err(|error| {
                Failure::new(format!("no temporary folder for the volumes can be made: {error}"))
                    .help("name a folder that can be written to with TMPDIR, or leave out --in-memory")
            })?;
            return Ok(Self { root: folder.path().to_owned(), _temporary: Some(folder) });
        }
        Ok(Self { root: args.data_dir.join("volumes"), _temporary: None })
    }

    /// Where they are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The provisioner that makes directories there.
    pub fn provisioner(&self) -> Result<Directories, Failure> {
        Directories::new(&self.root).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &io::Error) -> Failure {
        Failure::new(format!("the folder of the volumes cannot be used: {}: {error}", self.root.display()))
            .help("make it writable, or choose another --data-dir")
    }

    /// Removes directories that were made for volumes which never came to be: a process can die between the two. Only empty
    /// ones: what somebody has written to is kept, and said. Must be called before anything provisions.
    pub async fn sweep(&self, objects: &Objects) -> Result<Vec<PathBuf>, Failure> {
        let unread = |error: Error| Failure::new(format!("the volumes cannot be listed: {error}"));
        let mut known = BTreeSet::new();
        for (resource, name) in [(Resource::VOLUMES, "name"), (Resource::CLAIMS, "uid")] {
            let list: Value =
                objects.send(http::Method::GET, &resource.collection(None), None).await.map_err(unread)?;
            for item in list["items"].as_array().into_iter().flatten() {
                let text = item["metadata"][name].as_str().unwrap_or_default();
                // A claim whose volume is to be made will be given the directory that is there.
                known.insert(if name == "uid" { format!("pvc-{text}") } else { text.to_owned() });
                // A volume that somebody made by hand may use a directory of another name.
                let path = item["spec"]["local"]["path"].as_str().map(Path::new);
                let name = path.and_then(Path::file_name).and_then(|name| name.to_str());
                known.extend(name.map(str::to_owned));
            }
        }
        self.sweep_all_but(&known).map_err(|error| self.unusable(&error))
    }

    /// How many volumes have their directories elsewhere: a folder that was moved takes them with it, and their paths stay behind.
    pub async fn strayed(&self, objects: &Objects) -> Result<usize, Error> {
        let list: Value = objects.send(http::Method::GET, &Resource::VOLUMES.collection(None), None).await?;
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let is_elsewhere = |volume: &&Value| {
            let ours = volume["metadata"]["annotations"][PROVISIONED_BY] == LOCAL_DIRECTORY;
            ours && volume["spec"]["local"]["path"].as_str().is_some_and(|path| !Path::new(path).starts_with(&root))
        };
        Ok(list["items"].as_array().into_iter().flatten().filter(is_elsewhere).count())
    }

    /// Gives back those that are kept because they are not empty.
    fn sweep_all_but(&self, known: &BTreeSet<String>) -> io::Result<Vec<PathBuf>> {
        let mut kept = Vec::new();
        for node in folders(&self.root)? {
            if node.file_name().is_some_and(|name| name == DELETED) {
                // What cannot be removed now keeps nobody from starting: the next deletion tries again.
                if let Err(error) = fs::remove_dir_all(&node) {
                    tracing::warn!(path = %node.display(), %error, "deleted volumes are not removed yet");
                }
                continue;
            }
            // Not every folder need be ours: a disk of its own has `lost+found`.
            let Ok(volumes) = folders(&node) else { continue };
            for volume in volumes {
                let name = volume.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if !known.contains(name)
                    && let Err(error) = fs::remove_dir(&volume)
                {
                    match error.kind() {
                        io::ErrorKind::NotFound => {}
                        _ => kept.push(volume),
                    }
                }
            }
        }
        Ok(kept)
    }
}

/// The folders in a folder, in order; none where it is not there. Links are not followed.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut out = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            out.push(entry.path());
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// Makes the class at the first start. Says which class is the default now, if any.
pub async fn ensure_class(objects: &Objects) -> Result<Option<String>, Error> {
    let list: Value = objects.send(http::Method::GET, &Resource::CLASSES.collection(None), None).await?;
    let classes = list["items"].as_array().cloned().unwrap_or_default();
    let is_default = |class: &Value| class["metadata"]["annotations"][IS_DEFAULT] == "true";
    let default = classes.iter().filter(|class| is_default(class)).max_by_key(|class| {
        // Of several, the API server takes the newest.
        class["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned()
    });
    let default = default.and_then(|class| class["metadata"]["name"].as_str()).map(str::to_owned);
    let maps = format!("/api/v1/namespaces/{}/configmaps", MARK.0);
    let marked = objects.send::<Value>(http::Method::GET, &format!("{maps}/{}", MARK.1), None).await;
    match marked {
        Ok(_) => return Ok(default),
        Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    let mut class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
        "provisioner": LOCAL_DIRECTORY, "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer",
    });
    if default.is_none() {
        class["metadata"]["annotations"] = json!({IS_DEFAULT: "true"});
    }
    let made = match objects.create::<Value>(Resource::CLASSES, "", &class).await {
        Ok(_) => true,
        Err(Error::AlreadyExists(_)) => false,
        Err(error) => return Err(error),
    };
    // Last, so that who dies before this makes the class at the next start.
    let mark = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": MARK.0, "name": MARK.1},
        "data": {"about": format!("plimsoll up has made the StorageClass {CLASS} here once; delete this to have it made again")},
    });
    match objects.send::<Value>(http::Method::POST, &maps, Some(&mark)).await {
        Ok(_) | Err(Error::AlreadyExists(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(default.or_else(|| made.then(|| CLASS.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_directories_of_nobody_go() {
        let folder = tempfile::tempdir().unwrap();
        let volumes = Volumes { root: folder.path().to_owned(), _temporary: None };
        for path in ["node-1/pvc-a", "node-1/pvc-b", "node-2/pvc-c/data", ".deleted/pvc-d@node-1/data"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let kept = volumes.sweep_all_but(&BTreeSet::from(["pvc-a".to_owned()])).unwrap();
        assert_eq!(kept, [folder.path().join("node-2/pvc-c")]);
        let there = |path: &str| folder.path().join(path).exists();
        assert!(there("node-1/pvc-a") && !there("node-1/pvc-b") && there("node-2/pvc-c/data") && !there(".deleted"));
        let nothing = Volumes { root: folder.path().join("none"), _temporary: None };
        assert!(nothing.sweep_all_but(&BTreeSet::new()).unwrap().is_empty());
    }
}
