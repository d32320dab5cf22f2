//! One pod's volumes, made ready to be judged on any node.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::gates::{Gate, Gates};
use crate::labels::ObjectKey;
use crate::model::Pod;
use crate::nodes::NodeIndex;
use crate::reason::{Plugin, Refusal};
use crate::rules::VolumeRules;
use crate::volumes::binding::Judgement;
use crate::volumes::catalog::VolumeCatalog;
use crate::volumes::claims::PodClaims;
use crate::volumes::limits::PodAttachments;
use crate::volumes::plan::{ClaimPlan, Outcome, VolumePlan};
use crate::volumes::restrictions::Restrictions;
use crate::volumes::zone::ZoneConstraint;

/// One pod's volumes against one catalog: made once per pod, then asked about nodes.
#[derive(Debug)]
pub struct PodVolumes<'c> {
    pub(crate) catalog: &'c VolumeCatalog,
    pub(crate) pod: &'c Pod,
    pub(crate) gates: Gates,
    pub(crate) rules: VolumeRules,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) claims: PodClaims<'c>,
    /// The delayed claims whose node is selected already, in the order of the pod's volumes.
    pub(crate) selected: SmallVec<[usize; 4]>,
    /// The other delayed claims, smallest first.
    pub(crate) by_size: SmallVec<[usize; 4]>,
    /// What is promised to other pods' claims in the pools of this pod's classes (gate `PromisedCapacity`).
    pub(crate) promised: BTreeMap<ObjectKey, i64>,
    pub(crate) attachments: PodAttachments,
    pub(crate) zones: Vec<ZoneConstraint>,
    pub(crate) restrictions: Restrictions,
}

/// A node's verdict in short, for the loop that looks at all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suitability {
    /// The score of VolumeBinding, 0–100.
    pub score: i64,
}

impl<'c> PodVolumes<'c> {
    /// Makes a pod's volumes ready. A filter that is turned off finds nothing to look at.
    pub(crate) fn prepare(catalog: &'c VolumeCatalog, pod: &'c Pod, rules: VolumeRules) -> Self {
        let gates = rules.gates;
        let mut refusals = Vec::new();
        let restrictions =
            rules.made(Plugin::VolumeRestrictions, &mut refusals, || Restrictions::prepare(catalog, pod));
        let claims = rules.made(Plugin::VolumeBinding, &mut refusals, || PodClaims::sort(catalog, pod, gates));
        let zones = rules.made(Plugin::VolumeZone, &mut refusals, || ZoneConstraint::of_pod(catalog, pod));
        let is_selected = |i: &usize| claims.delayed[*i].claim.selected_node.is_some();
        let (selected, mut by_size): (SmallVec<[usize; 4]>, SmallVec<[usize; 4]>) =
            (0..claims.delayed.len()).partition(is_selected);
        by_size.sort_by_key(|i| claims.delayed[*i].claim.requested());
        let promised = if gates.on(Gate::PromisedCapacity) { promised(&claims) } else { BTreeMap::new() };
        let attachments = match rules.filtering.has(Plugin::NodeVolumeLimits) {
            true => PodAttachments::prepare(catalog, pod, &claims, gates),
            false => PodAttachments::default(),
        };
        Self {
            catalog,
            pod,
            gates,
            rules,
            refusals,
            claims,
            selected,
            by_size,
            promised,
            attachments,
            zones,
            restrictions,
        }
    }

    /// Why the pod can be placed nowhere, in upstream's plugin order; empty if it may be.
    pub fn pod_refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Whether all volume filters accept the node, and its score; no allocation for pods with few claims.
    pub fn suitability(&self, node: NodeIndex) -> Option<Suitability> {
        let node = node.as_usize();
        if !self.zones.is_empty() && self.refused_by_zone(node).is_some() {
            return None;
        }
        if self.restrictions.apply() && self.restrictions.refuse(self.catalog, self.pod, node) {
            return None;
        }
        let judgement = self.judge(node);
        if !judgement.fits() || self.refused_by_limits(node, &judgement).is_some() {
            return None;
        }
        Some(Suitability { score: self.score(&judgement) })
    }

