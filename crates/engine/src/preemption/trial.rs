//! A trial on one node: pods leave it and come back, and each time the judged pod is asked for again.
//!
//! What the filters count over the cluster is counted once for the whole attempt and then follows each pod that leaves or
//! comes back: counting anew costs as much as the cluster is large, and would be done for every pod of every node.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::decide::{self, Case};
use crate::filters::NodeFilters;
use crate::labels::Name;
use crate::model::{Budget, Pod};
use crate::nodes::NodeIndex;
use crate::reason::Refusal;
use crate::rules::Rules;

/// The pod that room is looked for, with its filters as the catalog is at the moment.
pub(super) struct Judged<'a> {
    pod: &'a Pod,
    rules: &'a Rules,
    filters: NodeFilters<'a>,
}

impl<'a> Judged<'a> {
    pub(super) fn new(catalog: &Catalog, pod: &'a Pod, rules: &'a Rules) -> Self {
        Self { pod, rules, filters: NodeFilters::prepare(pod, &catalog.view(), rules) }
    }

    /// Whether the pod fits on a node.
    fn fits(&self, catalog: &Catalog, node: NodeIndex) -> bool {
        let Some(row) = catalog.nodes().get(node) else { return false };
        self.filters.fits(row) && (self.pod.volumes.is_empty() || self.volumes_fit(catalog, node))
    }

    /// Which volumes are taken, and by whom, changes with every pod that leaves.
    fn volumes_fit(&self, catalog: &Catalog, node: NodeIndex) -> bool {
        let volumes = catalog.volumes_by(self.pod, self.rules);
        volumes.pod_refusals().is_empty() && volumes.suitability(node).is_some()
    }

    /// Why it does not.
    fn refusals(&self, catalog: &Catalog, node: NodeIndex) -> Vec<Refusal> {
        let Some(row) = catalog.nodes().get(node) else { return Vec::new() };
        let volumes = catalog.volumes_by(self.pod, self.rules);
        let whole = self.filters.pod_refusals().iter().chain(volumes.pod_refusals());
        let whole = whole.min_by_key(|r| self.rules.rejection_rank(r.plugin));
        match whole {
            Some(rejection) => vec![rejection.clone()],
            None => decide::refusals(&self.filters, &volumes, self.rules, row),
        }
    }

    /// Seats a pod on a node.
    fn seat(&mut self, catalog: &mut Catalog, node: NodeIndex, pod: Arc<Pod>) {
        catalog.seat(pod.clone());
        self.note(catalog, node, &pod, true);
    }

    /// Takes a pod off a node.
    fn unseat(&mut self, catalog: &mut Catalog, node: NodeIndex, pod: &Pod) {
        catalog.unseat(&pod.key);
        self.note(catalog, node, pod, false);
    }

    fn note(&mut self, catalog: &Catalog, node: NodeIndex, other: &Pod, came: bool) {
        if let Some(row) = catalog.nodes().get(node) {
            self.filters.note(self.pod, &catalog.view(), row.node(), other, came);
        }
    }
}

/// Pods taken off a node for a while. [`Trial::end`] seats all of them again.
pub(super) struct Trial<'a, 'p> {
    catalog: &'a mut Catalog,
    judged: &'a mut Judged<'p>,
    node: NodeIndex,
    /// Pods that are nominated to the node.
    expected: &'a [Arc<Pod>],
    /// Pods that are off the node now.
    away: Vec<Arc<Pod>>,
}

impl<'a, 'p> Trial<'a, 'p> {
    pub(super) fn begin(
        catalog: &'a mut Catalog,
        judged: &'a mut Judged<'p>,
        node: NodeIndex,
        expected: &'a [Arc<Pod>],
    ) -> Self {
        Self { catalog, judged, node, expected, away: Vec::new() }
    }

    /// Takes a pod off the node.
    pub(super) fn take(&mut self, pod: &Arc<Pod>) {
        self.judged.unseat(self.catalog, self.node, pod);
        self.away.push(pod.clone());
    }

    /// Gives a pod back that was taken.
    pub(super) fn give_back(&mut self, pod: &Arc<Pod>) {
        self.away.retain(|p| p.key != pod.key);
        self.judged.seat(self.catalog, self.node, pod.clone());
    }

    /// Gives everything back.
    pub(super) fn end(mut self) {
        for pod in std::mem::take(&mut self.away) {
            self.judged.seat(self.catalog, self.node, pod);
        }
    }

    /// Whether the pod fits as the node is now, both with and without the pods that are expected there.
    pub(super) fn fits(&mut self) -> bool {
        let guests = self.invite();
        let beside = self.judged.fits(self.catalog, self.node);
        #[cfg(test)]
        if self.catalog.nodes().len() < 100 {
            let anew = Case::prepare(self.catalog, self.judged.pod, self.judged.rules).fits(self.node);
            assert_eq!(beside, anew, "the filters did not follow the pods");
        }
        if guests.is_empty() {
            return beside;
        }
        self.see_off(&guests);
        beside && self.judged.fits(self.catalog, self.node)
    }

    /// Why it does not fit.
    pub(super) fn refusals(&mut self) -> Vec<Refusal> {
        let guests = self.invite();
        let beside = self.judged.refusals(self.catalog, self.node);
        self.see_off(&guests);
        if beside.is_empty() { self.judged.refusals(self.catalog, self.node) } else { beside }
    }

    pub(super) fn budgets(&self) -> impl Iterator<Item = &Budget> {
        self.catalog.budgets()
    }

    /// Seats the expected pods, and says which it seated: one that has a place already keeps it.
    fn invite(&mut self) -> Vec<Arc<Pod>> {
        let guests = self.catalog.guests(self.node, self.expected);
        for guest in &guests {
            self.judged.seat(self.catalog, self.node, guest.clone());
        }
        guests
    }

    fn see_off(&mut self, guests: &[Arc<Pod>]) {
        for guest in guests {
            self.judged.unseat(self.catalog, self.node, guest);
        }
    }
}

impl Catalog {
    /// Why a pod does not fit on a node beside the pods that are expected there; nothing where it does. The catalog is
    /// afterwards what it was before.
    pub fn refusals_beside(&mut self, pod: &Pod, rules: &Rules, node: &Name, expected: &[Arc<Pod>]) -> Vec<Refusal> {
        let Some(index) = self.nodes().by_name(node).map(|row| row.index()) else { return Vec::new() };
        let guests = self.guests(index, expected);
        guests.iter().for_each(|guest| self.seat(guest.clone()));
        let refusals = self.refusals_on(pod, rules, index);
        guests.iter().for_each(|guest| self.unseat(&guest.key));
        refusals
    }

    /// Those of the expected pods that have no place yet, as they would be on the node.
    fn guests(&self, node: NodeIndex, expected: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
        let name = self.nodes().get(node).map(|row| &row.node().name);
        let absent = expected.iter().filter(|guest| self.nodes().pod(&guest.key).is_none());
        absent.map(|guest| Arc::new(Pod { node: name.cloned(), ..(**guest).clone() })).collect()
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
