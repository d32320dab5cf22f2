//! What is served: the older documents one by one, and the newer ones that say all at once.

mod openapi;

pub use openapi::Documents;

use base64::Engine as _;
use http::Response;
use http::header::{ACCEPT, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::request::Parts;
use plimsoll_schema::{GroupVersion, Resource};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::body::Body;
use crate::core::Core;
use crate::health;
use crate::registry::Registry;
use crate::reply;
use crate::request::accept::Offer;
use crate::request::{Accept, Query, Target};
use crate::status::Status;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a discovery path.
pub fn answer(core: &Core, target: &Target, parts: &Parts, query: &Query) -> Result<Response<Body>, Status> {
    let registry = core.registry();
    let accept = Accept::negotiate(&parts.headers, query, Offer { protobuf: true, ..Offer::default() });
    let wants_all = wants_aggregated(parts);
    let document = match target {
        Target::CoreVersions if wants_all => return Ok(aggregated(&registry, true, parts)),
        Target::Groups if wants_all => return Ok(aggregated(&registry, false, parts)),
        Target::CoreVersions => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        }),
        Target::Groups => {
            let groups: Vec<Value> = group_names(&registry).into_iter().map(|name| group(&registry, name)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        Target::Group(name) => {
            if !group_names(&registry).contains(&name.as_str()) {
                return Ok(not_found());
            }
            let mut document = group(&registry, name);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            document
        }
        Target::Resources { group, version } => {
            let found = registry.groups().iter().find(|g| &g.group == group && &g.version == version);
            match found {
                Some(found) => resources(&registry, found),
                None => return Ok(not_found()),
            }
        }
        _ => return other(core, &registry, parts),
    };
    Ok(reply::encoded(200, &document, accept?))
}

fn not_found() -> Response<Body> {
    health::text(404, "404 page not found\n")
}

fn other(core: &Core, registry: &Registry, parts: &Parts) -> Result<Response<Body>, Status> {
    let path = parts.uri.path();
    if path.starts_with("/openapi/") {
        return Ok(openapi::answer(core, registry, parts).unwrap_or_else(not_found));
    }
    if path == "/" {
        let mut paths: Vec<String> = [
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
            "/api",
            "/apis",
            "/apis/",
        ]
        .map(String::from)
        .to_vec();
        paths.extend(group_names(registry).into_iter().map(|name| format!("/apis/{name}")));
        for group in registry.groups() {
            paths.push(match group.group.as_str() {
                "" => format!("/api/{}", group.version),
                name => format!("/apis/{name}/{}", group.version),
            });
        }
        paths.sort();
        return Ok(reply::encoded(200, &json!({"paths": paths}), Accept { pretty: true, ..Accept::default() }));
    }
    Ok(not_found())
}

fn wants_aggregated(parts: &Parts) -> bool {
    let header = parts.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    header.split(',').any(|clause| {
        clause.contains("as=APIGroupDiscoveryList")
            && clause.contains("v=v2")
            && !clause.contains("v=v2beta1")
            && clause.contains("application/json")
    })
}

fn group_names(registry: &Registry) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for group in registry.groups() {
        if !group.group.is_empty() && !names.contains(&group.group.as_str()) {
            names.push(&group.group);
        }
    }
    names
}

fn versions<'a>(registry: &'a Registry, name: &'a str) -> impl Iterator<Item = &'a GroupVersion> {
    registry.groups().iter().filter(move |g| g.group == name)
}

fn group(registry: &Registry, name: &str) -> Value {
    let list: Vec<Value> = versions(registry, name)
        .map(|g| json!({"groupVersion": format!("{name}/{}", g.version), "version": g.version}))
        .collect();
    let preferred = list.first().cloned().unwrap_or_default();
    json!({"name": name, "versions": list, "preferredVersion": preferred})
}

