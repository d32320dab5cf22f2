//! Pods without volumes, among others: what most decisions of a cluster are about.
//!
//! Nodes in nine zones have twenty images each. The pods on them belong to fifty workloads, told apart by one label; each
//! has an image, asks for cpu and memory and tolerates what the API server adds.

use plimsoll_engine::labels::{Labels, Name, ObjectKey};
use plimsoll_engine::model::{
    Container, Image, Node, Pod, PodDemand, PodImages, TaintEffect, Toleration, Workload, WorkloadKind,
};
use plimsoll_engine::selector::LabelSelector;
use plimsoll_engine::{Catalog, Event, Object};

const APPS: usize = 50;
const ZONES: usize = 9;
const IMAGES: usize = 20;

/// Whether a Service selects the pods of each workload, so that they are spread by default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Served,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Plain, Kind::Served];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Served => "served",
        }
    }
}

/// A cluster of nodes with pods spread over them.
pub fn cluster(kind: Kind, nodes: usize, pods: usize) -> Catalog {
    let mut catalog = Catalog::new();
    for i in 0..nodes {
        catalog.apply(Event::Set(Object::Node(node(i))));
    }
    if kind == Kind::Served {
        for app in 0..APPS {
            let (app, key) = (app_name(app), ObjectKey::new("default", format!("service-{app}")));
            let selector = Some(LabelSelector::from_labels(&[("app", &app)]));
            let service = Workload { kind: WorkloadKind::Service, key, version: 0, selector };
            catalog.apply(Event::Set(Object::Workload(service)));
        }
    }
    for i in 0..pods {
        // A stride that meets every node, so that a workload's pods are not all in one place.
        let node = (i * 7919) % nodes;
        let placed = Pod { node: Some(format!("node-{node}").into()), ..pod(i) };
        catalog.apply(Event::Set(Object::Pod(Box::new(placed))));
    }
    catalog
}

fn node(i: usize) -> Node {
    let (host, zone) = (format!("node-{i}"), format!("zone-{}", i % ZONES));
    let labels = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", &*host),
        ("kubernetes.io/os", "linux"),
        ("node.kubernetes.io/instance-type", "large"),
        ("topology.kubernetes.io/region", "region"),
        ("topology.kubernetes.io/zone", &*zone),
    ];
    let image = |at: usize| Image { names: vec![image_name((i + at) % APPS)], size: 300 << 20 };
    let mut node = Node { name: host.as_str().into(), labels: labels.into_iter().collect(), ..Node::default() };
    node.images = (0..IMAGES).map(image).collect();
    node.allocatable.pods = 110;
    node.allocatable.cpu_milli = 16_000;
    node.allocatable.memory = 64 << 30;
    node
}

/// The pod of a number, which is of one of the workloads.
pub fn pod(i: usize) -> Pod {
    let app = i % APPS;
    let requests = [("cpu", "250m"), ("memory", "512Mi")];
    let requests = requests.into_iter().map(|(name, amount)| (Name::from(name), amount.parse().unwrap())).collect();
    let containers = vec![Container { name: "main".into(), requests, ..Container::default() }];
    let tolerate = |key: &str| Toleration {
        key: key.into(),
        operator: "Exists".into(),
        value: Name::default(),
        effect: Some(TaintEffect::NoExecute),
    };
    let name = format!("pod-{i}");
    Pod {
        uid: name.as_str().into(),
        labels: Labels::from_iter([("app", app_name(app).as_str())]),
        demand: PodDemand { containers, ..PodDemand::default() },
        images: PodImages { main: vec![image_name(app)], ..PodImages::default() },
        tolerations: vec![tolerate("node.kubernetes.io/not-ready"), tolerate("node.kubernetes.io/unreachable")],
        ..Pod::named("default", &name)
    }
}

fn app_name(app: usize) -> String {
    format!("app-{app}")
}

fn image_name(app: usize) -> Name {
    format!("registry.example.com/team/app-{app}:v1.2.3").into()
}
