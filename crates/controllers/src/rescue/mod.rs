//! Rescue: pods that bypass the scheduler get their delayed claims bound or provisioned for the node they are on.
//!
//! A pod with `spec.nodeName` set by hand, by a DaemonSet or by a static assignment is never looked at by a scheduler. If it
//! names a claim whose class waits for its first consumer, nobody ever chooses a volume, and the pod waits for ever. Here
//! the engine plans for exactly that node, and the plan is written as the scheduler would write it; the binder and the
//! provisioners do the rest.
//!
//! ```text
//!  a pod with a node, and      plan fits         volumes, then claims, each conditional
//!  a delayed claim unbound ──► judged ─────────► on the version planned from ─────────► event VolumeRescued
//!          ▲                     │ refused                    │ conflict, no answer
//!          │                     ▼                            ▼
//!          └── something ── waits; refused for a while:   judged again
//!              changed          event VolumeRescueFailed
//! ```
//!
//! A scheduler binds a pod only after all its claims are bound, so a pod that has a node and an unbound claim did not come
//! from one, and there is nothing to wait for before acting. Where only our view of the claim is behind that of the pod,
//! the first write meets a conflict and nothing is done; for the same reason a refusal is not said at once.

mod ledger;
mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_api::kinds::{CsiDriver, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, Pod};
use plimsoll_engine::gates::Gate;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::volumes::{Outcome, VolumePlan};
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{
    Backoff, Change, Context, Error, Mirror, Mirrored, Next, Queue, Recorder, Resource, Selection, Severity, reflect,
};
use tokio::time::Instant;

use crate::world::World;
use plimsoll_runtime::write::{Writer, about};

use ledger::{Ledger, Verdict};

/// The name under which events are said.
const COMPONENT: &str = "plimsoll-rescue";
/// The reason of an event about a pod whose claims cannot be met on its node.
pub const FAILED: &str = "VolumeRescueFailed";
/// The reason of an event about a pod whose claims were seen to.
pub const DONE: &str = "VolumeRescued";

/// How rescue works.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a refusal must stand before it is said: what a claim or a volume is still about to become, or an event
    /// that is late, is no news.
    pub patience: Duration,
    /// How long changes are gathered that may concern every pod that waits.
    pub gather: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { patience: Duration::from_secs(5), gather: Duration::from_secs(1) }
    }
}

/// Starts to rescue. Call it before the world is started.
pub fn start(context: &Context, world: &World, options: Options) {
    let rescue = Arc::new(Rescue {
        context: context.clone(),
        world: world.clone(),
        options,
        drivers: Mirror::new(),
        pools: Mirror::new(),
        ledger: Mutex::default(),
        waiting: Mutex::default(),
        tries: Mutex::default(),
        queue: Queue::named(Backoff::default(), "rescue", &context.metrics),
        claims: Writer::new(context, &world.claims),
        volumes: Writer::new(context, &world.volumes),
        recorder: Recorder::new(context, COMPONENT),
        began: Instant::now(),
    });
    rescue.listen();
    // Only rescue among the controllers looks at these two.
    reflect(context, &rescue.drivers, Selection::default());
    reflect(context, &rescue.pools, Selection::default());
    let stop = context.tasks.token();
    context.tasks.spawn("rescue", async move {
        let synced = async {
            rescue.world.synced().await;
            rescue.drivers.synced().await;
            rescue.pools.synced().await;
        };
        if stop.run_until_cancelled(synced).await.is_none() {
            return;
        }
        // One at a time: each sees what the one before was promised. There are few, and each is a few writes.
        rescue.queue.run(1, stop, |pod| rescue.see_to(pod)).await;
    });
}

/// A pod that was refused.
#[derive(Debug)]
struct Waiting {
    uid: String,
    since: Instant,
    /// What was said of it last.
    said: Option<String>,
}

/// What was written for a pod, and may have been taken back since: a provisioner that cannot make a volume takes its node
/// off the claim, and setting it again at once would go round and round.
#[derive(Debug)]
struct Tries {
    uid: String,
    count: u32,
    at: Instant,
}

/// How long until a node is selected again that was taken off a claim.
const BETWEEN_TRIES: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(300) };

struct Rescue {
    context: Context,
    world: World,
    options: Options,
    drivers: Arc<Mirror<CsiDriver>>,
    pools: Arc<Mirror<CsiStorageCapacity>>,
    /// Held for decisions only, never across a write.
    ledger: Mutex<Ledger>,
    /// The pods that were refused, and may fit when something changes.
    waiting: Mutex<BTreeMap<ObjectKey, Waiting>>,
    tries: Mutex<BTreeMap<ObjectKey, Tries>>,
    queue: Arc<Queue<ObjectKey>>,
    claims: Writer<PersistentVolumeClaim>,
    volumes: Writer<PersistentVolume>,
    recorder: Recorder,
    began: Instant,
}

impl Rescue {
    fn listen(self: &Arc<Self>) {
        let rescue = self.clone();
        self.world.pods.listen(move |change| {
            let pod = match change {
                Change::Set { new, .. } => rescue.ledger().pod_set(new),
                Change::Gone { old } => {
                    rescue.ledger().pod_gone(old);
                    rescue.drop_notes(&key_of(&**old));
                    None
                }
            };
            if let Some(pod) = pod {
                rescue.queue.add(pod);
            }
        });
        let rescue = self.clone();
        self.world.claims.listen(move |change| {
            let pods = match change {
                Change::Set { new, .. } => rescue.ledger().claim_set(new),
                Change::Gone { old } => rescue.ledger().claim_gone(old),
            };
            pods.into_iter().for_each(|pod| rescue.queue.add(pod));
        });
        // What follows may help any pod that waits. Most of the time none does.
        self.everything(&self.world.volumes, Ledger::volume);
        self.everything(&self.world.nodes, Ledger::node);
        self.everything(&self.world.classes, Ledger::class);
        self.everything(&self.world.csi_nodes, Ledger::csi_node);
        self.everything(&self.drivers, Ledger::driver);
        self.everything(&self.pools, Ledger::pool);
    }

