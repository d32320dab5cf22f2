//! The ways from the old sets to the new one.

use plimsoll_runtime::{Error, Next};

use super::numbers::{self, Scaling};
use super::round::Round;
use super::set::Set;
use super::status::{Wish, history_limit, is_complete};
use crate::pods::is_done;
use crate::remove::{Only, remove};

impl Round<'_> {
    /// The name of the new set, which was found or made before.
    fn new_name(&self) -> Option<String> {
        self.new_set().map(|set| set.name().to_owned())
    }

    /// One step of a rolling update: up, or else down.
    pub(super) async fn roll(&mut self) -> Result<Next, Error> {
        self.make_new_set().await?;
        let room = self.room();
        let Some(new) = self.new_set().map(Set::size) else { return Ok(Next::Done) };
        let all = self.sets.iter().map(Set::replicas).sum();
        let size = numbers::new_size(&room, new.replicas, all);
        if self.resize(vec![(new.name.clone(), size)], false).await? {
            return self.report().await;
        }
        let old = self.old_sizes(Some(&new.name));
        let spare = numbers::spare(&room, &new, &old);
        if spare > 0 && old.iter().any(|set| set.replicas > 0) {
            let mut changed = self.resize(numbers::without_unhealthy(&old, spare), false).await?;
            let old = self.old_sizes(Some(&new.name));
            changed |= self.resize(numbers::shrunk(&room, &new, &old), false).await?;
            if changed {
                return self.report().await;
            }
        }
        self.forget_history().await?;
        self.report().await
    }

    /// One step of a Deployment whose old pods must be gone before new ones come.
    pub(super) async fn recreate(&mut self) -> Result<Next, Error> {
        let name = self.new_name();
        let old: Vec<String> = self.others(name.as_deref()).map(|set| set.name().to_owned()).collect();
        if self.resize(old.into_iter().map(|name| (name, 0)).collect(), false).await? {
            return self.report().await;
        }
        if self.old_pods_are_there() {
            return self.report().await;
        }
        self.make_new_set().await?;
        if let Some(name) = self.new_name() {
            self.resize(vec![(name, self.room().replicas)], false).await?;
        }
        self.forget_history().await?;
        self.report().await
    }

    /// Whether an old set says that it has pods, or there are some that have not ended.
    fn old_pods_are_there(&self) -> bool {
        let (world, name) = (&self.of.world, self.new_name());
        self.others(name.as_deref()).any(|set| {
            let pods = world.pods_of.get(&*world.pods, set.uid());
            set.says("replicas") > 0 || pods.iter().any(|pod| !is_done(&pod.slim))
        })
    }

    /// Sizes of a Deployment that was scaled in the middle of a rollout, or is paused.
    pub(super) async fn scale(&mut self) -> Result<Next, Error> {
        self.follow_new_set().await?;
        let (room, new) = (self.room(), self.new_set());
        let saturated = new.is_some_and(|set| set.is_saturated(&room));
        let (new, there) = (new.map(Set::size), self.object["status"]["replicas"].as_i64().unwrap_or(0));
        let old = self.old_sizes(new.as_ref().map(|new| new.name.as_str()));
        match numbers::scaled(&room, new.as_ref(), &old, saturated, there) {
            Scaling::To(targets) => self.resize(targets, false).await?,
            Scaling::Proportionally(targets) => self.resize(targets, true).await?,
        };
        if self.is_paused() && self.rollback_to().is_none() {
            self.delete_old_sets().await?;
        }
        self.report_counts().await
    }

    /// Deletes old sets beyond the history, once the rollout is complete.
    async fn forget_history(&mut self) -> Result<(), Error> {
        if is_complete(&Wish::of(&self.object), &self.object["status"]) {
            self.delete_old_sets().await?;
        }
        Ok(())
    }

    async fn delete_old_sets(&mut self) -> Result<(), Error> {
        let Some(limit) = history_limit(&self.object) else { return Ok(()) };
        let name = self.new_name();
        let is_alive = |set: &&Set| !set.whole.slim.0.metadata.deletion_timestamp.0;
        let mut old: Vec<Set> = self.others(name.as_deref()).filter(is_alive).cloned().collect();
        let many = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        // Those whose revision cannot be read are the oldest; of one revision, the one that was made first.
        old.sort_by(|a, b| (a.revision(), a.age()).cmp(&(b.revision(), b.age())));
        for set in old.iter().take(many).filter(|set| is_empty(set)) {
            // One that somebody scaled up meanwhile stays.
            remove(&self.of.objects, &self.of.world.replica_sets, &set.whole, Only::Unchanged).await?;
            self.sets.retain(|other| other.uid() != set.uid());
        }
        Ok(())
    }
}

/// Whether a set has no pods, is to have none, and its controller knows that.
fn is_empty(set: &Set) -> bool {
    let generation = set.value["metadata"]["generation"].as_i64().unwrap_or(0);
    set.replicas() == 0 && set.says("replicas") == 0 && generation <= set.says("observedGeneration")
}
