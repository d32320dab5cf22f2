//! The tasks of a process: begun in one place, ended together.
//!
//! ```text
//!                stop               all ended, or most of the grace over        all ended, or the grace over
//!   running ─────────────► stopping ───────────────────────────────► closing ────────────────────────► ended
//!      └──────────────────────────────────── abort ─────────────────────────────────────────────────────► ▲
//! ```
//!
//! Most tasks end when the process is *stopping*. A few serve the others to their end (events are written, health is
//! answered) and end when it is *closing*.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;

/// The tasks of a process. They end when asked to ([`Tasks::shut_down`]), or where they stand ([`Tasks::abort`]).
#[derive(Clone, Default)]
pub struct Tasks {
    inner: Arc<Inner>,
}

struct Inner {
    stop: CancellationToken,
    close: CancellationToken,
    failed: CancellationToken,
    gate: Gate,
    /// `None` once they were ended: what is spawned after that is not begun.
    sets: Mutex<Option<Sets>>,
}

#[derive(Default)]
struct Sets {
    workers: JoinSet<()>,
    servants: JoinSet<()>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            stop: CancellationToken::new(),
            close: CancellationToken::new(),
            failed: CancellationToken::new(),
            gate: Gate::default(),
            sets: Mutex::new(Some(Sets::default())),
        }
    }
}

/// The share of the grace that is kept for the tasks that serve the others.
const KEPT_FOR_CLOSING: u32 = 5;

/// How long the end by force may take.
const FORCED: Duration = Duration::from_millis(500);

impl Tasks {
    /// No tasks yet. Must be called inside a runtime only once the first is begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tasks of a part of the process, which can be ended by themselves: none yet. What stops the process where it stands
    /// stops them, too.
    pub fn part(&self) -> Self {
        Self { inner: Arc::new(Inner { gate: self.inner.gate.clone(), ..Inner::default() }) }
    }

    /// Begins a task. It is meant to run until [`Tasks::stopping`]; one that panics fails the process.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.begin(name, work, |sets| &mut sets.workers);
    }

    /// Begins a task that serves the others to their end. It is meant to run until the token of [`Tasks::closing`].
    pub fn spawn_servant(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.begin(name, work, |sets| &mut sets.servants);
    }

    fn begin(
        &self,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
        which: impl FnOnce(&mut Sets) -> &mut JoinSet<()>,
    ) {
        let failed = self.inner.failed.clone();
        let mut sets = self.inner.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(set) = sets.as_mut().map(which) else { return };
        while set.try_join_next().is_some() {}
        set.spawn(self.inner.gate.guard(async move {
            let _guard = OnPanic { name, failed };
            work.await;
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

    /// A token that tells the tasks which serve the others that these have ended.
    pub fn closing(&self) -> CancellationToken {
        self.inner.close.clone()
    }

    /// Done when a task panicked: the process must not go on with a part of it missing.
    pub async fn failed(&self) {
        self.inner.failed.cancelled().await;
    }

    /// Asks every task to end, waits for that, and ends those by force that take longer than `grace`.
    pub async fn shut_down(&self, grace: Duration) {
        let end = Instant::now() + grace;
        self.stop();
        let sets = self.inner.sets.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Sets { workers, servants }) = sets else { return };
        let workers_end = if servants.is_empty() { end } else { end - grace / KEPT_FOR_CLOSING };
        join(workers, workers_end).await;
        self.inner.close.cancel();
        join(servants, end).await;
    }

    /// Ends every task where it stands, as the death of the process would.
    pub fn abort(&self) {
        drop(self.inner.sets.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Waits for the tasks, and ends them by force when they take too long.
async fn join(mut set: JoinSet<()>, end: Instant) {
    let all = async { while set.join_next().await.is_some() {} };
    if tokio::time::timeout_at(end, all).await.is_ok() {
        return;
    }
    tracing::warn!("some tasks did not end in time and were ended");
    // So that what they hold is let go before anybody goes on. One that never waits cannot be ended, nor waited for.
    let _ = tokio::time::timeout(FORCED, set.shutdown()).await;
}

/// Ends a part's tasks where they stand when it is dropped: tasks hold what they were begun from, so that without this they
/// would outlive the one who began them.
pub(crate) struct AbortOnDrop(pub(crate) Tasks);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct OnPanic {
    name: &'static str,
    failed: CancellationToken,
}

impl Drop for OnPanic {
    fn drop(&mut self) {
        // A task that ended or was aborted comes here, too; only a panic is a failure.
        if std::thread::panicking() {
            tracing::error!("the task {} panicked", self.name);
            self.failed.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records its name when it is dropped.
    struct Last(&'static str, Arc<Mutex<Vec<&'static str>>>);

    impl Drop for Last {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn servants_outlive_workers() {
        let tasks = Tasks::new();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let servant = Last("servant", ended.clone());
        let closing = tasks.closing();
        tasks.spawn_servant("servant", async move {
            closing.cancelled().await;
            drop(servant);
        });
        let worker = Last("worker", ended.clone());
        let stopping = tasks.token();
        tasks.spawn("worker", async move {
            stopping.cancelled().await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            drop(worker);
        });
        let began = Instant::now();
        tasks.shut_down(Duration::from_secs(10)).await;
        assert_eq!(*ended.lock().unwrap(), ["worker", "servant"]);
        assert_eq!(began.elapsed(), Duration::from_secs(3));
        // What comes later is not begun, and ending again is nothing.
        let late = Last("late", ended.clone());
        tasks.spawn("late", async move {
            let _late = late;
            std::future::pending().await
        });
        assert_eq!(ended.lock().unwrap().last(), Some(&"late"));
        tasks.shut_down(Duration::from_secs(10)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_end_is_ended() {
        let tasks = Tasks::new();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let stuck = Last("stuck", ended.clone());
        tasks.spawn("stuck", async move {
            let _stuck = stuck;
            std::future::pending().await
        });
        let began = Instant::now();
        tasks.shut_down(Duration::from_secs(10)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        assert_eq!(*ended.lock().unwrap(), ["stuck"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_failure_and_an_abort_is_not() {
        let tasks = Tasks::new();
        tasks.spawn("quiet", std::future::pending());
        tasks.abort();
        let failed = tokio::time::timeout(Duration::from_secs(1), tasks.failed()).await;
        assert!(failed.is_err());

        let tasks = Tasks::new();
        tasks.spawn("loud", async { panic!("on purpose") });
        tasks.failed().await;
    }
}
