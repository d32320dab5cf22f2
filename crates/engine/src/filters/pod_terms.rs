//! Terms of inter-pod (anti-)affinity: which pods they mean.
//!
//! A term is read from two sides. The pod to be placed has its namespace selectors resolved once against the
//! namespaces that exist. A placed pod's terms are asked only about the one pod to be placed, whose namespace's labels
//! count as empty where the namespace is not known.

use crate::labels::{Labels, Name};
use crate::model::{Pod, PodTerm, WeightedPodTerm};
use crate::selector::{LabelSelector, SelectorError};
use crate::view::ClusterView;

/// A term of the pod to be placed, with its namespaces resolved.
#[derive(Clone, Debug)]
pub(crate) struct IncomingTerm<'p> {
    /// `topologyKey`.
    pub(crate) topology_key: &'p Name,
    selector: Option<&'p LabelSelector>,
    every_namespace: bool,
    namespaces: Vec<Name>,
}

impl IncomingTerm<'_> {
    /// Whether the term means pods of this namespace with these labels.
    pub(crate) fn matches(&self, namespace: &Name, labels: &Labels) -> bool {
        (self.every_namespace || self.namespaces.contains(namespace))
            && self.selector.is_some_and(|selector| selector.matches(labels))
    }
}

/// Resolves terms of the pod to be placed; the first selector that cannot be read is the error.
pub(crate) fn incoming<'p>(
    pod: &'p Pod,
    terms: impl IntoIterator<Item = &'p PodTerm>,
    cluster: &ClusterView<'_>,
) -> Result<Vec<IncomingTerm<'p>>, &'p SelectorError> {
    terms.into_iter().map(|term| resolve(pod, term, cluster)).collect()
}

fn resolve<'p>(
    pod: &'p Pod,
    term: &'p PodTerm,
    cluster: &ClusterView<'_>,
) -> Result<IncomingTerm<'p>, &'p SelectorError> {
    let selector = term.selector.as_ref().map(Result::as_ref).transpose()?;
    let namespace_selector = term.namespace_selector.as_ref().map(Result::as_ref).transpose()?;
    let mut namespaces = term.namespaces.clone();
    let mut every_namespace = false;
    match namespace_selector {
        None if namespaces.is_empty() => namespaces.push(pod.key.namespace.clone()),
        None => {}
        Some(all) if all.is_empty() => every_namespace = true,
        Some(some) => {
            let selected = cluster.namespaces.values().filter(|namespace| some.matches(&namespace.labels));
            namespaces.extend(selected.map(|namespace| namespace.name.clone()));
        }
    }
    Ok(IncomingTerm { topology_key: &term.topology_key, selector, every_namespace, namespaces })
}

/// Whether a term of a placed pod (`owner`) means the pod to be placed, whose namespace has these labels.
pub(crate) fn existing_matches(term: &PodTerm, owner: &Pod, incoming: &Pod, namespace_labels: &Labels) -> bool {
    let namespace = &incoming.key.namespace;
    let in_namespace = match &term.namespace_selector {
        None if term.namespaces.is_empty() => *namespace == owner.key.namespace,
        None => term.namespaces.contains(namespace),
        Some(Ok(selector)) => term.namespaces.contains(namespace) || selector.matches(namespace_labels),
        Some(Err(_)) => false,
    };
    in_namespace && matches!(&term.selector, Some(Ok(selector)) if selector.matches(&incoming.labels))
}

/// A placed pod's terms. One that cannot be read takes the others of its list with it, as it does upstream.
pub(crate) fn readable(terms: &[PodTerm]) -> &[PodTerm] {
    if terms.iter().all(is_readable) { terms } else { &[] }
}

/// As [`readable`], for weighted terms.
pub(crate) fn readable_weighted(terms: &[WeightedPodTerm]) -> &[WeightedPodTerm] {
    if terms.iter().all(|weighted| is_readable(&weighted.term)) { terms } else { &[] }
}

fn is_readable(term: &PodTerm) -> bool {
    !matches!(term.selector, Some(Err(_))) && !matches!(term.namespace_selector, Some(Err(_)))
}
