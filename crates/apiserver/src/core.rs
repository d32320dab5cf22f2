//! The server's state, shared by all requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::Notify;

use crate::admission;
use crate::auth::impersonation::Impersonation;
use crate::auth::{Authenticator, Rbac, User};
use crate::clock::{Clock, Entropy};
use crate::codec::{self, Encoded};
use crate::housekeeping::Follow;
use crate::registry::{Registry, Served};
use crate::status::Status;
use crate::store::{Change, Expect, ListRequest, Meta, Object, Store, Write, WriteError};
use crate::{convert, strategy};

/// The object as it is now; or the state that stood in the way, where it is not what the writer expected.
pub type Swapped = Result<Arc<Object>, Option<Arc<Object>>>;

/// What the server needs to answer a request.
#[derive(Debug)]
pub struct Core {
    /// The objects.
    pub store: Store,
    /// What is served now.
    registry: RwLock<Arc<Registry>>,
    /// Who may do what; follows the stored roles and bindings.
    pub rbac: RwLock<Rbac>,
    /// Who asks.
    pub authenticator: Authenticator,
    /// The time.
    pub clock: Clock,
    /// What follows from a write.
    pub follow: Follow,
    /// Uids and names.
    pub entropy: Entropy,
    /// Who may act as somebody else.
    pub impersonation: Impersonation,
    /// Which of the optional admission plugins are on.
    pub plugins: admission::Plugins,
    /// The version that the server says it is.
    pub version: Version,
    /// Said when the server ends: watches would keep their connections open for ever.
    pub ending: Ending,
}

/// Whether the server ends, for those who would not notice.
#[derive(Debug, Default)]
pub struct Ending {
    said: AtomicBool,
    told: Notify,
}

impl Ending {
    /// Says so.
    pub fn say(&self) {
        self.said.store(true, Ordering::Release);
        self.told.notify_waiters();
    }

    /// Done when it was said.
    pub async fn said(&self) {
        let told = self.told.notified();
        if !self.said.load(Ordering::Acquire) {
            told.await;
        }
    }
}

/// What `/version` says.
#[derive(Debug, Clone)]
pub struct Version {
    /// Such as `v1.37.1`: clients choose what they send by it.
    pub git_version: String,
}

