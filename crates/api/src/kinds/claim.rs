//! PersistentVolumeClaims, and the templates that claims are made from.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, ClaimPhase, ClaimTemplate};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::volume::{access_modes, volume_mode};
use crate::kinds::{ObjectMeta, RawLabelSelector};
use crate::lenient::{ResourceList, slim};
use crate::names;

slim! {
    /// A PersistentVolumeClaim.
    pub struct PersistentVolumeClaim {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: ClaimSpec,
        /// `status`.
        pub status: ClaimStatus,
    }

    /// `status` of a claim.
    pub struct ClaimStatus {
        /// The phase.
        pub phase: String,
        /// How it can be used, as its volume says.
        pub access_modes: Vec<String>,
        /// The conditions.
        pub conditions: Vec<ClaimCondition>,
    }

    /// A condition of a claim.
    pub struct ClaimCondition {
        /// The type.
        #[serde(rename = "type")]
        pub kind: String,
        /// Whether it holds.
        pub status: String,
    }

    /// `spec` of a claim.
    pub struct ClaimSpec {
        /// The class; `None` asks for the default one, an empty name for none.
        pub storage_class_name: Option<String>,
        /// What it asks for.
        pub resources: ClaimResources,
        /// How it will be used.
        pub access_modes: Vec<String>,
        /// A file system or a block device.
        pub volume_mode: String,
        /// The attributes class.
        pub volume_attributes_class_name: String,
        /// Which volumes will do.
        pub selector: Option<RawLabelSelector>,
        /// The volume that it has or wants.
        pub volume_name: String,
    }

    /// `spec.resources` of a claim.
    pub struct ClaimResources {
        /// The requests.
        pub requests: ResourceList,
    }
}

impl ClaimSpec {
    fn request(&self) -> Result<Option<plimsoll_engine::quantity::Quantity>, ConvertError> {
        self.resources.requests.parse(names::STORAGE).map_err(|e| e.at("resources.requests"))
    }
}

/// The class that annotation and field ask for together; `None` is the default class.
fn class<'a>(meta: &'a ObjectMeta, spec: &'a ClaimSpec) -> Option<&'a str> {
    meta.annotation(names::BETA_STORAGE_CLASS).or(spec.storage_class_name.as_deref())
}

impl PersistentVolumeClaim {
    /// The class that it asks for: the annotation's, else the field's. `None` asks for the default one.
    pub fn class_name(&self) -> Option<&str> {
        class(&self.metadata, &self.spec)
    }

    /// The claim as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Claim, ConvertError> {
        let (meta, spec) = (&self.metadata, &self.spec);
        let in_spec = |e: ConvertError| e.at("spec");
        Ok(model::Claim {
            key: meta.key(names),
            uid: Name::from(meta.uid.as_str()),
            version: meta.version(),
            class: names.share(class(meta, spec).unwrap_or_default()),
            has_class: class(meta, spec).is_some(),
            class_field: names.share(spec.storage_class_name.as_deref().unwrap_or_default()),
            request: spec.request().map_err(in_spec)?,
            access_modes: access_modes(&spec.access_modes).map_err(in_spec)?,
            mode: volume_mode(&spec.volume_mode).map_err(in_spec)?,
            attributes_class: names.share(&spec.volume_attributes_class_name),
            selector: spec.selector.as_ref().map(|s| s.compile(names)),
            volume: Name::from(spec.volume_name.as_str()),
            bind_completed: meta.annotation(names::BIND_COMPLETED).is_some(),
            bound_by_controller: meta.annotation(names::BOUND_BY_CONTROLLER).is_some(),
            has_annotations: meta.annotations.is_some(),
            selected_node: meta.annotation(names::SELECTED_NODE).map(|n| names.share(n)),
            phase: self.phase()?,
            deleting: meta.deletion_timestamp.0,
            controller_uid: meta.controller().map(|o| Name::from(o.uid.as_str())),
        })
    }

    fn phase(&self) -> Result<ClaimPhase, ConvertError> {
        match self.status.phase.as_str() {
            "" | "Pending" => Ok(ClaimPhase::Pending),
            "Bound" => Ok(ClaimPhase::Bound),
            "Lost" => Ok(ClaimPhase::Lost),
            other => Err(ConvertError::unknown(other).at("status.phase")),
        }
    }
}

slim! {
    /// A template for claims: of a StatefulSet, or of a pod's generic ephemeral volume.
    pub struct RawClaimTemplate {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: ClaimSpec,
    }
}

impl RawClaimTemplate {
    /// The template as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<ClaimTemplate, ConvertError> {
        let spec = &self.spec;
        let in_spec = |e: ConvertError| e.at("spec");
        Ok(ClaimTemplate {
            class: class(&self.metadata, spec).map(|c| names.share(c)),
            request: spec.request().map_err(in_spec)?,
            access_modes: access_modes(&spec.access_modes).map_err(in_spec)?,
            mode: volume_mode(&spec.volume_mode).map_err(in_spec)?,
            attributes_class: names.share(&spec.volume_attributes_class_name),
        })
    }
}
