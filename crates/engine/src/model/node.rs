//! Nodes.

use crate::labels::{Labels, Name};
use crate::model::{Features, Resources, Version};

/// A Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// `status.images`.
    pub images: Vec<Image>,
    /// `status.declaredFeatures`, as far as pods can need them.
    pub features: Features,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// The key.
    pub key: Name,
    /// The value; empty where unset.
    pub value: Name,
    /// What it does.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaintEffect {
    /// They are not placed here.
    NoSchedule,
    /// They are placed here only when nothing else is better.
    PreferNoSchedule,
    /// They are not placed here, and leave.
    NoExecute,
}

/// An image that a node already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// All its names.
    pub names: Vec<Name>,
    /// Its size in bytes.
    pub size: i64,
}

impl std::fmt::Display for Taint {
    /// As kubectl writes it: `key=value:Effect`, or `key:Effect` without a value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{:?}", self.effect)
    }
}
