//! Disks of the former in-tree plugins, in volumes and in pods.

use plimsoll_engine::labels::Name;
use plimsoll_engine::model::InTreeDisk;

use crate::interner::Interner;
use crate::lenient::slim;

slim! {
    /// `awsElasticBlockStore`, `cinder` or `portworxVolume`.
    pub struct IdSource {
        /// The volume's id.
        #[serde(rename = "volumeID")]
        pub volume_id: String,
        /// Whether it is only read.
        pub read_only: bool,
    }

    /// `gcePersistentDisk`.
    pub struct GceSource {
        /// The disk's name.
        pub pd_name: String,
        /// Whether it is only read.
        pub read_only: bool,
    }

    /// `azureDisk`.
    pub struct AzureDiskSource {
        /// The disk's URI.
        #[serde(rename = "diskURI")]
        pub disk_uri: String,
        /// `Shared` (also where unset), `Dedicated` or `Managed`.
        pub kind: String,
        /// Whether it is only read.
        pub read_only: bool,
    }

    /// `azureFile`.
    pub struct AzureFileSource {
        /// The share's name.
        pub share_name: String,
        /// The secret's name.
        pub secret_name: String,
        /// The secret's namespace.
        pub secret_namespace: String,
        /// Whether it is only read.
        pub read_only: bool,
    }

    /// `vsphereVolume`.
    pub struct VsphereSource {
        /// The volume's path.
        pub volume_path: String,
    }
}

/// The sources that name an in-tree disk, at most one of which is set.
pub(crate) struct Sources<'a> {
    pub aws: Option<&'a IdSource>,
    pub gce: Option<&'a GceSource>,
    pub azure_disk: Option<&'a AzureDiskSource>,
    pub azure_file: Option<&'a AzureFileSource>,
    pub cinder: Option<&'a IdSource>,
    pub portworx: Option<&'a IdSource>,
    pub vsphere: Option<&'a VsphereSource>,
}

impl AzureDiskSource {
    /// The API server stores a kind where none is given.
    pub(crate) fn complete(&mut self) {
        if self.kind.is_empty() {
            self.kind = "Shared".to_owned();
        }
    }
}

impl Sources<'_> {
    /// The disk and whether it is only read.
    pub fn disk(&self, names: &mut Interner) -> Option<(InTreeDisk, bool)> {
        let own = |text: &str| Name::from(text);
        if let Some(s) = self.gce {
            return Some((InTreeDisk::GcePd { name: own(&s.pd_name) }, s.read_only));
        }
        if let Some(s) = self.aws {
            return Some((InTreeDisk::AwsEbs { volume_id: own(&s.volume_id) }, s.read_only));
        }
        if let Some(s) = self.azure_disk {
            let disk = InTreeDisk::AzureDisk { uri: own(&s.disk_uri), kind: names.share(&s.kind) };
            return Some((disk, s.read_only));
        }
        if let Some(s) = self.azure_file {
            let disk = InTreeDisk::AzureFile {
                share: own(&s.share_name),
                secret: names.share(&s.secret_name),
                secret_namespace: names.share(&s.secret_namespace),
            };
            return Some((disk, s.read_only));
        }
        if let Some(s) = self.cinder {
            return Some((InTreeDisk::Cinder { volume_id: own(&s.volume_id) }, s.read_only));
        }
        if let Some(s) = self.portworx {
            return Some((InTreeDisk::Portworx { volume_id: own(&s.volume_id) }, s.read_only));
        }
        self.vsphere.map(|s| (InTreeDisk::Vsphere { path: own(&s.volume_path) }, false))
    }
}