impl Core {
    /// A server over a store.
    pub fn new(store: Store, authenticator: Authenticator, clock: Clock, entropy: Entropy) -> Self {
        Self {
            store,
            registry: RwLock::new(Arc::new(Registry::new(Vec::new()))),
            rbac: RwLock::default(),
            authenticator,
            clock,
            follow: Follow::default(),
            entropy,
            impersonation: Impersonation::default(),
            plugins: admission::Plugins::default(),
            version: Version { git_version: "v1.37.1".into() },
            ending: Ending::default(),
        }
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves something else from now on.
    pub fn serve(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Serves what the stored CustomResourceDefinitions define.
    pub fn follow_definitions(&self) {
        let definitions = admission::Cluster::list(self, "apiextensions.k8s.io", "customresourcedefinitions", None);
        self.serve(Registry::new(crate::custom::served(&definitions)));
    }

    /// The time as objects carry it.
    pub fn now_text(&self) -> String {
        plimsoll_schema::decode::whole_seconds(self.clock.now())
    }

    /// Who asks, by the `Authorization` header.
    pub fn authenticate(&self, authorization: Option<&str>) -> Result<Arc<User>, Status> {
        let lookup = |resource: &str, namespace: &str, name: &str| self.look_up(resource, namespace, name);
        self.authenticator.request(authorization, self.clock.now(), &lookup)
    }

    /// An object of the core group.
    pub fn look_up(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.store.get(resource, namespace, name).and_then(|object| codec::stored(&object.bytes).ok())
    }

    /// An object in the version that `served` speaks.
    pub fn value(&self, served: &Served, object: &Object) -> Result<Value, Status> {
        let mut value = codec::stored(&object.bytes)?;
        convert::from_stored(served, &mut value);
        Ok(value)
    }

    /// Makes an object ready for the store.
    pub fn encode(&self, served: &Served, mut value: Value) -> Result<Encoded, Status> {
        convert::to_stored(served, &mut value);
        let meta = describe(served, &value);
        Encoded::new(served, value, meta)
    }

    /// Writes an object; `Ok(Err(_))` tells the state that stood in the way.
    pub async fn put(&self, served: &Served, value: Value, expect: Expect) -> Result<Swapped, Status> {
        let definition = (served.group == "apiextensions.k8s.io").then(|| value.clone());
        let outcome = self.put_only(served, value, expect).await?;
        if let (Ok(_), Some(value)) = (&outcome, definition) {
            crate::custom::written(self, served, &value).await;
        }
        Ok(outcome)
    }

    /// [`put`](Self::put) without what follows for definitions of custom resources.
    pub(crate) async fn put_only(&self, served: &Served, value: Value, expect: Expect) -> Result<Swapped, Status> {
        let (namespace, name) = (crate::value::namespace(&value).to_owned(), crate::value::name(&value).to_owned());
        let encoded = self.encode(served, value.clone())?;
        let change = Change::put(&served.key, &namespace, &name, expect, move |revision| {
            (encoded.stamp(revision), encoded.meta)
        });
        let outcome = self.write(Write::one(change)).await?;
        if let Ok(object) = &outcome {
            self.follow.written(self, served, &value, object);
        }
        Ok(outcome)
    }

    /// Removes an object; watchers are sent `last`.
    pub async fn remove(&self, served: &Served, last: Value, expect: Expect) -> Result<Swapped, Status> {
        let custom = (served.group == "apiextensions.k8s.io" || served.custom.is_some()).then(|| last.clone());
        let outcome = self.remove_only(served, last, expect).await?;
        if let (Ok(_), Some(last)) = (&outcome, custom) {
            crate::custom::removed(self, served, &last).await;
        }
        Ok(outcome)
    }

    /// [`remove`](Self::remove) without what follows for custom resources and their definitions.
    pub(crate) async fn remove_only(&self, served: &Served, last: Value, expect: Expect) -> Result<Swapped, Status> {
        let (namespace, name) = (crate::value::namespace(&last).to_owned(), crate::value::name(&last).to_owned());
        let encoded = self.encode(served, last.clone())?;
        let change = Change::delete(&served.key, &namespace, &name, expect, move |revision| encoded.stamp(revision));
        let outcome = self.write(Write::one(change)).await?;
        if let Ok(object) = &outcome {
            self.follow.removed(self, served, &last, object);
        }
        Ok(outcome)
    }

    /// Marks an object as being deleted and removes it, in one write: watchers see both, and a crash leaves none or all.
    pub(crate) async fn mark_and_remove(
        &self,
        served: &Served,
        last: Value,
        expect: Expect,
    ) -> Result<Swapped, Status> {
        let (namespace, name) = (crate::value::namespace(&last).to_owned(), crate::value::name(&last).to_owned());
        let (marked, gone) = (self.encode(served, last.clone())?, self.encode(served, last.clone())?);
        let mark =
            Change::put(&served.key, &namespace, &name, expect, move |revision| (marked.stamp(revision), marked.meta));
        let remove = Change::delete(&served.key, &namespace, &name, Expect::Any, move |revision| gone.stamp(revision));
        let outcome = self.write(Write::one(mark).and(remove)).await?;
        if let Ok(object) = &outcome {
            self.follow.removed(self, served, &last, object);
        }
        Ok(outcome)
    }

    async fn write(&self, write: Write) -> Result<Swapped, Status> {
        match self.store.write(write).await {
            Ok(written) => written.object().cloned().map(Ok).ok_or_else(|| Status::internal("nothing was written")),
            Err(WriteError::Conflict { current, .. }) => Ok(Err(current)),
            Err(error @ WriteError::Key { .. }) => Err(Status::bad_request(error.to_string())),
            Err(error) => Err(Status::internal(error.to_string())),
        }
    }
}

/// What selectors may ask of an object, which is in the stored version.
pub fn describe(served: &Served, value: &Value) -> Meta {
    let kind = match &served.stored_as {
        Some(stored) => crate::kind::Kind::new(&stored.group, &stored.version, &served.kind),
        None => served.kind(),
    };
    let metadata = &value["metadata"];
    let labels = metadata["labels"].as_object();
    let labels = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)));
    let fields = strategy::selectable_fields(kind, value);
    let fields =
        fields.iter().filter(|(name, _)| !name.starts_with("metadata.")).map(|(name, value)| (*name, value.as_str()));
    Meta::new(metadata["uid"].as_str().unwrap_or_default(), labels, fields)
}

impl admission::Cluster for Core {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let registry = self.registry();
        let served = registry.of_group(group, resource)?;
        let object = self.store.get(&served.key, namespace, name)?;
        self.value(served, &object).ok().map(Arc::new)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let registry = self.registry();
        let Some(served) = registry.of_group(group, resource) else { return Vec::new() };
        let request = ListRequest { namespace, ..ListRequest::default() };
        let Ok(list) = self.store.list(&served.key, &request) else { return Vec::new() };
        list.items.iter().filter_map(|object| self.value(served, object).ok()).map(Arc::new).collect()
    }
}
