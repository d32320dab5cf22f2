//! How one scheduler profile decides: which plugins filter, what each score weighs, and the plugins' arguments.
//!
//! A profile is read once and then handed to every decision by reference. [`Rules::new`] is upstream's default profile;
//! every setter takes the rules and gives them back changed, so that a reader of configuration can say only what differs.
//! Nothing is checked here that configuration can get wrong: whoever reads it knows the field to name.

mod arguments;
#[cfg(test)]
mod tests;

pub use arguments::{AddedAffinity, DefaultSpread, ResourceWeight, ScoringStrategy};

use crate::gates::Gates;
use crate::labels::Name;
use crate::reason::Plugin;
use crate::volumes::Shape;

/// A set of plugins, tested by a single bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginSet(u32);

impl PluginSet {
    /// Every plugin.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether the plugin is in the set.
    #[inline]
    pub fn has(self, plugin: Plugin) -> bool {
        self.0 & (1 << plugin as u32) != 0
    }

    /// The same with one plugin put in or taken out.
    #[must_use]
    pub fn with(self, plugin: Plugin, member: bool) -> Self {
        let bit = 1 << plugin as u32;
        Self(if member { self.0 | bit } else { self.0 & !bit })
    }
}

/// How one scheduler profile decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    gates: Gates,
    filtering: PluginSet,
    weights: [i64; Plugin::ALL.len()],
    filter_ranks: [usize; Plugin::ALL.len()],
    rejection_ranks: [usize; Plugin::ALL.len()],
    pub(crate) volumes: VolumeRules,
    storage_capacity_scoring: bool,
    pub(crate) ignored_resources: Vec<Name>,
    pub(crate) ignored_groups: Vec<Name>,
    pub(crate) strategy: ScoringStrategy,
    pub(crate) scored: Vec<ResourceWeight>,
    pub(crate) balanced: Vec<Name>,
    pub(crate) added_affinity: AddedAffinity,
    pub(crate) default_spread: DefaultSpread,
    pub(crate) hard_affinity_weight: i64,
    pub(crate) ignore_placed_preferences: bool,
}

/// The part of the rules that judging a pod's volumes needs. Cheap to clone: it lives as long as the judgement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VolumeRules {
    pub(crate) gates: Gates,
    pub(crate) filtering: PluginSet,
    pub(crate) shape: Shape,
    pub(crate) limit_scaling: bool,
}

impl Rules {
    /// Upstream's default profile, with these gates.
    pub fn new(gates: Gates) -> Self {
        let (filtering, shape) = (PluginSet::ALL, Shape::default());
        let usual = || ["cpu", "memory"].into_iter().map(Name::from);
        Self {
            gates,
            filtering,
            weights: Plugin::ALL.map(Plugin::weight),
            filter_ranks: Plugin::ALL.map(|plugin| plugin as usize),
            rejection_ranks: Plugin::ALL.map(|plugin| plugin as usize),
            volumes: VolumeRules { gates, filtering, shape, limit_scaling: true },
            storage_capacity_scoring: true,
            ignored_resources: Vec::new(),
            ignored_groups: Vec::new(),
            strategy: ScoringStrategy::LeastAllocated,
            scored: usual().map(|resource| ResourceWeight { resource, weight: 1 }).collect(),
            balanced: usual().collect(),
            added_affinity: AddedAffinity::default(),
            default_spread: DefaultSpread::System,
            hard_affinity_weight: 1,
            ignore_placed_preferences: false,
        }
    }

    /// Which deliberate differences from upstream are on.
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// Whether the plugin filters nodes, or refuses pods as a whole.
    #[inline]
    pub fn filters(&self, plugin: Plugin) -> bool {
        self.filtering.has(plugin)
    }

    /// What the plugin's score weighs; 0 where it does not score.
    #[inline]
    pub fn weight(&self, plugin: Plugin) -> i64 {
        if plugin == Plugin::VolumeBinding && !self.storage_capacity_scoring {
            return 0;
        }
        self.weights.get(plugin as usize).copied().unwrap_or(0)
    }

    /// Where the plugin stands among those that judge nodes: of several that refuse one, the first is told.
    pub(crate) fn filter_rank(&self, plugin: Plugin) -> usize {
        self.filter_ranks.get(plugin as usize).copied().unwrap_or(usize::MAX)
    }

    /// Where the plugin stands among those that can refuse a pod as a whole.
    pub(crate) fn rejection_rank(&self, plugin: Plugin) -> usize {
        self.rejection_ranks.get(plugin as usize).copied().unwrap_or(usize::MAX)
    }

