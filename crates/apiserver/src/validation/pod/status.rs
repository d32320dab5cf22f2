//! What may be said about a running pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Options, annotations};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::ip;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, at, get, has, list, number, text};

/// A pod whose status is written.
pub fn update(new: &Value, old: &Value, options: &Options) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    let meta_path = Path::new("metadata");
    out.extend(meta::builtin_meta_update(get(new, "metadata"), get(old, "metadata"), &meta_path));
    annotations::check_update(out, new, old, &meta_path.child("annotations"), options);
    let path = Path::new("status");
    let (now, before) = (get(new, "status"), get(old, "status"));
    let (new_spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    conditions(out, now, &path.child("conditions"));
    if text(new_spec, "nodeName") != text(old_spec, "nodeName") {
        out.forbidden(&path.child("nodeName"), "may not be changed directly");
    }
    let nominated = text(now, "nominatedNodeName");
    if !nominated.is_empty() && nominated != text(before, "nominatedNodeName") {
        let field = path.child("nominatedNodeName");
        out.said(&field, nominated, names::is_dns1123_subdomain(nominated));
        if !text(old_spec, "nodeName").is_empty() {
            out.forbidden(&field, "may not be set on pods that are already bound to a node");
        }
    }
    generation(out, now, &path);
    let (class, class_before) = (text(now, "qosClass"), text(before, "qosClass"));
    out.extend(meta::immutable(&Value::from(class), &Value::from(class_before), &path.child("qosClass")));
    for (kind, of) in [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")] {
        transitions(out, now, before, kind, Some((old_spec, of)), &path.child(kind));
    }
    let kind = "ephemeralContainerStatuses";
    transitions(out, now, before, kind, None, &path.child(kind));
    claim_statuses(out, now, new_spec, &path.child("resourceClaimStatuses"));
    pod_ips(out, now, before, &path.child("podIPs"));
    host_ips(out, now, before, &path.child("hostIPs"));
    for kind in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        users(out, list(now, kind), text(get(new_spec, "os"), "name"), &path.child(kind));
    }
    for (kind, of) in [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")] {
        allocated(out, list(now, kind), list(new_spec, of), &path.child(kind));
    }
    for (i, status) in list(now, kind).iter().enumerate() {
        if has(status, "allocatedResourcesStatus") {
            let field = path.child(kind).index(i).child("allocatedResourcesStatus");
            out.forbidden(&field, "must not be specified in container status");
        }
    }
    found.into_errors()
}

fn generation(out: &mut Found, object: &Value, path: &Path) {
    if let Some(generation) = number(object, "observedGeneration").filter(|generation| *generation < 0) {
        out.invalid(&path.child("observedGeneration"), generation, "must be a non-negative integer");
    }
}

fn conditions(out: &mut Found, status: &Value, path: &Path) {
    for (i, condition) in list(status, "conditions").iter().enumerate() {
        generation(out, condition, &path.index(i));
        let kind = text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            out.said(&path.index(i).child("Type"), kind, names::is_qualified_name(kind));
        }
    }
}

/// Containers that have ended for good do not run again.
fn transitions(out: &mut Found, now: &Value, before: &Value, kind: &str, spec: Option<(&Value, &str)>, path: &Path) {
    if spec.is_some_and(|(spec, _)| may_restart_all(spec)) {
        return;
    }
    for (i, old) in list(before, kind).iter().enumerate() {
        let ended = at(old, &["state", "terminated"]);
        if ended.is_null() {
            continue;
        }
        let name = text(old, "name");
        let runs = |new: &&Value| text(new, "name") == name && !has(get(new, "state"), "terminated");
        for _ in list(now, kind).iter().filter(runs) {
            let allowed = spec.is_some_and(|(spec, of)| {
                let container = list(spec, of).iter().find(|container| text(container, "name") == name);
                container
                    .is_some_and(|container| restarts(container, spec, number(ended, "exitCode").unwrap_or_default()))
            });
            if !allowed {
                out.forbidden(&path.index(i).child("state"), "may not be transitioned to non-terminated state");
            }
            if spec.is_some() {
                break;
            }
        }
    }
}

fn may_restart_all(spec: &Value) -> bool {
    ["initContainers", "containers"]
        .iter()
        .flat_map(|kind| list(spec, kind))
        .flat_map(|container| list(container, "restartPolicyRules"))
        .any(|rule| text(rule, "action") == "RestartAllContainers")
}

fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    if has(container, "restartPolicy") {
        let rule = list(container, "restartPolicyRules").iter().find(|rule| {
            let codes = get(rule, "exitCodes");
            let listed = list(codes, "values").iter().any(|value| value.as_i64() == Some(code));
            match text(codes, "operator") {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        });
        if rule.is_some_and(|rule| matches!(text(rule, "action"), "Restart" | "RestartAllContainers")) {
            return true;
        }
    }
    let policy = match text(container, "restartPolicy") {
        "" => text(spec, "restartPolicy"),
        own => own,
    };
    match policy {
        "OnFailure" => code != 0,
        "Never" => false,
        _ => true,
    }
}

fn claim_statuses(out: &mut Found, status: &Value, spec: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, claim) in list(status, "resourceClaimStatuses").iter().enumerate() {
        let (name, field) = (text(claim, "name"), path.index(i).child("name"));
        if !list(spec, "resourceClaims").iter().any(|claim| text(claim, "name") == name) {
            out.invalid(&field, name, "must match the name of an entry in `spec.resourceClaims`");
        }
        if !seen.insert(name) {
            out.duplicate(&field, name);
        }
        if let Some(made) = get(claim, "resourceClaimName").as_str() {
            out.said(&path.index(i).child("resourceClaimName"), made, names::is_dns1123_subdomain(made));
        }
    }
}

