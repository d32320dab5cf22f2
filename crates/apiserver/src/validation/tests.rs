//! Refusals of a real kube-apiserver 1.37.1, recorded, and asked of ours.

use serde_json::Value;

use super::{create, update, update_subresource};
use crate::kind::Kind;

/// Each line: a kind, an object, perhaps the one before and a subresource, and the causes that the real server gave, in order.
fn replay(data: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (i, line) in data.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let kind = Kind::new(text("group"), text("version"), text("kind"));
        let found = match (case.get("old"), text("subresource")) {
            (None, _) => create(kind, &case["new"]),
            (Some(old), "") => update(kind, &case["new"], old),
            (Some(old), subresource) => update_subresource(kind, subresource, &case["new"], old),
        };
        let shown = |cause: &Value| {
            format!("{} {}: {}", cause["reason"].as_str().unwrap(), cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap())
        };
        let expected: Vec<String> = case["causes"].as_array().unwrap().iter().map(shown).collect();
        let got: Vec<String> =
            found.iter().map(|e| format!("{} {}: {}", e.wrong.reason(), e.field, e.body())).collect();
        if expected != got {
            wrong.push(format!("line {} {}\n  real: {expected:#?}\n  ours: {got:#?}", i + 1, text("kind")));
        }
    }
    wrong
}

#[test]
fn workloads_are_refused_as_recorded() {
    let data = include_str!("../../tests/data/validation/workloads.jsonl");
    assert!(data.lines().count() >= 200, "the recording is cut short");
    let wrong = replay(data);
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), data.lines().count(), wrong.join("\n"));
}
