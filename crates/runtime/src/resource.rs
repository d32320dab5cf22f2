//! The kinds that processes read and write, as the API's paths name them.

/// A kind as the API's paths name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The plural, as in paths.
    pub plural: &'static str,
    /// The kind, as in objects.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// PersistentVolumes.
    pub const VOLUMES: Self = core("persistentvolumes", "PersistentVolume", false);
    /// PersistentVolumeClaims.
    pub const CLAIMS: Self = core("persistentvolumeclaims", "PersistentVolumeClaim", true);
    /// Pods.
    pub const PODS: Self = core("pods", "Pod", true);
    /// Nodes.
    pub const NODES: Self = core("nodes", "Node", false);
    /// Events.
    pub const EVENTS: Self = core("events", "Event", true);
    /// The same objects with other names for some fields, and with series.
    pub const SERIES: Self =
        Self { group: "events.k8s.io", version: "v1", plural: "events", kind: "Event", namespaced: true };
    /// Namespaces.
    pub const NAMESPACES: Self = core("namespaces", "Namespace", false);
    /// StorageClasses.
    pub const CLASSES: Self = storage("storageclasses", "StorageClass", false);
    /// CSINodes.
    pub const CSI_NODES: Self = storage("csinodes", "CSINode", false);
    /// CSIDrivers.
    pub const CSI_DRIVERS: Self = storage("csidrivers", "CSIDriver", false);
    /// VolumeAttachments.
    pub const ATTACHMENTS: Self = storage("volumeattachments", "VolumeAttachment", false);
    /// CSIStorageCapacities.
    pub const CAPACITIES: Self = storage("csistoragecapacities", "CSIStorageCapacity", true);
    /// ServiceAccounts.
    pub const SERVICE_ACCOUNTS: Self = core("serviceaccounts", "ServiceAccount", true);
    /// ConfigMaps.
    pub const CONFIG_MAPS: Self = core("configmaps", "ConfigMap", true);
    /// Services.
    pub const SERVICES: Self = core("services", "Service", true);
    /// ReplicationControllers.
    pub const REPLICATION_CONTROLLERS: Self = core("replicationcontrollers", "ReplicationController", true);
    /// ReplicaSets.
    pub const REPLICA_SETS: Self = apps("replicasets", "ReplicaSet");
    /// StatefulSets.
    pub const STATEFUL_SETS: Self = apps("statefulsets", "StatefulSet");
    /// Deployments.
    pub const DEPLOYMENTS: Self = apps("deployments", "Deployment");
    /// DaemonSets.
    pub const DAEMON_SETS: Self = apps("daemonsets", "DaemonSet");
    /// ControllerRevisions.
    pub const REVISIONS: Self = apps("controllerrevisions", "ControllerRevision");
    /// Jobs.
    pub const JOBS: Self = Self { group: "batch", version: "v1", plural: "jobs", kind: "Job", namespaced: true };
    /// PodDisruptionBudgets.
    pub const BUDGETS: Self = Self {
        group: "policy",
        version: "v1",
        plural: "poddisruptionbudgets",
        kind: "PodDisruptionBudget",
        namespaced: true,
    };
    /// Leases.
    pub const LEASES: Self =
        Self { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true };

    /// Group and version, as in objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of all its objects, in a namespace or in all of them.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let group = if self.group.is_empty() { String::new() } else { format!("/{}", self.group) };
        let place = match namespace {
            Some(namespace) if self.namespaced => format!("/namespaces/{namespace}"),
            _ => String::new(),
        };
        format!("{root}{group}/{}{place}/{}", self.version, self.plural)
    }

    /// The path of one object.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(Some(namespace)))
    }

    /// The path of a part of one object; an empty name is the object itself.
    pub fn sub_path(&self, namespace: &str, name: &str, subresource: &str) -> String {
        let path = self.path(namespace, name);
        if subresource.is_empty() { path } else { format!("{path}/{subresource}") }
    }
}

const fn core(plural: &'static str, kind: &'static str, namespaced: bool) -> Resource {
    Resource { group: "", version: "v1", plural, kind, namespaced }
}

const fn storage(plural: &'static str, kind: &'static str, namespaced: bool) -> Resource {
    Resource { group: "storage.k8s.io", version: "v1", plural, kind, namespaced }
}

const fn apps(plural: &'static str, kind: &'static str) -> Resource {
    Resource { group: "apps", version: "v1", plural, kind, namespaced: true }
}

#[cfg(test)]
mod tests {
    use super::Resource;

    #[test]
    fn paths_are_the_apis() {
        assert_eq!(Resource::VOLUMES.path("ignored", "v"), "/api/v1/persistentvolumes/v");
        assert_eq!(Resource::CLAIMS.path("n", "c"), "/api/v1/namespaces/n/persistentvolumeclaims/c");
        assert_eq!(Resource::CLAIMS.collection(None), "/api/v1/persistentvolumeclaims");
        assert_eq!(Resource::CLASSES.path("", "c"), "/apis/storage.k8s.io/v1/storageclasses/c");
        assert_eq!(Resource::LEASES.api_version(), "coordination.k8s.io/v1");
    }
}
