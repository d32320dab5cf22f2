//! The cycle of a pod that extenders have a say about: the desk is locked to see which nodes fit, not while they are asked, and again
//! to take what they left. Other pods wait for it, as they do in upstream's cycle: who comes first chooses first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use plimsoll_api::kinds::Node;
use plimsoll_engine::collections::Set;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::nodes::NodeIndex;
use plimsoll_engine::placement::Write;
use plimsoll_engine::preemption::{Candidate, Preemption};
use plimsoll_engine::reason::{Code, Plugin, Refusal, Status};
use plimsoll_engine::{Catalog, Choice};
use plimsoll_runtime::{Context, Mirror, Resource, Selection, Whole, reflect};
use serde_json::Value;

use super::wire::{self, Victims};
use super::{Case, Extenders, Left};
use crate::Inner;
use crate::binding::{Assumed, Unwritten};
use crate::desk::Desk;
use crate::nominations::Refused;
use crate::traces::Calls;

/// How many victims are read at a time.
const WIDTH: usize = 16;
/// What is said of a node that an extender leaves out without a word.
const WITHOUT_A_WORD: &str = "node(s) were left out by an extender";

/// The nodes as the API server has them: for extenders that do not know them. Nobody else needs them whole.
#[derive(Clone, Default)]
pub(crate) struct WholeNodes(Option<Arc<Mirror<Whole<Node>>>>);

impl WholeNodes {
    pub(crate) fn start(context: &Context, extenders: &Extenders, relist: std::time::Duration) -> Self {
        if !extenders.need_nodes() {
            return Self(None);
        }
        let mirror: Arc<Mirror<Whole<Node>>> = Arc::default();
        reflect(context, &mirror, Selection { relist, ..Selection::default() });
        Self(Some(mirror))
    }

    pub(crate) async fn synced(&self) {
        if let Some(mirror) = &self.0 {
            mirror.synced().await;
        }
    }

    fn get(&self, name: &Name) -> Option<Value> {
        self.0.as_ref()?.named(name).map(|node| wire::sent(node.value()))
    }
}

/// What the extenders made of a pod's nodes.
enum Asked {
    /// These will do, the best first.
    Take(Vec<Name>),
    /// None will.
    Refused(Left),
}

impl Inner {
    /// One pod's cycle.
    pub(crate) async fn schedule_extended(self: &Arc<Self>, pod: Arc<Pod>) {
        let whole = match self.context.objects().get(Resource::PODS, &pod.key.namespace, &pod.key.name).await {
            Ok(Some(whole)) => wire::sent(whole),
            Ok(None) => return self.desk.lock().done(&pod),
            Err(error) => return self.fail(&mut self.desk.lock(), &pod, &format!("reading the pod: {error}")),
        };
        let node = |name: &Name| self.nodes.get(name);
        let case = Case { pod: &pod, whole, node: &node, calls: Calls::new(&self.context.spans) };
        let (ranked, nominated) = {
            let mut desk = self.desk.lock();
            // What changes while they are asked is not to be missed.
            desk.queue.judging(&pod.key);
            let nominated = desk.nominations.of(&pod).cloned();
            let began = case.calls.mark();
            let ranked = desk.rank(&pod, &self.profile(&pod).rules);
            self.passed(&mut desk, &pod, "rank", began);
            (ranked, nominated)
        };
        let asked = match ranked {
            Ok(ranked) => self.ask(&case, ranked, nominated).await,
            Err(_) => Ok(Asked::Refused(Left::default())),
        };
        let refused = {
            let mut desk = self.desk.lock();
            desk.journal.add(&pod, case.calls.take());
            if !desk.has(&pod) {
                return desk.done(&pod);
            }
            match asked {
                Err(error) => return self.fail(&mut desk, &pod, &error),
                Ok(Asked::Take(order)) => return self.take_first(&mut desk, &pod, &order),
                Ok(Asked::Refused(left)) => {
                    // The desk as it is by now, with what the extenders said.
                    let mut refused = desk.beside(&pod, &self.profile(&pod).rules);
                    refused.beside.extend(left.refusals(&desk.catalog));
                    refused
                }
            }
        };
        self.refuse_extended(&case, &refused).await;
    }

