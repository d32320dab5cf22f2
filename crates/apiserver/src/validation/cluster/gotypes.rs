//! Upstream's internal Go types, as far as refusals print them: validation runs on these, so a refusal that shows a struct
//! shows their Go field names, in their order, with what is absent as `null`.

use super::gojson::{Field as F, Type as T};

const fn f(go: &'static str, json: &'static str, ty: T) -> F {
    F { go, json, ty, omit_empty: false }
}

const fn o(json: &'static str, ty: T) -> F {
    F { go: json, json, ty, omit_empty: true }
}

const fn s(json: &'static str, ty: T) -> F {
    F { go: json, json, ty, omit_empty: false }
}

/// A label selector has JSON names upstream too.
pub(super) const LABEL_SELECTOR: &[F] = &[
    o("matchLabels", T::Map),
    o(
        "matchExpressions",
        T::List(&T::Struct(&[s("key", T::Text), s("operator", T::Text), o("values", T::List(&T::Text))])),
    ),
];

/// `VolumeResourceRequirements`.
pub(super) const VOLUME_RESOURCE_REQUIREMENTS: &[F] =
    &[f("Limits", "limits", T::Map), f("Requests", "requests", T::Map)];

/// `TypedLocalObjectReference`.
pub(super) const TYPED_LOCAL_OBJECT_REFERENCE: &[F] =
    &[f("APIGroup", "apiGroup", T::Opt(&T::Text)), f("Kind", "kind", T::Text), f("Name", "name", T::Text)];

/// `TypedObjectReference`.
pub(super) const TYPED_OBJECT_REFERENCE: &[F] = &[
    f("APIGroup", "apiGroup", T::Opt(&T::Text)),
    f("Kind", "kind", T::Text),
    f("Name", "name", T::Text),
    f("Namespace", "namespace", T::Opt(&T::Text)),
];

/// `PersistentVolumeClaimSpec`.
pub(super) const PERSISTENT_VOLUME_CLAIM_SPEC: &[F] = &[
    f("AccessModes", "accessModes", T::List(&T::Text)),
    f("Selector", "selector", T::Opt(&T::Struct(LABEL_SELECTOR))),
    f("Resources", "resources", T::Struct(VOLUME_RESOURCE_REQUIREMENTS)),
    f("VolumeName", "volumeName", T::Text),
    f("StorageClassName", "storageClassName", T::Opt(&T::Text)),
    f("VolumeMode", "volumeMode", T::Opt(&T::Text)),
    f("DataSource", "dataSource", T::Opt(&T::Struct(TYPED_LOCAL_OBJECT_REFERENCE))),
    f("DataSourceRef", "dataSourceRef", T::Opt(&T::Struct(TYPED_OBJECT_REFERENCE))),
    f("VolumeAttributesClassName", "volumeAttributesClassName", T::Opt(&T::Text)),
];

/// `GCEPersistentDiskVolumeSource`.
pub(super) const GCE_PERSISTENT_DISK_VOLUME_SOURCE: &[F] = &[
    f("PDName", "pdName", T::Text),
    f("FSType", "fsType", T::Text),
    f("Partition", "partition", T::Number),
    f("ReadOnly", "readOnly", T::Flag),
];

/// `AWSElasticBlockStoreVolumeSource`.
pub(super) const AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: &[F] = &[
    f("VolumeID", "volumeID", T::Text),
    f("FSType", "fsType", T::Text),
    f("Partition", "partition", T::Number),
    f("ReadOnly", "readOnly", T::Flag),
];

/// `HostPathVolumeSource`.
pub(super) const HOST_PATH_VOLUME_SOURCE: &[F] = &[f("Path", "path", T::Text), f("Type", "type", T::Opt(&T::Text))];

/// `GlusterfsPersistentVolumeSource`.
pub(super) const GLUSTERFS_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("EndpointsName", "endpoints", T::Text),
    f("Path", "path", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("EndpointsNamespace", "endpointsNamespace", T::Opt(&T::Text)),
];

/// `NFSVolumeSource`.
pub(super) const NFS_VOLUME_SOURCE: &[F] =
    &[f("Server", "server", T::Text), f("Path", "path", T::Text), f("ReadOnly", "readOnly", T::Flag)];

/// `SecretReference`.
pub(super) const SECRET_REFERENCE: &[F] = &[f("Name", "name", T::Text), f("Namespace", "namespace", T::Text)];

