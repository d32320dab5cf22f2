//! What every namespace has: the ServiceAccount `default`, and the ConfigMap with the certificate that the API server is known by.
//!
//! ```text
//!   namespace comes or changes ─┐
//!   the object goes or changes ─┴─► there, and right? ─ no ─► create, or put right
//! ```

use std::marker::PhantomData;
use std::sync::Arc;

use plimsoll_api::kinds::ObjectMeta;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{
    Backoff, Change, Context, Error, Mirror, Mirrored, Next, Objects, Queue, Resource, Selection, Whole, reflect,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The ConfigMap with the certificate.
const ROOT_CA: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as \
                         the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
                         Kubernetes clusters.";

/// An object of which only the metadata is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Bare<K> {
    metadata: ObjectMeta,
    #[serde(skip)]
    kind: PhantomData<K>,
}

/// Which kind a [`Bare`] is of.
trait Kind: Send + Sync + Default + 'static {
    const RESOURCE: Resource;
}

impl<K: Kind> Mirrored for Bare<K> {
    const RESOURCE: Resource = K::RESOURCE;

    fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[derive(Debug, Default)]
struct Namespace;

impl Kind for Namespace {
    const RESOURCE: Resource = Resource::NAMESPACES;
}

#[derive(Debug, Default)]
struct Account;

impl Kind for Account {
    const RESOURCE: Resource = Resource::SERVICE_ACCOUNTS;
}

#[derive(Debug, Default)]
struct ConfigMap;

impl Kind for ConfigMap {
    const RESOURCE: Resource = Resource::CONFIG_MAPS;
}

/// Begins to give every namespace its ServiceAccount `default`.
pub fn start(context: &Context) {
    begin::<Account>(context, "serviceaccount", "default", Arc::new(|_: &mut Value| {}));
}

/// Begins to give every namespace the certificate (PEM) that the API server is known by.
pub fn start_root_ca(context: &Context, certificate: &str) {
    let data = json!({"ca.crt": certificate});
    let edit = move |map: &mut Value| {
        map["data"] = data.clone();
        if plimsoll_api::edit::annotation(map, DESCRIPTION).is_none_or(str::is_empty) {
            plimsoll_api::edit::annotate(map, DESCRIPTION, DESCRIBED);
        }
    };
    begin::<ConfigMap>(context, "root_ca_cert_publisher", ROOT_CA, Arc::new(edit));
}

type Edit = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// Gives every namespace an object of this name, and has `edit` put it right.
struct Giver<K> {
    name: &'static str,
    namespaces: Arc<Mirror<Whole<Bare<Namespace>>>>,
    given: Arc<Mirror<Whole<Bare<K>>>>,
    objects: Objects,
    writer: Writer<Bare<K>>,
    edit: Edit,
}

fn begin<K: Kind>(context: &Context, queue: &str, name: &'static str, edit: Edit) {
    let queue = Queue::<ObjectKey>::named(Backoff::default(), queue, &context.metrics);
    let (namespaces, given) = (Mirror::<Whole<Bare<Namespace>>>::new(), Mirror::<Whole<Bare<K>>>::new());
    let told = queue.clone();
    namespaces.listen(move |change| {
        if let Change::Set { new, .. } = change {
            told.add(key_of(&**new));
        }
    });
    let told = queue.clone();
    given.listen(move |change| {
        let (Change::Set { new: object, .. } | Change::Gone { old: object }) = change;
        told.add(ObjectKey::new("", object.meta().namespace.as_str()));
    });
    let writer = Writer::new(context, &given);
    let giver = Giver { name, namespaces, given, objects: context.objects(), writer, edit };
    reflect(context, &giver.namespaces, Selection::default());
    let fields = format!("metadata.name={name}");
    reflect(context, &giver.given, Selection { fields, ..Selection::default() });
    let stop = context.tasks.token();
    context.tasks.spawn("in-every-namespace", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = async { giver.namespaces.synced().await; giver.given.synced().await } => {}
        }
        queue.run(1, stop.clone(), |key| giver.namespace(key)).await;
    });
}

impl<K: Kind> Giver<K> {
    async fn namespace(&self, key: ObjectKey) -> Result<Next, Error> {
        let Some(namespace) = self.namespaces.get(&key) else { return Ok(Next::Done) };
        if namespace.meta().deletion_timestamp.0 || namespace.value()["status"]["phase"] == "Terminating" {
            return Ok(Next::Done);
        }
        if let Some(there) = self.given.get(&ObjectKey::new(&*key.name, self.name)) {
            return match self.writer.change(&there, Part::Object, |value| (self.edit)(value)).await {
                Ok(_) | Err(Error::NotFound(_)) => Ok(Next::Done),
                Err(error) => Err(error),
            };
        }
        let resource = K::RESOURCE;
        let mut object = json!({"apiVersion": resource.api_version(), "kind": resource.kind,
            "metadata": {"name": self.name, "namespace": &*key.name}});
        (self.edit)(&mut object);
        match self.objects.create::<Box<RawValue>>(resource, &key.name, &object).await {
            Ok(raw) => self.writer.learn(&raw).map(|_| Next::Done),
            Err(Error::AlreadyExists(_)) => self.writer.look(&key.name, self.name).await.map(|_| Next::Done),
            // Whatever else is refused, such as by roles that are not there yet, may be allowed later.
            Err(error) if matches!(error, Error::NotFound(_)) || error.is_ending_namespace() => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }
}
