//! One who wants the lease, and the steps by which it gets and keeps it: client-go's protocol, so that ours and theirs may
//! stand for the same lease.
//!
//! ```text
//!               no lease: create ─────────────────────────────┐
//!   look ──────►held by nobody: take it (transitions + 1) ────┼──► leads ── renew (replace what was written last) ─┐
//!    ▲  │       not changed for its whole duration: take it ──┘      ▲  │                                          │
//!    │  ▼                                                            │  └── conflict, no answer: look; still ours?─┘
//!   wait ◄───── held by somebody ◄───────────────────────────────────┴───── no longer ours: lost
//! ```
//!
//! Whether somebody still holds it is judged by how long *we* have not seen the record change, by our own clock: the times
//! that are written in it come from another machine, whose calendar may be wrong.

use std::time::Duration;

use plimsoll_clock::Clock;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::LeaseConfig;
use super::fence::Moment;
use crate::error::Error;
use crate::objects::Objects;
use crate::resource::Resource;

/// What a lease says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u64>,
    acquire_time: Option<String>,
    renew_time: Option<String>,
    lease_transitions: Option<i64>,
}

impl Record {
    fn of(lease: &Value) -> Self {
        // What cannot be read is held by nobody: whoever can write a lease is allowed to take it anyway.
        Self::deserialize(&lease["spec"]).unwrap_or_default()
    }

    fn holder(&self) -> &str {
        self.holder_identity.as_deref().unwrap_or_default()
    }
}

/// What came of one step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The lease is ours, by a write that was sent at this moment.
    Held(Moment),
    /// It is somebody else's.
    Others,
}

/// One who wants the lease.
pub(super) struct Candidate {
    objects: Objects,
    clock: Clock,
    config: LeaseConfig,
    /// The lease as last seen or written, and since when its record is what it is.
    seen: Option<(Value, Record, Instant)>,
}

impl Candidate {
    pub(super) fn new(objects: Objects, clock: Clock, config: LeaseConfig) -> Self {
        Self { objects, clock, config, seen: None }
    }

    /// The lease as last seen.
    pub(super) fn lease(&self) -> Option<&Value> {
        self.seen.as_ref().map(|(lease, ..)| lease)
    }

    /// Gets the lease or renews it, if that can be.
    pub(super) async fn step(&mut self) -> Result<Step, Error> {
        // What is ours and was written by us last is replaced without looking.
        if let Some((lease, record, _)) = &self.seen
            && record.holder() == self.config.identity
        {
            let (lease, record) = (lease.clone(), record.clone());
            match self.write(Some((lease, &record))).await {
                Ok(sent) => return Ok(Step::Held(sent)),
                // Perhaps by a write of ours whose answer was lost.
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let Place { namespace, name } = self.place();
        let Some(lease) = self.objects.get::<Value>(Resource::LEASES, &namespace, &name).await? else {
            // The one that is not there is nobody's, whatever was seen before.
            self.seen = None;
            return self.write(None).await.map(Step::Held);
        };
        let record = self.see(lease.clone());
        let ours = record.holder() == self.config.identity;
        if !ours && !record.holder().is_empty() && self.is_valid(&record) {
            return Ok(Step::Others);
        }
        self.write(Some((lease, &record))).await.map(Step::Held)
    }

    /// Gives the lease back, if it is ours, so that nobody has to wait for its end.
    pub(super) async fn release(&mut self) -> Result<(), Error> {
        let Place { namespace, name } = self.place();
        loop {
            let Some(mut lease) = self.objects.get::<Value>(Resource::LEASES, &namespace, &name).await? else {
                return Ok(());
            };
            let record = Record::of(&lease);
            if record.holder() != self.config.identity {
                return Ok(());
            }
            let now = self.now();
            lease["spec"] = spec("", Duration::from_secs(1), &now, &now, record.lease_transitions.unwrap_or(0));
            match self.objects.replace::<Value>(Resource::LEASES, &lease).await {
                // A renewal of ours that was still on its way.
                Err(Error::Conflict(_)) => {}
                other => return other.map(|_| ()),
            }
        }
    }

    /// Writes ourselves into the lease. Returns when that was sent.
    async fn write(&mut self, over: Option<(Value, &Record)>) -> Result<Moment, Error> {
        let Place { namespace, name } = self.place();
        let (sent, now) = (Moment::now(&self.clock), self.now());
        let (identity, duration) = (&self.config.identity, self.config.lease_duration);
        let answer: Value = match over {
            None => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": spec(identity, duration, &now, &now, 0),
                });
                self.objects.create(Resource::LEASES, &namespace, &lease).await?
            }
            Some((mut lease, old)) => {
                let transitions = old.lease_transitions.unwrap_or(0);
                let ours = old.holder() == self.config.identity;
                let acquired = old.acquire_time.as_deref().filter(|_| ours).unwrap_or(&now);
                let transitions = if ours { transitions } else { transitions.saturating_add(1) };
                lease["spec"] = spec(identity, duration, acquired, &now, transitions);
                self.objects.replace(Resource::LEASES, &lease).await?
            }
        };
        self.see(answer);
        Ok(sent)
    }

    /// Takes note of the lease as it is, and of the moment if its record is not the one seen before.
    fn see(&mut self, lease: Value) -> Record {
        let record = Record::of(&lease);
        let since = match &self.seen {
            Some((_, seen, since)) if *seen == record => *since,
            _ => Instant::now(),
        };
        self.seen = Some((lease, record.clone(), since));
        record
    }

    fn is_valid(&self, record: &Record) -> bool {
        let duration = Duration::from_secs(record.lease_duration_seconds.unwrap_or(0));
        // A duration beyond the end of time never ends.
        let end = self.seen.as_ref().and_then(|(.., since)| since.checked_add(duration));
        end.is_none_or(|end| Instant::now() < end)
    }

    fn now(&self) -> String {
        format!("{:.6}", self.clock.now())
    }

    fn place(&self) -> Place {
        Place { namespace: self.config.namespace.clone(), name: self.config.name.clone() }
    }
}

/// Where the lease is.
struct Place {
    namespace: String,
    name: String,
}

fn spec(holder: &str, duration: Duration, acquired: &str, renewed: &str, transitions: i64) -> Value {
    json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": duration.as_secs(),
        "acquireTime": acquired,
        "renewTime": renewed,
        "leaseTransitions": transitions,
    })
}
