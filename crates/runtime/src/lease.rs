//! Leader election: of several replicas one works, by a Lease that it renews, with client-go's protocol and timings.
//!
//! ```text
//!                  the lease is ours                  not renewed in time, or somebody else's
//!   candidate ──────────────────────────► leader ──────────────────────────────────────────► Lost
//!       │ stopping                          │ ├─ a task panicked ─► lease given back ──────► Failed
//!       └──────────► Released ◄─────────────┘ stopping: tasks end, fence shut, lease given back
//! ```
//!
//! Three spans keep two leaders apart. A leader renews every `retry_period`. One that could not renew for `renew_deadline`
//! is fenced (see [`Leadership`]). Others take over when they have not seen the lease change for `lease_duration`, which
//! is longer; the difference is for requests that are on their way, and for clocks that do not run alike.

mod candidate;
mod fence;

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join;
use kube::Client;
use plimsoll_clock::Entropy;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use rand::Rng;
use tokio::time::Instant;

use crate::context::Context;
use crate::metrics::Named;
use crate::objects::Objects;
use crate::recorder::{About, Recorder, Severity};
use crate::resource::Resource;
use crate::tasks::AbortOnDrop;
use candidate::{Candidate, Step};
pub use fence::{Fenced, Leadership};

/// Candidates wait up to this much longer than the retry period, as a share of it, so that they do not all ask at once.
const JITTER: f64 = 1.2;
/// How long a stopping candidate waits for the answer to what it asked last: if it just became the leader, it gives the
/// lease back instead of leaving everybody to wait for its end.
const LAST_ANSWER: Duration = Duration::from_secs(1);
/// How long giving the lease back may take. A process has ten seconds to end.
const RELEASE: Duration = Duration::from_secs(2);

/// Which lease, for whom, and how long.
#[derive(Clone)]
pub struct LeaseConfig {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// Who stands for it; no two processes may have the same (see [`identity`]).
    pub identity: String,
    /// How long others wait without seeing a change before they take over.
    pub lease_duration: Duration,
    /// How long a leader that cannot renew goes on.
    pub renew_deadline: Duration,
    /// How long between two tries.
    pub retry_period: Duration,
    /// How long a stopping leader's tasks have to end before the lease is given back.
    pub grace: Duration,
    /// By which client the lease is kept, where that is not the context's: behind a throttle, renewals would wait in line with
    /// everything else, and the lease would be lost when there is most to do.
    pub client: Option<Client>,
    /// Who says on the lease that it changed hands, as upstream does; `None` for nobody.
    pub recorder: Option<Recorder>,
}

impl LeaseConfig {
    /// With client-go's timings.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            grace: Duration::from_secs(5),
            client: None,
            recorder: None,
        }
    }

    /// Whether the spans can work; otherwise a sentence that says why not.
    pub fn check(&self) -> Result<(), String> {
        if self.identity.is_empty() {
            return Err("the identity of a candidate must not be empty".to_owned());
        }
        if self.lease_duration <= self.renew_deadline {
            return Err("the lease duration must be greater than the renew deadline".to_owned());
        }
        if self.lease_duration.subsec_nanos() != 0 {
            return Err("the lease duration must be in whole seconds".to_owned());
        }
        if self.retry_period.is_zero() {
            return Err("the retry period must be greater than zero".to_owned());
        }
        if self.renew_deadline <= self.retry_period.mul_f64(JITTER) {
            return Err(format!("the renew deadline must be greater than {JITTER} times the retry period"));
        }
        Ok(())
    }
}

/// A name that no other process has: the machine's, and a uid.
pub fn identity(entropy: &Entropy) -> String {
    format!("{}_{}", host(), entropy.uid())
}

/// The machine's name.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// How a leadership, or the wish for one, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The process was asked to stop. Its tasks have ended and the lease is free, as far as could be said.
    Released,
    /// The lease was not renewed in time or is somebody else's. The tasks were ended where they stood; the process must
    /// end, too, since what it remembers may be wrong.
    Lost,
    /// A task of the leader panicked. The tasks were ended where they stood, and the lease was given back.
    Failed,
}

/// Waits until the lease is ours, and then begins `work`, until the context's tasks are stopping or the lease is lost.
///
/// `work` is given a context of its own: its client is guarded, so that no write is sent after the lease was lost, and its
/// tasks are ended with the leadership. It may return when everything is begun; that ends nothing.
pub async fn run_as_leader<F, W>(context: &Context, config: LeaseConfig, work: F) -> Ended
where
    F: FnOnce(Context) -> W,
    W: Future<Output = ()>,
{
    let grace = config.grace;
    let mut election = Election::new(context, config);
    let Some(leadership) = election.acquire().await else { return Ended::Released };
    if context.tasks.is_stopping() {
        // By the answer to its last question.
        election.release().await;
        return Ended::Released;
    }
    let tasks = context.tasks.part();
    let ending = AbortOnDrop(tasks.clone());
    let client = leadership.guard(&context.client);
    let mine = Context { client, tasks: tasks.clone(), ..context.clone() };
    election.announce(true);
    let ended = {
        let mut work = pin!(work(mine));
        let mut working = true;
        let mut keep = pin!(election.keep(&leadership));
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut keep => break Ended::Lost,
                () = tasks.failed() => break Ended::Failed,
                () = context.tasks.stopping() => break Ended::Released,
                () = &mut work, if working => working = false,
            }
        };
        if ended == Ended::Released {
            // What was begun may still have to be written, so the lease is kept until that is done.
            let rest = async {
                if working {
                    work.await;
                }
            };
            let end = async {
                tasks.stop();
                let _ = tokio::time::timeout(grace, join(rest, tasks.shut_down(grace))).await;
            };
            tokio::select! {
                biased;
                () = &mut keep => Ended::Lost,
                () = end => Ended::Released,
            }
        } else {
            ended
        }
    };
    drop(ending);
    // Before the lease is given back: whoever takes it must be the only one.
    leadership.end();
    election.announce(false);
    if ended != Ended::Lost {
        election.release().await;
    }
    ended
}

