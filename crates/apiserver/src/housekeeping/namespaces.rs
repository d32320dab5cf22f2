//! A namespace that is being deleted takes its content along, and says in its conditions what still holds it.
//!
//! ```text
//!                                     some are left                           something is left
//!   deleting ─► pods are deleted ───────────────────► (waits)    ┌──────────────────────────────► (waits)
//!                    │ none is left                              │
//!                    └────────────────► all else is deleted ─────┤ nothing is left
//!                                                                └──────► the finalizer goes, and the namespace
//! ```
//! Pods go first, as upstream has it: what they use must not go while they run. Who waits is looked at again when something
//! goes, and after a while, since some of what is said depends on the time only.

mod conditions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::core::Core;
use crate::registry::Served;
use crate::store::{Expect, ListRequest, Object};
use crate::verbs::{Call, DeleteOptions};

/// How long finalizers are taken to need: upstream's guess.
const FINALIZERS: i64 = 15;
/// When what should have been deleted and was not is looked at again.
const FAILED: Duration = Duration::from_secs(15);

/// What was found while a namespace was emptied.
#[derive(Debug, Default)]
struct Left {
    /// How many objects are left, by resource and group.
    remaining: BTreeMap<String, usize>,
    /// How many of them have which finalizer.
    finalizers: BTreeMap<String, usize>,
    /// What could not be deleted, and why.
    failures: Vec<String>,
    /// How long it may take, in seconds; 0 where that is not known.
    estimate: i64,
}

/// Deletes what is in the namespace, and lets it go when nothing is left. Otherwise says when to look again.
pub(super) async fn empty(core: &Arc<Core>, name: &str) -> Option<Duration> {
    let registry = core.registry();
    let namespaces = registry.of_group("", "namespaces")?;
    let (namespace, _) = deleting(core, namespaces, name)?;
    let since = namespace["metadata"]["deletionTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let mut left = Left::default();
    let all: Vec<Arc<Served>> =
        registry.stored().into_iter().filter(|s| s.namespaced() && s.allows("delete")).collect();
    let (pods, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|s| &*s.key == "pods");
    for served in &pods {
        let grace = grace(core, served, name, since);
        delete_all(core, served, name, grace, &mut left).await;
    }
    if !left.remaining.is_empty() {
        // Upstream has not counted yet when it says this.
        let said = Left { failures: left.failures.clone(), ..Left::default() };
        conditions::write(core, namespaces, name, &said).await;
        return Some(again(&left));
    }
    for served in &others {
        delete_all(core, served, name, 0, &mut left).await;
    }
    conditions::write(core, namespaces, name, &left).await;
    if !left.remaining.is_empty() || !left.failures.is_empty() {
        return Some(again(&left));
    }
    finalize(core, namespaces, name).await;
    None
}

/// The namespace, if it is being deleted and still held.
fn deleting(core: &Core, namespaces: &Served, name: &str) -> Option<(Value, u64)> {
    let object = core.store.get("namespaces", "", name)?;
    let value = core.value(namespaces, &object).ok()?;
    let held = value["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    (held && value["metadata"]["deletionTimestamp"].is_string()).then_some((value, object.revision))
}

fn again(left: &Left) -> Duration {
    match u64::try_from(left.estimate) {
        Ok(seconds) if seconds > 0 && left.failures.is_empty() => Duration::from_secs(seconds / 2 + 1),
        _ => FAILED,
    }
}

fn list(core: &Core, served: &Served, namespace: &str) -> Vec<Arc<Object>> {
    let request = ListRequest { namespace: Some(namespace), ..ListRequest::default() };
    core.store.list(&served.key, &request).map(|list| list.items).unwrap_or_default()
}

/// How many seconds the pods may take to end; 0 where that time is over.
fn grace(core: &Core, pods: &Served, namespace: &str, since: Option<Timestamp>) -> i64 {
    let running = list(core, pods, namespace).into_iter().filter_map(|object| core.value(pods, &object).ok());
    let running = running.filter(|pod| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")));
    let longest = running.filter_map(|pod| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).max().unwrap_or(0);
    let passed = since.map_or(0, |since| core.clock.now().duration_since(since).as_secs());
    if passed >= longest { 0 } else { longest }
}

/// Deletes the objects of one resource, and counts what is left of them. `estimate` is how long they may take to go.
async fn delete_all(core: &Arc<Core>, served: &Arc<Served>, namespace: &str, estimate: i64, left: &mut Left) {
    let mut failure = None;
    for object in list(core, served, namespace) {
        let mut call = Call::internal(core.clone(), served.clone(), namespace, object.name());
        let options = DeleteOptions { propagation: Some("Background".into()), ..DeleteOptions::default() };
        match call.delete_one(namespace, object.name(), &options).await {
            // Gone or changed meanwhile: what is left below tells.
            Err(status) if !matches!(status.code, 404 | 409) => failure = Some(status.message),
            _ => {}
        }
    }
    let remaining = list(core, served, namespace);
    left.estimate = left.estimate.max(estimate);
    if remaining.is_empty() {
        return;
    }
    let (group, resource) = (&served.group, &served.resource.resource);
    left.remaining.insert(format!("{resource}.{group}"), remaining.len());
    let mut held = false;
    for object in &remaining {
        let Ok(value) = core.value(served, object) else { continue };
        for finalizer in value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            held = true;
        }
    }
    if failure.is_none() && estimate == 0 {
        if held {
            left.estimate = left.estimate.max(FINALIZERS);
        } else {
            let version = &served.version;
            failure = Some(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={resource}"
            ));
        }
    }
    left.failures.extend(failure);
}

/// Takes the finalizer away; a namespace that waited for nothing else is removed.
async fn finalize(core: &Arc<Core>, namespaces: &Served, name: &str) {
    for _ in 0..32 {
        let Some((mut value, revision)) = deleting(core, namespaces, name) else { return };
        // Where others have finalizers of their own there is nothing left to do here; to write the same again would go on for ever.
        let Some(list) = value["spec"]["finalizers"].as_array_mut().filter(|l| l.iter().any(|f| f == "kubernetes"))
        else {
            return;
        };
        list.retain(|f| f != "kubernetes");
        if value["spec"]["finalizers"].as_array().is_some_and(Vec::is_empty)
            && let Some(spec) = value["spec"].as_object_mut()
        {
            spec.remove("finalizers");
        }
        let done = crate::verbs::ended(namespaces, &value);
        let expect = Expect::Revision(revision);
        let outcome =
            if done { core.remove(namespaces, value, expect).await } else { core.put(namespaces, value, expect).await };
        if !matches!(outcome, Ok(Err(_))) {
            return;
        }
    }
}
