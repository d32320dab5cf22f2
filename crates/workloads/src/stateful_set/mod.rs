//! StatefulSets: pods with names of their own, made in order, with claims that outlive them.
//!
//! ```text
//!   set, pod, claim changes ─► key ─► revisions (revisions.rs), pods (children.rs)
//!                                            │
//!                              plan.rs: which steps ─► control.rs: the writes ─► status.rs
//! ```

mod claims;
mod control;
mod identity;
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
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Backoff, Change, Context, Error, Mirrored, Next, Objects, Queue, Severity, Whole};
use serde_json::Value;

use crate::children::{claim_some, wake};
use crate::kinds::StatefulSet;
use crate::pods::{available_in, is_available, is_done, is_ready};
use crate::revisions::{self, Draft, HASH, History, REVISION_HASH, Record};
use crate::world::World;
use control::{Control, Set};
use plan::{Phase, Rules, Seat, Seen, Step};
use spec::{Spec, Strategy};
use status::Names;

/// What the events of this controller have as their source; upstream's name.
pub const COMPONENT: &str = "statefulset-controller";
/// Sets at a time: upstream's `--concurrent-statefulset-syncs`.
const WORKERS: usize = 5;
/// The most writes at a time for one set: upstream's.
const MOST_AT_ONCE: usize = 500;

struct StatefulSets {
    world: World,
    objects: Objects,
    sets: Writer<StatefulSet>,
    history: History,
    control: Control,
    clock: Clock,
}

/// Begins to keep StatefulSets. Must be called before the world is started.
pub fn start(context: &Context, world: &World) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), "statefulset", &context.metrics);
    listen(world, &queue);
    let controller = StatefulSets {
        world: world.clone(),
        objects: context.objects(),
        sets: Writer::new(context, &world.stateful_sets),
        history: History::new(context, world),
        control: Control::new(context, world),
        clock: context.clock.clone(),
    };
    let stop = context.tasks.token();
    context.tasks.spawn("stateful-sets", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = controller.synced() => {}
        }
        queue.run(WORKERS, stop.clone(), |key| controller.sync(key)).await;
    });
}

fn listen(world: &World, queue: &Arc<Queue<ObjectKey>>) {
    let wanted = queue.clone();
    world.stateful_sets.listen(move |change| {
        if let Change::Set { new, .. } = change {
            wanted.add(key_of(&**new));
        }
    });
    wake(&world.pods, &world.stateful_sets, queue);
    // A claim that goes lets a pod be made that waited for it, or must be made anew for a pod that waits.
    let (wanted, sets) = (queue.clone(), world.stateful_sets.clone());
    world.claims.listen(move |change| {
        let Change::Gone { old } = change else { return };
        let meta = old.meta();
        for set in sets_of_claim(&meta.name) {
            let key = ObjectKey::new(meta.namespace.as_str(), set);
            if sets.get(&key).is_some() {
                wanted.add(key);
            }
        }
    });
}

/// The sets that a claim of this name could be of: the name is that of a template, of a set and a number, and any of the first
/// two may have dashes.
fn sets_of_claim(name: &str) -> Vec<&str> {
    let Some((rest, _)) = identity::parse(name) else { return Vec::new() };
    rest.match_indices('-').map(|(at, _)| &rest[at + 1..]).filter(|set| !set.is_empty()).collect()
}

/// A set's pods by their numbers, and the two revisions that they can be of.
struct Look<'a> {
    spec: &'a Spec,
    pods: BTreeMap<i64, Arc<Whole<Pod>>>,
    current: Record,
    update: Record,
    collisions: i64,
    now: Timestamp,
}

impl StatefulSets {
    async fn synced(&self) {
        self.world.stateful_sets.synced().await;
        self.world.pods.synced().await;
        self.world.claims.synced().await;
        self.world.revisions.synced().await;
    }

