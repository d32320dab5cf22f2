//! From definitions to served resources.

use std::cmp::Ordering;
use std::sync::Arc;

use plimsoll_schema::{KindRef, Resource, Scope, Subresource};
use serde_json::Value;

use super::definition::{is_deleting, is_true};
use super::schema::Node;
use super::{CustomResource, Scale, types};
use crate::columns::CustomColumns;
use crate::registry::{Served, StoredAs};

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What the stored definitions serve: one entry per served version, groups by name, newer versions first.
pub fn served(definitions: &[Arc<Value>]) -> Vec<Arc<Served>> {
    let mut all: Vec<Arc<Served>> = definitions.iter().flat_map(|definition| versions(definition)).collect();
    all.sort_by(|a, b| {
        let newer_first = compare_versions(&b.version, &a.version);
        a.group.cmp(&b.group).then(newer_first).then_with(|| a.resource.resource.cmp(&b.resource.resource))
    });
    all
}

fn versions(definition: &Value) -> Vec<Arc<Served>> {
    if !is_true(definition, "Established") && !is_true(definition, "NamesAccepted") {
        return Vec::new();
    }
    let spec = &definition["spec"];
    let list = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(stored) = list.iter().find(|version| version["storage"] == true) else { return Vec::new() };
    let storage_node = Arc::new(Node::root(&stored["schema"]["openAPIV3Schema"]));
    let common = Common { definition, stored, node: storage_node };
    list.iter().filter(|version| version["served"] == true).map(|version| Arc::new(one(&common, version))).collect()
}

struct Common<'a> {
    definition: &'a Value,
    stored: &'a Value,
    node: Arc<Node>,
}

fn selectable_paths(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    fields.iter().filter_map(|field| field["jsonPath"].as_str()).map(|p| p.trim_start_matches('.').to_owned()).collect()
}

fn one(common: &Common<'_>, version: &Value) -> Served {
    let spec = &common.definition["spec"];
    let names = &common.definition["status"]["acceptedNames"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let (group, name) = (text(&spec["group"]), text(&version["name"]));
    let (plural, kind) = (text(&names["plural"]), text(&names["kind"]));
    let is_stored = common.stored["name"] == version["name"];
    let node =
        if is_stored { common.node.clone() } else { Arc::new(Node::root(&version["schema"]["openAPIV3Schema"])) };
    let (table, ty) = types::table(&node, &kind);
    let parts = &version["subresources"];
    let scale = parts["scale"].is_object().then(|| Scale {
        spec_replicas: text(&parts["scale"]["specReplicasPath"]),
        status_replicas: text(&parts["scale"]["statusReplicasPath"]),
        label_selector: parts["scale"]["labelSelectorPath"].as_str().map(str::to_owned),
    });
    let has_status = parts["status"].is_object();
    let own_kind = || KindRef { group: group.clone(), version: name.clone(), kind: kind.clone() };
    let mut subresources = Vec::new();
    let verbs = || PART_VERBS.map(str::to_owned).to_vec();
    if has_status {
        subresources.push(Subresource { subresource: "status".into(), response_kind: own_kind(), verbs: verbs() });
    }
    if scale.is_some() {
        let kind = KindRef { group: "autoscaling".into(), version: "v1".into(), kind: "Scale".into() };
        subresources.push(Subresource { subresource: "scale".into(), response_kind: kind, verbs: verbs() });
    }
    let scope = if spec["scope"] == "Cluster" { Scope::Cluster } else { Scope::Namespaced };
    let custom = CustomResource {
        group: group.clone(),
        version: name.clone(),
        kind: kind.clone(),
        namespaced: scope == Scope::Namespaced,
        list_kind: text(&names["listKind"]),
        has_status,
        scale,
        columns: CustomColumns::new(version),
        deprecation: deprecation(spec, version, &group, &kind),
        terminating: is_deleting(common.definition),
        webhook: (!is_stored && spec["conversion"]["strategy"] == "Webhook").then(|| text(&common.stored["name"])),
        node,
        storage: common.node.clone(),
        selectable: selectable_paths(version),
        schema: version["schema"]["openAPIV3Schema"].clone(),
    };
    let resource = Resource {
        resource: plural.clone(),
        response_kind: own_kind(),
        scope,
        singular_resource: text(&names["singular"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        verbs: VERBS.map(str::to_owned).to_vec(),
        subresources,
    };
    let stored_as = (!is_stored).then(|| StoredAs { group: group.clone(), version: text(&common.stored["name"]) });
    let key = format!("{group}/{plural}").into();
    Served::new(&group, &name, resource, key, stored_as, table, ty, Some(Arc::new(custom)))
}

/// What every request to a deprecated version is warned of.
fn deprecation(spec: &Value, version: &Value, group: &str, kind: &str) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(text) = version["deprecationWarning"].as_str() {
        return Some(text.to_owned());
    }
    let name = version["name"].as_str().unwrap_or_default();
    let newest = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .filter(|other| compare_versions(name, other) == Ordering::Less)
        .max_by(|a, b| compare_versions(a, b));
    let text = format!("{group}/{name} {kind} is deprecated");
    Some(match newest {
        Some(newest) => format!("{text}; use {group}/{newest} {kind}"),
        None => text,
    })
}

/// Versions by how far they have come: stable over beta over alpha, higher numbers over lower; others below them, by name from z to a.
pub(super) fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// How stable, the number, and the number of the alpha or beta.
fn parts(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = |text: &str| if text.starts_with('0') { None } else { text.parse::<u64>().ok() };
    let major = number(&rest[..digits])?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    if let Some(minor) = rest.strip_prefix("beta") {
        return Some((1, major, number(minor)?));
    }
    Some((0, major, number(rest.strip_prefix("alpha")?)?))
}
