//! Zone-label upgrade: volumes with legacy zone labels gain the node affinity that says the same.
//!
//! ```text
//!   first list ──► backlog (rate-limited) ─┐               ┌─ Upgrade ─► write the affinity, Normal ZoneLabelsUpgraded
//!   new, relabelled ──► fresh (at once) ───┴─► decision ───┼─ Leave ───► Warning ZoneLabelsNotUpgraded; kept in `left`
//!                                    ▲                     └─ Nothing ─► forgotten
//!                                    └── backlog ◄── the kinds of nodes changed, and it has been quiet for a while
//! ```
//!
//! What to do is decided by `plimsoll_engine::volumes::upgrade_zone_labels`. Affinity cannot be taken back, so the write is
//! made only to the version of the volume that was decided about. A repeated run finds affinity, and nothing to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_api::Interner;
use plimsoll_api::kinds::{CsiNode, Node, PersistentVolume};
use plimsoll_api::names::MIGRATED_PLUGINS;
use plimsoll_engine::labels::Name;
use plimsoll_engine::volumes::{
    ChangedNode, REGION, REGION_BETA, Terrain, ZONE, ZONE_BETA, ZoneDecision, ZoneRequirement, upgrade_zone_labels,
};
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Queue, Recorder, Severity};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::world::{Volume, World};
use plimsoll_runtime::write::{Part, Writer, about};

/// What the events of this controller have as their source.
pub const COMPONENT: &str = "plimsoll-zone-upgrade";
/// The reason of an event about a volume that gained affinity.
pub const UPGRADED: &str = "ZoneLabelsUpgraded";
/// The reason of an event about a volume that was left alone.
pub const NOT_UPGRADED: &str = "ZoneLabelsNotUpgraded";

/// New volumes at a time.
const FRESH_WIDTH: usize = 4;
/// How many nodes an event names.
const NAMED_NODES: usize = 3;

/// How volumes are upgraded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Volumes of the backlog that are written in a second.
    pub per_second: u32,
    /// Only say what would be done: nothing is written, not even events.
    pub dry_run: bool,
    /// How long the nodes must be quiet before volumes that were left are looked at again.
    pub settle: Duration,
}

impl Default for Options {
    /// Slow enough that nobody notices, and ten thousand volumes are done in a quarter of an hour.
    fn default() -> Self {
        Self { per_second: 10, dry_run: false, settle: Duration::from_secs(5) }
    }
}

/// What is known of a volume that was not upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It would be upgraded, were this not a dry run; the message says to what.
    WouldUpgrade(String),
    /// It was left alone; the message says why.
    Left(String),
    /// There is no node yet to judge by.
    NoNodes,
}

/// The controller at work.
#[derive(Clone)]
pub struct ZoneUpgrade {
    state: Arc<State>,
}

struct State {
    known: Mutex<Known>,
    /// The kinds of nodes changed.
    moved: Notify,
    /// Whether everything of the first list was decided.
    first_pass: watch::Sender<bool>,
}

#[derive(Default)]
struct Known {
    terrain: Terrain,
    /// The in-tree plugins that CSINodes say are migrated; a CSINode may come before its node, or stay after it.
    plugins: BTreeMap<Name, String>,
    outcomes: BTreeMap<Name, Outcome>,
    /// What of the first list is not decided yet.
    pending: BTreeSet<Name>,
}

impl ZoneUpgrade {
    /// What was not upgraded, by volume: in a dry run everything that would be.
    pub fn outcomes(&self) -> BTreeMap<Name, Outcome> {
        self.state.known().outcomes.clone()
    }

    /// Done when every volume of the first list was decided.
    pub async fn first_pass(&self) {
        // The sender lives as long as the state.
        let _ = self.state.first_pass.subscribe().wait_for(|done| *done).await;
    }
}

impl State {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_node(&self, change: &Change<Node>) {
        let mut known = self.known();
        let moved = match change {
            Change::Set { new, .. } => known.place(new),
            Change::Gone { old } => known.terrain.remove(&old.metadata.name),
        };
        if moved {
            self.moved.notify_one();
        }
    }

