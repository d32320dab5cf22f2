use crate::labels::ObjectKey;
use crate::model::{Feature, Node, Pod, PodTerm, SpreadConstraint, Taint, TaintEffect, Toleration};
use crate::reason::{Code, Status};
use crate::rules::Rules;
use crate::selector::{LabelSelector, NodeSelector, RawRequirement, SelectorError};
use crate::testing::{Cluster, container, host_port, labels, name, node, placed, pod, requests, spread, term};

use super::NodeFilters;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

fn three_zones(pods: impl IntoIterator<Item = Pod>) -> Cluster {
    Cluster::new([node("a", "a"), node("b", "b"), node("c", "c")], pods)
}

#[test]
fn the_names_a_pod_gives_narrow_the_nodes() {
    let rules = Rules::default();
    let named = Pod { node: Some(name("b")), ..pod("p") };
    let cluster = three_zones([]);
    assert_eq!(cluster.fitting(&named), ["b"]);
    let refusals = cluster.refusals(&named, "a");
    assert_eq!(refusals[0].reason, "node(s) didn't match the requested node name");
    assert_eq!((refusals.len(), refusals[0].code), (1, Code::NODE_NAME));
    let filters = NodeFilters::prepare(&named, &cluster.view(), &rules);
    assert_eq!(filters.narrowed()[0].1.iter().map(|n| &**n).collect::<Vec<_>>(), ["b"]);
}

fn by_fields(terms: &[&[&str]]) -> Pod {
    let field =
        |node: &&str| RawRequirement { key: name("metadata.name"), operator: name("In"), values: vec![name(node)] };
    let terms: Vec<_> = terms.iter().map(|nodes| (Vec::new(), nodes.iter().map(field).collect())).collect();
    Pod { required_node_affinity: Some(NodeSelector::compile(&terms)), ..pod("p") }
}

#[test]
fn match_fields_narrow_and_may_conflict() {
    let rules = Rules::default();
    let cluster = three_zones([]);
    let either = by_fields(&[&["a"], &["c"]]);
    assert_eq!(cluster.fitting(&either), ["a", "c"]);
    assert_eq!(NodeFilters::prepare(&either, &cluster.view(), &rules).narrowed()[0].1.len(), 2);
    assert!(cluster.refusals(&either, "b")[0].detail.contains("names other nodes: a, c"));
    let never = by_fields(&[&["a", "b"]]);
    let filters = NodeFilters::prepare(&never, &cluster.view(), &rules);
    assert_eq!(filters.pod_refusals()[0].reason, "pod affinity terms conflict");
    assert_eq!(filters.pod_refusals()[0].status, Status::UnschedulableAndUnresolvable);
    assert!(filters.narrowed().is_empty() && cluster.fitting(&never).is_empty());
}

#[test]
fn tolerations_cover_taints() {
    let tainted = |effect| Node { taints: vec![Taint { key: name("k"), value: name("5"), effect }], ..node("n", "a") };
    let toleration = |key: &str, operator: &str, value: &str, effect| Toleration {
        key: name(key),
        operator: name(operator),
        value: name(value),
        effect,
    };
    let fits = |effect, tolerations: Vec<Toleration>| {
        !Cluster::new([tainted(effect)], []).fitting(&Pod { tolerations, ..pod("p") }).is_empty()
    };
    use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
    assert!(!fits(NoSchedule, vec![]) && !fits(NoExecute, vec![]) && fits(PreferNoSchedule, vec![]));
    assert!(fits(NoSchedule, vec![toleration("k", "Equal", "5", None)]));
    assert!(fits(NoSchedule, vec![toleration("k", "", "5", Some(NoSchedule))]));
    assert!(!fits(NoSchedule, vec![toleration("k", "Exists", "", Some(NoExecute))]));
    assert!(fits(NoExecute, vec![toleration("", "Exists", "", None)]));
    // The gate of the numeric operators is off by default in 1.37.
    assert!(!fits(NoSchedule, vec![toleration("k", "Gt", "4", None), toleration("k", "Lt", "6", None)]));
    let refusal = &Cluster::new([tainted(NoSchedule)], []).refusals(&pod("p"), "n")[0];
    assert_eq!(refusal.detail, "node n has k=5:NoSchedule, which the pod does not tolerate");
}