fn addresses<'a>(status: &'a Value, name: &str) -> Vec<&'a str> {
    list(status, name).iter().map(|entry| text(entry, "ip")).collect()
}

/// One address of each family at most.
fn one_of_each(out: &mut Found, ips: &[&str], shown: impl Fn() -> String, path: &Path) {
    if ips.len() < 2 {
        return;
    }
    let (mut four, mut six, mut broken) = (false, false, None);
    for address in ips {
        match ip::parse_ip(address) {
            Some(ip) if ip.is_ipv4() => four = true,
            Some(_) => six = true,
            None => {
                broken.get_or_insert(*address);
            }
        }
    }
    if let Some(address) = broken {
        let said = format!("failed to check for dual stack with error:invalid IP: {address}");
        out.push(FieldError::new(crate::field::Wrong::Internal, path, &Value::Null, said));
    }
    if !(four && six) || broken.is_some() || ips.len() > 2 {
        out.invalid_shown(path, shown(), "may specify no more than one IP for each IP family");
    }
}

fn pod_ips(out: &mut Found, now: &Value, before: &Value, path: &Path) {
    let (ips, old) = (addresses(now, "podIPs"), addresses(before, "podIPs"));
    for (i, address) in ips.iter().enumerate() {
        out.extend(ip::is_ip_legacy(&path.index(i), address, &old));
    }
    let shown = || internal::shown("[]core.PodIP", get(now, "podIPs"));
    one_of_each(out, &ips, shown, path);
    let one = text(now, "podIP");
    match ips.first() {
        first if first.is_none() != one.is_empty() => {
            out.invalid_shown(path, shown(), "podIP and podIPs must either both be set or both be unset");
        }
        Some(first) if *first != one => {
            out.invalid(&path.index(0).child("ip"), *first, "must be equal to `podIP`");
        }
        _ => {}
    }
}

fn host_ips(out: &mut Found, now: &Value, before: &Value, path: &Path) {
    let (ips, old) = (addresses(now, "hostIPs"), addresses(before, "hostIPs"));
    if let Some(first) = ips.first().filter(|first| **first != text(now, "hostIP")) {
        out.invalid(&path.index(0).child("ip"), *first, "must be equal to `hostIP`");
    }
    for (i, address) in ips.iter().enumerate() {
        out.extend(ip::is_ip_legacy(&path.index(i), address, &old));
    }
    one_of_each(out, &ips, || internal::shown("[]core.HostIP", get(now, "hostIPs")), path);
}

fn users(out: &mut Found, statuses: &[Value], os: &str, path: &Path) {
    for (i, status) in statuses.iter().enumerate() {
        let user = at(status, &["user", "linux"]);
        if user.is_null() {
            continue;
        }
        let path = path.index(i).children(&["user", "linux"]);
        match os {
            "windows" => out.forbidden(&path, "cannot be set for a windows pod"),
            "" | "linux" => {
                let uid = number(user, "uid").unwrap_or_default();
                let said = names::is_in_range(uid, 0, i64::from(u32::MAX));
                said.into_iter().for_each(|said| out.invalid(&path.child("uid"), uid, said));
                let gid = number(user, "gid").unwrap_or_default();
                names::is_group_id(gid).into_iter().for_each(|said| out.invalid(&path.child("gid"), gid, said));
                for (j, gid) in list(user, "supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
                    let field = path.child("supplementalGroups").index(j);
                    names::is_group_id(gid).into_iter().for_each(|said| out.invalid(&field, gid, said));
                }
            }
            _ => {}
        }
    }
}

/// What is told about devices is about devices that the container asked for.
fn allocated(out: &mut Found, statuses: &[Value], containers: &[Value], path: &Path) {
    for (i, status) in statuses.iter().enumerate() {
        let container = containers.iter().find(|container| text(container, "name") == text(status, "name"));
        for (j, resource) in list(status, "allocatedResourcesStatus").iter().enumerate() {
            let path = path.index(i).child("allocatedResourcesStatus").index(j);
            let name = text(resource, "name");
            if let Some(container) = container {
                let needs = get(container, "resources");
                let claimed = |claim: &Value| match (text(claim, "name"), text(claim, "request")) {
                    (of, "") => name == format!("claim:{of}"),
                    (of, request) => name == format!("claim:{of}/{request}"),
                };
                if name.starts_with("claim:") {
                    if !list(needs, "claims").iter().any(claimed) {
                        let said = "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' \
                                    when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty";
                        out.invalid(&path.child("name"), name, said);
                    }
                } else if !has(get(needs, "requests"), name) {
                    out.invalid(&path.child("name"), name, "must match one of the container's resource requests");
                }
            }
            let mut seen = BTreeSet::new();
            for (k, entry) in list(resource, "resources").iter().enumerate() {
                let path = path.child("resources").index(k);
                out.one_of(&path.child("health"), text(entry, "health"), &["Healthy", "Unhealthy", "Unknown"]);
                let id = text(entry, "resourceID");
                if !seen.insert(id) {
                    out.duplicate(&path.child("resourceID"), id);
                }
            }
        }
    }
}
