//! The conditions of a namespace that is being deleted, in upstream's words.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Left, deleting};
use crate::core::Core;
use crate::registry::Served;
use crate::store::Expect;
use crate::verbs::Call;

/// Who is said to have written them.
const MANAGER: &str = "kube-controller-manager";

/// Type, reason and message of each condition where nothing is wrong, in the order in which they stand.
const FINE: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// Says what was found, where that is not what the conditions say already.
pub(super) async fn write(core: &Arc<Core>, namespaces: &Arc<Served>, name: &str, left: &Left) {
    for _ in 0..32 {
        let Some((old, revision)) = deleting(core, namespaces, name) else { return };
        let mut new = old.clone();
        if !update(&mut new["status"]["conditions"], left, &core.now_text()) {
            return;
        }
        let call = Call::internal(core.clone(), namespaces.clone(), "", name);
        call.own(Some(&old), &mut new, MANAGER, "status");
        if !matches!(core.put(namespaces, new, Expect::Revision(revision)).await, Ok(Err(_))) {
            return;
        }
    }
}

/// Brings the conditions up to date; false where they were.
fn update(conditions: &mut Value, left: &Left, now: &str) -> bool {
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return false };
    let mut changed = false;
    for (kind, reason, message) in FINE {
        let wrong = wrong(kind, left);
        let status = if wrong.is_some() { "True" } else { "False" };
        let (reason, message) = wrong.unwrap_or_else(|| (reason, message.to_owned()));
        let Some(old) = list.iter_mut().find(|condition| condition["type"] == kind) else {
            list.push(json!({
                "type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
            }));
            changed = true;
            continue;
        };
        if old["status"] == status && old["reason"] == reason && old["message"] == message.as_str() {
            continue;
        }
        if old["status"] != status {
            old["lastTransitionTime"] = now.into();
        }
        (old["status"], old["reason"], old["message"]) = (status.into(), reason.into(), message.into());
        changed = true;
    }
    changed
}

/// Reason and message of a condition where something is wrong. This server always knows what it serves, so that the first two
/// have nothing to say.
fn wrong(kind: &str, left: &Left) -> Option<(&'static str, String)> {
    let counted = |counts: &BTreeMap<String, usize>, middle: &str| {
        // Sorted as the sentences are, not as the names: `a.b has` comes before `a has`.
        let mut parts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {middle} {count} resource instances")).collect();
        parts.sort_unstable();
        parts.join(", ")
    };
    match kind {
        "NamespaceDeletionContentFailure" if !left.failures.is_empty() => {
            let mut failures = left.failures.clone();
            failures.sort_unstable();
            let (count, failures) = (failures.len(), failures.join(", "));
            let message = format!("Failed to delete all resource types, {count} remaining: {failures}");
            Some(("ContentDeletionFailed", message))
        }
        "NamespaceContentRemaining" if !left.remaining.is_empty() => {
            let message = format!("Some resources are remaining: {}", counted(&left.remaining, "has"));
            Some(("SomeResourcesRemain", message))
        }
        "NamespaceFinalizersRemaining" if !left.finalizers.is_empty() => {
            let message =
                format!("Some content in the namespace has finalizers remaining: {}", counted(&left.finalizers, "in"));
            Some(("SomeFinalizersRemain", message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_upstreams() {
        let mut conditions = Value::Null;
        let mut left = Left::default();
        left.remaining.insert("configmaps.".into(), 2);
        left.remaining.insert("jobs.batch".into(), 1);
        left.finalizers.insert("example.com/hold".into(), 3);
        assert!(update(&mut conditions, &left, "t1"));
        assert!(!update(&mut conditions, &left, "t2"), "the same is not said twice");
        let said: Vec<String> = conditions
            .as_array()
            .unwrap()
            .iter()
            .map(|c| format!("{}={}:{}:{}", c["type"], c["status"], c["reason"], c["message"]).replace('"', ""))
            .collect();
        assert_eq!(
            said,
            [
                "NamespaceDeletionDiscoveryFailure=False:ResourcesDiscovered:All resources successfully discovered",
                "NamespaceDeletionGroupVersionParsingFailure=False:ParsedGroupVersions:All legacy kube types successfully parsed",
                "NamespaceDeletionContentFailure=False:ContentDeleted:All content successfully deleted, may be waiting on finalization",
                "NamespaceContentRemaining=True:SomeResourcesRemain:Some resources are remaining: configmaps. has 2 resource instances, jobs.batch has 1 resource instances",
                "NamespaceFinalizersRemaining=True:SomeFinalizersRemain:Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances",
            ]
        );
    }

    #[test]
    fn the_time_is_that_of_the_last_turn() {
        let mut conditions = Value::Null;
        let failing = |why: &str| Left { failures: vec![why.into()], ..Left::default() };
        update(&mut conditions, &failing("a"), "t1");
        update(&mut conditions, &failing("b"), "t2");
        let at = |conditions: &Value, index: usize| conditions[index]["lastTransitionTime"].clone();
        assert_eq!((at(&conditions, 2), at(&conditions, 3)), ("t1".into(), "t1".into()));
        assert_eq!(conditions[2]["message"], "Failed to delete all resource types, 1 remaining: b");
        update(&mut conditions, &Left::default(), "t3");
        assert_eq!((at(&conditions, 2), at(&conditions, 3)), ("t3".into(), "t1".into()));
    }
}
