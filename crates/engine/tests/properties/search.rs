//! With the gates on, a node is accepted exactly where some assignment of its claims works.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Claim, Node, Pod};
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::volumes::Outcome;
use plimsoll_engine::{Catalog, Event};
use proptest::prelude::*;

use crate::dice::dice;
use crate::generate::{cluster, judged};
use crate::reference::{Cluster, is_candidate, reachable, suits};

/// What a claim may become on a node.
#[derive(Clone, Debug, PartialEq)]
enum Way {
    Volume(Name),
    Pool(ObjectKey),
    Unchecked,
}

struct Search<'c> {
    cluster: &'c Cluster,
    /// What is free in each pool that says what it has, after promises to other pods' claims.
    free: BTreeMap<ObjectKey, i64>,
}

impl<'c> Search<'c> {
    fn new(cluster: &'c Cluster, own: &[&Claim]) -> Self {
        let capacity = cluster.pools.values().filter_map(|p| Some((p.key.clone(), p.capacity?.value())));
        let mut free: BTreeMap<ObjectKey, i64> = capacity.collect();
        // Promises without a choice of pools are booked first; the others, by key, where there is room beside them.
        for with_choice in [false, true] {
            for claim in cluster.claims.values().filter(|c| c.volume.is_empty() && !own.iter().any(|o| o.key == c.key))
            {
                let node = claim.selected_node.as_ref().and_then(|n| cluster.nodes.get(n));
                let (Some(node), Some(request)) = (node, claim.request) else { continue };
                let near = |t: &plimsoll_engine::selector::LabelSelector| t.matches(&node.labels);
                let here = || {
                    cluster.pools.values().filter(|p| p.class == claim.class && p.topology.as_ref().is_some_and(near))
                };
                let mut able: Vec<&ObjectKey> = here()
                    .filter(|p| p.limit().is_some_and(|l| l.value() >= request.value()))
                    .map(|p| &p.key)
                    .collect();
                if able.is_empty() {
                    able.extend(here().map(|p| &p.key).next());
                }
                if (able.len() > 1) != with_choice {
                    continue;
                }
                let has_room = |key: &&&ObjectKey| free.get(**key).is_none_or(|left| *left >= request.value());
                let Some(pool) = able.iter().find(has_room).or(able.first()).copied() else { continue };
                if let Some(left) = free.get_mut(pool) {
                    *left -= request.value();
                }
            }
        }
        Self { cluster, free }
    }

    fn ways(&self, claim: &Claim, node: &Node) -> Vec<Way> {
        let mut ways = Vec::new();
        if claim.selected_node.is_none() {
            let mut reserved = self.cluster.volumes.values().filter(|v| {
                v.class == claim.class
                    && suits(v, claim)
                    && v.claim_ref.as_ref().is_some_and(|r| r.is_to(&claim.key, &claim.uid))
            });
            if let Some(first) = reserved.next() {
                ways.extend(reachable(first, node).then(|| Way::Volume(first.name.clone())));
            } else {
                let free = self.cluster.volumes.values().filter(|v| {
                    v.claim_ref.is_none() && suits(v, claim) && is_candidate(v, claim) && reachable(v, node)
                });
                ways.extend(free.map(|v| Way::Volume(v.name.clone())));
            }
        }
        let class = &self.cluster.classes[&claim.class];
        if !class.provisions() || !class.allowed_topologies.matches(&node.labels) {
            return ways;
        }
        let driver = self.cluster.drivers.get(&class.provisioner);
        if claim.request.is_none() || !driver.is_some_and(|d| d.storage_capacity) {
            ways.push(Way::Unchecked);
            return ways;
        }
        let pools = self.cluster.pools.values().filter(|p| {
            p.class == claim.class
                && p.topology.as_ref().is_some_and(|t| t.matches(&node.labels))
                && p.limit().is_some_and(|l| l.value() >= claim.requested().value())
        });
        ways.extend(pools.map(|p| Way::Pool(p.key.clone())));
        ways
    }

