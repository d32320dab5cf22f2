//! What is refused, with the sentence that says where and why.

use plimsoll_engine::gates::Gates;

use super::super::gates::UpstreamGates;
use super::super::{AllGates, Configuration};
use super::{problems, with};

/// One problem, which begins with these words.
#[track_caller]
fn refused(rest: &str, begins: &str) {
    refused_under(rest, AllGates::default(), begins);
}

#[track_caller]
fn refused_under(rest: &str, gates: AllGates, begins: &str) {
    let problems = problems(rest, gates);
    assert!(problems.len() == 1 && problems[0].starts_with(begins), "{rest}\n{problems:#?}");
}

/// One problem of one plugin's arguments, at a place below them.
#[track_caller]
fn refused_args(plugin: &str, args: &str, begins: &str) {
    refused(
        &format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]"),
        &format!("profiles[0].pluginConfig[0].args.{begins}"),
    );
}

#[test]
fn a_field_that_is_unknown_or_of_the_wrong_type_is_named() {
    refused(
        "podMaxBackoff: 3",
        "podMaxBackoff: there is no such field; KubeSchedulerConfiguration has apiVersion, kind,",
    );
    refused("leaderelection: {}", "leaderelection: there is no such field; it is written leaderElection");
    refused("parallelism: many", "parallelism: is the text \"many\", where a whole number of 32 bits is wanted");
    refused("parallelism: 5000000000", "parallelism: is 5000000000, where a whole number of 32 bits");
    refused("parallelism: 1.5", "parallelism: is 1.5, where");
    refused(
        "leaderElection: {leaderElect: 'yes'}",
        "leaderElection.leaderElect: is the text \"yes\", where true or false",
    );
    refused("leaderElection: {leaseDuration: 15}", "leaderElection.leaseDuration: is 15, where a duration such as 15s");
    refused("leaderElection: {leaseDuration: 15x}", "leaderElection.leaseDuration: 15x is not a duration");
    refused("profiles: {}", "profiles: is an object, where a list is wanted");
    refused("profiles: [3]", "profiles[0]: is 3, where an object is wanted");
    refused("profiles: [{plugins: {filters: {}}}]", "profiles[0].plugins.filters: there is no such field; Plugins has");
    refused_args(
        "VolumeBinding",
        "{shape: [{utilization: 0, score: 1}, {utilization: 9, score: ten}]}",
        "shape[1].score: is the text",
    );
    refused_args("NodeAffinity", "{addedAffinity: {required: {}}}", "addedAffinity.required: there is no such field");
    refused(
        "extenders: [{urlPrefix: 'http://a', tlsConfig: {keyData: '!secret!'}}]",
        "extenders[0].tlsConfig.keyData: is not base64",
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let all = problems(
        "podInitialBackoffSeconds: 0\nprofiles: [{schedulerName: a}, {schedulerName: a}, {}]",
        AllGates::default(),
    );
    assert_eq!(
        all,
        [
            "podInitialBackoffSeconds: is 0, and must be above 0",
            "profiles[1].schedulerName: a is the name of profiles[0] already",
            "profiles[2].schedulerName: must be given: pods choose a profile by it",
        ]
    );
}

#[test]
fn what_is_no_configuration_is_refused() {
    let read = |text: &str| Configuration::read(text, AllGates::default()).unwrap_err().remove(0).to_string();
    assert!(read("a: [").starts_with("is not valid YAML or JSON"), "{}", read("a: ["));
    assert!(read("").starts_with("kind: must be KubeSchedulerConfiguration"), "{}", read(""));
    assert!(read("- 1").starts_with("kind: must be"), "{}", read("- 1"));
    assert_eq!(
        read("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration"),
        "apiVersion: is kubescheduler.config.k8s.io/v1beta3, where kubescheduler.config.k8s.io/v1 is wanted"
    );
    assert!(read(&with("parallelism: 1\nparallelism: 2")).starts_with("is not valid YAML or JSON"));
    assert!(read(&format!("{}\n---\n{}", with(""), with(""))).starts_with("is not valid YAML or JSON"));
}

#[test]
fn figures_out_of_range_are_refused() {
    refused("parallelism: 0", "parallelism: must be above 0");
    refused("percentageOfNodesToScore: 101", "percentageOfNodesToScore: is 101, and must be from 0 to 100");
    refused("profiles: [{percentageOfNodesToScore: -1}]", "profiles[0].percentageOfNodesToScore: is -1");
    refused(
        "podInitialBackoffSeconds: 11",
        "podMaxBackoffSeconds: is 10, and must not be below podInitialBackoffSeconds, which is 11",
    );
    refused("clientConnection: {burst: -1}", "clientConnection.burst: must not be negative");
    refused("leaderElection: {leaseDuration: 10s}", "leaderElection.leaseDuration: must be longer than renewDeadline");
    refused(
        "leaderElection: {resourceLock: endpoints}",
        "leaderElection.resourceLock: is endpoints, and must be leases",
    );
    assert!(problems("leaderElection: {leaderElect: false, leaseDuration: 1s}", AllGates::default()).is_empty());
}

#[test]
fn plugins_that_cannot_be_had_are_refused() {
    let plugins = |sets: &str, begins: &str| {
        refused(&format!("profiles: [{{plugins: {{{sets}}}}}]"), &format!("profiles[0].plugins.{begins}"));
    };
    plugins(
        "filter: {enabled: [{name: Mine}]}",
        "filter.enabled[0].name: there is no plugin Mine; what is not part of",
    );
    plugins("filter: {enabled: [{name: EBSLimits}]}", "filter.enabled[0].name: there is no plugin EBSLimits any more");
    plugins(
        "multiPoint: {enabled: [{name: GangScheduling}]}",
        "multiPoint.enabled[0].name: GangScheduling cannot be had",
    );
    plugins("score: {enabled: [{name: NodePorts}]}", "score.enabled[0].name: NodePorts has nothing to do at score");
    plugins(
        "score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}",
        "score.enabled[1].name: NodeAffinity is enabled already",
    );
    plugins("score: {enabled: [{name: NodeAffinity, weight: -1}]}", "score.enabled[0].weight: must not be negative");
    plugins(
        "placementScore: {enabled: [{name: NodeResourcesFit}]}",
        "placementScore: cannot be honoured: pods of scheduling groups",
    );
    plugins("queueSort: {disabled: [{name: '*'}]}", "queueSort: PrioritySort must be the one");
    plugins("bind: {disabled: [{name: DefaultBinder}]}", "bind: DefaultBinder must be enabled");
    plugins("preEnqueue: {disabled: [{name: SchedulingGates}]}", "preEnqueue: SchedulingGates cannot be disabled");
}

#[test]
fn what_belongs_together_is_not_parted() {
    let plugins = |sets: &str, begins: &str| {
        refused(&format!("profiles: [{{plugins: {{{sets}}}}}]"), &format!("profiles[0].plugins.{begins}"));
    };
    plugins("preFilter: {disabled: [{name: NodePorts}]}", "preFilter: NodePorts is enabled at filter and not here");
    plugins("filter: {disabled: [{name: VolumeZone}]}", "filter: VolumeZone is enabled at preFilter and not here");
    plugins(
        "preScore: {disabled: [{name: InterPodAffinity}]}",
        "preScore: InterPodAffinity is enabled at score and not here",
    );
    plugins("preBind: {disabled: [{name: VolumeBinding}]}", "preBind: VolumeBinding is enabled at filter and not here");
    plugins("reserve: {disabled: [{name: '*'}]}", "reserve: VolumeBinding is enabled at filter and not here");
    // Nothing is left of a plugin whose other half only prepares.
    assert!(
        problems("profiles: [{plugins: {filter: {disabled: [{name: NodePorts}]}}}]", AllGates::default()).is_empty()
    );
}

#[test]
fn arguments_follow_upstreams_rules() {
    let wrong = refused_args;
    wrong("DefaultPreemption", "{minCandidateNodesPercentage: 101}", "minCandidateNodesPercentage: is 101");
    wrong("DefaultPreemption", "{minCandidateNodesAbsolute: -1}", "minCandidateNodesAbsolute: is -1");
    wrong(
        "DefaultPreemption",
        "{minCandidateNodesAbsolute: 0, minCandidateNodesPercentage: 0}",
        "minCandidateNodesPercentage: must not be 0",
    );
    wrong(
        "InterPodAffinity",
        "{hardPodAffinityWeight: 101}",
        "hardPodAffinityWeight: is 101, and must be from 0 to 100",
    );
    wrong(
        "NodeResourcesBalancedAllocation",
        "{resources: [{name: cpu, weight: 2}]}",
        "resources[0].weight: is 2, and must be 1",
    );
    wrong(
        "NodeResourcesBalancedAllocation",
        "{resources: [{name: cpu}, {name: cpu}]}",
        "resources[1].name: cpu is named already",
    );
    wrong("NodeResourcesFit", "{ignoredResources: ['a b']}", "ignoredResources[0]: a b is not a resource's name");
    wrong(
        "NodeResourcesFit",
        "{ignoredResourceGroups: [a/b]}",
        "ignoredResourceGroups[0]: a/b is not what stands before",
    );
    let strategy = |strategy: &str, begins: &str| {
        wrong("NodeResourcesFit", &format!("{{scoringStrategy: {strategy}}}"), &format!("scoringStrategy.{begins}"));
    };
    strategy("{type: Best}", "type: is \"Best\", where LeastAllocated");
    strategy("{resources: [{name: cpu}]}", "type: is \"\", where LeastAllocated");
    strategy("{type: LeastAllocated, resources: [{name: cpu, weight: 101}]}", "resources[0].weight: is 101");
    strategy("{type: RequestedToCapacityRatio}", "requestedToCapacityRatio: must be given");
    strategy(
        "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}",
        "requestedToCapacityRatio.shape: must have a point",
    );
    strategy(
        "{type: MostAllocated, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}}",
        "requestedToCapacityRatio: must not be given",
    );
    let spread = |rest: &str, begins: &str| {
        wrong("PodTopologySpread", &format!("{{defaultingType: List, defaultConstraints: [{rest}]}}"), begins);
    };
    spread("{maxSkew: 0, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}", "defaultConstraints[0].maxSkew: is 0");
    spread(
        "{maxSkew: 1, topologyKey: '', whenUnsatisfiable: ScheduleAnyway}",
        "defaultConstraints[0].topologyKey: \"\"",
    );
    spread(
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}",
        "defaultConstraints[0].whenUnsatisfiable: is \"Never\"",
    );
    spread(
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}",
        "defaultConstraints[0].labelSelector: cannot be honoured",
    );
    let twice = "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}";
    spread(&format!("{twice}, {twice}"), "defaultConstraints[1]: repeats");
    wrong("PodTopologySpread", &format!("{{defaultConstraints: [{twice}]}}"), "defaultingType: must be List");
    wrong("PodTopologySpread", "{defaultingType: Some}", "defaultingType: is \"Some\", where System or List");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    wrong(
        "NodeAffinity",
        &format!(
            "{{addedAffinity: {{{required}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: a, operator: Near}}]}}]}}}}}}"
        ),
        &format!("addedAffinity.{required}.nodeSelectorTerms[0]: "),
    );
    wrong("VolumeBinding", "{bindTimeoutSeconds: -1}", "bindTimeoutSeconds: must not be negative");
    wrong(
        "VolumeBinding",
        "{shape: [{utilization: 50, score: 1}, {utilization: 50, score: 2}]}",
        "shape[1].utilization: must be above",
    );
    wrong("VolumeBinding", "{shape: [{utilization: 101, score: 1}]}", "shape[0].utilization: is 101");
    wrong("VolumeBinding", "{shape: [{utilization: 0, score: 11}]}", "shape[0].score: is 11, and must be from 0 to 10");
    wrong(
        "VolumeBinding",
        "{kind: NodeAffinityArgs}",
        "kind: is NodeAffinityArgs, where the arguments of VolumeBinding are",
    );
    wrong("VolumeBinding", "{apiVersion: v2}", "apiVersion: is v2, where");
    wrong("DynamicResources", "{bindingTimeout: 10ms}", "bindingTimeout: must be a second at least");
}

