//! The queue on a bench: a catalog and a queue that are told of objects as the desk tells them, and nothing else.

#[allow(dead_code, reason = "the engine's builders, of which these tests need some")]
#[path = "../../../../engine/tests/common/build.rs"]
mod build;
mod model;
mod order;
mod wakeups;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_engine::gates::{Gate, Gates};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::wakeups::Change;
use plimsoll_engine::{Catalog, Event, Kind, Object};
use tokio::time::Instant;

use super::{Backoff, Failure, PodQueue};
use build::IntoObject;

struct Bench {
    catalog: Catalog,
    queue: PodQueue,
    objects: BTreeMap<(Kind, ObjectKey), Object>,
    version: Version,
    now: Instant,
    rules: Rules,
}

impl Bench {
    fn new() -> Self {
        Self {
            catalog: Catalog::new(),
            queue: PodQueue::new(Backoff::default()),
            objects: BTreeMap::new(),
            version: 0,
            now: Instant::now(),
            rules: Rules::new(Gates::all().with(Gate::EphemeralForecast, false)),
        }
    }

    /// An object comes or changes. Returns whether a pod was woken.
    fn set(&mut self, object: impl IntoObject) -> bool {
        let mut new = object.into_object();
        self.version += 1;
        set_version(&mut new, self.version);
        let old = self.objects.insert((new.kind(), new.key()), new.clone());
        self.catalog.apply(Event::Set(new.clone()));
        match &new {
            Object::Pod(pod) if pod.node.is_none() => {
                self.queue.set(None, pod, self.now);
                false
            }
            _ => {
                let change = match &old {
                    Some(old) => Change::Updated { old, new: &new },
                    None => Change::Added(&new),
                };
                self.queue.wake(change, &self.catalog, self.now)
            }
        }
    }

    /// An object goes. Returns whether a pod was woken.
    fn gone(&mut self, object: impl IntoObject) -> bool {
        let object = object.into_object();
        let (kind, key) = (object.kind(), object.key());
        let old = self.objects.remove(&(kind, key.clone())).expect("it was there");
        self.version += 1;
        self.catalog.apply(Event::Gone { kind, key: key.clone(), version: self.version });
        if kind == Kind::Pod {
            self.queue.remove(&key);
        }
        self.queue.wake(Change::Deleted(&old), &self.catalog, self.now)
    }

    /// Takes the next pod.
    fn take(&mut self) -> Option<ObjectKey> {
        self.queue.pop(self.now).ok()
    }

    /// Judges a pod that was taken. It must fit nowhere.
    fn refuse(&mut self, key: &ObjectKey) {
        let pod = self.catalog.pod(key).cloned().expect("it is there");
        assert!(!self.fits(&pod), "{key} fits");
        let refused_by = self.catalog.diagnose_by(&pod, &self.rules, &[]).refused_by;
        let wait = self.catalog.wait_of(&pod, &self.rules, &refused_by);
        self.queue.failed(key, &pod.uid, Failure::Refused(wait), &self.catalog, self.now);
    }

    fn err(&mut self, key: &ObjectKey) {
        let pod = self.catalog.pod(key).cloned().expect("it is there");
        self.queue.failed(key, &pod.uid, Failure::Error, &self.catalog, self.now);
    }

    fn fits(&self, pod: &Pod) -> bool {
        matches!(self.catalog.choose_by(pod, &self.rules, &[]), Ok(Some(_)))
    }

    /// A pod comes, is taken and refused, and its backoff is over.
    fn waiting(mut self, pod: Pod) -> Self {
        let key = pod.key.clone();
        self.set(pod);
        assert_eq!(self.take(), Some(key.clone()));
        self.refuse(&key);
        self.pass(60);
        assert_eq!(self.take(), None);
        self
    }

    fn with(mut self, object: impl IntoObject) -> Self {
        self.set(object);
        self
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }
}

fn set_version(object: &mut Object, version: Version) {
    match object {
        Object::Node(o) => o.version = version,
        Object::Pod(o) => o.version = version,
        Object::Volume(o) => o.version = version,
        Object::Claim(o) => o.version = version,
        Object::Class(o) => o.version = version,
        Object::Driver(o) => o.version = version,
        Object::CsiNode(o) => o.version = version,
        Object::Pool(o) => o.version = version,
        Object::Attachment(o) => o.version = version,
        Object::Namespace(o) => o.version = version,
        Object::Workload(o) => o.version = version,
        Object::Budget(o) => o.version = version,
    }
}
