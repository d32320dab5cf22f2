use crate::labels::{Labels, ObjectKey};
use crate::model::{
    Image, Node, Pod, PodImages, SpreadConstraint, Taint, TaintEffect, Toleration, WeightedPodTerm, Workload,
    WorkloadKind,
};
use crate::nodes::NodeIndex;
use crate::reason::Plugin;
use crate::rules::Rules;
use crate::scores::NodeScores;
use crate::selector::{LabelSelector, PreferredTerm, RawRequirement};
use crate::testing::{Cluster, container, labels, name, node, placed, pod, spread, term};

const ZONE: &str = "topology.kubernetes.io/zone";

fn three_zones(pods: impl IntoIterator<Item = Pod>) -> Cluster {
    Cluster::new([node("a", "a"), node("b", "b"), node("c", "c")], pods)
}

#[test]
fn plugins_without_an_opinion_are_left_out() {
    let cluster = three_zones([]);
    let feasible: Vec<NodeIndex> = cluster.nodes.iter().map(|row| row.index()).collect();
    let scores = NodeScores::compute(&pod("p"), &cluster.view(), &feasible, &Rules::default());
    let plugins: Vec<&str> = scores.iter().map(|(plugin, _)| plugin.name()).collect();
    assert_eq!(plugins, ["TaintToleration", "NodeResourcesFit", "ImageLocality"]);
    // An index without a node scores 0, and moves no other's score.
    let scores = NodeScores::compute(&pod("p"), &cluster.view(), &[NodeIndex(9), feasible[0]], &Rules::default());
    assert_eq!(scores[0], (Plugin::TaintToleration, vec![0, 100]));
    assert!(
        NodeScores::compute(&pod("p"), &cluster.view(), &[], &Rules::default())
            .iter()
            .all(|(_, scores)| scores.is_empty())
    );
}

#[test]
fn fewer_soft_taints_are_better() {
    let taints = |keys: &[&str]| -> Vec<Taint> {
        let taint = |key: &&str| Taint { key: name(key), value: name(""), effect: TaintEffect::PreferNoSchedule };
        keys.iter().map(taint).collect()
    };
    let tainted = |n: &str, keys: &[&str]| Node { taints: taints(keys), ..node(n, "a") };
    let cluster = Cluster::new([tainted("a", &["x", "y", "z"]), tainted("b", &["x"]), tainted("c", &[])], []);
    assert_eq!(cluster.scores(&pod("p"), Plugin::TaintToleration).unwrap(), [0, 67, 100]);
    let tolerations = vec![Toleration { key: name("x"), operator: name("Exists"), value: name(""), effect: None }];
    assert_eq!(cluster.scores(&Pod { tolerations, ..pod("p") }, Plugin::TaintToleration).unwrap(), [0, 100, 100]);
}

#[test]
fn preferred_nodes_score_by_weight() {
    let prefer = |index, weight, zone: &str| {
        PreferredTerm::compile(index, weight, &[RawRequirement::new(ZONE, "In", &[zone])], &[])
    };
    let p = Pod { preferred_node_affinity: vec![prefer(0, 30, "a"), prefer(1, 90, "b")], ..pod("p") };
    assert_eq!(three_zones([]).scores(&p, Plugin::NodeAffinity).unwrap(), [33, 100, 0]);
}

#[test]
fn emptier_nodes_are_better() {
    let mut q = placed("q", "b", "web");
    q.demand.containers = vec![container(&[("cpu", "1"), ("memory", "2Gi")])];
    let mut p = pod("p");
    p.demand.containers = vec![container(&[("cpu", "1"), ("memory", "2Gi")])];
    let no_memory = {
        let mut node = node("c", "c");
        node.allocatable.memory = 0;
        node
    };
    let cluster = Cluster::new([node("a", "a"), node("b", "b"), no_memory], [q]);
    assert_eq!(cluster.scores(&p, Plugin::NodeResourcesFit).unwrap(), [75, 50, 75]);
    // A container without requests counts for 100m and 200Mi; pod-level requests do not count here.
    p.demand.containers = vec![container(&[])];
    p.demand.pod_level = Some(crate::testing::requests(&[("cpu", "4")]));
    assert_eq!(cluster.scores(&p, Plugin::NodeResourcesFit).unwrap()[0], 97);
}

