//! The mirror's promises, by example and as laws over any order of arrival.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use plimsoll_api::kinds::PersistentVolumeClaim as Claim;

fn claim(name: &str, uid: &str, version: Version) -> Claim {
    let meta = json!({"namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string()});
    serde_json::from_value(json!({"metadata": meta})).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { namespace: Name::from("n"), name: Name::from(name) }
}

/// A mirror, and what its listener heard: `+name@version`, `name@old>new`, `-name@version`.
fn mirror() -> (Arc<Mirror<Claim>>, Arc<Mutex<Vec<String>>>) {
    let mirror = Mirror::new();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = heard.clone();
    mirror.listen(move |change: &Change<Claim>| {
        let version = |c: &Arc<Claim>| c.metadata.version();
        log.lock().unwrap().push(match change {
            Change::Set { old: None, new } => format!("+{}@{}", new.metadata.name, version(new)),
            Change::Set { old: Some(old), new } => format!("{}@{}>{}", new.metadata.name, version(old), version(new)),
            Change::Gone { old } => format!("-{}@{}", old.metadata.name, version(old)),
        });
    });
    (mirror, heard)
}

fn version_of(mirror: &Mirror<Claim>, name: &str) -> Option<Version> {
    mirror.get(&key(name)).map(|c| c.metadata.version())
}

#[test]
fn a_namespace_is_found_without_its_neighbours() {
    let (mirror, _) = mirror();
    for (i, (namespace, name)) in [("m", "z"), ("n", "a"), ("n", "b"), ("n-2", "a"), ("o", "a")].iter().enumerate() {
        let meta = json!({"namespace": namespace, "name": name, "resourceVersion": (i + 1).to_string()});
        mirror.set(Arc::new(serde_json::from_value(json!({"metadata": meta})).unwrap()));
    }
    let names = |namespace: &str| -> Vec<String> {
        mirror.in_namespace(namespace).iter().map(|c| c.metadata.name.clone()).collect()
    };
    assert_eq!(names("n"), ["a", "b"]);
    assert_eq!(names("n-2"), ["a"]);
    assert!(names("p").is_empty());
}

#[test]
fn pc_31_an_older_version_never_replaces_a_newer_one() {
    let (mirror, heard) = mirror();
    assert!(mirror.set(Arc::new(claim("a", "u", 5))));
    // The answer to our own write, and then the watch with what it was before.
    assert!(mirror.set(Arc::new(claim("a", "u", 9))));
    assert!(!mirror.set(Arc::new(claim("a", "u", 7))));
    assert!(!mirror.set(Arc::new(claim("a", "u", 9))));
    mirror.replace(vec![claim("a", "u", 5)], 6);
    assert_eq!(version_of(&mirror, "a"), Some(9));
    assert_eq!(*heard.lock().unwrap(), ["+a@5", "a@5>9"]);
}

#[test]
fn the_echo_of_an_own_write_is_known_once() {
    let (mirror, heard) = mirror();
    assert!(!mirror.is_echo(|| panic!("nothing was written: there is nothing to read for")));
    mirror.written(Arc::new(claim("a", "u", 5)));
    assert!(!mirror.is_echo(|| Some(4)));
    assert!(!mirror.is_echo(|| None));
    assert!(mirror.is_echo(|| Some(5)));
    assert!(!mirror.is_echo(|| Some(5)));
    // The watch was faster than the answer: it has told already.
    mirror.set(Arc::new(claim("a", "u", 7)));
    mirror.written(Arc::new(claim("a", "u", 7)));
    assert!(!mirror.is_echo(|| Some(7)));
    assert_eq!(*heard.lock().unwrap(), ["+a@5", "a@5>7"]);
}

#[test]
fn what_was_deleted_does_not_come_back_by_a_late_answer() {
    let (mirror, heard) = mirror();
    mirror.set(Arc::new(claim("a", "u", 5)));
    assert!(mirror.gone(&key("a"), 8));
    assert!(!mirror.set(Arc::new(claim("a", "u", 7))));
    // Made anew under its name.
    assert!(mirror.set(Arc::new(claim("a", "v", 9))));
    // The old one's deletion again.
    assert!(!mirror.gone(&key("a"), 8));
    assert_eq!(*heard.lock().unwrap(), ["+a@5", "-a@5", "+a@9"]);
}

#[test]
fn the_deletion_of_what_was_never_seen_is_remembered() {
    let (mirror, _) = mirror();
    assert!(!mirror.gone(&key("a"), 8));
    assert!(!mirror.set(Arc::new(claim("a", "u", 5))));
    assert_eq!(mirror.count(), 0);
}

#[test]
fn what_was_made_and_deleted_between_two_lists_does_not_come_back_by_a_late_answer() {
    let (mirror, _) = mirror();
    mirror.replace(vec![claim("b", "w", 3)], 10);
    assert!(!mirror.set(Arc::new(claim("a", "u", 5))));
    assert!(mirror.set(Arc::new(claim("a", "u", 11))));
}

#[test]
fn a_list_takes_away_what_is_not_in_it_unless_that_is_newer_or_unread() {
    let (mirror, heard) = mirror();
    for (name, version) in [("a", 1), ("b", 2), ("c", 3), ("d", 12)] {
        mirror.set(Arc::new(claim(name, name, version)));
    }
    heard.lock().unwrap().clear();
    mirror.replace_except(vec![claim("a", "a", 9)], &BTreeSet::from([key("c")]), 10);
    assert_eq!(*heard.lock().unwrap(), ["-b@2", "a@1>9"]);
    assert_eq!(mirror.count(), 3);
    assert_eq!(mirror.all().len(), 3);
}

#[test]
fn an_object_made_anew_is_first_gone() {
    let (mirror, heard) = mirror();
    mirror.set(Arc::new(claim("a", "u", 5)));
    mirror.set(Arc::new(claim("a", "v", 9)));
    assert_eq!(*heard.lock().unwrap(), ["+a@5", "-a@5", "+a@9"]);
}

#[test]
fn a_listener_may_look_while_it_listens() {
    let mirror: Arc<Mirror<Claim>> = Mirror::new();
    let (other, seen) = (Arc::downgrade(&mirror), Arc::new(Mutex::new(Vec::new())));
    let log = seen.clone();
    mirror.listen(move |_: &Change<Claim>| log.lock().unwrap().push(other.upgrade().unwrap().count()));
    mirror.set(Arc::new(claim("a", "u", 1)));
    mirror.gone(&key("a"), 2);
    assert_eq!(*seen.lock().unwrap(), [1, 0]);
}

#[tokio::test]
async fn it_is_synced_by_its_first_list() {
    let (mirror, _) = mirror();
    mirror.set(Arc::new(claim("a", "u", 1)));
    assert!(!mirror.is_synced());
    mirror.replace(Vec::new(), 5);
    mirror.synced().await;
    assert!(mirror.is_synced());
}

#[test]
fn the_memory_of_deletions_is_bounded() {
    let (mirror, _) = mirror();
    for i in 0..REMEMBERED_DELETIONS as u64 + 10 {
        mirror.gone(&key(&format!("c{i}")), i + 1);
        mirror.gone(&key(&format!("c{i}")), i + 1);
    }
    let state = mirror.look();
    assert_eq!((state.deleted.len(), state.deletions.len()), (REMEMBERED_DELETIONS, REMEMBERED_DELETIONS));
}

/// What happened to one object at a version.
#[derive(Clone, Debug)]
enum Fact {
    Set(usize),
    Gone(usize),
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let fact = (any::<bool>(), 0..NAMES.len()).prop_map(|(set, i)| if set { Fact::Set(i) } else { Fact::Gone(i) });
    proptest::collection::vec(fact, 1..20)
}

/// The truth after the facts: the version of each object that is there.
fn truth(facts: &[Fact]) -> Vec<Option<Version>> {
    let mut objects = vec![None; NAMES.len()];
    for (i, fact) in facts.iter().enumerate() {
        match fact {
            Fact::Set(name) => objects[*name] = Some(i as Version + 1),
            Fact::Gone(name) => objects[*name] = None,
        }
    }
    objects
}

proptest! {
    /// In whatever order and however often the facts arrive, with a list in between: the mirror ends at the truth, and
    /// versions of an object never go back.
    #[test]
    fn any_order_of_arrival_ends_at_the_truth(
        facts in facts(),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        list in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (mirror, _) = mirror();
        let highest: Arc<Mutex<BTreeMap<String, Version>>> = Arc::default();
        let log = highest.clone();
        mirror.listen(move |change: &Change<Claim>| if let Change::Set { new, .. } = change {
            let version = new.metadata.version();
            let before = log.lock().unwrap().insert(new.metadata.name.clone(), version);
            assert!(before.is_none_or(|before| before < version));
        });
        let tell = |i: usize| match &facts[i] {
            Fact::Set(name) => { mirror.set(Arc::new(claim(NAMES[*name], NAMES[*name], i as Version + 1))); }
            Fact::Gone(name) => { mirror.gone(&key(NAMES[*name]), i as Version + 1); }
        };
        let (at, when) = (list.0.index(facts.len()), list.1.index(order.len() + 1));
        let all: Vec<usize> = order.iter().map(|i| i.index(facts.len())).collect();
        for (step, i) in all.iter().enumerate() {
            if step == when {
                let now = truth(&facts[..=at]);
                let objects = NAMES.iter().zip(&now).filter_map(|(n, v)| v.map(|v| claim(n, n, v))).collect();
                mirror.replace(objects, at as Version + 1);
            }
            tell(*i);
        }
        // And at last everything once, newest first or oldest first.
        (0..facts.len()).for_each(tell);
        (0..facts.len()).rev().for_each(tell);
        let now = truth(&facts);
        for (name, version) in NAMES.iter().zip(now) {
            prop_assert_eq!(version_of(&mirror, name), version, "{}", name);
        }
    }
}
