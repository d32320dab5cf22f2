//! Stale selected nodes: a claim whose selected node is gone, or cannot run its driver, is released for a new choice.
//!
//! The scheduler writes the node that a volume is to be made for, and never looks at it again unless the provisioner takes
//! it back. A node that is deleted in between leaves a claim that no other node may have and nobody will provision.
//!
//! ```text
//!                   the node is gone,              for long enough, and the API server
//!   selected ─────► or lacks the driver ─────────► says the same, and no volume was made ─────► released
//!      ▲                 │ it is back                    │ otherwise                   (annotation removed)
//!      └─────────────────┴───────────────────────────────┘
//! ```
//!
//! Whoever may write a claim may write any text as its node. It is compared, and asked for only where it could be the name
//! of a node. An empty one selects nobody: it is how volumes are asked for without a consumer (PC-33), and is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{CsiDriver, CsiNode, Node, PersistentVolume, PersistentVolumeClaim};
use plimsoll_api::names;
use plimsoll_engine::binder::{Maker, maker, volume_name};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Queue, Recorder, Resource, Severity};
use tokio::time::Instant;

use crate::provision::Provisioners;
use crate::world::{Claim, World};
use plimsoll_api::edit::unannotate;
use plimsoll_runtime::write::{Part, Writer, about};

/// The name under which events are said.
const COMPONENT: &str = "plimsoll-stale-selection";
/// The reason of the event about a claim that was released.
pub const RELEASED: &str = "SelectedNodeReleased";

/// How stale selections are found.
#[derive(Clone)]
pub struct Options {
    /// How long a node must be missing. A node that registers anew, or a mirror that lags, must not cost a placement.
    pub node_missing: Duration,
    /// How long a node must be without the driver. Drivers register some time after their node.
    pub driver_missing: Duration,
    /// The plugins of this process: they need no driver on the node.
    pub provisioners: Provisioners,
    /// How many claims are looked at at a time.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node_missing: Duration::from_secs(30),
            driver_missing: Duration::from_secs(120),
            provisioners: Provisioners::none(),
            width: 16,
        }
    }
}

/// Starts to release stale selections. Call it before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    let stale = Arc::new(Stale {
        context: context.clone(),
        world: world.clone(),
        options,
        selections: Mutex::default(),
        troubles: Mutex::default(),
        queue: Queue::named(Backoff::default(), "stale_selections", &context.metrics),
        claims: Writer::new(context, &world.claims),
        volumes: Writer::new(context, &world.volumes),
        recorder: Recorder::new(context, COMPONENT),
    });
    stale.listen();
    let stop = context.tasks.token();
    context.tasks.spawn("stale selections", async move {
        if stop.run_until_cancelled(stale.world.synced()).await.is_none() {
            return;
        }
        stale.queue.run(stale.options.width, stop, |key| stale.look_at(key)).await;
    });
}

/// What is wrong with a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    /// There is no such node.
    NoNode,
    /// The node is there, its drivers are known, and this one is not among them.
    NoDriver(String),
}

/// A trouble that was noticed.
#[derive(Clone, Debug)]
struct Noticed {
    uid: String,
    node: String,
    trouble: Trouble,
    since: Instant,
}

struct Stale {
    context: Context,
    world: World,
    options: Options,
    /// Node → the unbound claims that it is selected for: who is looked at when the node comes, changes or goes.
    selections: Mutex<BTreeMap<String, BTreeSet<ObjectKey>>>,
    troubles: Mutex<BTreeMap<ObjectKey, Noticed>>,
    queue: Arc<Queue<ObjectKey>>,
    claims: Writer<PersistentVolumeClaim>,
    volumes: Writer<PersistentVolume>,
    recorder: Recorder,
}

impl Stale {
    fn listen(self: &Arc<Self>) {
        let stale = self.clone();
        self.world.claims.listen(move |change| {
            let (old, new) = match change {
                Change::Set { old, new } => (old.as_ref(), Some(new)),
                Change::Gone { old } => (Some(old), None),
            };
            let before = old.and_then(|claim| selected(claim));
            let now = new.and_then(|claim| selected(claim));
            let Some(key) = new.or(old).map(|claim| key_of(&**claim)) else { return };
            stale.reselect(&key, before, now);
            if before.is_some() || now.is_some() {
                stale.queue.add(key);
            }
        });
        let stale = self.clone();
        self.world.nodes.listen(move |change| match change {
            // A node changes all the time; only its coming and going matters.
            Change::Set { old: Some(_), .. } => {}
            Change::Set { new: node, .. } | Change::Gone { old: node } => stale.wake(&node.metadata.name),
        });
        let stale = self.clone();
        self.world.csi_nodes.listen(move |change| match change {
            Change::Set { new: node, .. } | Change::Gone { old: node } => stale.wake(&node.metadata.name),
        });
    }