#[test]
fn up_13_balance_is_scored_by_how_the_pod_changes_it() {
    let using = |cpu: &str, memory: &str| {
        let mut p = pod("p");
        p.demand.containers = vec![container(&[("cpu", cpu), ("memory", memory)])];
        p
    };
    let cluster = three_zones([Pod { node: Some(name("b")), ..using("2", "0") }]);
    // On a: 100 before, after it (25% and 75%) 75: 50 + (50 + 75 - 100) / 2. On b: from 75 to 100.
    assert_eq!(cluster.scores(&using("1", "6Gi"), Plugin::NodeResourcesBalancedAllocation).unwrap(), [62, 87, 62]);
    assert_eq!(cluster.scores(&using("0", "0"), Plugin::NodeResourcesBalancedAllocation), None);
}

#[test]
fn images_count_by_size_and_spread() {
    let with = |n: &str, images: &[(&str, i64)]| {
        let image = |&(image, size): &(&str, i64)| Image { names: vec![name(image)], size };
        Node { images: images.iter().map(image).collect(), ..node(n, "a") }
    };
    let large = ("registry:5000/large:latest", 2000 << 20);
    let cluster = Cluster::new([with("a", &[large]), with("b", &[large, ("small:1", 30 << 20)]), with("c", &[])], []);
    let images = |main: &[&str]| Pod {
        images: PodImages { main: main.iter().map(|i| name(i)).collect(), ..PodImages::default() },
        ..pod("p")
    };
    // 2000Mi on two of three nodes is 1333Mi: more than counts for one image.
    assert_eq!(cluster.scores(&images(&["registry:5000/large"]), Plugin::ImageLocality).unwrap(), [100, 100, 0]);
    assert_eq!(
        cluster.scores(&images(&["registry:5000/large", "small:1"]), Plugin::ImageLocality).unwrap(),
        [66, 66, 0]
    );
    assert_eq!(cluster.scores(&images(&["small:1"]), Plugin::ImageLocality).unwrap(), [0, 0, 0]);
    assert_eq!(cluster.scores(&images(&[]), Plugin::ImageLocality).unwrap(), [0, 0, 0]);
}

#[test]
fn preferences_between_pods_count_from_both_sides() {
    let weighted = |weight, app: &str| vec![WeightedPodTerm { weight, term: term(ZONE, app) }];
    let p = Pod {
        labels: labels(&[("app", "web")]),
        preferred_affinity: weighted(10, "db"),
        preferred_anti_affinity: weighted(5, "cache"),
        ..pod("p")
    };
    let cluster = three_zones([placed("1", "a", "db"), placed("2", "b", "cache")]);
    assert_eq!(cluster.scores(&p, Plugin::InterPodAffinity).unwrap(), [100, 0, 33]);
    // Required affinity of a placed pod weighs 1, its preferences their weight.
    let near = Pod { required_affinity: vec![term(ZONE, "web")], ..placed("1", "a", "db") };
    let apart = Pod { preferred_anti_affinity: weighted(3, "web"), ..placed("2", "b", "db") };
    let plain = Pod { labels: labels(&[("app", "web")]), ..pod("p") };
    assert_eq!(three_zones([near, apart]).scores(&plain, Plugin::InterPodAffinity).unwrap(), [100, 0, 75]);
    assert_eq!(three_zones([placed("1", "a", "db")]).scores(&plain, Plugin::InterPodAffinity), None);
}

