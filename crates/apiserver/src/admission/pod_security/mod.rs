//! PodSecurity: the labels of a namespace say how much its pods may ask of their node.
//!
//! Pods that ask for more are refused (`enforce`) or let in with a warning (`warn`); templates of pods are only warned about, for it is
//! their pods that are refused. `audit` is read, for its value must be a level, and has no other effect: there is no audit log.

mod checks;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Cluster, Operation, Request};
use crate::field::FieldError;
use crate::status::Status;
use crate::value::{get, is_true, list, name, text, texts};
use checks::{Violation, violations};

const LABELS: &str = "pod-security.kubernetes.io/";

/// How many pods of a namespace are looked at when its level changes; upstream's number.
const LOOKED_AT: usize = 3000;

/// How strict a policy is, from the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

/// A level as it was in a minor version of Kubernetes; none for the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Policy {
    level: Level,
    minor: Option<i64>,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })?;
        match self.minor {
            Some(minor) => write!(f, ":v1.{minor}"),
            None => f.write_str(":latest"),
        }
    }
}

/// What a namespace says. Labels that say nothing sensible are errors, and count as the strictest for `enforce` only.
#[derive(Debug)]
struct Policies {
    enforce: Policy,
    warn: Policy,
    errors: Vec<FieldError>,
}

impl Policies {
    fn of(namespace: &Value) -> Self {
        let labels: BTreeMap<&str, &str> = texts(namespace, &["metadata", "labels"]).collect();
        let label = |key: &str| labels.get(format!("{LABELS}{key}").as_str()).copied();
        let open = Policy { level: Level::Privileged, minor: None };
        let mut errors = Vec::new();
        let mut read = |mode: &str, otherwise: Level| {
            let mut policy = open;
            if let Some(text) = label(mode) {
                policy.level = Level::parse(text).unwrap_or_else(|| {
                    errors.push(wrong(mode, text, "must be one of privileged, baseline, restricted"));
                    otherwise
                });
            }
            let version = format!("{mode}-version");
            if let Some(text) = label(&version).filter(|text| *text != "latest") {
                policy.minor = minor(text);
                if policy.minor.is_none() {
                    errors.push(wrong(&version, text, "must be \"latest\" or \"v1.x\""));
                }
            }
            policy
        };
        let enforce = read("enforce", Level::Restricted);
        read("audit", Level::Privileged);
        let mut warn = read("warn", Level::Privileged);
        // What is enforced is warned about too, unless the namespace says otherwise: templates get nothing but warnings.
        let said = label("enforce").is_some_and(|text| Level::parse(text).is_some());
        if said && label("warn").is_none() && enforce.level > warn.level {
            warn.level = enforce.level;
            if label("warn-version").is_none() {
                warn.minor = enforce.minor;
            }
        }
        Self { enforce, warn, errors }
    }
}

fn wrong(key: &str, value: &str, why: &str) -> FieldError {
    FieldError::invalid(format!("metadata.labels[{LABELS}{key}]"), &Value::from(value), why)
}