#[test]
fn a_cordon_is_tolerated_like_its_taint() {
    let cluster = Cluster::new([Node { unschedulable: true, ..node("n", "a") }], []);
    assert!(cluster.fitting(&pod("p")).is_empty());
    let key = name("node.kubernetes.io/unschedulable");
    let toleration = Toleration { key, operator: name("Exists"), value: name(""), effect: None };
    assert_eq!(cluster.fitting(&Pod { tolerations: vec![toleration], ..pod("p") }), ["n"]);
}

#[test]
fn a_node_must_declare_what_the_pod_needs() {
    use Feature::{RestartAllContainersOnContainerExits as Restart, VolumeBindMountOptions as Mount};
    let declaring =
        |n: &str, features: &[Feature]| Node { features: features.iter().copied().collect(), ..node(n, "a") };
    let cluster = Cluster::new([declaring("a", &[]), declaring("b", &[Mount]), declaring("c", &[Mount, Restart])], []);
    let needing = |features: &[Feature]| Pod { features: features.iter().copied().collect(), ..pod("p") };
    assert_eq!(cluster.fitting(&needing(&[])), ["a", "b", "c"]);
    assert_eq!(cluster.fitting(&needing(&[Mount])), ["b", "c"]);
    assert_eq!(cluster.fitting(&needing(&[Mount, Restart])), ["c"]);
    let refusal = &cluster.refusals(&needing(&[Mount, Restart]), "a")[0];
    assert_eq!(refusal.reason, "node(s) didn't match Pod's required features");
    assert_eq!((refusal.code, refusal.status), (Code::NODE_FEATURES, Status::UnschedulableAndUnresolvable));
    let both = "RestartAllContainersOnContainerExits, VolumeBindMountOptions";
    assert_eq!(refusal.detail, format!("node a does not declare {both}, which the pod needs"));
    let without = Rules::default().filter(crate::reason::Plugin::NodeDeclaredFeatures, false);
    assert_eq!(cluster.fitting_by(&needing(&[Mount]), &without), ["a", "b", "c"]);
}

#[test]
fn every_reason_of_every_filter_is_told() {
    let mut full = placed("q", "n", "web");
    full.demand.containers = vec![container(&[("cpu", "3500m")])];
    full.host_ports = vec![host_port("", 80)];
    let mut small = node("n", "a");
    small.allocatable.pods = 1;
    let cluster = Cluster::new([small], [full]);
    let mut greedy = Pod { host_ports: vec![host_port("10.0.0.1", 80)], ..pod("p") };
    greedy.node_selector = labels(&[("disk", "ssd")]);
    greedy.demand.containers = vec![container(&[("cpu", "2"), ("memory", "1Gi"), ("example.com/gpu", "1")])];
    let refusals = cluster.refusals(&greedy, "n");
    let reasons: Vec<&str> = refusals.iter().map(|r| &*r.reason).collect();
    assert_eq!(
        reasons,
        [
            "node(s) didn't match Pod's node affinity/selector",
            "node(s) didn't have free ports for the requested pod ports",
            "Too many pods",
            "Insufficient cpu",
            "Insufficient example.com/gpu"
        ]
    );
    assert_eq!(refusals[0].detail, "the pod's nodeSelector asks for disk=ssd; node n has no such label");
    assert_eq!(refusals[1].detail, "wants host port 10.0.0.1:80/TCP; 0.0.0.0:80/TCP is taken on n");
    assert_eq!(refusals[2].detail, "1 of at most 1 pods are on n");
    assert_eq!(refusals[3].detail, "needs 2 cpu; 3.5 of 4 are taken on n");
    assert_eq!(refusals[4].detail, "needs 1 example.com/gpu; n has none");
    // An empty node would have no gpu either: preemption cannot help, whatever the other reasons.
    assert!(refusals[2..].iter().all(|r| r.status == Status::UnschedulableAndUnresolvable));
}

