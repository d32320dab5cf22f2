//! With gates on, every difference from kube-scheduler's own answers carries the gate that made it, and nothing else does.
//!
//! `CONFORMANCE=FILE` (JSON lines, plain or `.gz`) checks another file too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{Place, differences, lines, read, shipped};
use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::{Decision, Event, Explanation, NodeDecision, Object};
use serde_json::Value;

/// Explains a line's pod and says what is wrong with the gates that are named.
fn check_line(line: &Value, gates: Gates, seen: &mut BTreeSet<Gate>) -> Vec<String> {
    let (mut catalog, pod, capacities) = read(line);
    let key = pod.key.clone();
    catalog.apply(Event::Set(Object::Pod(Box::new(pod))));
    let explained = catalog.explain(&key, gates).unwrap();
    let upstream = catalog.explain(&key, Gates::AS_UPSTREAM).unwrap();
    let mut wrong = Vec::new();
    if !differences(line, &upstream.decision, &capacities).is_empty() {
        // Not a gate's doing: `decisions` is the test that tells of it.
        return wrong;
    }
    for difference in differences(line, &explained.decision, &capacities) {
        let named = match difference.place {
            Place::Pod => explained.rejection_deviation.is_some(),
            Place::Node(at) => !explained.nodes[at].is_empty(),
            Place::Choice => {
                explained.rejection_deviation.is_some() || explained.nodes.iter().any(|n| !n.gates.is_empty())
            }
        };
        if !named {
            wrong.push(format!("no gate named: {}", difference.text));
        }
    }
    let id = &line["id"];
    if !upstream.nodes.iter().all(|n| n.is_empty()) || upstream.rejection_deviation.is_some() {
        wrong.push(format!("{id}: as upstream, and yet a deviation"));
    }
    wrong.extend(without_a_cause(&explained, &upstream.decision).into_iter().map(|text| format!("{id}: {text}")));
    let named = explained.nodes.iter().flat_map(|n| n.gates.iter().chain(n.refusals.iter().flatten()));
    let named: Vec<Gate> = named.chain(&explained.rejection_deviation).copied().collect();
    wrong.extend(named.iter().filter(|g| !gates.on(**g)).map(|g| format!("{id}: {g:?} is off")));
    seen.extend(named);
    wrong
}

/// Gates that are named where there is no difference.
fn without_a_cause(explained: &Explanation, upstream: &Decision) -> Vec<String> {
    let mut wrong = Vec::new();
    let decision = &explained.decision;
    let reason = |d: &Decision| d.rejection.as_ref().map(|r| (r.plugin, r.reason.clone()));
    if explained.rejection_deviation.is_some() != (reason(decision) != reason(upstream)) {
        wrong.push(format!("rejection: {:?} named", explained.rejection_deviation));
    }
    assert_eq!(decision.nodes.len(), explained.nodes.len());
    if upstream.rejection.is_some() {
        // Upstream looks at no node, so that every node is a difference.
        wrong.extend(explained.nodes.iter().filter(|n| n.gates.is_empty()).map(|n| format!("not named: {n:?}")));
        return wrong;
    }
    for (at, (ours, named)) in decision.nodes.iter().zip(&explained.nodes).enumerate() {
        let Some(theirs) = upstream.nodes.get(at) else { continue };
        assert_eq!(ours.refusals.len(), named.refusals.len());
        for (refusal, gate) in ours.refusals.iter().zip(&named.refusals) {
            let known = theirs.refusals.iter().any(|r| r.plugin == refusal.plugin && r.reason == refusal.reason);
            if known == gate.is_some() {
                wrong.push(format!("{}: {gate:?} named for {refusal:?}", ours.node));
            }
        }
        let gone =
            theirs.refusals.iter().any(|t| !ours.refusals.iter().any(|r| r.plugin == t.plugin && r.reason == t.reason));
        let differs = gone
            || ours.is_feasible() != theirs.is_feasible()
            || plan(ours) != plan(theirs)
            || ours.scores != theirs.scores;
        if differs == named.gates.is_empty() {
            wrong.push(format!(
                "{}: {:?} named, and it {}",
                ours.node,
                named.gates,
                if differs { "differs" } else { "is the same" }
            ));
        }
    }
    wrong
}

fn plan(node: &NodeDecision) -> Vec<String> {
    node.plan.claims.iter().map(|c| format!("{} {:?} {:?}", c.claim, c.outcome, c.volume)).collect()
}

/// Checks a file with all gates on, and with each of them alone. Returns the gates that were named with all on.
fn check(path: &Path) -> BTreeSet<Gate> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for line in lines(path).iter().filter(|line| line["unstable"] != true) {
        wrong.extend(check_line(line, Gates::all(), &mut seen));
        for gate in Gate::ALL {
            wrong.extend(check_line(line, Gates::AS_UPSTREAM.with(gate, true), &mut BTreeSet::new()));
        }
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{}: {} wrong\n{shown}", path.display(), wrong.len());
    seen
}

#[test]
fn volumes() {
    assert!(check(&shipped("volumes.jsonl.gz")).len() > 3, "too few gates make a difference for the test to mean much");
}

#[test]
fn general() {
    assert!(check(&shipped("general.jsonl.gz")).is_empty(), "no pod here has a volume that a gate is about");
}

#[test]
fn workloads() {
    assert!(check(&shipped("workloads.jsonl.gz")).contains(&Gate::EphemeralForecast));
}

#[test]
fn scores() {
    assert!(check(&shipped("scores.jsonl.gz")).contains(&Gate::ClosestFitScoring));
}

#[test]
fn a_file_of_your_own() {
    if let Some(path) = std::env::var_os("CONFORMANCE") {
        check(Path::new(&path));
    }
}
