//! Nodes.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, Feature, Resources, TaintEffect};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::ObjectMeta;
use crate::lenient::{Present, ResourceList, slim};
use crate::names;

slim! {
    /// A Node.
    pub struct Node {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: NodeSpec,
        /// `status`.
        pub status: NodeStatus,
    }

    /// `spec` of a node.
    pub struct NodeSpec {
        /// Whether new pods are kept off.
        pub unschedulable: bool,
        /// The taints.
        pub taints: Vec<Taint>,
    }

    /// `status` of a node.
    pub struct NodeStatus {
        /// All there is.
        pub capacity: Option<ResourceList>,
        /// What pods may have of it.
        pub allocatable: Option<ResourceList>,
        /// Whether a kubelet has reported conditions.
        pub conditions: Present,
        /// The images that are there.
        pub images: Vec<Image>,
        /// What its kubelet and container runtime can do.
        pub declared_features: Vec<String>,
    }

    /// A taint.
    pub struct Taint {
        /// The key.
        pub key: String,
        /// The value.
        pub value: String,
        /// The effect.
        pub effect: String,
    }

    /// An image that a node has.
    pub struct Image {
        /// Its names.
        pub names: Vec<String>,
        /// Its size.
        pub size_bytes: i64,
    }
}

/// The effect of this name; one that is not known does nothing.
pub fn effect(name: &str) -> Option<TaintEffect> {
    match name {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

/// Amounts as the scheduler counts them on a node.
fn resources(list: &ResourceList, names: &mut Interner) -> Result<Resources, ConvertError> {
    let mut out = Resources::default();
    for (resource, text) in &list.0 {
        let quantity = text.parse().map_err(|e| e.at(resource))?;
        match resource.as_str() {
            names::CPU => out.cpu_milli = quantity.milli_value(),
            names::MEMORY => out.memory = quantity.value(),
            names::EPHEMERAL_STORAGE => out.ephemeral_storage = quantity.value(),
            names::PODS => out.pods = quantity.value(),
            other if model::is_scalar(other) => {
                out.scalar.insert(names.share(other), quantity.value());
            }
            _ => {}
        }
    }
    Ok(out)
}

impl Node {
    /// The node as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Node, ConvertError> {
        // An absent `allocatable` means all of the capacity; an empty one means nothing.
        let (list, field) = match (&self.status.allocatable, &self.status.capacity) {
            (Some(list), _) => (Some(list), "status.allocatable"),
            (None, list) => (list.as_ref(), "status.capacity"),
        };
        let allocatable = list.map(|l| resources(l, names)).transpose().map_err(|e| e.at(field))?;
        Ok(model::Node {
            name: Name::from(self.metadata.name.as_str()),
            version: self.metadata.version(),
            labels: self.metadata.labels.to_labels(names),
            unschedulable: self.spec.unschedulable,
            taints: self.spec.taints.iter().filter_map(|t| t.to_engine(names)).collect(),
            allocatable: allocatable.unwrap_or_default(),
            images: self
                .status
                .images
                .iter()
                .map(|i| model::Image { names: names.share_all(&i.names), size: i.size_bytes })
                .collect(),
            features: self.status.declared_features.iter().filter_map(|name| Feature::from_name(name)).collect(),
        })
    }
}

impl Taint {
    fn to_engine(&self, names: &mut Interner) -> Option<model::Taint> {
        let effect = effect(&self.effect)?;
        Some(model::Taint { key: names.share(&self.key), value: names.share(&self.value), effect })
    }
}
