//! The spec of a pod, in a pod or in a template.

use std::collections::BTreeSet;

use plimsoll_engine::quantity::Quantity;
use serde_json::{Value, json};

use super::containers::{self, Around};
use super::{Options, annotations, scheduling, security, volumes, windows};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::ip;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, entries, flag, get, has, list, number, text, texts};
use crate::validation::resources;
use crate::validation::shown::go_json;

/// The spec. `metadata` is the pod's, or null in a template.
pub fn check(spec: &Value, metadata: &Value, path: &Path, options: &Options) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    if !has(spec, "terminationGracePeriodSeconds") {
        out.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    let volumes = volumes::check(out, spec, metadata, &path.child("volumes"), options);
    let claims: BTreeSet<&str> =
        list(spec, "resourceClaims").iter().map(|claim| text(claim, "name")).filter(|name| !name.is_empty()).collect();
    resource_claims(out, spec, metadata, &path.child("resourceClaims"));
    let around = Around { spec, volumes: &volumes, claims: &claims, options };
    containers::regular(out, &around, &path.child("containers"));
    containers::init(out, &around, &path.child("initContainers"));
    containers::ephemeral(out, &around, &path.child("ephemeralContainers"));
    pod_resources(out, spec, &claims, path, options);
    host_network_ports(out, spec, path, options);
    for (name, words) in [
        ("restartPolicy", &["Always", "OnFailure", "Never"][..]),
        ("dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"][..]),
    ] {
        match text(spec, name) {
            "" => out.required(&path.child(name), ""),
            word => out.one_of(&path.child(name), word, words),
        }
    }
    out.extend(meta::labels(spec, "nodeSelector", &path.child("nodeSelector")));
    security::pod(out, spec, &path.child("securityContext"), options);
    security::shared_processes(out, spec, path);
    scheduling::affinity(out, get(spec, "affinity"), &path.child("affinity"), options);
    dns_config(out, spec, &path.child("dnsConfig"));
    for (i, gate) in list(spec, "readinessGates").iter().enumerate() {
        let name = text(gate, "conditionType");
        let field = path.child("readinessGates").index(i).child("conditionType");
        out.said(&field, name, names::is_qualified_name(name));
    }
    scheduling::gates(out, spec, &path.child("schedulingGates"));
    scheduling::spread(out, spec, &path.child("topologySpreadConstraints"), options);
    windows::host_process(out, spec, path);
    security::host_users(out, spec, path, options);
    hostname_override(out, spec, path);
    identity(out, spec, path);
    scheduling::tolerations(out, spec, &path.child("tolerations"), options);
    host_aliases(out, spec, &path.child("hostAliases"));
    for name in ["priorityClassName", "runtimeClassName"] {
        let value = get(spec, name).as_str().filter(|value| name == "runtimeClassName" || !value.is_empty());
        if let Some(value) = value {
            out.said(&path.child(name), value, names::is_dns1123_subdomain(value));
        }
    }
    scheduling::preemption_policy(out, spec, path);
    if has(spec, "overhead") {
        out.extend(resources::requirements(
            &json!({ "limits": get(spec, "overhead") }),
            resources::container_resource_name,
            &BTreeSet::new(),
            options.huge_pages,
            &path.child("overhead"),
        ));
    }
    if has(spec, "os") {
        windows::os(out, spec, path);
    }
    if has(spec, "schedulingGroup") {
        let field = path.child("schedulingGroup");
        match get(get(spec, "schedulingGroup"), "podGroupName").as_str() {
            None => out.invalid(&field.child("podGroupName"), Value::Null, "must specify one of: `podGroupName`"),
            Some(name) => out.said(&field.child("podGroupName"), name, names::is_dns1123_subdomain(name)),
        }
        if has(spec, "evictionResponders") {
            out.forbidden(&field, "may not be set when evictionResponders is set");
        }
    }
    file_key_volumes(out, spec, path);
    found.into_errors()
}

