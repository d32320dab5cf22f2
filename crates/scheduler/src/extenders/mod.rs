//! HTTP extenders: processes elsewhere that have a say in where pods go, asked as kube-scheduler asks them.
//!
//! ```text
//!   nodes that fit ──► filter ──► filter ──► … one after the other, each given what the last left
//!                                              │ one node left: taken        │ none: refused, with the extenders' reasons
//!                                              ▼ several                     ▼
//!                                    prioritize, all at once          preempt: which victims will do
//!                                              │ scores added to ours
//!                                              ▼
//!                                           the best ──► volumes ──► bind, by the extender that does
//! ```
//!
//! While they are asked nothing is locked, so that what they were asked about may have changed: the node is judged once more
//! before it is taken (`cycle.rs`).

mod cycle;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use plimsoll_engine::collections::Set;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Pod;
use serde_json::Value;

use crate::config::ExtenderConfig;
use crate::traces::Calls;
pub(crate) use cycle::WholeNodes;
pub use transport::{Answer, Transport};
use wire::{Nodes, Victims};

/// A point of an extender is worth so many of ours: its scores end at ten, a plugin's at a hundred.
const SCALE: i64 = 10;

/// The extenders of a scheduler, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub struct Extenders {
    all: Arc<Vec<Extender>>,
}

/// One extender.
#[derive(Clone)]
pub struct Extender {
    config: ExtenderConfig,
    transport: Transport,
}

impl fmt::Debug for Extender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

/// What the extenders left of a pod's nodes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// The nodes that all of them accept, in the order they were given.
    pub(crate) nodes: Vec<Name>,
    /// Why others are refused, and whether removing pods could help there.
    pub(crate) refused: BTreeMap<Name, (String, bool)>,
}

/// What extenders are told of a pod and the nodes.
pub(crate) struct Case<'a> {
    pub(crate) pod: &'a Pod,
    /// The pod as the API server has it.
    pub(crate) whole: Value,
    /// Finds a node as the API server has it.
    pub(crate) node: &'a (dyn Fn(&Name) -> Option<Value> + Sync),
    /// Where it is said how long each of them took.
    pub(crate) calls: Calls,
}

impl Extenders {
    /// Extenders that are reached over the network.
    pub fn new(configs: &[ExtenderConfig]) -> Result<Self, String> {
        let one = |config: &ExtenderConfig| {
            let transport = transport::network(config.tls.as_ref());
            transport
                .map(|t| Extender::new(config.clone(), t))
                .map_err(|e| format!("extender {}: {e}", config.url_prefix))
        };
        configs.iter().map(one).collect::<Result<Vec<_>, _>>().map(Self::from)
    }

    /// Whether one of them has a say about a pod.
    pub fn concern(&self, pod: &Pod) -> bool {
        self.all.iter().any(|extender| extender.is_interested(pod))
    }

    /// Whether nodes are sent whole to any of them.
    pub(crate) fn need_nodes(&self) -> bool {
        self.all.iter().any(|extender| !extender.config.node_cache_capable)
    }

