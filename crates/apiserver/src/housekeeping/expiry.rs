//! Events last an hour after their last change, as upstream has it.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::Place;
use crate::core::Core;
use crate::store::{Change, Expect};

const LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// The writes of events, oldest first.
#[derive(Debug, Default)]
pub(super) struct Expiry(VecDeque<(Timestamp, Place, u64)>);

impl Expiry {
    /// Notes a write.
    pub(super) fn note(&mut self, now: Timestamp, place: &Place, revision: u64) {
        self.0.push_back((now, place.clone(), revision));
    }

    fn due(&mut self, now: Timestamp) -> Vec<(Place, u64)> {
        let mut out = Vec::new();
        while let Some((at, _, _)) = self.0.front() {
            if now.duration_since(*at) < LIFETIME {
                break;
            }
            if let Some((_, place, revision)) = self.0.pop_front() {
                out.push((place, revision));
            }
        }
        out
    }
}

/// Removes the events whose time is up.
pub(super) async fn sweep(core: &Arc<Core>) {
    let due = core.follow.expiry.lock().unwrap_or_else(PoisonError::into_inner).due(core.clock.now());
    for (place, revision) in due {
        let Some(object) = core.store.get(&place.key, &place.namespace, &place.name) else { continue };
        // Written again since: that write has a place of its own in the line.
        if object.revision != revision {
            continue;
        }
        let bytes = object.bytes.clone();
        let change =
            Change::delete(&place.key, &place.namespace, &place.name, Expect::Revision(revision), move |_| bytes);
        let _ = core.store.write(change).await;
    }
}