/// Account, node, names and deadline.
fn identity(out: &mut Found, spec: &Value, path: &Path) {
    let (account, before) = (text(spec, "serviceAccountName"), text(spec, "serviceAccount"));
    if !account.is_empty() {
        out.said(&path.child("serviceAccountName"), account, names::is_dns1123_subdomain(account));
    }
    if before != account {
        let said = format!("must be the same as serviceAccountName: {}", crate::field::go_quoted(account));
        out.invalid(&path.child("deprecatedServiceAccount"), before, said);
    }
    let node = text(spec, "nodeName");
    if !node.is_empty() {
        out.said(&path.child("nodeName"), node, names::is_dns1123_subdomain(node));
    }
    if let Some(seconds) = number(spec, "activeDeadlineSeconds") {
        let field = path.child("activeDeadlineSeconds");
        let said = names::is_in_range(seconds, 1, i64::from(i32::MAX));
        said.into_iter().for_each(|said| out.invalid(&field, seconds, said));
    }
    for name in ["hostname", "subdomain"] {
        let value = text(spec, name);
        if !value.is_empty() {
            out.said(&path.child(name), value, names::is_dns1123_label(value));
        }
    }
}

fn resource_claims(out: &mut Found, spec: &Value, metadata: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let path = path.index(i);
        if annotations::is_mirror(metadata) {
            // Upstream names no field here.
            out.forbidden(&Path::new(""), "static pods do not support resource claims");
            continue;
        }
        let name = text(claim, "name");
        if name.is_empty() {
            out.required(&path.child("name"), "");
        } else if seen.contains(name) {
            out.duplicate(&path.child("name"), name);
        } else {
            out.said(&path.child("name"), name, names::is_dns1123_label(name));
            seen.insert(name);
        }
        let (direct, template) = (has(claim, "resourceClaimName"), has(claim, "resourceClaimTemplateName"));
        let shown = || internal::shown("core.PodResourceClaim", claim);
        if direct && template {
            let said = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            out.invalid_shown(&path, shown(), said);
        }
        if !direct && !template {
            let said = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            out.invalid_shown(&path, shown(), said);
        }
        for name in ["resourceClaimName", "resourceClaimTemplateName"] {
            if let Some(value) = get(claim, name).as_str() {
                out.said(&path.child(name), value, names::is_dns1123_subdomain(value));
            }
        }
    }
}

/// What the pod as a whole may use.
fn pod_resources(out: &mut Found, spec: &Value, claims: &BTreeSet<&str>, path: &Path, options: &Options) {
    let needs = get(spec, "resources");
    if needs.is_null() {
        return;
    }
    let path = path.child("resources");
    if text(get(spec, "os"), "name") == "windows" {
        out.forbidden(&path, "may not be set for a windows pod");
        return;
    }
    if has(needs, "claims") {
        out.forbidden(&path.child("claims"), "claims may not be set for Resources at pod-level");
    }
    out.extend(resources::requirements(needs, resources::pod_resource_name, claims, options.huge_pages, &path));
    for (name, value) in entries(needs, "requests") {
        if let Some(sum) = aggregate(spec, "requests", name).filter(|sum| *sum > resources::quantity(value)) {
            let said = format!("must be greater than or equal to aggregate container requests of {sum}");
            out.invalid(&path.child("requests").key(name), value.clone(), said);
        }
    }
    for (name, value) in entries(needs, "limits").filter(|(name, _)| resources::is_huge_pages(name)) {
        if let Some(sum) = aggregate(spec, "limits", name).filter(|sum| *sum > resources::quantity(value)) {
            let said = format!("must be greater than or equal to aggregate container limits of {sum}");
            out.invalid(&path.child("limits").key(name), value.clone(), said);
        }
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (name, limit) in entries(get(container, "resources"), "limits") {
            let Some(most) = get(needs, "limits").get(name) else { continue };
            if resources::quantity(limit) > resources::quantity(most) {
                let field = path.child("containers").index(i).key(name).child("limits");
                let said = format!("must be less than or equal to pod limits of {}", most.as_str().unwrap_or_default());
                out.invalid(&field, limit.clone(), said);
            }
        }
    }
}

