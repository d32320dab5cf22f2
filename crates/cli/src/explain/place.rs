//! Where bound volumes are, in words: a pod that must follow its volume to a node that is gone waits until somebody knows that.

use std::collections::BTreeMap;

use plimsoll_engine::Catalog;
use plimsoll_engine::selector::{NodeSelector, NodeSelectorTerm, Requirement};

use crate::explain::report::Explanation;

const HOSTNAME: &str = "kubernetes.io/hostname";
/// A place that takes more words than this is left to `kubectl describe pv`.
const LONGEST: usize = 200;

/// Adds to each bound claim where its volume is.
pub fn add(explanation: &mut Explanation, catalog: &Catalog) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let claims = explanation.nodes.iter_mut().flat_map(|node| &mut node.claims);
    for claim in claims.filter(|claim| claim.outcome == "bound") {
        let Some(volume) = &claim.volume else { continue };
        let place = known.entry(volume.clone()).or_insert_with(|| place_of(catalog, volume).unwrap_or_default());
        claim.place.clone_from(place);
    }
}

/// Where a volume is; `None` where it can be reached from everywhere.
fn place_of(catalog: &Catalog, volume: &str) -> Option<String> {
    let affinity = catalog.observed_volume(volume)?.affinity.clone()?;
    let is_somewhere = catalog.nodes().iter().any(|row| affinity.matches_labels(&row.node().labels));
    if let Some(host) = host(&affinity) {
        let gone = if is_somewhere { "" } else { ", which is not among the nodes" };
        return Some(format!("on {host}{gone}"));
    }
    let terms: Option<Vec<String>> = affinity.terms().iter().flatten().map(term).collect();
    let nobody = if is_somewhere { "" } else { ", and no node is there" };
    let words = format!("where {}{nobody}", terms.filter(|terms| !terms.is_empty())?.join(", or "));
    (words.len() <= LONGEST).then_some(words)
}

/// The one node that a local volume names.
fn host(affinity: &NodeSelector) -> Option<&str> {
    let [Ok(term)] = affinity.terms() else { return None };
    let ([one], []) = (term.expressions(), term.fields()) else { return None };
    let [host] = one.in_values().filter(|_| &**one.key() == HOSTNAME)? else { return None };
    Some(host)
}

/// A term in words, where it is a list of values by key; others are left to `kubectl describe pv`, too.
fn term(term: &NodeSelectorTerm) -> Option<String> {
    let requirement = |requirement: &Requirement| {
        let values: Vec<&str> = requirement.in_values()?.iter().map(|value| &**value).collect();
        Some(format!("{} is {}", requirement.key(), values.join(" or ")))
    };
    let all: Option<Vec<String>> = term.expressions().iter().map(requirement).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.join(" and "))
}
