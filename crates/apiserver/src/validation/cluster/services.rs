//! Service.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::addresses::endpoint_ip;
use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::SERVICE_PORT;
use super::service_ips;
use crate::validation::ip;
use crate::validation::meta;
use crate::validation::names::{self, name_is_dns_label};
use crate::validation::path::{Path, at, get, has, list, number, text, texts};
use crate::validation::shown;

pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
/// The longest time a client can be kept at one endpoint: a day.
const AFFINITY_MAX: i64 = 86400;

/// What is looked at before everything else, because addresses are given out by it.
pub(super) fn first(found: &mut Found, new: &Value, old: Option<&Value>) {
    service_ips::check(found, get(new, "spec"), old.map(|old| get(old, "spec")));
}

/// A new service.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, true, name_is_dns_label);
    service(found, new, None);
}

/// A service that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    service_ips::changed(found, spec, before);
    balancer_class(found, spec, Some(before));
    if needs_health_check(spec) && needs_health_check(before) {
        let port = |spec| number(spec, "healthCheckNodePort").unwrap_or_default();
        if port(spec) != port(before) {
            found.forbidden("spec.healthCheckNodePort", "field is immutable");
        }
    }
    service(found, new, Some(old));
}

fn service(found: &mut Found, new: &Value, old: Option<&Value>) {
    let annotations = at(new, &["metadata", "annotations"]);
    let (hints, mode) = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode");
    if has(annotations, hints) && has(annotations, mode) && get(annotations, hints) != get(annotations, mode) {
        let path = Path::new("metadata").child("annotations").key(mode);
        let said = format!("must match annotations[{hints}] when both are specified");
        found.invalid(&path, text(annotations, mode), said);
    }
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let kind = text(spec, "type");
    let headless = service_ips::is_headless(spec);
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        found.required(path.child("ports"), "");
    }
    by_type(found, spec, headless, &path);
    let mut port_names: BTreeSet<&str> = BTreeSet::new();
    for (i, service_port) in ports.iter().enumerate() {
        port(found, service_port, ports.len() > 1, &mut port_names, &path.child("ports").index(i));
    }
    found.extend(meta::labels(spec, "selector", &path.child("selector")));
    affinity(found, spec, &path);
    service_ips::check(found, spec, old.map(|old| get(old, "spec")));

    let had = old.map(|old| texts(get(old, "spec"), "externalIPs")).unwrap_or_default();
    for (i, address) in texts(spec, "externalIPs").into_iter().enumerate() {
        let path = path.child("externalIPs").index(i);
        let errors = ip::is_ip_legacy(&path, address, &had);
        if errors.is_empty() {
            endpoint_ip(found, address, &path);
        }
        found.extend(errors);
    }
    const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if kind.is_empty() {
        found.required(path.child("type"), "");
    } else if !TYPES.contains(&kind) {
        found.unsupported(&path.child("type"), kind, TYPES);
    }
    unique_ports(found, ports, kind, &path.child("ports"));
    source_ranges(found, new, old);
    if has(spec, "allocateLoadBalancerNodePorts") && kind != "LoadBalancer" {
        found.forbidden(path.child("allocateLoadBalancerNodePorts"), ONLY_BALANCED);
    }
    if kind == "LoadBalancer" && !has(spec, "allocateLoadBalancerNodePorts") {
        found.required("allocateLoadBalancerNodePorts", "");
    }
    balancer_class(found, spec, None);
    traffic(found, spec, &path);
}

fn by_type(found: &mut Found, spec: &Value, headless: bool, path: &Path) {
    match text(spec, "type") {
        kind @ ("LoadBalancer" | "NodePort") if headless => {
            let said = format!("may not be set to 'None' for {kind} services");
            found.invalid(path.child("clusterIPs").index(0), "None", said);
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if has(spec, name) {
                    found.forbidden(path.child(name), "may not be set for ExternalName services");
                }
            }
            let name = text(spec, "externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() {
                found.required(path.child("externalName"), "");
            } else {
                found.subdomain(&path.child("externalName"), name);
            }
        }
        _ => {}
    }
}

