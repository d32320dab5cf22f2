//! `spec.volumes` of a pod.

use crate::labels::Name;
use crate::model::{AccessModes, InTreeDisk, VolumeMode};
use crate::quantity::Quantity;

/// One entry of a pod's `spec.volumes` that some rule reads.
#[derive(Clone, Debug, PartialEq)]
pub struct PodVolume {
    /// The entry's name.
    pub name: Name,
    /// Where it comes from.
    pub source: PodVolumeSource,
}

/// The source of a pod's volume.
#[derive(Clone, Debug, PartialEq)]
pub enum PodVolumeSource {
    /// `persistentVolumeClaim`.
    Claim {
        /// The claim's name in the pod's namespace.
        name: Name,
    },
    /// `ephemeral`: a claim named after pod and volume, made by the ephemeral controller and owned by the pod.
    Ephemeral {
        /// What the claim will look like.
        template: ClaimTemplate,
    },
    /// A disk of a former in-tree plugin, named in the pod itself.
    Disk {
        /// The disk.
        disk: InTreeDisk,
        /// Whether the pod only reads it.
        read_only: bool,
    },
    /// `iscsi`.
    Iscsi {
        /// The target's name.
        iqn: Name,
        /// Whether the pod only reads it.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// The monitors.
        monitors: Vec<Name>,
        /// The pool; `rbd` unless told.
        pool: Name,
        /// The image.
        image: Name,
        /// Whether the pod only reads it.
        read_only: bool,
    },
    /// An inline `csi` volume. It is never counted against attach limits.
    InlineCsi {
        /// The driver.
        driver: Name,
    },
    /// Anything else: it constrains nothing.
    Other,
}

/// `ephemeral.volumeClaimTemplate.spec`, as far as a claim made from it differs from another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimTemplate {
    /// The class (annotation first, then the field); `None` is the default class.
    pub class: Option<Name>,
    /// The size asked for.
    pub request: Option<Quantity>,
    /// The access modes.
    pub access_modes: AccessModes,
    /// The volume mode.
    pub mode: VolumeMode,
    /// `volumeAttributesClassName`; empty where unset.
    pub attributes_class: Name,
}
