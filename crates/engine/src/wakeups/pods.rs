//! Rules of the plugins that look at other pods: inter-pod affinity and topology spread.

use crate::labels::Name;
use crate::model::{Node, Pod, PodTerm, SpreadConstraint};
use crate::object::Object;
use crate::reason::Code;
use crate::selector::LabelSelector;
use crate::wakeups::Change;
use crate::wakeups::change::taints_differ;

/// Inter-pod affinity. Upstream wakes for new nodes only where the pod has terms of its own, and never for nodes that go,
/// for namespaces whose labels change, nor for the last pod of a group that goes, after which the pod may be the first.
pub(super) fn helps_affinity(code: Code, pod: &Pod, change: Change<'_>) -> bool {
    match change {
        Change::Added(Object::Node(_)) => true,
        Change::Deleted(Object::Node(node)) => {
            // Its pods no longer count. Terms of others, which may keep this pod out, can name any label.
            code == Code::EXISTING_ANTI_AFFINITY || terms(pod).any(|t| node.labels.contains_key(&t.topology_key))
        }
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } if old.labels != new.labels => {
            let moved = |key: &Name| old.labels.get(key) != new.labels.get(key);
            code == Code::EXISTING_ANTI_AFFINITY || terms(pod).any(|term| moved(&term.topology_key))
        }
        Change::Added(Object::Namespace(namespace)) | Change::Deleted(Object::Namespace(namespace)) => {
            selects_namespaces(code, pod, &namespace.name)
        }
        Change::Updated { old: Object::Namespace(old), new: Object::Namespace(new) } => {
            old.labels != new.labels && selects_namespaces(code, pod, &new.name)
        }
        Change::Added(Object::Pod(new)) => code == Code::POD_AFFINITY && meets_affinity(pod, new),
        Change::Deleted(Object::Pod(gone)) => match code {
            Code::POD_AFFINITY => meets_affinity(pod, gone) && meets_affinity(pod, pod),
            Code::POD_ANTI_AFFINITY => pod.required_anti_affinity.iter().any(|term| means(term, pod, gone)),
            _ => gone.required_anti_affinity.iter().any(|term| means(term, gone, pod)),
        },
        Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => match code {
            Code::POD_AFFINITY => meets_affinity(pod, old) != meets_affinity(pod, new),
            Code::POD_ANTI_AFFINITY => {
                pod.required_anti_affinity.iter().any(|term| means(term, pod, old) && !means(term, pod, new))
            }
            _ => old.required_anti_affinity != new.required_anti_affinity,
        },
        _ => false,
    }
}

/// The pod's required terms.
pub(super) fn terms(pod: &Pod) -> impl Iterator<Item = &PodTerm> {
    pod.required_affinity.iter().chain(&pod.required_anti_affinity)
}

fn selects_namespaces(code: Code, pod: &Pod, namespace: &Name) -> bool {
    match code {
        Code::EXISTING_ANTI_AFFINITY => pod.key.namespace == *namespace,
        _ => terms(pod).any(|term| term.namespace_selector.is_some()),
    }
}

/// Whether a placed pod meets all of a pod's affinity terms.
fn meets_affinity(pod: &Pod, placed: &Pod) -> bool {
    pod.required_affinity.iter().all(|term| means(term, pod, placed))
}

/// Whether a term of `owner` means `other`, or could: labels of namespaces are not known here.
fn means(term: &PodTerm, owner: &Pod, other: &Pod) -> bool {
    let namespace = &other.key.namespace;
    let in_namespace = match &term.namespace_selector {
        None if term.namespaces.is_empty() => *namespace == owner.key.namespace,
        None => term.namespaces.contains(namespace),
        Some(_) => true,
    };
    in_namespace && usable(&term.selector).is_some_and(|selector| selector.matches(&other.labels))
}

/// A selector that was given and can be read.
pub(super) fn usable<E>(selector: &Option<Result<LabelSelector, E>>) -> Option<&LabelSelector> {
    selector.as_ref().and_then(|selector| selector.as_ref().ok())
}

/// The pod's own constraints that refuse nodes. Where it has none, a profile's constraints for such pods refused it.
pub(super) fn hard_constraints(pod: &Pod) -> impl Iterator<Item = &SpreadConstraint> {
    pod.spread.iter().filter(|constraint| constraint.hard)
}

/// Topology spread: whatever changes how many pods a domain has, or which domains there are.
pub(super) fn helps_spread(pod: &Pod, change: Change<'_>) -> bool {
    let by_profile = hard_constraints(pod).next().is_none();
    let in_play = |node: &Node| hard_constraints(pod).all(|c| node.labels.contains_key(&c.topology_key));
    // What a profile asks of pods without constraints is not known here: any pod of the namespace may count.
    let counts = |other: &Pod, constraint: Option<&SpreadConstraint>| {
        other.key.namespace == pod.key.namespace
            && !other.deleting
            && constraint.is_none_or(|constraint| is_counted(constraint, pod, other))
    };
    let constraints = || hard_constraints(pod).map(Some).chain(by_profile.then_some(None));
    match change {
        Change::Added(Object::Node(node)) | Change::Deleted(Object::Node(node)) => in_play(node),
        Change::Updated { old: Object::Node(old), new: Object::Node(new) } => {
            (old.labels != new.labels || taints_differ(old, new)) && (in_play(old) || in_play(new))
        }
        Change::Added(Object::Pod(other)) | Change::Deleted(Object::Pod(other)) => {
            constraints().any(|constraint| counts(other, constraint))
        }
        Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => {
            (by_profile && old.labels != new.labels && counts(new, None))
                || constraints().any(|constraint| counts(old, constraint) != counts(new, constraint))
        }
        Change::Added(Object::Workload(workload))
        | Change::Deleted(Object::Workload(workload))
        | Change::Updated { new: Object::Workload(workload), .. } => {
            by_profile && workload.key.namespace == pod.key.namespace
        }
        _ => false,
    }
}

/// Whether a constraint of `pod` counts another pod of its namespace.
fn is_counted(constraint: &SpreadConstraint, pod: &Pod, other: &Pod) -> bool {
    usable(&constraint.selector).is_some_and(|selector| selector.matches(&other.labels))
        && constraint.match_label_keys.iter().all(|key| match pod.labels.get(key) {
            Some(value) => other.labels.get(key) == Some(value),
            None => true,
        })
}
