//! PersistentVolumes.

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{self, AccessModes, ReclaimPolicy, VolumeMode, VolumePhase, VolumeSource};
use plimsoll_engine::quantity::Quantity;

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::disk::{AzureDiskSource, AzureFileSource, GceSource, IdSource, Sources, VsphereSource};
use crate::kinds::{ObjectMeta, RawNodeSelector};
use crate::lenient::{ResourceList, slim};
use crate::names;

slim! {
    /// A PersistentVolume.
    pub struct PersistentVolume {
        /// `metadata`.
        pub metadata: ObjectMeta,
        /// `spec`.
        pub spec: VolumeSpec,
        /// `status`.
        pub status: PhaseStatus,
    }

    /// `spec` of a volume.
    pub struct VolumeSpec {
        /// The size.
        pub capacity: ResourceList,
        /// How it can be used.
        pub access_modes: Vec<String>,
        /// A file system or a block device.
        pub volume_mode: String,
        /// The class.
        pub storage_class_name: String,
        /// The attributes class.
        pub volume_attributes_class_name: String,
        /// What becomes of it without its claim.
        pub persistent_volume_reclaim_policy: String,
        /// Where it can be reached from.
        pub node_affinity: VolumeNodeAffinity,
        /// The claim that has it.
        pub claim_ref: Option<ObjectReference>,
        /// A CSI volume.
        pub csi: Option<CsiSource>,
        /// An EBS volume.
        pub aws_elastic_block_store: Option<IdSource>,
        /// A GCE disk.
        pub gce_persistent_disk: Option<GceSource>,
        /// An Azure disk.
        pub azure_disk: Option<AzureDiskSource>,
        /// An Azure file share.
        pub azure_file: Option<AzureFileSource>,
        /// A Cinder volume.
        pub cinder: Option<IdSource>,
        /// A Portworx volume.
        pub portworx_volume: Option<IdSource>,
        /// A vSphere volume.
        pub vsphere_volume: Option<VsphereSource>,
    }

    /// `spec.nodeAffinity` of a volume.
    pub struct VolumeNodeAffinity {
        /// What nodes must match.
        pub required: Option<RawNodeSelector>,
    }

    /// A reference to an object.
    pub struct ObjectReference {
        /// The namespace.
        pub namespace: String,
        /// The name.
        pub name: String,
        /// The uid.
        pub uid: String,
    }

    /// `spec.csi` of a volume.
    pub struct CsiSource {
        /// The driver.
        pub driver: String,
        /// The driver's name for it.
        pub volume_handle: String,
    }

    /// A status of which only the phase is read.
    pub struct PhaseStatus {
        /// The phase.
        pub phase: String,
    }
}

/// The set of access modes.
pub(crate) fn access_modes(modes: &[String]) -> Result<AccessModes, ConvertError> {
    modes.iter().enumerate().try_fold(AccessModes::default(), |set, (i, mode)| {
        let one = AccessModes::from_name(mode).ok_or_else(|| ConvertError::unknown(mode).at_index(i).at("accessModes"));
        Ok(set.with(one?))
    })
}

/// The volume mode; absent means a file system.
pub(crate) fn volume_mode(mode: &str) -> Result<VolumeMode, ConvertError> {
    match mode {
        "" | "Filesystem" => Ok(VolumeMode::Filesystem),
        "Block" => Ok(VolumeMode::Block),
        other => Err(ConvertError::unknown(other).at("volumeMode")),
    }
}

impl PersistentVolume {
    /// The volume as decisions see it.
    pub fn to_engine(&self, names: &mut Interner) -> Result<model::Volume, ConvertError> {
        let (meta, spec) = (&self.metadata, &self.spec);
        let in_spec = |e: ConvertError| e.at("spec");
        let class_field = names.share(&spec.storage_class_name);
        Ok(model::Volume {
            name: Name::from(meta.name.as_str()),
            version: meta.version(),
            labels: meta.labels.to_labels(names),
            class: meta.annotation(names::BETA_STORAGE_CLASS).map_or_else(|| class_field.clone(), |c| names.share(c)),
            class_field,
            capacity: spec.capacity.parse(names::STORAGE).map_err(|e| e.at("spec.capacity"))?.unwrap_or(Quantity::ZERO),
            access_modes: access_modes(&spec.access_modes).map_err(in_spec)?,
            mode: volume_mode(&spec.volume_mode).map_err(in_spec)?,
            attributes_class: names.share(&spec.volume_attributes_class_name),
            affinity: spec.node_affinity.required.as_ref().map(|s| std::sync::Arc::new(s.compile(names))),
            claim_ref: spec.claim_ref.as_ref().map(|r| model::ClaimRef {
                claim: ObjectKey { namespace: names.share(&r.namespace), name: Name::from(r.name.as_str()) },
                uid: Name::from(r.uid.as_str()),
            }),
            phase: self.phase()?,
            deleting: meta.deletion_timestamp.0,
            bound_by_controller: meta.annotation(names::BOUND_BY_CONTROLLER).is_some(),
            reclaim: spec.reclaim(),
            provisioned_by: meta.annotation(names::PROVISIONED_BY).map(|p| names.share(p)),
            source: spec.source(names),
        })
    }

    fn phase(&self) -> Result<VolumePhase, ConvertError> {
        match self.status.phase.as_str() {
            "" | "Pending" => Ok(VolumePhase::Pending),
            "Available" => Ok(VolumePhase::Available),
            "Bound" => Ok(VolumePhase::Bound),
            "Released" => Ok(VolumePhase::Released),
            "Failed" => Ok(VolumePhase::Failed),
            other => Err(ConvertError::unknown(other).at("status.phase")),
        }
    }
}

impl VolumeSpec {
    fn reclaim(&self) -> ReclaimPolicy {
        match self.persistent_volume_reclaim_policy.as_str() {
            "" | "Retain" => ReclaimPolicy::Retain,
            "Delete" => ReclaimPolicy::Delete,
            "Recycle" => ReclaimPolicy::Recycle,
            _ => ReclaimPolicy::Other,
        }
    }

    fn source(&self, names: &mut Interner) -> VolumeSource {
        if let Some(csi) = &self.csi {
            return VolumeSource::Csi {
                driver: names.share(&csi.driver),
                handle: Name::from(csi.volume_handle.as_str()),
            };
        }
        let sources = Sources {
            aws: self.aws_elastic_block_store.as_ref(),
            gce: self.gce_persistent_disk.as_ref(),
            azure_disk: self.azure_disk.as_ref(),
            azure_file: self.azure_file.as_ref(),
            cinder: self.cinder.as_ref(),
            portworx: self.portworx_volume.as_ref(),
            vsphere: self.vsphere_volume.as_ref(),
        };
        sources.disk(names).map_or(VolumeSource::Other, |(disk, _)| VolumeSource::InTree(disk))
    }
}
