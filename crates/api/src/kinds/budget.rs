//! Disruption budgets.

use std::collections::BTreeMap;

use plimsoll_engine::model;

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::{ObjectMeta, RawLabelSelector};
use crate::lenient::{Present, slim};

slim! {
    /// A PodDisruptionBudget.
    pub struct PodDisruptionBudget {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: BudgetSpec,
        /// `status`.
        pub status: BudgetStatus,
    }

    /// `spec` of a budget.
    pub struct BudgetSpec {
        /// The pods it is about; `None` means none.
        pub selector: Option<RawLabelSelector>,
    }

    /// `status` of a budget.
    pub struct BudgetStatus {
        /// How many of its pods may be disrupted now.
        pub disruptions_allowed: i32,
        /// The pods whose eviction is under way, by name.
        pub disrupted_pods: BTreeMap<String, Present>,
    }
}

impl PodDisruptionBudget {
    /// The budget as preemption sees it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Budget, ConvertError> {
        let selector = self.spec.selector.as_ref().and_then(|s| s.compile(names).ok());
        Ok(model::Budget {
            key: self.metadata.key(names),
            version: self.metadata.version(),
            selector,
            allowed: self.status.disruptions_allowed,
            disrupted: self.status.disrupted_pods.keys().map(|name| names.share(name)).collect(),
        })
    }
}