/// `RBDPersistentVolumeSource`.
pub(super) const RBD_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("CephMonitors", "monitors", T::List(&T::Text)),
    f("RBDImage", "image", T::Text),
    f("FSType", "fsType", T::Text),
    f("RBDPool", "pool", T::Text),
    f("RadosUser", "user", T::Text),
    f("Keyring", "keyring", T::Text),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("ReadOnly", "readOnly", T::Flag),
];

/// `ISCSIPersistentVolumeSource`.
pub(super) const ISCSI_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("TargetPortal", "targetPortal", T::Text),
    f("IQN", "iqn", T::Text),
    f("Lun", "lun", T::Number),
    f("ISCSIInterface", "iscsiInterface", T::Text),
    f("FSType", "fsType", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("Portals", "portals", T::List(&T::Text)),
    f("DiscoveryCHAPAuth", "chapAuthDiscovery", T::Flag),
    f("SessionCHAPAuth", "chapAuthSession", T::Flag),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("InitiatorName", "initiatorName", T::Opt(&T::Text)),
];

/// `CinderPersistentVolumeSource`.
pub(super) const CINDER_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("VolumeID", "volumeID", T::Text),
    f("FSType", "fsType", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
];

/// `CephFSPersistentVolumeSource`.
pub(super) const CEPH_FS_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("Monitors", "monitors", T::List(&T::Text)),
    f("Path", "path", T::Text),
    f("User", "user", T::Text),
    f("SecretFile", "secretFile", T::Text),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("ReadOnly", "readOnly", T::Flag),
];

/// `FCVolumeSource`.
pub(super) const FC_VOLUME_SOURCE: &[F] = &[
    f("TargetWWNs", "targetWWNs", T::List(&T::Text)),
    f("Lun", "lun", T::Opt(&T::Number)),
    f("FSType", "fsType", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("WWIDs", "wwids", T::List(&T::Text)),
];

/// `FlockerVolumeSource`.
pub(super) const FLOCKER_VOLUME_SOURCE: &[F] =
    &[f("DatasetName", "datasetName", T::Text), f("DatasetUUID", "datasetUUID", T::Text)];

/// `FlexPersistentVolumeSource`.
pub(super) const FLEX_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("Driver", "driver", T::Text),
    f("FSType", "fsType", T::Text),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("ReadOnly", "readOnly", T::Flag),
    f("Options", "options", T::Map),
];

/// `AzureFilePersistentVolumeSource`.
pub(super) const AZURE_FILE_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("SecretName", "secretName", T::Text),
    f("ShareName", "shareName", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("SecretNamespace", "secretNamespace", T::Opt(&T::Text)),
];

/// `VsphereVirtualDiskVolumeSource`.
pub(super) const VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: &[F] = &[
    f("VolumePath", "volumePath", T::Text),
    f("FSType", "fsType", T::Text),
    f("StoragePolicyName", "storagePolicyName", T::Text),
    f("StoragePolicyID", "storagePolicyID", T::Text),
];

