//! Parity: kube-scheduler's own verdicts, plans and scores of the conformance clusters, all filters together.
//!
//! `CONFORMANCE=FILE` (JSON lines, plain or `.gz`) checks another file instead, such as one that `e2e/oracle` answered.

mod common;

use std::path::Path;

use common::{differences, lines, read, shipped};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;

fn check(path: &Path, at_least: usize) {
    let mut wrong = Vec::new();
    let clusters = lines(path);
    assert!(clusters.len() >= at_least, "{}: only {} clusters", path.display(), clusters.len());
    for line in clusters.iter().filter(|line| line["unstable"] != true) {
        let (catalog, pod, capacities) = read(line);
        let decision = catalog.decide(&pod, Gates::AS_UPSTREAM);
        wrong.extend(differences(line, &decision, &capacities).into_iter().map(|d| d.text));
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
