//! DaemonSets: a pod on every node that fits, placed there by the scheduler.
//!
//! ```text
//!   set, pod, node changes ─► key ─► the set's pods by node (demand.rs), the revision that is to be (revisions.rs)
//!                                          │
//!                                          ▼
//!             plan.rs: manage ── wrote something: looked at again when the mirror shows it
//!                                          │ nothing to do
//!                                          ▼
//!             plan.rs: update ─► old revisions cleaned up ─► status.rs
//! ```

mod demand;
mod patience;
mod plan;
mod spec;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use plimsoll_api::kinds::Pod;
use plimsoll_clock::Clock;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer, about};
use plimsoll_runtime::{About, Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Severity, Whole};
use serde_json::{Value, json};

use crate::children::{claim, wake};
use crate::kinds::DaemonSet;
use crate::pods::{PodControl, available_in, is_available, is_done, is_ready};
use crate::revisions::{self, Draft, History, REVISION_HASH, Record};
use crate::world::World;
use demand::{Demand, Fit, Nodes, TEMPLATE_GENERATION};
use patience::Patience;
use plan::{Daemon, Phase, Place, Work};
use spec::Spec;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "daemonset-controller";
/// Sets at a time: upstream's `--concurrent-daemonset-syncs`.
const WORKERS: usize = 2;
/// The most pods that are made, and the most that are deleted, at one look: upstream's.
const BURST: usize = 250;

struct DaemonSets {
    world: World,
    objects: Objects,
    sets: Writer<DaemonSet>,
    pods: Writer<Pod>,
    history: History,
    control: PodControl,
    nodes: Nodes,
    patience: Patience,
    clock: Clock,
}

/// Begins to keep DaemonSets. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), "daemonset", &context.metrics);
    let wanted = queue.clone();
    world.daemon_sets.listen(move |change| {
        if let Change::Set { new, .. } = change {
            wanted.add(key_of(&**new));
        }
    });
    wake(&world.pods, &world.daemon_sets, &queue);
    // A revision that goes is made again, and one that nobody has is taken.
    wake(&world.revisions, &world.daemon_sets, &queue);
    // There are few sets, and each counts nodes: all are asked what a node is to them now.
    let (wanted, sets) = (queue.clone(), world.daemon_sets.clone());
    let nodes = Nodes::of(&world.nodes, move || sets.all().iter().for_each(|set| wanted.add(key_of(&**set))));
    let controller = DaemonSets {
        world: world.clone(),
        objects: context.objects(),
        sets: Writer::new(context, &world.daemon_sets),
        pods: Writer::new(context, &world.pods),
        history: History::new(context, world),
        control: PodControl::new(context, &world.pods, COMPONENT),
        nodes,
        patience: Patience::default(),
        clock: context.clock.clone(),
    };
    let stop = context.tasks.token();
    context.tasks.spawn("daemon-sets", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = controller.synced() => {}
        }
        queue.run(WORKERS, stop.clone(), |key| controller.sync(key)).await;
    });
}

/// One set in hand.
struct Look<'a> {
    set: &'a Arc<Whole<DaemonSet>>,
    spec: &'a Spec,
    demand: Demand,
    /// The value of the label by which pods of the revision that is to be are known.
    hash: String,
    collisions: i64,
    now: Timestamp,
}

impl Look<'_> {
    fn about(&self) -> About {
        about(&**self.set)
    }

    fn is_updated(&self, pod: &Pod) -> bool {
        let label = |key: &str| pod.metadata.labels.get(key).unwrap_or_default();
        let generation = self.spec.template_generation.map(|generation| generation.to_string());
        label(REVISION_HASH) == self.hash || generation.is_some_and(|text| text == label(TEMPLATE_GENERATION))
    }

    fn daemon(&self, pod: &Pod) -> Daemon {
        Daemon {
            name: pod.metadata.name.clone(),
            placed: !pod.spec.node_name.is_empty(),
            made: pod.metadata.creation_timestamp.clone(),
            phase: match pod.status.phase.as_str() {
                "Failed" => Phase::Failed,
                "Succeeded" => Phase::Succeeded,
                _ => Phase::Alive,
            },
            deleting: pod.metadata.deletion_timestamp.0,
            ready: is_ready(pod),
            available: is_available(pod, self.spec.min_ready, self.now),
            updated: self.is_updated(pod),
        }
    }
}

impl DaemonSets {
    async fn synced(&self) {
        self.world.daemon_sets.synced().await;
        self.world.pods.synced().await;
        self.world.nodes.synced().await;
        self.world.revisions.synced().await;
    }

