//! The store against a naive model.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

const RESOURCES: [&str; 2] = ["pods", "apps/deployments"];
/// Where the order of paths is not the order of pairs.
const NAMESPACES: [&str; 4] = ["a", "a-b", "a.b", "b"];
pub(super) const NAMES: [&str; 5] = ["x", "x-1", "x.y", "y", "z"];

pub(super) fn key(resource: &str) -> ResourceKey {
    Arc::from(resource)
}

pub(super) fn describe(_: &str, bytes: &[u8]) -> Meta {
    let text = std::str::from_utf8(bytes).unwrap();
    Meta::new(text, [("parity", if bytes.len().is_multiple_of(2) { "even" } else { "odd" })], [])
}

fn encoded(resource: &str, path: &str, revision: u64, salt: u32) -> Bytes {
    Bytes::from(format!("{resource} {path} {revision} {salt}"))
}

pub(super) fn put(resource: &str, namespace: &str, name: &str, expect: Expect, salt: u32) -> Change {
    let resource = key(resource);
    let path = path_of(namespace, name);
    Change::put(&resource.clone(), namespace, name, expect, move |revision| {
        let bytes = encoded(&resource, &path, revision, salt);
        let meta = describe(&resource, &bytes);
        (bytes, meta)
    })
}

pub(super) fn delete(resource: &str, namespace: &str, name: &str, expect: Expect) -> Change {
    Change::delete(&key(resource), namespace, name, expect, |revision| Bytes::from(format!("last {revision}")))
}

/// A resource's objects: path to revision, creation revision and bytes.
type Contents = BTreeMap<String, (u64, u64, Bytes)>;

/// Keeps everything that ever was.
#[derive(Default)]
struct Model {
    /// Contents per resource at each revision.
    states: Vec<BTreeMap<&'static str, Contents>>,
    /// Per revision: resource, kind, path.
    events: Vec<(&'static str, EventKind, String)>,
}

impl Model {
    fn new() -> Self {
        Self { states: vec![BTreeMap::new()], events: Vec::new() }
    }

    fn revision(&self) -> u64 {
        self.events.len() as u64
    }

    fn at(&self, resource: &str, revision: u64) -> Contents {
        self.states[revision as usize].get(resource).cloned().unwrap_or_default()
    }

    fn push(&mut self, resource: &'static str, path: &str, bytes: Option<Bytes>) {
        let revision = self.revision() + 1;
        let mut state = self.states.last().unwrap().clone();
        let contents = state.entry(resource).or_default();
        let before = contents.get(path).cloned();
        let kind = match (bytes, before) {
            (Some(bytes), before) => {
                let created = before.as_ref().map_or(revision, |(_, created, _)| *created);
                contents.insert(path.to_owned(), (revision, created, bytes));
                if before.is_some() { EventKind::Modified } else { EventKind::Added }
            }
            (None, _) => {
                contents.remove(path);
                EventKind::Deleted
            }
        };
        self.states.push(state);
        self.events.push((resource, kind, path.to_owned()));
    }