    /// Sets the order in which plugins judge nodes (`filters`) and refuse pods as a whole (`rejections`, upstream's PreFilter).
    /// Every plugin is asked whatever the order: it decides only whose reason is told, and so whether preemption may help.
    #[must_use]
    pub fn order(mut self, filters: &[Plugin], rejections: &[Plugin]) -> Self {
        self.filter_ranks = ranks(filters);
        self.rejection_ranks = ranks(rejections);
        self
    }

    /// Turns a plugin's filter on or off, and with it whatever it refuses pods for as a whole.
    ///
    /// Without VolumeBinding's filter the pod's claims are not looked at, and the plan for them is empty.
    #[must_use]
    pub fn filter(mut self, plugin: Plugin, on: bool) -> Self {
        self.filtering = self.filtering.with(plugin, on);
        self.volumes.filtering = self.filtering;
        self
    }

    /// Sets what a plugin's score weighs; 0 turns it off. A plugin that has no score is not changed.
    #[must_use]
    pub fn weigh(mut self, plugin: Plugin, weight: i64) -> Self {
        if plugin.weight() != 0
            && let Some(known) = self.weights.get_mut(plugin as usize)
        {
            *known = weight;
        }
        self
    }

    /// Upstream's gate StorageCapacityScoring, which is on: off, VolumeBinding does not score, whatever its weight.
    #[must_use]
    pub fn storage_capacity_scoring(mut self, on: bool) -> Self {
        self.storage_capacity_scoring = on;
        self
    }

    /// Upstream's gate VolumeLimitScaling, which is on: off, NodeVolumeLimits does not look whether a driver that asks for
    /// it is on the node.
    #[must_use]
    pub fn volume_limit_scaling(mut self, on: bool) -> Self {
        self.volumes.limit_scaling = on;
        self
    }

    /// `NodeResourcesFitArgs.ignoredResources` and `.ignoredResourceGroups`: extended resources that the filter does not
    /// look at, by name and by what stands before the slash.
    #[must_use]
    pub fn ignore_resources(mut self, names: Vec<Name>, groups: Vec<Name>) -> Self {
        self.ignored_resources = names;
        self.ignored_groups = groups;
        self
    }

    /// `NodeResourcesFitArgs.scoringStrategy`: how the use of which resources becomes a score. Upstream takes cpu and
    /// memory, each of weight 1, where no resource is named, and weight 1 where none is given.
    #[must_use]
    pub fn score_resources(mut self, strategy: ScoringStrategy, resources: Vec<ResourceWeight>) -> Self {
        self.strategy = strategy;
        self.scored = resources;
        self
    }

    /// `NodeResourcesBalancedAllocationArgs.resources`. Their weights mean nothing to upstream; it takes cpu and memory
    /// where no resource is named.
    #[must_use]
    pub fn balance(mut self, resources: Vec<Name>) -> Self {
        self.balanced = resources;
        self
    }

    /// `NodeAffinityArgs.addedAffinity`: what every pod asks of its node, beside what it asks itself.
    #[must_use]
    pub fn add_affinity(mut self, affinity: AddedAffinity) -> Self {
        self.added_affinity = affinity;
        self
    }

    /// `PodTopologySpreadArgs`: the constraints of pods that have none.
    #[must_use]
    pub fn spread_by_default(mut self, spread: DefaultSpread) -> Self {
        self.default_spread = spread;
        self
    }

    /// `InterPodAffinityArgs.hardPodAffinityWeight`: what a placed pod's required affinity to the new pod adds to the score.
    #[must_use]
    pub fn hard_affinity_weight(mut self, weight: i32) -> Self {
        self.hard_affinity_weight = i64::from(weight);
        self
    }

    /// `InterPodAffinityArgs.ignorePreferredTermsOfExistingPods`: pods that prefer nothing themselves are not scored by
    /// what placed pods prefer or require.
    #[must_use]
    pub fn ignore_placed_preferences(mut self, ignore: bool) -> Self {
        self.ignore_placed_preferences = ignore;
        self
    }

    /// `VolumeBindingArgs.shape`: how the share of a pool or volume in use becomes a score.
    #[must_use]
    pub fn volume_shape(mut self, shape: Shape) -> Self {
        self.volumes.shape = shape;
        self
    }
}

/// The place of each plugin: those of a list share out the places that they have by default, in the list's order. So upstream's
/// default order, said or not, is the same.
fn ranks(listed: &[Plugin]) -> [usize; Plugin::ALL.len()] {
    let mut places: Vec<usize> = listed.iter().map(|plugin| *plugin as usize).collect();
    places.sort_unstable();
    let mut ranks = Plugin::ALL.map(|plugin| plugin as usize);
    for (plugin, place) in listed.iter().zip(places) {
        if let Some(rank) = ranks.get_mut(*plugin as usize) {
            *rank = place;
        }
    }
    ranks
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(Gates::default())
    }
}