/// A pod that asks for nothing is not refused for want of resources, even on an overfull node.
#[test]
fn what_is_not_asked_for_is_never_short() {
    let mut q = placed("q", "n", "web");
    q.demand.containers = vec![container(&[("cpu", "9"), ("memory", "9Gi")])];
    let cluster = Cluster::new([node("n", "a")], [q]);
    assert_eq!(cluster.fitting(&pod("p")), ["n"]);
    let mut disk = pod("p");
    disk.demand.containers = vec![container(&[("ephemeral-storage", "1")])];
    let refusals = cluster.refusals(&disk, "n");
    assert_eq!((refusals.len(), &*refusals[0].reason), (1, "Insufficient ephemeral-storage"));
}

fn web(name: &str, spread: Vec<SpreadConstraint>) -> Pod {
    Pod { labels: labels(&[("app", "web")]), spread, ..pod(name) }
}

#[test]
fn hard_spreading_measures_skew_from_the_emptiest_domain() {
    let cluster = three_zones([placed("1", "a", "web"), placed("2", "a", "web"), placed("3", "b", "web")]);
    assert_eq!(cluster.fitting(&web("p", vec![spread(1, "web")])), ["c"]);
    assert_eq!(cluster.fitting(&web("p", vec![spread(2, "web")])), ["b", "c"]);
    let refusal = &cluster.refusals(&web("p", vec![spread(1, "web")]), "a")[0];
    assert_eq!((refusal.code, refusal.status), (Code::TOPOLOGY_SPREAD, Status::Unschedulable));
    assert!(refusal.detail.contains("has 2 of the pods to spread, the emptiest domain 0; with this pod the skew is 3"));
    // With fewer domains than asked for, the emptiest counts as empty.
    let four = SpreadConstraint { min_domains: Some(4), ..spread(2, "web") };
    let all = three_zones([
        placed("1", "a", "web"),
        placed("2", "a", "web"),
        placed("3", "b", "web"),
        placed("4", "c", "web"),
    ]);
    assert_eq!(all.fitting(&web("p", vec![spread(2, "web")])), ["a", "b", "c"]);
    assert_eq!(all.fitting(&web("p", vec![four])), ["b", "c"]);
    // A node without the label is refused for good.
    let bare = Cluster::new([Node { labels: labels(&[]), ..node("n", "a") }], []);
    let refusal = &bare.refusals(&web("p", vec![spread(1, "web")]), "n")[0];
    assert_eq!((refusal.code, refusal.status), (Code::TOPOLOGY_SPREAD_LABEL, Status::UnschedulableAndUnresolvable));
}

#[test]
fn inclusion_policies_say_which_nodes_count() {
    let taint = Taint { key: name("k"), value: name(""), effect: TaintEffect::NoSchedule };
    let tainted = Node { taints: vec![taint], ..node("c", "c") };
    let cluster =
        Cluster::new([node("a", "a"), node("b", "b"), tainted], [placed("1", "a", "web"), placed("2", "b", "web")]);
    // The tainted node's zone is empty, and so the emptiest, unless taints are honoured.
    assert!(cluster.fitting(&web("p", vec![spread(1, "web")])).is_empty());
    let honoring = SpreadConstraint { honor_taints: true, ..spread(1, "web") };
    assert_eq!(cluster.fitting(&web("p", vec![honoring])), ["a", "b"]);
    // A zone that the node selector excludes does not count, unless affinity is ignored.
    let mut selective = web("p", vec![spread(1, "web")]);
    selective.node_selector = labels(&[(ZONE, "a")]);
    assert_eq!(cluster.fitting(&selective), ["a"]);
    selective.spread[0].honor_affinity = false;
    assert!(cluster.fitting(&selective).is_empty());
}

#[test]
fn up_8_an_empty_selector_counts_no_neighbours_yet_the_pod_itself_and_deleted_pods_do_not_count() {
    let everything =
        |max_skew| SpreadConstraint { selector: Some(Ok(LabelSelector::default())), ..spread(max_skew, "") };
    let crowded = three_zones([placed("1", "a", "web"), placed("2", "a", "web")]);
    assert_eq!(crowded.fitting(&web("p", vec![everything(1)])), ["a", "b", "c"]);
    // The pod itself makes a skew of 1, which is more than 0.
    assert!(crowded.fitting(&web("p", vec![everything(0)])).is_empty());
    let leaving = |p: &str| Pod { deleting: true, ..placed(p, "a", "web") };
    let cluster = three_zones([leaving("1"), leaving("2"), placed("3", "b", "web")]);
    assert_eq!(cluster.fitting(&web("p", vec![spread(1, "web")])), ["a", "c"]);
}

