//! What refusals depend on and changes touch, as something to file pods under.

use crate::labels::{Name, ObjectKey};
use crate::model::{InTreeDisk, PodVolumeSource};

/// Something that a refusal depends on and a change touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A node comes.
    NewNode,
    /// A node goes.
    NodeGone,
    /// Labels of nodes.
    NodeLabels,
    /// Taints and cordons of nodes.
    NodeTaints,
    /// What nodes declare that they can do.
    NodeFeatures,
    /// A host port, by number: addresses and protocols are left to the rule.
    Port(i32),
    /// Pods that carry a label, in a namespace or (`None`) in any.
    Label {
        /// The namespace; `None` where a term selects namespaces by their labels.
        namespace: Option<Name>,
        /// The label's key.
        key: Name,
        /// The label's value.
        value: Name,
    },
    /// Pods of a namespace, or (`None`) of any, whatever their labels.
    Pods(Option<Name>),
    /// Pods that keep away pods which carry this label.
    KeepsAway {
        /// The label's key.
        key: Name,
        /// The label's value.
        value: Name,
    },
    /// Pods that keep away others by a rule that no label sums up.
    KeepsAwayAny,
    /// Labels of namespaces.
    Namespaces,
    /// Services and controllers of a namespace.
    Workloads(Name),
    /// A claim, and volumes that refer to it.
    Claim(ObjectKey),
    /// The placed pods that use a claim.
    UsersOf(ObjectKey),
    /// A volume.
    Volume(Name),
    /// The free volumes of a class.
    VolumesOf(Name),
    /// A class itself.
    Class(Name),
    /// The space of a class.
    PoolsOf(Name),
    /// A CSIDriver.
    Driver(Name),
    /// CSINodes, as far as they say which plugins are migrated.
    CsiNodes,
    /// What a driver can still attach, anywhere.
    Slots(Name),
    /// Touched where some driver, one cannot say which, can attach more: all that wait for slots wait for this.
    AnySlots,
    /// Waited for where the plan decides which driver is asked: every change of slots touches this.
    SomeSlots,
    /// Volumes of a class, free or not, that came, changed or went: they may be part of a plan, or cease to be.
    AnyVolumeOf(Name),
    /// A volume as drivers know it: whether it is attached somewhere already.
    Handle(Name, Name),
    /// A disk that cannot be shared, by its id.
    Disk(Name),
    /// Whatever happens: a refusal of which nothing is known here.
    Anything,
}

impl Key {
    /// The key of a disk that pods on one node cannot share.
    pub(super) fn disk(source: &PodVolumeSource) -> Option<Self> {
        match source {
            PodVolumeSource::Disk {
                disk: InTreeDisk::GcePd { name: id } | InTreeDisk::AwsEbs { volume_id: id },
                ..
            }
            | PodVolumeSource::Iscsi { iqn: id, .. }
            | PodVolumeSource::Rbd { image: id, .. } => Some(Self::Disk(id.clone())),
            _ => None,
        }
    }
}