    async fn sync(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(set) = self.world.stateful_sets.get(&key) else { return Ok(Next::Done) };
        let Some(selector) = set.slim.0.selector.clone() else {
            tracing::warn!(set = %key, "a StatefulSet has no selector that can be read; it is left alone");
            return Ok(Next::Done);
        };
        let spec = Spec::read(&set);
        if spec.strategy == Strategy::Unknown {
            let (namespace, name) = (&spec.owner.namespace, &spec.owner.name);
            let message = format!(
                "statefulset {namespace}/{name} uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled"
            );
            let about = Set::new(&set, &spec).about;
            self.control.recorder().event(&about, Severity::Warning, "UnknownStrategy", &message);
            return Err(Error::Invalid(message));
        }
        let history = self.history.of(&spec.owner, &selector).await?;
        let pods = self.pods(&spec, &selector).await?;
        let Some((current, update, collisions)) = self.revisions(&spec, &history).await? else { return Ok(Next::Done) };
        let now = self.clock.now();
        let look = Look { spec: &spec, pods, current, update, collisions, now };
        let done = if spec.owner.deleting { Ok(()) } else { self.act(&set, &look).await };
        // Whatever failed, the status says how far it came.
        let said = self.report(&set, &look).await;
        done?;
        let next = said?;
        self.truncate(&look, &history).await?;
        Ok(next)
    }

    async fn pods(&self, spec: &Spec, selector: &LabelSelector) -> Result<BTreeMap<i64, Arc<Whole<Pod>>>, Error> {
        let name = spec.owner.name.clone();
        let member = |pod: &Pod| identity::is_member(&name, &pod.metadata);
        let (mirror, children) = (&self.world.pods, &self.world.pods_of);
        let pods = claim_some(&self.objects, mirror, children, &spec.owner, selector, member).await?;
        let numbered = pods.into_iter().filter_map(|pod| {
            let (set, ordinal) = identity::parse(&pod.meta().name)?;
            // `web-01` is the name of no number.
            (pod.meta().name == identity::pod_name(set, ordinal)).then_some((ordinal, pod))
        });
        Ok(numbered.collect())
    }

    /// The revision that the set's pods had before, the one that they are to have, and how often a name was taken. `None` where
    /// the set is on its way out and its revisions went before it: none is made for its end.
    async fn revisions(&self, spec: &Spec, history: &[Record]) -> Result<Option<(Record, Record, i64)>, Error> {
        let mut collisions = spec.status["collisionCount"].as_i64().unwrap_or(0);
        let data = revisions::data_of(&spec.template);
        let next = revisions::next_number(history);
        let equal = history.iter().rposition(|record| record.data == data);
        let update = match equal {
            Some(at) if at + 1 == history.len() => history[at].clone(),
            Some(at) => self.history.renumber(&history[at], next).await?,
            None if spec.owner.deleting => return Ok(None),
            None => {
                let labels = spec.template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
                let (owner, annotations) = (&spec.owner, &spec.annotations);
                let draft = Draft { owner, labels: &labels, label: HASH, annotations, data: &data, number: next };
                self.history.create(&draft, &mut collisions).await?
            }
        };
        let current = history.iter().find(|record| spec.status["currentRevision"] == record.name());
        let current = current.unwrap_or(&update).clone();
        Ok(Some((current, update, collisions)))
    }

    /// Carries out what the plan says.
    async fn act(&self, set: &Arc<Whole<StatefulSet>>, look: &Look<'_>) -> Result<(), Error> {
        let spec = look.spec;
        // Those that are there, and as many more as one look can make: a set may ask for more than the memory holds.
        let more = i64::try_from(look.pods.len().saturating_add(MOST_AT_ONCE)).unwrap_or(i64::MAX);
        let first = spec.start..spec.start + spec.replicas.min(more);
        let there = look.pods.keys().copied().filter(|ordinal| spec.wants(*ordinal));
        let ordinals: BTreeSet<i64> = first.chain(there).collect();
        let seats: Vec<Seat> = ordinals.into_iter().map(|ordinal| self.seat(look, ordinal)).collect();
        let condemned: Vec<Seat> = look
            .pods
            .keys()
            .rev()
            .filter(|ordinal| !spec.wants(**ordinal))
            .map(|ordinal| self.seat(look, *ordinal))
            .collect();
        let rules = Rules { parallel: spec.parallel, strategy: spec.strategy };
        let in_hand = Set::new(set, spec);
        for stage in plan::plan(rules, &seats, &condemned) {
            self.carry_out(&in_hand, look, &stage).await?;
        }
        Ok(())
    }

