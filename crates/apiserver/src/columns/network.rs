//! Services, endpoints, ingresses and the rest of the network's kinds.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::labels::{labels, selector};
use super::view::View;

/// How many addresses, ports or hosts are printed before the rest is only counted.
const SHOWN: usize = 3;

fn name(object: View<'_>) -> Value {
    json!(object.at("metadata.name").text())
}

fn and_more(shown: &[String], more: usize) -> String {
    let text = shown.join(",");
    if more == 0 { text } else { format!("{text} + {more} more...") }
}

/// A list's first entries and how many more there are, or that there is none.
fn few(all: &[String]) -> String {
    let text = and_more(all.get(..SHOWN).unwrap_or(all), all.len().saturating_sub(SHOWN));
    if text.is_empty() { "<unset>".to_owned() } else { text }
}

/// A service.
pub(super) fn service(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let ports = spec.at("ports");
    vec![
        name(object),
        json!(spec.at("type").text()),
        json!(spec.at("clusterIPs").first().text_or(spec.at("clusterIP").text_or("<none>"))),
        json!(external_ip(object)),
        json!(if ports.len() == 0 { "<none>".to_owned() } else { service_ports(ports) }),
        json!(age(object, now)),
        json!(labels(spec.at("selector"))),
    ]
}

fn service_ports(ports: View<'_>) -> String {
    let port = |p: View<'_>| match (p.at("port").number(), p.at("nodePort").number(), p.at("protocol").text()) {
        (port, node @ 1.., protocol) => format!("{port}:{node}/{protocol}"),
        (port, _, protocol) => format!("{port}/{protocol}"),
    };
    ports.items().map(port).collect::<Vec<_>>().join(",")
}

fn external_ip(object: View<'_>) -> String {
    let spec = object.at("spec");
    let given = spec.at("externalIPs").join(",");
    let balanced = match spec.at("type").text() {
        "ClusterIP" | "NodePort" if given.is_empty() => return "<none>".to_owned(),
        "ClusterIP" | "NodePort" => return given,
        "ExternalName" => return spec.at("externalName").text().to_owned(),
        "LoadBalancer" => load_balancer(object),
        _ => return "<unknown>".to_owned(),
    };
    match (balanced.as_str(), given.as_str()) {
        ("", "") => "<pending>".to_owned(),
        (only, "") | ("", only) => only.to_owned(),
        (balanced, given) => format!("{balanced},{given}"),
    }
}

/// Where a load balancer is reached, each once and in order.
fn load_balancer(object: View<'_>) -> String {
    let points = object.at("status.loadBalancer.ingress");
    let all: BTreeSet<&str> =
        points.items().map(|p| p.at("ip").text_or(p.at("hostname").text())).filter(|p| !p.is_empty()).collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

/// Endpoints.
pub(super) fn endpoints(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let subsets = object.at("subsets");
    let mut all = Vec::new();
    for subset in subsets.items() {
        let addresses = || subset.at("addresses").items().map(|a| a.at("ip").text());
        if subset.at("ports").len() == 0 {
            // Headless services may have no ports.
            all.extend(addresses().map(str::to_owned));
        }
        for port in subset.at("ports").items() {
            all.extend(addresses().map(|ip| host_port(ip, port.at("port").number())));
        }
    }
    let shown = match subsets.len() {
        0 => "<none>".to_owned(),
        _ => and_more(all.get(..SHOWN).unwrap_or(&all), all.len().saturating_sub(SHOWN)),
    };
    vec![name(object), json!(shown), json!(age(object, now))]
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains([':', '%']) { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// A slice of endpoints.
pub(super) fn endpoint_slice(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let port = |p: View<'_>| match p.at("port").some() {
        Some(port) => port.number().to_string(),
        None => p.at("name").text_unless_absent("*").to_owned(),
    };
    let ports: Vec<String> = object.at("ports").items().map(port).collect();
    let addresses: Vec<String> = object
        .at("endpoints")
        .items()
        .flat_map(|e| e.at("addresses").items().map(|a| a.text().to_owned()).collect::<Vec<_>>())
        .collect();
    vec![
        name(object),
        json!(object.at("addressType").text()),
        json!(few(&ports)),
        json!(few(&addresses)),
        json!(age(object, now)),
    ]
}

/// An ingress.
pub(super) fn ingress(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    vec![
        name(object),
        json!(spec.at("ingressClassName").text_unless_absent("<none>")),
        json!(hosts(spec.at("rules"))),
        json!(load_balancer(object)),
        json!(if spec.at("tls").len() == 0 { "80" } else { "80, 443" }),
        json!(age(object, now)),
    ]
}

/// The hosts of an ingress. What is left out is counted by rules, those without a host too, as upstream does.
fn hosts(rules: View<'_>) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut full = false;
    for rule in rules.items() {
        full |= shown.len() == SHOWN;
        let host = rule.at("host").text();
        if !full && !host.is_empty() {
            shown.push(host.to_owned());
        }
    }
    if shown.is_empty() {
        return "*".to_owned();
    }
    and_more(&shown, if full { rules.items().len().saturating_sub(SHOWN) } else { 0 })
}

/// A class of ingresses.
pub(super) fn ingress_class(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let annotation = object.at("metadata.annotations").key("ingressclass.kubernetes.io/is-default-class");
    let mark = if annotation.text() == "true" { " (default)" } else { "" };
    let parameters = object.at("spec.parameters").some().map_or_else(
        || "<none>".to_owned(),
        |p| {
            let group = p.at("apiGroup").some().map_or_else(String::new, |g| format!(".{}", g.text()));
            format!("{}{group}/{}", p.at("kind").text(), p.at("name").text())
        },
    );
    vec![
        json!(format!("{}{mark}", object.at("metadata.name").text())),
        json!(object.at("spec.controller").text()),
        json!(parameters),
        json!(age(object, now)),
    ]
}

/// A network policy.
pub(super) fn network_policy(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(selector(object.at("spec.podSelector"))), json!(age(object, now))]
}

/// A range of service addresses.
pub(super) fn service_cidr(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("spec.cidrs").join(",")), json!(age(object, now))]
}

/// An address in use. It has an age though there is no column for it: upstream sends one cell more than columns.
pub(super) fn ip_address(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let parent = object.at("spec.parentRef").some().map_or_else(
        || "<none>".to_owned(),
        |parent| {
            let mut resource = parent.at("resource").text().to_lowercase();
            for (separator, part) in [(".", "group"), ("/", "namespace"), ("/", "name")] {
                let text = parent.key(part).text();
                let text = if part == "group" { text.to_lowercase() } else { text.to_owned() };
                if part == "name" || !text.is_empty() {
                    resource = format!("{resource}{separator}{text}");
                }
            }
            resource
        },
    );
    vec![name(object), json!(parent), json!(age(object, now))]
}
