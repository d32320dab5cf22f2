//! Names that Kubernetes and its storage protocol give a meaning to.

/// Annotation on claims and volumes: the class's name before it was a field. It still wins over the field.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Annotation on a claim whose binding is complete.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Annotation on a claim or volume that a controller, not a person, bound.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Annotation on a claim: the node that the scheduler chose for provisioning.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Annotation on a claim: who is to make its volume.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The same before it was stable; both are written, and the stable one is read first.
pub const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// Annotation on a volume: who made it on demand.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Annotation on claims and volumes of an in-tree plugin: the CSI driver that took over.
pub const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// Annotation on a volume: the size to show in its claim until the resizer is done.
pub const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";
/// Finalizer of a claim while a pod uses it.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// Finalizer of a volume while a claim has it.
pub const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
/// Finalizer of a volume that the volume controller must delete itself, with what is on it.
pub const DELETION_IN_TREE: &str = "kubernetes.io/pv-controller";
/// The same of a volume that a CSI provisioner must delete.
pub const DELETION_EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// Annotation on a CSINode: the in-tree plugins whose volumes the node's drivers serve, separated by commas.
pub const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";
/// Annotation on a StorageClass that claims without a class get.
pub const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// The same before it was stable; the API server still reads it.
pub const BETA_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";

/// The annotations that anything here reads. All others (a last-applied configuration can be large) are skipped while
/// decoding.
pub const READ_ANNOTATIONS: [&str; 15] = [
    BETA_STORAGE_CLASS,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    BETA_STORAGE_PROVISIONER,
    PROVISIONED_BY,
    MIGRATED_TO,
    PRE_RESIZE_CAPACITY,
    MIGRATED_PLUGINS,
    DEFAULT_CLASS,
    BETA_DEFAULT_CLASS,
    JOB_INDEX,
    JOB_INDEX_FAILURES,
    JOB_INDEX_IGNORED_FAILURES,
];

/// Label that every namespace has: its own name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// Label on a Deployment's ReplicaSets and pods that tells the revisions apart.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Label on a StatefulSet's pods: the pod's own name.
pub const STATEFUL_SET_POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// Label on a StatefulSet's pods: the ordinal.
pub const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// Labels on a Job's pods: the job's name, in its present and its first spelling.
pub const JOB_NAMES: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
/// Label and annotation on an Indexed Job's pods: the index.
pub const JOB_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Annotation on such pods: how many of the same index failed before.
pub const JOB_INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// Annotation on such pods: how many more failed, and were not to be counted.
pub const JOB_INDEX_IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Taint of a node that is not ready.
pub const TAINT_NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Taint of a node that cannot be reached.
pub const TAINT_UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Taint of a node with `spec.unschedulable`.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Taint of a node that runs out of disk.
pub const TAINT_DISK_PRESSURE: &str = "node.kubernetes.io/disk-pressure";
/// Taint of a node that runs out of memory.
pub const TAINT_MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";
/// Taint of a node that runs out of process ids.
pub const TAINT_PID_PRESSURE: &str = "node.kubernetes.io/pid-pressure";
/// Taint of a node whose network is not set up.
pub const TAINT_NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// The pool of an `rbd` volume that names none.
pub const RBD_POOL: &str = "rbd";
/// The namespace of an object that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Resource `cpu`.
pub const CPU: &str = "cpu";
/// Resource `memory`.
pub const MEMORY: &str = "memory";
/// Resource `ephemeral-storage`.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// Resource `pods`.
pub const PODS: &str = "pods";
/// Resource `storage`, of volumes and claims.
pub const STORAGE: &str = "storage";
/// What the names of hugepage resources begin with.
pub const HUGEPAGES: &str = "hugepages-";
