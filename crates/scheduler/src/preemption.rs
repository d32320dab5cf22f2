//! Preemption carried out: a pod that fits nowhere has others removed that matter less, and waits for the room.
//!
//! ```text
//!   refused ──► the engine names node and victims ──► nominated (memory, then the API with the condition)
//!                                                        │ beside the loop, the pod stays in hand:
//!                                                        ▼
//!      victim being placed here ── its placement is called off      any other ── marked, then deleted by uid
//!                                                        │ all asked for            │ some request failed
//!                                                        ▼                          ▼
//!                                        waits for one of them to go       tried again after a while
//! ```
//!
//! Whoever dies in between leaves a nomination, which the next attempt tries first, and victims that are marked or going,
//! which it waits for or chooses anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use plimsoll_api::kinds::Pod as ApiPod;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Pod;
use plimsoll_engine::preemption::{Attempt, Candidate, Preemption};
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::{Diagnosis, preemption::Expected};
use plimsoll_runtime::spans::{self, Phase, Trace};
use plimsoll_runtime::{Error, Preconditions, Resource};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::Inner;
use crate::desk::Desk;
use crate::report::Nominate;
use crate::traces::NODE;

/// How many victims are asked to go at a time.
const WIDTH: usize = 16;
/// Upstream's plugin, by which victims are told who removed them.
const PLUGIN: &str = "DefaultPreemption";

/// What came of looking for room; where nobody looked, what is said of that.
pub(crate) type Search = Result<Preemption, &'static str>;

/// What came of the attempt to make room for a pod.
pub(crate) struct Room {
    /// What the pod's condition says of it; empty where nothing was tried.
    pub(crate) message: String,
    /// What becomes of its nomination.
    pub(crate) nominate: Nominate,
    /// Who is to go, and from where; none where nobody is or all are going already.
    pub(crate) eviction: Option<Eviction>,
}

/// Pods that are asked to go for another.
pub(crate) struct Eviction {
    preemptor: Arc<Pod>,
    node: Name,
    victims: Vec<Arc<Pod>>,
}

impl Eviction {
    /// The span of asking them to go.
    fn told(&self, began: Instant, answers: &[Result<(), Error>]) -> Phase {
        let victims = self.victims.iter().map(|victim| victim.key.to_string().into()).collect();
        let error = answers.iter().find_map(|answer| answer.as_ref().err()).map(Error::to_string);
        let phase = Phase::since("evict", began).call().with(NODE, &self.node).failed(error.as_deref());
        phase.with("plimsoll.victims", spans::Value::List(victims))
    }
}

/// How asking a pod to go ended.
enum Asked {
    /// It was being placed here, and is not any more.
    CalledOff,
    /// It is going.
    Going,
    /// It was gone already.
    Gone,
}

impl Inner {
    /// Looks for room for a pod that fits nowhere.
    pub(crate) fn find_room(
        &self,
        desk: &mut Desk,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
        expected: &Expected,
    ) -> Search {
        let profile = self.profile(pod);
        if diagnosis.refused_by.iter().any(|(_, code)| *code == Code::UNDECIDED) {
            return Err("");
        }
        if diagnosis.rejected && profile.rules.filters(Plugin::DynamicResources) {
            // Upstream looks for claims of devices first, and where the pod was refused as a whole it has not read them yet:
            // that is an error of two words, and preemption is not tried.
            return Err("not found");
        }
        // Where DefaultPreemption is disabled, nobody goes, and nothing is said of it.
        let shortlist = profile.preemption.ok_or("")?;
        let nominated = desk.nominations.of(pod).cloned();
        let attempt = Attempt {
            rules: &profile.rules,
            shortlist,
            preemptible: &diagnosis.preemptible,
            nominated: nominated.as_ref(),
            expected,
        };
        let began = Instant::now();
        let found = desk.catalog.preempt(pod, attempt);
        self.figures.looked_for_room(&found, began.elapsed());
        self.passed(desk, pod, "find room", Some(began).filter(|_| self.context.spans.is_on()));
        Ok(found)
    }

    /// Makes room where some was found, and nominates the pod there.
    pub(crate) fn make_room(&self, desk: &mut Desk, pod: &Arc<Pod>, found: &Search) -> Room {
        let found = match found {
            Ok(found) => found,
            Err(said) => return Room { message: (*said).to_owned(), nominate: Nominate::Keep, eviction: None },
        };
        let message = found.message();
        let nominate = match found {
            // The victims are on their way, or it is not known whether there are any: the nomination stands.
            Preemption::Ineligible(_) | Preemption::Failed(_) => Nominate::Keep,
            Preemption::Useless(_) => Nominate::Clear,
            Preemption::Possible(_) => found.best().map_or(Nominate::Keep, |best| Nominate::To(best.node.clone())),
        };
        if nominate == Nominate::Clear {
            desk.withdraw_nomination(pod);
        }
        let eviction = found.best().and_then(|best| self.nominate(desk, pod, best));
        Room { message, nominate, eviction }
    }

    /// Nominates a pod, at the cost of those below it that are nominated there.
    fn nominate(&self, desk: &mut Desk, pod: &Arc<Pod>, best: &Candidate) -> Option<Eviction> {
        desk.nominations.set(pod, &best.node);
        for lower in desk.nominations.below(&desk.catalog, &best.node, pod.priority) {
            // It may not fit beside the pod; told now, it looks for another place before the victims are gone.
            self.reporter.nominate(&lower, Nominate::Clear);
            desk.withdraw_nomination(&lower);
        }
        let victims: Vec<Arc<Pod>> = best.victims.iter().filter(|victim| !victim.deleting).cloned().collect();
        (!victims.is_empty()).then(|| Eviction { preemptor: pod.clone(), node: best.node.clone(), victims })
    }