    /// A node without a CSINode has no migrated plugins.
    fn note_csi_node(&self, change: &Change<CsiNode>, nodes: &plimsoll_runtime::Mirror<Node>) {
        let (name, plugins) = match change {
            Change::Set { new, .. } => (&new.metadata.name, new.metadata.annotation(MIGRATED_PLUGINS)),
            Change::Gone { old } => (&old.metadata.name, None),
        };
        let mut known = self.known();
        match plugins {
            Some(plugins) => known.plugins.insert(name.as_str().into(), plugins.to_owned()),
            None => known.plugins.remove(name.as_str()),
        };
        if nodes.named(name).is_some_and(|node| known.place(&node)) {
            self.moved.notify_one();
        }
    }
}

impl Known {
    fn place(&mut self, node: &Node) -> bool {
        let name = Name::from(node.metadata.name.as_str());
        let plugins = self.plugins.get(&name).map(String::as_str).unwrap_or_default();
        let labels = node.metadata.labels.to_labels(&mut Interner::new());
        self.terrain.set(&name, &labels, plugins.split(','))
    }
}

struct Worker {
    state: Arc<State>,
    world: World,
    writer: Writer<PersistentVolume>,
    recorder: Recorder,
    options: Options,
}

/// Begins to upgrade volumes. Must be called before the world is started.
pub fn start(context: &Context, world: &World, options: Options) -> ZoneUpgrade {
    let state =
        Arc::new(State { known: Mutex::default(), moved: Notify::new(), first_pass: watch::Sender::new(false) });
    let named = |name: &str| Queue::<Name>::named(Backoff::default(), name, &context.metrics);
    let (fresh, backlog) = (named("zone_upgrade"), named("zone_upgrade_backlog"));
    let told = state.clone();
    world.nodes.listen(move |change| told.note_node(change));
    let (told, nodes) = (state.clone(), world.nodes.clone());
    world.csi_nodes.listen(move |change| told.note_csi_node(change, &nodes));
    let (told, volumes, old, new) = (state.clone(), world.volumes.clone(), backlog.clone(), fresh.clone());
    world.volumes.listen(move |change| hear(change, &told, volumes.is_synced(), &old, &new));

    let worker = Arc::new(Worker {
        state: state.clone(),
        world: world.clone(),
        writer: Writer::new(context, &world.volumes),
        recorder: Recorder::new(context, COMPONENT),
        options,
    });
    let stop = context.tasks.token();
    context.tasks.spawn("zone-upgrade", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = worker.world.synced() => {}
        }
        worker.state.settle_first_pass(None);
        let (worker, reconsidered) = (&worker, backlog.clone());
        tokio::join!(
            fresh.run(FRESH_WIDTH, stop.clone(), |name| async move { worker.volume(&name).await.map(|_| Next::Done) }),
            backlog.run(1, stop.clone(), |name| worker.slowly(name)),
            async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = worker.reconsider(&reconsidered) => {}
                }
            },
        );
    });
    ZoneUpgrade { state }
}

/// Sorts a volume's news: what the first list brings is old, what comes later is new. Only what the decision reads counts.
fn hear(change: &Change<Volume>, state: &State, synced: bool, backlog: &Queue<Name>, fresh: &Queue<Name>) {
    match change {
        Change::Set { old, new } => {
            let same = |old: &Arc<Volume>| read(old) == read(new);
            let name = Name::from(new.slim.metadata.name.as_str());
            if !has_zone_labels(new) {
                state.known().outcomes.remove(&name);
                return;
            }
            if old.as_ref().is_some_and(same) {
                return;
            }
            if synced {
                fresh.add(name);
            } else {
                state.known().pending.insert(name.clone());
                backlog.add(name);
            }
        }
        Change::Gone { old } => {
            let name = old.slim.metadata.name.as_str();
            state.known().outcomes.remove(name);
        }
    }
}

const KEYS: [&str; 4] = [ZONE_BETA, REGION_BETA, ZONE, REGION];