    fn seat(&self, look: &Look<'_>, ordinal: i64) -> Seat {
        let spec = look.spec;
        let Some(pod) = look.pods.get(&ordinal) else {
            return Seat { ordinal, pod: None, blocked: self.control.is_blocked(spec, ordinal) };
        };
        let slim = &pod.slim;
        let phase = match slim.status.phase.as_str() {
            "Pending" => Phase::Pending,
            _ if is_done(slim) => Phase::Over,
            _ => Phase::Running,
        };
        let owned = self.control.are_claims_owned(spec, pod, ordinal);
        let seen = Seen {
            phase,
            ready: slim.status.phase == "Running" && is_ready(slim),
            available: is_available(slim, spec.min_ready, look.now),
            deleting: slim.metadata.deletion_timestamp.0,
            updated: slim.metadata.labels.get(REVISION_HASH) == Some(look.update.name()),
            // Of those that go only the claims matter.
            fits: owned
                && (!spec.wants(ordinal)
                    || identity::has_identity(spec, slim, ordinal) && identity::has_storage(spec, slim, ordinal)),
        };
        Seat { ordinal, pod: Some(seen), blocked: false }
    }

    /// In order one after the other; otherwise one, two, four pods at a time, so that what is bound to fail fails once.
    async fn carry_out(&self, set: &Set<'_>, look: &Look<'_>, stage: &[Step]) -> Result<(), Error> {
        let pods = plan::by_pod(stage);
        let (mut rest, mut many) = (pods.as_slice(), 1);
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(many.min(rest.len()));
            let done = join_all(batch.iter().map(|steps| self.take(set, look, steps))).await;
            done.into_iter().collect::<Result<Vec<()>, Error>>()?;
            rest = later;
            many = if look.spec.parallel { (many * 2).min(MOST_AT_ONCE) } else { 1 };
        }
        Ok(())
    }

    /// The steps of one pod, one after the other: no two writes for it run at once, and what fails is not followed by the next.
    async fn take(&self, set: &Set<'_>, look: &Look<'_>, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            self.step(set, look, *step).await?;
        }
        Ok(())
    }

    async fn step(&self, set: &Set<'_>, look: &Look<'_>, step: Step) -> Result<(), Error> {
        let pod = |ordinal: i64| look.pods.get(&ordinal);
        let control = &self.control;
        match step {
            Step::Create(ordinal) => {
                let revision = if look.spec.makes_as_before(ordinal) { &look.current } else { &look.update };
                control.create(set, &revision.template(), revision.name(), ordinal).await
            }
            Step::Claims(ordinal) => match pod(ordinal) {
                Some(pod) => control.complete_claims(set, pod, ordinal).await,
                None => Ok(()),
            },
            Step::Mend(ordinal) => match pod(ordinal) {
                Some(pod) => control.mend(set, pod, ordinal).await,
                None => Ok(()),
            },
            Step::Disown(ordinal) => match pod(ordinal) {
                Some(pod) => control.own_claims(set, pod, ordinal).await,
                None => Ok(()),
            },
            Step::Delete(ordinal) => match pod(ordinal) {
                Some(pod) => control.delete(set, pod).await,
                None => Ok(()),
            },
        }
    }

    /// Writes the status, from the pods as they are after the steps. Returns when a pod becomes available by time alone.
    async fn report(&self, set: &Arc<Whole<StatefulSet>>, look: &Look<'_>) -> Result<Next, Error> {
        let spec = look.spec;
        let mine = self.world.pods_of.get(&*self.world.pods, &spec.owner.uid);
        let pods: Vec<&Pod> = mine
            .iter()
            .map(|pod| &pod.slim)
            .filter(|pod| identity::is_member(&spec.owner.name, &pod.metadata))
            .collect();
        let names = Names { current: look.current.name(), update: look.update.name(), collisions: look.collisions };
        let count = status::count(pods.iter().copied(), &names, spec.min_ready, look.now);
        let said = status::status(spec, &names, count);
        self.sets.change(set, Part::Status, |value: &mut Value| value["status"] = said).await?;
        if spec.min_ready == 0 || count.ready == count.available {
            return Ok(Next::Done);
        }
        let waits = pods.iter().filter_map(|pod| available_in(pod, spec.min_ready, look.now));
        let soonest = waits.filter(|wait| !wait.is_zero()).min();
        let longest = Duration::from_secs(spec.min_ready.unsigned_abs());
        Ok(Next::After(soonest.unwrap_or(longest)))
    }

    /// Deletes the revisions beyond the limit that no pod is of.
    async fn truncate(&self, look: &Look<'_>, history: &[Record]) -> Result<(), Error> {
        let live: Vec<&str> = look
            .pods
            .values()
            .filter_map(|pod| pod.slim.metadata.labels.get(REVISION_HASH))
            .chain([look.current.name(), look.update.name()])
            .collect();
        let in_use = |record: &Record| live.contains(&record.name());
        for record in revisions::beyond_limit(history, look.spec.history_limit, in_use) {
            self.history.delete(record).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
