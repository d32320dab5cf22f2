//! Jobs.

use serde_json::Value;

use super::{job_policy, metadata, options};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, flag, get, has, list, number, same, text};
use crate::validation::pod;
use crate::validation::selectors::{self, Compiled, LABEL_SELECTOR};
use crate::validation::shown;

const MANY: i64 = 100_000;
const MANY_AT_ONCE: i64 = 10_000;

/// A new job.
pub fn create(new: &Value) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, None, names::name_is_dns_subdomain);
    generated_selector(out, new);
    let options = pod::Options::default();
    spec(out, get(new, "spec"), &Path::new("spec"), &options);
    selector(out, get(new, "spec"), options.selector_values, &Path::new("spec"));
    name_fits(out, new);
    found.into_errors()
}

/// The labels and selector that a job is given, unless it brings its own.
fn generated_selector(out: &mut Found, job: &Value) {
    let (metadata, spec) = (get(job, "metadata"), get(job, "spec"));
    if flag(spec, "manualSelector") || !has(spec, "selector") {
        return;
    }
    let (uid, name) = (text(metadata, "uid"), text(metadata, "name"));
    if uid.is_empty() {
        out.required(&Path::new("metadata").child("uid"), "");
    }
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let labels = get(get(get(spec, "template"), "metadata"), "labels");
    let path = Path::new("spec").children(&["template", "metadata", "labels"]);
    for (key, value) in expected {
        match labels.get(key) {
            None => out.required(&path.key(key), format!("must be '{value}'")),
            Some(label) if label != value => {
                out.invalid_shown(&path.key(key), shown::go_json(labels), format!("must be '{value}'"));
            }
            Some(_) => {}
        }
    }
    let labels: Value = expected.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    let selector = get(spec, "selector");
    if let Compiled::Some(selector) = selectors::compile(selector)
        && !selectors::matches(selector, &labels)
    {
        let shown = shown::published(LABEL_SELECTOR, selector);
        out.invalid_shown(&Path::new("spec").child("selector"), shown, "`selector` not auto-generated");
    }
}

/// Pods of an indexed job have the index in their names.
fn name_fits(out: &mut Found, job: &Value) {
    let spec = get(job, "spec");
    let completions = number(spec, "completions").unwrap_or_default();
    if text(spec, "completionMode") == "Indexed" && completions > 0 {
        let name = text(get(job, "metadata"), "name");
        let longest = format!("{name}-{}", completions - 1);
        if !names::is_dns1123_label(&longest).is_empty() {
            let said = format!("will not able to create pod with invalid DNS label: {longest}");
            out.invalid(&Path::new("metadata").child("name"), name, said);
        }
    }
}

/// The selector of a job, which goes with its template.
fn selector(out: &mut Found, spec: &Value, lenient: bool, path: &Path) {
    let selector = get(spec, "selector");
    if selector.is_null() {
        out.required(&path.child("selector"), "");
    } else {
        out.extend(selectors::label_selector(selector, lenient, &path.child("selector")));
    }
    let labels = get(get(get(spec, "template"), "metadata"), "labels");
    let matches = match selectors::compile(selector) {
        Compiled::Nothing => false,
        Compiled::Some(selector) => selectors::matches(selector, labels),
        Compiled::Everything | Compiled::Broken => true,
    };
    if !matches {
        super::replication::does_not_match(out, labels, &path.child("template"));
    }
}

