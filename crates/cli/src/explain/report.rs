//! The answer as data: field names and their order are a contract with scripts (`-o json`).

use std::collections::BTreeMap;

use plimsoll_engine::gates::Gate;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::reason::Refusal;
use plimsoll_engine::volumes::{ClaimPlan, Outcome};
use plimsoll_engine::{self as engine, Decision, NodeDecision, NodeDeviations};
use serde::Serialize;

/// The version of everything we write.
pub const API_VERSION: &str = "plimsoll.dev/v1";

/// Everything about one pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    api_version: &'static str,
    kind: &'static str,
    /// The pod.
    pub pod: PodName,
    /// Whether any node fits.
    pub schedulable: bool,
    /// The node that the scheduler would choose now.
    pub chosen_node: Option<String>,
    /// Why the pod fails as a whole.
    pub rejection: Option<Verdict>,
    /// The gate that kept the pod from being rejected as upstream rejects it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<&'static str>,
    /// Upstream's one-line message.
    pub summary: String,
    /// The nodes by name; empty where the pod is rejected.
    pub nodes: Vec<Node>,
    /// What would make a node fit; only where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedies: Option<Vec<Remedy>>,
}

/// Everything about every pod that has no node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationList {
    api_version: &'static str,
    kind: &'static str,
    /// The pods by namespace and name.
    pub items: Vec<Explanation>,
}

/// A pod's key.
#[derive(Debug, Serialize)]
pub struct PodName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// One reason why a pod does not fit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Verdict {
    /// Upstream's plugin.
    pub plugin: &'static str,
    /// The stable code.
    pub code: String,
    /// Upstream's words.
    pub reason: String,
    /// Ours.
    pub detail: String,
    /// The gate that made it, where upstream has no such verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<&'static str>,
}

/// One node's verdict.
#[derive(Debug, Serialize)]
pub struct Node {
    /// The node.
    pub name: String,
    /// Whether the pod fits.
    pub feasible: bool,
    /// The weighted total.
    pub score: Option<i64>,
    /// Each plugin's score, 0–100.
    pub scores: Option<BTreeMap<&'static str, i64>>,
    /// Why it does not fit.
    pub verdicts: Vec<Verdict>,
    /// What the claims would become.
    pub claims: Vec<Claim>,
    /// The gates that made any other difference from upstream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<&'static str>,
}

/// What a claim would become.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Claim {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// `bound`, `static`, `provision` or `unsatisfied`.
    pub outcome: &'static str,
    /// The volume it is, or would be, bound to.
    pub volume: Option<String>,
    /// Its class.
    pub class: String,
    /// Whether it does not exist yet and is taken as it will be made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Where the volume is that it is bound to, in words; for people only.
    #[serde(skip)]
    pub place: String,
}

/// A single change that would make a node fit.
#[derive(Debug, Serialize)]
pub struct Remedy {
    /// The node that would fit.
    pub node: String,
    /// The change in words.
    pub change: String,
    /// The change as an edit.
    pub patch: Option<Patch>,
}

/// An edit of one field of one object.
#[derive(Debug, Serialize)]
pub struct Patch {
    /// The object's kind.
    pub kind: &'static str,
    /// The object's namespace; null where its kind has none.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// The field.
    pub field: String,
    /// Its new value; null removes it.
    pub value: Option<String>,
}

impl ExplanationList {
    /// A list of what was explained.
    pub fn new(items: Vec<Explanation>) -> Self {
        Self { api_version: API_VERSION, kind: "ExplanationList", items }
    }
}

impl Explanation {
    /// What the engine says about a pod, in a cluster of so many nodes.
    pub fn new(pod: &ObjectKey, from: &engine::Explanation, node_count: usize) -> Self {
        let deviation = from.rejection_deviation.map(Gate::name);
        let nodes = from.decision.nodes.iter().enumerate().map(|(i, node)| Node::new(node, from.nodes.get(i)));
        let mut explanation = Self::brief(pod, &from.decision, node_count);
        explanation.nodes = nodes.collect();
        match &mut explanation.rejection {
            Some(rejection) => rejection.deviation = deviation,
            None => explanation.deviation = deviation,
        }
        if !explanation.schedulable {
            explanation.remedies = Some(from.remedies.iter().map(Remedy::new).collect());
        }
        explanation
    }

    /// The answer by itself, without nodes, differences and remedies.
    pub fn brief(pod: &ObjectKey, decision: &Decision, node_count: usize) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Explanation",
            pod: PodName { namespace: pod.namespace.to_string(), name: pod.name.to_string() },
            schedulable: decision.chosen.is_some(),
            chosen_node: decision.chosen.as_deref().map(str::to_owned),
            rejection: decision.rejection.as_ref().map(|r| Verdict::new(r, None)),
            deviation: None,
            summary: decision.summary(node_count),
            nodes: Vec::new(),
            remedies: None,
        }
    }
}

impl Verdict {
    fn new(from: &Refusal, deviation: Option<&'static str>) -> Self {
        Self {
            plugin: from.plugin.name(),
            code: from.code.to_string(),
            reason: from.reason.to_string(),
            detail: from.detail.clone(),
            deviation,
        }
    }
}

impl Node {
    fn new(from: &NodeDecision, deviations: Option<&NodeDeviations>) -> Self {
        let gate = |i: usize| deviations?.refusals.get(i).copied().flatten().map(Gate::name);
        let scores = from.scores.as_ref();
        Self {
            name: from.node.to_string(),
            feasible: from.is_feasible(),
            score: from.total,
            scores: scores.map(|s| s.iter().map(|(plugin, score)| (plugin.name(), *score)).collect()),
            verdicts: from.refusals.iter().enumerate().map(|(i, r)| Verdict::new(r, gate(i))).collect(),
            claims: from.plan.claims.iter().map(Claim::new).collect(),
            deviations: deviations.map_or(&[][..], |d| &d.gates).iter().map(|g| g.name()).collect(),
        }
    }
}

impl Claim {
    fn new(from: &ClaimPlan) -> Self {
        let outcome = match from.outcome {
            Outcome::Bound => "bound",
            Outcome::Static => "static",
            Outcome::Provision => "provision",
            Outcome::Unsatisfied => "unsatisfied",
        };
        Self {
            namespace: from.claim.namespace.to_string(),
            name: from.claim.name.to_string(),
            outcome,
            volume: from.volume.as_deref().map(str::to_owned),
            class: from.class.to_string(),
            assumed: from.forecast,
            place: String::new(),
        }
    }
}

impl Remedy {
    fn new(from: &engine::Remedy) -> Self {
        let patch = from.patch.as_ref().map(|p| Patch {
            kind: p.kind,
            namespace: p.namespace.as_deref().map(str::to_owned),
            name: p.name.to_string(),
            field: p.field.clone(),
            value: p.value.clone(),
        });
        Self { node: from.node.to_string(), change: from.change.clone(), patch }
    }
}
