//! Disks of the former in-tree plugins.

use crate::labels::Name;

/// A disk of a former in-tree plugin, which migration translates to a CSI driver's volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InTreeDisk {
    /// `awsElasticBlockStore`.
    AwsEbs {
        /// The id as written: `vol-…` or `aws://zone/vol-…`.
        volume_id: Name,
    },
    /// `gcePersistentDisk`.
    GcePd {
        /// The disk's name.
        name: Name,
    },
    /// `azureDisk`.
    AzureDisk {
        /// The disk's URI.
        uri: Name,
        /// `kind` as written; only managed disks (also where it is empty) can be migrated.
        kind: Name,
    },
    /// `azureFile`.
    AzureFile {
        /// The share's name.
        share: Name,
        /// The secret's name.
        secret: Name,
        /// The secret's namespace; empty where unset.
        secret_namespace: Name,
    },
    /// `cinder`.
    Cinder {
        /// The volume's id.
        volume_id: Name,
    },
    /// `portworxVolume`.
    Portworx {
        /// The volume's id.
        volume_id: Name,
    },
    /// `vsphereVolume`.
    Vsphere {
        /// The volume's path.
        path: Name,
    },
}
