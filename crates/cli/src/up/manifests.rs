//! `-f`: what the cluster begins with.
//!
//! Everything is read before anything is started, so that a typing error costs nothing. It is then applied (server-side) in
//! the input's order, namespaces and definitions of custom resources first.

use std::path::PathBuf;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use plimsoll_api::manifest::Whole;
use plimsoll_apiserver::core::Core;
use plimsoll_runtime::error::chain;
use serde_json::Value;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::load::files;
use crate::printer::Printer;

/// Who is said to manage the fields.
pub const MANAGER: &str = "plimsoll-up";

/// How long a namespace's service account is waited for, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);

/// Reads what `-f` names.
pub fn read(paths: &[PathBuf], printer: &mut Printer) -> Result<Vec<Whole>, Failure> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut objects = files::whole(paths)?;
    if objects.is_empty() {
        // The likeliest cause is a command before a pipe that failed.
        printer.note("-f: the input has no objects");
    }
    let storage: Vec<String> = objects
        .iter()
        .filter(|o| {
            text(&o.object, "kind") == "SimulatedStorage" && text(&o.object, "apiVersion").starts_with("plimsoll.dev/")
        })
        .map(|o| format!("{}: {}: nothing here makes volumes of it yet", o.place, called(&o.object)))
        .collect();
    if !storage.is_empty() {
        return Err(Failure::all(storage)
            .help("take it out; the class local makes volumes that are directories, on every node"));
    }
    objects.sort_by_key(|o| !matches!(text(&o.object, "kind"), "Namespace" | "CustomResourceDefinition"));
    Ok(objects)
}

/// Applies all of it; every document that is refused is named.
pub async fn apply(objects: &[Whole], core: &Core, client: &Client) -> Result<(), Failure> {
    let mut problems = Vec::new();
    for whole in objects {
        let end = Instant::now() + PATIENCE;
        let mut done = apply_one(&whole.object, core, client).await;
        // The account of a namespace that was made a moment ago is on its way.
        while let Err(why) = &done
            && why.contains("error looking up service account")
            && Instant::now() < end
        {
            tokio::time::sleep(AGAIN).await;
            done = apply_one(&whole.object, core, client).await;
        }
        if let Err(why) = done {
            problems.push(format!("{}: {}: {why}", whole.place, called(&whole.object)));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let (refused, all) = (problems.len(), objects.len());
    Err(Failure::all(problems).help(match all - refused {
        0 => "correct the input and start again".to_owned(),
        kept => format!("correct the input and start again; the other {kept} of {all} documents are in the cluster"),
    }))
}

async fn apply_one(object: &Value, core: &Core, client: &Client) -> Result<(), String> {
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let registry = core.registry();
    let served = registry.of_kind(group, version, kind);
    let served = served.ok_or_else(|| unknown(core, api_version, kind))?;
    let (named, space) = (text(&object["metadata"], "name"), text(&object["metadata"], "namespace"));
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let place = match (served.namespaced(), space) {
        (false, "") => String::new(),
        (false, _) => return Err(format!("metadata.namespace: a {kind} is in no namespace")),
        (true, "") => "/namespaces/default".to_owned(),
        (true, space) => format!("/namespaces/{space}"),
    };
    let collection = format!("{root}{place}/{}", served.resource.resource);
    let mut query = format!("fieldManager={MANAGER}&fieldValidation=Strict");
    let generated = named.is_empty() && !text(&object["metadata"], "generateName").is_empty();
    if named.is_empty() && !generated {
        return Err("metadata.name: is missing".to_owned());
    }
    let (method, path, media) = if generated {
        (Method::POST, collection, "application/json")
    } else {
        query.push_str("&force=true");
        (Method::PATCH, format!("{collection}/{named}"), "application/apply-patch+yaml")
    };
    let object = without_history(object, kind);
    let request = Request::builder().method(method).uri(format!("{path}?{query}")).header("content-type", media);
    let request = request.body(object.to_string().into_bytes()).map_err(|e| format!("metadata.name: {e}"))?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => Err(chain(&error)),
    }
}

/// What is said of a kind that is not served: an old version of one that is, or a custom resource without its definition.
fn unknown(core: &Core, api_version: &str, kind: &str) -> String {
    let mut others: Vec<String> =
        core.registry().stored().iter().filter(|s| s.kind == kind).map(|s| s.api_version()).collect();
    others.sort_unstable();
    let hint = match others.as_slice() {
        [] => "its CustomResourceDefinition is neither here nor in the input".to_owned(),
        others => format!("there is one of {}", others.join(" and of ")),
    };
    format!("this cluster knows no kind {kind} of {api_version}; {hint}")
}

/// An object as its user means it: a dump also carries what a server filled in, and whom it knew by uids that mean nothing here.
///
/// Left in, they would cost data: a volume whose claim has another uid counts as released, and its directory is removed; an
/// object whose owner is not there is garbage.
fn without_history(object: &Value, kind: &str) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "managedFields",
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "generation",
            "selfLink",
            "ownerReferences",
        ] {
            metadata.remove(field);
        }
    }
    if kind == "PersistentVolume"
        && let Some(claim) = object.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut)
    {
        claim.remove("uid");
        claim.remove("resourceVersion");
    }
    object
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// What messages call an object.
fn called(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = [text(metadata, "name"), text(metadata, "generateName")].into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or("without a name");
    match text(metadata, "namespace") {
        "" => format!("{} {name}", text(object, "kind")),
        space => format!("{} {space}/{name}", text(object, "kind")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn uids_of_another_cluster_are_left_behind() {
        let volume = json!({"kind": "PersistentVolume", "metadata": {"name": "v", "uid": "old", "resourceVersion": "7",
                "annotations": {"a": "b"}, "ownerReferences": [{"uid": "gone"}]},
            "spec": {"claimRef": {"namespace": "n", "name": "c", "uid": "old", "resourceVersion": "5"}, "capacity": {}}});
        let wanted = json!({"kind": "PersistentVolume", "metadata": {"name": "v", "annotations": {"a": "b"}},
            "spec": {"claimRef": {"namespace": "n", "name": "c"}, "capacity": {}}});
        assert_eq!(without_history(&volume, "PersistentVolume"), wanted);
        let free = json!({"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"capacity": {}}});
        assert_eq!(without_history(&free, "PersistentVolume"), free);
    }
}
