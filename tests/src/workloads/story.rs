//! Stories as files: manifests as users write them, what is done to them, and what must be true in the end.
//!
//! ```yaml
//! about: why this is played
//! alone: true                     # it does something to nodes: nothing is beside it, and the nodes are compared, too
//! placed: true                    # which node a pod is on is the same in every run, so it is compared
//! steps:
//! - apply: [{apiVersion: apps/v1, kind: Deployment, …}]
//! - until: {objects: {deployment/web: {/status/readyReplicas: 3}}, count: {pod/web-: 3}}
//! - scale: deployment/web
//!   to: 5
//! - patch: deployment/web         # as kubectl patches; `pod/web-*` is the first whose name begins so, and then ${first}
//!   with: {spec: {paused: true}}
//! - status: pod/web-0             # its status, as its node would say it
//!   with: {phase: Failed}
//! - delete: deployment/web
//!   options: {propagationPolicy: Orphan}
//! - cordon: ${node1}              # and uncordon
//! - drain: ${node1}               # as kubectl drains: cordons, evicts, waits
//!   blocked: true                 # a budget must refuse; nothing is waited for
//! - cutOff: ${node1}              # the node says nothing any more; bringBack ends it
//! - settle: true                  # wait until nothing changes any more
//! expect: {objects: {deployment/web: {/status/replicas: 5}}}
//! mayCome: [replicaset/web-]      # events that are not compared: how they begin
//! mayDiffer: [/pod~1web-0/status] # parts of objects that are not compared
//! provisioner: {"*": makes}       # a stand-in makes volumes (volumes/provisioner.rs)
//! ```
//! `$ID` is the namespace; names of objects of the cluster must hold it. The nodes are `${node1}` to `${node3}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::files;
use crate::volumes::conditions::Conditions;
use crate::volumes::provisioner::Answer;

/// One file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Story {
    /// The file's name without `.yaml`.
    #[serde(skip)]
    pub name: String,
    /// Why it is played.
    pub about: String,
    /// Whether it does something to nodes.
    #[serde(default)]
    pub alone: bool,
    /// Whether it is known which node each pod is on.
    #[serde(default)]
    pub placed: bool,
    /// What is done.
    pub steps: Vec<Step>,
    /// What must be true in the end.
    pub expect: Conditions,
    /// Events that come or do not come as things race, also under upstream alone; they are not compared.
    #[serde(default)]
    pub may_come: Vec<String>,
    /// Parts of objects that are not compared, since they differ from run to run of upstream alone.
    #[serde(default)]
    pub may_differ: Vec<String>,
    /// What the stand-in of a provisioner does for a claim; `*` is every other claim.
    #[serde(default)]
    pub provisioner: BTreeMap<String, Answer>,
}

/// One step; exactly one of its verbs is used.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Step {
    /// Manifests to create.
    pub apply: Vec<Value>,
    /// What is scaled.
    pub scale: Option<String>,
    /// To how many.
    pub to: Option<u32>,
    /// The object to patch.
    pub patch: Option<String>,
    /// The object whose status is patched, as the node's that it is on would.
    pub status: Option<String>,
    /// The patch.
    pub with: Value,
    /// The object to delete.
    pub delete: Option<String>,
    /// Options of the deletion.
    pub options: Option<Value>,
    /// The pod to evict.
    pub evict: Option<String>,
    /// The node that takes no new pods.
    pub cordon: Option<String>,
    /// The node that takes pods again.
    pub uncordon: Option<String>,
    /// The node to drain.
    pub drain: Option<String>,
    /// Whether the drain, or the eviction, must be refused by a budget.
    pub blocked: bool,
    /// The node that says nothing any more.
    pub cut_off: Option<String>,
    /// The node that comes back.
    pub bring_back: Option<String>,
    /// Waits until this is true.
    pub until: Option<Conditions>,
    /// Waits until nothing changes any more.
    pub settle: bool,
}

impl Step {
    fn verbs(&self) -> usize {
        let verbs = [
            !self.apply.is_empty(),
            self.scale.is_some() && self.to.is_some(),
            self.patch.is_some(),
            self.status.is_some(),
            self.delete.is_some(),
            self.evict.is_some(),
            self.cordon.is_some(),
            self.uncordon.is_some(),
            self.drain.is_some(),
            self.cut_off.is_some(),
            self.bring_back.is_some(),
            self.until.is_some(),
            self.settle,
        ];
        verbs.into_iter().filter(|used| *used).count()
    }

    /// Whether it does something to a node, or to an object of the cluster that is not the story's own.
    fn touches_nodes(&self) -> bool {
        let of_node = |reference: &Option<String>| reference.as_ref().is_some_and(|r| r.starts_with("node/"));
        self.cordon.is_some()
            || self.drain.is_some()
            || self.cut_off.is_some()
            || of_node(&self.patch)
            || of_node(&self.delete)
    }
}

/// Where the stories are.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("workloads")
}

impl Story {
    fn read(path: &Path) -> Result<Self> {
        let (name, read): (String, Self) = files::read(path)?;
        let story = Self { name, ..read };
        for step in &story.steps {
            if step.verbs() != 1 {
                bail!("{}: a step does one thing: {step:?}", path.display());
            }
        }
        if !story.alone && story.steps.iter().any(Step::touches_nodes) {
            bail!("{}: what does something to nodes is played alone", path.display());
        }
        Ok(story)
    }

    /// All of them, by name.
    pub fn read_all() -> Result<Vec<Self>> {
        files::of_folder(&folder())?.iter().map(|path| Self::read(path)).collect()
    }

    /// Those that are to be played, by name.
    pub fn all() -> Result<Vec<Self>> {
        Ok(Self::read_all()?.into_iter().filter(|story| files::is_played(&story.name)).collect())
    }
}
