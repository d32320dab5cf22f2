//! Configurations as data: what each says, and what is wrong with it.

mod points;
mod refused;
mod upstream;

use std::time::Duration;

use plimsoll_engine::gates::Gates;
use plimsoll_engine::preemption::Shortlist;
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::rules::{DefaultSpread, Rules};
use serde_json::{Value, json};

use super::gates::UpstreamGates;
use super::{AllGates, Configuration, Pem, Profile, feasible};
use crate::queue::Backoff;

/// The configuration of these lines, which stand below its header.
fn with(rest: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{rest}")
}

fn read(rest: &str) -> Configuration {
    read_under(rest, AllGates::default())
}

fn read_under(rest: &str, gates: AllGates) -> Configuration {
    Configuration::read(&with(rest), gates).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A configuration's only profile.
fn profile(rest: &str) -> Profile {
    let [profile] = read(rest).profiles.try_into().unwrap();
    profile
}

/// What is wrong, a line each.
fn problems(rest: &str, gates: AllGates) -> Vec<String> {
    match Configuration::read(&with(rest), gates) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn notes(rest: &str) -> Vec<String> {
    read(rest).notes.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_said_is_upstreams_default_profile() {
    let usual = Configuration::usual(AllGates::default());
    assert_eq!(usual, read(""));
    assert_eq!(usual.profiles, [Profile::named("default-scheduler", Gates::all())]);
    assert_eq!(usual.backoff, Backoff::default());
    assert_eq!((usual.extenders.len(), &usual.kubeconfig, usual.requests_per_second), (0, &None, None));
}

/// The file is what `kube-scheduler --write-config-to` wrote, version 1.37.1, with only `--kubeconfig` given.
const UPSTREAM_DEFAULT: &str = include_str!("upstream_default.yaml");

#[test]
fn the_defaults_are_written_as_upstream_writes_them() {
    let mut upstream: Value = serde_saphyr::from_str(UPSTREAM_DEFAULT).unwrap();
    let ours = serde_json::to_value(Configuration::usual(AllGates::default()).document).unwrap();
    // Where this scheduler does otherwise, it says so.
    upstream["clientConnection"]["contentType"] = json!("application/json");
    upstream["clientConnection"]["qps"] = json!(-1.0);
    upstream["percentageOfNodesToScore"] = json!(100);
    upstream["enableProfiling"] = json!(false);
    upstream.as_object_mut().unwrap().remove("enableContentionProfiling");
    assert_eq!(ours, upstream);
}

#[test]
fn upstreams_own_file_is_read_and_means_the_default() {
    let read = Configuration::read(UPSTREAM_DEFAULT, AllGates::default()).unwrap();
    assert_eq!(read.profiles, Configuration::usual(AllGates::default()).profiles);
    assert_eq!((read.requests_per_second, read.burst), (Some(50.0), Some(100)), "what is said is done");
    let notes: Vec<&str> = read.notes.iter().map(|note| note.path.as_str()).collect();
    assert!(notes.contains(&"parallelism") && notes.contains(&"percentageOfNodesToScore"), "{notes:?}");
}

#[test]
fn what_is_written_is_read_the_same() {
    let rest = "
profiles:
- schedulerName: one
  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 7}]}}
- schedulerName: two
  pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 5}}]
extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter, httpTimeout: 1m30s}]
";
    let first = read(rest);
    let written = serde_saphyr::to_string(&first.document).unwrap();
    let again = Configuration::read(&written, AllGates::default()).unwrap();
    assert_eq!((again.document, again.profiles, again.extenders), (first.document, first.profiles, first.extenders));
}

#[test]
fn json_is_read_as_well() {
    let text = "{\n\t\"apiVersion\": \"kubescheduler.config.k8s.io/v1\",\n\t\"kind\": \"KubeSchedulerConfiguration\",\n\t\
                \"podMaxBackoffSeconds\": 20\n}\n";
    let read = Configuration::read(text, AllGates::default()).unwrap();
    assert_eq!(read.backoff.most, Duration::from_secs(20));
}

#[test]
fn top_level_fields_act() {
    let read = read(
        "
podInitialBackoffSeconds: 3
podMaxBackoffSeconds: 30
clientConnection: {kubeconfig: /etc/k, qps: 20.5, burst: 7}
leaderElection: {leaderElect: false, resourceName: mine}
",
    );
    assert_eq!(read.backoff, Backoff { first: Duration::from_secs(3), most: Duration::from_secs(30) });
    assert_eq!(read.kubeconfig.as_deref(), Some("/etc/k"));
    assert_eq!((read.requests_per_second, read.burst), (Some(20.5), Some(7)));
    let lease = &read.document.leader_election;
    assert_eq!((lease.leader_elect, lease.resource_name.as_str()), (Some(false), "mine"));
    assert_eq!((lease.resource_namespace.as_str(), lease.lease_duration.0.as_secs()), ("kube-system", 15));
}

