//! Who makes and deletes volumes: a plugin of this process, a driver elsewhere, or nobody (pv-controller.md 4.7, 4.9).

use crate::labels::Name;
use crate::model::ReclaimPolicy;

/// What the names of in-tree plugins begin with.
const IN_TREE: &str = "kubernetes.io/";

/// In-tree plugins whose volumes belong to a CSI driver now, without exception.
const MIGRATED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// Whether this is the name of an in-tree plugin, known or not.
pub fn is_in_tree(provisioner: &str) -> bool {
    provisioner.starts_with(IN_TREE)
}

/// The CSI driver that took over from an in-tree plugin. `served` says which names this process serves itself: those are
/// not handed over.
pub fn migrated_to(plugin: &str, served: bool) -> Option<&'static str> {
    if served {
        return None;
    }
    MIGRATED.iter().find(|(name, _)| *name == plugin).map(|(_, driver)| *driver)
}

/// Who makes the volumes of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maker {
    /// A plugin of this process.
    Here,
    /// A provisioner elsewhere, by the name that it answers to.
    Elsewhere(Name),
    /// Nobody: an in-tree name without a plugin.
    Nobody,
}

/// Who makes volumes for a provisioner's name. `served` says whether this process has a plugin of that name.
pub fn maker(provisioner: &str, served: bool) -> Maker {
    if served {
        Maker::Here
    } else if let Some(driver) = migrated_to(provisioner, served) {
        Maker::Elsewhere(driver.into())
    } else if is_in_tree(provisioner) {
        Maker::Nobody
    } else {
        Maker::Elsewhere(provisioner.into())
    }
}

/// Which deletion finalizers a volume that was made on demand should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionFinalizers {
    /// Whether it should have the volume controller's own; `None` leaves it as it is.
    pub in_tree: Option<bool>,
    /// The same for that of external provisioners.
    pub external: Option<bool>,
}

/// Which deletion finalizers a volume should have. Only volumes that were made on demand are touched.
pub fn deletion_finalizers(provisioned_by: Option<&str>, served: bool, policy: &ReclaimPolicy) -> DeletionFinalizers {
    let untouched = DeletionFinalizers { in_tree: None, external: None };
    let Some(plugin) = provisioned_by else { return untouched };
    if migrated_to(plugin, served).is_some() {
        // Its driver sees to the other one.
        DeletionFinalizers { in_tree: Some(false), external: None }
    } else if is_in_tree(plugin) || served {
        DeletionFinalizers { in_tree: Some(*policy == ReclaimPolicy::Delete), external: Some(false) }
    } else {
        untouched
    }
}
