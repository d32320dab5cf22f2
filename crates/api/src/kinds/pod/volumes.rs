//! `spec.volumes` of a pod.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{self, PodVolumeSource};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::claim::RawClaimTemplate;
use crate::kinds::disk::{AzureDiskSource, AzureFileSource, GceSource, IdSource, Sources, VsphereSource};
use crate::lenient::slim;
use crate::names;

slim! {
    /// A volume of a pod.
    pub struct PodVolume {
        /// Its name in the pod.
        pub name: String,
        /// A claim.
        pub persistent_volume_claim: Option<ClaimSource>,
        /// A claim that is made for the pod.
        pub ephemeral: Option<EphemeralSource>,
        /// An inline CSI volume.
        pub csi: Option<InlineCsiSource>,
        /// An iSCSI target.
        pub iscsi: Option<IscsiSource>,
        /// A Ceph block device.
        pub rbd: Option<RbdSource>,
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
        /// An image as a volume.
        pub image: Option<ImageSource>,
    }

    /// `image`.
    pub struct ImageSource {
        /// The image's name.
        pub reference: String,
    }

    /// `persistentVolumeClaim`.
    pub struct ClaimSource {
        /// The claim's name.
        pub claim_name: String,
    }

    /// `ephemeral`.
    pub struct EphemeralSource {
        /// What the claim will look like.
        pub volume_claim_template: RawClaimTemplate,
    }

    /// `csi`.
    pub struct InlineCsiSource {
        /// The driver.
        pub driver: String,
    }

    /// `iscsi`.
    pub struct IscsiSource {
        /// The target's name.
        pub iqn: String,
        /// Whether it is only read.
        pub read_only: bool,
    }

    /// `rbd`.
    pub struct RbdSource {
        /// The monitors.
        pub monitors: Vec<String>,
        /// The pool.
        pub pool: String,
        /// The image.
        pub image: String,
        /// Whether it is only read.
        pub read_only: bool,
    }
}

impl PodVolume {
    pub(super) fn to_engine(&self, names: &mut Interner) -> Result<model::PodVolume, ConvertError> {
        Ok(model::PodVolume { name: names.share(&self.name), source: self.source(names)? })
    }

    fn source(&self, names: &mut Interner) -> Result<PodVolumeSource, ConvertError> {
        if let Some(claim) = &self.persistent_volume_claim {
            return Ok(PodVolumeSource::Claim { name: Name::from(claim.claim_name.as_str()) });
        }
        if let Some(ephemeral) = &self.ephemeral {
            let template =
                ephemeral.volume_claim_template.to_engine(names).map_err(|e| e.at("ephemeral.volumeClaimTemplate"))?;
            return Ok(PodVolumeSource::Ephemeral { template });
        }
        if let Some(csi) = &self.csi {
            return Ok(PodVolumeSource::InlineCsi { driver: names.share(&csi.driver) });
        }
        if let Some(iscsi) = &self.iscsi {
            return Ok(PodVolumeSource::Iscsi { iqn: Name::from(iscsi.iqn.as_str()), read_only: iscsi.read_only });
        }
        if let Some(rbd) = &self.rbd {
            return Ok(PodVolumeSource::Rbd {
                monitors: names.share_all(&rbd.monitors),
                pool: names.share(if rbd.pool.is_empty() { names::RBD_POOL } else { &rbd.pool }),
                image: Name::from(rbd.image.as_str()),
                read_only: rbd.read_only,
            });
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
        let disk = sources.disk(names).map(|(disk, read_only)| PodVolumeSource::Disk { disk, read_only });
        Ok(disk.unwrap_or(PodVolumeSource::Other))
    }
}
