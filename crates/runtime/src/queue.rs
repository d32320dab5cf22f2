//! A work queue of keys: a key waits in it at most once, and is worked on by at most one at a time.
//!
//! ```text
//!            add                    taken by a worker             done
//!   (none) ─────────► waiting ───────────────────────► working ─────────► (none)
//!      ▲   add_after     ▲                              │   │ add: noted
//!      └───► delayed ────┘ time                         │   └──────────► working, and waiting when done
//!               ▲                                       │ fails
//!               └───────── backoff of the key ──────────┘
//! ```
//!
//! Who adds a key that waits because it failed has news of it, so it need not wait as long; but it does wait, since the
//! news may be of its own failing (an event, a half-done write), and it would fail as fast as it can.

mod figures;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::metrics::Metrics;
use figures::Figures;

/// The longest that a key waits. The clock does not reach further than some centuries, and what is asked for may come from an object.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What becomes of a key that was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until somebody adds it again.
    Done,
    /// It is looked at again after this long.
    After(Duration),
}

/// How long a failing key waits.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first failure; doubled by each further one.
    pub first: Duration,
    /// At most.
    pub longest: Duration,
}

impl Default for Backoff {
    /// client-go's first wait; its longest, 1000 s, would leave a claim waiting a quarter of an hour after a trouble is over.
    fn default() -> Self {
        Self { first: Duration::from_millis(5), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The wait after the `failures`th failure in a row.
    pub fn after(&self, failures: u32) -> Duration {
        self.first.saturating_mul(1u32 << failures.saturating_sub(1).min(30)).min(self.longest)
    }
}

/// The longest that a busy server may ask a key to wait: what it asks for is not ours to trust.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The longest that a failing key waits once there is news of it.
const NEWS: Duration = Duration::from_secs(1);

/// A work queue of keys.
pub struct Queue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K> {
    waiting: VecDeque<K>,
    /// What is in `waiting`.
    queued: BTreeSet<K>,
    working: BTreeSet<K>,
    /// Added while being worked on.
    again: BTreeSet<K>,
    delayed: BTreeSet<(Instant, K)>,
    due: BTreeMap<K, Instant>,
    failures: BTreeMap<K, Failed>,
    backoff: Backoff,
    figures: Option<Figures<K>>,
}

/// The failures of a key since it last went well.
struct Failed {
    count: u32,
    /// Until then it waits even when there is news.
    patient: Instant,
}

impl<K: Ord + Clone + Send + 'static> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Arc<Self> {
        Self::with(backoff, None)
    }

    /// An empty queue whose figures are kept under `name`, as client-go's are.
    pub fn named(backoff: Backoff, name: &str, metrics: &Metrics) -> Arc<Self> {
        Self::with(backoff, Some(Figures::new(name, metrics)))
    }

    fn with(backoff: Backoff, figures: Option<Figures<K>>) -> Arc<Self> {
        let state = State {
            waiting: VecDeque::new(),
            queued: BTreeSet::new(),
            working: BTreeSet::new(),
            again: BTreeSet::new(),
            delayed: BTreeSet::new(),
            due: BTreeMap::new(),
            failures: BTreeMap::new(),
            backoff,
            figures,
        };
        Arc::new(Self { state: Mutex::new(state), changed: Notify::new() })
    }

    /// Wants the key worked on.
    pub fn add(&self, key: K) {
        self.state().add(key);
        self.changed.notify_one();
    }

    /// Wants the key worked on after a while, or earlier where that was asked for already.
    pub fn add_after(&self, key: K, wait: Duration) {
        let at = Instant::now() + wait.min(LONGEST);
        self.state().delay(key, at);
        self.changed.notify_one();
    }

    /// How many keys wait to be worked on now.
    pub fn depth(&self) -> usize {
        self.state().waiting.len()
    }

