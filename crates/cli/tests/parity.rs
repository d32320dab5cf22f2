//! kube-scheduler's own answers through the command itself: `explain --as-upstream -o json` on conformance clusters.
//!
//! The engine's own tests compare every cluster; here a part of them goes the whole way, from a dump on disk to the
//! JSON that scripts read. `PARITY=all` takes all.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::GzDecoder;
use plimsoll_engine::reason::Plugin;
use serde_json::{Value, json};
use support::{plimsoll, run};

/// How many clusters of each file are compared.
const CLUSTERS: usize = 50;

/// Enough to keep the processes' starts from adding up.
const THREADS: usize = 4;

fn clusters(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(file);
    let lines = BufReader::new(GzDecoder::new(std::fs::File::open(path).unwrap())).lines();
    let all: Vec<Value> = lines.map(|l| serde_json::from_str(&l.unwrap()).unwrap()).collect();
    let step = if std::env::var_os("PARITY").is_some_and(|p| p == "all") { 1 } else { all.len() / CLUSTERS };
    all.into_iter().step_by(step.max(1)).collect()
}

fn check(file: &str) {
    let clusters = clusters(file);
    assert!(clusters.len() >= CLUSTERS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parity-{file}"));
    std::fs::create_dir_all(&folder).unwrap();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(line) = clusters.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = compare(line, &folder);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} differences in {} clusters\n{}", wrong.len(), clusters.len(), wrong.join("\n"));
}

fn compare(line: &Value, folder: &Path) -> Vec<String> {
    let id = line["id"].as_str().unwrap();
    let dump = folder.join(format!("{id}.json"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": line["objects"]});
    std::fs::write(&dump, list.to_string()).unwrap();
    let pod = line["pod"].as_str().unwrap();
    let done = run(plimsoll().args(["explain", "--as-upstream", "-o", "json", pod, "-f"]).arg(&dump), b"");
    let Ok(ours) = serde_json::from_slice::<Value>(&done.stdout) else {
        return vec![format!("{id}: {}", String::from_utf8_lossy(&done.stderr))];
    };
    let expected_exit = if ours["schedulable"] == true { 0 } else { 3 };
    let mut wrong = Vec::new();
    if done.status.code() != Some(expected_exit) {
        wrong.push(format!("{id}: exit code {:?}", done.status.code()));
    }
    let plugins = line["expected"]["plugins"].as_object().unwrap();
    let order = |name: &&String| Plugin::ALL.iter().position(|p| p.name() == **name);
    let rejecting = plugins.keys().filter(|n| plugins[*n]["pod"]["ok"] == false).min_by_key(order);
    if let Some(plugin) = rejecting {
        let reason = &plugins[plugin]["pod"]["reasons"][0];
        if ours["rejection"]["plugin"] != plugin.as_str() || ours["rejection"]["reason"] != *reason {
            wrong.push(format!("{id}: rejected by {plugin} ({reason}), ours: {}", ours["rejection"]));
        }
        return wrong;
    }
    if !ours["rejection"].is_null() {
        wrong.push(format!("{id}: not rejected, ours: {}", ours["rejection"]));
        return wrong;
    }
    for node in ours["nodes"].as_array().unwrap() {
        for (plugin, verdicts) in plugins {
            wrong.extend(compare_verdicts(node, plugin, verdicts).map(|w| format!("{id}: {w}")));
        }
        wrong.extend(compare_plan(node, line).map(|w| format!("{id}: {w}")));
        wrong.extend(compare_scores(node, &line["expected"]).map(|w| format!("{id}: {w}")));
    }
    wrong
}

fn compare_verdicts(node: &Value, plugin: &str, verdicts: &Value) -> Option<String> {
    let name = node["name"].as_str().unwrap();
    let own = node["verdicts"].as_array().unwrap().iter().filter(|v| v["plugin"] == plugin);
    let mut ours: Vec<&str> = own.map(|v| v["reason"].as_str().unwrap()).collect();
    ours.sort_unstable();
    let only = verdicts["only"].as_array();
    if only.is_some_and(|only| only.iter().all(|n| n != name)) {
        return ours.is_empty().then(|| format!("{plugin} narrowed {name} away, ours accepts it"));
    }
    let theirs = &verdicts["nodes"][name];
    let reasons = theirs["reasons"].as_array().filter(|_| theirs["ok"] == false);
    let mut reasons: Vec<&str> = reasons.into_iter().flatten().map(|r| r.as_str().unwrap()).collect();
    reasons.sort_unstable();
    (reasons != ours).then(|| format!("{plugin} on {name}: {reasons:?}, ours: {ours:?}"))
}

fn compare_plan(node: &Value, line: &Value) -> Option<String> {
    let name = node["name"].as_str().unwrap();
    let theirs = line["expected"]["plans"].get(name)?.as_array()?;
    let volume = |name: &Value| {
        let objects = line["objects"].as_array().unwrap();
        let found = objects.iter().find(|o| o["kind"] == "PersistentVolume" && o["metadata"]["name"] == *name).unwrap();
        let text = found["spec"]["capacity"]["storage"].as_str().unwrap();
        plimsoll_engine::quantity::Quantity::parse(text).unwrap().value()
    };
    let mut expected: Vec<(String, i64)> = Vec::new();
    for entry in theirs {
        expected.push(match entry["outcome"].as_str() {
            Some("static") => (String::new(), entry["capacity"].as_i64().unwrap()),
            _ => (entry["claim"].as_str().unwrap().to_owned(), 0),
        });
    }
    let mut ours: Vec<(String, i64)> = Vec::new();
    for claim in node["claims"].as_array().unwrap() {
        match claim["outcome"].as_str() {
            Some("static") => ours.push((String::new(), volume(&claim["volume"]))),
            Some("provision") => ours.push((claim["name"].as_str().unwrap().to_owned(), 0)),
            _ => {}
        }
    }
    expected.sort_unstable();
    ours.sort_unstable();
    (expected != ours).then(|| format!("plan on {name}: {expected:?}, ours: {ours:?}"))
}

fn compare_scores(node: &Value, expected: &Value) -> Option<String> {
    let name = node["name"].as_str().unwrap();
    let theirs = expected["scores"].get(name)?.as_object()?;
    let ours = node["scores"].as_object().cloned().unwrap_or_default();
    let plain = |scores: &serde_json::Map<String, Value>| -> BTreeMap<String, i64> {
        scores.iter().map(|(k, v)| (k.clone(), v.as_i64().unwrap())).collect()
    };
    if plain(theirs) != plain(&ours) {
        return Some(format!("scores of {name}: {theirs:?}, ours: {ours:?}"));
    }
    let total = &expected["totals"][name];
    (*total != node["score"]).then(|| format!("total of {name}: {total}, ours: {}", node["score"]))
}

#[test]
fn volumes() {
    check("volumes.jsonl.gz");
}

#[test]
fn general() {
    check("general.jsonl.gz");
}

#[test]
fn workloads() {
    check("workloads.jsonl.gz");
}

#[test]
fn scores() {
    check("scores.jsonl.gz");
}
