//! NodeResourcesFit: what is left of a node's resources.

use std::borrow::Cow;

use crate::labels::Name;
use crate::model::{Pod, Resources, is_extended};
use crate::nodes::{NodeRow, demand};
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::rules::Rules;

use super::amounts;

/// What the pod asks for.
#[derive(Clone, Debug)]
pub(super) struct NodeResourcesFit {
    asked: Resources,
}

/// Too little of one resource.
struct Shortage<'a> {
    resource: &'a str,
    asked: i64,
    taken: i64,
    allocatable: i64,
}

impl NodeResourcesFit {
    /// Resources that the profile ignores are not asked for.
    pub(super) fn prepare(pod: &Pod, rules: &Rules) -> Self {
        let mut asked = demand::asked(pod);
        if !(rules.ignored_resources.is_empty() && rules.ignored_groups.is_empty()) {
            asked.scalar.retain(|name, _| !is_ignored(name, rules));
        }
        Self { asked }
    }

    /// As [`NodeResourcesFit::shortages`] says, in the way that costs least: every node is asked this.
    pub(super) fn fits(&self, row: &NodeRow) -> bool {
        let (asked, taken, has) = (&self.asked, row.requested(), &row.node().allocatable);
        let enough = |asked: i64, taken: i64, has: i64| asked <= 0 || asked <= has.saturating_sub(taken);
        !is_full(row)
            && enough(asked.cpu_milli, taken.cpu_milli, has.cpu_milli)
            && enough(asked.memory, taken.memory, has.memory)
            && enough(asked.ephemeral_storage, taken.ephemeral_storage, has.ephemeral_storage)
            && asked.scalar.iter().all(|(name, &amount)| enough(amount, taken.scalar(name), has.scalar(name)))
    }

    /// Resources that are short, in upstream's order. A resource that the pod does not ask for is never short, even
    /// on a node that is overfull already.
    fn shortages<'a>(&'a self, row: &'a NodeRow) -> impl Iterator<Item = Shortage<'a>> {
        let (asked, taken, has) = (&self.asked, row.requested(), &row.node().allocatable);
        let usual = [
            ("cpu", asked.cpu_milli, taken.cpu_milli, has.cpu_milli),
            ("memory", asked.memory, taken.memory, has.memory),
            ("ephemeral-storage", asked.ephemeral_storage, taken.ephemeral_storage, has.ephemeral_storage),
        ];
        let others = asked.scalar.iter().map(|(name, &amount)| (&**name, amount, taken.scalar(name), has.scalar(name)));
        usual
            .into_iter()
            .chain(others)
            .map(|(resource, asked, taken, allocatable)| Shortage { resource, asked, taken, allocatable })
            .filter(|s| s.asked > 0 && s.asked > s.allocatable.saturating_sub(s.taken))
    }

    pub(super) fn refusals(&self, row: &NodeRow) -> Vec<Refusal> {
        let node = row.node();
        let mut refusals = Vec::new();
        // Upstream gives one status for all its reasons: no pod need leave where an empty node would be too small.
        let status = match self.shortages(row).any(|s| s.asked > s.allocatable) {
            true => Status::UnschedulableAndUnresolvable,
            false => Status::Unschedulable,
        };
        let mut refuse = |code, reason, detail| {
            refusals.push(Refusal { plugin: Plugin::NodeResourcesFit, code, status, reason, detail });
        };
        if is_full(row) {
            let detail = format!("{} of at most {} pods are on {}", row.pods().len(), node.allocatable.pods, node.name);
            refuse(Code::TOO_MANY_PODS, Cow::Borrowed("Too many pods"), detail);
        }
        for shortage in self.shortages(row) {
            let show = |amount| match shortage.resource {
                "cpu" => amounts::cpu(amount),
                "memory" | "ephemeral-storage" => amounts::bytes(amount),
                name if name.starts_with("hugepages-") => amounts::bytes(amount),
                _ => amount.to_string(),
            };
            let Shortage { resource, asked, taken, allocatable } = shortage;
            let detail = if allocatable == 0 && taken == 0 {
                format!("needs {} {resource}; {} has none", show(asked), node.name)
            } else {
                let (asked, taken, allocatable) = (show(asked), show(taken), show(allocatable));
                format!("needs {asked} {resource}; {taken} of {allocatable} are taken on {}", node.name)
            };
            let reason = match resource {
                "cpu" => Cow::Borrowed("Insufficient cpu"),
                "memory" => Cow::Borrowed("Insufficient memory"),
                "ephemeral-storage" => Cow::Borrowed("Insufficient ephemeral-storage"),
                other => Cow::Owned(format!("Insufficient {other}")),
            };
            refuse(Code::INSUFFICIENT_RESOURCE, reason, detail);
        }
        refusals
    }
}

/// Whether the filter does not look at a resource: only extended ones can be ignored.
fn is_ignored(name: &Name, rules: &Rules) -> bool {
    let group = name.split('/').next().unwrap_or_default();
    is_extended(name)
        && (rules.ignored_resources.contains(name) || rules.ignored_groups.iter().any(|ignored| **ignored == *group))
}

fn is_full(row: &NodeRow) -> bool {
    i64::try_from(row.pods().len()).unwrap_or(i64::MAX) >= row.node().allocatable.pods
}

/// What a pod asks a node for, without what the profile ignores.
pub(crate) fn asked_by(pod: &Pod, rules: &Rules) -> Resources {
    NodeResourcesFit::prepare(pod, rules).asked
}

/// Whether a node has room for what a pod asks for.
pub(crate) fn fits_in(asked: &Resources, row: &NodeRow) -> bool {
    NodeResourcesFit { asked: asked.clone() }.fits(row)
}
