//! Whole documents: paths, and the types that they lead to.

use plimsoll_schema::{GroupVersion, Table};
use serde_json::{Map, Value, json};

use super::components::{self, Owner, meta};
use super::custom;
use super::operation::{Forms, single};
use super::paths::{Paths, group_name, prefix, word};
use crate::registry::{Registry, Served};

/// The forms of answers that are no objects of a kind.
const PLAIN: [&str; 3] = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

/// The documents that do not depend on what is served, by their place under `/openapi/v3/`.
pub(super) fn fixed(table: &Table) -> Vec<(String, Value)> {
    let json = ["application/json"];
    let keys = ["application/jwk-set+json"];
    let configuration = "/.well-known/openid-configuration/";
    let (versions, groups) = (meta("APIVersions"), meta("APIGroupList"));
    let of = |path: &str, single: (String, Value)| (path.to_owned(), whole(table, [single].into_iter().collect()));
    vec![
        of(
            ".well-known/openid-configuration",
            single(configuration, "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", &json, None),
        ),
        of("openid/v1/jwks", single("/openid/v1/jwks/", "openid", "getServiceAccountIssuerOpenIDKeyset", &keys, None)),
        of(
            "version",
            single("/version/", "version", "getCodeVersion", &json, Some("io.k8s.apimachinery.pkg.version.Info")),
        ),
        of("api", single("/api/", "core", "getCoreAPIVersions", &PLAIN, Some(&versions))),
        of("apis", single("/apis/", "apis", "getAPIVersions", &PLAIN, Some(&groups))),
    ]
}

/// The document of a group as a whole; core has none.
pub(super) fn group(table: &Table, group: &str) -> (String, Value) {
    let name = group_name(group);
    let id = format!("get{}APIGroup", word(name, true));
    let one = single(&format!("/apis/{group}/"), &word(name, false), &id, &PLAIN, Some(&meta("APIGroup")));
    (format!("apis/{group}"), whole(table, [one].into_iter().collect()))
}

fn whole(table: &Table, paths: Map<String, Value>) -> Value {
    finish(table, Owner { group: "", version: "v1" }, paths, Map::new(), true)
}

/// The document of a group and version.
pub(super) fn version(table: &Table, registry: &Registry, group: &GroupVersion) -> (String, Value) {
    let owner = Owner { group: &group.group, version: &group.version };
    let name = group_name(&group.group);
    let tag = format!("{}_{}", word(name, false), word(&group.version, false));
    let group_word = format!("{}{}", word(name, true), word(&group.version, true));
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let mut builtin = false;
    for resource in &group.resources {
        let served = registry.find(&group.group, &group.version, &resource.resource);
        let Some((forms, object, list)) = served.and_then(|served| types(table, served, &mut schemas)) else {
            continue;
        };
        builtin |= forms == Forms::Builtin;
        let (tag, group_word) = (tag.clone(), group_word.clone());
        Paths { table, owner, resource, object, list, forms, tag, group_word }.write(&mut paths);
    }
    if builtin {
        let id = format!("get{group_word}APIResources");
        let (path, item) = single(&format!("{}/", prefix(owner)), &tag, &id, &PLAIN, Some(&meta("APIResourceList")));
        paths.insert(path, item);
    }
    let place = prefix(owner).trim_start_matches('/').to_owned();
    (place, finish(table, owner, paths, schemas, builtin))
}

/// The components of a resource's objects and lists. Those of custom resources are added here; the others follow from references.
fn types(table: &Table, served: &Served, schemas: &mut Map<String, Value>) -> Option<(Forms, String, String)> {
    if served.custom.is_some() {
        let (object, list) = custom::add(served, schemas);
        return Some((Forms::Custom, object, list));
    }
    let object = served.schema().as_struct()?.name.to_string();
    let list = table.kind(&served.group, &served.version, &served.list_kind());
    let list = list.map_or_else(|| object.clone(), |id| table.get(id).name.to_string());
    Some((Forms::Builtin, object, list))
}

/// Adds all that is referred to, and the frame.
fn finish(
    table: &Table,
    owner: Owner<'_>,
    paths: Map<String, Value>,
    mut schemas: Map<String, Value>,
    builtin: bool,
) -> Value {
    let paths = Value::Object(paths);
    let mut wanted = Vec::new();
    components::references(&paths, &mut wanted);
    schemas.values().for_each(|schema| components::references(schema, &mut wanted));
    while let Some(name) = wanted.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        if let Some(schema) = components::component(table, &name, owner) {
            components::references(&schema, &mut wanted);
            schemas.insert(name, schema);
        }
    }
    let mut all = json!({});
    if !schemas.is_empty() {
        all["schemas"] = schemas.into();
    }
    if builtin {
        all["securitySchemes"] = json!({"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}});
    }
    let info = match builtin {
        true => json!({"title": "Kubernetes", "version": "1.37"}),
        false => json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}),
    };
    json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": all})
}
