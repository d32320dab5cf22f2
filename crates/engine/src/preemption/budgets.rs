//! Disruption budgets: which pods can go without breaking a promise.

use std::sync::Arc;

use crate::model::{Budget, Pod};

/// Splits pods, given the most important first, into those whose going is against a budget and the others. Each pod that
/// can go uses up what its budgets still allow, so that of two that share the last disruption only one is in the clear.
pub(super) fn split<'b>(
    pods: Vec<Arc<Pod>>,
    budgets: impl Iterator<Item = &'b Budget>,
) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let mut left: Vec<(&Budget, i32)> = budgets.map(|budget| (budget, budget.allowed)).collect();
    pods.into_iter().partition(|pod| {
        for (budget, allowed) in left.iter_mut().filter(|(budget, _)| covers(budget, pod)) {
            // One whose eviction is under way is counted already.
            if budget.disrupted.contains(&pod.key.name) {
                continue;
            }
            *allowed = allowed.saturating_sub(1);
            if *allowed < 0 {
                // As upstream: the budgets after it are not used up.
                return true;
            }
        }
        false
    })
}

/// Whether a budget is about a pod. A pod without labels has no budget.
fn covers(budget: &Budget, pod: &Pod) -> bool {
    let selector = budget.selector.as_ref().filter(|s| !s.is_empty());
    budget.key.namespace == pod.key.namespace
        && !pod.labels.is_empty()
        && selector.is_some_and(|s| s.matches(&pod.labels))
}
