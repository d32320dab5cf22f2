//! Every type and field of kube-scheduler 1.37's configuration, and what becomes of each here.
//!
//! `docs/scheduler.md` is written from this, and `upstream_fields.txt` (made from the Go types) is what it is held against.

use plimsoll_runtime::Treatment::{self, Noted, Refused, Taken};

use super::schema::{Field, Shape, Type};
use Shape::{Anything, Arguments, Bool, Bytes, Int32, Int64, List, Number, Object, Span, Text};

const fn field(name: &'static str, shape: Shape, treatment: Treatment) -> Field {
    Field { name, shape, treatment }
}

const fn taken(name: &'static str, shape: Shape) -> Field {
    field(name, shape, Taken)
}

/// Every node that fits is scored, so that there is no share of them to choose.
const ALL_NODES: Treatment = Noted("every node that fits is scored, none is left out");
const JSON: Treatment = Noted("requests are JSON");
const PROFILING: Treatment = Noted("there is no profiling endpoint");
const GROUPS: Treatment =
    Refused("pods of scheduling groups are not placed by this scheduler, so that no plugin for groups runs");
const DEVICES: Treatment =
    Noted("pods with spec.resourceClaims are not placed by this scheduler; they wait, with a reason that says so");

/// The whole.
pub static CONFIGURATION: Type = Type {
    name: "KubeSchedulerConfiguration",
    fields: &[
        taken("apiVersion", Text),
        taken("kind", Text),
        field("parallelism", Int32, Noted("a pod is decided on by one thread, which needs no help")),
        taken("leaderElection", Object(&LEADER_ELECTION)),
        taken("clientConnection", Object(&CLIENT_CONNECTION)),
        field("enableProfiling", Bool, PROFILING),
        field("enableContentionProfiling", Bool, PROFILING),
        field("percentageOfNodesToScore", Int32, ALL_NODES),
        taken("podInitialBackoffSeconds", Int64),
        taken("podMaxBackoffSeconds", Int64),
        taken("profiles", List(&Object(&PROFILE))),
        taken("extenders", List(&Object(&EXTENDER))),
        field(
            "delayCacheUntilActive",
            Bool,
            Noted("a replica lists and watches only while it holds the lease, whatever this says"),
        ),
    ],
};

static LEADER_ELECTION: Type = Type {
    name: "LeaderElectionConfiguration",
    fields: &[
        taken("leaderElect", Bool),
        taken("leaseDuration", Span),
        taken("renewDeadline", Span),
        taken("retryPeriod", Span),
        taken("resourceLock", Text),
        taken("resourceName", Text),
        taken("resourceNamespace", Text),
    ],
};

static CLIENT_CONNECTION: Type = Type {
    name: "ClientConnectionConfiguration",
    fields: &[
        taken("kubeconfig", Text),
        field("acceptContentTypes", Text, JSON),
        field("contentType", Text, JSON),
        taken("qps", Number),
        taken("burst", Int32),
    ],
};

static PROFILE: Type = Type {
    name: "KubeSchedulerProfile",
    fields: &[
        taken("schedulerName", Text),
        field("percentageOfNodesToScore", Int32, ALL_NODES),
        taken("plugins", Object(&PLUGINS)),
        taken("pluginConfig", List(&Object(&PLUGIN_CONFIG))),
    ],
};

static PLUGINS: Type = Type {
    name: "Plugins",
    fields: &[
        taken("preEnqueue", Object(&PLUGIN_SET)),
        taken("queueSort", Object(&PLUGIN_SET)),
        taken("preFilter", Object(&PLUGIN_SET)),
        taken("filter", Object(&PLUGIN_SET)),
        taken("postFilter", Object(&PLUGIN_SET)),
        taken("preScore", Object(&PLUGIN_SET)),
        taken("score", Object(&PLUGIN_SET)),
        taken("reserve", Object(&PLUGIN_SET)),
        taken("permit", Object(&PLUGIN_SET)),
        taken("preBind", Object(&PLUGIN_SET)),
        taken("bind", Object(&PLUGIN_SET)),
        taken("postBind", Object(&PLUGIN_SET)),
        taken("multiPoint", Object(&PLUGIN_SET)),
        field("placementGenerate", Object(&PLUGIN_SET), GROUPS),
        field("placementScore", Object(&PLUGIN_SET), GROUPS),
        field("podGroupPostFilter", Object(&PLUGIN_SET), GROUPS),
    ],
};