    /// The revision before the oldest event remembered.
    fn reaches(&self, resource: &str, remembered: usize, since: u64) -> u64 {
        let own: Vec<u64> =
            (since + 1..=self.revision()).filter(|at| self.events[*at as usize - 1].0 == resource).collect();
        let base = (1..=since).rev().find(|at| self.events[*at as usize - 1].0 == resource).unwrap_or(0);
        if own.len() > remembered { own[own.len() - remembered - 1] } else { base }
    }
}

fn contents_of(list: &List) -> Vec<(String, (u64, u64, Bytes))> {
    list.items
        .iter()
        .map(|object| {
            assert_eq!(object.path(), path_of(object.namespace(), object.name()));
            (object.path().to_owned(), (object.revision, object.created_revision, object.bytes.clone()))
        })
        .collect()
}

/// A watch, and what following it has led to.
struct Follower {
    watcher: Watcher,
    resource: &'static str,
    contents: Contents,
    seen: u64,
}

impl Follower {
    /// Takes one batch; false when the watch has fallen behind.
    fn take(&mut self, model: &Model, reaches: u64) -> bool {
        match self.watcher.try_next() {
            Ok(Some(batch)) => {
                for event in &batch.events {
                    assert!(event.revision() > self.seen);
                    let (resource, kind, path) = &model.events[event.revision() as usize - 1];
                    assert_eq!((*resource, *kind, path.as_str()), (self.resource, event.kind, event.object.path()));
                    let before = self.contents.get(path).map(|(revision, ..)| *revision);
                    assert_eq!(
                        event.previous.as_ref().map(|previous| previous.revision),
                        before,
                        "no event is skipped"
                    );
                    let object = &event.object;
                    if event.kind == EventKind::Deleted {
                        assert_eq!(object.bytes, format!("last {}", event.revision()));
                        assert_eq!(Some(&object.meta), event.previous.as_ref().map(|previous| &previous.meta));
                        self.contents.remove(path);
                    } else {
                        let entry = (object.revision, object.created_revision, object.bytes.clone());
                        self.contents.insert(path.clone(), entry);
                    }
                    self.seen = event.revision();
                }
                assert_eq!(self.contents, model.at(self.resource, batch.revision));
                self.seen = batch.revision;
                true
            }
            Ok(None) => {
                assert_eq!(self.watcher.progress(), model.revision());
                assert_eq!(self.contents, model.at(self.resource, model.revision()));
                self.seen = model.revision();
                true
            }
            Err(error) => {
                assert_eq!(error, RevisionError::TooOld { oldest: reaches });
                assert!(self.seen < reaches);
                false
            }
        }
    }
}

fn check_list(store: &Store, model: &Model, remembered: usize, since: u64, random: &mut SmallRng) {
    let resource = RESOURCES[random.random_range(0..2)];
    let at = random.random_bool(0.7).then(|| random.random_range(0..=model.revision() + 1));
    let request = ListRequest {
        namespace: random.random_bool(0.5).then(|| NAMESPACES[random.random_range(0..4)]),
        start_after: random
            .random_bool(0.5)
            .then(|| (NAMESPACES[random.random_range(0..4)], NAMES[random.random_range(0..5)])),
        limit: random.random_bool(0.5).then(|| random.random_range(1..8)),
        at,
    };
    let reaches = model.reaches(resource, remembered, since);
    let filtered = random.random_bool(0.3);
    let wanted = |object: &Object| object.meta.label("parity") == Some("even");
    let list = if filtered { store.list_filtered(resource, &request, wanted) } else { store.list(resource, &request) };
    let revision = at.unwrap_or(model.revision());
    let list = match list {
        Err(RevisionError::Future { current }) => {
            assert_eq!((current, true), (model.revision(), revision > current));
            return;
        }
        Err(RevisionError::TooOld { oldest }) => {
            assert_eq!((oldest, true), (reaches, revision < reaches));
            return;
        }
        Ok(list) => list,
    };
    assert!(reaches <= revision && revision <= model.revision());
    let after = request.start_after.map(|(namespace, name)| path_of(namespace, name));
    let all: Vec<_> = model
        .at(resource, revision)
        .into_iter()
        .filter(|(path, _)| request.namespace.is_none_or(|namespace| path.split('/').next() == Some(namespace)))
        .filter(|(path, _)| after.as_ref().is_none_or(|after| path > after))
        .collect();
    let matching: Vec<_> =
        all.iter().filter(|(_, (.., bytes))| !filtered || bytes.len().is_multiple_of(2)).cloned().collect();
    let limit = request.limit.unwrap_or(usize::MAX).min(matching.len());
    assert_eq!((list.revision, contents_of(&list)), (revision, matching[..limit].to_vec()), "{request:?}");
    let full = request.limit.is_some_and(|limit| list.items.len() == limit);
    let behind = list.items.last().map_or(0, |last| all.iter().filter(|(path, _)| path.as_str() > last.path()).count());
    assert_eq!(list.more, full && behind > 0, "{request:?}");
    assert_eq!(list.remaining, (full && !filtered).then_some(behind), "{request:?}");
}

/// Random changes; what the store and the model say about each must agree.
async fn change(store: &Store, model: &mut Model, random: &mut SmallRng) {
    let mut write = Write::default();
    let mut planned: Vec<(&'static str, String, Option<u32>)> = Vec::new();
    let mut conflict = None;
    let mut after: BTreeMap<(&str, String), Option<u64>> = BTreeMap::new();
    for index in 0..if random.random_bool(0.2) { random.random_range(1..5) } else { 1 } {
        let resource = RESOURCES[random.random_range(0..2)];
        let (namespace, name) = (NAMESPACES[random.random_range(0..4)], NAMES[random.random_range(0..5)]);
        let path = path_of(namespace, name);
        let stored = || store.get(resource, namespace, name).map(|object| object.revision);
        let current = after.get(&(resource, path.clone())).copied().unwrap_or_else(stored);
        let expect = match random.random_range(0..10) {
            0..3 => Expect::Absent,
            3..7 => current.map_or(Expect::Absent, Expect::Revision),
            7 => Expect::Revision(random.random_range(0..=model.revision() + 1)),
            _ => Expect::Any,
        };
        let salt = random.random_bool(0.65).then(|| random.random());
        let holds = match (expect, salt) {
            (Expect::Absent, Some(_)) => current.is_none(),
            (Expect::Absent, None) => false,
            (Expect::Revision(revision), _) => current == Some(revision),
            (Expect::Any, Some(_)) => true,
            (Expect::Any, None) => current.is_some(),
        };
        if !holds && conflict.is_none() {
            conflict = Some((index, current));
        }
        write = write.and(match salt {
            Some(salt) => put(resource, namespace, name, expect, salt),
            None => delete(resource, namespace, name, expect),
        });
        planned.push((resource, path.clone(), salt));
        after.insert((resource, path), salt.map(|_| model.revision() + planned.len() as u64));
    }
    match (store.write(write).await, conflict) {
        (Ok(written), None) => {
            for ((resource, path, salt), object) in planned.into_iter().zip(&written.objects) {
                let revision = model.revision() + 1;
                assert_eq!((object.revision, object.path()), (revision, path.as_str()));
                model.push(resource, &path, salt.map(|salt| encoded(resource, &path, revision, salt)));
            }
            assert_eq!((written.revision(), store.revision()), (model.revision(), model.revision()));
        }
        (Err(WriteError::Conflict { change, current }), Some((index, expected))) => {
            assert_eq!((change, current.map(|object| object.revision)), (index, expected));
        }
        (outcome, expected) => panic!("{outcome:?}, not {expected:?}"),
    }
}

pub(super) fn on_one_thread(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
}

async fn compare(store: &Store, model: &mut Model, steps: usize, remembered: usize, since: u64, random: &mut SmallRng) {
    let mut followers: Vec<Follower> = Vec::new();
    for _ in 0..steps {
        match random.random_range(0..10) {
            0..5 => change(store, model, random).await,
            5..7 => check_list(store, model, remembered, since, random),
            7 => {
                let resource = RESOURCES[random.random_range(0..2)];
                let from = random.random_range(0..=model.revision() + 1);
                let reaches = model.reaches(resource, remembered, since);
                match store.watch(&key(resource), from) {
                    Ok(watcher) => {
                        assert!(reaches <= from && from <= model.revision());
                        followers.push(Follower { watcher, resource, contents: model.at(resource, from), seen: from });
                    }
                    Err(RevisionError::TooOld { oldest }) => assert_eq!((oldest, true), (reaches, from < reaches)),
                    Err(RevisionError::Future { current }) => {
                        assert_eq!((current, true), (model.revision(), from > current));
                    }
                }
            }
            _ => {
                if !followers.is_empty() {
                    let index = random.random_range(0..followers.len());
                    let reaches = model.reaches(followers[index].resource, remembered, since);
                    if !followers[index].take(model, reaches) {
                        followers.swap_remove(index);
                    }
                }
            }
        }
    }
    for follower in &mut followers {
        let reaches = model.reaches(follower.resource, remembered, since);
        if follower.take(model, reaches) {
            assert_eq!(follower.contents, model.at(follower.resource, model.revision()));
        }
    }
    for resource in RESOURCES {
        assert_eq!(store.count(resource), model.at(resource, model.revision()).len());
    }
}

#[test]
fn in_memory_it_does_what_the_model_does() {
    on_one_thread(async {
        for seed in 0..200 {
            let random = &mut SmallRng::seed_from_u64(seed);
            let remembered = random.random_range(1..60);
            let store = Store::in_memory(HistoryLimits { events: remembered, bytes: usize::MAX });
            compare(&store, &mut Model::new(), 200, remembered, 0, random).await;
        }
    });
}

#[test]
fn on_disk_it_does_what_the_model_does_over_restarts() {
    on_one_thread(async {
        for seed in 0..6 {
            let random = &mut SmallRng::seed_from_u64(seed);
            let folder = tempfile::tempdir().unwrap();
            let mut model = Model::new();
            for _ in 0..3 {
                let limits = HistoryLimits { events: 20, bytes: usize::MAX };
                let Opened { store, notes } = Store::open(folder.path(), limits, &describe).unwrap();
                assert_eq!((notes, store.revision()), (vec![], model.revision()));
                for resource in RESOURCES {
                    for object in store.list(resource, &ListRequest::default()).unwrap().items {
                        assert_eq!(object.meta, describe(resource, &object.bytes));
                    }
                }
                let since = model.revision();
                compare(&store, &mut model, 150, 20, since, random).await;
            }
        }
    });
}