    /// Asks the victims to go, beside the loop. Until then the pod stays in hand: tried again too early, it would look for
    /// victims elsewhere.
    pub(crate) fn evict(
        self: &Arc<Self>,
        eviction: Eviction,
        refused_by: BTreeSet<(Plugin, Code)>,
        trace: Option<Box<Trace>>,
    ) {
        let scheduler = self.clone();
        self.context.tasks.spawn("preemption", async move {
            let began = Instant::now();
            let requests = eviction.victims.iter().map(|victim| {
                let (scheduler, victim) = (scheduler.clone(), victim.clone());
                let (preemptor, node) = (eviction.preemptor.clone(), eviction.node.clone());
                async move { scheduler.ask_to_go(&preemptor, &node, &victim).await }
            });
            let requests: Vec<_> = requests.collect();
            let answers: Vec<Result<(), Error>> = stream::iter(requests).buffer_unordered(WIDTH).collect().await;
            let asked = answers.iter().all(Result::is_ok);
            scheduler.figures.made_room(asked, began.elapsed());
            if let Some(mut trace) = trace {
                trace.add(eviction.told(began, &answers));
            }
            for error in answers.into_iter().filter_map(Result::err) {
                tracing::warn!(pod = %eviction.preemptor.key, %error, "a victim of preemption stays for now");
            }
            scheduler.asked(&eviction, asked, refused_by);
        });
    }

    /// Lets the pod wait for its victims to go.
    fn asked(&self, eviction: &Eviction, all: bool, refused_by: BTreeSet<(Plugin, Code)>) {
        let pod = &eviction.preemptor;
        let mut desk = self.desk.lock();
        if !desk.catalog.pod(&pod.key).is_some_and(|known| known.uid == pod.uid && desk.is_ours(known)) {
            return;
        }
        match all {
            true => desk.refused(pod, &self.profile(pod).rules, &refused_by),
            false => desk.failed(pod),
        }
        self.work.notify_one();
    }

    async fn ask_to_go(&self, preemptor: &Pod, node: &Name, victim: &Pod) -> Result<(), Error> {
        let called_off = self.desk.lock().placements.call_off(victim, &format!("preempted by {PLUGIN}"));
        let asked = if called_off { Asked::CalledOff } else { self.remove(preemptor, victim).await? };
        let note = format!("Preempted by pod {} on node {node}", preemptor.uid);
        match asked {
            Asked::CalledOff => {
                self.reporter.preempted(victim, preemptor, &format!("{note} (in kube-scheduler memory)."))
            }
            Asked::Going => self.reporter.preempted(victim, preemptor, &note),
            Asked::Gone => {}
        }
        Ok(())
    }

    /// Says in a pod's status why it goes, and deletes it.
    async fn remove(&self, preemptor: &Pod, victim: &Pod) -> Result<Asked, Error> {
        let (namespace, name) = (&victim.key.namespace, &victim.key.name);
        let Some(seen) = self.world.pods.get(&victim.key).filter(|seen| *seen.metadata.uid == *victim.uid) else {
            return Ok(Asked::Gone);
        };
        let message = format!("{}: preempting to accommodate a higher priority pod", preemptor.scheduler);
        let marked = seen.status.conditions.iter().find(|c| c.kind == "DisruptionTarget" && c.status == "True");
        if !marked.is_some_and(|c| c.reason == "PreemptionByScheduler" && c.message == message) {
            let since = marked.map_or_else(|| self.reporter.now(), |c| c.last_transition_time.clone());
            let patch = json!({"metadata": {"uid": &*victim.uid}, "status": {"conditions": [{
                "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message,
                "lastProbeTime": null, "lastTransitionTime": since, "observedGeneration": seen.metadata.generation}]}});
            let objects = self.context.objects();
            match objects.merge_lists::<Value>(Resource::PODS, namespace, name, "status", &patch).await {
                Ok(_) => {}
                Err(error) if self.is_gone(victim, &error).await? => return Ok(Asked::Gone),
                Err(error) => return Err(error),
            }
        }
        let only_if = Preconditions { uid: Some(victim.uid.to_string()), ..Preconditions::default() };
        match self.context.objects().delete(Resource::PODS, namespace, name, &only_if).await {
            Ok(()) => Ok(Asked::Going),
            Err(error) if self.is_gone(victim, &error).await? => Ok(Asked::Gone),
            Err(error) => Err(error),
        }
    }

    /// Whether a request failed because the victim is not there any more. A conflict says that it is another of that name, or
    /// only that somebody else wrote at the same moment: whoever took the second for the first would wait for a pod to go that
    /// nobody has asked to.
    async fn is_gone(&self, victim: &Pod, error: &Error) -> Result<bool, Error> {
        match error {
            Error::NotFound(_) => Ok(true),
            Error::Conflict(_) => {
                let found: Option<ApiPod> =
                    self.context.objects().get(Resource::PODS, &victim.key.namespace, &victim.key.name).await?;
                Ok(found.is_none_or(|found| *found.metadata.uid != *victim.uid))
            }
            _ => Ok(false),
        }
    }
}