    fn everything<T: Mirrored>(self: &Arc<Self>, mirror: &Mirror<T>, note: fn(&mut Ledger, &Change<T>)) {
        let rescue = self.clone();
        mirror.listen(move |change| {
            note(&mut rescue.ledger(), change);
            for pod in rescue.waiting().keys() {
                rescue.queue.add_after(pod.clone(), rescue.options.gather);
            }
        });
    }

    /// Sees to the claims of one pod.
    async fn see_to(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.world.pods.get(&key).filter(|pod| is_ours(pod)) else {
            self.drop_notes(&key);
            return Ok(Next::Done);
        };
        // Only a scheduler that waits for claims to be made could act on one that is not there yet; this one does not.
        let gates = self.context.gates.with(Gate::EphemeralForecast, false);
        let verdict = self.ledger().judge(&key, gates, self.began.elapsed().as_secs());
        match verdict {
            Verdict::Nothing => {
                self.drop_notes(&key);
                Ok(Next::Done)
            }
            Verdict::Refused(why) => Ok(self.refused(&key, &pod, why)),
            Verdict::Fits(plan) => {
                self.waiting().remove(&key);
                let wait = self.until_next_try(&key, &pod.metadata.uid);
                if !wait.is_zero() {
                    return Ok(Next::After(wait));
                }
                if !self.still_there(&pod).await? {
                    return Ok(Next::After(self.options.gather));
                }
                self.carry_out(&key, &pod, &plan).await?;
                Ok(Next::Done)
            }
        }
    }

    /// Writes the plan, and says what was done.
    async fn carry_out(&self, key: &ObjectKey, pod: &Pod, plan: &VolumePlan) -> Result<(), Error> {
        let node = Name::from(pod.spec.node_name.as_str());
        let mut placement = self.ledger().begin(key, &node, plan)?;
        let written = self.write(&mut placement).await;
        match written {
            Ok(0) => {}
            Ok(_) => {
                self.note_try(key, &pod.metadata.uid);
                self.recorder.event(&about(pod), Severity::Normal, DONE, &summary(plan, &node));
            }
            // Newer events have the last word either way; where none came, the plan is not to stand.
            Err(_) => self.ledger().forget(key, &pod.metadata.uid, plan),
        }
        written.map(|_| ())
    }

    /// A binding is for good, so the API server is asked once more whether the pod is there at all.
    async fn still_there(&self, pod: &Pod) -> Result<bool, Error> {
        let meta = &pod.metadata;
        let live: Option<Pod> = self.context.objects().get(Resource::PODS, &meta.namespace, &meta.name).await?;
        Ok(live.is_some_and(|live| {
            live.metadata.uid == meta.uid && live.spec.node_name == pod.spec.node_name && is_ours(&live)
        }))
    }

    /// Takes note of a refusal, and says it once it has stood for a while.
    fn refused(&self, key: &ObjectKey, pod: &Pod, why: String) -> Next {
        let mut waiting = self.waiting();
        let fresh = || Waiting { uid: pod.metadata.uid.clone(), since: Instant::now(), said: None };
        let entry = waiting.entry(key.clone()).or_insert_with(fresh);
        if entry.uid != pod.metadata.uid {
            *entry = fresh();
        }
        let left = self.options.patience.saturating_sub(entry.since.elapsed());
        if !left.is_zero() {
            return Next::After(left);
        }
        if entry.said.as_ref() != Some(&why) {
            self.recorder.event(&about(pod), Severity::Warning, FAILED, &why);
            entry.said = Some(why);
        }
        Next::Done
    }

    /// How long to wait before the pod is tried again.
    fn until_next_try(&self, key: &ObjectKey, uid: &str) -> Duration {
        let tries = self.tries();
        let Some(last) = tries.get(key).filter(|tries| tries.uid == uid) else { return Duration::ZERO };
        BETWEEN_TRIES.after(last.count).saturating_sub(last.at.elapsed())
    }

    fn note_try(&self, key: &ObjectKey, uid: &str) {
        let mut tries = self.tries();
        let before = tries.get(key).filter(|tries| tries.uid == uid).map_or(0, |tries| tries.count);
        let now = Tries { uid: uid.to_owned(), count: before.saturating_add(1), at: Instant::now() };
        tries.insert(key.clone(), now);
    }

    /// Nothing is left to be done for a pod.
    fn drop_notes(&self, key: &ObjectKey) {
        self.waiting().remove(key);
        self.tries().remove(key);
    }

    fn tries(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Tries>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a pod is on a node and alive.
fn is_ours(pod: &Pod) -> bool {
    let over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    !pod.spec.node_name.is_empty() && !over && !pod.metadata.deletion_timestamp.0
}

/// What a plan does, in a sentence for the pod's event.
fn summary(plan: &VolumePlan, node: &str) -> String {
    let parts = plan.claims.iter().filter_map(|claim| {
        let (key, volume) = (&claim.claim, claim.volume.as_deref().unwrap_or_default());
        match claim.outcome {
            Outcome::Static => Some(format!("claim {key} gets volume {volume}")),
            Outcome::Provision => Some(format!("a volume is to be made for claim {key}")),
            Outcome::Bound | Outcome::Unsatisfied => None,
        }
    });
    let parts: Vec<String> = parts.collect();
    format!("the pod bypassed the scheduler; for node {node} {}", parts.join(", "))
}
