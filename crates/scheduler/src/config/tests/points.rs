//! Random plugin sets, and what kube-scheduler 1.37.1 makes of them: which plugins run where, in which order, with which weights.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde::Deserialize;

use super::super::document;
use super::super::plugins::{Point, run};
use super::super::schema::Findings;

/// Made by `e2e/oracle/points/main.go`, which has the command.
const RECORDED: &[u8] = include_bytes!("../../../../../conformance/points.jsonl.gz");

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Line {
    plugins: document::Plugins,
    error: String,
    points: BTreeMap<String, Vec<String>>,
    weights: BTreeMap<String, i64>,
}

/// What kube-scheduler starts with, and then fails by with every pod, or what cannot be had here.
const OURS: [&str; 2] = ["enable or disable both", "SchedulingGates cannot be disabled"];

#[test]
fn plugins_run_where_and_in_the_order_in_which_upstreams_run() {
    let (mut both, mut neither, mut ours) = (0, 0, 0);
    for text in BufReader::new(GzDecoder::new(RECORDED)).lines().map(Result::unwrap) {
        let mut line: Line = serde_json::from_str(&text).unwrap();
        let mut found = Findings::default();
        let running = run(&mut line.plugins, "plugins", &mut found);
        let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        if !line.error.is_empty() {
            assert!(!problems.is_empty(), "upstream says {}, ours takes it: {text}", line.error);
            neither += 1;
            continue;
        }
        let known = problems.iter().all(|problem| OURS.iter().any(|text| problem.contains(text)));
        assert!(known, "upstream takes it, ours says {problems:?}: {text}");
        both += usize::from(problems.is_empty());
        ours += usize::from(!problems.is_empty());
        for point in Point::ALL {
            let theirs = line.points.remove(point.name()).unwrap_or_default();
            assert_eq!(running.all_at(point), theirs, "{}: {text}", point.name());
        }
        let weights = running.all_at(Point::Score).iter().map(|name| (name.clone(), running.weight(name)));
        assert_eq!(weights.collect::<BTreeMap<_, _>>(), line.weights, "{text}");
    }
    assert!(both > 100 && neither > 100 && ours > 50, "{both} taken by both, {neither} by neither, {ours} by upstream");
}