    async fn sync(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(set) = self.world.daemon_sets.get(&key) else { return Ok(Next::Done) };
        // What a set that goes leaves behind is the garbage collector's.
        if set.meta().deletion_timestamp.0 {
            return Ok(Next::Done);
        }
        let Some(selector) = &set.slim.0.selector else {
            tracing::warn!(set = %key, "a DaemonSet has no selector that can be read; it is left alone");
            return Ok(Next::Done);
        };
        if selector.is_empty() {
            let message = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.control.recorder().event(&about(&*set), Severity::Warning, "SelectingAll", message);
            return Ok(Next::Done);
        }
        let spec = Spec::read(&set);
        let (revision, old, collisions) = match self.revisions(&spec, selector).await {
            Ok(found) => found,
            // It goes with its namespace.
            Err(error) if error.is_ending_namespace() => return Ok(Next::Done),
            Err(error) => return Err(error),
        };
        let look = Look {
            set: &set,
            spec: &spec,
            demand: Demand::read(&spec.template),
            hash: revision.label(REVISION_HASH).to_owned(),
            collisions,
            now: self.clock.now(),
        };
        claim(&self.objects, &self.world.pods, &self.world.pods_of, &spec.owner, selector).await?;
        let done = self.act(&look, &old).await;
        // Whatever failed, the status says how far it came.
        let said = self.report(&look).await;
        let waits = done?;
        Ok(match [waits, said?].into_iter().flatten().min() {
            Some(wait) => Next::After(wait),
            None => Next::Done,
        })
    }

    /// The set's pods by the node that they are on, or meant for; and every node.
    fn places(&self, look: &Look<'_>) -> Vec<Place> {
        let mut by_node: BTreeMap<String, Vec<Daemon>> = BTreeMap::new();
        for pod in self.mine(look) {
            // One that has ended and is on its way out is nobody's work any more.
            let over = is_done(&pod.slim) && pod.slim.metadata.deletion_timestamp.0;
            if let Some(node) = demand::target(&pod.slim).filter(|_| !over) {
                by_node.entry(node.to_owned()).or_default().push(look.daemon(&pod.slim));
            }
        }
        let nodes = self.nodes.all();
        let mut places: Vec<Place> = nodes
            .iter()
            .map(|node| {
                let pods = by_node.remove(&*node.name).unwrap_or_default();
                let patient = self.patience.left(&case(look, &node.name)).is_some();
                Place { node: node.name.to_string(), fit: Some(look.demand.fit(node)), pods, patient }
            })
            .collect();
        let gone = by_node.into_iter().map(|(node, pods)| Place { node, fit: None, pods, patient: false });
        places.extend(gone);
        places
    }

    fn mine(&self, look: &Look<'_>) -> Vec<Arc<Whole<Pod>>> {
        self.world.pods_of.get(&*self.world.pods, &look.spec.owner.uid)
    }

    /// Makes and deletes pods. Returns when a failed pod may be replaced.
    async fn act(&self, look: &Look<'_>, old: &[Record]) -> Result<Option<Duration>, Error> {
        let places = self.places(look);
        let work = plan::manage(&places, look.spec.surges());
        for (pod, node) in &work.failed {
            self.patience.failed(case(look, node));
            let namespace = &look.spec.owner.namespace;
            let message = format!("Found failed daemon pod {namespace}/{pod} on node {node}, will try to kill it");
            self.control.recorder().event(&look.about(), Severity::Warning, "FailedDaemonPod", &message);
        }
        for (pod, node) in &work.succeeded {
            let namespace = &look.spec.owner.namespace;
            let message = format!("Found succeeded daemon pod {namespace}/{pod} on node {node}, will try to delete it");
            self.control.recorder().event(&look.about(), Severity::Normal, "SucceededDaemonPod", &message);
        }
        let waits = work.waits.then(|| {
            let left = places.iter().filter_map(|place| self.patience.left(&case(look, &place.node)));
            left.min().unwrap_or_default()
        });
        if self.carry_out(look, &work).await? {
            // The update counts pods: it waits until they are what they will be. The mirror's changes bring the set back here.
            return Ok(waits);
        }
        let wanted = places.iter().filter(|place| place.fit == Some(Fit::Runs)).count();
        if let Some(limits) = look.spec.limits(wanted) {
            self.carry_out(look, &plan::update(&places, limits)).await?;
        }
        self.clean_up(look, old).await?;
        Ok(waits)
    }

    /// Returns whether there was anything to do.
    async fn carry_out(&self, look: &Look<'_>, work: &Work) -> Result<bool, Error> {
        let made = self.create(look, &work.create[..work.create.len().min(BURST)]).await;
        let named: BTreeSet<&str> = work.delete.iter().take(BURST).map(String::as_str).collect();
        let about = look.about();
        let pods: Vec<_> = self.mine(look).into_iter().filter(|pod| named.contains(&*pod.meta().name)).collect();
        let deleted = join_all(pods.iter().map(|pod| self.control.delete(&about, pod))).await;
        made?;
        deleted.into_iter().collect::<Result<Vec<()>, Error>>()?;
        Ok(!work.create.is_empty() || !work.delete.is_empty())
    }