#[test]
fn up_9_match_label_keys_are_merged_for_spread_only() {
    let revision = |mut pod: Pod, revision: &str| {
        pod.labels = labels(&[("app", "web"), ("rev", revision)]);
        pod
    };
    let cluster = three_zones([revision(placed("1", "a", "web"), "old"), revision(placed("2", "b", "web"), "new")]);
    let by_revision = SpreadConstraint { match_label_keys: vec![name("rev"), name("absent")], ..spread(1, "web") };
    // Only the new revision's pods count, so zone a is as empty as zone c. The pod has no label `absent`: no matter.
    assert_eq!(cluster.fitting(&revision(web("p", vec![by_revision.clone()]), "new")), ["a", "c"]);
    // Without a selector nothing counts, whatever the keys.
    let nothing = SpreadConstraint { selector: None, max_skew: 0, ..by_revision };
    assert_eq!(cluster.fitting(&revision(web("p", vec![nothing]), "new")), ["a", "b", "c"]);
    // A term of inter-pod affinity has no such keys: both revisions are near.
    let near = Pod { required_affinity: vec![term(ZONE, "web")], ..pod("p") };
    assert_eq!(cluster.fitting(&revision(near, "new")), ["a", "b"]);
}

#[test]
fn required_affinity_wants_one_pod_that_meets_all_terms() {
    let both = Pod { required_affinity: vec![term(ZONE, "web"), term(HOST, "web")], ..pod("p") };
    let cluster = Cluster::new(
        [node("a1", "a"), node("a2", "a"), node("b", "b")],
        [placed("1", "a1", "web"), placed("2", "b", "db")],
    );
    assert_eq!(cluster.fitting(&both), ["a1"]);
    let refusal = &cluster.refusals(&both, "a2")[0];
    assert_eq!((refusal.code, refusal.status), (Code::POD_AFFINITY, Status::UnschedulableAndUnresolvable));
    assert_eq!(refusal.detail, "no pod in kubernetes.io/hostname=a2 meets the pod's required affinity");
}

#[test]
fn the_first_pod_of_a_group_may_start_where_all_keys_are() {
    let first = Pod { labels: labels(&[("app", "web")]), required_affinity: vec![term(ZONE, "web")], ..pod("p") };
    let bare = Node { labels: labels(&[]), ..node("bare", "") };
    let empty = Cluster::new([node("a", "a"), bare.clone()], []);
    assert_eq!(empty.fitting(&first), ["a"]);
    // A pod that does not meet its own terms may not.
    assert!(empty.fitting(&Pod { labels: labels(&[]), ..first.clone() }).is_empty());
    // Neither may one whose group has started in a place that has the key.
    let started = Cluster::new([node("a", "a"), node("b", "b"), bare], [placed("1", "b", "web")]);
    assert_eq!(started.fitting(&first), ["b"]);
}

#[test]
fn anti_affinity_works_from_both_sides() {
    let apart = Pod { required_anti_affinity: vec![term(ZONE, "web")], ..pod("p") };
    let cluster = three_zones([placed("1", "a", "web")]);
    assert_eq!(cluster.fitting(&apart), ["b", "c"]);
    let refusal = &cluster.refusals(&apart, "a")[0];
    assert_eq!((refusal.code, refusal.status), (Code::POD_ANTI_AFFINITY, Status::Unschedulable));
    assert!(refusal.detail.contains("default/1"), "{}", refusal.detail);
    let hermit = Pod { required_anti_affinity: vec![term(ZONE, "web")], ..placed("hermit", "b", "db") };
    let cluster = three_zones([hermit]);
    assert_eq!(cluster.fitting(&web("p", vec![])), ["a", "c"]);
    let refusal = &cluster.refusals(&web("p", vec![]), "b")[0];
    assert_eq!(refusal.code, Code::EXISTING_ANTI_AFFINITY);
    assert_eq!(
        refusal.detail,
        "pod default/hermit in topology.kubernetes.io/zone=b must be apart from pods like this one"
    );
}