/// `QuobyteVolumeSource`.
pub(super) const QUOBYTE_VOLUME_SOURCE: &[F] = &[
    f("Registry", "registry", T::Text),
    f("Volume", "volume", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("User", "user", T::Text),
    f("Group", "group", T::Text),
    f("Tenant", "tenant", T::Text),
];

/// `AzureDiskVolumeSource`.
pub(super) const AZURE_DISK_VOLUME_SOURCE: &[F] = &[
    f("DiskName", "diskName", T::Text),
    f("DataDiskURI", "diskURI", T::Text),
    f("CachingMode", "cachingMode", T::Opt(&T::Text)),
    f("FSType", "fsType", T::Opt(&T::Text)),
    f("ReadOnly", "readOnly", T::Opt(&T::Flag)),
    f("Kind", "kind", T::Opt(&T::Text)),
];

/// `PhotonPersistentDiskVolumeSource`.
pub(super) const PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: &[F] =
    &[f("PdID", "pdID", T::Text), f("FSType", "fsType", T::Text)];

/// `PortworxVolumeSource`.
pub(super) const PORTWORX_VOLUME_SOURCE: &[F] =
    &[f("VolumeID", "volumeID", T::Text), f("FSType", "fsType", T::Text), f("ReadOnly", "readOnly", T::Flag)];

/// `ScaleIOPersistentVolumeSource`.
pub(super) const SCALE_IO_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("Gateway", "gateway", T::Text),
    f("System", "system", T::Text),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("SSLEnabled", "sslEnabled", T::Flag),
    f("ProtectionDomain", "protectionDomain", T::Text),
    f("StoragePool", "storagePool", T::Text),
    f("StorageMode", "storageMode", T::Text),
    f("VolumeName", "volumeName", T::Text),
    f("FSType", "fsType", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
];

/// `LocalVolumeSource`.
pub(super) const LOCAL_VOLUME_SOURCE: &[F] = &[f("Path", "path", T::Text), f("FSType", "fsType", T::Opt(&T::Text))];

/// `ObjectReference`.
pub(super) const OBJECT_REFERENCE: &[F] = &[
    f("Kind", "kind", T::Text),
    f("Namespace", "namespace", T::Text),
    f("Name", "name", T::Text),
    f("UID", "uid", T::Text),
    f("APIVersion", "apiVersion", T::Text),
    f("ResourceVersion", "resourceVersion", T::Text),
    f("FieldPath", "fieldPath", T::Text),
];

/// `StorageOSPersistentVolumeSource`.
pub(super) const STORAGE_OS_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("VolumeName", "volumeName", T::Text),
    f("VolumeNamespace", "volumeNamespace", T::Text),
    f("FSType", "fsType", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("SecretRef", "secretRef", T::Opt(&T::Struct(OBJECT_REFERENCE))),
];

/// `CSIPersistentVolumeSource`.
pub(super) const CSI_PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("Driver", "driver", T::Text),
    f("VolumeHandle", "volumeHandle", T::Text),
    f("ReadOnly", "readOnly", T::Flag),
    f("FSType", "fsType", T::Text),
    f("VolumeAttributes", "volumeAttributes", T::Map),
    f("ControllerPublishSecretRef", "controllerPublishSecretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("NodeStageSecretRef", "nodeStageSecretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("NodePublishSecretRef", "nodePublishSecretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("ControllerExpandSecretRef", "controllerExpandSecretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
    f("NodeExpandSecretRef", "nodeExpandSecretRef", T::Opt(&T::Struct(SECRET_REFERENCE))),
];

/// `PersistentVolumeSource`.
pub(super) const PERSISTENT_VOLUME_SOURCE: &[F] = &[
    f("GCEPersistentDisk", "gcePersistentDisk", T::Opt(&T::Struct(GCE_PERSISTENT_DISK_VOLUME_SOURCE))),
    f("AWSElasticBlockStore", "awsElasticBlockStore", T::Opt(&T::Struct(AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE))),
    f("HostPath", "hostPath", T::Opt(&T::Struct(HOST_PATH_VOLUME_SOURCE))),
    f("Glusterfs", "glusterfs", T::Opt(&T::Struct(GLUSTERFS_PERSISTENT_VOLUME_SOURCE))),
    f("NFS", "nfs", T::Opt(&T::Struct(NFS_VOLUME_SOURCE))),
    f("RBD", "rbd", T::Opt(&T::Struct(RBD_PERSISTENT_VOLUME_SOURCE))),
    f("ISCSI", "iscsi", T::Opt(&T::Struct(ISCSI_PERSISTENT_VOLUME_SOURCE))),
    f("Cinder", "cinder", T::Opt(&T::Struct(CINDER_PERSISTENT_VOLUME_SOURCE))),
    f("CephFS", "cephfs", T::Opt(&T::Struct(CEPH_FS_PERSISTENT_VOLUME_SOURCE))),
    f("FC", "fc", T::Opt(&T::Struct(FC_VOLUME_SOURCE))),
    f("Flocker", "flocker", T::Opt(&T::Struct(FLOCKER_VOLUME_SOURCE))),
    f("FlexVolume", "flexVolume", T::Opt(&T::Struct(FLEX_PERSISTENT_VOLUME_SOURCE))),
    f("AzureFile", "azureFile", T::Opt(&T::Struct(AZURE_FILE_PERSISTENT_VOLUME_SOURCE))),
    f("VsphereVolume", "vsphereVolume", T::Opt(&T::Struct(VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE))),
    f("Quobyte", "quobyte", T::Opt(&T::Struct(QUOBYTE_VOLUME_SOURCE))),
    f("AzureDisk", "azureDisk", T::Opt(&T::Struct(AZURE_DISK_VOLUME_SOURCE))),
    f("PhotonPersistentDisk", "photonPersistentDisk", T::Opt(&T::Struct(PHOTON_PERSISTENT_DISK_VOLUME_SOURCE))),
    f("PortworxVolume", "portworxVolume", T::Opt(&T::Struct(PORTWORX_VOLUME_SOURCE))),
    f("ScaleIO", "scaleIO", T::Opt(&T::Struct(SCALE_IO_PERSISTENT_VOLUME_SOURCE))),
    f("Local", "local", T::Opt(&T::Struct(LOCAL_VOLUME_SOURCE))),
    f("StorageOS", "storageos", T::Opt(&T::Struct(STORAGE_OS_PERSISTENT_VOLUME_SOURCE))),
    f("CSI", "csi", T::Opt(&T::Struct(CSI_PERSISTENT_VOLUME_SOURCE))),
];

/// `NodeSelectorRequirement`.
pub(super) const NODE_SELECTOR_REQUIREMENT: &[F] =
    &[f("Key", "key", T::Text), f("Operator", "operator", T::Text), f("Values", "values", T::List(&T::Text))];

/// `NodeSelectorTerm`.
pub(super) const NODE_SELECTOR_TERM: &[F] = &[
    f("MatchExpressions", "matchExpressions", T::List(&T::Struct(NODE_SELECTOR_REQUIREMENT))),
    f("MatchFields", "matchFields", T::List(&T::Struct(NODE_SELECTOR_REQUIREMENT))),
];

/// `NodeSelector`.
pub(super) const NODE_SELECTOR: &[F] =
    &[f("NodeSelectorTerms", "nodeSelectorTerms", T::List(&T::Struct(NODE_SELECTOR_TERM)))];

/// `VolumeNodeAffinity`.
pub(super) const VOLUME_NODE_AFFINITY: &[F] = &[f("Required", "required", T::Opt(&T::Struct(NODE_SELECTOR)))];

/// `Taint`.
pub(super) const TAINT: &[F] = &[
    f("Key", "key", T::Text),
    f("Value", "value", T::Text),
    f("Effect", "effect", T::Text),
    f("TimeAdded", "timeAdded", T::Opt(&T::Time)),
];

/// `NodeAddress`.
pub(super) const NODE_ADDRESS: &[F] = &[f("Type", "type", T::Text), f("Address", "address", T::Text)];

/// `ServicePort`.
pub(super) const SERVICE_PORT: &[F] = &[
    f("Name", "name", T::Text),
    f("Protocol", "protocol", T::Text),
    f("AppProtocol", "appProtocol", T::Opt(&T::Text)),
    f("Port", "port", T::Number),
    f("TargetPort", "targetPort", T::Number),
    f("NodePort", "nodePort", T::Number),
];

/// `EventSource`.
pub(super) const EVENT_SOURCE: &[F] = &[f("Component", "component", T::Text), f("Host", "host", T::Text)];

/// `ScopedResourceSelectorRequirement`.
pub(super) const SCOPED_RESOURCE_SELECTOR_REQUIREMENT: &[F] = &[
    f("ScopeName", "scopeName", T::Text),
    f("Operator", "operator", T::Text),
    f("Values", "values", T::List(&T::Text)),
];

/// `ScopeSelector`.
pub(super) const SCOPE_SELECTOR: &[F] =
    &[f("MatchExpressions", "matchExpressions", T::List(&T::Struct(SCOPED_RESOURCE_SELECTOR_REQUIREMENT)))];

/// `VolumeNodeResources`.
pub(super) const VOLUME_NODE_RESOURCES: &[F] = &[f("Count", "count", T::Opt(&T::Number))];

/// `CSINodeDriver`.
pub(super) const CSI_NODE_DRIVER: &[F] = &[
    f("Name", "name", T::Text),
    f("NodeID", "nodeID", T::Text),
    f("TopologyKeys", "topologyKeys", T::List(&T::Text)),
    f("Allocatable", "allocatable", T::Opt(&T::Struct(VOLUME_NODE_RESOURCES))),
];

/// `RoleRef`.
pub(super) const ROLE_REF: &[F] =
    &[f("APIGroup", "apiGroup", T::Text), f("Kind", "kind", T::Text), f("Name", "name", T::Text)];

/// `ServiceCIDRSpec`.
pub(super) const SERVICE_CIDR_SPEC: &[F] = &[f("CIDRs", "cidrs", T::List(&T::Text))];

/// `CertificateSigningRequestCondition`.
pub(super) const CERTIFICATE_SIGNING_REQUEST_CONDITION: &[F] = &[
    f("Type", "type", T::Text),
    f("Status", "status", T::Text),
    f("Reason", "reason", T::Text),
    f("Message", "message", T::Text),
    f("LastUpdateTime", "lastUpdateTime", T::Time),
    f("LastTransitionTime", "lastTransitionTime", T::Time),
];

/// `FlowDistinguisherMethod`.
pub(super) const FLOW_DISTINGUISHER_METHOD: &[F] = &[f("Type", "type", T::Text)];

/// `Toleration`.
pub(super) const TOLERATION: &[F] = &[
    f("Key", "key", T::Text),
    f("Operator", "operator", T::Text),
    f("Value", "value", T::Text),
    f("Effect", "effect", T::Text),
    f("TolerationSeconds", "tolerationSeconds", T::Opt(&T::Number)),
];

/// `CustomResourceDefinitionVersion`. A schema that not all versions share is printed by its JSON names.
pub(super) const CUSTOM_RESOURCE_DEFINITION_VERSION: &[F] = &[
    f("Name", "name", T::Text),
    f("Served", "served", T::Flag),
    f("Storage", "storage", T::Flag),
    f("Deprecated", "deprecated", T::Flag),
    f("DeprecationWarning", "deprecationWarning", T::Opt(&T::Text)),
    f("Schema", "schema", T::Json),
    f("Subresources", "subresources", T::Json),
    f("AdditionalPrinterColumns", "additionalPrinterColumns", T::Json),
    f("SelectableFields", "selectableFields", T::Json),
];

const DEVICE_SELECTORS: T =
    T::List(&T::Struct(&[f("CEL", "cel", T::Opt(&T::Struct(&[f("Expression", "expression", T::Text)])))]));

const DEVICE_TOLERATIONS: T = T::List(&T::Struct(&[
    f("Key", "key", T::Text),
    f("Operator", "operator", T::Text),
    f("Value", "value", T::Text),
    f("Effect", "effect", T::Text),
    f("TolerationSeconds", "tolerationSeconds", T::Opt(&T::Number)),
]));

const DEVICE_CAPACITY: T = T::Opt(&T::Struct(&[f("Requests", "requests", T::Map)]));

const EXACT_DEVICE_REQUEST: &[F] = &[
    f("DeviceClassName", "deviceClassName", T::Text),
    f("Selectors", "selectors", DEVICE_SELECTORS),
    f("AllocationMode", "allocationMode", T::Text),
    f("Count", "count", T::Number),
    f("AdminAccess", "adminAccess", T::Opt(&T::Flag)),
    f("Tolerations", "tolerations", DEVICE_TOLERATIONS),
    f("Capacity", "capacity", DEVICE_CAPACITY),
    f("DerivedAttributes", "derivedAttributes", T::Json),
];

const DEVICE_SUB_REQUEST: &[F] = &[
    f("Name", "name", T::Text),
    f("DeviceClassName", "deviceClassName", T::Text),
    f("Selectors", "selectors", DEVICE_SELECTORS),
    f("AllocationMode", "allocationMode", T::Text),
    f("Count", "count", T::Number),
    f("Tolerations", "tolerations", DEVICE_TOLERATIONS),
    f("Capacity", "capacity", DEVICE_CAPACITY),
    f("DerivedAttributes", "derivedAttributes", T::Json),
];

const DEVICE_CLAIM: &[F] = &[
    f(
        "Requests",
        "requests",
        T::List(&T::Struct(&[
            f("Name", "name", T::Text),
            f("Exactly", "exactly", T::Opt(&T::Struct(EXACT_DEVICE_REQUEST))),
            f("FirstAvailable", "firstAvailable", T::List(&T::Struct(DEVICE_SUB_REQUEST))),
        ])),
    ),
    f(
        "Constraints",
        "constraints",
        T::List(&T::Struct(&[
            f("Requests", "requests", T::List(&T::Text)),
            f("MatchAttribute", "matchAttribute", T::Opt(&T::Text)),
            f("DistinctAttribute", "distinctAttribute", T::Opt(&T::Text)),
        ])),
    ),
    f(
        "Config",
        "config",
        T::List(&T::Struct(&[
            f("Requests", "requests", T::List(&T::Text)),
            f(
                "Opaque",
                "opaque",
                T::Opt(&T::Struct(&[f("Driver", "driver", T::Text), f("Parameters", "parameters", T::Json)])),
            ),
        ])),
    ),
];

/// `ResourceClaimTemplateSpec`, with the metadata that is embedded in it.
pub(super) const RESOURCE_CLAIM_TEMPLATE_SPEC: &[F] = &[
    o("name", T::Text),
    o("generateName", T::Text),
    o("namespace", T::Text),
    o("selfLink", T::Text),
    o("uid", T::Text),
    o("resourceVersion", T::Text),
    o("generation", T::Number),
    o("creationTimestamp", T::Time),
    o("deletionTimestamp", T::Time),
    o("deletionGracePeriodSeconds", T::Number),
    o("labels", T::Map),
    o("annotations", T::Map),
    o("ownerReferences", T::Json),
    o("finalizers", T::List(&T::Text)),
    o("managedFields", T::Json),
    f("Spec", "spec", T::Struct(&[f("Devices", "devices", T::Struct(DEVICE_CLAIM))])),
];