static PLUGIN_SET: Type = Type {
    name: "PluginSet",
    fields: &[taken("enabled", List(&Object(&PLUGIN))), taken("disabled", List(&Object(&PLUGIN)))],
};

static PLUGIN: Type = Type { name: "Plugin", fields: &[taken("name", Text), taken("weight", Int32)] };

static PLUGIN_CONFIG: Type = Type { name: "PluginConfig", fields: &[taken("name", Text), taken("args", Arguments)] };

static EXTENDER: Type = Type {
    name: "Extender",
    fields: &[
        taken("urlPrefix", Text),
        taken("filterVerb", Text),
        taken("preemptVerb", Text),
        taken("prioritizeVerb", Text),
        taken("weight", Int64),
        taken("bindVerb", Text),
        taken("enableHTTPS", Bool),
        taken("tlsConfig", Object(&EXTENDER_TLS)),
        taken("httpTimeout", Span),
        taken("nodeCacheCapable", Bool),
        taken("managedResources", List(&Object(&MANAGED_RESOURCE))),
        taken("ignorable", Bool),
    ],
};

static MANAGED_RESOURCE: Type =
    Type { name: "ExtenderManagedResource", fields: &[taken("name", Text), taken("ignoredByScheduler", Bool)] };

static EXTENDER_TLS: Type = Type {
    name: "ExtenderTLSConfig",
    fields: &[
        taken("insecure", Bool),
        taken("serverName", Text),
        taken("certFile", Text),
        taken("keyFile", Text),
        taken("caFile", Text),
        taken("certData", Bytes),
        taken("keyData", Bytes),
        taken("caData", Bytes),
    ],
};

const API_VERSION: Field = taken("apiVersion", Text);
const KIND: Field = taken("kind", Text);

/// The arguments of each plugin that has some.
pub static ARGUMENTS: [(&str, &Type); 8] = [
    ("DefaultPreemption", &DEFAULT_PREEMPTION),
    ("DynamicResources", &DYNAMIC_RESOURCES),
    ("InterPodAffinity", &INTER_POD_AFFINITY),
    ("NodeAffinity", &NODE_AFFINITY_ARGS),
    ("NodeResourcesBalancedAllocation", &BALANCED_ALLOCATION),
    ("NodeResourcesFit", &RESOURCES_FIT),
    ("PodTopologySpread", &TOPOLOGY_SPREAD),
    ("VolumeBinding", &VOLUME_BINDING),
];

static DEFAULT_PREEMPTION: Type = Type {
    name: "DefaultPreemptionArgs",
    fields: &[
        API_VERSION,
        KIND,
        taken("minCandidateNodesPercentage", Int32),
        taken("minCandidateNodesAbsolute", Int32),
    ],
};

static DYNAMIC_RESOURCES: Type = Type {
    name: "DynamicResourcesArgs",
    fields: &[API_VERSION, KIND, field("filterTimeout", Span, DEVICES), field("bindingTimeout", Span, DEVICES)],
};

static INTER_POD_AFFINITY: Type = Type {
    name: "InterPodAffinityArgs",
    fields: &[
        API_VERSION,
        KIND,
        taken("hardPodAffinityWeight", Int32),
        taken("ignorePreferredTermsOfExistingPods", Bool),
    ],
};

static NODE_AFFINITY_ARGS: Type =
    Type { name: "NodeAffinityArgs", fields: &[API_VERSION, KIND, taken("addedAffinity", Object(&NODE_AFFINITY))] };

static BALANCED_ALLOCATION: Type = Type {
    name: "NodeResourcesBalancedAllocationArgs",
    fields: &[API_VERSION, KIND, taken("resources", List(&Object(&RESOURCE_SPEC)))],
};