#[test]
fn terms_reach_into_the_namespaces_they_name() {
    let apart = |change: fn(&mut PodTerm)| {
        let mut term = term(ZONE, "web");
        change(&mut term);
        Pod { required_anti_affinity: vec![term], ..pod("p") }
    };
    let other = Pod { key: ObjectKey::new("other", "1"), ..placed("1", "a", "web") };
    let unknown = Pod { key: ObjectKey::new("unknown", "1"), ..placed("1", "b", "web") };
    let cluster = three_zones([other, unknown]).namespace("other", &[("team", "x")]).namespace("default", &[]);
    let team = || Some(Ok(LabelSelector::from_labels(&[("team", "x")])));
    assert_eq!(cluster.fitting(&apart(|_| ())), ["a", "b", "c"]);
    assert_eq!(cluster.fitting(&apart(|t| t.namespaces = vec![name("other")])), ["b", "c"]);
    assert_eq!(cluster.fitting(&apart(|t| t.namespace_selector = Some(Ok(LabelSelector::default())))), ["c"]);
    let selecting =
        Pod { required_anti_affinity: vec![PodTerm { namespace_selector: team(), ..term(ZONE, "web") }], ..pod("p") };
    assert_eq!(cluster.fitting(&selecting), ["b", "c"]);
    // From the other side: the labels of the incoming pod's namespace are asked, and count as none where it is unknown.
    let mut hermit = Pod { node: Some(name("a")), ..selecting };
    let incoming = |namespace: &str| Pod { key: ObjectKey::new(namespace, "p"), ..web("p", vec![]) };
    let cluster = three_zones([hermit.clone()]).namespace("other", &[("team", "x")]);
    assert_eq!(cluster.fitting(&incoming("other")), ["b", "c"]);
    assert_eq!(cluster.fitting(&incoming("default")), ["a", "b", "c"]);
    let absent = RawRequirement { key: name("team"), operator: name("DoesNotExist"), values: vec![] };
    hermit.required_anti_affinity[0].namespace_selector = Some(LabelSelector::compile(&[], &[absent]));
    assert_eq!(three_zones([hermit]).fitting(&incoming("unknown")), ["b", "c"]);
}

#[test]
fn selectors_that_cannot_be_read_refuse_the_pod() {
    let rules = Rules::default();
    let broken = || Some(Err(SelectorError("bad".to_owned())));
    let cluster = three_zones([]);
    let mut both = web("p", vec![SpreadConstraint { selector: broken(), ..spread(1, "web") }]);
    both.required_affinity = vec![PodTerm { selector: broken(), ..term(ZONE, "web") }];
    both.required_anti_affinity = vec![PodTerm { namespace_selector: broken(), ..term(ZONE, "web") }];
    let filters = NodeFilters::prepare(&both, &cluster.view(), &rules);
    let told: Vec<_> = filters.pod_refusals().iter().map(|r| (&*r.reason, r.status)).collect();
    assert_eq!(
        told,
        [
            (
                "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard topology spread constraints: bad",
                Status::Error
            ),
            (
                "parsing pod: [requiredAffinityTerms: bad, requiredAntiAffinityTerms: bad]",
                Status::UnschedulableAndUnresolvable
            ),
        ]
    );
    assert!(cluster.fitting(&both).is_empty());
    // A soft constraint that cannot be read does not matter here, nor does a placed pod's term.
    let soft = SpreadConstraint { selector: broken(), hard: false, ..spread(1, "web") };
    let mut hermit = placed("1", "a", "db");
    hermit.required_anti_affinity = vec![term(ZONE, "web"), PodTerm { selector: broken(), ..term(ZONE, "web") }];
    assert_eq!(three_zones([hermit]).fitting(&web("p", vec![soft])), ["a", "b", "c"]);
}

/// Amounts beyond all measure are an answer, not a crash.
#[test]
fn huge_amounts_do_not_overflow() {
    let mut q = placed("q", "n", "web");
    q.demand.containers = vec![container(&[("memory", "9223372036854775807"), ("cpu", "9E")]); 3];
    q.demand.overhead = Some(requests(&[("memory", "9223372036854775807")]));
    let cluster = Cluster::new([node("n", "a")], [q.clone()]);
    let _ = cluster.refusals(&Pod { node: None, ..q }, "n");
}
