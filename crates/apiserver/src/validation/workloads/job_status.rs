//! What may be said about a job's progress.
//!
//! Most rules are applied only where the fields that they are about have changed, so that what was odd before does not stand in the way.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{indexes, metadata};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, flag, get, has, list, number, same, text};

fn is_true(job: &Value, kind: &str) -> bool {
    holds(job, kind, "True")
}

fn holds(job: &Value, kind: &str, status: &str) -> bool {
    list(get(job, "status"), "conditions")
        .iter()
        .any(|condition| text(condition, "type") == kind && text(condition, "status") == status)
}

/// A job's status.
pub fn check(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, Some(old), names::name_is_dns_subdomain);
    let path = Path::new("status");
    let (status, before) = (get(new, "status"), get(old, "status"));
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        out.non_negative(&path.child(name), number(status, name));
    }
    uncounted(out, status, &path.child("uncountedTerminatedPods"));
    let conditions = path.child("conditions");
    let changed = |name: &str| !same(get(status, name), get(before, name));
    let turned = |kind: &str| is_true(new, kind) != is_true(old, kind);
    let finished = |job: &Value| is_true(job, "Complete") || is_true(job, "Failed");
    let (complete, failed, is_finished) = (is_true(new, "Complete"), is_true(new, "Failed"), finished(new));
    let (met, target) = (is_true(new, "SuccessCriteriaMet"), is_true(new, "FailureTarget"));
    let finish_turned = finished(old) != is_finished;
    let spec = get(new, "spec");
    let indexed = text(spec, "completionMode") == "Indexed";

    if (turned("Complete") || turned("Failed")) && complete && failed {
        out.invalid_omitted(&conditions, "cannot set Complete=True and Failed=true conditions");
    }
    if (turned("Complete") || turned("FailureTarget")) && complete && target {
        out.invalid_omitted(&conditions, "cannot set Complete=True and FailureTarget=true conditions");
    }
    times(out, status, turned("Complete"), complete, &changed, &path);
    if (turned("Failed") || changed("failedIndexes")) && failed && !target {
        let said = "cannot set Failed=True condition without the FailureTarget=true condition";
        out.invalid_omitted(&conditions, said);
    }
    if (turned("Complete") || turned("SuccessCriteriaMet")) && complete && !met {
        let said = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        out.invalid_omitted(&conditions, said);
    }
    let active = number(status, "active").unwrap_or_default();
    if (finish_turned || changed("active")) && active > 0 && is_finished {
        out.invalid(&path.child("active"), active, "active>0 is invalid for finished job");
    }
    let nothing_to_do = flag(spec, "suspend") && number(spec, "completions") == Some(0);
    if (finish_turned || changed("startTime")) && !nothing_to_do && is_finished && !has(status, "startTime") {
        out.required(&path.child("startTime"), "startTime is required for finished job");
    }
    let pods = get(status, "uncountedTerminatedPods");
    let any = has(pods, "failed") || has(pods, "succeeded");
    if (finish_turned || changed("uncountedTerminatedPods")) && is_finished && any {
        let shown = internal::shown("batch.UncountedTerminatedPods", pods);
        out.invalid_shown(&path.child("uncountedTerminatedPods"), shown, "must be empty for finished job");
    }
    index_lists(out, spec, status, indexed, &changed, &path);
    if let Some(count) = number(status, "terminating").filter(|count| *count > 0)
        && (finish_turned || changed("terminating"))
        && is_finished
    {
        out.invalid(&path.child("terminating"), count, "terminating>0 is invalid for finished job");
    }
    if let Some(ready) = number(status, "ready").filter(|ready| *ready > active)
        && (changed("ready") || changed("active"))
    {
        out.invalid(&path.child("ready"), ready, "cannot set more ready pods than active");
    }
    if met && failed {
        out.invalid_omitted(&conditions, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if met && target {
        out.invalid_omitted(&conditions, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    if has(spec, "successPolicy") && !met && complete {
        let said = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        out.invalid_omitted(&conditions, said);
    }
    history(out, new, old, indexed, &path);
    found.into_errors()
}

fn uncounted(out: &mut Found, status: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for kind in ["succeeded", "failed"] {
        for (i, uid) in list(get(status, "uncountedTerminatedPods"), kind).iter().enumerate() {
            let (uid, field) = (uid.as_str().unwrap_or_default(), path.child(kind).index(i));
            if uid.is_empty() {
                out.invalid(&field, uid, "must not be empty");
            } else if !seen.insert(uid) {
                out.duplicate(&field, uid);
            }
        }
    }
}

fn times(
    out: &mut Found,
    status: &Value,
    complete_turned: bool,
    complete: bool,
    changed: &impl Fn(&str) -> bool,
    path: &Path,
) {
    let (start, end) = (get(status, "startTime"), get(status, "completionTime"));
    let field = path.child("completionTime");
    if complete_turned || changed("completionTime") {
        if !end.is_null() && !complete {
            let said = "cannot set completionTime when there is no Complete=True condition";
            out.invalid(&field, end.clone(), said);
        }
        if end.is_null() && complete {
            out.required(&field, "completionTime is required for Complete jobs");
        }
    }
    // Canonical times are of one length and zone, so that their texts compare as they do.
    if (changed("startTime") || changed("completionTime"))
        && let (Some(start), Some(ended)) = (start.as_str(), end.as_str())
        && ended < start
    {
        out.invalid(&field, ended, "must be equal to or after `startTime`");
    }
}

fn index_lists(
    out: &mut Found,
    spec: &Value,
    status: &Value,
    indexed: bool,
    changed: &impl Fn(&str) -> bool,
    path: &Path,
) {
    let completions = number(spec, "completions");
    let (completed, failed) = (text(status, "completedIndexes"), get(status, "failedIndexes").as_str());
    let (completed_path, failed_path) = (path.child("completedIndexes"), path.child("failedIndexes"));
    let limited = has(spec, "backoffLimitPerIndex");
    if let Some(completions) = completions.filter(|_| changed("completedIndexes"))
        && let Err(why) = indexes::count(completed, completions)
    {
        out.invalid(&completed_path, completed, format!("error parsing completedIndexes: {why}"));
    }
    if let (Some(completions), Some(failed)) = (completions, failed)
        && changed("failedIndexes")
        && limited
        && let Err(why) = indexes::count(failed, completions)
    {
        out.invalid(&failed_path, failed, format!("error parsing failedIndexes: {why}"));
    }
    if changed("completedIndexes") && !completed.is_empty() && !indexed {
        let said = "cannot set non-empty completedIndexes when non-indexed completion mode";
        out.invalid(&completed_path, completed, said);
    }
    let Some(failed) = failed else { return };
    if changed("failedIndexes") && !limited {
        let said = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        out.invalid(&failed_path, failed, said);
    }
    if changed("failedIndexes") || changed("completedIndexes") {
        let both = completions.and_then(|completions| indexes::overlap(completed, failed, completions));
        if let Some(index) = both {
            let said = format!("failedIndexes and completedIndexes overlap at index: {index}");
            out.invalid(&failed_path, failed, said);
        }
    }
}

/// What has happened stays so.
fn history(out: &mut Found, new: &Value, old: &Value, indexed: bool, path: &Path) {
    let (status, before, spec) = (get(new, "status"), get(old, "status"), get(new, "spec"));
    let conditions = path.child("conditions");
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(old, kind) && !is_true(new, kind) {
            out.invalid_omitted(&conditions, format!("cannot disable the terminal {kind}=True condition"));
        }
    }
    let scalable = indexed && number(spec, "completions") == number(spec, "parallelism");
    for (name, kept) in [("failed", true), ("succeeded", !scalable)] {
        let now = number(status, name).unwrap_or_default();
        if kept && now < number(before, name).unwrap_or_default() {
            out.invalid(&path.child(name), now, format!("cannot decrease the {name} counter"));
        }
    }
    let (end, end_before) = (get(status, "completionTime"), get(before, "completionTime"));
    if !end.is_null() && !end_before.is_null() && end != end_before {
        out.invalid(&path.child("completionTime"), end.clone(), "field is immutable");
    }
    let (start, start_before) = (get(status, "startTime"), get(before, "startTime"));
    let resuming = is_true(old, "Suspended") && holds(new, "Suspended", "False");
    if !start_before.is_null() && start != start_before && !resuming && !flag(spec, "suspend") {
        let said = "field is immutable for unsuspended job once set";
        out.invalid(&path.child("startTime"), start.clone(), said);
    }
    let (met, met_before) = (is_true(new, "SuccessCriteriaMet"), is_true(old, "SuccessCriteriaMet"));
    if met_before && !met {
        out.invalid_omitted(&conditions, "cannot disable the SuccessCriteriaMet=True condition");
    }
    if is_true(old, "Complete") && !met_before && met {
        let said = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        out.invalid_omitted(&conditions, said);
    }
}
