//! Tells the collector: a batch at a time, again a few times where nobody answers, and not for ever.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode, Uri};
use rand::RngCore;
use rand::rngs::SmallRng;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::trace::{Tree, Value};
use super::{Counts, SpansConfig, dropped, wire};
use crate::outbound::Transport;
use crate::queue::Backoff;

/// How many traces go at once: some hundred kilobytes.
const BATCH: usize = 256;
/// How long a trace waits for others to go with it.
const GATHER: Duration = Duration::from_secs(1);
/// How long an answer may take, as OTLP's exporters have it.
const ANSWER: Duration = Duration::from_secs(10);
/// How often a batch is tried before it is dropped for a newer one.
const TRIES: u32 = 4;
/// How long until it is tried again.
const AGAIN: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(5) };
/// How long the process may be kept from its end: less than what servants are given (`tasks.rs`, and a second at a leader's end).
const FLUSH: Duration = Duration::from_millis(700);

/// Tells the collector.
pub(super) struct Exporter {
    endpoint: Uri,
    transport: Transport,
    /// Who speaks, as it is written.
    resource: Vec<u8>,
    ids: SmallRng,
    counts: Counts,
    /// The spans that are on their way.
    in_hand: usize,
    /// Whether the last batch arrived: only a change is logged.
    is_well: bool,
}

/// What became of a try.
enum Tried {
    /// Taken, with the collector's answer.
    Taken(Bytes),
    /// Not taken, now or ever.
    Refused(String),
    /// Perhaps the next time.
    Again(String),
}

impl Exporter {
    pub(super) fn new(config: SpansConfig, instance: &str, ids: SmallRng, counts: Counts) -> Self {
        let resource = wire::resource(&[
            ("service.name", Value::from(config.service)),
            ("service.version", Value::from(env!("CARGO_PKG_VERSION"))),
            ("service.instance.id", Value::from(instance)),
        ]);
        let SpansConfig { endpoint, transport, .. } = config;
        Self { endpoint, transport, resource, ids, counts, in_hand: 0, is_well: true }
    }

    /// Tells until the end; then what was said, as far as there is time.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Tree>, closing: CancellationToken) {
        let too_late = async {
            closing.cancelled().await;
            tokio::time::sleep(FLUSH).await;
        };
        tokio::select! {
            biased;
            () = self.tell(&mut queue, &closing) => {}
            () = too_late => {}
        }
        queue.close();
        let mut left = self.in_hand;
        while let Ok(tree) = queue.try_recv() {
            left += tree.top.spans();
        }
        self.counts.dropped(dropped::SHUTDOWN, left);
    }

    async fn tell(&mut self, queue: &mut mpsc::Receiver<Tree>, closing: &CancellationToken) {
        loop {
            let batch = gather(queue, closing).await;
            if batch.is_empty() {
                return;
            }
            let mut spans = Vec::new();
            let mut identity = || self.ids.next_u64().to_le_bytes();
            self.in_hand = batch.iter().map(|tree| wire::tree(&mut spans, tree, &mut identity)).sum();
            drop(batch);
            let body = Bytes::from(wire::request(&self.resource, &spans));
            self.deliver(body, closing).await;
            self.in_hand = 0;
        }
    }

    /// Brings a batch to the collector, or drops it.
    async fn deliver(&mut self, body: Bytes, closing: &CancellationToken) {
        let mut tries = 0;
        let (reason, why) = loop {
            tries += 1;
            match self.attempt(body.clone()).await {
                Tried::Taken(answer) => return self.taken(&answer),
                Tried::Refused(why) => break (dropped::REFUSED, why),
                Tried::Again(why) if tries == TRIES => break (dropped::UNREACHABLE, why),
                // There is no time for another try.
                Tried::Again(why) if closing.is_cancelled() => break (dropped::SHUTDOWN, why),
                Tried::Again(why) => self.troubled(&why),
            }
            tokio::select! {
                () = tokio::time::sleep(AGAIN.after(tries)) => {}
                () = closing.cancelled() => {}
            }
        };
        self.troubled(&why);
        self.counts.dropped(reason, self.in_hand);
    }

    async fn attempt(&self, body: Bytes) -> Tried {
        let request = Request::post(&self.endpoint)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header(USER_AGENT, concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
            .body(body);
        let request = match request {
            Ok(request) => request,
            Err(error) => return Tried::Refused(error.to_string()),
        };
        match tokio::time::timeout(ANSWER, (self.transport)(request)).await {
            Err(_) => Tried::Again(format!("no answer within {} s", ANSWER.as_secs())),
            Ok(Err(error)) => Tried::Again(error),
            Ok(Ok((code, answer))) if code.is_success() => Tried::Taken(answer),
            // Those that OTLP says may be tried again.
            Ok(Ok((
                code @ (StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT),
                _,
            ))) => Tried::Again(format!("it answers {code}")),
            Ok(Ok((code, _))) => Tried::Refused(format!("it answers {code}")),
        }
    }

    fn taken(&mut self, answer: &[u8]) {
        let rejected = wire::rejected(answer);
        let not_taken = rejected.as_ref().map_or(0, |(spans, _)| usize::try_from(*spans).unwrap_or(usize::MAX));
        let not_taken = not_taken.min(self.in_hand);
        self.counts.dropped(dropped::REFUSED, not_taken);
        self.counts.exported.inc_by((self.in_hand - not_taken) as u64);
        match rejected {
            Some((_, why)) => self.troubled(&why),
            None if !self.is_well => {
                tracing::info!(endpoint = %self.endpoint, "the collector takes spans again");
                self.is_well = true;
            }
            None => {}
        }
    }

    fn troubled(&mut self, why: &str) {
        if self.is_well {
            tracing::warn!(endpoint = %self.endpoint, why, "the collector does not take spans; they are dropped until it does");
            self.is_well = false;
        }
    }
}

/// What there is to tell: after a moment in which more may come; empty at the end.
async fn gather(queue: &mut mpsc::Receiver<Tree>, closing: &CancellationToken) -> Vec<Tree> {
    let mut batch = Vec::new();
    let more = async {
        if queue.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let until = tokio::time::Instant::now() + GATHER;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            match tokio::time::timeout_at(until, queue.recv_many(&mut batch, room)).await {
                Err(_) | Ok(0) => return,
                Ok(_) => {}
            }
        }
    };
    tokio::select! {
        biased;
        () = closing.cancelled() => {}
        () = more => {}
    }
    if closing.is_cancelled() {
        while batch.len() < BATCH
            && let Ok(tree) = queue.try_recv()
        {
            batch.push(tree);
        }
    }
    batch
}
