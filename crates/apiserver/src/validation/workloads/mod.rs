//! Kinds that make pods, and what is decided about them.
//!
//! [`create`], [`update`] and [`subresource`] say nothing about kinds that are not here.

mod autoscaler;
mod budget;
mod counts;
mod cron;
mod daemon_set;
mod deployment;
mod indexes;
mod job;
mod job_policy;
mod job_status;
mod priority_class;
mod replication;
mod schedule;
mod stateful_set;

use serde_json::Value;

use crate::field::FieldError;
use crate::kind::Kind;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, get, has, number, same, text};
use crate::validation::pod;
use crate::validation::shown;

/// What is wrong with a new object.
pub fn create(kind: Kind<'_>, new: &Value) -> Option<Vec<FieldError>> {
    Some(match (kind.group, kind.kind) {
        ("", "Pod") => pod::create(new),
        ("", "Binding") => pod::binding(new),
        ("", "PodTemplate") => pod_template(new, None),
        ("", "ReplicationController") => replication::controller(new, None),
        ("apps", "ReplicaSet") => replication::set(new, None),
        ("apps", "Deployment") => deployment::check(new, None),
        ("apps", "StatefulSet") => stateful_set::check(new, None),
        ("apps", "DaemonSet") => daemon_set::check(new, None),
        ("apps", "ControllerRevision") => revision(new, None),
        ("batch", "Job") => job::create(new),
        ("batch", "CronJob") => cron::check(new, None),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::check(new, None),
        ("policy", "PodDisruptionBudget") => budget::check(new, None),
        ("policy", "Eviction") => Vec::new(),
        ("scheduling.k8s.io", "PriorityClass") => priority_class::create(new),
        _ => return None,
    })
}

/// What is wrong with an object that replaces another.
pub fn update(kind: Kind<'_>, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    Some(match (kind.group, kind.kind) {
        ("", "Pod") => pod::update(new, old),
        ("", "PodTemplate") => pod_template(new, Some(old)),
        ("", "ReplicationController") => replication::controller(new, Some(old)),
        ("apps", "ReplicaSet") => replication::set(new, Some(old)),
        ("apps", "Deployment") => deployment::check(new, Some(old)),
        ("apps", "StatefulSet") => stateful_set::check(new, Some(old)),
        ("apps", "DaemonSet") => daemon_set::check(new, Some(old)),
        ("apps", "ControllerRevision") => revision(new, Some(old)),
        ("batch", "Job") => job::update(new, old),
        ("batch", "CronJob") => cron::check(new, Some(old)),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::check(new, Some(old)),
        ("policy", "PodDisruptionBudget") => budget::check(new, Some(old)),
        ("scheduling.k8s.io", "PriorityClass") => priority_class::update(new, old),
        _ => return None,
    })
}

/// What is wrong with an object written through a subresource.
pub fn subresource(kind: Kind<'_>, name: &str, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    if name == "scale" {
        return Some(scale(new));
    }
    if (kind.group, kind.kind) == ("", "Pod") {
        return pod::subresource(name, new, old);
    }
    if name != "status" {
        return None;
    }
    Some(match (kind.group, kind.kind) {
        ("", "ReplicationController") => counts::replication_controller(new, old),
        ("apps", "ReplicaSet") => counts::replica_set(new, old),
        ("apps", "Deployment") => counts::deployment(new, old),
        ("apps", "StatefulSet") => counts::stateful_set(new, old),
        ("apps", "DaemonSet") => counts::daemon_set(new, old),
        ("batch", "Job") => job_status::check(new, old),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::status(new, old),
        ("policy", "PodDisruptionBudget") => budget::status(new),
        _ => return None,
    })
}

/// A scale: of its metadata, only who manages which fields is looked at.
fn scale(scale: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    out.extend(meta::managed_fields(get(scale, "metadata"), &Path::new("metadata").child("managedFields")));
    out.non_negative(&Path::new("spec").child("replicas"), number(get(scale, "spec"), "replicas"));
    out.into_errors()
}

/// The metadata of a namespaced kind, new or changed.
fn metadata(out: &mut Found, new: &Value, old: Option<&Value>, rule: names::NameRule) {
    let path = Path::new("metadata");
    match old {
        None => out.extend(meta::builtin_meta(get(new, "metadata"), true, rule, &path)),
        Some(old) => out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &path)),
    }
}

/// What is taken in a template because it was there before; `at` is where the template is.
fn options(old: Option<&Value>, at: &[&str]) -> pod::Options {
    match old {
        None => pod::Options::default(),
        Some(old) => {
            let template = crate::validation::path::at(old, at);
            pod::Options::after(get(template, "metadata"), get(template, "spec"))
        }
    }
}

fn pod_template(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut out = Found::new();
    metadata(&mut out, new, old, names::name_is_dns_subdomain);
    let options = options(old, &["template"]);
    out.extend(pod::template(get(new, "template"), &Path::new("template"), &options));
    out.into_errors()
}

fn revision(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut out = Found::new();
    let path = Path::new("data");
    if old.is_some() {
        metadata(&mut out, new, old, names::name_is_dns_subdomain);
    }
    metadata(&mut out, new, None, names::name_is_dns_subdomain);
    out.non_negative(&Path::new("revision"), number(new, "revision"));
    match (old, get(new, "data")) {
        (Some(old), data) => {
            if !same(data, get(old, "data")) {
                out.invalid_shown(&path, shown::go_json(data), "field is immutable");
            }
        }
        (None, Value::Null) => out.required(&path, "data is mandatory"),
        (None, Value::Object(_)) => {}
        (None, _) => out.required(&path, "data must be a valid JSON object"),
    }
    out.into_errors()
}

/// A number or a percentage, not below zero.
fn positive_or_percent(out: &mut Found, value: &Value, path: &Path) {
    match value {
        Value::String(text) => {
            for said in names::is_percent(text) {
                out.invalid(path, value.clone(), said);
            }
        }
        other => out.non_negative(path, other.as_i64()),
    }
}

/// The hundredths of a percentage; nothing where it is none.
fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str().filter(|text| names::is_percent(text).is_empty())?;
    Some(text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}

/// The number, or the hundredths.
fn number_or_percent(value: &Value) -> i64 {
    match (percent(value), value) {
        (Some(percent), _) => percent,
        (None, Value::String(text)) => text.parse().unwrap_or_default(),
        (None, other) => other.as_i64().unwrap_or_default(),
    }
}

/// No more than all.
fn at_most_all(out: &mut Found, value: &Value, path: &Path) {
    if percent(value).is_some_and(|percent| percent > 100) {
        out.invalid(path, value.clone(), "must not be greater than 100%");
    }
}

/// Pods of most workloads are restarted always, and have no deadline.
fn always_running(out: &mut Found, template: &Value, kind: &str, path: &Path) {
    let spec = get(template, "spec");
    let path = path.child("spec");
    out.one_of(&path.child("restartPolicy"), text(spec, "restartPolicy"), &["Always"]);
    if has(spec, "activeDeadlineSeconds") {
        let said = format!("activeDeadlineSeconds in {kind} is not Supported");
        out.forbidden(&path.child("activeDeadlineSeconds"), said);
    }
}
