//! Filters and scores that are not about volumes give kube-scheduler's own answers to the conformance clusters.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use plimsoll_api::Interner;
use plimsoll_api::document::DocumentKind;
use plimsoll_engine::Object;
use plimsoll_engine::filters::NodeFilters;
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{Namespace, Pod};
use plimsoll_engine::nodes::{NodeIndex, NodeRow, NodeTable};
use plimsoll_engine::reason::{Plugin, Refusal, Status};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::scores::NodeScores;
use plimsoll_engine::view::{ClusterView, Workloads};
use serde_json::Value;

const FILTERS: [Plugin; 8] = [
    Plugin::NodeName,
    Plugin::NodeUnschedulable,
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::NodePorts,
    Plugin::NodeResourcesFit,
    Plugin::PodTopologySpread,
    Plugin::InterPodAffinity,
];

#[derive(Default)]
struct Cluster {
    nodes: NodeTable,
    namespaces: BTreeMap<Name, Namespace>,
    workloads: Workloads,
}

impl Cluster {
    /// Reads a line's objects: the cluster, and the pod to place apart from it.
    fn read(line: &Value) -> (Self, Pod) {
        let mut cluster = Self::default();
        let mut judged = None;
        let mut names = Interner::new();
        for object in line["objects"].as_array().unwrap() {
            let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
            let document = DocumentKind::find(version, kind).unwrap().decode(object).unwrap();
            match document.to_engine(&mut names).unwrap() {
                Some(Object::Node(node)) => drop(cluster.nodes.set_node(node)),
                Some(Object::Pod(pod)) if line["pod"] == pod.key.to_string().as_str() => judged = Some(*pod),
                Some(Object::Pod(pod)) => cluster.nodes.add_pod(Arc::from(pod)),
                Some(Object::Namespace(namespace)) => {
                    cluster.namespaces.insert(namespace.name.clone(), namespace);
                }
                Some(Object::Workload(workload)) => cluster.workloads.set(workload),
                _ => {}
            }
        }
        (cluster, judged.unwrap())
    }

    fn view(&self) -> ClusterView<'_> {
        ClusterView { nodes: &self.nodes, namespaces: &self.namespaces, workloads: &self.workloads }
    }
}

