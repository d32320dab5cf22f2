//! Each argument by a table small enough to be checked by hand. `conformance/profiles.jsonl.gz` has upstream's own answers.

use crate::gates::Gates;
use crate::labels::{Name, ObjectKey};
use crate::model::{Node, Pod, SpreadConstraint, WeightedPodTerm, Workload, WorkloadKind};
use crate::reason::{Code, Plugin, Status};
use crate::rules::{AddedAffinity, DefaultSpread, ResourceWeight, Rules, ScoringStrategy};
use crate::selector::{LabelSelector, NodeSelector, PreferredTerm, RawRequirement};
use crate::testing::{Cluster, container, host_port, labels, name, node, placed, pod, spread, term};
use crate::volumes::Shape;

const ZONE: &str = "topology.kubernetes.io/zone";
const FIT: Plugin = Plugin::NodeResourcesFit;

fn asking(amounts: &[(&str, &str)]) -> Pod {
    let mut p = pod("p");
    p.demand.containers = vec![container(amounts)];
    p
}

fn with_gpus(node: Node, gpus: i64) -> Node {
    let mut node = node;
    node.allocatable.scalar.insert(name("example.com/gpu"), gpus);
    node.allocatable.ephemeral_storage = 100 << 30;
    node
}

/// Resources with their weights.
type Named<'a> = &'a [(&'a str, i64)];

fn weighted(resources: Named<'_>) -> Vec<ResourceWeight> {
    resources.iter().map(|&(resource, weight)| ResourceWeight { resource: name(resource), weight }).collect()
}

#[test]
fn the_default_profile_is_upstreams() {
    let rules = Rules::new(Gates::AS_UPSTREAM);
    assert!(Plugin::ALL.into_iter().all(|plugin| rules.filters(plugin)));
    let weights: Vec<(&str, i64)> =
        Plugin::ALL.into_iter().map(|p| (p.name(), rules.weight(p))).filter(|(_, w)| *w != 0).collect();
    assert_eq!(
        weights,
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
        ]
    );
}

#[test]
fn a_setter_changes_one_plugin() {
    let rules = Rules::default().filter(Plugin::VolumeZone, false).weigh(Plugin::ImageLocality, 0);
    assert!(!rules.filters(Plugin::VolumeZone) && rules.filters(Plugin::VolumeBinding));
    assert_eq!((rules.weight(Plugin::ImageLocality), rules.weight(Plugin::TaintToleration)), (0, 3));
    // What has no score cannot be given one.
    assert_eq!(rules.weigh(Plugin::NodePorts, 7).weight(Plugin::NodePorts), 0);
}

#[test]
fn without_storage_capacity_scoring_volumes_weigh_nothing() {
    let rules = Rules::default().weigh(Plugin::VolumeBinding, 5).storage_capacity_scoring(false);
    assert_eq!(rules.weight(Plugin::VolumeBinding), 0);
    assert_eq!(rules.storage_capacity_scoring(true).weight(Plugin::VolumeBinding), 5);
}

#[test]
fn a_strategy_weighs_the_resources_it_names() {
    // A quarter of the cpu, three quarters of the memory, half of the gpus.
    let p = asking(&[("cpu", "1"), ("memory", "6Gi"), ("example.com/gpu", "2")]);
    let plain = asking(&[("cpu", "1"), ("memory", "6Gi")]);
    let cluster = Cluster::new([with_gpus(node("a", "a"), 4), node("b", "b")], []);
    let line = |points: &[(i64, i64)]| ScoringStrategy::RequestedToCapacityRatio(Shape::new(points).unwrap());
    let (least, most) = (ScoringStrategy::LeastAllocated, ScoringStrategy::MostAllocated);
    let usual: Named<'_> = &[("cpu", 3), ("memory", 1)];
    let gpus: Named<'_> = &[("cpu", 1), ("example.com/gpu", 5)];
    let table: &[(ScoringStrategy, Named<'_>, &Pod, [i64; 2])] = &[
        // (3·75 + 25) / 4 is cut off.
        (least.clone(), usual, &p, [62, 62]),
        (most.clone(), usual, &p, [37, 37]),
        // The same number, rounded.
        (line(&[(0, 0), (100, 10)]), usual, &p, [38, 38]),
        // cpu scores nothing there, and does not count.
        (line(&[(0, 0), (50, 0), (100, 10)]), usual, &p, [50, 50]),
        // (75 + 5·50) / 6; the other node has no gpus, so that they do not count.
        (least.clone(), gpus, &p, [54, 75]),
        (most.clone(), gpus, &p, [45, 25]),
        // Nor do they for a pod that does not ask for them.
        (least.clone(), gpus, &plain, [75, 75]),
        (most, &[("example.com/gpu", 1)], &plain, [0, 0]),
        // A resource that no node has, and one that is none.
        (least, &[("pods", 1), ("nonsense", 2)], &p, [0, 0]),
    ];
    for (strategy, resources, pod, expected) in table {
        let rules = Rules::default().score_resources(strategy.clone(), weighted(resources));
        assert_eq!(cluster.scores_by(pod, FIT, &rules).unwrap(), expected, "{strategy:?} {resources:?}");
    }
}

#[test]
fn more_than_there_is_counts_as_full() {
    // A container that names no request counts for 100m and 200Mi in scores: more than what is left of the memory.
    let crowd = Pod { node: Some(name("a")), ..asking(&[("cpu", "3900m"), ("memory", "8Gi")]) };
    let cluster = Cluster::new([node("a", "a")], [Pod { key: ObjectKey::new("default", "crowd"), ..crowd }]);
    let p = asking(&[]);
    let by = |strategy| {
        let rules = Rules::default().score_resources(strategy, weighted(&[("cpu", 1), ("memory", 1)]));
        cluster.scores_by(&p, FIT, &rules).unwrap()[0]
    };
    assert_eq!(by(ScoringStrategy::LeastAllocated), 0);
    assert_eq!(by(ScoringStrategy::MostAllocated), 100);
    let falling = Shape::new(&[(0, 10), (100, 3)]).unwrap();
    assert_eq!(by(ScoringStrategy::RequestedToCapacityRatio(falling)), 30);
}

#[test]
fn balance_is_over_the_resources_that_are_named() {
    let plugin = Plugin::NodeResourcesBalancedAllocation;
    let p = asking(&[("cpu", "1"), ("memory", "6Gi"), ("ephemeral-storage", "50Gi")]);
    let cluster = Cluster::new([with_gpus(node("a", "a"), 4), node("b", "b")], []);
    let by = |resources: &[&str], pod: &Pod| {
        let rules = Rules::default().balance(resources.iter().map(|r| name(r)).collect::<Vec<Name>>());
        cluster.scores_by(pod, plugin, &rules)
    };
    // 25 %, 75 % and 50 %: the deviation is the root of 1/24, 20.4 %, and the balance 79 after 100. The other node has no
    // storage: the deviation of two is 25 %.
    assert_eq!(by(&["cpu", "memory", "ephemeral-storage"], &p).unwrap(), [64, 62]);
    // A resource alone is balanced, and so is one that the pod does not ask for beside it.
    assert_eq!(by(&["memory"], &p).unwrap(), [75, 75]);
    assert_eq!(by(&["memory", "example.com/gpu"], &p).unwrap(), [75, 75]);
    // Nothing asked of what is named: no score.
    assert_eq!(by(&["example.com/gpu"], &p), None);
    assert_eq!(by(&["ephemeral-storage"], &asking(&[("cpu", "1")])), None);
}

#[test]
fn only_extended_resources_can_be_ignored() {
    let cluster = Cluster::new([node("a", "a")], []);
    let fits = |resource: &str, names: &[&str], groups: &[&str]| {
        let list = |texts: &[&str]| texts.iter().map(|t| name(t)).collect::<Vec<Name>>();
        let rules = Rules::default().ignore_resources(list(names), list(groups));
        !cluster.fitting_by(&asking(&[(resource, "1")]), &rules).is_empty()
    };
    assert!(!fits("example.com/gpu", &[], &[]));
    assert!(fits("example.com/gpu", &["example.com/gpu"], &[]));
    assert!(fits("example.com/gpu", &[], &["example.com"]));
    assert!(!fits("example.com/gpu", &["example.com/fpga"], &["example", "com"]));
    for native in ["hugepages-2Mi", "x.kubernetes.io/y", "cpu"] {
        let asked = if native == "cpu" { "ephemeral-storage" } else { native };
        assert!(!fits(asked, &[asked], &["x.kubernetes.io", asked]), "{asked}");
    }
}

fn in_zone(zone: &str) -> Vec<RawRequirement> {
    vec![RawRequirement::new(ZONE, "In", &[zone])]
}

#[test]
fn the_profiles_affinity_is_asked_beside_the_pods() {
    let cluster = Cluster::new([node("a", "a"), node("b", "b"), node("c", "c")], []);
    let required =
        |zones: &[&str]| NodeSelector::compile(&zones.iter().map(|z| (in_zone(z), vec![])).collect::<Vec<_>>());
    let added = AddedAffinity { required: Some(required(&["a", "b"])), preferred: Vec::new() };
    let rules = Rules::default().add_affinity(added);
    let p = Pod { required_node_affinity: Some(required(&["b", "c"])), ..pod("p") };
    assert_eq!(cluster.fitting_by(&p, &rules), ["b"]);
    assert_eq!(cluster.fitting_by(&pod("p"), &rules), ["a", "b"]);
    let reason = |node| {
        let refusals = cluster.refusals_by(&p, node, &rules);
        assert_eq!(refusals.len(), 1);
        assert_eq!((refusals[0].code, refusals[0].status), (Code::NODE_AFFINITY, Status::UnschedulableAndUnresolvable));
        refusals[0].reason.to_string()
    };
    assert_eq!(reason("a"), "node(s) didn't match Pod's node affinity/selector");
    assert_eq!(reason("c"), "node(s) didn't match scheduler-enforced node affinity");

    let prefer = |weight, zone: &str| PreferredTerm::compile(0, weight, &in_zone(zone), &[]);
    let added = AddedAffinity { required: None, preferred: vec![prefer(10, "a"), prefer(30, "b")] };
    let rules = Rules::default().add_affinity(added);
    let scores = |pod: &Pod| cluster.scores_by(pod, Plugin::NodeAffinity, &rules);
    assert_eq!(scores(&pod("p")).unwrap(), [33, 100, 0]);
    assert_eq!(scores(&Pod { preferred_node_affinity: vec![prefer(70, "a")], ..pod("p") }).unwrap(), [100, 37, 0]);
}

#[test]
fn listed_defaults_spread_what_services_select() {
    let web = || Pod { labels: labels(&[("app", "web")]), ..pod("p") };
    let bare = Node { labels: labels(&[]), ..node("d", "") };
    let pods = [placed("1", "a", "web"), placed("2", "a", "web"), placed("3", "b", "web"), placed("4", "c", "db")];
    let mut cluster = Cluster::new([node("a", "a"), node("b", "b"), node("c", "c"), bare], pods);
    let by = |constraint: SpreadConstraint| Rules::default().spread_by_default(DefaultSpread::List(vec![constraint]));
    // The constraint's own selector is not read.
    let hard = by(spread(1, "db"));
    let soft = by(SpreadConstraint { hard: false, ..spread(1, "db") });
    // Nothing selects the pod yet: it is not spread.
    assert_eq!(cluster.fitting_by(&web(), &hard).len(), 4);
    assert_eq!(cluster.scores_by(&web(), Plugin::PodTopologySpread, &soft), None);
    let selector = Some(LabelSelector::from_labels(&[("app", "web")]));
    let key = ObjectKey::new("default", "web");
    cluster.workloads.set(Workload { kind: WorkloadKind::Service, key, version: 0, selector });
    assert_eq!(cluster.fitting_by(&web(), &hard), ["c"]);
    assert_eq!(cluster.refusals_by(&web(), "d", &hard)[0].code, Code::TOPOLOGY_SPREAD_LABEL);
    assert_eq!(cluster.refusals_by(&web(), "b", &hard)[0].status, Status::Unschedulable);
    // A hard one scores nothing, and a soft one refuses nothing. Unlike the system's, it gives a node without the label 0:
    // ln(5) each, 3.2, 1.6 and 0 are rounded to 3, 2 and 0.
    assert_eq!(cluster.scores_by(&web(), Plugin::PodTopologySpread, &hard), None);
    assert_eq!(cluster.fitting_by(&web(), &soft).len(), 4);
    assert_eq!(cluster.scores_by(&web(), Plugin::PodTopologySpread, &soft).unwrap(), [0, 33, 100, 0]);
    // A pod with constraints of its own has no others, be they only soft.
    let own = Pod { spread: vec![SpreadConstraint { hard: false, ..spread(5, "web") }], ..web() };
    assert_eq!(cluster.fitting_by(&own, &hard).len(), 4);
    // An empty list spreads nothing.
    let nothing = Rules::default().spread_by_default(DefaultSpread::List(Vec::new()));
    assert_eq!(cluster.scores_by(&web(), Plugin::PodTopologySpread, &nothing), None);
}

#[test]
fn placed_pods_preferences_weigh_what_the_profile_says() {
    let web = Pod { labels: labels(&[("app", "web")]), ..pod("p") };
    let near = Pod { required_affinity: vec![term(ZONE, "web")], ..placed("1", "a", "db") };
    let prefer = |weight| vec![WeightedPodTerm { weight, term: term(ZONE, "web") }];
    let likes = Pod { preferred_affinity: prefer(10), ..placed("2", "b", "db") };
    let nodes = || [node("a", "a"), node("b", "b"), node("c", "c")];
    let cluster = Cluster::new(nodes(), [near.clone(), likes]);
    let by = |weight| {
        cluster.scores_by(&web, Plugin::InterPodAffinity, &Rules::default().hard_affinity_weight(weight)).unwrap()
    };
    assert_eq!(by(1), [10, 100, 0]);
    assert_eq!(by(10), [100, 100, 0]);
    assert_eq!(by(100), [100, 10, 0]);
    assert_eq!(by(0), [0, 100, 0]);
    // Where the required term is all there is, a weight of 0 leaves nothing to score by.
    let only = Cluster::new(nodes(), [near]);
    assert_eq!(only.scores_by(&web, Plugin::InterPodAffinity, &Rules::default().hard_affinity_weight(0)), None);
    let ignoring = Rules::default().ignore_placed_preferences(true);
    assert_eq!(cluster.scores_by(&web, Plugin::InterPodAffinity, &ignoring), None);
    // A pod that prefers something itself is scored by both.
    let choosy = Pod { preferred_anti_affinity: vec![WeightedPodTerm { weight: 4, term: term(ZONE, "db") }], ..web };
    assert_eq!(cluster.scores_by(&choosy, Plugin::InterPodAffinity, &ignoring).unwrap(), [0, 100, 33]);
}

#[test]
fn a_filter_that_is_off_refuses_nothing() {
    let mut bad = node("a", "a");
    bad.unschedulable = true;
    let taint = crate::model::Taint { key: name("k"), value: name(""), effect: crate::model::TaintEffect::NoSchedule };
    bad.taints = vec![taint];
    let mut holder = placed("q", "a", "web");
    holder.host_ports = vec![host_port("", 80)];
    holder.required_anti_affinity = vec![term(ZONE, "web")];
    let cluster = Cluster::new([bad], [holder]);
    let mut p = Pod { labels: labels(&[("app", "web")]), node: Some(name("b")), ..asking(&[("cpu", "9")]) };
    p.node_selector = labels(&[("no", "such")]);
    p.host_ports = vec![host_port("", 80)];
    p.spread = vec![SpreadConstraint { topology_key: name("no-such"), ..spread(1, "web") }];
    let refusing = |rules: &Rules| -> Vec<Plugin> {
        cluster.refusals_by(&p, "a", rules).into_iter().map(|refusal| refusal.plugin).collect()
    };
    let all = refusing(&Rules::default());
    assert_eq!(all.len(), 8);
    for off in &all {
        let others: Vec<Plugin> = all.iter().copied().filter(|plugin| plugin != off).collect();
        assert_eq!(refusing(&Rules::default().filter(*off, false)), others);
    }
    let none = all.iter().fold(Rules::default(), |rules, plugin| rules.filter(*plugin, false));
    assert_eq!(cluster.fitting_by(&p, &none), ["a"]);
}

#[test]
fn a_score_that_weighs_nothing_is_not_computed() {
    let cluster = Cluster::new([node("a", "a")], []);
    let rules = Rules::default().weigh(FIT, 0);
    assert_eq!(cluster.scores_by(&asking(&[("cpu", "1")]), FIT, &rules), None);
}