fn port<'a>(found: &mut Found, port: &'a Value, needs_name: bool, seen: &mut BTreeSet<&'a str>, path: &Path) {
    let name = text(port, "name");
    if needs_name && name.is_empty() {
        found.required(path.child("name"), "");
    } else if !name.is_empty() {
        found.label(&path.child("name"), name);
        if !seen.insert(name) {
            found.duplicate(path.child("name"), name);
        }
    }
    found.port(&path.child("port"), number(port, "port").unwrap_or_default());
    protocol(found, text(port, "protocol"), &path.child("protocol"));
    let field = path.child("targetPort");
    match get(port, "targetPort") {
        Value::String(name) => found.complain(&field, name, names::is_port_name(name)),
        number => found.port(&field, number.as_i64().unwrap_or_default()),
    }
    if let Some(protocol) = get(port, "appProtocol").as_str() {
        found.qualified(&path.child("appProtocol"), protocol);
    }
}

/// A protocol that must be there.
pub(super) fn protocol(found: &mut Found, protocol: &str, path: &Path) {
    if protocol.is_empty() {
        found.required(path, "");
    } else if !PROTOCOLS.contains(&protocol) {
        found.unsupported(path, protocol, PROTOCOLS);
    }
}

fn affinity(found: &mut Found, spec: &Value, path: &Path) {
    let affinity = text(spec, "sessionAffinity");
    let field = path.child("sessionAffinityConfig");
    if affinity.is_empty() {
        found.required(path.child("sessionAffinity"), "");
    } else if !matches!(affinity, "ClientIP" | "None") {
        found.unsupported(&path.child("sessionAffinity"), affinity, &["ClientIP", "None"]);
    }
    let config = get(spec, "sessionAffinityConfig");
    match affinity {
        "ClientIP" => {
            const NEEDED: &str = "when session affinity type is ClientIP";
            let client = get(config, "clientIP");
            if config.is_null() {
                found.required(field, NEEDED);
            } else if client.is_null() {
                found.required(field.child("clientIP"), NEEDED);
            } else {
                let field = field.child("clientIP").child("timeoutSeconds");
                match number(client, "timeoutSeconds") {
                    None => found.required(field, NEEDED),
                    Some(1..=AFFINITY_MAX) => {}
                    Some(time) => {
                        found.invalid(field, time, format!("must be greater than 0 and less than {AFFINITY_MAX}"));
                    }
                }
            }
        }
        "None" if !config.is_null() => found.forbidden(field, "must not be set when session affinity is None"),
        _ => {}
    }
}

