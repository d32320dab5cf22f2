//! Features that nodes declare and pods need.

/// A feature that a node may declare (`status.declaredFeatures`) and that a pod may need for what its spec says. Upstream has
/// more names; no pod needs those to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A container's exit may restart all containers of its pod.
    RestartAllContainersOnContainerExits,
    /// A pod may have users of its own and the node's network.
    UserNamespacesHostNetworkSupport,
    /// A container may say with which options a volume is mounted into it.
    VolumeBindMountOptions,
}

impl Feature {
    /// Every feature, in order of their names.
    pub const ALL: [Feature; 3] = [
        Feature::RestartAllContainersOnContainerExits,
        Feature::UserNamespacesHostNetworkSupport,
        Feature::VolumeBindMountOptions,
    ];

    /// Its name, as nodes declare it.
    pub fn name(self) -> &'static str {
        match self {
            Feature::RestartAllContainersOnContainerExits => "RestartAllContainersOnContainerExits",
            Feature::UserNamespacesHostNetworkSupport => "UserNamespacesHostNetworkSupport",
            Feature::VolumeBindMountOptions => "VolumeBindMountOptions",
        }
    }

    /// The feature of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }
}

/// A set of features, in one byte: every node and every pod has one, nearly all of them empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u8);

impl Features {
    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of the others are among these.
    pub fn include(self, others: Features) -> bool {
        others.0 & !self.0 == 0
    }

    /// Those of these that are not among the others, in order of their names.
    pub fn beyond(self, others: Features) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.0 & !others.0 & bit(*feature) != 0)
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        Self(features.into_iter().fold(0, |set, feature| set | bit(feature)))
    }
}

fn bit(feature: Feature) -> u8 {
    1 << feature as u8
}
