//! PodTopologySpread: hard constraints.

use std::borrow::Cow;

use crate::collections::Map;
use crate::labels::Name;
use crate::model::{Node, Pod};
use crate::nodes::NodeRow;
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::rules::DefaultSpread;
use crate::view::ClusterView;

use super::{Constraint, RequiredNodes, default_constraints, has_all_keys, own_constraints};

const UNEVEN: &str = "node(s) didn't match pod topology spread constraints";
const NO_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// The pod's hard constraints with the pods counted in each domain.
#[derive(Clone, Debug, Default)]
pub(super) struct TopologySpread<'p> {
    counted: Vec<Counted<'p>>,
}

#[derive(Clone, Debug)]
struct Counted<'p> {
    constraint: Constraint<'p>,
    /// Pods by domain; a domain with no pod is there too.
    domains: Map<Name, i64>,
    /// The fewest pods in a domain: skew is measured from there.
    fewest: i64,
    /// 1 where the pod counts itself.
    itself: i64,
}

/// Why a constraint refuses a node.
enum Problem<'a, 'p> {
    NoLabel(&'a Counted<'p>),
    Uneven(&'a Counted<'p>),
}

impl<'p> TopologySpread<'p> {
    pub(super) fn prepare(
        pod: &'p Pod,
        cluster: &ClusterView<'_>,
        defaults: &'p DefaultSpread,
    ) -> (Self, Option<Refusal>) {
        let constraints = match own_constraints(pod, true) {
            Ok(_) if pod.spread.is_empty() => default_constraints(pod, cluster, defaults, true),
            Ok(constraints) => constraints,
            Err(e) => {
                let refusal = Refusal {
                    plugin: Plugin::PodTopologySpread,
                    code: Code::INVALID_RULE,
                    status: Status::Error,
                    reason: Cow::Owned(format!(
                        "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard topology spread constraints: {e}"
                    )),
                    detail: "a selector in the pod's topology spread constraints cannot be read".to_owned(),
                };
                return (Self::default(), Some(refusal));
            }
        };
        if constraints.is_empty() {
            return (Self::default(), None);
        }
        let required = RequiredNodes::of(pod);
        let keyed: Vec<&NodeRow> = cluster.nodes.iter().filter(|row| has_all_keys(row.node(), &constraints)).collect();
        let domains = constraints.iter().map(|constraint| {
            let counts = constraint.count_by_node(cluster.nodes, &pod.key.namespace);
            let mut domains: Map<Name, i64> = Map::default();
            for row in keyed.iter().filter(|row| constraint.counts_on(row.node(), pod, &required)) {
                let Some(value) = row.node().labels.get(&constraint.topology_key) else { continue };
                *domains.entry(value.clone()).or_default() += counts.get(row.index().as_usize()).unwrap_or(&0);
            }
            domains
        });
        let domains: Vec<_> = domains.collect();
        let counted =
            constraints.into_iter().zip(domains).map(|(constraint, domains)| Counted::new(constraint, domains, pod));
        (Self { counted: counted.collect() }, None)
    }

    /// Counts a pod that came to a node (1) or left it (-1).
    pub(super) fn note(&mut self, pod: &Pod, node: &Node, other: &Pod, amount: i64) {
        if self.counted.is_empty() || other.key.namespace != pod.key.namespace {
            return;
        }
        if !self.counted.iter().all(|counted| node.labels.contains_key(&counted.constraint.topology_key)) {
            return;
        }
        let required = RequiredNodes::of(pod);
        for Counted { constraint, domains, fewest, .. } in &mut self.counted {
            let value = node.labels.get(&constraint.topology_key);
            let counts = constraint.counts(other) && constraint.counts_on(node, pod, &required);
            if let Some(sum) = value.filter(|_| counts).and_then(|value| domains.get_mut(value)) {
                *sum += amount;
                *fewest = fewest_of(constraint, domains);
            }
        }
    }

    pub(super) fn fits(&self, row: &NodeRow) -> bool {
        self.problem(row).is_none()
    }

    /// The first constraint that refuses, as upstream tells only that one.
    fn problem(&self, row: &NodeRow) -> Option<Problem<'_, 'p>> {
        self.counted.iter().find_map(|counted| {
            let Some(value) = row.node().labels.get(&counted.constraint.topology_key) else {
                return Some(Problem::NoLabel(counted));
            };
            (counted.skew(value) > i64::from(counted.constraint.max_skew)).then_some(Problem::Uneven(counted))
        })
    }

    pub(super) fn refusal(&self, row: &NodeRow) -> Option<Refusal> {
        let node = row.node();
        let (code, status, reason, detail) = match self.problem(row)? {
            Problem::NoLabel(counted) => {
                let detail = format!("node {} has no label {}", node.name, counted.constraint.topology_key);
                (Code::TOPOLOGY_SPREAD_LABEL, Status::UnschedulableAndUnresolvable, NO_LABEL, detail)
            }
            Problem::Uneven(counted) => {
                let key = &counted.constraint.topology_key;
                let value = node.labels.get(key).map_or("", |value| &**value);
                let (here, fewest) = (counted.here(value), counted.fewest);
                let detail = format!(
                    "{key}={value} has {here} of the pods to spread, the emptiest domain {fewest}; with this pod the skew is {}, at most {} is allowed",
                    counted.skew(value),
                    counted.constraint.max_skew
                );
                (Code::TOPOLOGY_SPREAD, Status::Unschedulable, UNEVEN, detail)
            }
        };
        Some(Refusal { plugin: Plugin::PodTopologySpread, code, status, reason: Cow::Borrowed(reason), detail })
    }
}

impl<'p> Counted<'p> {
    fn new(constraint: Constraint<'p>, domains: Map<Name, i64>, pod: &Pod) -> Self {
        let fewest = fewest_of(&constraint, &domains);
        let itself = i64::from(constraint.includes(pod));
        Self { constraint, domains, fewest, itself }
    }

    fn here(&self, value: &str) -> i64 {
        self.domains.get(value).copied().unwrap_or(0)
    }

    fn skew(&self, value: &str) -> i64 {
        self.here(value) + self.itself - self.fewest
    }
}

/// The fewest pods in a domain. With fewer domains than asked for, the missing ones count as empty.
fn fewest_of(constraint: &Constraint<'_>, domains: &Map<Name, i64>) -> i64 {
    let enough = i64::try_from(domains.len()).unwrap_or(i64::MAX) >= i64::from(constraint.min_domains);
    if enough { domains.values().copied().min().unwrap_or(i64::from(i32::MAX)) } else { 0 }
}
