use std::sync::Arc;

use proptest::prelude::*;

use super::demand::{Held, asked};
use super::*;
use crate::model::{Container, Image, PodDemand, PodLevelStatus};
use crate::testing::{container, host_port, labels, node, placed, pod, requests, term};

/// Everything about a table that an answer can depend on: rows by name without their index, and the shared sums.
fn state(table: &NodeTable) -> String {
    let rows: Vec<String> = table
        .iter_by_name()
        .map(|row| {
            let pods: Vec<_> = row.pods().iter().map(|p| (&p.pod().key, p.pod().version)).collect();
            let affine: Vec<_> = row.with_affinity().iter().map(|p| &p.key).collect();
            let anti: Vec<_> = row.with_anti_affinity().iter().map(|p| &p.key).collect();
            format!("{:?} {pods:?} {:?} {:?} {affine:?} {anti:?}", row.node(), row.held(), row.ports())
        })
        .collect();
    // Numbers depend on the order of events; the values they stand for do not.
    let column = table.column("topology.kubernetes.io/zone").unwrap();
    let zones: Vec<_> = table.iter_by_name().map(|row| column.value(row.index())).collect();
    let images: Vec<usize> = (0..3).map(|i| table.with_image(&format!("image-{i}")).len()).collect();
    let names = |rows: Vec<&NodeRow>| {
        let mut names: Vec<_> = rows.into_iter().map(|row| row.node().name.clone()).collect();
        names.sort();
        names
    };
    let affine = names(table.with_affinity().collect());
    let anti = names(table.with_anti_affinity().collect());
    let mut groups: Vec<String> = Vec::new();
    for group in table.groups() {
        for (index, count) in group.nodes() {
            let node = &table.get(index).unwrap().node().name;
            groups.push(format!("{} {:?} {node} {count:?}", group.namespace(), group.labels()));
        }
    }
    groups.sort();
    format!("{rows:#?} {zones:?} {images:?} {affine:?} {anti:?} {groups:#?}")
}

#[derive(Clone, Debug)]
enum Event {
    SetNode(usize, usize),
    RemoveNode(usize),
    AddPod(usize, Option<usize>, usize, bool),
    RemovePod(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..3usize, 0..3usize).prop_map(|(n, image)| Event::SetNode(n, image)),
        (0..3usize).prop_map(Event::RemoveNode),
        (0..5usize, prop::option::weighted(0.9, 0..3usize), 0..4usize, prop::bool::weighted(0.1))
            .prop_map(|(p, n, shape, ended)| Event::AddPod(p, n, shape, ended)),
        (0..5usize).prop_map(Event::RemovePod),
    ]
}

fn node_of(n: usize, image: usize) -> Node {
    let mut node = node(&format!("n{n}"), ["a", "b", ""][image]);
    node.images = vec![Image { names: vec![format!("image-{image}").into(), "image-0".into()], size: 1 }];
    node
}

fn pod_of(p: usize, n: Option<usize>, shape: usize, ended: bool) -> Pod {
    let mut pod = placed(&format!("p{p}"), "", "web");
    pod.node = n.map(|n| format!("n{n}").into());
    pod.ended = ended;
    pod.deleting = shape == 3;
    pod.labels = labels(&[("app", ["web", "db", "web", "db"][shape])]);
    pod.demand.containers = vec![container(&[("cpu", "100m"), ("example.com/gpu", ["0", "1", "2", "3"][shape])])];
    if shape > 0 {
        pod.host_ports = vec![host_port("", 80), host_port("10.0.0.1", 80 + i32::try_from(shape).unwrap())];
    }
    match shape {
        1 => pod.required_anti_affinity = vec![term("zone", "web")],
        2 => pod.required_affinity = vec![term("zone", "web")],
        _ => {}
    }
    pod
}