/// The spec of a job, in a job or in a cron job.
pub fn spec(out: &mut Found, spec: &Value, path: &Path, options: &pod::Options) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        out.non_negative(&path.child(name), number(spec, name));
    }
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        out.required(&path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    if let Some(manager) = get(spec, "managedBy").as_str() {
        let field = path.child("managedBy");
        out.extend(names::is_domain_prefixed_path(&field, manager));
        if manager.len() > 63 {
            out.too_long(&field, 63);
        }
    }
    completion_mode(out, spec, path);
    if has(spec, "podFailurePolicy") {
        job_policy::failure(out, spec, &path.child("podFailurePolicy"));
    }
    if has(spec, "successPolicy") {
        let (policy, field) = (get(spec, "successPolicy"), path.child("successPolicy"));
        if text(spec, "completionMode") == "Indexed" {
            job_policy::success(out, spec, &field);
        } else {
            let shown = internal::shown("batch.SuccessPolicy", policy);
            out.invalid_shown(&field, shown, "requires indexed completion mode");
        }
    }
    if has(spec, "podReplacementPolicy") {
        let words: &[&str] =
            if has(spec, "podFailurePolicy") { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        out.one_of(&path.child("podReplacementPolicy"), text(spec, "podReplacementPolicy"), words);
    }
    let (template, field) = (get(spec, "template"), path.child("template"));
    out.extend(pod::template(template, &field, options));
    let policy = text(get(template, "spec"), "restartPolicy");
    let field = field.children(&["spec", "restartPolicy"]);
    match policy {
        "" | "Always" => out.required(&field, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(spec, "podFailurePolicy") => {
            out.invalid(&field, policy, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        other => out.unsupported(&field, other, &["OnFailure", "Never"]),
    }
}

fn completion_mode(out: &mut Found, spec: &Value, path: &Path) {
    let mode = text(spec, "completionMode");
    let (completions, parallelism) = (number(spec, "completions"), number(spec, "parallelism"));
    let most_failed = number(spec, "maxFailedIndexes");
    if has(spec, "completionMode") {
        out.one_of(&path.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
    }
    if mode == "Indexed" {
        if completions.is_none() {
            out.required(&path.child("completions"), "when completion mode is Indexed");
        }
        if let Some(count) = parallelism.filter(|count| *count > MANY) {
            let said = format!("must be less than or equal to {MANY} when completion mode is Indexed");
            out.invalid(&path.child("parallelism"), count, said);
        }
        let failed_path = path.child("maxFailedIndexes");
        if let (Some(all), Some(failed)) = (completions, most_failed)
            && failed > all
        {
            out.invalid(&failed_path, failed, "must be less than or equal to completions");
        }
        if let Some(failed) = most_failed.filter(|failed| *failed > MANY) {
            out.invalid(&failed_path, failed, format!("must be less than or equal to {MANY}"));
        }
        if completions.is_some_and(|all| all > MANY) && has(spec, "backoffLimitPerIndex") {
            let said = format!(
                "must be less than or equal to {MANY_AT_ONCE} when completions are above {MANY} and used with backoff limit per index"
            );
            if most_failed.is_none() {
                out.required(&failed_path, format!("must be specified when completions is above {MANY}"));
            }
            if let Some(count) = parallelism.filter(|count| *count > MANY_AT_ONCE) {
                out.invalid(&path.child("parallelism"), count, said.clone());
            }
            if let Some(failed) = most_failed.filter(|failed| *failed > MANY_AT_ONCE) {
                out.invalid(&failed_path, failed, said);
            }
        }
    }
    if matches!(mode, "" | "NonIndexed") {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = number(spec, name) {
                out.invalid(&path.child(name), value, "requires indexed completion mode");
            }
        }
    }
}

/// A job that replaces another.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, Some(old), names::name_is_dns_subdomain);
    let (now, before, path) = (get(new, "spec"), get(old, "spec"), Path::new("spec"));
    let options = options(Some(old), &["spec", "template"]);
    spec(out, now, &path, &options);
    let lenient = options.selector_values || selectors::has_invalid_value(get(before, "selector"));
    selector(out, now, lenient, &path);
    completions(out, now, before, &path.child("completions"));
    super::replication::same_selector(out, new, old);
    template_update(out, now, old, &path);
    for (name, ty) in [
        ("completionMode", "*string"),
        ("podFailurePolicy", "*batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", "*number"),
        ("managedBy", "*string"),
        ("successPolicy", "*batch.SuccessPolicy"),
    ] {
        if !same(get(now, name), get(before, name)) {
            out.invalid_shown(&path.child(name), internal::shown(ty, get(now, name)), "field is immutable");
        }
    }
    name_fits(out, new);
    found.into_errors()
}

fn completions(out: &mut Found, now: &Value, before: &Value, path: &Path) {
    let (new, old) = (get(now, "completions"), get(before, "completions"));
    if same(new, old) {
        return;
    }
    if text(now, "completionMode") != "Indexed" {
        out.invalid(path, new.clone(), "field is immutable");
    } else if !new.is_null() && number(now, "completions") != number(now, "parallelism") {
        // The path that upstream names begins at the root.
        out.invalid(path, new.clone(), "can only be modified in tandem with spec.parallelism");
    }
}

/// The template stays as it was, except where the job waits and nothing of it runs.
fn template_update(out: &mut Found, now: &Value, old: &Value, path: &Path) {
    let (before, status) = (get(old, "spec"), get(old, "status"));
    let suspended = flag(before, "suspend");
    let condition = list(status, "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Suspended" && text(condition, "status") == "True");
    let mutable =
        suspended && (!has(status, "startTime") || condition) && number(status, "active").unwrap_or_default() == 0;
    let template = get(now, "template");
    let mut was = get(before, "template").clone();
    if mutable {
        scheduling_as_new(&mut was, template);
    }
    if !mutable {
        if !same(template, &was) {
            let shown = internal::shown("core.PodTemplateSpec", template);
            out.invalid_shown(&path.child("template"), shown, "field is immutable");
        }
        return;
    }
    let (new_spec, mut old_spec) = (get(template, "spec"), get(&was, "spec").clone());
    for kind in ["containers", "initContainers"] {
        let containers = list(new_spec, kind);
        let Some(olds) = old_spec.get_mut(kind).and_then(Value::as_array_mut) else { continue };
        if containers.len() != olds.len() {
            continue;
        }
        for (old, new) in olds.iter_mut().zip(containers) {
            if text(old, "name") == text(new, "name")
                && let Some(fields) = old.as_object_mut()
            {
                fields.insert("resources".into(), get(new, "resources").clone());
            }
        }
    }
    if !same(new_spec, &old_spec) {
        let shown = internal::shown("core.PodSpec", new_spec);
        out.invalid_shown(&path.child("template.spec"), shown, "field is immutable");
    }
}

/// Where pods are to run may change.
fn scheduling_as_new(old: &mut Value, new: &Value) {
    fn copy(to: &mut Value, from: &Value, name: &str) {
        if let Some(fields) = to.as_object_mut() {
            match from.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
    }
    for name in ["annotations", "labels"] {
        if let Some(metadata) = old.get_mut("metadata") {
            copy(metadata, get(new, "metadata"), name);
        }
    }
    let Some(spec) = old.get_mut("spec") else { return };
    let wanted = get(new, "spec");
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(spec, wanted, name);
    }
    let node = get(get(wanted, "affinity"), "nodeAffinity");
    match (spec.get_mut("affinity"), has(wanted, "affinity")) {
        (Some(affinity), true) => copy(affinity, get(wanted, "affinity"), "nodeAffinity"),
        (Some(affinity), false) => {
            copy(affinity, &Value::Null, "nodeAffinity");
            if affinity.as_object().is_some_and(serde_json::Map::is_empty)
                && let Some(fields) = spec.as_object_mut()
            {
                fields.remove("affinity");
            }
        }
        (None, true) => {
            let mut affinity = serde_json::json!({});
            if !node.is_null() {
                copy(&mut affinity, get(wanted, "affinity"), "nodeAffinity");
            }
            if let Some(fields) = spec.as_object_mut() {
                fields.insert("affinity".into(), affinity);
            }
        }
        (None, false) => {}
    }
}
