//! Compute resources: more of them free on the node, or less asked for.

use crate::labels::Name;
use crate::model::{Container, Node, Pod, Requests, Resources};
use crate::nodes::demand;
use crate::object::Object;
use crate::reason::Code;

use super::bench::{Bench, Change};
use super::words::{amount, edit_pod};
use super::{Invasiveness, Proposal, Refused};

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let Some(row) = bench.catalog().nodes.by_name(&refused.node.node) else { return Vec::new() };
    let mut proposals = Vec::new();
    if refused.by(Code::TOO_MANY_PODS) {
        let pods = i64::try_from(row.pods().len()).unwrap_or(i64::MAX);
        let more = pods.saturating_add(1).saturating_sub(row.node().allocatable.pods);
        proposals.push(more_of(refused, row.node(), "pods", more));
    }
    if refused.by(Code::INSUFFICIENT_RESOURCE) {
        let short = shortages(&demand::asked(refused.pod), row.requested(), &row.node().allocatable);
        // Two resources are two changes.
        if let [(resource, lacking)] = &short[..] {
            proposals.push(more_of(refused, row.node(), resource, *lacking));
            proposals.extend(ask_for_less(refused, resource, *lacking, row.node()));
        }
    }
    proposals
}

/// The resources that are short, and by how much.
fn shortages(asked: &Resources, taken: &Resources, has: &Resources) -> Vec<(Name, i64)> {
    let usual = [
        ("cpu", asked.cpu_milli, taken.cpu_milli, has.cpu_milli),
        ("memory", asked.memory, taken.memory, has.memory),
        ("ephemeral-storage", asked.ephemeral_storage, taken.ephemeral_storage, has.ephemeral_storage),
    ];
    let usual = usual.map(|(name, asked, taken, has)| (Name::from(name), asked, taken, has));
    let others = asked.scalar.iter().map(|(name, a)| (name.clone(), *a, taken.scalar(name), has.scalar(name)));
    let all = usual.into_iter().chain(others).filter(|(_, asked, ..)| *asked > 0);
    all.map(|(name, asked, taken, has)| (name, asked.saturating_sub(has.saturating_sub(taken))))
        .filter(|(_, lacking)| *lacking > 0)
        .collect()
}

/// So much more of a resource, free on the node: by whatever means, as no object has a field for it.
fn more_of(refused: &Refused<'_>, node: &Node, resource: &str, lacking: i64) -> Proposal {
    let mut allocatable = node.allocatable.clone();
    let slot = match resource {
        "cpu" => &mut allocatable.cpu_milli,
        "memory" => &mut allocatable.memory,
        "ephemeral-storage" => &mut allocatable.ephemeral_storage,
        "pods" => &mut allocatable.pods,
        other => allocatable.scalar.entry(other.into()).or_insert(0),
    };
    let size = share(lacking, *slot);
    *slot = slot.saturating_add(lacking);
    let words = match (resource, lacking) {
        ("pods", 1) => format!("room for 1 more pod on {}", node.name),
        ("pods", n) => format!("room for {n} more pods on {}", node.name),
        _ => format!("{} {resource} more free on {}", amount(resource, lacking), node.name),
    };
    let change = Change::Set(vec![Object::Node(Node { allocatable, ..node.clone() })]);
    refused.proposal(Invasiveness::Free, size, words, change)
}

/// How large a lack is: thousandths of what the node has, so that resources can be compared.
fn share(lacking: i64, has: i64) -> i64 {
    i64::try_from(i128::from(lacking) * 1000 / i128::from(has.max(1))).unwrap_or(i64::MAX)
}

/// The pod asks for less: where its requests are made as a whole, there; otherwise in the container that asks for most.
fn ask_for_less(refused: &Refused<'_>, resource: &Name, lacking: i64, node: &Node) -> Option<Proposal> {
    let pod = refused.pod;
    let less = amount(resource, lacking);
    let mut lowered = pod.clone();
    let (requests, whose, field) = place_to_ask(&mut lowered, resource)?;
    let asked = requests.get_mut(resource)?;
    let old = *asked;
    let new = old.checked_sub(less)?;
    if new.sign() <= 0 {
        return None;
    }
    *asked = new;
    let words = format!("{whose} of pod {} asks for {new} {resource} instead of {old}", pod.key);
    let patch = edit_pod(pod, format!("{field}.resources.requests[{resource}]"), Some(new.to_string()));
    let has = match &**resource {
        "cpu" => node.allocatable.cpu_milli,
        "memory" => node.allocatable.memory,
        "ephemeral-storage" => node.allocatable.ephemeral_storage,
        other => node.allocatable.scalar(other),
    };
    let change = Change::Judge(Box::new(lowered));
    Some(refused.proposal(Invasiveness::Lower, share(lacking, has), words, change).with_patch(patch))
}

/// Where a pod asks for a resource: the requests, whose they are, and the field.
fn place_to_ask<'p>(pod: &'p mut Pod, resource: &Name) -> Option<(&'p mut Requests, String, String)> {
    let demand = &mut pod.demand;
    if demand.pod_level.as_ref().is_some_and(|r| r.contains_key(resource)) {
        return demand.pod_level.as_mut().map(|r| (r, "the whole".to_owned(), "spec".to_owned()));
    }
    let containers = demand.containers.iter_mut().map(|c| (c, "containers"));
    let all = containers.chain(demand.init_containers.iter_mut().map(|c| (c, "initContainers")));
    let asked = |c: &Container| c.requests.get(resource).copied();
    let most = all.filter(|(c, _)| asked(c).is_some()).reduce(|a, b| if asked(b.0) > asked(a.0) { b } else { a });
    most.map(|(container, list)| {
        let field = format!("spec.{list}[name={}]", container.name);
        (&mut container.requests, format!("container {}", container.name), field)
    })
}
