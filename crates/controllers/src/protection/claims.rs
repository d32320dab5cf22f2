//! PVC protection: a claim stays while a pod with a node holds it.
//!
//! Work is taken by namespace: the last word on "unused" is a live list of the namespace's pods, and a thousand claims
//! that are deleted together must not ask for it a thousand times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::Method;
use plimsoll_api::kinds::{PersistentVolumeClaim, Pod};
use plimsoll_api::names::CLAIM_PROTECTION;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::reflector::escape;
use plimsoll_runtime::{Backoff, Change, Context, Error, Next, Objects, Queue, Resource};
use serde::Deserialize;

use super::Options;
use super::finalizers::{self, Duty};
use super::pods::{self, LivePod, Pods, Usage};
use crate::edit;
use crate::world::{Claim, World};
use crate::write::{Part, Writer};

/// When a claim is looked at again whose user the live list knows and the mirror does not: by then the watch has brought
/// the pod, whose end is then seen, or it has skipped the pod, whose end would not be.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Namespaces at a time: each may cost a live list.
const NAMESPACES: usize = 4;
/// Pods per page of the live list.
const PAGE: usize = 500;

struct Protection {
    world: World,
    pods: Arc<Pods>,
    writer: Writer<PersistentVolumeClaim>,
    objects: Objects,
    queue: Arc<Queue<Name>>,
    /// The claims to look at, by namespace.
    wanted: Mutex<BTreeMap<Name, BTreeSet<Name>>>,
    width: usize,
}

pub(super) fn start(context: &Context, world: &World, options: Options) {
    let protection = Arc::new(Protection {
        world: world.clone(),
        pods: Pods::of(&world.pods),
        writer: Writer::new(context, &world.claims),
        objects: context.objects(),
        queue: Queue::new(Backoff::default()),
        wanted: Mutex::default(),
        width: options.width.max(1),
    });
    let told = protection.clone();
    world.claims.listen(move |change| {
        if let Change::Set { new, .. } = change
            && finalizers::duty(&new.slim.metadata, CLAIM_PROTECTION) != Duty::None
        {
            told.want(key_of(&**new));
        }
    });
    let told = protection.clone();
    world.pods.listen(move |change| told.hear(change));
    let stop = context.tasks.token();
    context.tasks.spawn("pvc-protection", async move {
        tokio::select! {
            () = stop.cancelled() => return,
            () = protection.world.claims.synced() => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = protection.world.pods.synced() => {}
        }
        protection.queue.run(NAMESPACES, stop.clone(), |namespace| protection.namespace(namespace)).await;
    });
}

impl Protection {
    fn want(&self, claim: ObjectKey) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.entry(claim.namespace.clone()).or_default().insert(claim.name);
        self.queue.add(claim.namespace);
    }

    /// A pod lets go of claims when it goes, when another takes its name, and (of its own) when it is shut down. Everything
    /// else that happens to pods is no news, and neither is what becomes of claims that nobody deletes.
    fn hear(&self, change: &Change<Pod>) {
        let released = match change {
            Change::Gone { old } => Some(old),
            Change::Set { old: Some(old), new } if old.metadata.uid != new.metadata.uid => Some(old),
            Change::Set { new, .. } if new.metadata.deletion_timestamp.0 => Some(new),
            Change::Set { .. } => None,
        };
        let Some(pod) = released else { return };
        for key in pods::keys(pod, &Usage::of(pod)) {
            let is_going =
                |claim: Arc<Claim>| finalizers::duty(&claim.slim.metadata, CLAIM_PROTECTION) == Duty::Release;
            if self.world.claims.get(&key).is_some_and(is_going) {
                self.want(key);
            }
        }
    }

    /// Looks at the wanted claims of one namespace.
    async fn namespace(&self, namespace: Name) -> Result<Next, Error> {
        let names = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).remove(&namespace).unwrap_or_default();
        let mut holding = Vec::new();
        let mut releasing = Vec::new();
        for name in &names {
            let key = ObjectKey { namespace: namespace.clone(), name: name.clone() };
            let Some(claim) = self.world.claims.get(&key) else { continue };
            match finalizers::duty(&claim.slim.metadata, CLAIM_PROTECTION) {
                Duty::None => {}
                Duty::Add => holding.push(claim),
                // The mirror's word for "used" is enough: when the user goes, the claim is looked at again.
                Duty::Release if self.pods.of_claim(&key).iter().any(|pod| pod.holds(&claim.slim)) => {}
                Duty::Release => releasing.push(claim),
            }
        }
        let mut next = Next::Done;
        let mut failure = None;
        if !releasing.is_empty() {
            match self.live(&namespace).await {
                Ok(live) => {
                    let unused = |claim: &Arc<Claim>| !live.iter().any(|pod| pod.holds(&claim.slim));
                    let used: Vec<Arc<Claim>>;
                    (releasing, used) = releasing.into_iter().partition(unused);
                    if !used.is_empty() {
                        self.put_back(&namespace, used.iter().map(|c| Name::from(c.slim.metadata.name.as_str())));
                        next = Next::After(LOOK_AGAIN);
                    }
                }
                Err(error) => {
                    // Without proof of being unused a claim counts as used.
                    tracing::warn!(%namespace, %error, "cannot list pods; claims that are being deleted wait");
                    self.put_back(&namespace, releasing.iter().map(|c| Name::from(c.slim.metadata.name.as_str())));
                    releasing.clear();
                    failure = Some(error);
                }
            }
        }
        let writes = holding.into_iter().map(|c| (c, true)).chain(releasing.into_iter().map(|c| (c, false)));
        let mut writes = stream::iter(writes)
            .map(|(claim, held)| async move {
                let edit = |v: &mut serde_json::Value| edit::finalizer(v, CLAIM_PROTECTION, held);
                let result = self.writer.change(&claim, Part::Object, edit).await;
                (claim, result)
            })
            .buffer_unordered(self.width);
        while let Some((claim, result)) = writes.next().await {
            let Err(error) = result else { continue };
            if error.is_not_found() {
                continue;
            }
            let name = claim.slim.metadata.name.as_str();
            if !error.is_conflict() {
                tracing::warn!(%namespace, claim = name, %error, "cannot change the finalizers; trying again");
            }
            self.put_back(&namespace, [Name::from(name)]);
            failure = Some(error);
        }
        failure.map_or(Ok(next), Err)
    }

    /// Keeps claims for the namespace's next turn, without asking for one.
    fn put_back(&self, namespace: &Name, claims: impl IntoIterator<Item = Name>) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.entry(namespace.clone()).or_default().extend(claims);
    }

    /// Every pod of the namespace as the API server has it now.
    async fn live(&self, namespace: &str) -> Result<Vec<Usage>, Error> {
        let collection = Resource::PODS.collection(Some(namespace));
        let mut pods = Vec::new();
        let mut token = String::new();
        loop {
            let path = match token.as_str() {
                "" => format!("{collection}?limit={PAGE}"),
                token => format!("{collection}?limit={PAGE}&continue={}", escape(token)),
            };
            let page: Page = self.objects.send(Method::GET, &path, None).await?;
            pods.extend(page.items.unwrap_or_default().into_iter().map(Usage::from));
            token = page.metadata.token.unwrap_or_default();
            if token.is_empty() {
                return Ok(pods);
            }
        }
    }
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    // null where Go has an empty slice.
    items: Option<Vec<LivePod>>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    token: Option<String>,
}
