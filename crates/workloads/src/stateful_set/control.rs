//! The writes of a StatefulSet: its pods and their claims. Each can be repeated; their names say what they are.
//!
//! ```text
//!   make a pod:  claims that are missing ──► the pod ──► who owns the claims
//!                     │ one is being deleted, or cannot be made: no pod
//! ```

use std::sync::Arc;

use plimsoll_api::kinds::{PersistentVolumeClaim, Pod};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::{Part, Writer, about};
use plimsoll_runtime::{About, Context, Error, Mirrored, Objects, Recorder, Resource, Severity, Whole};
use serde_json::Value;
use serde_json::value::RawValue;

use super::COMPONENT;
use super::claims::{self, Kin};
use super::identity::{self, claim_name, pod_name};
use super::spec::Spec;
use crate::children::{Owner, must_live};
use crate::kinds::StatefulSet;
use crate::remove::{Only, remove};
use crate::world::{self, World};

/// Makes, mends and deletes the pods of StatefulSets, and says so in events.
#[derive(Clone)]
pub(super) struct Control {
    objects: Objects,
    pods: Writer<Pod>,
    claims: Writer<PersistentVolumeClaim>,
    pod_mirror: world::Objects<Pod>,
    claim_mirror: world::Objects<PersistentVolumeClaim>,
    recorder: Recorder,
}

/// One set in hand.
pub(super) struct Set<'a> {
    pub spec: &'a Spec,
    pub about: About,
}

impl<'a> Set<'a> {
    pub(super) fn new(set: &Whole<StatefulSet>, spec: &'a Spec) -> Self {
        Self { spec, about: about(set) }
    }

    fn name(&self) -> &str {
        &self.spec.owner.name
    }

    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.spec.owner.namespace.as_str(), name)
    }
}

/// What is done to an object, as events say it.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Create,
    Update,
    Delete,
}

impl Control {
    pub(super) fn new(context: &Context, world: &World) -> Self {
        Self {
            objects: context.objects(),
            pods: Writer::new(context, &world.pods),
            claims: Writer::new(context, &world.claims),
            pod_mirror: world.pods.clone(),
            claim_mirror: world.claims.clone(),
            recorder: Recorder::new(context, COMPONENT),
        }
    }

    /// Who says what happens.
    pub(super) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Makes the claims of a pod, and then the pod from `template`.
    pub(super) async fn create(
        &self,
        set: &Set<'_>,
        template: &Value,
        revision: &str,
        ordinal: i64,
    ) -> Result<(), Error> {
        let pod = identity::pod(set.spec, template, revision, ordinal);
        let name = pod_name(set.name(), ordinal);
        if let Err(error) = self.create_claims(set, ordinal).await {
            self.tell_pod(set, Verb::Create, &name, Some(&error));
            return Err(error);
        }
        let namespace = &set.spec.owner.namespace;
        let made = match self.objects.create::<Box<RawValue>>(Resource::PODS, namespace, &pod).await {
            Ok(raw) => self.pods.learn(&raw)?,
            Err(error @ Error::AlreadyExists(_)) => {
                // The mirror is behind, or an answer was lost; or it is somebody else's, and then it is in the way.
                self.pods.look(namespace, &name).await?;
                return Err(error);
            }
            Err(error) => {
                self.tell_pod(set, Verb::Create, &name, Some(&error));
                return Err(error);
            }
        };
        if let Err(error) = self.own_claims(set, &made, ordinal).await {
            self.tell_pod(set, Verb::Update, &name, Some(&error));
            return Err(error);
        }
        self.tell_pod(set, Verb::Create, &name, None);
        Ok(())
    }

    /// Makes the claims that a pod lacks, and sees to their owners.
    pub(super) async fn complete_claims(&self, set: &Set<'_>, pod: &Whole<Pod>, ordinal: i64) -> Result<(), Error> {
        self.create_claims(set, ordinal).await?;
        let owned = self.own_claims(set, pod, ordinal).await;
        if let Err(error) = &owned {
            self.tell_pod(set, Verb::Update, &pod.meta().name, Some(error));
        }
        owned
    }

