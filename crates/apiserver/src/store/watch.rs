//! Watching a resource: a cursor into its ring of events.

use std::sync::Arc;

use super::RevisionError;
use super::object::Event;
use super::resource::Resource;
use super::shared::Shared;

/// How many events one call of [`Watcher::next`] gives at most: enough to send many in one piece, few enough that a slow watcher
/// holds little.
const BATCH: usize = 256;
/// And how many bytes: objects may be large, and every watcher may hold a batch of them. One event is given however large it is.
const BATCH_BYTES: usize = 256 << 10;

/// Follows a resource from a revision on. It has no queue: it holds one number, and reads what came after it. A watcher that is
/// slower than the ring is long gets [`RevisionError::TooOld`] and must list again; nobody else notices.
pub struct Watcher {
    shared: Arc<Shared>,
    resource: Arc<Resource>,
    cursor: u64,
}

/// What a watcher is given.
#[derive(Debug)]
pub struct Batch {
    /// In the order of their revisions; never empty.
    pub events: Vec<Arc<Event>>,
    /// Every event of this resource up to this revision has now been delivered.
    pub revision: u64,
}

impl Watcher {
    pub(super) fn new(shared: Arc<Shared>, resource: Arc<Resource>, cursor: u64) -> Self {
        Self { shared, resource, cursor }
    }

    /// Waits for the next events. A call that is dropped before it answers loses nothing.
    pub async fn next(&mut self) -> Result<Batch, RevisionError> {
        let resource = self.resource.clone();
        loop {
            let mut changed = std::pin::pin!(resource.changed.notified());
            // Listening begins before looking, so that an event in between is not missed.
            changed.as_mut().enable();
            if let Some(batch) = self.try_next()? {
                return Ok(batch);
            }
            changed.await;
        }
    }

    /// The next events if there are any.
    pub fn try_next(&mut self) -> Result<Option<Batch>, RevisionError> {
        let published = self.shared.revision();
        let (events, revision) = self.resource.events_after(self.cursor, BATCH, BATCH_BYTES, published)?;
        self.cursor = revision;
        Ok((!events.is_empty()).then_some(Batch { events, revision }))
    }

    /// For bookmarks: the newest revision of the whole store up to which every event of this resource has been delivered. It moves
    /// on while other resources change.
    pub fn progress(&mut self) -> u64 {
        let published = self.shared.revision();
        if let Ok((events, revision)) = self.resource.events_after(self.cursor, 1, 0, published)
            && events.is_empty()
        {
            self.cursor = revision;
        }
        self.cursor
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
