//! Scenarios as files: how a cluster is made, what is done to it, and what must be true in the end.
//!
//! ```yaml
//! about: why this is played
//! statements: [PC-1]            # of the specification of the volume controllers
//! before:                       # steps taken while no controller runs: states that a crash or an older version left behind
//! steps:
//! - create: [{pv: a-$ID}, {pvc: data, spec: {storageClassName: ""}}]   # templates.rs says what is left out
//!   keep: {uid: /metadata/uid}                                        # of the last one, for ${uid} in later steps
//! - until: {objects: {pvc/data: {/status/phase: Bound}}, events: [pvc/data Normal WaitForFirstConsumer]}
//! - patch: pv/a-$ID             # a merge patch; `status:` patches the status instead
//!   with: {spec: {claimRef: null}}
//! - delete: pvc/data
//! - bind: pod/web               # to this node
//!   node: n-$ID
//! - settle: true                # wait until nothing changes any more
//! expect: {objects: {pv/a-$ID: {/status/phase: Released}, pvc/data: gone}, never: [pv/a-$ID Warning]}
//! mayCome: [pvc/data Normal WaitForPodScheduled]                       # not compared
//! differs: {why: a reason, expect: {objects: {}}}                      # only where ours is meant to end elsewhere
//! ```
//! Those of the scheduler ([`Subject::Scheduling`]) say further:
//!
//! ```yaml
//! controllers: false            # nobody keeps claims and volumes: what a scheduler wrote stays as it wrote it
//! bindTimeout: 0                # seconds that volumes may take
//! provisioner: {data: makes}    # a stand-in answers the claim's selected node (see provisioner.rs)
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::conditions::Conditions;
use super::provisioner::Answer;
use super::records::Records;
use crate::files;

/// Whose work a folder of scenarios is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The controllers of claims and volumes: `tests/volumes`.
    Volumes,
    /// The scheduler: `tests/scheduling`.
    Scheduling,
}

impl Subject {
    /// Where its scenarios are.
    pub fn folder(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(match self {
            Self::Volumes => "volumes",
            Self::Scheduling => "scheduling",
        })
    }

    /// What upstream came to.
    pub fn records(self) -> Records {
        let recorder = match self {
            Self::Volumes => "volumes_upstream",
            Self::Scheduling => "scheduling_upstream",
        };
        Records { folder: self.folder(), recorder }
    }
}

/// One file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Scenario {
    /// The file's name without `.yaml`.
    #[serde(skip)]
    pub name: String,
    /// Why it is played.
    pub about: String,
    /// What it shows: `PC-1` and so on.
    #[serde(default)]
    pub statements: Vec<String>,
    /// Played with nothing beside it, since it changes what the whole cluster shares.
    #[serde(default)]
    pub alone: bool,
    /// Flags that the controllers are started with; scenarios with the same flags are played side by side.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Steps before any controller runs.
    #[serde(default)]
    pub before: Vec<Step>,
    /// Steps while the controllers run.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// What must be true in the end.
    pub expect: Conditions,
    /// Events that come or do not come as things race, also under upstream alone; they are not compared.
    #[serde(default)]
    pub may_come: Vec<String>,
    /// Parts of objects that are not compared, as `/pv~1a-$ID/spec/nodeAffinity`, since the keepers differ there and may.
    #[serde(default)]
    pub may_differ: Vec<String>,
    /// Where ours ends elsewhere, and is meant to.
    pub differs: Option<Differs>,
    /// Whether anybody keeps claims and volumes meanwhile.
    #[serde(default = "yes")]
    pub controllers: bool,
    /// How many seconds the scheduler waits for volumes, where not as long as it does by itself.
    pub bind_timeout: Option<u64>,
    /// What the stand-in of a provisioner does for a claim; `*` is every other claim.
    #[serde(default)]
    pub provisioner: BTreeMap<String, Answer>,
}

fn yes() -> bool {
    true
}

/// A difference that is meant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differs {
    /// Why it is.
    pub why: String,
    /// What must be true of ours instead.
    pub expect: Conditions,
}

/// One step; exactly one of its verbs is used.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Step {
    /// Objects to create, in short form.
    pub create: Vec<Value>,
    /// The object to patch.
    pub patch: Option<String>,
    /// The object whose status is patched.
    pub status: Option<String>,
    /// The merge patch.
    pub with: Value,
    /// The object to delete.
    pub delete: Option<String>,
    /// Options of the deletion.
    pub options: Option<Value>,
    /// The pod to bind.
    pub bind: Option<String>,
    /// The node that it is bound to.
    pub node: Option<String>,
    /// Waits until this is true.
    pub until: Option<Conditions>,
    /// Waits until nothing changes any more.
    pub settle: bool,
    /// The write must be refused with this code.
    pub refused: Option<u16>,
    /// The refusal must hold this text.
    pub says: Option<String>,
    /// Parts of the answer that later steps use: name to JSON pointer.
    pub keep: BTreeMap<String, String>,
    /// What kube-scheduler would do: taken only where it does not run.
    pub in_place_of_scheduler: bool,
    /// What the StatefulSet controller would do: taken only where it does not run.
    pub in_place_of_stateful_sets: bool,
    /// Taken only where the StatefulSet controller runs.
    pub for_stateful_sets: bool,
}

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let (name, read): (String, Self) = files::read(path)?;
        let scenario = Self { name, ..read };
        if scenario.alone && !scenario.before.is_empty() {
            bail!("{}: what is played alone finds the controllers running", path.display());
        }
        for step in scenario.before.iter().chain(&scenario.steps) {
            let verbs = [
                !step.create.is_empty(),
                step.patch.is_some(),
                step.status.is_some(),
                step.delete.is_some(),
                step.bind.is_some(),
                step.until.is_some(),
                step.settle,
            ];
            if verbs.into_iter().filter(|used| *used).count() != 1 {
                bail!("{}: a step does one thing: {step:?}", path.display());
            }
        }
        Ok(scenario)
    }

    /// Those of a subject that are to be played, by name.
    pub fn all(subject: Subject) -> Result<Vec<Self>> {
        Ok(Self::read_all(subject)?.into_iter().filter(|scenario| files::is_played(&scenario.name)).collect())
    }

    /// All of a subject, by name.
    pub fn read_all(subject: Subject) -> Result<Vec<Self>> {
        files::of_folder(&subject.folder())?.iter().map(|path| Self::read(path)).collect()
    }
}

/// A text with `$ID` and `${name}` replaced.
pub fn fill(text: &str, id: &str, values: &BTreeMap<String, String>) -> String {
    let mut text = text.replace("$ID", id);
    for (name, value) in values {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

/// A value with all its texts, keys included, filled.
pub fn fill_value(value: &Value, id: &str, values: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => fill(text, id, values).into(),
        Value::Array(items) => items.iter().map(|item| fill_value(item, id, values)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, item)| (fill(key, id, values), fill_value(item, id, values))).collect()
        }
        other => other.clone(),
    }
}
