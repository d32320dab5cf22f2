//! Amounts of compute resources.

use std::collections::BTreeMap;

use crate::labels::Name;

/// Amounts of resources as the scheduler counts them: cpu in thousandths, all others in whole units rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// `cpu`, in millicores.
    pub cpu_milli: i64,
    /// `memory`, in bytes.
    pub memory: i64,
    /// `ephemeral-storage`, in bytes.
    pub ephemeral_storage: i64,
    /// `pods`: only nodes have it.
    pub pods: i64,
    /// Everything else: hugepages and extended resources.
    pub scalar: BTreeMap<Name, i64>,
}