    /// Brings a pod's identity, volumes and claims in order.
    pub(super) async fn mend(&self, set: &Set<'_>, pod: &Arc<Whole<Pod>>, ordinal: i64) -> Result<(), Error> {
        let mended = self.try_mend(set, pod, ordinal).await;
        self.tell_pod(set, Verb::Update, &pod.meta().name, mended.as_ref().err());
        mended
    }

    async fn try_mend(&self, set: &Set<'_>, pod: &Arc<Whole<Pod>>, ordinal: i64) -> Result<(), Error> {
        let (named, stored) =
            (identity::has_identity(set.spec, &pod.slim, ordinal), identity::has_storage(set.spec, &pod.slim, ordinal));
        if !stored {
            self.create_claims(set, ordinal).await?;
        }
        self.own_claims(set, pod, ordinal).await?;
        let edit = |value: &mut Value| {
            if !named {
                identity::set_identity(value, &pod.meta().name, ordinal);
            }
            if !stored {
                identity::set_storage(value, set.spec, ordinal);
            }
        };
        self.pods.change(pod, Part::Object, edit).await.map(|_| ())
    }

    /// Deletes a pod, that one and no other of its name.
    pub(super) async fn delete(&self, set: &Set<'_>, pod: &Whole<Pod>) -> Result<(), Error> {
        let name = &pod.meta().name;
        match remove(&self.objects, &self.pod_mirror, pod, Only::Same).await {
            Ok(true) => self.tell_pod(set, Verb::Delete, name, None),
            Ok(false) => {}
            Err(error) => {
                self.tell_pod(set, Verb::Delete, name, Some(&error));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes the claims of a number that are not there. All are tried; the first that failed is told of.
    async fn create_claims(&self, set: &Set<'_>, ordinal: i64) -> Result<(), Error> {
        let mut failed = None;
        for claim in claims::of(set.spec, ordinal) {
            if let Err(error) = self.create_claim(set, &claim, ordinal).await {
                failed = failed.or(Some(error));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn create_claim(&self, set: &Set<'_>, claim: &Value, ordinal: i64) -> Result<(), Error> {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(there) = self.claim_mirror.get(&set.key(name)) {
            if there.meta().deletion_timestamp.0 {
                return Err(Error::Conflict(format!("pvc {name} is being deleted")));
            }
            return Ok(());
        }
        let namespace = &set.spec.owner.namespace;
        match self.objects.create::<Box<RawValue>>(Resource::CLAIMS, namespace, claim).await {
            Ok(raw) => {
                self.claims.learn(&raw)?;
                self.tell_claim(set, name, ordinal, None);
                Ok(())
            }
            Err(Error::AlreadyExists(message)) => {
                // Ours after all: the mirror is behind. What it is like is seen when it is looked at again.
                self.claims.look(namespace, name).await?;
                Err(Error::AlreadyExists(format!("failed to create PVC {name}: {message}")))
            }
            Err(error) => {
                self.tell_claim(set, name, ordinal, Some(&error));
                Err(within(error, &format!("failed to create PVC {name}")))
            }
        }
    }

    /// Gives a pod's claims the owners that the set's policy wants.
    pub(super) async fn own_claims(&self, set: &Set<'_>, pod: &Whole<Pod>, ordinal: i64) -> Result<(), Error> {
        let owner = pod_owner(pod);
        let kin = kin(set.spec, &owner, ordinal);
        for template in &set.spec.claim_templates {
            let name = claim_name(template, set.name(), ordinal);
            let Some(claim) = self.claim_mirror.get(&set.key(&name)) else { continue };
            let references = &claim.meta().owner_references;
            if kin.has_rival(references) {
                // Word for word, a slip of the pen included.
                let message = format!(
                    "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, the \
                     retention policy is ignored for this claim"
                );
                self.recorder.event(&set.about, Severity::Warning, "ConflictingController", &message);
            }
            if let Some(correction) = kin.correct(references) {
                // A claim that is given to a set which was deleted meanwhile, its pods and claims to be kept, would go with it.
                must_live(&self.objects, &set.spec.owner).await?;
                let changed = self.claims.change(&claim, Part::Object, |value| correction.apply(value)).await;
                changed
                    .map_err(|e| within(e, &format!("could not update claim {name} for delete policy ownerRefs")))?;
            }
        }
        Ok(())
    }

    /// Whether a pod's claims have the owners that the set's policy wants. Claims that are not there do not count.
    pub(super) fn are_claims_owned(&self, spec: &Spec, pod: &Whole<Pod>, ordinal: i64) -> bool {
        let owner = pod_owner(pod);
        let kin = kin(spec, &owner, ordinal);
        self.claims_there(spec, ordinal).all(|claim| kin.correct(&claim.meta().owner_references).is_none())
    }

    /// Whether a claim of a number belongs to a pod that had it before: it goes with that pod, and a new one must wait.
    pub(super) fn is_blocked(&self, spec: &Spec, ordinal: i64) -> bool {
        if !spec.retention.when_scaled {
            return false;
        }
        let namespace = spec.owner.namespace.clone();
        let name = pod_name(&spec.owner.name, ordinal);
        // One that is to be made has no uid: whoever has the name is another.
        let next = Owner { resource: Resource::PODS, namespace, name, uid: String::new(), deleting: false };
        self.claims_there(spec, ordinal)
            .any(|claim| kin(spec, &next, ordinal).is_of_earlier_pod(&claim.meta().owner_references))
    }

    fn claims_there<'a>(
        &'a self,
        spec: &'a Spec,
        ordinal: i64,
    ) -> impl Iterator<Item = Arc<Whole<PersistentVolumeClaim>>> + 'a {
        let key = move |template: &Value| {
            ObjectKey::new(spec.owner.namespace.as_str(), claim_name(template, &spec.owner.name, ordinal))
        };
        spec.claim_templates.iter().filter_map(move |template| self.claim_mirror.get(&key(template)))
    }

    fn tell_pod(&self, set: &Set<'_>, verb: Verb, pod: &str, error: Option<&Error>) {
        let set_name = set.name();
        let message = match error {
            None => format!("{verb:?} Pod {pod} in StatefulSet {set_name} successful"),
            Some(error) => format!("{verb:?} Pod {pod} in StatefulSet {set_name} failed error: {error}"),
        };
        self.tell(set, verb, error.is_none(), &message);
    }

    fn tell_claim(&self, set: &Set<'_>, claim: &str, ordinal: i64, error: Option<&Error>) {
        let (set_name, pod) = (set.name(), pod_name(set.name(), ordinal));
        let message = match error {
            None => format!("Create Claim {claim} Pod {pod} in StatefulSet {set_name} success"),
            Some(error) => {
                format!("Create Claim {claim} for Pod {pod} in StatefulSet {set_name} failed error: {error}")
            }
        };
        self.tell(set, Verb::Create, error.is_none(), &message);
    }

    fn tell(&self, set: &Set<'_>, verb: Verb, well: bool, message: &str) {
        let (severity, word) = if well { (Severity::Normal, "Successful") } else { (Severity::Warning, "Failed") };
        self.recorder.event(&set.about, severity, &format!("{word}{verb:?}"), message);
    }
}

fn pod_owner(pod: &Whole<Pod>) -> Owner {
    Owner::of(pod)
}

fn kin<'a>(spec: &'a Spec, pod: &'a Owner, ordinal: i64) -> Kin<'a> {
    Kin { set: &spec.owner, pod, retention: spec.retention, scaled_away: !spec.wants(ordinal) }
}

/// The same error with what it happened to in front.
fn within(error: Error, what: &str) -> Error {
    let say = |message: String| format!("{what}: {message}");
    match error {
        Error::Conflict(m) => Error::Conflict(say(m)),
        Error::NotFound(m) => Error::NotFound(say(m)),
        Error::AlreadyExists(m) => Error::AlreadyExists(say(m)),
        Error::Forbidden(m) => Error::Forbidden(say(m)),
        Error::Invalid(m) => Error::Invalid(say(m)),
        Error::Unknown(m) => Error::Unknown(say(m)),
        Error::Busy { message, after } => Error::Busy { message: say(message), after },
        other => other,
    }
}
