//! The conformance clusters: reading them, and finding where a decision differs from kube-scheduler's own answer.

#![allow(dead_code, reason = "each test file uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a line that cannot be read fails the test")]

pub mod profile;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use plimsoll_api::Interner;
use plimsoll_api::document::DocumentKind;
use plimsoll_engine::model::Pod;
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::volumes::Outcome;
use plimsoll_engine::{Catalog, Decision, Event, NodeDecision, Object};
use serde_json::Value;

/// A difference between a decision and kube-scheduler's.
#[derive(Debug)]
pub struct Difference {
    /// What differs.
    pub place: Place,
    /// Both sides in words.
    pub text: String,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The rejection of the pod as a whole.
    Pod,
    /// The verdict, plan or scores of the node at this index of the decision.
    Node(usize),
    /// The node chosen.
    Choice,
}

/// The cluster of a line, and the pod to place.
pub fn read(line: &Value) -> (Catalog, Pod, BTreeMap<String, i64>) {
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

/// Where a decision is not what the line expects.
pub fn differences(line: &Value, decision: &Decision, capacities: &BTreeMap<String, i64>) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(line, decision, capacities, &mut found);
    found
}

fn compare(line: &Value, decision: &Decision, capacities: &BTreeMap<String, i64>, found: &mut Vec<Difference>) {
    let id = line["id"].as_str().unwrap();
    let pod_differs = |text| Difference { place: Place::Pod, text };
    let expected = &line["expected"];
    let plugins = expected["plugins"].as_object().unwrap();
    let refused = |name: &str| plugins[name]["pod"]["ok"] == false;
    let order = |name: &String| Plugin::ALL.iter().position(|p| p.name() == name);
    let rejecting = plugins.keys().filter(|n| refused(n)).min_by_key(|n| order(n));
    match (rejecting, &decision.rejection) {
        (Some(name), Some(rejection)) => {
            let reason = plugins[name]["pod"]["reasons"][0].as_str().unwrap();
            if rejection.plugin.name() != name || rejection.reason != reason {
                found.push(pod_differs(format!("{id}: rejected by {name} ({reason}), ours: {rejection:?}")));
            }
            return;
        }
        (None, None) => {}
        (theirs, ours) => {
            found.push(pod_differs(format!("{id}: rejected by {theirs:?}, ours: {ours:?}")));
            return;
        }
    }
    for (at, node) in decision.nodes.iter().enumerate() {
        let mut wrong = Vec::new();
        for (plugin, verdicts) in plugins {
            compare_verdict(id, node, plugin, verdicts, &mut wrong);
        }
        compare_plan(id, node, expected, capacities, &mut wrong);
        compare_scores(id, node, expected, &mut wrong);
        found.extend(wrong.into_iter().map(|text| Difference { place: Place::Node(at), text }));
    }
    found.extend(compare_choice(id, decision, expected).map(|text| Difference { place: Place::Choice, text }));
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

fn compare_choice(id: &str, decision: &Decision, expected: &Value) -> Option<String> {
    let totals = expected["totals"].as_object()?;
    let best = totals.values().filter_map(Value::as_i64).max();
    let ours = decision.chosen.as_deref().and_then(|n| totals.get(n)).and_then(Value::as_i64);
    (best != ours).then(|| format!("{id}: chose {:?}, which is not among the best", decision.chosen))
}

/// The lines of a file, plain or `.gz`.
pub fn lines(path: &Path) -> Vec<Value> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let reader: Box<dyn BufRead> = if path.extension().is_some_and(|e| e == "gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    reader.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// A file that the repository holds.
pub fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name)
}
