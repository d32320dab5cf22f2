//! Space for volumes to be made: more of it in a pool that the node reaches, larger volumes from it, or a pool at all.

use crate::labels::{Name, ObjectKey};
use crate::model::Pool;
use crate::object::{Kind, Object};
use crate::quantity::Quantity;
use crate::reason::Code;
use crate::selector::LabelSelector;

use super::bench::{Bench, Change};
use super::volumes::Wanted;
use super::words::{bytes, edit_in, place};
use super::{Invasiveness, Proposal, Refused};

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    if !refused.by(Code::NOT_ENOUGH_STORAGE) {
        return Vec::new();
    }
    let mut classes: Vec<Name> = Wanted::unsatisfied(refused, bench).into_iter().map(|w| w.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut proposals = Vec::new();
    for class in classes {
        let pools = reachable(&class, &refused.node.node, bench);
        if pools.is_empty() {
            proposals.extend(new_pool(refused, &class, bench));
        }
        for pool in pools {
            proposals.extend(more_space(refused, &pool, bench));
            proposals.extend(larger_volumes(refused, &pool, bench));
        }
    }
    proposals
}

/// The pools of a class that the node can reach.
fn reachable(class: &str, node: &str, bench: &Bench<'_>) -> Vec<Pool> {
    let volumes = &bench.catalog().volumes;
    let (Some(pools), Some(&index)) = (volumes.pools.of_class(class), volumes.nodes.get(node)) else {
        return Vec::new();
    };
    pools.at(index, &volumes.topologies).map(|(_, record)| record.pool.clone()).collect()
}

/// Everything that the pod's claims could want together: no pool needs more than that beyond what it has promised.
fn everything(refused: &Refused<'_>, bench: &Bench<'_>) -> i64 {
    let wanted = Wanted::of_pod(refused.pod, bench);
    wanted.iter().fold(0i64, |sum, w| sum.saturating_add(w.bytes()))
}

fn more_space(refused: &Refused<'_>, pool: &Pool, bench: &mut Bench<'_>) -> Option<Proposal> {
    let has = pool.capacity.map_or(0, |q| q.value());
    // Beyond what the pod wants, what is promised to others may be lacking: that is not known here, so look far.
    let high = i64::MAX / 2 - has.clamp(0, i64::MAX / 2);
    let with = |more: i64| {
        let capacity = Some(Quantity::from_bytes(has.saturating_add(more)));
        Change::Set(vec![Object::Pool(Pool { capacity, ..pool.clone() })])
    };
    let more = less_than_before(refused, pool, "capacity", (1, high), bench, &with)?;
    let words = format!("{} more free space for class {}{}", bytes(more), pool.class, where_is(pool));
    let patch = edit_in(Kind::CsiStorageCapacity, &pool.key, "capacity", Some(bytes(has.saturating_add(more))));
    Some(refused.proposal(Invasiveness::Space, more, words, with(more)).with_patch(patch))
}

fn larger_volumes(refused: &Refused<'_>, pool: &Pool, bench: &mut Bench<'_>) -> Option<Proposal> {
    let now = pool.maximum_volume_size?.value();
    let high = everything(refused, bench);
    let with = |size: i64| {
        let maximum_volume_size = Some(Quantity::from_bytes(size));
        Change::Set(vec![Object::Pool(Pool { maximum_volume_size, ..pool.clone() })])
    };
    let range = (now.saturating_add(1), high);
    let size = less_than_before(refused, pool, "maximumVolumeSize", range, bench, &with)?;
    let words = format!("volumes of up to {} for class {}{}", bytes(size), pool.class, where_is(pool));
    let patch = edit_in(Kind::CsiStorageCapacity, &pool.key, "maximumVolumeSize", Some(bytes(size)));
    let more = size.saturating_sub(now);
    Some(refused.proposal(Invasiveness::Space, more, words, with(size)).with_patch(patch))
}

/// The smallest number that is enough for this node, where that is less than for the nodes before: the same change is told
/// once, and most nodes that reach a pool lack the same.
fn less_than_before(
    refused: &Refused<'_>,
    pool: &Pool,
    field: &'static str,
    (low, high): (i64, i64),
    bench: &mut Bench<'_>,
    change: &dyn Fn(i64) -> Change,
) -> Option<i64> {
    let known = (pool.key.clone(), field);
    let high = bench.enough.get(&known).map_or(high, |enough| enough.saturating_sub(1).min(high));
    let found = bench.smallest(low, high, &refused.node.node, change)?;
    bench.enough.insert(known, found);
    Some(found)
}

/// A pool for a class that has none here.
fn new_pool(refused: &Refused<'_>, class: &Name, bench: &mut Bench<'_>) -> Option<Proposal> {
    let labels = &bench.catalog().nodes.by_name(&refused.node.node)?.node().labels;
    let topology = LabelSelector::from_set(labels);
    let with = |size: i64| {
        let pool = Pool {
            key: ObjectKey::new("plimsoll.dev", "new pool"),
            version: 0,
            class: class.clone(),
            topology: Some(topology.clone()),
            capacity: Some(Quantity::from_bytes(size)),
            maximum_volume_size: None,
        };
        Change::Set(vec![Object::Pool(pool)])
    };
    let high = everything(refused, bench);
    let size = bench.smallest(0, high, &refused.node.node, with)?;
    let words =
        format!("a pool with {} of free space for class {class} within reach of {}", bytes(size), refused.node.node);
    Some(refused.proposal(Invasiveness::Space, size, words, with(size)))
}

fn where_is(pool: &Pool) -> String {
    pool.topology.as_ref().map(place).unwrap_or_default()
}