#[test]
fn each_profile_has_its_name_and_rules() {
    let read = read(
        "
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: example.com/gpu}]}}
",
    );
    let names: Vec<&str> = read.profiles.iter().map(|profile| &*profile.name).collect();
    assert_eq!(names, ["default-scheduler", "packed"]);
    assert_eq!(read.profiles[0].rules, Rules::new(feasible(Gates::all())));
    assert_ne!(read.profiles[1].rules, read.profiles[0].rules);
    assert_eq!(
        read.document.profiles[1].plugin_config[5].args["scoringStrategy"]["resources"],
        json!([{"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}]),
        "a weight that is left out is 1"
    );
}

#[test]
fn multi_point_disables_and_weighs_everywhere() {
    let rules = profile(
        "
profiles:
- plugins:
    multiPoint:
      disabled: [{name: VolumeZone}, {name: TaintToleration}]
      enabled: [{name: NodeAffinity, weight: 9}, {name: ImageLocality}]
",
    )
    .rules;
    assert!(!rules.filters(Plugin::VolumeZone) && !rules.filters(Plugin::TaintToleration));
    assert!(rules.filters(Plugin::NodeAffinity));
    let weights = [Plugin::TaintToleration, Plugin::NodeAffinity, Plugin::ImageLocality, Plugin::PodTopologySpread];
    assert_eq!(weights.map(|plugin| rules.weight(plugin)), [0, 9, 1, 2], "a weight that is not given is 1");
}

#[test]
fn a_point_of_its_own_goes_before_multi_point() {
    let rules = profile(
        "
profiles:
- plugins:
    score:
      disabled: [{name: PodTopologySpread}]
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: ImageLocality}]
    multiPoint:
      enabled: [{name: NodeResourcesFit, weight: 4}]
",
    )
    .rules;
    let weights = [Plugin::PodTopologySpread, Plugin::NodeResourcesFit, Plugin::ImageLocality, Plugin::NodeAffinity];
    assert_eq!(weights.map(|plugin| rules.weight(plugin)), [0, 5, 1, 2]);
    assert!(rules.filters(Plugin::PodTopologySpread), "its filter is another point");
}

#[test]
fn everything_can_be_disabled_but_what_is_enabled_again() {
    let rules = profile("
profiles:
- plugins:
    multiPoint:
      disabled: [{name: '*'}]
      enabled: [{name: PrioritySort}, {name: SchedulingGates}, {name: DefaultBinder}, {name: NodeResourcesFit, weight: 2}]
").rules;
    let filters: Vec<&str> = Plugin::ALL
        .into_iter()
        .filter(|plugin| *plugin != Plugin::SchedulingGates && rules.filters(*plugin))
        .map(Plugin::name)
        .filter(|name| super::plugins::find(name).is_some_and(|known| known.points.contains(&super::Point::Filter)))
        .collect();
    assert_eq!(filters, ["NodeResourcesFit"]);
    let scores: Vec<&str> = Plugin::ALL.into_iter().filter(|p| rules.weight(*p) != 0).map(Plugin::name).collect();
    assert_eq!(scores, ["NodeResourcesFit"]);
}

#[test]
fn no_scoring_is_had_as_upstreams_page_writes_it() {
    let rules =
        profile("profiles: [{plugins: {preScore: {disabled: [{name: '*'}]}, score: {disabled: [{name: '*'}]}}}]").rules;
    assert!(Plugin::ALL.into_iter().all(|plugin| rules.weight(plugin) == 0));
    assert!(rules.filters(Plugin::VolumeBinding));
}

#[test]
fn preemption_is_a_matter_of_the_profile() {
    let off = profile("profiles: [{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}}]");
    assert_eq!(off.preemption, None);
    let wide = profile("
profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 7}}]}]
");
    assert_eq!(wide.preemption, Some(Shortlist { percentage: 0, absolute: 7 }));
}