fn has_zone_labels(volume: &Volume) -> bool {
    KEYS.iter().any(|key| volume.slim.metadata.labels.get(key).is_some())
}

/// What a decision reads of a volume that could change it, besides its source, which never changes.
fn read(volume: &Volume) -> (&str, [Option<&str>; 4], bool, bool) {
    let meta = &volume.slim.metadata;
    let has_affinity = volume.slim.spec.node_affinity.required.is_some();
    (&meta.uid, KEYS.map(|key| meta.labels.get(key)), has_affinity, meta.deletion_timestamp.0)
}

impl State {
    /// Takes note that a volume of the first list was decided.
    fn settle_first_pass(&self, decided: Option<&Name>) {
        let mut known = self.known();
        if let Some(name) = decided {
            known.pending.remove(name);
        }
        if known.pending.is_empty() {
            drop(known);
            self.first_pass.send_if_modified(|done| !std::mem::replace(done, true));
        }
    }
}

impl Worker {
    /// A volume of the backlog: after a write, the next one has to wait for its turn.
    async fn slowly(&self, name: Name) -> Result<Next, Error> {
        let wrote = self.volume(&name).await?;
        self.state.settle_first_pass(Some(&name));
        if wrote {
            tokio::time::sleep(Duration::from_secs(1) / self.options.per_second.max(1)).await;
        }
        Ok(Next::Done)
    }

    /// Decides about a volume and does it. Returns whether anything was written.
    async fn volume(&self, name: &Name) -> Result<bool, Error> {
        let found = self.world.volumes.named(name);
        let Some(volume) = found.filter(|v| has_zone_labels(v) && !has_affinity(v)) else {
            self.state.known().outcomes.remove(name);
            return Ok(false);
        };
        let converted = match volume.slim.to_engine(&mut Interner::new()) {
            Ok(converted) => converted,
            Err(error) => {
                self.leave(&volume, format!("the volume cannot be read: {error}"));
                return Ok(false);
            }
        };
        let decision = upgrade_zone_labels(&converted, &self.state.known().terrain);
        match decision {
            ZoneDecision::Nothing => {
                self.state.known().outcomes.remove(name);
            }
            ZoneDecision::NoNodes => {
                self.state.known().outcomes.insert(name.clone(), Outcome::NoNodes);
            }
            ZoneDecision::Leave(nodes) => self.leave(&volume, objection(&nodes)),
            ZoneDecision::Unsayable(key) => {
                let message = format!("The zone labels stay as they are: no node can have a value that {key} lists");
                self.leave(&volume, message);
            }
            ZoneDecision::Upgrade(requirements) => return self.upgrade(&volume, &requirements).await,
        }
        Ok(false)
    }