    /// Asks which nodes will do, and how good they are: first about the node that the pod is nominated to alone.
    async fn ask(&self, case: &Case<'_>, ranked: Vec<(Name, i64)>, nominated: Option<Name>) -> Result<Asked, String> {
        let extenders = &self.options.extenders;
        if let Some(node) = nominated.filter(|node| ranked.iter().any(|(name, _)| name == node)) {
            match extenders.filter(case, vec![node]).await {
                Ok(left) if !left.nodes.is_empty() => return Ok(Asked::Take(left.nodes)),
                Ok(_) => {}
                Err(error) => tracing::warn!(pod = %case.pod.key, error, "the nominated node cannot be asked about"),
            }
        }
        let left = extenders.filter(case, ranked.iter().map(|(node, _)| node.clone()).collect()).await?;
        match left.nodes.len() {
            0 => return Ok(Asked::Refused(left)),
            // Upstream does not ask how good the only one is.
            1 => return Ok(Asked::Take(left.nodes)),
            _ => {}
        }
        let added = extenders.prioritize(case, &left.nodes).await;
        let accepted: Set<&Name> = left.nodes.iter().collect();
        let mut totals: Vec<(Reverse<i64>, Name)> = ranked
            .into_iter()
            .filter(|(node, _)| accepted.contains(node))
            .map(|(node, total)| {
                let more = added.get(&*node).copied().unwrap_or(0);
                (Reverse(total.saturating_add(more)), node)
            })
            .collect();
        totals.sort_unstable();
        Ok(Asked::Take(totals.into_iter().map(|(_, node)| node).collect()))
    }

    /// Takes the best node that still fits: others may have been placed, or things changed, while the extenders were asked.
    fn take_first(self: &Arc<Self>, desk: &mut Desk, pod: &Arc<Pod>, order: &[Name]) {
        let taken: Set<NodeIndex> =
            desk.beside(pod, &self.profile(pod).rules).beside.iter().map(|(index, _)| *index).collect();
        let free = |node: &&Name| desk.catalog.nodes().by_name(node).is_some_and(|row| !taken.contains(&row.index()));
        let choice = order.iter().filter(free).find_map(|node| {
            let plan = desk.catalog.plan_on(pod, &self.profile(pod).rules, node)?;
            Some(Choice { node: node.clone(), plan, feasible: order.len(), score: None })
        });
        match choice {
            Some(choice) => {
                desk.queue.judged(&pod.key);
                self.place(desk, pod, choice);
            }
            None => self.fail(desk, pod, "the nodes that the extenders accepted do not fit any more"),
        }
    }

    /// The pod fits nowhere. Where room can be made, extenders may have a say about who goes.
    async fn refuse_extended(self: &Arc<Self>, case: &Case<'_>, refused: &Refused) {
        let (pod, diagnosis, candidates) = {
            let mut desk = self.desk.lock();
            // As it is by now: it was there a moment ago.
            let Some(pod) = desk.catalog.pod(&case.pod.key).cloned() else { return };
            let Some((diagnosis, found)) = self.diagnose(&mut desk, &pod, refused) else { return };
            if diagnosis.refused_by.is_empty() {
                // The nodes that were refused are gone, and nobody was asked about those that are there now.
                return self.fail(&mut desk, &pod, "the nodes changed while the extenders were asked");
            }
            let candidates = match &found {
                Ok(Preemption::Possible(candidates)) if self.options.extenders.preempt(&pod) => candidates.clone(),
                found => return self.settle(&mut desk, &pod, diagnosis, found),
            };
            (pod, diagnosis, candidates)
        };
        let accepted = self.ask_about_victims(case, &candidates).await;
        let mut desk = self.desk.lock();
        desk.journal.add(&pod, case.calls.take());
        if !desk.has(&pod) {
            return desk.done(&pod);
        }
        let found = match accepted.and_then(|accepted| candidates_of(&desk.catalog, &accepted)) {
            Ok(candidates) if candidates.is_empty() => {
                Preemption::Useless("no candidate node for preemption".to_owned())
            }
            Ok(candidates) => Preemption::Possible(candidates),
            Err(error) => Preemption::Failed(error),
        };
        self.settle(&mut desk, &pod, diagnosis, &Ok(found));
    }

