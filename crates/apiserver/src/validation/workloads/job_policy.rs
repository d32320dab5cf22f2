//! When a job has failed, and when it has succeeded.

use std::collections::BTreeSet;

use serde_json::Value;

use super::indexes;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};
use crate::validation::shown::go_json;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const STATUSES: &[&str] = &["False", "True", "Unknown"];

/// `valid values: ["In" "NotIn"]`.
fn valid(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("valid values: [{}]", words.join(" "))
}

/// Rules about pods that fail.
pub fn failure(out: &mut Found, spec: &Value, path: &Path) {
    let rules = list(get(spec, "podFailurePolicy"), "rules");
    let path = path.child("rules");
    if rules.len() > 20 {
        out.too_many(&path, rules.len(), 20);
    }
    let pod = get(get(spec, "template"), "spec");
    let containers: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|kind| list(pod, kind))
        .map(|container| text(container, "name"))
        .collect();
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        let field = path.child("action");
        match text(rule, "action") {
            "" => out.required(&field, valid(ACTIONS)),
            "FailIndex" => {
                if !has(spec, "backoffLimitPerIndex") {
                    out.invalid(&field, "FailIndex", "requires the backoffLimitPerIndex to be set");
                }
            }
            action => out.one_of(&field, action, ACTIONS),
        }
        let (codes, conditions) = (get(rule, "onExitCodes"), list(rule, "onPodConditions"));
        if !codes.is_null() {
            exit_codes(out, codes, &containers, &path.child("onExitCodes"));
        }
        pod_conditions(out, conditions, &path.child("onPodConditions"));
        match (codes.is_null(), conditions.is_empty()) {
            (false, false) => {
                out.invalid_omitted(&path, "specifying both OnExitCodes and OnPodConditions is not supported");
            }
            (true, true) => {
                out.invalid_omitted(&path, "specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn pod_conditions(out: &mut Found, conditions: &[Value], path: &Path) {
    if conditions.len() > 20 {
        out.too_many(path, conditions.len(), 20);
    }
    for (i, pattern) in conditions.iter().enumerate() {
        let path = path.index(i);
        let kind = text(pattern, "type");
        out.said(&path.child("type"), kind, names::is_qualified_name(kind));
        match text(pattern, "status") {
            "" => out.required(&path.child("status"), valid(STATUSES)),
            status => out.one_of(&path.child("status"), status, STATUSES),
        }
    }
}

fn exit_codes(out: &mut Found, codes: &Value, containers: &BTreeSet<&str>, path: &Path) {
    let operator = text(codes, "operator");
    match operator {
        "" => out.required(&path.child("operator"), valid(OPERATORS)),
        operator => out.one_of(&path.child("operator"), operator, OPERATORS),
    }
    if let Some(name) = get(codes, "containerName").as_str().filter(|name| !containers.contains(name)) {
        let said = "must be one of the container or initContainer names in the pod template";
        out.invalid(&path.child("containerName"), name, said);
    }
    let (values, path) = (list(codes, "values"), path.child("values"));
    if values.is_empty() {
        out.invalid_shown(&path, go_json(get(codes, "values")), "at least one value is required");
    } else if values.len() > 255 {
        out.too_many(&path, values.len(), 255);
    }
    let numbers: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
    let mut seen = BTreeSet::new();
    for (i, code) in numbers.iter().enumerate() {
        if operator == "In" && *code == 0 {
            out.invalid(&path.index(i), *code, "must not be 0 for the In operator");
        }
        if !seen.insert(*code) {
            out.duplicate(&path.index(i), *code);
        }
    }
    if !numbers.is_sorted() {
        out.invalid_shown(&path, go_json(get(codes, "values")), "must be ordered");
    }
}

/// Rules about indexes that are enough.
pub fn success(out: &mut Found, spec: &Value, path: &Path) {
    let rules = list(get(spec, "successPolicy"), "rules");
    let path = path.child("rules");
    if rules.is_empty() {
        out.required(&path, "at least one rules must be specified when the successPolicy is specified");
    }
    if rules.len() > 20 {
        out.too_many(&path, rules.len(), 20);
    }
    // Upstream needs the number of completions here; without it there is another error already.
    let Some(completions) = number(spec, "completions") else { return };
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        let (count, listed) = (number(rule, "succeededCount"), get(rule, "succeededIndexes").as_str());
        if count.is_none() && listed.is_none() {
            out.required(&path, "at least one of succeededCount or succeededIndexes must be specified");
        }
        let mut total = 0;
        if let Some(listed) = listed {
            let field = path.child("succeededIndexes");
            if listed.len() > 64 * 1024 {
                out.too_long(&field, 64 * 1024);
            }
            match indexes::count(listed, completions) {
                Ok(count) => total = count,
                Err(why) => out.invalid(&field, listed, format!("error parsing succeededIndexes: {why}")),
            }
        }
        if let Some(count) = count {
            let field = path.child("succeededCount");
            out.non_negative(&field, Some(count));
            if count > completions {
                let said = format!("must be less than or equal to {completions} (the number of specified completions)");
                out.invalid(&field, count, said);
            }
            if listed.is_some() && count > total {
                let said = format!(
                    "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
                );
                out.invalid(&field, count, said);
            }
        }
    }
}