#[test]
fn arguments_reach_the_rules() {
    let of = |plugin: &str, args: &str| {
        profile(&format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]"))
    };
    let usual = Rules::new(feasible(Gates::all()));
    assert_eq!(
        of("InterPodAffinity", "{hardPodAffinityWeight: 40, ignorePreferredTermsOfExistingPods: true}").rules,
        usual.clone().hard_affinity_weight(40).ignore_placed_preferences(true)
    );
    assert_eq!(
        of("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: example.com/gpu, weight: 1}]}").rules,
        usual.clone().balance(vec!["cpu".into(), "example.com/gpu".into()])
    );
    assert_eq!(
        of("NodeResourcesFit", "{ignoredResources: [example.com/a], ignoredResourceGroups: [example.org]}").rules,
        usual.clone().ignore_resources(vec!["example.com/a".into()], vec!["example.org".into()])
    );
    let timeout = of(
        "VolumeBinding",
        "{bindTimeoutSeconds: 0, shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}",
    );
    assert_eq!(timeout.bind_timeout, Duration::ZERO);
    let rising = plimsoll_engine::volumes::Shape::new(&[(0, 0), (100, 10)]).unwrap();
    assert_eq!(timeout.rules, usual.clone().volume_shape(rising));
    assert_eq!(
        of("PodTopologySpread", "{defaultingType: List}").rules,
        usual.clone().spread_by_default(DefaultSpread::List(Vec::new()))
    );
    let spread = "{defaultingType: List, defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}";
    assert_ne!(of("PodTopologySpread", spread).rules, usual);
    let affinity = "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: \
                    [{key: pool, operator: In, values: [a]}]}]}}}";
    assert_ne!(of("NodeAffinity", affinity).rules, usual);
}

#[test]
fn upstreams_gates_reach_the_rules() {
    let off =
        UpstreamGates { storage_capacity_scoring: false, volume_limit_scaling: false, ..UpstreamGates::default() };
    let read = read_under("", AllGates { ours: Gates::AS_UPSTREAM, upstream: off });
    assert_eq!(
        read.profiles[0].rules,
        Rules::new(feasible(Gates::AS_UPSTREAM)).storage_capacity_scoring(false).volume_limit_scaling(false)
    );
    let volumes = read.document.profiles[0].plugin_config.iter().find(|config| config.name == "VolumeBinding").unwrap();
    assert_eq!(volumes.args.get("shape"), None);
}

#[test]
fn extenders_are_read_and_those_that_may_fail_come_last() {
    let read = read(
        "
extenders:
- {urlPrefix: 'https://a.example/x', prioritizeVerb: prioritize, weight: 3, enableHTTPS: true, ignorable: true}
- urlPrefix: http://b.example
  filterVerb: filter
  bindVerb: bind
  httpTimeout: 250ms
  nodeCacheCapable: true
  managedResources: [{name: example.com/disk, ignoredByScheduler: true}, {name: example.com/net}]
  tlsConfig: {serverName: b, certFile: /c, keyData: a2V5, caFile: /ca, caData: Y2E=}
",
    );
    let [b, a] = read.extenders.as_slice() else { panic!("{:?}", read.extenders) };
    assert_eq!((b.url_prefix.as_str(), a.url_prefix.as_str()), ("http://b.example", "https://a.example/x"));
    assert_eq!((&a.filter_verb, a.prioritize_verb.as_deref(), a.weight), (&None, Some("prioritize"), 3));
    assert_eq!((a.timeout, b.timeout), (Duration::from_secs(5), Duration::from_millis(250)));
    assert!(a.tls.as_ref().is_some_and(|tls| tls.insecure), "HTTPS with nobody to trust trusts everybody, as upstream");
    let tls = b.tls.as_ref().unwrap();
    assert_eq!(tls.ca, Some(Pem::Data(b"ca".to_vec())), "data goes before a file");
    assert_eq!(tls.identity, Some((Pem::File("/c".into()), Pem::Data(b"key".to_vec()))));
    assert!(!format!("{tls:?}").contains("107"), "a key is not shown: {tls:?}");
    assert_eq!(
        read.profiles[0].rules,
        Rules::new(feasible(Gates::all())).ignore_resources(vec!["example.com/disk".into()], Vec::new()),
        "what an extender manages is left to it"
    );
}

#[test]
fn what_changes_nothing_is_noted() {
    assert_eq!(notes("podMaxBackoffSeconds: 20"), Vec::<String>::new());
    assert_eq!(
        notes("percentageOfNodesToScore: 50"),
        ["percentageOfNodesToScore: changes nothing: every node that fits is scored, none is left out"]
    );
    let disabled =
        notes("profiles: [{plugins: {score: {disabled: [{name: Typo}]}, placementScore: {disabled: [{name: '*'}]}}}]");
    assert_eq!(disabled, ["profiles[0].plugins.score.disabled[0].name: changes nothing: there is no plugin Typo"]);
}
