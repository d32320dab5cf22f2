//! A namespace that is being deleted takes its content along.

use std::sync::Arc;

use crate::core::Core;
use crate::store::{Expect, ListRequest};
use crate::verbs::{Call, DeleteOptions};

/// Deletes what is in the namespace, and lets it go when nothing is left. What has finalizers is met again when it goes.
pub(super) async fn empty(core: &Arc<Core>, name: &str) {
    let registry = core.registry();
    let Some(namespaces) = registry.of_group("", "namespaces") else { return };
    let deleting = |core: &Core| {
        let object = core.store.get("namespaces", "", name)?;
        let value = core.value(namespaces, &object).ok()?;
        value["metadata"]["deletionTimestamp"].is_string().then_some((value, object.revision))
    };
    if deleting(core).is_none() {
        return;
    }
    let mut left = 0;
    for served in registry.stored().into_iter().filter(|s| s.namespaced() && s.allows("delete")) {
        let request = ListRequest { namespace: Some(name), ..ListRequest::default() };
        let Ok(list) = core.store.list(&served.key, &request) else { continue };
        for object in list.items {
            let mut call = Call::internal(core.clone(), served.clone(), name, object.name());
            let options = DeleteOptions { propagation: Some("Background".into()), ..DeleteOptions::default() };
            let _ = call.delete_one(name, object.name(), &options).await;
        }
        left += core.store.list(&served.key, &request).map_or(0, |list| list.items.len());
    }
    if left > 0 {
        return;
    }
    for _ in 0..32 {
        let Some((mut value, revision)) = deleting(core) else { return };
        if let Some(list) = value["spec"]["finalizers"].as_array_mut() {
            list.retain(|f| f != "kubernetes");
        }
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
