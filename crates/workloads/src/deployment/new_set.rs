//! The set of the present template: found and kept up to date, or made.

use plimsoll_api::names::POD_TEMPLATE_HASH;
use plimsoll_runtime::write::Part;
use plimsoll_runtime::{Error, Mirrored, Resource, Severity, Whole};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::annotations::{self, REVISION};
use super::hash::{pod_template_hash, set_name};
use super::numbers::new_size;
use super::round::Round;
use super::set::{Set, plain};
use super::status::{PROGRESSING, Wish, condition, fresh, reason, set_condition};
use crate::children::Owner;
use crate::kinds::ReplicaSet;

impl Round<'_> {
    /// The revision that the present template is: one more than any other set's.
    fn next_revision(&self, new: Option<&str>) -> i64 {
        self.others(new).filter_map(Set::revision).max().unwrap_or(0).max(0).saturating_add(1)
    }

    /// Where there is a set of the present template, gives it the Deployment's annotations and its revision, and the
    /// Deployment the set's revision. This is all that a rollback is: the old set becomes the newest.
    pub(super) async fn follow_new_set(&mut self) -> Result<(), Error> {
        let Some(at) = self.sets.iter().position(|set| set.has_template(self.template())) else { return Ok(()) };
        let name = self.sets[at].name().to_owned();
        let revision = self.next_revision(Some(&name));
        let min_ready = self.object["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        let deployment = &self.object;
        let edit = |set: &mut Value| {
            annotations::follow(set, deployment, revision);
            if set["spec"]["minReadySeconds"].as_i64().unwrap_or(0) != min_ready {
                set["spec"]["minReadySeconds"] = json!(min_ready);
            }
        };
        let whole = self.of.sets.change(&self.sets[at].whole, Part::Object, edit).await?;
        self.sets[at] = Set::new(whole);
        let revision = annotations::get(&self.sets[at].value, REVISION).unwrap_or_default().to_owned();
        let mut changed = self.note_revision(&revision);
        if Wish::of(&self.object).deadline.is_some() && condition(&self.object["status"], PROGRESSING).is_none() {
            let message = format!("Found new replica set {name:?}");
            self.say(reason::FOUND, "True", &message);
            changed = true;
        }
        if changed { self.write_status().await } else { Ok(()) }
    }

    /// Makes the set of the present template, where there is none yet.
    pub(super) async fn make_new_set(&mut self) -> Result<(), Error> {
        if self.new_set().is_some() {
            return Ok(());
        }
        let object = self.set_of_template();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let namespace = self.seen.meta().namespace.clone();
        let made = self.of.objects.create::<Box<RawValue>>(Resource::REPLICA_SETS, &namespace, &object).await;
        let has_deadline = Wish::of(&self.object).deadline.is_some();
        let (set, new) = match made {
            Ok(raw) => (Set::new(self.of.sets.learn(&raw)?), true),
            // Ours, if an answer was lost or the mirror is behind; otherwise another template of the same hash.
            Err(error @ Error::AlreadyExists(_)) => match self.of.sets.look(&namespace, &name).await? {
                Some(there) if self.is_ours(&there) => (Set::new(there), false),
                _ => return self.collide(error).await,
            },
            Err(error) if error.is_ending_namespace() => return Err(error),
            Err(error) => {
                let message = format!("Failed to create new replica set {name:?}: {error}");
                if has_deadline {
                    let before = self.object["status"].clone();
                    self.say(reason::CREATE_FAILED, "False", &message);
                    // What the set's creation ran into is the trouble; that it cannot be told comes again with it.
                    if self.object["status"] != before
                        && let Err(error) = self.write_status().await
                    {
                        tracing::debug!(deployment = self.seen.meta().name, %error, "the trouble is not told");
                    }
                }
                self.of.recorder.event(&self.about(), Severity::Warning, reason::CREATE_FAILED, &message);
                return Err(error);
            }
        };
        let replicas = set.replicas();
        if new && replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.of.recorder.event(&self.about(), Severity::Normal, "ScalingReplicaSet", &message);
        }
        let revision = annotations::get(&set.value, REVISION).unwrap_or_default().to_owned();
        let mut changed = self.note_revision(&revision);
        if new && has_deadline {
            self.say(reason::CREATED, "True", &format!("Created new replica set {name:?}"));
            changed = true;
        }
        self.sets.push(set);
        self.sets.sort_by(|a, b| a.age().cmp(&b.age()));
        if changed { self.write_status().await } else { Ok(()) }
    }

    fn set_of_template(&self) -> Value {
        let (spec, room) = (&self.object["spec"], self.room());
        let collisions = self.object["status"]["collisionCount"].as_u64();
        let hash = pod_template_hash(&plain(self.template()), collisions);
        let mut template = self.template().clone();
        template["metadata"]["labels"][POD_TEMPLATE_HASH] = json!(hash);
        let mut selector = spec["selector"].clone();
        selector["matchLabels"][POD_TEMPLATE_HASH] = json!(hash);
        let meta = self.seen.meta();
        let old: i64 = self.sets.iter().map(Set::replicas).sum();
        let mut set = json!({
            "apiVersion": Resource::REPLICA_SETS.api_version(), "kind": Resource::REPLICA_SETS.kind,
            "metadata": {"name": set_name(&meta.name, &hash), "namespace": meta.namespace,
                         "labels": template["metadata"]["labels"],
                         "ownerReferences": [Owner::of(&*self.seen).reference()]},
            "spec": {"replicas": new_size(&room, 0, old), "minReadySeconds": spec["minReadySeconds"].as_i64().unwrap_or(0),
                     "selector": selector, "template": template},
        });
        annotations::follow(&mut set, &self.object, self.next_revision(None));
        annotations::note_size(&mut set, room.replicas, room.most());
        set
    }

    fn is_ours(&self, set: &Whole<ReplicaSet>) -> bool {
        let mine = set.meta().controller().is_some_and(|owner| owner.uid == self.seen.meta().uid);
        mine && super::set::same_template(&set.value()["spec"]["template"], self.template())
    }

    /// Counts a collision, so that the next look makes another name.
    async fn collide(&mut self, error: Error) -> Result<(), Error> {
        let count = self.object["status"]["collisionCount"].as_u64().unwrap_or(0) + 1;
        self.object["status"]["collisionCount"] = json!(count);
        self.write_status().await?;
        Err(error)
    }

    /// Whether the Deployment was of another revision.
    fn note_revision(&mut self, revision: &str) -> bool {
        if annotations::get(&self.object, REVISION) == Some(revision) {
            return false;
        }
        annotations::set(&mut self.object, REVISION, revision);
        true
    }

    fn say(&mut self, reason: &str, status: &str, message: &str) {
        let now = self.now();
        set_condition(&mut self.object["status"], fresh(PROGRESSING, status, reason, message, now));
    }
}