    async fn ask_about_victims(
        &self,
        case: &Case<'_>,
        candidates: &[Candidate],
    ) -> Result<BTreeMap<Name, Victims>, String> {
        let extenders = &self.options.extenders;
        let mut whole = BTreeMap::new();
        if extenders.need_victims(case.pod) {
            let victims = candidates.iter().flat_map(|candidate| candidate.victims.iter().cloned());
            let objects = self.context.objects();
            let reads = victims.map(|victim| {
                let objects = objects.clone();
                async move {
                    let (namespace, name) = (&victim.key.namespace, &victim.key.name);
                    (victim.uid.to_string(), objects.get::<Value>(Resource::PODS, namespace, name).await)
                }
            });
            let reads: Vec<_> = reads.collect();
            let mut answers = stream::iter(reads).buffer_unordered(WIDTH);
            while let Some((uid, read)) = answers.next().await {
                if let Some(pod) = read.map_err(|error| format!("reading a victim: {error}"))? {
                    whole.insert(uid, wire::sent(pod));
                }
            }
        }
        let asked = candidates.iter().map(|candidate| {
            let uids = candidate.victims.iter().map(|victim| victim.uid.to_string()).collect();
            let violations = i64::try_from(candidate.violations).unwrap_or(i64::MAX);
            (candidate.node.clone(), Victims { uids, violations })
        });
        extenders.preempted(case, asked.collect(), &whole).await
    }

    /// Makes one write of a placement; a pod is bound by the extender that does that.
    pub(crate) async fn write_for(&self, assumed: &Assumed, write: Write) -> Result<Version, Unwritten> {
        if let Write::BindPod { pod, uid, node } = &write
            && let Some(answer) = self.options.extenders.bound(&assumed.pod, &assumed.node).await
        {
            return match answer {
                Ok(()) => Ok(0),
                // Its answer may have been lost, and not the binding.
                Err(_) if self.is_bound(pod, uid, node).await => Ok(0),
                Err(why) => Err(Unwritten::Refused(why)),
            };
        }
        self.write(write).await
    }
}

impl Left {
    /// The nodes that extenders refused, as the engine counts them.
    fn refusals(&self, catalog: &Catalog) -> Vec<(NodeIndex, Vec<Refusal>)> {
        let refusal = |(node, (why, helps)): (&Name, &(String, bool))| {
            let index = catalog.nodes().by_name(node)?.index();
            let reason = if why.is_empty() { WITHOUT_A_WORD } else { why };
            let status = if *helps { Status::Unschedulable } else { Status::UnschedulableAndUnresolvable };
            let detail = format!("an extender refuses {node}");
            let reason = reason.to_owned().into();
            Some((index, vec![Refusal { plugin: Plugin::Extender, code: Code::EXTENDER, status, reason, detail }]))
        };
        self.refused.iter().filter_map(refusal).collect()
    }
}

/// The pods that extenders named as victims, where they are still on their nodes.
fn candidates_of(catalog: &Catalog, accepted: &BTreeMap<Name, Victims>) -> Result<Vec<Candidate>, String> {
    let mut all = Vec::new();
    for (node, victims) in accepted {
        let row =
            catalog.nodes().by_name(node).ok_or_else(|| format!("nodeinfo not found for node name {:?}", &**node))?;
        let find = |uid: &String| {
            let placed = row.pods().iter().find(|placed| *placed.pod().uid == **uid);
            placed.map(|placed| placed.pod().clone()).ok_or_else(|| {
                format!("an extender claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found on that node")
            })
        };
        let pods = victims.uids.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let violations = usize::try_from(victims.violations).unwrap_or(0);
        all.push(Candidate { node: node.clone(), victims: pods, violations });
    }
    Ok(all)
}