    /// Looks at one claim.
    async fn look_at(&self, key: ObjectKey) -> Result<Next, Error> {
        let claim = self.world.claims.get(&key);
        let Some((claim, node)) = claim.as_ref().and_then(|claim| Some((claim, selected(claim)?))) else {
            self.troubles().remove(&key);
            return Ok(Next::Done);
        };
        let Some(trouble) = self.trouble(claim, node) else {
            self.troubles().remove(&key);
            return Ok(Next::Done);
        };
        let left = self.notice(&key, claim, node, &trouble);
        if !left.is_zero() {
            return Ok(Next::After(left));
        }
        if !self.is_true(node, &trouble).await? {
            // The mirror is behind. It will hear of it; until then the time begins anew.
            self.troubles().remove(&key);
            return Ok(Next::After(self.grace(&trouble)));
        }
        let made = volume_name(&claim.slim.metadata.uid);
        if !is_name(&made) || self.volumes.look("", &made).await?.is_some() {
            // What was made is bound, wherever it is; a new choice would make another.
            return Ok(Next::After(self.grace(&trouble)));
        }
        self.claims.change(claim, Part::Object, |object| unannotate(object, names::SELECTED_NODE)).await?;
        self.troubles().remove(&key);
        let message = match trouble {
            Trouble::NoNode => format!("selected node {node:?} does not exist; a new node can be chosen for the claim"),
            Trouble::NoDriver(driver) => {
                format!(
                    "selected node {node:?} does not have the driver {driver}; a new node can be chosen for the claim"
                )
            }
        };
        self.recorder.event(&about(&**claim), Severity::Normal, RELEASED, &message);
        Ok(Next::Done)
    }

    /// What is wrong with a selection, as far as is known.
    fn trouble(&self, claim: &Claim, node: &str) -> Option<Trouble> {
        if self.world.nodes.named(node).is_none() {
            return Some(Trouble::NoNode);
        }
        let class = self.world.classes.named(claim.slim.class_name().unwrap_or_default())?;
        let served = self.options.provisioners.internal(&class.provisioner).is_some();
        let Maker::Elsewhere(driver) = maker(&class.provisioner, served) else { return None };
        // A node without a CSINode may have one soon; and nothing is known of its drivers.
        let drivers = self.world.csi_nodes.named(node)?;
        (!has_driver(&drivers, &driver)).then(|| Trouble::NoDriver(driver.to_string()))
    }

    /// Asks the API server whether the trouble is there.
    async fn is_true(&self, node: &str, trouble: &Trouble) -> Result<bool, Error> {
        if !is_name(node) {
            return Ok(true);
        }
        let objects = self.context.objects();
        match trouble {
            Trouble::NoNode => Ok(objects.get::<Node>(Resource::NODES, "", node).await?.is_none()),
            Trouble::NoDriver(driver) => {
                let live = objects.get::<CsiNode>(Resource::CSI_NODES, "", node).await?;
                let lacking = live.is_some_and(|live| !has_driver(&live, driver));
                Ok(lacking && self.is_csi(driver).await?)
            }
        }
    }

    /// Whether a provisioner is a CSI driver at all: one that is not never shows among a node's drivers.
    async fn is_csi(&self, driver: &str) -> Result<bool, Error> {
        if self.world.csi_nodes.all().iter().any(|node| has_driver(node, driver)) {
            return Ok(true);
        }
        if !is_name(driver) {
            return Ok(false);
        }
        Ok(self.context.objects().get::<CsiDriver>(Resource::CSI_DRIVERS, "", driver).await?.is_some())
    }

    /// Takes note of a trouble. Returns how long it must still last before anything is done.
    fn notice(&self, key: &ObjectKey, claim: &Claim, node: &str, trouble: &Trouble) -> Duration {
        let mut troubles = self.troubles();
        let uid = &claim.slim.metadata.uid;
        let same = |n: &&Noticed| n.uid == *uid && n.node == node && n.trouble == *trouble;
        let since = match troubles.get(key).filter(same) {
            Some(noticed) => noticed.since,
            None => {
                let since = Instant::now();
                let noticed = Noticed { uid: uid.clone(), node: node.to_owned(), trouble: trouble.clone(), since };
                troubles.insert(key.clone(), noticed);
                since
            }
        };
        self.grace(trouble).saturating_sub(since.elapsed())
    }

    fn grace(&self, trouble: &Trouble) -> Duration {
        match trouble {
            Trouble::NoNode => self.options.node_missing,
            Trouble::NoDriver(_) => self.options.driver_missing,
        }
    }

    fn reselect(&self, key: &ObjectKey, before: Option<&str>, now: Option<&str>) {
        if before == now {
            return;
        }
        let mut selections = self.selections();
        if let Some(node) = before
            && let Some(claims) = selections.get_mut(node)
        {
            claims.remove(key);
            if claims.is_empty() {
                selections.remove(node);
            }
        }
        if let Some(node) = now {
            selections.entry(node.to_owned()).or_default().insert(key.clone());
        }
    }

    fn wake(&self, node: &str) {
        for claim in self.selections().get(node).into_iter().flatten() {
            self.queue.add(claim.clone());
        }
    }

    fn selections(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<ObjectKey>>> {
        self.selections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn troubles(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Noticed>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The node that is selected for a claim that is neither bound, nor being bound, nor being deleted.
fn selected(claim: &Claim) -> Option<&str> {
    let (meta, spec) = (&claim.slim.metadata, &claim.slim.spec);
    let settled = !spec.volume_name.is_empty() || meta.annotation(names::BIND_COMPLETED).is_some();
    let node = meta.annotation(names::SELECTED_NODE)?;
    (!settled && !meta.deletion_timestamp.0 && !node.is_empty()).then_some(node)
}

fn has_driver(node: &CsiNode, driver: &str) -> bool {
    node.spec.drivers.iter().any(|d| d.name == driver)
}

/// Whether a text can be the name of an object, and so stand in a path.
fn is_name(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'.';
    let edge = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 253 && bytes.iter().copied().all(plain) && edge(bytes.first()) && edge(bytes.last())
}