#[test]
fn soft_spreading_prefers_emptier_domains() {
    let soft = SpreadConstraint { hard: false, ..spread(1, "web") };
    let p = Pod { labels: labels(&[("app", "web")]), spread: vec![soft], ..pod("p") };
    let bare = Node { labels: labels(&[]), ..node("d", "") };
    let pods = [placed("1", "a", "web"), placed("2", "a", "web"), placed("3", "b", "web")];
    let cluster = Cluster::new([node("a", "a"), node("b", "b"), node("c", "c"), bare], pods);
    // ln(5) each: 3.2, 1.6 and 0 are rounded to 3, 2 and 0. A node without the label scores 0.
    assert_eq!(cluster.scores(&p, Plugin::PodTopologySpread).unwrap(), [0, 33, 100, 0]);
    // Hard constraints alone say nothing here, and keep the defaults away.
    assert_eq!(cluster.scores(&Pod { spread: vec![spread(1, "web")], ..p }, Plugin::PodTopologySpread), None);
}

fn workload(kind: WorkloadKind, selector: &[(&str, &str)]) -> Workload {
    let selector = Some(LabelSelector::from_labels(selector));
    Workload { kind, key: ObjectKey::new("default", "w"), version: 0, selector }
}

#[test]
fn pods_of_services_and_controllers_are_spread_by_default() {
    let p = Pod { labels: labels(&[("app", "web")]), ..pod("p") };
    let pods = || [placed("1", "a", "web"), placed("2", "b", "db")];
    let mut cluster = three_zones(pods());
    assert_eq!(cluster.scores(&p, Plugin::PodTopologySpread), None);
    cluster.workloads.set(workload(WorkloadKind::Service, &[("app", "db")]));
    assert_eq!(cluster.scores(&p, Plugin::PodTopologySpread), None);
    cluster.workloads.set(workload(WorkloadKind::Service, &[("app", "web")]));
    // Nodes: ln(5) and 2 for the skew of 3; zones: ln(5) and 4 for the skew of 5. 9.2 and 6 are rounded to 9 and 6.
    assert_eq!(cluster.scores(&p, Plugin::PodTopologySpread).unwrap(), [66, 100, 100]);
    // A ReplicationController's label wins over a Service's, a ReplicaSet's is asked beside it.
    let owned = |kind: &str| Pod { controller: Some((name(kind), name("w"))), ..p.clone() };
    cluster.workloads.set(workload(WorkloadKind::ReplicationController, &[("app", "db")]));
    cluster.workloads.set(workload(WorkloadKind::ReplicaSet, &[("app", "db")]));
    assert_eq!(cluster.scores(&owned("ReplicationController"), Plugin::PodTopologySpread).unwrap(), [100, 66, 100]);
    assert_eq!(cluster.scores(&owned("ReplicaSet"), Plugin::PodTopologySpread).unwrap(), [100, 100, 100]);
    assert_eq!(cluster.scores(&owned("ReplicaSet.example.com/v1"), Plugin::PodTopologySpread).unwrap(), [66, 100, 100]);
}

/// Nodes without a zone are still spread over by default.
#[test]
fn default_spreading_needs_no_zones() {
    let bare = |n: &str| Node { labels: labels(&[("kubernetes.io/hostname", n)]), ..node(n, "") };
    let mut cluster = Cluster::new(
        [bare("a"), bare("b"), Node { labels: Labels::default(), ..node("c", "") }],
        [placed("1", "a", "web")],
    );
    cluster.workloads.set(workload(WorkloadKind::StatefulSet, &[("app", "web")]));
    let p = Pod { labels: labels(&[("app", "web")]), controller: Some((name("StatefulSet"), name("w"))), ..pod("p") };
    // ln(5) + 2 = 3.6 is rounded to 4; 2 without a pod; 0 without any label.
    assert_eq!(cluster.scores(&p, Plugin::PodTopologySpread).unwrap(), [0, 50, 100]);
}