    /// Whether VolumeBinding has a score for this pod at all: it has for every pod with claims.
    pub fn scores(&self) -> bool {
        !self.claims.order.is_empty()
    }

    /// Whether no volume filter has anything to ask of any node: all fit, and score 0.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.claims.order.is_empty()
            && self.zones.is_empty()
            && !self.restrictions.apply()
            && !self.attachments.applies()
    }

    /// Every reason why volume filters refuse the node, in upstream's plugin order.
    pub fn refusals(&self, node: NodeIndex) -> Vec<Refusal> {
        let node = node.as_usize();
        let judgement = self.judge(node);
        let mut refusals = self.restrictions.refusals(self.catalog, self.pod, node);
        refusals.extend(self.refused_by_limits(node, &judgement).map(|l| self.limit_refusal(node, l)));
        refusals.extend(judgement.causes.iter().map(|c| self.binding_refusal(node, c)));
        refusals.extend(self.refused_by_zone(node).map(|z| self.zone_refusal(node, z)));
        debug_assert!(refusals.is_sorted_by_key(|r| r.plugin), "{:?}", refusals.first().map(|r| r.plugin));
        refusals
    }

    /// What the claims would become on the node, whether or not it is refused.
    pub fn plan(&self, node: NodeIndex) -> VolumePlan {
        let judgement = self.judge(node.as_usize());
        let claims = self.claims.order.iter();
        VolumePlan { claims: claims.map(|(delayed, i)| self.claim_plan(*delayed, *i, &judgement)).collect() }
    }

    fn claim_plan(&self, delayed: bool, i: usize, judgement: &Judgement<'_>) -> ClaimPlan {
        let claim = if delayed { &self.claims.delayed[i].claim } else { &self.claims.bound[i].claim };
        let mut plan = ClaimPlan {
            claim: claim.key.clone(),
            version: claim.version,
            class: claim.class.clone(),
            outcome: Outcome::Unsatisfied,
            volume: None,
            volume_version: 0,
            pool: None,
            forecast: false,
        };
        if !delayed {
            plan.outcome = Outcome::Bound;
            plan.volume = Some(claim.volume.clone());
            plan.volume_version = self.claims.bound[i].volume.map_or(0, |r| r.volume.version);
            return plan;
        }
        plan.forecast = self.claims.delayed[i].forecast;
        if let Some((_, fit)) = judgement.statics.iter().find(|(at, _)| *at == i) {
            let volume = self.catalog.slab.volume(fit.slot);
            plan.outcome = Outcome::Static;
            plan.volume = Some(volume.name.clone());
            plan.volume_version = volume.version;
        } else if let Some((_, pool)) = judgement.provisions.iter().find(|(at, _)| *at == i) {
            plan.outcome = Outcome::Provision;
            plan.pool = pool.map(|(key, _)| key.clone());
        }
        plan
    }
}

impl VolumeRules {
    /// What a filter prepares for a pod. Nothing where it is turned off, or where it refuses the pod as a whole.
    fn made<T: Default>(
        &self,
        plugin: Plugin,
        refusals: &mut Vec<Refusal>,
        prepare: impl FnOnce() -> Result<T, Refusal>,
    ) -> T {
        if !self.filtering.has(plugin) {
            return T::default();
        }
        prepare().unwrap_or_else(|refusal| {
            refusals.push(refusal);
            T::default()
        })
    }
}

/// What is promised in the pools of the pod's classes, its own claims aside.
fn promised(claims: &PodClaims<'_>) -> BTreeMap<ObjectKey, i64> {
    let own: Vec<&ObjectKey> = claims.delayed.iter().map(|d| &d.claim.key).collect();
    let mut sums = BTreeMap::new();
    for pools in claims.delayed.iter().filter_map(|d| d.pools?.0) {
        if pools.has_promises() {
            sums.extend(pools.promised(&own));
        }
    }
    sums
}
