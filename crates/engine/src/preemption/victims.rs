//! Who must go from one node, and who need not.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::model::Pod;
use crate::preemption::budgets;
use crate::preemption::trial::Trial;
use crate::reason::Refusal;

/// The victims, the most important first, and how many of them go against a budget.
pub(super) type Victims = (Vec<Arc<Pod>>, usize);

/// When a pod began, for comparing: one that has not begun is the latest.
pub(super) fn begun(pod: &Pod) -> (bool, Option<&str>) {
    (pod.started.is_none(), pod.started.as_deref())
}

/// The order in which pods are spared: by priority, then the longest running.
fn importance(pod: &Pod) -> impl Ord + use<'_> {
    (Reverse(pod.priority), begun(pod), &pod.key)
}

/// Chooses among the pods of lower priority. The error is why the pod does not fit even without all of them.
pub(super) fn select(trial: &mut Trial<'_, '_>, mut lower: Vec<Arc<Pod>>) -> Result<Victims, Vec<Refusal>> {
    for pod in &lower {
        trial.take(pod);
    }
    if !trial.fits() {
        return Err(trial.refusals());
    }
    lower.sort_by(|a, b| importance(a).cmp(&importance(b)));
    let (against_budget, others) = budgets::split(lower, trial.budgets());
    let mut victims = Vec::new();
    for pod in against_budget {
        spare(trial, pod, &mut victims);
    }
    let violations = victims.len();
    for pod in others {
        spare(trial, pod, &mut victims);
    }
    victims.sort_by(|a, b| importance(a).cmp(&importance(b)));
    Ok((victims, violations))
}

/// Lets a pod stay if there is room for the judged pod nevertheless.
fn spare(trial: &mut Trial<'_, '_>, pod: Arc<Pod>, victims: &mut Vec<Arc<Pod>>) {
    trial.give_back(&pod);
    if !trial.fits() {
        trial.take(&pod);
        victims.push(pod);
    }
}