/// What all containers together ask for: those that run on together, or the most while starting.
fn aggregate(spec: &Value, kind: &str, name: &str) -> Option<Quantity> {
    let of = |container: &Value| get(get(container, "resources"), kind).get(name).map(resources::quantity);
    let mut sum: Option<Quantity> = None;
    let add = |sum: Option<Quantity>, more: Option<Quantity>| match (sum, more) {
        (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
        (sum, more) => sum.or(more),
    };
    for container in list(spec, "containers") {
        sum = add(sum, of(container));
    }
    let (mut beside, mut most): (Option<Quantity>, Option<Quantity>) = (None, None);
    for container in list(spec, "initContainers") {
        let now = if text(container, "restartPolicy") == "Always" {
            sum = add(sum, of(container));
            beside = add(beside, of(container));
            beside
        } else {
            add(of(container), beside)
        };
        if now > most {
            most = now;
        }
    }
    if most > sum { most } else { sum }
}

/// On the host's network, ports are the host's.
fn host_network_ports(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort").unwrap_or_default();
            let own = number(port, "containerPort").unwrap_or_default();
            if (options.is_pod || host != 0) && host != own {
                let field = path.child("containers").index(i).child("ports").index(j).child("hostPort");
                out.invalid(&field, host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn dns_config(out: &mut Found, spec: &Value, path: &Path) {
    let config = get(spec, "dnsConfig");
    let (servers, searches) = (texts(config, "nameservers"), texts(config, "searches"));
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            out.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let said = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            out.required(&path.child("nameservers"), said);
            return;
        }
    }
    let field = path.child("nameservers");
    if servers.len() > 3 {
        out.invalid_shown(&field, go_json(get(config, "nameservers")), "must not have more than 3 nameservers");
    }
    for (i, server) in servers.iter().enumerate() {
        out.extend(ip::is_ip_legacy(&field.index(i), server, &[]));
    }
    let field = path.child("searches");
    if searches.len() > 32 {
        out.invalid_shown(&field, go_json(get(config, "searches")), "must not have more than 32 search paths");
    }
    if searches.join(" ").len() > 2048 {
        let said = "must not have more than 2048 characters (including spaces) in the search list";
        out.invalid_shown(&field, go_json(get(config, "searches")), said);
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        out.said(&field.index(i), search, names::is_dns1123_subdomain_with_underscore(search));
    }
    for (i, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            out.required(&path.child("options").index(i), "must not be empty");
        }
    }
}

fn hostname_override(out: &mut Found, spec: &Value, path: &Path) {
    let Some(name) = get(spec, "hostnameOverride").as_str() else { return };
    let field = path.child("hostnameOverride");
    if flag(spec, "setHostnameAsFQDN") {
        out.forbidden(&field, "may not be specified when setHostnameAsFQDN is true");
    }
    if flag(spec, "hostNetwork") {
        out.forbidden(&field, "may not be specified when hostNetwork is true");
    }
    if name.len() > 64 {
        out.too_long(&field, 64);
    }
    out.said(&field, name, names::is_dns1123_subdomain(name));
}

fn host_aliases(out: &mut Found, spec: &Value, path: &Path) {
    for (i, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.index(i);
        out.extend(ip::is_ip_legacy(&path.child("ip"), text(alias, "ip"), &[]));
        for (j, name) in texts(alias, "hostnames").iter().enumerate() {
            out.said(&path.child("hostnames").index(j), name, names::is_dns1123_subdomain(name));
        }
    }
}

/// Files that variables come from are in volumes that the pod itself fills.
fn file_key_volumes(out: &mut Found, spec: &Value, path: &Path) {
    for (container, field) in containers::all(spec, path) {
        for (i, var) in list(container, "env").iter().enumerate() {
            let reference = get(get(var, "valueFrom"), "fileKeyRef");
            if reference.is_null() {
                continue;
            }
            let name = text(reference, "volumeName");
            let field = field.child("env").index(i).children(&["valueFrom", "fileKeyRef", "volumeName"]);
            match list(spec, "volumes").iter().rev().find(|volume| text(volume, "name") == name) {
                None => out.not_found(&field, name),
                Some(volume) if !has(volume, "emptyDir") => {
                    out.invalid(&field, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
}
