//! What a node must be able to do for a pod: upstream infers it from the spec alone, and each feature is a rule of its own.

use plimsoll_engine::model::{Feature, Features};

use super::{Container, PodSpec};

impl PodSpec {
    /// What a node must declare for the pod.
    pub(super) fn features(&self) -> Features {
        Feature::ALL.into_iter().filter(|feature| self.needs(*feature)).collect()
    }

    fn needs(&self, feature: Feature) -> bool {
        let ordinary = || self.containers.iter().chain(&self.init_containers);
        match feature {
            Feature::RestartAllContainersOnContainerExits => ordinary().any(restarts_all),
            Feature::UserNamespacesHostNetworkSupport => self.host_network && self.host_users == Some(false),
            Feature::VolumeBindMountOptions => ordinary().chain(&self.ephemeral_containers).any(mounts_with_options),
        }
    }
}

fn restarts_all(container: &Container) -> bool {
    container.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers")
}

fn mounts_with_options(container: &Container) -> bool {
    container.volume_mounts.iter().any(|mount| !mount.bind_mount_options.is_empty())
}
