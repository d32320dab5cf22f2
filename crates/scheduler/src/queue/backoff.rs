//! How long a pod waits after it failed.

use std::time::Duration;

/// How long a pod waits after it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first time.
    pub first: Duration,
    /// At most. Zero is no wait at all.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), most: Duration::from_secs(10) }
    }
}

impl Backoff {
    /// After so many failures of one sort.
    pub(super) fn after(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.most)
    }
}

/// How often a pod failed, by sort. A rejection ends a row of errors; errors do not make a rejection's wait longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    rejections: u32,
    errors: u32,
}

impl Failures {
    pub(super) fn rejected(&mut self) {
        self.rejections = self.rejections.saturating_add(1);
        self.errors = 0;
    }

    pub(super) fn erred(&mut self) {
        self.errors = self.errors.saturating_add(1);
    }

    /// How long the pod waits after the last of them.
    pub(super) fn wait(self, backoff: Backoff) -> Duration {
        backoff.after(if self.errors > 0 { self.errors } else { self.rejections })
    }
}
