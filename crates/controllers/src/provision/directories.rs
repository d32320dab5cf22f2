//! Node-local directories: `<root>/<node>/<volume>`, made for the node that the first consumer will run on.
//!
//! ```text
//!            mkdir, flushed                    rename, one step             contents removed
//!  (none) ──────────────────► <node>/<volume> ─────────────────► .deleted/… ─────────────────► (none)
//!              ▲ asked again: the same                ▲ dies here: the next deletion sweeps it
//! ```
//!
//! A directory is moved aside before it is emptied, so that a crash in the middle never leaves half of the data where a
//! later volume of the same name would find it. Names come from the API and are not trusted: each must be one plain path
//! component, and nothing is done through a symbolic link.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use plimsoll_api::kinds::Node;
use serde_json::{Map, Value, json};

use super::zonal::access_modes;
use super::{DeleteError, Made, Provisioner, Refusal, Request};

/// The name that classes ask for node-local directories by.
pub const LOCAL_DIRECTORY: &str = "plimsoll.dev/local-directory";

/// Label that every node has: its own name.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Where directories are moved before they are emptied. No node can be called that: names do not begin with a dot.
const DELETED: &str = ".deleted";
/// The longest name the API has.
const LONGEST_NAME: usize = 253;

/// Makes directories under one root.
#[derive(Clone, Debug)]
pub struct Directories {
    root: PathBuf,
}

impl Directories {
    /// Under this root, which is made where it is missing.
    pub fn new(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        // Links on the way to the root are the operator's own; from here on there are none.
        Ok(Self { root: fs::canonicalize(root)? })
    }

    fn make(&self, request: &Request) -> Result<Made, Refusal> {
        let access_modes = access_modes(request, &["ReadWriteOnce", "ReadWriteOncePod"])?;
        let spec = &request.claim.slim.spec;
        if spec.selector.is_some() {
            return Err(Refusal::new(format!(
                "claim.Spec.Selector is not supported for dynamic provisioning by {LOCAL_DIRECTORY}"
            )));
        }
        if spec.volume_mode == "Block" {
            return Err(Refusal::new("a directory cannot be a raw block volume (volumeMode: Block)"));
        }
        let Some(node) = request.selected_node.as_deref() else {
            return Err(Refusal::new(
                "node-local directories need a selected node: set volumeBindingMode: WaitForFirstConsumer in the StorageClass",
            ));
        };
        let volume = component(&request.volume_name).map_err(Refusal)?;
        let wanted = component(&node.metadata.name).map_err(Refusal)?;
        let failed = |e: io::Error| Refusal(format!("directory of volume {volume} on node {wanted}: {e}"));
        // One that an earlier call made is the volume, whatever node is selected by now: somebody may have begun to use it.
        // Only on a node that is gone nobody can, and nobody ever will.
        let earlier = self.nodes_with(volume).map_err(failed)?;
        let at = earlier.iter().find_map(|name| {
            let known = request.nodes.iter().map(AsRef::as_ref).find(|n: &&Node| n.metadata.name == *name);
            known.or_else(|| (name == wanted).then_some(node))
        });
        let node = at.unwrap_or(node);
        let path = self.directory(&node.metadata.name, volume).map_err(failed)?;
        let Some(path) = path.to_str() else {
            return Err(Refusal(format!("the path {} is not valid UTF-8", path.display())));
        };
        let hostname = node.metadata.labels.get(HOSTNAME).filter(|h| !h.is_empty()).unwrap_or(&node.metadata.name);
        let term = json!({"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [hostname]}]});
        Ok(Made {
            source: Map::from_iter([("local".to_owned(), json!({"path": path}))]),
            capacity: request.size,
            access_modes,
            node_affinity: Some(json!({"required": {"nodeSelectorTerms": [term]}})),
            ..Made::default()
        })
    }

    /// The directory of a volume, made where it is missing and on disk when this returns: the volume that will refer to it
    /// outlives a power cut.
    fn directory(&self, node: &str, volume: &str) -> io::Result<PathBuf> {
        let of_node = self.root.join(node);
        plain_directory(&of_node, 0o755)?;
        let path = of_node.join(volume);
        plain_directory(&path, 0o770)?;
        File::open(&of_node)?.sync_all()?;
        File::open(&self.root)?.sync_all()?;
        Ok(path)
    }

    /// The nodes that have a directory for this volume, in order. Normally at most one.
    fn nodes_with(&self, volume: &str) -> io::Result<Vec<String>> {
        let mut nodes = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if component(&name).is_ok() && entry.file_type()?.is_dir() && is_directory(&entry.path().join(volume))? {
                nodes.push(name);
            }
        }
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// Removes every directory that was made for the volume, and what an interrupted deletion left.
    fn remove(&self, volume: &Value) -> Result<(), DeleteError> {
        let failed = |text: String| DeleteError::Failed(text);
        let name = component(volume["metadata"]["name"].as_str().unwrap_or_default()).map_err(failed)?;
        let path = Path::new(volume["spec"]["local"]["path"].as_str().unwrap_or_default());
        let node = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
        let expected = component(node).is_ok_and(|node| path == self.root.join(node).join(name));
        if !expected {
            // Whoever can write a volume must not have directories deleted that it never was.
            let (path, root) = (path.display(), self.root.display());
            return Err(failed(format!("volume {name}: the path {path:?} is not its own directory under {root:?}")));
        }
        let failed = |e: io::Error| DeleteError::Failed(format!("directory of volume {name}: {e}"));
        let aside = self.root.join(DELETED);
        plain_directory(&aside, 0o700).map_err(failed)?;
        for node in self.nodes_with(name).map_err(failed)? {
            let goal = aside.join(format!("{name}@{node}"));
            empty(&goal).map_err(failed)?;
            match fs::rename(self.root.join(&node).join(name), &goal) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
        }
        for entry in fs::read_dir(&aside).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().is_some_and(|left| left.split('@').next() == Some(name)) {
                empty(&entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Provisioner for Directories {
    fn plugin(&self) -> &str {
        LOCAL_DIRECTORY
    }

    fn mount_options_supported(&self) -> bool {
        false
    }

    fn provision<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Made, Refusal>> {
        // A handful of system calls: not worth a thread, and a run with a seed stays the same.
        async move { self.make(request) }.boxed()
    }

    fn delete<'a>(&'a self, volume: &'a Value) -> BoxFuture<'a, Result<(), DeleteError>> {
        async move {
            // A volume may hold a million files; the others must not wait for that.
            let (this, volume) = (self.clone(), volume.clone());
            let removed = tokio::task::spawn_blocking(move || this.remove(&volume)).await;
            removed.unwrap_or_else(|e| Err(DeleteError::Failed(e.to_string())))
        }
        .boxed()
    }
}

/// The name, if it is a single path component that cannot mean anything but itself.
fn component(name: &str) -> Result<&str, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let edges = name.starts_with('.') || name.ends_with('.');
    if name.is_empty() || name.len() > LONGEST_NAME || edges || !name.chars().all(plain) {
        return Err(format!("{name:?} cannot be the name of a directory"));
    }
    Ok(name)
}

/// Whether there is a directory: not a link to one, and not anything else.
fn is_directory(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(found.is_dir()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Makes a directory where there is none. What is there and is not a directory is an error, a link included.
fn plain_directory(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            if is_directory(path)? {
                return Ok(());
            }
            Err(io::Error::other(format!("{} is there and is not a directory", path.display())))
        }
        Err(e) => Err(e),
    }
}

/// Removes a directory and all that is in it; links in it are removed, not followed.
fn empty(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
