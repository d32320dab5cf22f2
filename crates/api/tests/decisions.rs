//! Parity: kube-scheduler's own verdicts, plans and scores of the conformance clusters, all filters together.
//!
//! `CONFORMANCE=FILE` (JSON lines, plain or `.gz`) checks another file instead, such as one that `e2e/oracle` answered.

#![allow(clippy::unwrap_used, reason = "a test: a file of another shape is a failure")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use plimsoll_api::Interner;
use plimsoll_api::document::DocumentKind;
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::volumes::Outcome;
use plimsoll_engine::{Catalog, Decision, Event, NodeDecision, Object};
use serde_json::Value;

/// The cluster of a line, and the pod to place.
fn read(line: &Value) -> (Catalog, Pod, BTreeMap<String, i64>) {
    let mut catalog = Catalog::new();
    let mut names = Interner::new();
    let mut judged = None;
    let mut capacities = BTreeMap::new();
    for object in line["objects"].as_array().unwrap() {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let document = DocumentKind::find(version, kind).unwrap().decode(object).unwrap();
        let Some(object) = document.to_engine(&mut names).unwrap() else { continue };
        if let Object::Volume(volume) = &object {
            capacities.insert(volume.name.to_string(), volume.capacity.value());
        }
        match object {
            Object::Pod(pod) if line["pod"] == pod.key.to_string().as_str() => judged = Some(*pod),
            object => drop(catalog.apply(Event::Set(object))),
        }
    }
    (catalog, judged.unwrap(), capacities)
}

fn names(decision: &NodeDecision, plugin: &str) -> Vec<String> {
    let own = decision.refusals.iter().filter(|r| r.plugin.name() == plugin);
    let mut reasons: Vec<String> = own.map(|r| r.reason.to_string()).collect();
    reasons.sort_unstable();
    reasons
}

fn compare(line: &Value, wrong: &mut Vec<String>) {
    let (catalog, pod, capacities) = read(line);
    let decision = catalog.decide(&pod, Gates::AS_UPSTREAM);
    let id = line["id"].as_str().unwrap();
    let expected = &line["expected"];
    let plugins = expected["plugins"].as_object().unwrap();
    let refused = |name: &str| plugins[name]["pod"]["ok"] == false;
    let order = |name: &String| Plugin::ALL.iter().position(|p| p.name() == name);
    let rejecting = plugins.keys().filter(|n| refused(n)).min_by_key(|n| order(n));
    match (rejecting, &decision.rejection) {
        (Some(name), Some(rejection)) => {
            let reason = plugins[name]["pod"]["reasons"][0].as_str().unwrap();
            if rejection.plugin.name() != name || rejection.reason != reason {
                wrong.push(format!("{id}: rejected by {name} ({reason}), ours: {rejection:?}"));
            }
            return;
        }
        (None, None) => {}
        (theirs, ours) => {
            wrong.push(format!("{id}: rejected by {theirs:?}, ours: {ours:?}"));
            return;
        }
    }
    for node in &decision.nodes {
        for (plugin, verdicts) in plugins {
            compare_verdict(id, node, plugin, verdicts, wrong);
        }
        compare_plan(id, node, expected, &capacities, wrong);
        compare_scores(id, node, expected, wrong);
    }
    compare_choice(id, &decision, expected, wrong);
}

fn compare_verdict(id: &str, node: &NodeDecision, plugin: &str, verdicts: &Value, wrong: &mut Vec<String>) {
    let ours = names(node, plugin);
    let name = &*node.node;
    if let Some(only) = verdicts["only"].as_array()
        && !only.iter().any(|n| n == name)
    {
        if ours.is_empty() {
            wrong.push(format!("{id}: {plugin} narrowed {name} away, ours accepts it"));
        }
        return;
    }
    let theirs = &verdicts["nodes"][name];
    let mut reasons: Vec<String> =
        theirs["reasons"].as_array().into_iter().flatten().map(|r| r.as_str().unwrap().to_owned()).collect();
    reasons.sort_unstable();
    let accepted = theirs["ok"] != false;
    if accepted != ours.is_empty() || (!accepted && reasons != ours) {
        wrong.push(format!("{id}: {plugin} on {name}: {reasons:?}, ours: {ours:?}"));
        return;
    }
    if let Some(code) = theirs["code"].as_str().filter(|_| !accepted) {
        let status = node.refusals.iter().find(|r| r.plugin.name() == plugin).map(|r| format!("{:?}", r.status));
        if status.as_deref() != Some(code) {
            wrong.push(format!("{id}: {plugin} on {name}: status {code}, ours: {status:?}"));
        }
    }
}

