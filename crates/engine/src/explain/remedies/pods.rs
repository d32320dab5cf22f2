//! A single other pod that is in the way.

use std::collections::BTreeSet;

use crate::filters::{existing_matches, incoming, readable};
use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{AccessModes, Pod, PodVolumeSource};
use crate::nodes::NodeRow;
use crate::object::Kind;
use crate::reason::{Code, Status};

use super::bench::{Bench, Change};
use super::words::edit_in;
use super::{Invasiveness, Proposal, Refused};

/// How many pods of a node are tried, those of the lowest priority first.
const PODS: usize = 20;

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let Some(row) = bench.catalog().nodes.by_name(&refused.node.node) else { return Vec::new() };
    let mut proposals = Vec::new();
    if refused.node.refusals.iter().any(|r| r.status != Status::Unschedulable) {
        // What upstream would not preempt pods for does not change when one leaves.
        return proposals;
    }
    let by = |codes: &[Code]| codes.iter().any(|code| refused.by(*code));
    if by(&[Code::INSUFFICIENT_RESOURCE, Code::TOO_MANY_PODS, Code::HOST_PORT, Code::DISK_CONFLICT, Code::ATTACH_LIMIT])
    {
        proposals.extend(here(refused, row));
    }
    // Where several pods are in the way of one rule, taking one away helps nobody.
    let in_the_way = if refused.by(Code::READ_WRITE_ONCE_POD) {
        users(refused.pod, bench)
    } else if by(&[Code::POD_ANTI_AFFINITY, Code::EXISTING_ANTI_AFFINITY]) {
        too_near(refused.pod, row, bench)
    } else {
        BTreeSet::new()
    };
    if in_the_way.len() == 1 {
        proposals.extend(in_the_way.into_iter().map(|(key, place)| gone(refused, &key, &place, 0)));
    }
    proposals
}

fn gone(refused: &Refused<'_>, pod: &ObjectKey, place: &Name, amount: i64) -> Proposal {
    let words = format!("pod {pod} not on {place}");
    let patch = edit_in(Kind::Pod, pod, ".", None);
    refused.proposal(Invasiveness::OtherPod, amount, words, Change::WithoutPod(pod.clone())).with_patch(patch)
}

/// The pods of the node, the least important and smallest first.
fn here(refused: &Refused<'_>, row: &NodeRow) -> Vec<Proposal> {
    let mut pods: Vec<_> = row.pods().iter().filter(|p| p.pod().priority <= refused.pod.priority).collect();
    pods.sort_by_key(|p| (p.pod().priority, p.held().resources.cpu_milli, p.held().resources.memory));
    let node = &row.node().name;
    pods.iter().take(PODS).enumerate().map(|(at, p)| gone(refused, &p.pod().key, node, at as i64)).collect()
}

/// The placed pods that use a ReadWriteOncePod claim of the pod, with their nodes.
fn users(pod: &Pod, bench: &Bench<'_>) -> BTreeSet<(ObjectKey, Name)> {
    let volumes = &bench.catalog().volumes;
    let names = pod.volumes.iter().filter_map(|v| match &v.source {
        PodVolumeSource::Claim { name } => Some(ObjectKey { namespace: pod.key.namespace.clone(), name: name.clone() }),
        _ => None,
    });
    let exclusive = names.filter(|key| {
        volumes.claims.get(key).is_some_and(|r| r.claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD))
    });
    let users = exclusive.flat_map(|key| volumes.users.get(&key).into_iter().flatten());
    users.filter(|u| u.plain && u.pod != pod.key).map(|u| (u.pod.clone(), u.node.clone())).collect()
}

/// The pods in the node's domains that must be apart from the pod, or it from them.
fn too_near(pod: &Pod, row: &NodeRow, bench: &Bench<'_>) -> BTreeSet<(ObjectKey, Name)> {
    let view = bench.catalog().view();
    let terms = incoming(pod, &pod.required_anti_affinity, &view).unwrap_or_default();
    let none = Labels::default();
    let namespace_labels = view.namespace_labels(&pod.key.namespace).unwrap_or(&none);
    let labels = &row.node().labels;
    let mut found = BTreeSet::new();
    for other in view.nodes.iter() {
        let near = |key: &str| labels.get(key).is_some() && labels.get(key) == other.node().labels.get(key);
        let place = &other.node().name;
        for term in terms.iter().filter(|t| near(t.topology_key)) {
            let meant = other.pods().iter().map(|p| p.pod()).filter(|p| term.matches(&p.key.namespace, &p.labels));
            found.extend(meant.map(|p| (p.key.clone(), place.clone())));
        }
        for owner in other.with_anti_affinity() {
            let mut keeping_out = readable(&owner.required_anti_affinity).iter().filter(|t| near(&t.topology_key));
            if keeping_out.any(|t| existing_matches(t, owner, pod, namespace_labels)) {
                found.insert((owner.key.clone(), place.clone()));
            }
        }
    }
    found
}
