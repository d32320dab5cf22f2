//! Where a pod wants to be: affinity, spreading, tolerations.

use plimsoll_engine::model::{self, PodTerm, WeightedPodTerm};
use plimsoll_engine::selector::PreferredTerm;

use crate::interner::Interner;
use crate::kinds::node::effect;
use crate::kinds::selectors::{RawLabelSelector, RawNodeSelector, RawNodeTerm};
use crate::lenient::slim;

slim! {
    /// `spec.affinity`.
    pub struct Affinity {
        /// To nodes.
        pub node_affinity: NodeAffinity,
        /// To other pods.
        pub pod_affinity: PodAffinity,
        /// Away from other pods.
        pub pod_anti_affinity: PodAffinity,
    }

    /// Affinity to nodes.
    pub struct NodeAffinity {
        /// What must be.
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required: Option<RawNodeSelector>,
        /// What would be good.
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        pub preferred: Vec<PreferredNodeTerm>,
    }

    /// A weighted preference.
    pub struct PreferredNodeTerm {
        /// The weight.
        pub weight: i32,
        /// The term.
        pub preference: RawNodeTerm,
    }

    /// Affinity to pods, or away from them.
    pub struct PodAffinity {
        /// What must be.
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required: Vec<PodAffinityTerm>,
        /// What would be good.
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        pub preferred: Vec<WeightedPodAffinityTerm>,
    }

    /// A weighted preference.
    pub struct WeightedPodAffinityTerm {
        /// The weight.
        pub weight: i32,
        /// The term.
        pub pod_affinity_term: PodAffinityTerm,
    }

    /// A term of affinity to pods.
    pub struct PodAffinityTerm {
        /// The pods.
        pub label_selector: Option<RawLabelSelector>,
        /// Their namespaces.
        pub namespaces: Vec<String>,
        /// Further namespaces, by label.
        pub namespace_selector: Option<RawLabelSelector>,
        /// The label that makes nodes one place.
        pub topology_key: String,
        /// Labels of the pod itself that the others must share.
        pub match_label_keys: Vec<String>,
        /// Labels of the pod itself that the others must not share.
        pub mismatch_label_keys: Vec<String>,
    }

    /// A topology spread constraint.
    pub struct SpreadConstraint {
        /// The largest difference between places.
        pub max_skew: i32,
        /// The label that makes nodes one place.
        pub topology_key: String,
        /// `DoNotSchedule` or `ScheduleAnyway`.
        pub when_unsatisfiable: String,
        /// The pods that count.
        pub label_selector: Option<RawLabelSelector>,
        /// Labels of the pod itself that the counted ones must share.
        pub match_label_keys: Vec<String>,
        /// The least number of places.
        pub min_domains: Option<i32>,
        /// Whether nodes that affinity excludes count; `Honor` where unset.
        pub node_affinity_policy: Option<String>,
        /// Whether nodes that taints exclude count; `Ignore` where unset.
        pub node_taints_policy: Option<String>,
    }

    /// A toleration.
    pub struct Toleration {
        /// The key.
        pub key: String,
        /// The operator.
        pub operator: String,
        /// The value.
        pub value: String,
        /// The effect; empty is all.
        pub effect: String,
    }
}

impl PreferredNodeTerm {
    pub(super) fn to_engine(&self, index: usize, names: &mut Interner) -> PreferredTerm {
        self.preference.compile_preferred(index, self.weight, names)
    }
}

impl PodAffinityTerm {
    pub(super) fn to_engine(&self, names: &mut Interner) -> PodTerm {
        PodTerm {
            topology_key: names.share(&self.topology_key),
            selector: self.label_selector.as_ref().map(|s| s.compile(names)),
            namespaces: names.share_all(&self.namespaces),
            namespace_selector: self.namespace_selector.as_ref().map(|s| s.compile(names)),
        }
    }
}

impl WeightedPodAffinityTerm {
    pub(super) fn to_engine(&self, names: &mut Interner) -> WeightedPodTerm {
        WeightedPodTerm { weight: self.weight, term: self.pod_affinity_term.to_engine(names) }
    }
}

impl SpreadConstraint {
    /// As the engine reads it.
    pub fn to_engine(&self, names: &mut Interner) -> model::SpreadConstraint {
        model::SpreadConstraint {
            max_skew: self.max_skew,
            topology_key: names.share(&self.topology_key),
            hard: self.when_unsatisfiable == "DoNotSchedule",
            selector: self.label_selector.as_ref().map(|s| s.compile(names)),
            match_label_keys: names.share_all(&self.match_label_keys),
            min_domains: self.min_domains,
            honor_affinity: self.node_affinity_policy.as_deref().unwrap_or("Honor") == "Honor",
            honor_taints: self.node_taints_policy.as_deref() == Some("Honor"),
        }
    }
}

impl Toleration {
    /// The toleration; `None` where it names an effect that no taint can have, so that it tolerates nothing.
    pub(super) fn to_engine(&self, names: &mut Interner) -> Option<model::Toleration> {
        let effect = if self.effect.is_empty() { None } else { Some(effect(&self.effect)?) };
        Some(model::Toleration {
            key: names.share(&self.key),
            operator: names.share(&self.operator),
            value: names.share(&self.value),
            effect,
        })
    }
}