    async fn upgrade(&self, volume: &Arc<Volume>, requirements: &[ZoneRequirement]) -> Result<bool, Error> {
        let name = Name::from(volume.slim.metadata.name.as_str());
        let said = said(requirements);
        if self.options.dry_run {
            tracing::info!(volume = %name, affinity = said, "would be upgraded");
            self.state.known().outcomes.insert(name, Outcome::WouldUpgrade(said));
            return Ok(false);
        }
        let changed = self.writer.change(volume, Part::Object, |object| add_affinity(object, requirements)).await;
        match changed {
            Ok(changed) => {
                self.state.known().outcomes.remove(&name);
                let message = format!("Node affinity was added that says the same as the zone labels: {said}");
                self.recorder.event(&about(&*changed), Severity::Normal, UPGRADED, &message);
                tracing::info!(volume = %name, affinity = said, "upgraded");
                Ok(true)
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => {
                if !error.is_conflict() {
                    tracing::warn!(volume = %name, %error, "cannot add the affinity; trying again");
                }
                Err(error)
            }
        }
    }

    /// Says once why a volume is left alone, and again when the reason changes.
    fn leave(&self, volume: &Volume, message: String) {
        let name = Name::from(volume.slim.metadata.name.as_str());
        let outcome = Outcome::Left(message.clone());
        if self.state.known().outcomes.insert(name.clone(), outcome.clone()) == Some(outcome) {
            return;
        }
        tracing::info!(volume = %name, message, "not upgraded");
        if !self.options.dry_run {
            self.recorder.event(&about(volume), Severity::Warning, NOT_UPGRADED, &message);
        }
    }

    /// Looks at what was left again once the nodes have come to rest: a cluster that grows by a hundred nodes costs one look.
    async fn reconsider(&self, backlog: &Queue<Name>) {
        loop {
            self.state.moved.notified().await;
            while tokio::time::timeout(self.options.settle, self.state.moved.notified()).await.is_ok() {}
            let names: Vec<Name> = self.state.known().outcomes.keys().cloned().collect();
            names.into_iter().for_each(|name| backlog.add(name));
        }
    }
}

/// Whether there is anything under `nodeAffinity`, even what the slim form makes nothing of.
fn has_affinity(volume: &Volume) -> bool {
    volume.slim.spec.node_affinity.required.is_some() || !volume.value()["spec"]["nodeAffinity"].is_null()
}

fn add_affinity(object: &mut Value, requirements: &[ZoneRequirement]) {
    let spec = &mut object["spec"];
    // Looked at once more where it is written: affinity that is there is never replaced.
    if spec["nodeAffinity"].is_null() {
        let values = |r: &ZoneRequirement| r.values.iter().map(|v| v.to_string()).collect::<Vec<_>>();
        let expressions: Vec<Value> =
            requirements.iter().map(|r| json!({"key": r.key, "operator": "In", "values": values(r)})).collect();
        spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}});
    }
}

/// The requirements for people: `topology.kubernetes.io/zone in (a, b) and …`.
fn said(requirements: &[ZoneRequirement]) -> String {
    let one = |r: &ZoneRequirement| format!("{} in ({})", r.key, r.values.join(", "));
    requirements.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// Why a volume is left: the nodes that would answer differently, sorted by what they say today.
fn objection(nodes: &[ChangedNode]) -> String {
    let listed = |accepts: bool| -> Option<String> {
        let names: Vec<&str> = nodes.iter().filter(|n| n.accepts == accepts).map(|n| &*n.name).collect();
        let more = names.len().saturating_sub(NAMED_NODES);
        let shown = names.iter().take(NAMED_NODES).copied().collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| if more == 0 { shown } else { format!("{shown} and {more} more") })
    };
    let losing = listed(true).map(|names| format!("no longer be usable on {names}"));
    let gaining = listed(false).map(|names| format!("become usable on {names}"));
    let effects = losing.into_iter().chain(gaining).collect::<Vec<_>>().join(" and ");
    format!("The zone labels stay as they are: said as node affinity, the volume would {effects}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(accepts: bool, names: &[&str]) -> Vec<ChangedNode> {
        names.iter().map(|n| ChangedNode { name: (*n).into(), accepts }).collect()
    }

    #[test]
    fn a_few_nodes_are_named_and_the_rest_counted() {
        let text = objection(&nodes(true, &["a", "b"]));
        assert!(text.ends_with("the volume would no longer be usable on a, b"), "{text}");
        let text = objection(&[nodes(true, &["a", "b", "c", "d", "e"]), nodes(false, &["f"])].concat());
        assert!(text.ends_with("no longer be usable on a, b, c and 2 more and become usable on f"), "{text}");
    }

    #[test]
    fn affinity_that_is_there_is_never_replaced() {
        let requirements = [ZoneRequirement { key: ZONE, values: vec!["a".into(), "b".into()] }];
        let mut bare = json!({"spec": {"capacity": {}}});
        add_affinity(&mut bare, &requirements);
        let term = json!({"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]});
        assert_eq!(bare["spec"]["nodeAffinity"], json!({"required": {"nodeSelectorTerms": [term]}}));
        assert_eq!(bare["spec"]["capacity"], json!({}));
        let mut strange = json!({"spec": {"nodeAffinity": {}}});
        add_affinity(&mut strange, &requirements);
        assert_eq!(strange, json!({"spec": {"nodeAffinity": {}}}));
    }
}