fn compare_plan(
    id: &str,
    node: &NodeDecision,
    expected: &Value,
    capacities: &BTreeMap<String, i64>,
    wrong: &mut Vec<String>,
) {
    let Some(theirs) = expected["plans"].get(&*node.node).and_then(Value::as_array) else { return };
    let mut static_sizes: Vec<i64> = Vec::new();
    let mut provisions: Vec<&str> = Vec::new();
    for entry in theirs {
        match entry["outcome"].as_str() {
            Some("static") => static_sizes.push(entry["capacity"].as_i64().unwrap()),
            _ => provisions.push(entry["claim"].as_str().unwrap()),
        }
    }
    let claims = &node.plan.claims;
    let chosen = claims.iter().filter(|c| c.outcome == Outcome::Static).filter_map(|c| c.volume.as_deref());
    let mut our_sizes: Vec<i64> = chosen.map(|v| capacities[v]).collect();
    let mut our_provisions: Vec<&str> =
        claims.iter().filter(|c| c.outcome == Outcome::Provision).map(|c| &*c.claim.name).collect();
    for list in [&mut static_sizes, &mut our_sizes] {
        list.sort_unstable();
    }
    for list in [&mut provisions, &mut our_provisions] {
        list.sort_unstable();
    }
    if static_sizes != our_sizes || provisions != our_provisions {
        wrong.push(format!(
            "{id}: plan on {}: static {static_sizes:?} provision {provisions:?}, ours: {our_sizes:?} {our_provisions:?}",
            node.node
        ));
    }
}

fn compare_scores(id: &str, node: &NodeDecision, expected: &Value, wrong: &mut Vec<String>) {
    let Some(theirs) = expected["scores"].get(&*node.node).and_then(Value::as_object) else { return };
    let Some(ours) = &node.scores else {
        wrong.push(format!("{id}: {} is scored, ours refuses it: {:?}", node.node, node.refusals));
        return;
    };
    let theirs: BTreeMap<&str, i64> = theirs.iter().map(|(k, v)| (k.as_str(), v.as_i64().unwrap())).collect();
    let ours: BTreeMap<&str, i64> = ours.iter().map(|(p, s)| (p.name(), *s)).collect();
    if theirs != ours {
        wrong.push(format!("{id}: scores of {}: {theirs:?}, ours: {ours:?}", node.node));
    }
    let total = expected["totals"][&*node.node].as_i64();
    if total != node.total {
        wrong.push(format!("{id}: total of {}: {total:?}, ours: {:?}", node.node, node.total));
    }
}

fn compare_choice(id: &str, decision: &Decision, expected: &Value, wrong: &mut Vec<String>) {
    let Some(totals) = expected["totals"].as_object() else { return };
    let best = totals.values().filter_map(Value::as_i64).max();
    let ours = decision.chosen.as_deref().and_then(|n| totals.get(n)).and_then(Value::as_i64);
    if best != ours {
        wrong.push(format!("{id}: chose {:?}, which is not among the best", decision.chosen));
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let reader: Box<dyn BufRead> = if path.extension().is_some_and(|e| e == "gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    reader.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn check(path: &Path, at_least: usize) {
    let mut wrong = Vec::new();
    let clusters = lines(path);
    assert!(clusters.len() >= at_least, "{}: only {} clusters", path.display(), clusters.len());
    for line in clusters.iter().filter(|line| line["unstable"] != true) {
        compare(line, &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "{}: {} differences in {} clusters\n{}",
        path.display(),
        wrong.len(),
        clusters.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name)
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

#[test]
fn scores() {
    check(&shipped("scores.jsonl.gz"), 300);
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