    fn interested<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = &'a Extender> {
        self.all.iter().filter(|extender| extender.is_interested(pod))
    }

    /// Which of the nodes they all accept.
    pub(crate) async fn filter(&self, case: &Case<'_>, nodes: Vec<Name>) -> Result<Left, String> {
        let mut left = Left { nodes, refused: BTreeMap::new() };
        for extender in self.interested(case.pod) {
            if left.nodes.is_empty() {
                break;
            }
            match extender.filter(case, &mut left).await {
                Err(error) if extender.config.ignorable => {
                    tracing::warn!(extender = extender.config.url_prefix, pod = %case.pod.key, error, "an extender is left out");
                }
                other => other?,
            }
        }
        Ok(left)
    }

    /// What they add to the scores of nodes. One that fails adds nothing.
    pub(crate) async fn prioritize(&self, case: &Case<'_>, nodes: &[Name]) -> BTreeMap<String, i64> {
        let asked = self.interested(case.pod).filter(|extender| extender.config.prioritize_verb.is_some());
        let answers = join_all(asked.map(async |extender| (extender, extender.prioritize(case, nodes).await))).await;
        let mut added: BTreeMap<String, i64> = BTreeMap::new();
        for (extender, answer) in answers {
            match answer {
                Ok(scores) => {
                    for (node, score) in scores {
                        let score = score.saturating_mul(extender.config.weight).saturating_mul(SCALE);
                        let sum = added.entry(node).or_default();
                        *sum = sum.saturating_add(score);
                    }
                }
                Err(error) => {
                    tracing::warn!(extender = extender.config.url_prefix, pod = %case.pod.key, error, "an extender gives no scores");
                }
            }
        }
        added
    }

    /// Has a pod bound by the first of them that binds; `None` where none of them did.
    pub(crate) async fn bound(&self, pod: &Pod, node: &str) -> Option<Result<(), String>> {
        for extender in self.interested(pod) {
            let Some(verb) = &extender.config.bind_verb else { continue };
            let args = wire::binding_args(&pod.key.namespace, &pod.key.name, &pod.uid, node);
            let answer = extender.send(verb, &args).await.and_then(|answer| wire::bound(&answer));
            match answer {
                Err(error) if extender.config.ignorable => {
                    tracing::warn!(extender = extender.config.url_prefix, pod = %pod.key, error, "an extender did not bind");
                }
                other => return Some(other),
            }
        }
        None
    }

    /// Whether one of them has a say about victims.
    pub(crate) fn preempt(&self, pod: &Pod) -> bool {
        self.interested(pod).any(|extender| extender.config.preempt_verb.is_some())
    }

    /// Whether victims are sent whole to one of them.
    pub(crate) fn need_victims(&self, pod: &Pod) -> bool {
        self.interested(pod).any(|e| e.config.preempt_verb.is_some() && !e.config.node_cache_capable)
    }

    /// Which candidates for preemption they all accept, each with the victims that they name.
    async fn preempted(
        &self,
        case: &Case<'_>,
        mut candidates: BTreeMap<Name, Victims>,
        whole: &BTreeMap<String, Value>,
    ) -> Result<BTreeMap<Name, Victims>, String> {
        for extender in self.interested(case.pod) {
            let Some(verb) = &extender.config.preempt_verb else { continue };
            let whole = (!extender.config.node_cache_capable).then_some(whole);
            let args = wire::preemption_args(&case.whole, &candidates, whole);
            let mut left = match extender.ask(case, "extender preempt", verb, &args).await {
                Ok(answer) => wire::preempted(&answer),
                Err(error) if extender.config.ignorable => {
                    tracing::warn!(extender = extender.config.url_prefix, pod = %case.pod.key, error, "an extender is left out");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if extender.config.ignorable {
                left.retain(|_, victims| !victims.uids.is_empty());
            } else if let Some((node, _)) = left.iter().find(|(_, victims)| victims.uids.is_empty()) {
                return Err(format!("expected at least one victim pod on node {:?}", &**node));
            }
            candidates = left;
            if candidates.is_empty() {
                break;
            }
        }
        Ok(candidates)
    }
}

impl From<Vec<Extender>> for Extenders {
    fn from(all: Vec<Extender>) -> Self {
        Self { all: Arc::new(all) }
    }
}

impl Extender {
    /// One that is reached by a way of its own.
    pub fn new(config: ExtenderConfig, transport: Transport) -> Self {
        Self { config, transport }
    }

    /// Whether it has a say about a pod: about all, or about those that ask for what it looks after. The API server copies
    /// limits to requests, so that requests tell.
    fn is_interested(&self, pod: &Pod) -> bool {
        let managed = &self.config.managed_resources;
        let asks = |name: &Name| managed.iter().any(|resource| *resource.name == **name);
        let mut containers = pod.demand.containers.iter().chain(&pod.demand.init_containers);
        managed.is_empty() || containers.any(|container| container.requests.keys().any(asks))
    }

    async fn filter(&self, case: &Case<'_>, left: &mut Left) -> Result<(), String> {
        let Some(verb) = &self.config.filter_verb else { return Ok(()) };
        let by_name = self.config.node_cache_capable;
        let args = wire::filter_args(&case.whole, self.nodes(case, &left.nodes));
        let answer = self.ask(case, "extender filter", verb, &args).await?;
        let answer = wire::filtered(&answer, by_name)?;
        let given: Set<&str> = left.nodes.iter().map(|node| &**node).collect();
        if let Some(unknown) = answer.nodes.iter().find(|name| !given.contains(name.as_str())) {
            let url = &self.config.url_prefix;
            return Err(format!(
                "extender {url:?} claims a filtered node {unknown:?} which is not found in the input node list"
            ));
        }
        drop(given);
        let kept: Set<&str> = answer.nodes.iter().map(String::as_str).collect();
        for gone in left.nodes.iter().filter(|node| !kept.contains(&***node)) {
            // In case it says no more of it.
            left.refused.insert(gone.clone(), (String::new(), true));
        }
        // One that is in both lists cannot be helped.
        for (reasons, helps) in [(answer.failed, true), (answer.unresolvable, false)] {
            for (node, why) in reasons {
                left.refused.insert(Name::from(node.as_str()), (why, helps));
            }
        }
        left.nodes.retain(|node| kept.contains(&**node));
        Ok(())
    }

    async fn prioritize(&self, case: &Case<'_>, nodes: &[Name]) -> Result<Vec<(String, i64)>, String> {
        let Some(verb) = &self.config.prioritize_verb else { return Ok(Vec::new()) };
        let args = wire::filter_args(&case.whole, self.nodes(case, nodes));
        wire::scores(&self.ask(case, "extender prioritize", verb, &args).await?)
    }

    fn nodes<'a>(&self, case: &Case<'_>, names: &'a [Name]) -> Nodes<'a> {
        if self.config.node_cache_capable {
            Nodes::Names(names.iter().map(|name| &**name).collect())
        } else {
            Nodes::Whole(names.iter().filter_map(case.node).collect())
        }
    }

    /// Asks one question of a case.
    async fn ask(&self, case: &Case<'_>, name: &'static str, verb: &str, args: &Value) -> Result<Value, String> {
        let began = case.calls.mark();
        let answer = self.send(verb, args).await;
        case.calls.add(name, began, &self.config.url_prefix, answer.as_ref().err());
        answer
    }

    /// Asks one question.
    async fn send(&self, verb: &str, args: &Value) -> Result<Value, String> {
        let url = format!("{}/{verb}", self.config.url_prefix.trim_end_matches('/'));
        let body = serde_json::to_vec(args).map_err(|error| error.to_string())?;
        let request = Request::post(&url).header("content-type", "application/json").body(Bytes::from(body));
        let request = request.map_err(|error| format!("{url}: {error}"))?;
        let answer = tokio::time::timeout(self.config.timeout, (self.transport)(request)).await;
        let (code, body) = answer
            .map_err(|_| format!("Post {url:?}: no answer within {} ms", self.config.timeout.as_millis()))?
            .map_err(|error| format!("Post {url:?}: {error}"))?;
        if code != StatusCode::OK {
            return Err(format!("failed {verb} with extender at URL {url}, code {}", code.as_u16()));
        }
        serde_json::from_slice(&body).map_err(|error| format!("{url}: the answer cannot be read: {error}"))
    }
}
