//! The fence: a leader that could not renew its lease in time writes nothing more, whether or not it has noticed.
//!
//! ```text
//!                renewed                       the deadline passes, somebody else leads, or the end
//!   open ───────────────────► open, until later
//!     └──────────────────────────────────────────────────────────────────────────────► shut, for good
//! ```
//!
//! A process that was frozen (SIGSTOP, a suspended machine) wakes up in the middle of what it was doing, and any of its
//! tasks may run first. So it is not enough that some task would notice: every write asks the fence, and the fence asks
//! the clocks. Once shut it stays shut, even if a renewal went through at the last moment.
//!
//! What the fence cannot do is to recall a request that was on its way when the process was frozen. Such a write is
//! protected by its condition on the object's version, as every write here is; and the time between the renew deadline
//! and the end of the lease is left for it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use plimsoll_clock::Clock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, service_fn};

/// Why a write was not made: the process is not the leader any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease was not renewed in time; nothing more is written")]
pub struct Fenced;

/// A moment, by the clock that tests pause and by the one that goes on while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    tokio: Instant,
    /// `None` in virtual time, in which the machine's clocks mean nothing.
    awake_or_not: Option<Duration>,
}

impl Moment {
    pub(super) fn now(clock: &Clock) -> Self {
        let awake_or_not = matches!(clock, Clock::System).then(since_boot);
        Self { tokio: Instant::now(), awake_or_not }
    }

    fn plus(self, wait: Duration) -> Self {
        Self { tokio: self.tokio + wait, awake_or_not: self.awake_or_not.map(|d| d + wait) }
    }

    /// Whether either clock says so: the one that stood still is the one that is wrong.
    fn reached(self, end: Self) -> bool {
        self.tokio >= end.tokio || matches!((self.awake_or_not, end.awake_or_not), (Some(now), Some(end)) if now >= end)
    }
}

/// The time since the machine was started, with the time that it slept.
fn since_boot() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // Elsewhere the monotonic clock goes on while the machine sleeps, unlike the one that Rust's Instant reads.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    Duration::try_from(rustix::time::clock_gettime(CLOCK)).unwrap_or_default()
}

/// What a leader knows of its leadership. Clones are of the same one.
#[derive(Clone)]
pub struct Leadership {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    /// How long a renewal lasts for the one who made it. Others wait longer.
    deadline: Duration,
    until: Mutex<Moment>,
    shut: CancellationToken,
}

impl Leadership {
    /// Of one who wrote itself into the lease by a request sent at `sent`.
    pub(super) fn new(clock: Clock, deadline: Duration, sent: Moment) -> Self {
        let until = Mutex::new(sent.plus(deadline));
        Self { inner: Arc::new(Inner { clock, deadline, until, shut: CancellationToken::new() }) }
    }

    /// Takes note of a renewal, counted from when it was sent: others count from when they see it, which is later.
    /// Too late, it changes nothing.
    pub(super) fn renewed(&self, sent: Moment) -> Result<(), Fenced> {
        self.check()?;
        *self.inner.until.lock().unwrap_or_else(PoisonError::into_inner) = sent.plus(self.inner.deadline);
        // The request may have taken longer than the deadline.
        self.check()
    }

    /// Ends it: nothing is written from now on.
    pub(super) fn end(&self) {
        self.inner.shut.cancel();
    }

    /// The moment at which it ends unless it is renewed.
    pub(super) fn until(&self) -> Instant {
        self.inner.until.lock().unwrap_or_else(PoisonError::into_inner).tokio
    }

    /// Whether the process may still act as the leader. To be asked before anything that others must not do as well.
    pub fn check(&self) -> Result<(), Fenced> {
        if self.inner.shut.is_cancelled() {
            return Err(Fenced);
        }
        let until = *self.inner.until.lock().unwrap_or_else(PoisonError::into_inner);
        if Moment::now(&self.inner.clock).reached(until) {
            self.inner.shut.cancel();
            return Err(Fenced);
        }
        Ok(())
    }

    /// Done when somebody noticed that it is over.
    pub async fn over(&self) {
        self.inner.shut.cancelled().await;
    }

    /// The same client, except that it writes only while the process may: after that, every request but a reading one
    /// fails with [`Fenced`] and is not sent. Must be called inside a runtime.
    pub fn guard(&self, client: &Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let (client, leadership) = (client.clone(), self.clone());
        let service =
            service_fn(move |request: Request<Body>| -> BoxFuture<'static, Result<Response<Body>, BoxError>> {
                let client = client.clone();
                if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
                    return Box::pin(async move { client.send(request).await.map_err(BoxError::from) });
                }
                let leadership = leadership.clone();
                Box::pin(async move {
                    let mut sent = pin!(client.send(request));
                    // Asked at every step: a request that still waits for its connection is not sent by waking up late.
                    poll_fn(|cx| match leadership.check() {
                        Ok(()) => sent.as_mut().poll(cx).map_err(BoxError::from),
                        Err(fenced) => Poll::Ready(Err(fenced.into())),
                    })
                    .await
                })
            });
        Client::new(service, namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_clock_that_went_on_decides() {
        let now = Moment::now(&Clock::System);
        let later = now.plus(Duration::from_secs(10));
        assert!(!now.reached(later));
        // The process was stopped: both went on. The machine slept: only one did.
        assert!(now.plus(Duration::from_secs(10)).reached(later));
        let slept = Moment { awake_or_not: now.awake_or_not.map(|d| d + Duration::from_secs(11)), ..now };
        assert!(slept.reached(later));
        assert!(since_boot() > Duration::ZERO);
    }
}
