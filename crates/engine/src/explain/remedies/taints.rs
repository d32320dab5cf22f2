//! Nodes that keep pods away: cordons and taints.

use crate::filters::tolerated;
use crate::labels::Name;
use crate::model::{Node, Taint, TaintEffect, Toleration};
use crate::object::{Kind, Object};
use crate::reason::Code;

use super::bench::{Bench, Change};
use super::words::{edit, edit_pod};
use super::{Invasiveness, Proposal, Refused};

/// The taint that follows from a cordon. It goes when the node is uncordoned.
const CORDON: &str = "node.kubernetes.io/unschedulable";
/// Taints of this domain show a node's condition: Kubernetes sets them, and removes them when the condition is mended.
const CONDITIONS: &str = "node.kubernetes.io/";

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let Some(row) = bench.catalog().nodes.by_name(&refused.node.node) else { return Vec::new() };
    let node = row.node();
    let mut proposals = Vec::new();
    if refused.by(Code::NODE_UNSCHEDULABLE) {
        proposals.push(uncordon(refused, node));
    }
    if refused.by(Code::TAINT) {
        let keeping_away = |t: &&Taint| {
            t.effect != TaintEffect::PreferNoSchedule && !tolerated(&refused.pod.tolerations, t) && &*t.key != CORDON
        };
        let taints: Vec<&Taint> = node.taints.iter().filter(keeping_away).collect();
        if let [taint] = taints[..] {
            proposals.push(untaint(refused, node, taint));
        }
        proposals.extend(tolerate(refused, &taints));
    }
    proposals
}

fn uncordon(refused: &Refused<'_>, node: &Node) -> Proposal {
    let taints = node.taints.iter().filter(|t| &*t.key != CORDON).cloned().collect();
    let uncordoned = Node { unschedulable: false, taints, ..node.clone() };
    let words = format!("{} uncordoned", node.name);
    let patch = edit(Kind::Node, &node.name, "spec.unschedulable", None);
    let change = Change::Set(vec![Object::Node(uncordoned)]);
    refused.proposal(Invasiveness::Uncordon, 0, words, change).with_patch(patch)
}

fn untaint(refused: &Refused<'_>, node: &Node, taint: &Taint) -> Proposal {
    let taints = node.taints.iter().filter(|t| *t != taint).cloned().collect();
    let change = Change::Set(vec![Object::Node(Node { taints, ..node.clone() })]);
    if taint.key.starts_with(CONDITIONS) {
        let words = format!("{} mended, so that it loses the taint {taint}", node.name);
        return refused.proposal(Invasiveness::Taint, 1, words, change);
    }
    let words = format!("taint {taint} removed from {}", node.name);
    let field = format!("spec.taints[key={},effect={:?}]", taint.key, taint.effect);
    refused.proposal(Invasiveness::Taint, 0, words, change).with_patch(edit(Kind::Node, &node.name, field, None))
}

/// One toleration for all of the taints, where they have one key. Conditions are not for tolerating.
fn tolerate(refused: &Refused<'_>, taints: &[&Taint]) -> Option<Proposal> {
    let first = taints.first()?;
    if first.key.starts_with(CONDITIONS) || taints.iter().any(|t| t.key != first.key) {
        return None;
    }
    let effect = Some(first.effect).filter(|e| taints.iter().all(|t| t.effect == *e));
    let same_value = taints.iter().all(|t| t.value == first.value);
    let (operator, value) = if same_value { ("Equal", first.value.clone()) } else { ("Exists", Name::default()) };
    let toleration = Toleration { key: first.key.clone(), operator: operator.into(), value, effect };
    let (mut what, mut json) =
        (first.key.to_string(), format!("{{\"key\":{:?},\"operator\":\"{operator}\"", first.key));
    if same_value && !first.value.is_empty() {
        what.push_str(&format!("={}", first.value));
        json.push_str(&format!(",\"value\":{:?}", first.value));
    }
    if let Some(effect) = effect {
        what.push_str(&format!(":{effect:?}"));
        json.push_str(&format!(",\"effect\":\"{effect:?}\""));
    }
    json.push('}');
    let mut pod = refused.pod.clone();
    pod.tolerations.push(toleration);
    let words = format!("pod {} tolerates {what}", refused.pod.key);
    let patch = edit_pod(refused.pod, "spec.tolerations[-]", Some(json));
    Some(refused.proposal(Invasiveness::Taint, 0, words, Change::Judge(Box::new(pod))).with_patch(patch))
}
