//! Garbage collection: dependents go when their last owner is gone, before it (foreground), or stay without it (orphan).

use std::sync::{Arc, PoisonError};

use serde_json::Value;

use super::Place;
use crate::core::Core;
use crate::registry::Served;
use crate::store::Expect;
use crate::verbs::{Call, DeleteOptions};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Whether an object waits for something to become of its dependents.
pub(super) fn waits(value: &Value) -> bool {
    value["metadata"]["finalizers"].as_array().into_iter().flatten().any(|f| f == ORPHAN || f == FOREGROUND)
}

fn find(core: &Core, place: &Place) -> Option<(Arc<Served>, Value, u64)> {
    let registry = core.registry();
    let served = registry.versions(&place.key).iter().min_by_key(|s| s.stored_as.is_some())?.clone();
    let object = core.store.get(&place.key, &place.namespace, &place.name)?;
    let value = core.value(&served, &object).ok()?;
    Some((served, value, object.revision))
}

fn dependents(core: &Core, uid: &str) -> Vec<Place> {
    core.follow.owners.lock().unwrap_or_else(PoisonError::into_inner).of(uid)
}

/// Whether an owner that a reference names is there. An owner of a kind that is not served counts as there: better kept than lost.
fn exists(core: &Core, reference: &Value, namespace: &str) -> bool {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let registry = core.registry();
    let Some(served) = registry.of_kind(group, version, text("kind")) else { return true };
    let namespace = if served.namespaced() { namespace } else { "" };
    core.store.get(&served.key, namespace, text("name")).is_some_and(|owner| owner.meta.uid() == text("uid"))
}

/// Deletes what this uid owned, unless another owner is left.
pub(super) async fn owner_gone(core: &Arc<Core>, uid: &str) {
    for place in dependents(core, uid) {
        check_owners(core, &place).await;
    }
}

/// Deletes an object whose owners are all gone.
pub(super) async fn check_owners(core: &Arc<Core>, place: &Place) {
    let Some((served, value, _)) = find(core, place) else { return };
    let references = value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    if references.is_empty() || value["metadata"]["deletionTimestamp"].is_string() {
        return;
    }
    let (solid, dangling): (Vec<Value>, Vec<Value>) =
        references.into_iter().partition(|r| exists(core, r, &place.namespace));
    if dangling.is_empty() {
        return;
    }
    if !solid.is_empty() {
        // Another owner is left: only the references to the others go.
        rewrite(core, place, |value| value["metadata"]["ownerReferences"] = solid.clone().into()).await;
        return;
    }
    delete(core, &served, place, &value, "Background").await;
}

async fn delete(core: &Arc<Core>, served: &Arc<Served>, place: &Place, value: &Value, propagation: &str) {
    let options = DeleteOptions {
        uid: value["metadata"]["uid"].as_str().map(str::to_owned),
        // An object that says itself what becomes of its dependents is taken at its word.
        propagation: (!waits(value)).then(|| propagation.to_owned()),
        ..DeleteOptions::default()
    };
    let mut call = Call::internal(core.clone(), served.clone(), &place.namespace, &place.name);
    // Gone or changed meanwhile: another task will come of it.
    let _ = call.delete_one(&place.namespace, &place.name, &options).await;
}

/// An object is being deleted and waits for its dependents.
pub(super) async fn waiting(core: &Arc<Core>, place: &Place) {
    let Some((_, value, _)) = find(core, place) else { return };
    let uid = value["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    if !value["metadata"]["deletionTimestamp"].is_string() || !waits(&value) {
        return;
    }
    let finalizers: Vec<&str> =
        value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if finalizers.contains(&ORPHAN) {
        for dependent in dependents(core, &uid) {
            rewrite(core, &dependent, |value| {
                if let Some(list) = value["metadata"]["ownerReferences"].as_array_mut() {
                    list.retain(|reference| reference["uid"] != uid.as_str());
                }
            })
            .await;
        }
        release(core, place, ORPHAN).await;
        return;
    }
    let mut blocking = false;
    for dependent in dependents(core, &uid) {
        let Some((served, value, _)) = find(core, &dependent) else { continue };
        let blocks = value["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|r| r["uid"] == uid.as_str() && r["blockOwnerDeletion"] == true);
        blocking |= blocks;
        if !value["metadata"]["deletionTimestamp"].is_string() {
            delete(core, &served, &dependent, &value, "Foreground").await;
        }
    }
    let left = dependents(core, &uid).iter().any(|d| find(core, d).is_some());
    if !(blocking && left) {
        release(core, place, FOREGROUND).await;
    }
}

/// Takes a finalizer away.
async fn release(core: &Arc<Core>, place: &Place, finalizer: &str) {
    rewrite(core, place, |value| {
        if let Some(list) = value["metadata"]["finalizers"].as_array_mut() {
            list.retain(|f| f != finalizer);
        }
    })
    .await;
}

/// Changes an object's metadata, again if it changed meanwhile; an object that waited for this is removed.
async fn rewrite(core: &Arc<Core>, place: &Place, change: impl Fn(&mut Value)) {
    for _ in 0..32 {
        let Some((served, mut value, revision)) = find(core, place) else { return };
        let before = value.clone();
        change(&mut value);
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.retain(|_, value| !value.as_array().is_some_and(Vec::is_empty));
        }
        if value == before {
            return;
        }
        let expect = Expect::Revision(revision);
        let outcome = if crate::verbs::ended(&served, &value) {
            core.remove(&served, value, expect).await
        } else {
            core.put(&served, value, expect).await
        };
        if !matches!(outcome, Ok(Err(_))) {
            return;
        }
    }
}
