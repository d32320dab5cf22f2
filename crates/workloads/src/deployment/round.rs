//! One look at a Deployment: what it and its sets are, changed as the look goes on, and written as it changes.

use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_runtime::write::{Part, about};
use plimsoll_runtime::{About, Error, Next, Severity, Whole};
use serde_json::{Value, json};

use super::numbers::{Room, Size, Targets};
use super::set::Set;
use super::status::{self, PROGRESSING, Wish, condition, fresh, reason, set_condition};
use super::{Deployments, annotations};
use crate::kinds::Deployment;

/// A Deployment and its sets, as one look sees them.
pub(super) struct Round<'a> {
    pub(super) of: &'a Deployments,
    /// As it was read, or answered by the last write.
    pub(super) seen: Arc<Whole<Deployment>>,
    /// The same, with what is to be written next.
    pub(super) object: Value,
    /// All sets that are its, from the oldest to the newest.
    pub(super) sets: Vec<Set>,
}

impl<'a> Round<'a> {
    pub(super) fn new(of: &'a Deployments, seen: Arc<Whole<Deployment>>, sets: Vec<Set>) -> Self {
        let object = seen.value();
        Self { of, seen, object, sets }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.of.clock.now()
    }

    pub(super) fn about(&self) -> About {
        about(&*self.seen)
    }

    pub(super) fn room(&self) -> Room {
        Room::of(&self.object["spec"])
    }

    pub(super) fn template(&self) -> &Value {
        &self.object["spec"]["template"]
    }

    pub(super) fn is_paused(&self) -> bool {
        self.object["spec"]["paused"] == true
    }

    /// The set of the present template: the oldest, where somebody made several.
    pub(super) fn new_set(&self) -> Option<&Set> {
        self.sets.iter().find(|set| set.has_template(self.template()))
    }

    /// All sets but the one with this name.
    pub(super) fn others(&self, new: Option<&str>) -> impl Iterator<Item = &Set> {
        self.sets.iter().filter(move |set| Some(set.name()) != new)
    }

    /// The sizes of the same.
    pub(super) fn old_sizes(&self, new: Option<&str>) -> Vec<Size> {
        self.others(new).map(Set::size).collect()
    }

    /// Whether the Deployment's size is another than when one of its sets was last scaled.
    pub(super) fn was_scaled(&self) -> bool {
        let replicas = self.room().replicas;
        let mut active = self.sets.iter().filter(|set| set.replicas() > 0);
        active.any(|set| set.noted(annotations::DESIRED).is_some_and(|desired| desired != replicas))
    }

    /// Gives sets their sizes, one after the other. Returns whether any of them changed. With `note`, also those that keep
    /// theirs take note of how large the Deployment is.
    pub(super) async fn resize(&mut self, targets: Targets, note: bool) -> Result<bool, Error> {
        let mut changed = false;
        for (name, size) in targets {
            let Some(at) = self.sets.iter().position(|set| set.name() == name) else { continue };
            let before = self.sets[at].replicas();
            if before == size && !note {
                continue;
            }
            let room = self.room();
            let edit = |set: &mut Value| {
                set["spec"]["replicas"] = json!(size);
                annotations::note_size(set, room.replicas, room.most());
            };
            let whole = self.of.sets.change(&self.sets[at].whole, Part::Object, edit).await?;
            self.sets[at] = Set::new(whole);
            if before != size {
                changed = true;
                let way = if before < size { "up" } else { "down" };
                let message = format!("Scaled {way} replica set {name} from {before} to {size}");
                self.of.recorder.event(&self.about(), Severity::Normal, "ScalingReplicaSet", &message);
            }
        }
        Ok(changed)
    }

    /// Writes the Deployment's status, and its annotations with it.
    pub(super) async fn write_status(&mut self) -> Result<(), Error> {
        let seen = self.of.writer.replace(&self.seen, Part::Status, &self.object).await?;
        self.object = seen.value();
        self.seen = seen;
        Ok(())
    }

    /// Says that it is paused, or no longer: a rollout that was stopped on purpose has all its time again.
    pub(super) async fn note_pause(&mut self) -> Result<(), Error> {
        if Wish::of(&self.object).deadline.is_none() {
            return Ok(());
        }
        let said = condition(&self.object["status"], PROGRESSING).map(|condition| &condition["reason"]);
        let (paused, says_paused) = (self.is_paused(), said.is_some_and(|said| said == reason::PAUSED));
        if said.is_some_and(|said| said == reason::TIMED_OUT) || paused == says_paused {
            return Ok(());
        }
        let (reason, message) =
            if paused { (reason::PAUSED, "Deployment is paused") } else { (reason::RESUMED, "Deployment is resumed") };
        let now = self.now();
        set_condition(&mut self.object["status"], fresh(PROGRESSING, "Unknown", reason, message, now));
        self.write_status().await
    }

    /// Says how many replicas there are, and nothing of how a rollout gets on.
    pub(super) async fn report_counts(&mut self) -> Result<Next, Error> {
        let wish = Wish::of(&self.object);
        let status = status::counted(&self.object["status"], &wish, &self.sets, self.new_set(), self.now());
        self.put_status(status).await?;
        Ok(Next::Done)
    }

    /// Says how many replicas there are, and how the rollout gets on.
    pub(super) async fn report(&mut self) -> Result<Next, Error> {
        let (wish, now) = (Wish::of(&self.object), self.now());
        let (old, new) = (&self.object["status"], self.new_set());
        let counted = status::counted(old, &wish, &self.sets, new, now);
        let status = status::with_progress(old, counted, &wish, &self.sets, new, now);
        let check = status::check_after(&wish, &status, now);
        self.put_status(status).await?;
        Ok(check.map_or(Next::Done, Next::After))
    }

    async fn put_status(&mut self, status: Value) -> Result<(), Error> {
        if self.object["status"] == status {
            return Ok(());
        }
        self.object["status"] = status;
        self.write_status().await
    }
}
