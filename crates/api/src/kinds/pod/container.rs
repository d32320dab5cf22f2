//! Containers: what each asks for, has, and listens on.

use plimsoll_engine::model::{self, Requests};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::lenient::{Present, ResourceList, slim};

slim! {
    /// A container.
    pub struct Container {
        /// The name.
        pub name: String,
        /// The image.
        pub image: String,
        /// `Always` on an init container makes it a sidecar.
        pub restart_policy: String,
        /// What to do when it ends, by how it ended.
        pub restart_policy_rules: Vec<RestartRule>,
        /// Where volumes are mounted into it.
        pub volume_mounts: Vec<VolumeMount>,
        /// What it asks for.
        pub resources: ResourceRequirements,
        /// Its ports.
        pub ports: Vec<ContainerPort>,
    }

    /// A rule of `restartPolicyRules`.
    pub struct RestartRule {
        /// What is done.
        pub action: String,
    }

    /// A mount.
    pub struct VolumeMount {
        /// Options of the mount.
        pub bind_mount_options: Vec<Present>,
    }

    /// `resources`.
    pub struct ResourceRequirements {
        /// What is set aside.
        pub requests: Option<ResourceList>,
        /// What it cannot go beyond.
        pub limits: Option<ResourceList>,
    }

    /// A port.
    pub struct ContainerPort {
        /// The port in the container.
        pub container_port: i32,
        /// The port on the node; 0 is none.
        pub host_port: i32,
        /// The node's address that it is on.
        #[serde(rename = "hostIP")]
        pub host_ip: String,
        /// The protocol; empty is TCP.
        pub protocol: String,
    }

    /// What a container has.
    pub struct ContainerStatus {
        /// The container's name.
        pub name: String,
        /// What the node has set aside for it.
        pub allocated_resources: Option<ResourceList>,
        /// What it runs with.
        pub resources: Option<ResourceRequirements>,
    }
}

/// Parses a list that may be absent.
pub(super) fn optional(
    list: Option<&ResourceList>,
    field: &str,
    names: &mut Interner,
) -> Result<Option<Requests>, ConvertError> {
    list.map(|l| l.to_requests(names)).transpose().map_err(|e| e.at(field))
}

impl Container {
    /// Whether an init container stays beside the others.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }

    /// The container's share of the demand; `status` is its status, where the pod has one.
    pub(super) fn to_engine(
        &self,
        status: Option<&ContainerStatus>,
        names: &mut Interner,
    ) -> Result<model::Container, ConvertError> {
        let requests = optional(self.resources.requests.as_ref(), "resources.requests", names)?;
        let allocated = status.and_then(|s| s.allocated_resources.as_ref());
        let actual = status.and_then(|s| s.resources.as_ref()?.requests.as_ref());
        Ok(model::Container {
            name: names.share(&self.name),
            sidecar: self.is_sidecar(),
            requests: requests.unwrap_or_default(),
            allocated: optional(allocated, "allocatedResources", names)?,
            actual: optional(actual, "resources.requests", names)?,
        })
    }

    /// The ports that the container takes on the node.
    pub(super) fn host_ports(&self, names: &mut Interner) -> Vec<model::HostPort> {
        self.ports
            .iter()
            .filter(|p| p.host_port > 0)
            .map(|p| model::HostPort {
                ip: names.share(&p.host_ip),
                protocol: if p.protocol.is_empty() { names.share("TCP") } else { names.share(&p.protocol) },
                port: p.host_port,
            })
            .collect()
    }
}