    /// One, two, four at a time, so that what is bound to fail fails once.
    async fn create(&self, look: &Look<'_>, nodes: &[String]) -> Result<(), Error> {
        let (about, spec) = (look.about(), look.spec);
        let (mut rest, mut many) = (nodes, 1);
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(many.min(rest.len()));
            let create = |node: &String| {
                let pod = demand::pod(&spec.owner, &spec.template, &look.hash, spec.template_generation, node);
                let about = &about;
                async move { self.control.create(about, &pod).await }
            };
            for made in join_all(batch.iter().map(create)).await {
                match made {
                    // All that follow would be refused, too.
                    Err(error) if error.is_ending_namespace() => return Ok(()),
                    other => other.map(|_| ())?,
                }
            }
            (rest, many) = (later, many * 2);
        }
        Ok(())
    }

    /// The revision that is to be, the others, and how often a name was taken.
    async fn revisions(&self, spec: &Spec, selector: &LabelSelector) -> Result<(Record, Vec<Record>, i64), Error> {
        let mut collisions = spec.status["collisionCount"].as_i64().unwrap_or(0);
        let data = revisions::data_of(&spec.template);
        let (mut current, mut old) = (Vec::new(), Vec::new());
        for record in self.history.of(&spec.owner, selector).await? {
            let record = if record.label(REVISION_HASH).is_empty() {
                self.history.label(&record, REVISION_HASH, record.name()).await?
            } else {
                record
            };
            if record.data == data { current.push(record) } else { old.push(record) }
        }
        let number = revisions::next_number(&old);
        let revision = match current.pop() {
            None => {
                let labels = spec.template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
                let (owner, annotations) = (&spec.owner, &spec.annotations);
                let label = REVISION_HASH;
                let draft = Draft { owner, labels: &labels, label, annotations, data: &data, number };
                self.history.create(&draft, &mut collisions).await?
            }
            Some(newest) => {
                self.fold(spec, &newest, current).await?;
                if newest.number < number { self.history.renumber(&newest, number).await? } else { newest }
            }
        };
        Ok((revision, old, collisions))
    }

    /// Of several revisions that say the same the newest stays; pods of the others become its own first.
    async fn fold(&self, spec: &Spec, keep: &Record, others: Vec<Record>) -> Result<(), Error> {
        if others.is_empty() {
            return Ok(());
        }
        let hash = keep.label(REVISION_HASH);
        for pod in self.world.pods_of.get(&*self.world.pods, &spec.owner.uid) {
            let edit = |value: &mut Value| value["metadata"]["labels"][REVISION_HASH] = json!(hash);
            self.pods.change(&pod, Part::Object, edit).await?;
        }
        for record in others {
            self.history.delete(&record).await?;
        }
        Ok(())
    }

    /// Deletes the oldest revisions beyond the limit, but none that a pod is of.
    async fn clean_up(&self, look: &Look<'_>, old: &[Record]) -> Result<(), Error> {
        let mine = self.mine(look);
        let live = |record: &&Record| {
            let hash = record.label(REVISION_HASH);
            mine.iter().any(|pod| pod.slim.metadata.labels.get(REVISION_HASH) == Some(hash))
        };
        // Those that are in use count.
        let limit = usize::try_from(look.spec.history_limit).unwrap_or(usize::MAX);
        let many = old.len().saturating_sub(limit);
        for record in old.iter().filter(|record| !live(record)).take(many) {
            self.history.delete(record).await?;
        }
        Ok(())
    }

    /// Writes the status, from the pods as they are after all that. Returns when a pod becomes available by time alone.
    async fn report(&self, look: &Look<'_>) -> Result<Option<Duration>, Error> {
        let spec = look.spec;
        let count = status::count(&self.places(look));
        let said = status::status(&spec.status, count, spec.generation, look.collisions);
        self.sets.change(look.set, Part::Status, |value: &mut Value| value["status"] = said).await?;
        if spec.min_ready == 0 || count.ready == count.available {
            return Ok(None);
        }
        let pods = self.mine(look);
        let waits = pods.iter().filter_map(|pod| available_in(&pod.slim, spec.min_ready, look.now));
        let longest = Duration::from_secs(spec.min_ready.unsigned_abs());
        Ok(Some(waits.filter(|wait| !wait.is_zero()).min().unwrap_or(longest)))
    }
}

fn case(look: &Look<'_>, node: &str) -> patience::Case {
    let acted_on = look.spec.status["observedGeneration"].as_i64().unwrap_or(0);
    (look.spec.owner.uid.clone(), acted_on, node.to_owned())
}
