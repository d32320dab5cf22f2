//! StorageClasses and PriorityClasses.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, BindingMode};
use plimsoll_engine::selector::{AllowedTopologies, RawTopologyTerm};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::ObjectMeta;
use crate::lenient::{Pairs, slim};
use crate::names;

slim! {
    /// A StorageClass.
    pub struct StorageClass {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// Who makes its volumes.
        pub provisioner: String,
        /// When claims are bound.
        pub volume_binding_mode: String,
        /// Where volumes can be made.
        pub allowed_topologies: Vec<TopologyTerm>,
        /// What its provisioner is told.
        pub parameters: Pairs,
        /// How its volumes are mounted.
        pub mount_options: Vec<String>,
        /// What becomes of its volumes when they are released; the API server says `Delete` where nothing is said.
        pub reclaim_policy: String,
    }

    /// A term of `allowedTopologies`.
    pub struct TopologyTerm {
        /// Its requirements.
        pub match_label_expressions: Vec<TopologyExpression>,
    }

    /// A requirement of such a term.
    pub struct TopologyExpression {
        /// The label.
        pub key: String,
        /// The values it may have.
        pub values: Vec<String>,
    }

    /// A PriorityClass. It only fills in pods' priorities while reading.
    pub struct PriorityClass {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// The priority.
        pub value: i32,
        /// Whether pods without a class get it.
        pub global_default: bool,
    }
}

impl StorageClass {
    /// The class as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::StorageClass, ConvertError> {
        let terms: Vec<RawTopologyTerm> = self
            .allowed_topologies
            .iter()
            .map(|t| {
                t.match_label_expressions.iter().map(|e| (names.share(&e.key), names.share_all(&e.values))).collect()
            })
            .collect();
        Ok(model::StorageClass {
            name: names.share(&self.metadata.name),
            version: self.metadata.version(),
            provisioner: names.share(&self.provisioner),
            binding_mode: match self.volume_binding_mode.as_str() {
                "" => None,
                "Immediate" => Some(BindingMode::Immediate),
                "WaitForFirstConsumer" => Some(BindingMode::WaitForFirstConsumer),
                other => return Err(ConvertError::unknown(other).at("volumeBindingMode")),
            },
            default_since: self.is_default().then(|| Name::from(self.metadata.creation_timestamp.as_str())),
            allowed_topologies: AllowedTopologies::compile(&terms),
        })
    }

    /// Whether claims that name no class get this one.
    pub fn is_default(&self) -> bool {
        [names::DEFAULT_CLASS, names::BETA_DEFAULT_CLASS].iter().any(|a| self.metadata.annotation(a) == Some("true"))
    }

    /// The class's name.
    pub fn name(&self) -> Name {
        Name::from(self.metadata.name.as_str())
    }
}
