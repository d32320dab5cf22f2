//! How long a job waits before it makes another pod: 10 s after the first failure, doubled by each further one, 10 minutes at most.

use std::time::Duration;

use jiff::Timestamp;

use super::member::Member;
use crate::times;

/// The wait after the first failure.
const FIRST: i64 = 10;
/// The longest wait.
const LONGEST: i64 = 600;

/// The failures of a job since its last success. Kept in memory, as upstream does: a new process begins to count anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    failures: u32,
    last: Option<Timestamp>,
}

impl Record {
    /// The record with these ends of pods, which nobody has recorded yet.
    pub fn after(self, succeeded: &[&Member], failed: &[&Member]) -> Self {
        let last_success = succeeded.iter().map(|m| m.finished_at()).max();
        let since = |at: &Timestamp| last_success.is_none_or(|success| *at > success);
        let new: Vec<Timestamp> = failed.iter().map(|m| m.finished_at()).filter(since).collect();
        let before = if last_success.is_some() { Self::default() } else { self };
        let count = u32::try_from(new.len()).unwrap_or(u32::MAX);
        Self { failures: before.failures.saturating_add(count), last: new.into_iter().max().or(before.last) }
    }

    /// How long no pod is to be made.
    pub fn wait(self, now: Timestamp) -> Option<Duration> {
        remaining(self.failures, self.last?, now)
    }
}

/// How long no pod is to be made of the index whose last pod this is.
pub fn wait_for_index(last: &Member, now: Timestamp) -> Option<Duration> {
    let failures = u32::try_from(last.failures_before(true) + 1).unwrap_or(u32::MAX);
    remaining(failures, last.finished_at(), now)
}

fn remaining(failures: u32, last: Timestamp, now: Timestamp) -> Option<Duration> {
    if failures == 0 {
        return None;
    }
    let seconds = FIRST.checked_shl(failures - 1).filter(|s| *s > 0).unwrap_or(LONGEST).min(LONGEST);
    times::until(times::plus(last, seconds), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        for (failures, passed, left) in [
            (0, 0, None),
            (1, 0, Some(10)),
            (1, 4, Some(6)),
            (1, 10, None),
            (2, 0, Some(20)),
            (3, 0, Some(40)),
            (6, 0, Some(320)),
            (7, 0, Some(600)),
            (60, 0, Some(600)),
            (64, 0, Some(600)),
            (u32::MAX, 0, Some(600)),
            (u32::MAX, 700, None),
        ] {
            let wait = remaining(failures, at(0), at(passed));
            assert_eq!(wait, left.map(Duration::from_secs), "{failures} failures, {passed} s ago");
        }
    }
}