fn lines(file: &str) -> impl Iterator<Item = Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(file);
    let opened = std::fs::File::open(path).unwrap();
    let reader: Box<dyn Read> = if file.ends_with(".gz") { Box::new(GzDecoder::new(opened)) } else { Box::new(opened) };
    BufReader::new(reader).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn texts(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn check_verdict(plugin: Plugin, expected: &Value, refusals: &[Refusal]) -> Result<(), String> {
    let ours: Vec<&Refusal> = refusals.iter().filter(|r| r.plugin == plugin).collect();
    let reasons: BTreeSet<String> = ours.iter().map(|r| r.reason.to_string()).collect();
    let code = ours.first().map(|r| match r.status {
        Status::Unschedulable => "Unschedulable",
        Status::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        Status::Error => "Error",
    });
    let same = if expected["ok"] == true {
        ours.is_empty()
    } else {
        code == expected["code"].as_str()
            && reasons == texts(&expected["reasons"])
            && ours.iter().all(|r| r.status == ours[0].status)
    };
    let detailed = ours.iter().all(|r| !r.detail.is_empty());
    if same && detailed { Ok(()) } else { Err(format!("{} expected {expected}, got {ours:?}", plugin.name())) }
}

fn check_filters(line: &Value) -> Vec<String> {
    let ((cluster, pod), rules) = (Cluster::read(line), Rules::new(Gates::AS_UPSTREAM));
    let filters = NodeFilters::prepare(&pod, &cluster.view(), &rules);
    let mut differences = Vec::new();
    let mut all_ok: BTreeMap<&str, bool> = cluster.nodes.iter().map(|row| (&*row.node().name, true)).collect();
    for plugin in FILTERS {
        let expected = &line["expected"]["plugins"][plugin.name()];
        assert!(expected.is_object(), "{} {}", line["id"], plugin.name());
        differences.extend(check_verdict(plugin, &expected["pod"], filters.pod_refusals()).err());
        let only = filters.narrowed().iter().find(|(p, _)| *p == plugin);
        let only: Option<BTreeSet<String>> = only.map(|(_, names)| names.iter().map(ToString::to_string).collect());
        let expected_only = expected["only"].is_array().then(|| texts(&expected["only"]));
        if only != expected_only {
            differences.push(format!("{} only {expected_only:?}, got {only:?}", plugin.name()));
        }
        if expected["pod"]["ok"] != true {
            all_ok.values_mut().for_each(|ok| *ok = false);
            continue;
        }
        for row in cluster.nodes.iter_by_name() {
            let verdict = &expected["nodes"][&*row.node().name];
            assert!(verdict.is_object(), "{} {} {}", line["id"], plugin.name(), row.node().name);
            let differs = check_verdict(plugin, verdict, &filters.refusals(row)).err();
            differences.extend(differs.map(|d| format!("{}: {d}", row.node().name)));
            let narrowed_away = expected_only.as_ref().is_some_and(|only| !only.contains(&*row.node().name));
            *all_ok.get_mut(&*row.node().name).unwrap() &= verdict["ok"] == true && !narrowed_away;
        }
    }
    for row in cluster.nodes.iter() {
        if filters.fits(row) != all_ok[&*row.node().name] {
            differences.push(format!("{}: fits says {}", row.node().name, filters.fits(row)));
        }
    }
    differences
}

fn check_scores(line: &Value) -> Vec<String> {
    let Some(expected) = line["expected"]["scores"].as_object() else { return Vec::new() };
    let ((cluster, pod), rules) = (Cluster::read(line), Rules::new(Gates::AS_UPSTREAM));
    let rows: Vec<&NodeRow> = expected.keys().map(|name| cluster.nodes.by_name(name).unwrap()).collect();
    let feasible: Vec<NodeIndex> = rows.iter().map(|row| row.index()).collect();
    let scores = NodeScores::compute(&pod, &cluster.view(), &feasible, &rules);
    let mut differences = Vec::new();
    for (at, (name, expected)) in expected.iter().enumerate() {
        let ours: BTreeMap<&str, i64> = scores.iter().map(|(plugin, scores)| (plugin.name(), scores[at])).collect();
        let theirs: BTreeMap<&str, i64> = expected
            .as_object()
            .unwrap()
            .iter()
            .filter(|(plugin, _)| *plugin != "VolumeBinding")
            .map(|(plugin, score)| (plugin.as_str(), score.as_i64().unwrap()))
            .collect();
        if ours != theirs {
            differences.push(format!("{name}: expected {theirs:?}, got {ours:?}"));
        }
    }
    differences
}

fn check(file: &str, clusters: usize) {
    assert_eq!(check_all(file), clusters);
}

fn check_all(file: &str) -> usize {
    let mut count = 0;
    let mut differences = Vec::new();
    for line in lines(file) {
        count += 1;
        let found = check_filters(&line).into_iter().chain(check_scores(&line));
        differences.extend(found.map(|difference| format!("{}: {difference}", line["id"])));
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences[..differences.len().min(20)].join("\n")
    );
    count
}

#[test]
fn volumes() {
    check("volumes.jsonl.gz", 600);
}

#[test]
fn general() {
    check("general.jsonl.gz", 300);
}

#[test]
fn workloads() {
    check("workloads.jsonl.gz", 400);
}

#[test]
fn scores() {
    check("scores.jsonl.gz", 300);
}

/// More clusters from the oracle (`e2e/oracle`), where `PLIMSOLL_CLUSTERS` names a file of them.
#[test]
fn more() {
    if let Some(file) = std::env::var_os("PLIMSOLL_CLUSTERS") {
        assert!(check_all(&file.to_string_lossy()) > 0);
    }
}