struct Election<'a> {
    context: &'a Context,
    config: LeaseConfig,
    candidate: Candidate,
    leads: Gauge,
}

impl<'a> Election<'a> {
    fn new(context: &'a Context, config: LeaseConfig) -> Self {
        let help = "Whether this process leads by the lease of that name (1) or stands by (0)";
        let leads: Family<Named, Gauge> = Family::default();
        let leads = context.metrics.register("leader_election_master_status", help, leads);
        let leads = leads.get_or_create(&Named::new(&config.name)).clone();
        leads.set(0);
        let objects = config.client.clone().map_or_else(|| context.objects(), Objects::new);
        let candidate = Candidate::new(objects, context.clock.clone(), config.clone());
        Self { context, config, candidate, leads }
    }

    /// Tries until the lease is ours; `None` when the process is stopping.
    async fn acquire(&mut self) -> Option<Leadership> {
        tracing::info!(lease = self.config.name, identity = self.config.identity, "waiting for the lease");
        loop {
            if self.context.tasks.is_stopping() {
                return None;
            }
            let context = self.context;
            let step = {
                let mut step = pin!(self.step(self.config.renew_deadline / 2));
                tokio::select! {
                    biased;
                    step = &mut step => step,
                    () = context.tasks.stopping() => {
                        tokio::time::timeout(LAST_ANSWER, step).await.ok().flatten()
                    }
                }
            };
            if let Some(Step::Held(sent)) = step {
                let clock = self.context.clock.clone();
                return Some(Leadership::new(clock, self.config.renew_deadline, sent));
            }
            let share = 1.0 + JITTER * self.context.entropy.with(|r| r.random_range(0.0..1.0));
            tokio::select! {
                biased;
                () = context.tasks.stopping() => return None,
                () = tokio::time::sleep(self.config.retry_period.mul_f64(share)) => {}
            }
        }
    }

    /// Renews the lease for as long as that can be done.
    async fn keep(&mut self, leadership: &Leadership) {
        loop {
            let until = leadership.until();
            tokio::select! {
                biased;
                () = leadership.over() => return,
                () = tokio::time::sleep_until(until.min(Instant::now() + self.config.retry_period)) => {}
            }
            if leadership.check().is_err() {
                tracing::error!(lease = self.config.name, "the lease could not be renewed in time");
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            let step = tokio::select! {
                biased;
                () = leadership.over() => return,
                step = self.step(left.min(self.config.renew_deadline / 2)) => step,
            };
            let lost = match step {
                Some(Step::Held(sent)) => leadership.renewed(sent).is_err(),
                Some(Step::Others) => true,
                None => false,
            };
            if lost {
                tracing::error!(lease = self.config.name, "the lease was lost");
                leadership.end();
                return;
            }
        }
    }

    /// One try; `None` where it failed.
    async fn step(&mut self, limit: Duration) -> Option<Step> {
        let name = self.config.name.clone();
        match tokio::time::timeout(limit, self.candidate.step()).await {
            Ok(Ok(step)) => Some(step),
            Ok(Err(error)) => {
                tracing::warn!(lease = name, %error, "cannot get or renew the lease");
                None
            }
            Err(_) => {
                tracing::warn!(lease = name, "no answer about the lease");
                None
            }
        }
    }

    async fn release(&mut self) {
        match tokio::time::timeout(RELEASE, self.candidate.release()).await {
            Ok(Ok(())) => tracing::info!(lease = self.config.name, "the lease is given back"),
            Ok(Err(error)) => tracing::warn!(lease = self.config.name, %error, "the lease cannot be given back"),
            Err(_) => tracing::warn!(lease = self.config.name, "no answer to giving the lease back"),
        }
    }

    /// Says that we lead, or no longer do.
    fn announce(&self, leads: bool) {
        self.leads.set(i64::from(leads));
        let words = if leads { "became leader" } else { "stopped leading" };
        let message = format!("{} {words}", self.config.identity);
        tracing::info!(lease = self.config.name, "{message}");
        if let (Some(recorder), Some(lease)) = (&self.config.recorder, self.candidate.lease()) {
            let text = |field: &str| lease["metadata"][field].as_str().unwrap_or_default().to_owned();
            let about = About {
                resource: Resource::LEASES,
                namespace: self.config.namespace.clone(),
                name: self.config.name.clone(),
                uid: text("uid"),
                version: text("resourceVersion"),
            };
            recorder.event(&about, Severity::Normal, "LeaderElection", &message);
        }
    }
}

#[cfg(test)]
mod tests;
