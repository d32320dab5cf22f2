//! What would help: the smallest single changes that make a node fit where none does.
//!
//! Each family of changes is a module that looks at a node's refusals and proposes what might undo one. A proposal is only
//! a guess: it is told if, and only if, the pod fits on the node when it is decided about again with the change made
//! (`bench`). So a proposal may be generous, and none needs to know all the rules.

mod attaching;
mod bench;
mod labels;
mod pods;
mod resources;
mod space;
mod spread;
mod taints;
mod volumes;
mod whole;
mod words;

use crate::catalog::Catalog;
use crate::decide::{Decision, NodeDecision};
use crate::explain::{Patch, Remedy};
use crate::gates::Gates;
use crate::labels::Name;
use crate::model::Pod;
use crate::reason::Code;

use bench::{Bench, Change};

/// How many nodes are looked at: those with the fewest refusals, which a single change is likeliest to help.
const NODES: usize = 64;

/// Kinds of changes, the least invasive first: what only undoes a setting, then what adds to the cluster, then what
/// changes what nodes and pods say of themselves, then what takes something from somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Invasiveness {
    Ungate,
    Uncordon,
    Deselect,
    Restore,
    Space,
    AllowedTopology,
    NewVolume,
    Attaching,
    Label,
    Taint,
    Spread,
    Free,
    Lower,
    OtherPod,
}

/// A change that may make a node fit.
#[derive(Debug)]
struct Proposal {
    invasiveness: Invasiveness,
    /// How large the change is, among those of its kind.
    amount: i64,
    /// The node that should fit; `None` where it may be any.
    node: Option<Name>,
    words: String,
    patch: Option<Patch>,
    change: Change,
}

/// What the families look at: one node that refuses the pod.
struct Refused<'a> {
    pod: &'a Pod,
    node: &'a NodeDecision,
}

impl Refused<'_> {
    /// Whether one of the node's refusals has this code.
    fn by(&self, code: Code) -> bool {
        self.node.refusals.iter().any(|r| r.code == code)
    }

    /// A proposal for this node.
    fn proposal(&self, invasiveness: Invasiveness, amount: i64, words: String, change: Change) -> Proposal {
        Proposal { invasiveness, amount, node: Some(self.node.node.clone()), words, patch: None, change }
    }
}

impl Proposal {
    /// The same with the edit that makes the change.
    fn with_patch(mut self, patch: Patch) -> Self {
        self.patch = Some(patch);
        self
    }
}

/// A family: proposes changes for a node. It may use the bench to find out how large a change must be.
type Family = fn(&Refused<'_>, &mut Bench<'_>) -> Vec<Proposal>;

const FAMILIES: [Family; 8] = [
    taints::propose,
    labels::propose,
    resources::propose,
    space::propose,
    volumes::propose,
    attaching::propose,
    spread::propose,
    pods::propose,
];

/// The remedies for a pod that fits nowhere, the nearest first. The pod is not seated in the catalog.
pub(super) fn find(catalog: &Catalog, pod: &Pod, gates: Gates, decision: &Decision) -> Vec<Remedy> {
    let mut bench = Bench::new(catalog, pod, gates);
    let mut proposals: Vec<Proposal> = match &decision.rejection {
        Some(rejection) => whole::propose(pod, rejection, &bench),
        None => {
            let mut nodes: Vec<&NodeDecision> = decision.nodes.iter().collect();
            nodes.sort_by_key(|n| n.refusals.len());
            nodes.truncate(NODES);
            let refused = nodes.into_iter().map(|node| Refused { pod, node });
            refused.flat_map(|r| FAMILIES.iter().flat_map(|f| f(&r, &mut bench)).collect::<Vec<_>>()).collect()
        }
    };
    proposals.sort_by(|a, b| {
        (a.invasiveness, a.amount, &a.node, &a.words).cmp(&(b.invasiveness, b.amount, &b.node, &b.words))
    });
    let mut remedies: Vec<Remedy> = Vec::new();
    for Proposal { node, words, patch, change, .. } in proposals {
        if remedies.iter().any(|r| r.change == words || is_same_edit(r.patch.as_ref(), patch.as_ref())) {
            continue;
        }
        if let Some(node) = bench.prove(&change, node.as_ref()) {
            remedies.push(Remedy { node, change: words, patch });
        }
        if remedies.len() == Remedy::AT_MOST {
            break;
        }
    }
    remedies
}

/// Whether two patches edit the same field: one change that helps several nodes is told once, for the first of them, and of
/// several values for one field the nearest. Entries added to a list are different changes.
fn is_same_edit(a: Option<&Patch>, b: Option<&Patch>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let target = |p: &Patch| (p.kind, p.namespace.clone(), p.name.clone(), p.field.clone());
    target(a) == target(b) && (a.value == b.value || !a.field.ends_with("[-]"))
}
