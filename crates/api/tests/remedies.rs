//! Remedies: what they say (cases as data), that what they name can be done, and that it is enough.
//!
//! A case is a file of `scenarios/remedies`: manifests with a pod `p`, below a comment that tells what it is about and,
//! after `# =>`, the remedies in order: `node | change | patch`. `UPDATE=1` writes what was found.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;
#[path = "common/patch.rs"]
mod patch;

use std::path::Path;

use common::{lines, read, shipped};
use plimsoll_api::{Cluster, Source};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::{Catalog, Event, Object, Remedy};
use serde_json::Value;

fn told(remedy: &Remedy) -> String {
    let patch = remedy.patch.as_ref().map_or_else(
        || "-".to_owned(),
        |p| {
            let namespace = p.namespace.as_ref().map(|n| format!("{n}/")).unwrap_or_default();
            let value = p.value.as_ref().map_or_else(|| "removed".to_owned(), |v| format!("= {v}"));
            format!("{} {namespace}{} {} {value}", p.kind, p.name, p.field)
        },
    );
    format!("# {} | {} | {patch}", remedy.node, remedy.change)
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/remedies");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 15, "only {} cases", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (head, rest) = text.split_once("# =>\n").unwrap_or(("", &text));
        let body = rest.lines().skip_while(|l| l.starts_with('#')).collect::<Vec<_>>().join("\n");
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let loaded = Cluster::read(&[Source { name: &name, text: &body }]).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let mut catalog = Catalog::new();
        for object in loaded.objects {
            catalog.apply(Event::Set(object));
        }
        let gates = if head.contains("as upstream would") { Gates::AS_UPSTREAM } else { Gates::all() };
        let explained = catalog.explain(&ObjectKey::new("default", "p"), gates).unwrap();
        let found: String = explained.remedies.iter().map(|r| told(r) + "\n").collect();
        let found = format!("{head}# =>\n{found}{body}\n");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &found).unwrap();
        } else if found.trim_end() != text.trim_end() {
            wrong.push(format!(
                "{name}:\n{}",
                found.lines().take_while(|l| l.starts_with('#')).collect::<Vec<_>>().join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ; found\n{}", wrong.len(), wrong.join("\n"));
}

/// Explains a cluster's pod, makes each edit that is named, and decides again from the start.
fn check_line(line: &Value, gates: Gates, told: &mut usize) -> Vec<String> {
    let (mut catalog, pod, _) = read(line);
    let id = &line["id"];
    let mut wrong = Vec::new();
    let before = catalog.decide(&pod, gates);
    let key = pod.key.clone();
    catalog.apply(Event::Set(Object::Pod(Box::new(pod.clone()))));
    let table = format!("{:?}", catalog.nodes());
    let remedies = catalog.explain(&key, gates).unwrap().remedies;
    if catalog.explain(&key, gates).unwrap().remedies != remedies || format!("{:?}", catalog.nodes()) != table {
        wrong.push(format!("{id}: explaining changed something"));
    }
    catalog.set_aside(&key);
    if catalog.decide(&pod, gates) != before {
        wrong.push(format!("{id}: after explaining, the decision is another"));
    }
    let fits = before.nodes.iter().any(|n| n.is_feasible());
    if remedies.len() > Remedy::AT_MOST || (fits && !remedies.is_empty()) {
        wrong.push(format!("{id}: {} remedies", remedies.len()));
    }
    for (at, remedy) in remedies.iter().enumerate() {
        if remedies[..at].iter().any(|r| r.change == remedy.change && r.patch == remedy.patch) {
            wrong.push(format!("{id}: told twice: {remedy:?}"));
        }
        let Some(patch) = &remedy.patch else { continue };
        *told += 1;
        let mut changed = line.clone();
        let mut objects = changed["objects"].as_array().unwrap().clone();
        patch::apply(patch, &mut objects);
        changed["objects"] = Value::Array(objects);
        let (catalog, pod, _) = read(&changed);
        let after = catalog.decide(&pod, gates);
        if !after.nodes.iter().any(|n| n.node == remedy.node && n.is_feasible()) {
            let node = after.nodes.iter().find(|n| n.node == remedy.node);
            wrong.push(format!("{id}: not enough: {remedy:?}: {:?}", node.map(|n| &n.refusals)));
        }
    }
    wrong
}

fn check(path: &Path) -> usize {
    let mut told = 0;
    let mut wrong = Vec::new();
    for line in &lines(path) {
        for gates in [Gates::all(), Gates::AS_UPSTREAM] {
            wrong.extend(check_line(line, gates, &mut told));
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{}: {} wrong\n{shown}", path.display(), wrong.len());
    told
}

#[test]
fn what_is_named_is_enough_volumes() {
    assert!(check(&shipped("volumes.jsonl.gz")) > 100);
}

#[test]
fn what_is_named_is_enough_general() {
    assert!(check(&shipped("general.jsonl.gz")) > 100);
}

#[test]
fn what_is_named_is_enough_workloads() {
    assert!(check(&shipped("workloads.jsonl.gz")) > 100);
}

#[test]
fn a_file_of_your_own() {
    if let Some(path) = std::env::var_os("CONFORMANCE") {
        check(Path::new(&path));
    }
}