    /// Whether nothing waits, is worked on, or will be.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.working.is_empty() && state.delayed.is_empty()
    }

    /// Works on keys, up to `width` of them at a time, until `stop`. What is begun by then is worked on to its end, for
    /// which the process gives its tasks some time and no more.
    pub async fn run<F, W>(&self, width: usize, stop: CancellationToken, work: F)
    where
        F: Fn(K) -> W,
        W: Future<Output = Result<Next, Error>>,
    {
        let mut running = FuturesUnordered::new();
        // Made once: each costs a lock to begin and to end, and this is polled at every step of everything that runs.
        let mut stopped = pin!(stop.cancelled());
        let mut due = pin!(tokio::time::sleep_until(Instant::now()));
        loop {
            while running.len() < width.max(1)
                && !stop.is_cancelled()
                && let Some(key) = self.take()
            {
                let job = work(key.clone());
                running.push(async move { (key, job.await) });
            }
            // While all hands are full, what becomes due waits for one of them.
            let next = self.next_due().filter(|_| running.len() < width.max(1));
            if let Some(next) = next.filter(|next| *next != due.deadline()) {
                due.as_mut().reset(next);
            }
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some((key, result)) = running.next(), if !running.is_empty() => self.done(key, result),
                () = self.changed.notified() => {}
                () = &mut due, if next.is_some() => {}
            }
        }
        while let Some((key, result)) = running.next().await {
            self.done(key, result);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_due(&self) -> Option<Instant> {
        self.state().delayed.first().map(|(at, _)| *at)
    }

    fn take(&self) -> Option<K> {
        let mut state = self.state();
        let now = Instant::now();
        while state.delayed.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = state.delayed.pop_first() {
                state.due.remove(&key);
                state.enqueue(key);
            }
        }
        let key = state.waiting.pop_front()?;
        state.queued.remove(&key);
        state.working.insert(key.clone());
        if let Some(figures) = &mut state.figures {
            figures.taken(&key);
        }
        Some(key)
    }

    fn done(&self, key: K, result: Result<Next, Error>) {
        let mut state = self.state();
        let state = &mut *state;
        state.working.remove(&key);
        let news = state.again.remove(&key);
        let now = Instant::now();
        if let Some(figures) = &mut state.figures {
            figures.done(&key, result.is_err());
        }
        match result {
            Ok(next) => {
                state.failures.remove(&key);
                match next {
                    _ if news => state.enqueue(key),
                    Next::Done => {}
                    Next::After(wait) => state.delay(key, now + wait.min(LONGEST)),
                }
            }
            Err(error) => {
                let count = state.failures.get(&key).map_or(0, |f| f.count).saturating_add(1);
                let backoff = state.backoff.after(count);
                let asked = match error {
                    Error::Busy { after: Some(after), .. } => after.min(LONGEST_ASKED),
                    _ => Duration::ZERO,
                };
                let patient = now + backoff.min(NEWS).max(asked);
                let at = if news { patient } else { now + backoff.max(asked) };
                state.failures.insert(key.clone(), Failed { count, patient });
                state.delay(key, at);
            }
        }
    }
}

impl<K: Ord + Clone> State<K> {
    fn add(&mut self, key: K) {
        if let Some(figures) = &mut self.figures {
            figures.added();
        }
        match self.failures.get(&key) {
            // Not before what its failures ask for; `take` moves it on when that is over.
            Some(failed) if !self.working.contains(&key) => {
                let at = failed.patient;
                self.delay(key, at);
            }
            _ => self.enqueue(key),
        }
    }

    fn enqueue(&mut self, key: K) {
        if let Some(at) = self.due.remove(&key) {
            self.delayed.remove(&(at, key.clone()));
        }
        if self.working.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            if let Some(figures) = &mut self.figures {
                figures.waits(&key);
            }
            self.waiting.push_back(key);
        }
    }

    fn delay(&mut self, key: K, at: Instant) {
        if self.queued.contains(&key) {
            return;
        }
        match self.due.get(&key) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                let later = *later;
                self.delayed.remove(&(later, key.clone()));
            }
            None => {}
        }
        self.due.insert(key.clone(), at);
        self.delayed.insert((at, key));
    }
}

#[cfg(test)]
mod tests;
