//! Builders for tests: a node or pod with nothing special about it, to which a test adds what it is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::filters::NodeFilters;
use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{
    Container, Features, HostPort, Namespace, Node, Pod, PodDemand, PodImages, PodTerm, Requests, Resources,
    SpreadConstraint,
};
use crate::nodes::{NodeIndex, NodeTable};
use crate::reason::{Plugin, Refusal};
use crate::rules::Rules;
use crate::scores::NodeScores;
use crate::selector::LabelSelector;
use crate::view::{ClusterView, Workloads};

pub(crate) fn name(text: &str) -> Name {
    Name::from(text)
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

pub(crate) fn requests(amounts: &[(&str, &str)]) -> Requests {
    amounts.iter().map(|(resource, amount)| (name(resource), amount.parse().unwrap())).collect()
}

/// A node in a zone, with 4 cpu, 8Gi of memory and room for 10 pods.
pub(crate) fn node(node: &str, zone: &str) -> Node {
    Node {
        name: name(node),
        labels: labels(&[("kubernetes.io/hostname", node), ("topology.kubernetes.io/zone", zone)]),
        allocatable: Resources { cpu_milli: 4000, memory: 8 << 30, pods: 10, ..Resources::default() },
        ..Node::default()
    }
}

/// A pod of the namespace `default` that asks for nothing.
pub(crate) fn pod(pod: &str) -> Pod {
    Pod {
        key: ObjectKey::new("default", pod),
        uid: name(pod),
        version: 0,
        labels: Labels::default(),
        controller: None,
        deleting: false,
        preempted: false,
        node: None,
        nominated_node: None,
        ended: false,
        scheduler: Name::from("default-scheduler"),
        preempts: true,
        started: None,
        undecided: None,
        priority: 0,
        gated: false,
        demand: PodDemand { containers: vec![Container::default()], ..PodDemand::default() },
        images: PodImages::default(),
        host_ports: Vec::new(),
        tolerations: Vec::new(),
        node_selector: Labels::default(),
        required_node_affinity: None,
        preferred_node_affinity: Vec::new(),
        required_affinity: Vec::new(),
        required_anti_affinity: Vec::new(),
        preferred_affinity: Vec::new(),
        preferred_anti_affinity: Vec::new(),
        spread: Vec::new(),
        volumes: Vec::new(),
        features: Features::default(),
    }
}

/// A pod on a node with the label `app`.
pub(crate) fn placed(pod_name: &str, node: &str, app: &str) -> Pod {
    Pod { node: Some(name(node)), labels: labels(&[("app", app)]), ..pod(pod_name) }
}

pub(crate) fn container(amounts: &[(&str, &str)]) -> Container {
    Container { requests: requests(amounts), ..Container::default() }
}

pub(crate) fn host_port(ip: &str, port: i32) -> HostPort {
    HostPort { ip: name(ip), protocol: name("TCP"), port }
}

/// A term that means pods with the label `app`.
pub(crate) fn term(topology_key: &str, app: &str) -> PodTerm {
    PodTerm {
        topology_key: name(topology_key),
        selector: Some(Ok(LabelSelector::from_labels(&[("app", app)]))),
        namespaces: Vec::new(),
        namespace_selector: None,
    }
}

/// A hard constraint over zones that counts pods with the label `app`.
pub(crate) fn spread(max_skew: i32, app: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: name("topology.kubernetes.io/zone"),
        hard: true,
        selector: Some(Ok(LabelSelector::from_labels(&[("app", app)]))),
        match_label_keys: Vec::new(),
        min_domains: None,
        honor_affinity: true,
        honor_taints: false,
    }
}

/// A cluster to judge pods in.
#[derive(Default)]
pub(crate) struct Cluster {
    pub(crate) nodes: NodeTable,
    pub(crate) namespaces: BTreeMap<Name, Namespace>,
    pub(crate) workloads: Workloads,
}

impl Cluster {
    pub(crate) fn new(nodes: impl IntoIterator<Item = Node>, pods: impl IntoIterator<Item = Pod>) -> Self {
        let mut cluster = Self::default();
        for node in nodes {
            cluster.nodes.set_node(node);
        }
        for pod in pods {
            cluster.nodes.add_pod(Arc::new(pod));
        }
        cluster
    }

    pub(crate) fn namespace(mut self, namespace: &str, pairs: &[(&str, &str)]) -> Self {
        let namespace = Namespace { name: name(namespace), version: 0, labels: labels(pairs) };
        self.namespaces.insert(namespace.name.clone(), namespace);
        self
    }

    pub(crate) fn view(&self) -> ClusterView<'_> {
        ClusterView { nodes: &self.nodes, namespaces: &self.namespaces, workloads: &self.workloads }
    }

    /// The nodes that a pod fits on, by name. Every no must have a reason, and every yes none.
    pub(crate) fn fitting(&self, pod: &Pod) -> Vec<String> {
        self.fitting_by(pod, &Rules::default())
    }

    /// As [`Cluster::fitting`], by a profile.
    pub(crate) fn fitting_by(&self, pod: &Pod, rules: &Rules) -> Vec<String> {
        let filters = NodeFilters::prepare(pod, &self.view(), rules);
        let rows = self.nodes.iter_by_name();
        rows.filter(|row| {
            let fits = filters.fits(row);
            let refusals = filters.pod_refusals().len() + filters.refusals(row).len();
            assert_eq!(fits, refusals == 0, "{}", row.node().name);
            fits
        })
        .map(|row| row.node().name.to_string())
        .collect()
    }

    /// The refusals of one node.
    pub(crate) fn refusals(&self, pod: &Pod, node: &str) -> Vec<Refusal> {
        self.refusals_by(pod, node, &Rules::default())
    }

    /// As [`Cluster::refusals`], by a profile.
    pub(crate) fn refusals_by(&self, pod: &Pod, node: &str, rules: &Rules) -> Vec<Refusal> {
        NodeFilters::prepare(pod, &self.view(), rules).refusals(self.nodes.by_name(node).unwrap())
    }

    /// A plugin's scores of all nodes, by name; `None` where it was skipped.
    pub(crate) fn scores(&self, pod: &Pod, plugin: Plugin) -> Option<Vec<i64>> {
        self.scores_by(pod, plugin, &Rules::default())
    }

    /// As [`Cluster::scores`], by a profile.
    pub(crate) fn scores_by(&self, pod: &Pod, plugin: Plugin, rules: &Rules) -> Option<Vec<i64>> {
        let feasible: Vec<NodeIndex> = self.nodes.iter_by_name().map(|row| row.index()).collect();
        let scores = NodeScores::compute(pod, &self.view(), &feasible, rules);
        scores.into_iter().find(|(p, _)| *p == plugin).map(|(_, scores)| scores)
    }
}