static RESOURCES_FIT: Type = Type {
    name: "NodeResourcesFitArgs",
    fields: &[
        API_VERSION,
        KIND,
        taken("ignoredResources", List(&Text)),
        taken("ignoredResourceGroups", List(&Text)),
        taken("scoringStrategy", Object(&SCORING_STRATEGY)),
    ],
};

static TOPOLOGY_SPREAD: Type = Type {
    name: "PodTopologySpreadArgs",
    fields: &[
        API_VERSION,
        KIND,
        taken("defaultConstraints", List(&Object(&SPREAD_CONSTRAINT))),
        taken("defaultingType", Text),
    ],
};

static VOLUME_BINDING: Type = Type {
    name: "VolumeBindingArgs",
    fields: &[API_VERSION, KIND, taken("bindTimeoutSeconds", Int64), taken("shape", List(&Object(&SHAPE_POINT)))],
};

static SHAPE_POINT: Type =
    Type { name: "UtilizationShapePoint", fields: &[taken("utilization", Int32), taken("score", Int32)] };

static RESOURCE_SPEC: Type = Type { name: "ResourceSpec", fields: &[taken("name", Text), taken("weight", Int64)] };

static SCORING_STRATEGY: Type = Type {
    name: "ScoringStrategy",
    fields: &[
        taken("type", Text),
        taken("resources", List(&Object(&RESOURCE_SPEC))),
        taken("requestedToCapacityRatio", Object(&RATIO)),
    ],
};

static RATIO: Type =
    Type { name: "RequestedToCapacityRatioParam", fields: &[taken("shape", List(&Object(&SHAPE_POINT)))] };

static SPREAD_CONSTRAINT: Type = Type {
    name: "TopologySpreadConstraint",
    fields: &[
        taken("maxSkew", Int32),
        taken("topologyKey", Text),
        taken("whenUnsatisfiable", Text),
        field("labelSelector", Anything, Refused("the selector of a default constraint comes from the pod's owner")),
        taken("minDomains", Int32),
        taken("nodeAffinityPolicy", Text),
        taken("nodeTaintsPolicy", Text),
        taken("matchLabelKeys", List(&Text)),
    ],
};

static NODE_AFFINITY: Type = Type {
    name: "NodeAffinity",
    fields: &[
        taken("requiredDuringSchedulingIgnoredDuringExecution", Object(&NODE_SELECTOR)),
        taken("preferredDuringSchedulingIgnoredDuringExecution", List(&Object(&PREFERRED_TERM))),
    ],
};

static NODE_SELECTOR: Type =
    Type { name: "NodeSelector", fields: &[taken("nodeSelectorTerms", List(&Object(&NODE_TERM)))] };

static NODE_TERM: Type = Type {
    name: "NodeSelectorTerm",
    fields: &[
        taken("matchExpressions", List(&Object(&NODE_REQUIREMENT))),
        taken("matchFields", List(&Object(&NODE_REQUIREMENT))),
    ],
};

static NODE_REQUIREMENT: Type = Type {
    name: "NodeSelectorRequirement",
    fields: &[taken("key", Text), taken("operator", Text), taken("values", List(&Text))],
};

static PREFERRED_TERM: Type = Type {
    name: "PreferredSchedulingTerm",
    fields: &[taken("weight", Int32), taken("preference", Object(&NODE_TERM))],
};

/// Every type, each once, the whole before its parts.
pub fn types() -> Vec<&'static Type> {
    let mut types: Vec<&Type> = Vec::new();
    visit(&CONFIGURATION, &mut types);
    for (_, arguments) in ARGUMENTS {
        visit(arguments, &mut types);
    }
    types
}

fn visit(of: &'static Type, types: &mut Vec<&'static Type>) {
    if types.iter().any(|known| known.name == of.name) {
        return;
    }
    types.push(of);
    for field in of.fields {
        let mut shape = field.shape;
        while let List(of) = shape {
            shape = *of;
        }
        if let Object(of) = shape {
            visit(of, types);
        }
    }
}