/// The 5 of `v1.5`.
fn minor(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Lets a namespace, a pod or a template of pods in, with warnings.
pub(super) fn validate(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<Vec<String>, Status> {
    match (request.resource.group, request.resource.resource) {
        ("", "namespaces") if request.subresource.is_empty() => namespace(request, object, cluster),
        ("", "pods") if matches!(request.subresource, "" | "resize" | "ephemeralcontainers") => {
            if request.operation == Operation::Update && request.old.is_some_and(|old| !significant(object, old)) {
                return Ok(Vec::new());
            }
            let Some(policies) = policies_for(request, cluster) else { return Ok(Vec::new()) };
            evaluate(request, &policies, object, true)
        }
        _ if request.subresource.is_empty() => {
            let Some(template) = template(request, object) else { return Ok(Vec::new()) };
            let Some(policies) = policies_for(request, cluster) else { return Ok(Vec::new()) };
            evaluate(request, &policies, template, false)
        }
        _ => Ok(Vec::new()),
    }
}

fn policies_for(request: &Request<'_>, cluster: &dyn Cluster) -> Option<Policies> {
    cluster.get("", "namespaces", "", request.namespace).map(|namespace| Policies::of(&namespace))
}

fn template<'a>(request: &Request<'_>, object: &'a Value) -> Option<&'a Value> {
    match (request.resource.group, request.resource.resource) {
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => get(object, &["spec", "template"]),
        ("", "podtemplates") => get(object, &["template"]),
        ("batch", "cronjobs") => get(object, &["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}

/// Whether a pod was changed in a way that its policy cares for: images, and containers that were not there.
fn significant(new: &Value, old: &Value) -> bool {
    let images = |pod: &Value, key: &str| -> Vec<(String, String)> {
        let containers = list(pod, &["spec", key]).iter();
        containers.map(|c| (text(c, &["name"]).to_owned(), text(c, &["image"]).to_owned())).collect()
    };
    ["containers", "initContainers"].iter().any(|key| {
        let (new, old) = (images(new, key), images(old, key));
        new.len() != old.len() || new.iter().zip(&old).any(|(new, old)| new.1 != old.1)
    }) || {
        let old: BTreeMap<String, String> = images(old, "ephemeralContainers").into_iter().collect();
        images(new, "ephemeralContainers").iter().any(|(name, image)| old.get(name) != Some(image))
    }
}

fn evaluate(request: &Request<'_>, policies: &Policies, pod: &Value, enforced: bool) -> Result<Vec<String>, Status> {
    if enforced {
        let found = violations(policies.enforce, pod);
        if !found.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policies.enforce, details(&found));
            return Err(Status::forbidden(request.resource, request.name, &why));
        }
    }
    let found = violations(policies.warn, pod);
    let warning = || format!("would violate PodSecurity \"{}\": {}", policies.warn, details(&found));
    Ok((!found.is_empty()).then(warning).into_iter().collect())
}

fn details(found: &[Violation]) -> String {
    let all: Vec<_> = found.iter().map(|violation| format!("{} ({})", violation.reason, violation.detail)).collect();
    all.join(", ")
}

/// Labels must make sense where they are new; pods that are there already are warned about.
fn namespace(request: &Request<'_>, object: &Value, cluster: &dyn Cluster) -> Result<Vec<String>, Status> {
    let new = Policies::of(object);
    let refused = |errors: &[FieldError]| Status::invalid(request.kind.group, request.kind.kind, request.name, errors);
    let Some(old) = request.old.map(Policies::of) else {
        return if new.errors.is_empty() { Ok(Vec::new()) } else { Err(refused(&new.errors)) };
    };
    if !new.errors.is_empty() && new.errors != old.errors {
        return Err(refused(&new.errors));
    }
    let looser = new.enforce.minor == old.enforce.minor && new.enforce.level <= old.enforce.level;
    if new.enforce == old.enforce || new.enforce.level == Level::Privileged || looser {
        return Ok(Vec::new());
    }
    // Pods of a controller that was seen come last: they are most likely alike.
    let mut seen = BTreeSet::new();
    let (first, last): (Vec<_>, Vec<_>) = cluster.list("", "pods", Some(name(object))).into_iter().partition(|pod| {
        let owners = list(pod, &["metadata", "ownerReferences"]);
        let controller = owners.iter().find(|owner| is_true(owner, &["controller"]));
        controller.is_none_or(|owner| seen.insert(text(owner, &["uid"]).to_owned()))
    });
    let total = first.len() + last.len();
    let mut pods_by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in first.iter().chain(&last).take(LOOKED_AT) {
        let reasons: Vec<_> = violations(new.enforce, pod).into_iter().map(|violation| violation.reason).collect();
        if !reasons.is_empty() {
            pods_by_reason.entry(reasons.join(", ")).or_default().push(name(pod).to_owned());
        }
    }
    let mut out = Vec::new();
    if total > LOOKED_AT {
        out.push(format!(
            "new PodSecurity enforce level only checked against the first {LOOKED_AT} of {total} existing pods"
        ));
    }
    if !pods_by_reason.is_empty() {
        out.push(format!(
            "existing pods in namespace \"{}\" violate the new PodSecurity enforce level \"{}\"",
            name(object),
            new.enforce
        ));
    }
    let mut lines: Vec<_> = pods_by_reason
        .iter()
        .filter_map(|(reason, pods)| {
            let first = pods.iter().min()?;
            Some(match pods.len() {
                1 => format!("{first}: {reason}"),
                2 => format!("{first} (and 1 other pod): {reason}"),
                many => format!("{first} (and {} other pods): {reason}", many - 1),
            })
        })
        .collect();
    lines.sort();
    out.extend(lines);
    Ok(out)
}

#[cfg(test)]
mod tests;