    /// Whether the claims can all be met, each in one of its ways.
    fn solve(
        &self,
        claims: &[(&Claim, Vec<Way>)],
        taken: &mut BTreeSet<Name>,
        used: &mut BTreeMap<ObjectKey, i64>,
    ) -> bool {
        let Some(((claim, ways), rest)) = claims.split_first() else { return true };
        let bytes = claim.requested().value();
        ways.iter().any(|way| match way {
            Way::Unchecked => self.solve(rest, taken, used),
            Way::Volume(volume) => {
                if !taken.insert(volume.clone()) {
                    return false;
                }
                let solved = self.solve(rest, taken, used);
                taken.remove(volume);
                solved
            }
            Way::Pool(pool) => {
                let before = used.get(pool).copied().unwrap_or(0);
                if self.free.get(pool).is_some_and(|free| before + bytes > *free) {
                    return false;
                }
                used.insert(pool.clone(), before + bytes);
                let solved = self.solve(rest, taken, used);
                used.insert(pool.clone(), before);
                solved
            }
        })
    }
}

fn delayed<'c>(cluster: &'c Cluster, pod: &Pod) -> Vec<&'c Claim> {
    let mut claims: Vec<&Claim> = Vec::new();
    for (key, _) in Cluster::claim_keys(pod) {
        let claim = &cluster.claims[&key];
        if !claim.is_fully_bound() && !claims.iter().any(|c| c.key == key) {
            claims.push(claim);
        }
    }
    claims
}

proptest! {
    #![proptest_config(crate::cases(512))]

    #[test]
    fn a_node_is_accepted_where_an_assignment_exists_and_nowhere_else(mut dice in dice(900)) {
        let pods = judged(&mut dice);
        let objects = cluster(&mut dice);
        let reference = Cluster::of(&objects);
        let mut catalog = Catalog::new();
        for object in objects {
            catalog.apply(Event::Set(object));
        }
        let gates = Gates::all().with(Gate::EphemeralForecast, false);
        for pod in pods {
            let decision = catalog.decide(&pod, gates);
            if decision.rejection.is_some() {
                continue;
            }
            let claims = delayed(&reference, &pod);
            if claims.iter().any(|c| matches!(c.selector, Some(Err(_)))) {
                continue;
            }
            let search = Search::new(&reference, &claims);
            for node in &decision.nodes {
                let plain = &reference.nodes[&node.node];
                let no_volume = |r: &plimsoll_engine::reason::Refusal| {
                    r.plugin == Plugin::VolumeBinding
                        && (r.reason.contains("to bind") || r.reason.contains("free storage"))
                };
                let unreadable = node.refusals.iter().any(|r| r.status == plimsoll_engine::reason::Status::Error);
                if unreadable {
                    continue;
                }
                let accepted = !node.refusals.iter().any(no_volume);
                let elsewhere = claims.iter().any(|c| c.selected_node.as_ref().is_some_and(|n| *n != node.node));
                let ways: Vec<_> = claims.iter().map(|c| (*c, search.ways(c, plain))).collect();
                let possible = !elsewhere && search.solve(&ways, &mut BTreeSet::new(), &mut BTreeMap::new());
                prop_assert_eq!(accepted, possible, "on {} with {:?}", node.node, ways);
                if accepted {
                    // The plan is itself an assignment: each claim goes one of its ways, and the rest follows.
                    let planned = ways.iter().map(|(claim, ways)| {
                        let plan = node.plan.claims.iter().find(|p| p.claim == claim.key).expect("planned");
                        let way = match plan.outcome {
                            Outcome::Static => Way::Volume(plan.volume.clone().expect("named")),
                            Outcome::Provision => plan.pool.clone().map_or(Way::Unchecked, Way::Pool),
                            other => panic!("{other:?} for {}", claim.key),
                        };
                        assert!(ways.contains(&way), "{way:?} is not among {ways:?}");
                        (*claim, vec![way])
                    });
                    let planned: Vec<_> = planned.collect();
                    prop_assert!(
                        search.solve(&planned, &mut BTreeSet::new(), &mut BTreeMap::new()),
                        "{:?} on {} takes more than there is", planned, node.node
                    );
                }
            }
        }
    }
}