proptest! {
    /// Whatever the order of events, the table equals one built from what is left in the end.
    #[test]
    fn events_in_any_order_end_in_the_state_of_a_rebuild(events in prop::collection::vec(event(), 0..60)) {
        let mut table = NodeTable::new();
        let mut nodes: BTreeMap<usize, Node> = BTreeMap::new();
        let mut pods: BTreeMap<usize, Pod> = BTreeMap::new();
        for event in events {
            match event {
                Event::SetNode(n, image) => {
                    nodes.insert(n, node_of(n, image));
                    let index = table.set_node(node_of(n, image));
                    prop_assert_eq!(&*table.get(index).unwrap().node().name, format!("n{n}"));
                }
                Event::RemoveNode(n) => {
                    prop_assert_eq!(table.remove_node(&format!("n{n}")), nodes.remove(&n).is_some());
                }
                Event::AddPod(p, n, shape, ended) => {
                    let pod = pod_of(p, n, shape, ended);
                    pods.insert(p, pod.clone());
                    table.add_pod(Arc::new(pod));
                }
                Event::RemovePod(p) => {
                    pods.remove(&p);
                    table.remove_pod(&ObjectKey::new("default", format!("p{p}")));
                }
            }
        }
        let mut rebuilt = NodeTable::new();
        for node in nodes.into_values() {
            rebuilt.set_node(node);
        }
        for pod in pods.into_values() {
            rebuilt.add_pod(Arc::new(pod));
        }
        prop_assert_eq!(state(&table), state(&rebuilt));
        prop_assert_eq!(table.iter().count(), table.len());
        prop_assert_eq!(&table.waiting, &rebuilt.waiting);
    }
}

#[test]
fn a_slot_is_used_again() {
    let mut table = NodeTable::new();
    let (first, second) = (table.set_node(node("a", "z")), table.set_node(node("b", "z")));
    assert!(table.remove_node("a"));
    assert!(table.get(first).is_none());
    assert_eq!(table.set_node(node("c", "z")), first);
    assert_eq!(table.set_node(node("b", "y")), second);
    assert_eq!(table.capacity(), 2);
}

#[test]
fn an_older_event_changes_nothing() {
    let mut table = NodeTable::new();
    table.set_node(Node { version: 5, ..node("a", "new") });
    table.set_node(Node { version: 4, ..node("a", "old") });
    assert_eq!(table.by_name("a").unwrap().node().version, 5);
    table.add_pod(Arc::new(Pod { version: 9, ..placed("p", "a", "new") }));
    table.add_pod(Arc::new(Pod { version: 8, ..placed("p", "a", "old") }));
    assert_eq!(table.pod(&ObjectKey::new("default", "p")).unwrap().version, 9);
    // Another pod of the same name is not an older state of it.
    table.add_pod(Arc::new(Pod { version: 3, uid: "other".into(), ..placed("p", "a", "other") }));
    assert_eq!(table.pod(&ObjectKey::new("default", "p")).unwrap().version, 3);
}

#[test]
fn one_namespace_is_found_among_others() {
    let mut table = NodeTable::new();
    table.set_node(node("a", "z"));
    for (namespace, pod_name) in [("b", "2"), ("a", "1"), ("b", "1"), ("c", "1")] {
        let key = ObjectKey::new(namespace, pod_name);
        table.add_pod(Arc::new(Pod { key, ..placed("", "a", "web") }));
    }
    let row = table.by_name("a").unwrap();
    let found: Vec<String> = row.pods_in("b").iter().map(|p| p.pod().key.to_string()).collect();
    assert_eq!(found, ["b/1", "b/2"]);
    assert!(row.pods_in("bb").is_empty());
}

/// A port that two pods hold stays taken until both are gone.
#[test]
fn ports_are_counted() {
    let mut table = NodeTable::new();
    table.set_node(node("a", "z"));
    for p in ["p", "q"] {
        table.add_pod(Arc::new(Pod { host_ports: vec![host_port("", 80)], ..placed(p, "a", "web") }));
    }
    table.remove_pod(&ObjectKey::new("default", "p"));
    assert!(table.by_name("a").unwrap().ports().conflicts(&host_port("10.0.0.1", 80)));
    table.remove_pod(&ObjectKey::new("default", "q"));
    assert!(table.by_name("a").unwrap().ports().is_empty());
}

fn with(demand: PodDemand) -> Pod {
    Pod { demand, labels: labels(&[]), ..pod("p") }
}

