//! Whom a change of a child concerns: the owner it had, the owner it has, and, where it has none, those who would take it.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_api::kinds::ObjectMeta;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Change, Mirror, Mirrored, Queue, Resource};

use super::matches;
use crate::kinds::Workload;

/// The key of the owner of this kind that controls an object.
pub fn controller_key(meta: &ObjectMeta, resource: Resource) -> Option<ObjectKey> {
    let owner = meta.controller()?;
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    (owner.kind == resource.kind && group == resource.group)
        .then(|| ObjectKey::new(meta.namespace.as_str(), owner.name.as_str()))
}

/// The workloads that would take an orphan: those of its namespace whose selector matches.
pub fn selecting<O: Workload>(owners: &Mirror<O>, orphan: &ObjectMeta) -> Vec<ObjectKey> {
    let takes = |owner: &Arc<O>| {
        // One that selects everything is a mistake, and must not take what is everybody's.
        let selector = owner.head().selector.as_ref().filter(|selector| !selector.is_empty());
        selector.is_some_and(|selector| matches(selector, orphan))
    };
    owners.in_namespace(&orphan.namespace).iter().filter(|owner| takes(owner)).map(|owner| key_of(&**owner)).collect()
}

/// Has the owners looked at whenever something happens to what is theirs, or could be. Must be called before the mirrors are
/// fed.
pub fn wake<C: Mirrored, O: Workload>(children: &Mirror<C>, owners: &Arc<Mirror<O>>, queue: &Arc<Queue<ObjectKey>>) {
    let (owners, queue) = (owners.clone(), queue.clone());
    children.listen(move |change| {
        let (old, new) = match change {
            Change::Set { old, new } => (old.as_deref().map(Mirrored::meta), Some(new.meta())),
            Change::Gone { old } => (Some(old.meta()), None),
        };
        concerned(&owners, old, new).into_iter().for_each(|key| queue.add(key));
    });
}

/// The owners that a change of a child concerns.
fn concerned<O: Workload>(
    owners: &Mirror<O>,
    old: Option<&ObjectMeta>,
    new: Option<&ObjectMeta>,
) -> BTreeSet<ObjectKey> {
    let owner = |meta: &ObjectMeta| controller_key(meta, O::RESOURCE);
    let mut concerned: BTreeSet<ObjectKey> = old.and_then(owner).into_iter().chain(new.and_then(owner)).collect();
    if let Some(orphan) = new.filter(|new| new.controller().is_none() && !new.deletion_timestamp.0)
        && old.is_none_or(|old| old.controller().is_some() || old.labels != orphan.labels)
    {
        concerned.extend(selecting(owners, orphan));
    }
    concerned
}

#[cfg(test)]
mod tests {
    use plimsoll_runtime::Whole;
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::ReplicaSet;

    fn sets() -> Arc<Mirror<Whole<ReplicaSet>>> {
        let sets = Mirror::new();
        let add = |version: u64, namespace: &str, name: &str, spec: Value| {
            let set = json!({"metadata": {"namespace": namespace, "name": name, "resourceVersion": version.to_string()},
                             "spec": spec});
            sets.set(Arc::new(Whole::read(&set.to_string()).unwrap()));
        };
        add(1, "n", "web", json!({"selector": {"matchLabels": {"app": "web"}}}));
        add(2, "n", "web-2", json!({"selector": {"matchLabels": {"app": "web", "version": "2"}}}));
        add(3, "n", "all", json!({"selector": {}}));
        add(4, "n", "none", json!({}));
        add(5, "other", "web", json!({"selector": {"matchLabels": {"app": "web"}}}));
        sets
    }

    fn meta(value: Value) -> Option<ObjectMeta> {
        let mut value = value;
        value["namespace"] = json!("n");
        Some(serde_json::from_value(value).unwrap())
    }

    fn owned(kind: &str, api: &str, name: &str) -> Option<ObjectMeta> {
        let owner = json!({"apiVersion": api, "kind": kind, "name": name, "uid": "u", "controller": true});
        meta(json!({"ownerReferences": [owner], "labels": {"app": "web"}}))
    }

    #[test]
    fn those_whom_a_change_concerns_are_woken() {
        let ours = |name: &str| owned("ReplicaSet", "apps/v1", name);
        let orphan = |labels: Value| meta(json!({"labels": labels}));
        let (web, both) = (json!({"app": "web"}), json!({"app": "web", "version": "2"}));
        for (what, old, new, woken) in [
            ("a child comes", None, ours("a"), vec!["a"]),
            ("a child changes", ours("a"), ours("a"), vec!["a"]),
            ("a child goes", ours("a"), None, vec!["a"]),
            ("a child changes hands", ours("a"), ours("b"), vec!["a", "b"]),
            ("another kind's child", None, owned("StatefulSet", "apps/v1", "a"), vec![]),
            ("a kind of the same name elsewhere", None, owned("ReplicaSet", "example.com/v1", "a"), vec![]),
            ("an orphan comes", None, orphan(web.clone()), vec!["web"]),
            ("an orphan that two would take", None, orphan(both.clone()), vec!["web", "web-2"]),
            ("an orphan changes otherwise", orphan(web.clone()), orphan(web.clone()), vec![]),
            ("an orphan's labels change", orphan(json!({})), orphan(web.clone()), vec!["web"]),
            ("a child is released", ours("a"), orphan(web.clone()), vec!["a", "web"]),
            ("an orphan goes", orphan(web.clone()), None, vec![]),
            ("an orphan on its way out", None, meta(json!({"labels": web, "deletionTimestamp": "t"})), vec![]),
        ] {
            let keys = concerned(&sets(), old.as_ref(), new.as_ref());
            let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
            assert_eq!(names, woken, "{what}");
            assert!(keys.iter().all(|key| &*key.namespace == "n"), "{what}");
        }
    }
}
