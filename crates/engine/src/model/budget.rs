//! Disruption budgets.

use crate::labels::{Name, ObjectKey};
use crate::model::Version;
use crate::selector::LabelSelector;

/// A PodDisruptionBudget, as far as preemption asks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// The pods it is about; `None`, and an empty one, mean none.
    pub selector: Option<LabelSelector>,
    /// `status.disruptionsAllowed`.
    pub allowed: i32,
    /// The names of the pods whose eviction is under way and counted already.
    pub disrupted: Vec<Name>,
}