fn unique_ports(found: &mut Found, ports: &[Value], kind: &str, path: &Path) {
    let node_port = |port| number(port, "nodePort").unwrap_or_default();
    if kind == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port) != 0) {
            found.forbidden(path.index(i).child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen: BTreeSet<(&str, i64)> = BTreeSet::new();
    for (i, port) in ports.iter().enumerate().filter(|(_, port)| node_port(port) != 0) {
        if !seen.insert((text(port, "protocol"), node_port(port))) {
            found.duplicate(path.index(i).child("nodePort"), node_port(port));
        }
    }
    seen.clear();
    for (i, port) in ports.iter().enumerate() {
        if !seen.insert((text(port, "protocol"), number(port, "port").unwrap_or_default())) {
            let key = json!({"protocol": get(port, "protocol"), "port": get(port, "port")});
            found.push(shown::duplicate(&path.index(i), gojson::compact(Type::Struct(SERVICE_PORT), &key)));
        }
    }
}

fn source_ranges(found: &mut Found, new: &Value, old: Option<&Value>) {
    let spec = get(new, "spec");
    let balanced = text(spec, "type") == "LoadBalancer";
    let ranges = texts(spec, "loadBalancerSourceRanges");
    let annotation = |object| at(object, &["metadata", "annotations", SOURCE_RANGES]);
    if !ranges.is_empty() {
        // Upstream writes the field's Go name here.
        let path = Path::new("spec").child("LoadBalancerSourceRanges");
        if !balanced {
            found.forbidden(&path, ONLY_BALANCED);
        }
        let had: Vec<&str> = old
            .map(|old| texts(get(old, "spec"), "loadBalancerSourceRanges"))
            .unwrap_or_default()
            .into_iter()
            .map(str::trim)
            .collect();
        for (i, range) in ranges.into_iter().enumerate() {
            found.extend(ip::is_cidr_legacy(&path.index(i), range.trim(), &had));
        }
    } else if let Some(value) = annotation(new).as_str() {
        let path = Path::new("metadata").child("annotations").key(SOURCE_RANGES);
        if !balanced {
            found.forbidden(&path, ONLY_BALANCED);
        }
        let changed = old.is_none_or(|old| annotation(old).as_str().unwrap_or_default() != value);
        if changed && !value.trim().is_empty() {
            for range in value.trim().split(',') {
                found.extend(ip::is_cidr_legacy(&path, range.trim(), &[]));
            }
        }
    }
}

fn balancer_class(found: &mut Found, spec: &Value, before: Option<&Value>) {
    let path = Path::new("spec").child("loadBalancerClass");
    let class = get(spec, "loadBalancerClass");
    let balanced = |spec| text(spec, "type") == "LoadBalancer";
    if let Some(before) = before
        && balanced(before)
        && balanced(spec)
        && get(before, "loadBalancerClass") != class
    {
        found.invalid(&path, class.clone(), "may not change once set");
    }
    match class.as_str() {
        Some(class) if balanced(spec) => found.qualified(&path, class),
        Some(_) => found.forbidden(&path, ONLY_BALANCED),
        None => {}
    }
}

fn needs_health_check(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

fn traffic(found: &mut Found, spec: &Value, path: &Path) {
    const POLICIES: &[&str] = &["Cluster", "Local"];
    let kind = text(spec, "type");
    let outside =
        matches!(kind, "LoadBalancer" | "NodePort") || (kind == "ClusterIP" && !list(spec, "externalIPs").is_empty());
    let (policy, field) = (text(spec, "externalTrafficPolicy"), path.child("externalTrafficPolicy"));
    if !outside && !policy.is_empty() {
        found.invalid(&field, policy, "may only be set for externally-accessible services");
    } else if outside && policy.is_empty() {
        found.required(&field, "");
    } else if outside && !POLICIES.contains(&policy) {
        found.unsupported(&field, policy, POLICIES);
    }
    let (port, field) = (number(spec, "healthCheckNodePort").unwrap_or_default(), path.child("healthCheckNodePort"));
    match (needs_health_check(spec), port) {
        (false, 0) => {}
        (false, port) => {
            let said = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            found.invalid(field, port, said);
        }
        (true, 0) => found.required(field, ""),
        (true, port) => found.port(&field, port),
    }
    let field = path.child("internalTrafficPolicy");
    match get(spec, "internalTrafficPolicy").as_str() {
        None if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") => found.required(field, ""),
        Some(policy) if !POLICIES.contains(&policy) => found.unsupported(&field, policy, POLICIES),
        _ => {}
    }
    const SPREAD: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
    if let Some(spread) = get(spec, "trafficDistribution").as_str().filter(|spread| !SPREAD.contains(spread)) {
        found.unsupported(&path.child("trafficDistribution"), spread, SPREAD);
    }
}

/// A service's status: what its load balancer says.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let path = Path::new("status").child("loadBalancer").child("ingress");
    let ingress = list(at(new, &["status", "loadBalancer"]), "ingress");
    if text(get(new, "spec"), "type") != "LoadBalancer" && !ingress.is_empty() {
        found.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (i, point) in ingress.iter().enumerate() {
        let path = path.index(i);
        point_ip(found, point, old, &path);
        let (address, mode) = (text(point, "ip"), get(point, "ipMode").as_str());
        let field = path.child("ipMode");
        match (address.is_empty(), mode) {
            (false, None) => found.required(field, "must be specified when `ip` is set"),
            (true, Some(_)) => found.forbidden(field, "may not be specified when `ip` is not set"),
            (false, Some(mode)) if !matches!(mode, "Proxy" | "VIP") => {
                found.unsupported(&field, mode, &["Proxy", "VIP"]);
            }
            _ => {}
        }
        point_host(found, point, &path);
    }
}

/// The address of a point where traffic comes in.
pub(super) fn point_ip(found: &mut Found, point: &Value, old: &Value, path: &Path) {
    let before = list(at(old, &["status", "loadBalancer"]), "ingress");
    let had: Vec<&str> = before.iter().map(|point| text(point, "ip")).filter(|ip| !ip.is_empty()).collect();
    let address = text(point, "ip");
    if !address.is_empty() {
        found.extend(ip::is_ip_legacy(&path.child("ip"), address, &had));
    }
}

/// The host name of a point where traffic comes in.
pub(super) fn point_host(found: &mut Found, point: &Value, path: &Path) {
    let (host, path) = (text(point, "hostname"), path.child("hostname"));
    if !host.is_empty() {
        found.subdomain(&path, host);
        if ip::parse_ip(host).is_some() {
            found.invalid(&path, host, "must be a DNS name, not an IP address");
        }
    }
}