/// Init containers run beside the sidecars started before them; the largest moment counts.
#[test]
fn the_peak_over_a_pods_life_is_asked_for() {
    let sidecar = |cpu| Container { sidecar: true, ..container(&[("cpu", cpu)]) };
    let demand = PodDemand {
        init_containers: vec![container(&[("cpu", "3")]), sidecar("1"), container(&[("cpu", "2500m")]), sidecar("1")],
        containers: vec![container(&[("cpu", "1"), ("memory", "1Gi")])],
        overhead: Some(requests(&[("cpu", "250m"), ("memory", "1Mi")])),
        ..PodDemand::default()
    };
    let asked = asked(&with(demand));
    // 2500m beside the first sidecar is more than 3 alone and than everything running: 1 + 1 + 1.
    assert_eq!((asked.cpu_milli, asked.memory), (3750, (1 << 30) + (1 << 20)));
}

#[test]
fn up_11_pod_level_requests_replace_cpu_memory_and_hugepages_and_overhead_is_added_after() {
    let demand = PodDemand {
        containers: vec![container(&[
            ("cpu", "3"),
            ("memory", "1Gi"),
            ("ephemeral-storage", "1Gi"),
            ("example.com/gpu", "1"),
            ("hugepages-2Mi", "4Mi"),
        ])],
        pod_level: Some(requests(&[
            ("cpu", "1"),
            ("hugepages-2Mi", "8Mi"),
            ("ephemeral-storage", "9Gi"),
            ("example.com/gpu", "9"),
        ])),
        overhead: Some(requests(&[("cpu", "100m")])),
        ..PodDemand::default()
    };
    let asked = asked(&with(demand));
    assert_eq!((asked.cpu_milli, asked.memory, asked.ephemeral_storage), (1100, 1 << 30, 1 << 30));
    assert_eq!((asked.scalar("hugepages-2Mi"), asked.scalar("example.com/gpu")), (8 << 20, 1));
}

#[test]
fn up_12_a_running_pod_counts_as_the_maximum_of_spec_allocated_and_actual() {
    let running = Container {
        allocated: Some(requests(&[("cpu", "2"), ("memory", "1Gi")])),
        actual: Some(requests(&[("cpu", "1"), ("memory", "2Gi")])),
        ..container(&[("cpu", "3"), ("memory", "1Gi")])
    };
    let mut demand = PodDemand { containers: vec![running], ..PodDemand::default() };
    let held = |demand: &PodDemand| {
        let held = Held::by(&with(demand.clone()));
        (held.resources.cpu_milli, held.resources.memory)
    };
    assert_eq!(held(&demand), (3000, 2 << 30));
    // A spec that the node called infeasible will not come true.
    demand.resize_infeasible = true;
    assert_eq!(held(&demand), (2000, 2 << 30));
    // What the status says of the pod as a whole goes before what it says of containers.
    let (allocated, actual) = (Some(requests(&[("cpu", "5")])), Some(requests(&[("cpu", "4")])));
    demand.status_pod_level = Some(PodLevelStatus { allocated, actual });
    assert_eq!(held(&demand), (5000, 0));
    // To be placed, the same pod asks for its spec.
    assert_eq!(asked(&with(demand)).cpu_milli, 3000);
}

/// For scores a container that names no request counts for a little; one that names zero does not.
#[test]
fn scores_count_a_minimum_for_containers_without_requests() {
    let held = |containers: Vec<Container>, pod_level: Option<&[(&str, &str)]>| {
        let pod_level = pod_level.map(requests);
        let held = Held::by(&with(PodDemand { containers, pod_level, ..PodDemand::default() }));
        (held.score_cpu_milli, held.score_memory)
    };
    assert_eq!(
        held(vec![container(&[]), container(&[("cpu", "0"), ("memory", "1Ki")])], None),
        (100, (200 << 20) + 1024)
    );
    assert_eq!(held(vec![container(&[]), container(&[])], Some(&[("cpu", "1")])), (1000, 400 << 20));
}

#[test]
fn up_10_a_host_address_of_two_colons_is_not_a_wildcard() {
    let taken = |ip: &str, wanted: &str| {
        let mut ports = UsedPorts::default();
        ports.take(&host_port(ip, 80));
        ports.conflicts(&host_port(wanted, 80))
    };
    for wildcard in ["", "0.0.0.0"] {
        assert!(taken(wildcard, "10.0.0.1") && taken("10.0.0.1", wildcard) && taken("::", wildcard));
    }
    assert!(!taken("::", "10.0.0.1") && !taken("10.0.0.1", "::") && taken("::", "::"));
}
