//! The tasks of a process: begun in one place, ended together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;

/// The tasks of a process. They end when asked to ([`Tasks::shut_down`]), or where they stand ([`Tasks::abort`]).
#[derive(Clone, Default)]
pub struct Tasks {
    inner: Arc<Inner>,
}

struct Inner {
    stop: CancellationToken,
    failed: CancellationToken,
    gate: Gate,
    /// `None` once they were ended: what is spawned after that is not begun.
    set: Mutex<Option<JoinSet<()>>>,
}

impl Default for Inner {
    fn default() -> Self {
        let set = Mutex::new(Some(JoinSet::new()));
        Self { stop: CancellationToken::new(), failed: CancellationToken::new(), gate: Gate::default(), set }
    }
}

impl Tasks {
    /// No tasks yet. Must be called inside a runtime only once the first is begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a task. It is meant to run until [`Tasks::stopping`]; one that panics fails the process.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let failed = self.inner.failed.clone();
        let mut set = self.inner.set.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(set) = set.as_mut() else { return };
        while set.try_join_next().is_some() {}
        set.spawn(self.inner.gate.guard(async move {
            let guard = OnPanic { name, failed };
            work.await;
            std::mem::forget(guard);
        }));
    }

    /// The gate in front of the tasks, for the test bed.
    pub fn gate(&self) -> &Gate {
        &self.inner.gate
    }

    /// Asks every task to end.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Whether they were asked to end.
    pub fn is_stopping(&self) -> bool {
        self.inner.stop.is_cancelled()
    }

    /// Done when they are asked to end.
    pub async fn stopping(&self) {
        self.inner.stop.cancelled().await;
    }

    /// A token of the same, for what cannot hold the tasks themselves.
    pub fn token(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    /// Done when a task panicked: the process must not go on with a part of it missing.
    pub async fn failed(&self) {
        self.inner.failed.cancelled().await;
    }

    /// Asks every task to end, waits for that, and ends those by force that take longer than `grace`.
    pub async fn shut_down(&self, grace: Duration) {
        self.stop();
        let Some(mut set) = self.inner.set.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let all = async { while set.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!("some tasks did not end in time and were ended");
        }
    }

    /// Ends every task where it stands, as the death of the process would.
    pub fn abort(&self) {
        drop(self.inner.set.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

struct OnPanic {
    name: &'static str,
    failed: CancellationToken,
}

impl Drop for OnPanic {
    fn drop(&mut self) {
        // An aborted task comes here, too; only a panic is a failure.
        if std::thread::panicking() {
            tracing::error!("the task {} panicked", self.name);
            self.failed.cancel();
        }
    }
}
