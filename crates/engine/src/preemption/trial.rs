//! A trial on one node: pods leave it and come back, and each time the judged pod is asked for again.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::decide::Case;
use crate::labels::Name;
use crate::model::{Budget, Pod};
use crate::nodes::NodeIndex;
use crate::reason::Refusal;
use crate::rules::Rules;

/// Pods taken off a node for a while. [`Trial::end`] seats all of them again.
pub(super) struct Trial<'a> {
    catalog: &'a mut Catalog,
    pod: &'a Pod,
    rules: &'a Rules,
    node: NodeIndex,
    /// Pods that are nominated to the node.
    expected: &'a [Arc<Pod>],
    /// Pods that are off the node now.
    away: Vec<Arc<Pod>>,
}

impl<'a> Trial<'a> {
    pub(super) fn begin(
        catalog: &'a mut Catalog,
        pod: &'a Pod,
        rules: &'a Rules,
        node: NodeIndex,
        expected: &'a [Arc<Pod>],
    ) -> Self {
        Self { catalog, pod, rules, node, expected, away: Vec::new() }
    }

    /// Takes a pod off the node.
    pub(super) fn take(&mut self, pod: &Arc<Pod>) {
        self.catalog.unseat(&pod.key);
        self.away.push(pod.clone());
    }

    /// Gives a pod back that was taken.
    pub(super) fn give_back(&mut self, pod: &Arc<Pod>) {
        self.away.retain(|p| p.key != pod.key);
        self.catalog.seat(pod.clone());
    }

    /// Gives everything back.
    pub(super) fn end(mut self) {
        for pod in std::mem::take(&mut self.away) {
            self.catalog.seat(pod);
        }
    }

    /// Whether the pod fits as the node is now, both with and without the pods that are expected there.
    pub(super) fn fits(&mut self) -> bool {
        let Self { catalog, pod, rules, node, expected, .. } = self;
        catalog.with_expected(*node, expected, |c| c.fits_on(pod, rules, *node)) && catalog.fits_on(pod, rules, *node)
    }

    /// Why it does not fit.
    pub(super) fn refusals(&mut self) -> Vec<Refusal> {
        let Self { catalog, pod, rules, node, expected, .. } = self;
        let beside = catalog.with_expected(*node, expected, |c| c.refusals_on(pod, rules, *node));
        if beside.is_empty() { catalog.refusals_on(pod, rules, *node) } else { beside }
    }

    pub(super) fn budgets(&self) -> impl Iterator<Item = &Budget> {
        self.catalog.budgets()
    }
}

impl Catalog {
    /// Why a pod does not fit on a node beside the pods that are expected there; nothing where it does. The catalog is
    /// afterwards what it was before.
    pub fn refusals_beside(&mut self, pod: &Pod, rules: &Rules, node: &Name, expected: &[Arc<Pod>]) -> Vec<Refusal> {
        let Some(index) = self.nodes().by_name(node).map(|row| row.index()) else { return Vec::new() };
        self.with_expected(index, expected, |catalog| catalog.refusals_on(pod, rules, index))
    }

    /// Answers as though the expected pods were on the node. One that has a place already keeps it.
    fn with_expected<T>(&mut self, node: NodeIndex, expected: &[Arc<Pod>], ask: impl FnOnce(&mut Catalog) -> T) -> T {
        let name = self.nodes().get(node).map(|row| row.node().name.clone());
        let mut seated = Vec::new();
        for guest in expected {
            if self.nodes().pod(&guest.key).is_some() {
                continue;
            }
            seated.push(guest.key.clone());
            self.seat(Arc::new(Pod { node: name.clone(), ..(**guest).clone() }));
        }
        let answer = ask(self);
        for guest in &seated {
            self.unseat(guest);
        }
        answer
    }

    fn fits_on(&self, pod: &Pod, rules: &Rules, node: NodeIndex) -> bool {
        let Some(row) = self.nodes().get(node) else { return false };
        let case = Case::prepare(self, pod, rules);
        case.filters.fits(row) && case.rejection().is_none() && case.volumes.suitability(node).is_some()
    }

    fn refusals_on(&self, pod: &Pod, rules: &Rules, node: NodeIndex) -> Vec<Refusal> {
        let Some(row) = self.nodes().get(node) else { return Vec::new() };
        let case = Case::prepare(self, pod, rules);
        match case.rejection() {
            Some(rejection) => vec![rejection],
            None => case.refusals(row),
        }
    }
}
