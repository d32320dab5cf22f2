//! How often a process looks at what has come in.
//!
//! An API server under load sends its answers and events one by one, and to wake for each costs more than the work that it
//! brings: the kernel's part, and a cache that others have filled meanwhile. Who is woken often lets some come together first,
//! as network cards do with interrupts. A process with little to do is woken at once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How far apart wake-ups are in the long run. A binding makes four steps of several times that length.
const GAP: Duration = Duration::from_millis(10);
/// How many may come closer together before that: what one pod needs, and more.
const BURST: u32 = 16;

/// The pace of one thread.
pub struct Pace {
    /// When the wake-ups so far would have been over at their usual distance.
    next: Mutex<Instant>,
}

impl Pace {
    /// From now on.
    pub fn new(now: Instant) -> Self {
        Self { next: Mutex::new(now) }
    }

    /// A thread has nothing left to do: how long it is to rest before it waits for more.
    pub fn wait(&self, now: Instant) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        // Unused turns are kept, up to the burst.
        let oldest = now.checked_sub(GAP * BURST).unwrap_or(now);
        *next = (*next).max(oldest) + GAP;
        next.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_woken_now_and_then_never_rests() {
        let start = Instant::now();
        let pace = Pace::new(start);
        for second in 1..100 {
            for step in 0..BURST {
                let now = start + Duration::from_secs(second) + Duration::from_millis(step.into());
                assert_eq!(pace.wait(now), Duration::ZERO, "{second} {step}");
            }
        }
    }

    #[test]
    fn who_is_woken_all_the_time_rests_for_the_gap_and_no_longer() {
        let start = Instant::now() + Duration::from_secs(10);
        let pace = Pace::new(start);
        let (mut now, mut wakes) = (start, 0);
        while now < start + Duration::from_secs(1) {
            // It comes in faster than it can be looked at.
            now += Duration::from_micros(100);
            let rest = pace.wait(now);
            assert!(rest <= GAP, "{rest:?}");
            now += rest;
            wakes += 1;
        }
        assert!((100..=101 + BURST).contains(&wakes), "{wakes}");
    }
}
