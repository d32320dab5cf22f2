//! How long a node's failed pod is kept before another is tried: where a kubelet refuses a pod, the next one is refused as fast as
//! it is made.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The first wait; doubled by each further failure. Both are upstream's.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A set's uid, the generation that was acted on, and a node. What changed may have mended it, so that the waits begin anew.
pub(super) type Case = (String, i64, String);

/// The waits of all nodes where a pod failed. A process that is started anew has none.
#[derive(Default)]
pub(super) struct Patience(Mutex<BTreeMap<Case, Wait>>);

struct Wait {
    since: Instant,
    long: Duration,
}

impl Wait {
    fn is_forgotten(&self, now: Instant) -> bool {
        now - self.since > 2 * LONGEST
    }
}

impl Patience {
    /// How long the failed pod of this case is still to be kept.
    pub(super) fn left(&self, case: &Case) -> Option<Duration> {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = waits.get(case)?;
        wait.long.checked_sub(Instant::now() - wait.since).filter(|left| !left.is_zero())
    }

    /// Takes note that a failed pod of this case is deleted now.
    pub(super) fn failed(&self, case: Case) {
        let now = Instant::now();
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.retain(|_, wait| !wait.is_forgotten(now));
        let long = waits.get(&case).map_or(FIRST, |wait| (wait.long * 2).min(LONGEST));
        waits.insert(case, Wait { since: now, long });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_a_quarter_of_an_hour_and_are_forgotten() {
        let (patience, case) = (Patience::default(), ("u".to_owned(), 1, "n".to_owned()));
        assert_eq!(patience.left(&case), None);
        let mut waits = Vec::new();
        for _ in 0..12 {
            patience.failed(case.clone());
            let left = patience.left(&case).unwrap();
            waits.push(left.as_secs());
            tokio::time::sleep(left).await;
            assert_eq!(patience.left(&case), None);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        tokio::time::sleep(2 * LONGEST + FIRST).await;
        patience.failed(case.clone());
        assert_eq!(patience.left(&case), Some(FIRST));
    }
}
