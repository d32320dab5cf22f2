//! Parity: kube-scheduler's own verdicts, plans and scores of the conformance clusters, all filters together.
//!
//! `CONFORMANCE=FILE` (JSON lines, plain or `.gz`) checks another file instead, such as one that `e2e/oracle` answered.

mod common;

use std::path::Path;

use common::profile::rules;
use common::{differences, lines, read, shipped};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use serde_json::Value;

/// Compares every stable cluster of a file with upstream's answer, and returns in how many of them upstream scored nodes:
/// there our node was among its best, both where everything is said of every node and where only the choice is made.
fn check(path: &Path, at_least: usize) -> usize {
    let mut wrong = Vec::new();
    let clusters = lines(path);
    assert!(clusters.len() >= at_least, "{}: only {} clusters", path.display(), clusters.len());
    let mut scored = 0;
    for line in clusters.iter().filter(|line| line["unstable"] != true) {
        let (catalog, pod, capacities) = read(line);
        let rules = rules(line);
        let decision = catalog.decide_by(&pod, &rules);
        wrong.extend(differences(line, &decision, &capacities).into_iter().map(|d| d.text));
        let chosen = catalog.choose_by(&pod, &rules, &[]).ok().flatten().map(|choice| choice.node);
        if chosen != decision.chosen {
            wrong.push(format!("{}: chose {chosen:?}, decided for {:?}", line["id"], decision.chosen));
        }
        let best = best(line);
        scored += usize::from(!best.is_empty());
        if !best.is_empty() && !chosen.as_deref().is_some_and(|node| best.contains(&node)) {
            wrong.push(format!("{}: chose {chosen:?}, upstream one of {best:?}", line["id"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {} differences in {} clusters\n{}",
        path.display(),
        wrong.len(),
        clusters.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
    scored
}

/// The nodes of the highest total, among which kube-scheduler takes one at random; none where it scores nothing.
fn best(line: &Value) -> Vec<&str> {
    let Some(totals) = line["expected"]["totals"].as_object() else { return Vec::new() };
    let highest = totals.values().filter_map(Value::as_i64).max();
    totals.iter().filter(|(_, total)| total.as_i64() == highest).map(|(node, _)| node.as_str()).collect()
}

#[test]
fn volumes() {
    check(&shipped("volumes.jsonl.gz"), 600);
}

#[test]
fn general() {
    check(&shipped("general.jsonl.gz"), 300);
}

#[test]
fn workloads() {
    check(&shipped("workloads.jsonl.gz"), 400);
}

/// In the other files kube-scheduler scored nothing.
#[test]
fn scores_and_on_each_of_the_285_scored_clusters_our_node_is_one_of_upstreams_best() {
    assert_eq!(check(&shipped("scores.jsonl.gz"), 300), 285);
}

/// Upstream's plugins under other profiles: every argument, other weights, plugins turned off, its gates turned off.
#[test]
fn profiles_and_on_each_of_the_421_scored_clusters_our_node_is_one_of_upstreams_best() {
    assert_eq!(check(&shipped("profiles.jsonl.gz"), 460), 421);
}

/// Pods that need features, on nodes that declare some.
#[test]
fn features() {
    let path = shipped("features.jsonl.gz");
    check(&path, 120);
    let said = |line: &Value, ok: bool| {
        let nodes = line["expected"]["plugins"]["NodeDeclaredFeatures"]["nodes"].as_object().unwrap().clone();
        nodes.values().any(|verdict| verdict["ok"] == ok)
    };
    let mixed = lines(&path).iter().filter(|line| said(line, true) && said(line, false)).count();
    assert!(mixed >= 40, "only {mixed} clusters in which the features decide between nodes");
}

/// Otherwise the test of the profiles would prove nothing of the arguments.
#[test]
fn each_of_those_profiles_makes_a_difference() {
    for line in lines(&shipped("profiles.jsonl.gz")) {
        let (catalog, pod, capacities) = read(&line);
        let decision = catalog.decide(&pod, Gates::AS_UPSTREAM);
        assert!(!differences(&line, &decision, &capacities).is_empty(), "{}", line["id"]);
    }
}

#[test]
fn a_file_of_your_own() {
    if let Some(path) = std::env::var_os("CONFORMANCE") {
        check(Path::new(&path), 1);
    }
}

/// The judged pod is found by its key.
#[test]
fn keys_read_as_in_the_files() {
    assert_eq!(ObjectKey::new("default", "p").to_string(), "default/p");
}