#[test]
fn arguments_belong_to_a_plugin_and_are_given_once() {
    refused(
        "profiles: [{pluginConfig: [{name: Mine, args: {a: 1}}]}]",
        "profiles[0].pluginConfig[0].name: there is no plugin Mine",
    );
    let twice = "profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]";
    refused(twice, "profiles[0].pluginConfig[1].name: the arguments of NodeAffinity are given already");
}

#[test]
fn rg_5_a_shape_without_storage_capacity_scoring_is_refused() {
    let off = UpstreamGates { storage_capacity_scoring: false, ..UpstreamGates::default() };
    let gates = AllGates { ours: Gates::all(), upstream: off };
    let shape = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 10}]}}]}]";
    let begins =
        "profiles[0].pluginConfig[0].args.shape: means nothing while the feature gate StorageCapacityScoring is off";
    refused_under(shape, gates, begins);
    refused_under(&shape.replace("[{utilization: 0, score: 10}]", "[]"), gates, begins);
    assert!(problems(shape, AllGates::default()).is_empty());
    assert!(problems("", gates).is_empty());
}

#[test]
fn extenders_follow_upstreams_rules() {
    let of = |rest: &str, begins: &str| refused(&format!("extenders: [{{urlPrefix: 'http://a', {rest}}}]"), begins);
    of("prioritizeVerb: p", "extenders[0].weight: is 0, and must be above 0");
    of("httpTimeout: soon", "extenders[0].httpTimeout: soon is not a duration");
    of("managedResources: [{name: cpu}]", "extenders[0].managedResources[0].name: \"cpu\" is not an extended resource");
    of(
        "managedResources: [{name: kubernetes.io/a}]",
        "extenders[0].managedResources[0].name: \"kubernetes.io/a\" is not",
    );
    of(
        "managedResources: [{name: a.b/c}, {name: a.b/c}]",
        "extenders[0].managedResources[1].name: a.b/c is managed already",
    );
    of("tlsConfig: {certFile: /c}", "extenders[0].tlsConfig: a certificate and its key must be given together");
    of("tlsConfig: {insecure: true, caFile: /c}", "extenders[0].tlsConfig.insecure: must not be true");
    refused("extenders: [{filterVerb: f}]", "extenders[0].urlPrefix: \"\" is not an address");
    refused(
        "extenders: [{urlPrefix: 'http://a', bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b}]",
        "extenders[1].bindVerb: extenders[0] binds already, and only one can",
    );
}