fn resources(registry: &Registry, group: &GroupVersion) -> Value {
    let name =
        if group.group.is_empty() { group.version.clone() } else { format!("{}/{}", group.group, group.version) };
    let mut list = Vec::new();
    for resource in &group.resources {
        let mut entry = legacy(resource);
        if resource.verbs.iter().any(|verb| verb == "watch") {
            entry["storageVersionHash"] = storage_hash(registry, group, resource).into();
        }
        list.push(entry);
        for sub in &resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", resource.resource, sub.subresource), "singularName": "",
                "namespaced": resource.scope == plimsoll_schema::Scope::Namespaced,
                "kind": sub.response_kind.kind, "verbs": sub.verbs,
            });
            let other = (&sub.response_kind.group, &sub.response_kind.version) != (&group.group, &group.version);
            if !sub.response_kind.version.is_empty() && other {
                entry["version"] = sub.response_kind.version.clone().into();
                entry["group"] = sub.response_kind.group.clone().into();
            }
            list.push(entry);
        }
    }
    list.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    let mut document = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": list});
    // The oldest document is older than this field.
    if group.group.is_empty()
        && let Some(fields) = document.as_object_mut()
    {
        fields.remove("apiVersion");
    }
    document
}

/// Tells clients when the stored version changes; upstream makes it of the version's name alone.
fn storage_hash(registry: &Registry, group: &GroupVersion, resource: &Resource) -> String {
    let served = registry.find(&group.group, &group.version, &resource.resource);
    let stored = served.and_then(|s| s.stored_as.as_ref()).map(|s| (s.group.as_str(), s.version.as_str()));
    let (of, version) = stored.unwrap_or((&group.group, &group.version));
    let version = match (of, resource.response_kind.kind.as_str()) {
        // Upstream stores these in the versions from which it may still be rolled back.
        ("certificates.k8s.io", "PodCertificateRequest" | "ClusterTrustBundle") => "v1beta1",
        ("apiextensions.k8s.io", "CustomResourceDefinition") => "v1beta1",
        ("storagemigration.k8s.io", "StorageVersionMigration") => "v1beta1",
        ("resource.k8s.io", "DeviceTaintRule") => "v1beta2",
        _ => version,
    };
    let digest = Sha256::digest(format!("{of}/{version}/{}", resource.response_kind.kind));
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

fn legacy(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.resource, "singularName": resource.singular_resource,
        "namespaced": resource.scope == plimsoll_schema::Scope::Namespaced,
        "kind": resource.response_kind.kind, "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    entry
}

/// All groups in one document.
fn aggregated(registry: &Registry, core: bool, parts: &Parts) -> Response<Body> {
    let names = if core { vec![""] } else { group_names(registry) };
    let items: Vec<Value> = names
        .into_iter()
        .map(|name| {
            let versions: Vec<Value> = versions(registry, name)
                .map(|g| {
                    let resources: Vec<Value> = g.resources.iter().map(aggregated_resource).collect();
                    json!({"version": g.version, "freshness": "Current", "resources": resources})
                })
                .collect();
            let mut metadata = json!({});
            if !name.is_empty() {
                metadata["name"] = name.into();
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let document = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    tagged(&document, AGGREGATED, parts)
}

fn aggregated_resource(resource: &Resource) -> Value {
    let full =
        |kind: &plimsoll_schema::KindRef| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let mut value = serde_json::to_value(resource).unwrap_or_default();
    value["responseKind"] = full(&resource.response_kind);
    for (entry, sub) in value["subresources"].as_array_mut().into_iter().flatten().zip(&resource.subresources) {
        entry["responseKind"] = full(&sub.response_kind);
    }
    value
}

/// A document with an ETag, which clients keep and ask again by.
pub(crate) fn tagged(document: &Value, content_type: &str, parts: &Parts) -> Response<Body> {
    let bytes = serde_json::to_vec(document).unwrap_or_default();
    let hash: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02X}")).collect();
    let tag = format!("\"{hash}\"");
    let known = parts.headers.get(IF_NONE_MATCH).and_then(|v| v.to_str().ok()) == Some(tag.as_str());
    let mut response = if known {
        reply::response(304, content_type, Body::empty())
    } else {
        reply::response(200, content_type, Body::full(bytes))
    };
    let headers = response.headers_mut();
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
