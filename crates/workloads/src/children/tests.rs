//! The index of children follows its mirror.

use plimsoll_api::kinds::Pod;

use super::*;

fn pod(name: &str, version: u64, owner: Option<&str>) -> Arc<Whole<Pod>> {
    let owners: Vec<Value> = owner
        .into_iter()
        .map(|uid| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": uid, "controller": true}))
        .collect();
    let pod = json!({"metadata": {"namespace": "n", "name": name, "uid": name, "resourceVersion": version.to_string(),
        "labels": {"app": "web"}, "ownerReferences": owners}});
    Arc::new(Whole::read(&pod.to_string()).unwrap())
}

fn names(keys: Vec<ObjectKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.name.to_string()).collect()
}

#[test]
fn the_index_follows_every_change_of_hands() {
    let mirror = Mirror::new();
    let children = Children::of(&*mirror);
    mirror.set(pod("b", 1, Some("one")));
    mirror.set(pod("a", 2, Some("one")));
    mirror.set(pod("c", 3, None));
    assert_eq!(names(children.of_owner("one")), ["a", "b"]);
    assert_eq!(names(children.orphans("n")), ["c"]);
    assert!(children.orphans("m").is_empty() && children.of_owner("two").is_empty());
    // Released, adopted, handed over, gone.
    mirror.set(pod("a", 4, None));
    mirror.set(pod("c", 5, Some("one")));
    mirror.set(pod("b", 6, Some("two")));
    assert_eq!(names(children.of_owner("one")), ["c"]);
    assert_eq!(names(children.of_owner("two")), ["b"]);
    assert_eq!(names(children.orphans("n")), ["a"]);
    assert_eq!(children.get(&*mirror, "one").len(), 1);
    mirror.replace(Vec::new(), 7);
    assert!(children.of_owner("one").is_empty() && children.orphans("n").is_empty());
    let index = children.0.lock().unwrap();
    assert!(index.by_owner.is_empty() && index.orphans.is_empty(), "nothing is kept of what is gone");
}

#[test]
fn an_owner_is_known_by_its_uid() {
    let child = pod("a", 1, Some("one"));
    let owner = |uid: &str| Owner {
        resource: Resource::REPLICA_SETS,
        namespace: "n".to_owned(),
        name: "s".to_owned(),
        uid: uid.to_owned(),
        deleting: false,
    };
    let reference = child.meta().controller().unwrap();
    assert!(owner("one").is(reference) && !owner("two").is(reference));
    assert!(matches(&LabelSelector::from_labels(&[("app", "web")]), child.meta()));
    assert!(!matches(&LabelSelector::from_labels(&[("app", "db")]), child.meta()));
}
