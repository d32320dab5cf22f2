//! Plays one scenario on a running server: its steps, and the wait for an end at which nothing changes any more.
//!
//! ```text
//!  namespace ─► before ─► (controllers start) ─► steps ─► expected state seen ─► same state for a while ─► outcome
//!                                                  │                │
//!                                                  └──── PATIENCE ──┴─────────► outcome with what is not as expected
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::cluster::{Cast, Keeper};
use super::observe::{Look, OBSERVED, Seen};
use super::outcome::{Outcome, state};
use super::provisioner::answers;
use super::scenario::{Scenario, Step, Subject, fill, fill_value};
use super::templates::{object, path};
use crate::client::Client;
use crate::identities::{ADMIN, token};

/// How long a condition may take: sixty scenarios share two cores, and kube-controller-manager's own backoffs are seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long nothing may change at the end. For kube-controller-manager two rounds of its resync (see [`super::cluster`]), since some of
/// what it does it does only then; ours waits for no resync. A pod that failed is tried again after a second and after two more.
const fn quiet(cast: Cast) -> Duration {
    match (cast.subject, cast.keeper) {
        (Subject::Volumes, Keeper::Upstream) => Duration::from_secs(5),
        (Subject::Volumes, Keeper::Ours) => Duration::from_secs(3),
        (Subject::Scheduling, _) => Duration::from_secs(4),
    }
}

/// A scenario on its server.
#[derive(Debug)]
pub struct Player {
    scenario: Scenario,
    client: Client,
    looks: watch::Receiver<Look>,
    id: String,
    kept: BTreeMap<String, String>,
    /// What was written last: only a look that began later shows it.
    wrote: Instant,
    cast: Cast,
    /// Whether the server is the real one, with the StatefulSet controller on it.
    real: bool,
    /// What the stand-in of a provisioner has answered already: the claim's uid and its selected node.
    answered: BTreeSet<(String, String)>,
    quiet: Duration,
}

impl Player {
    /// Under an id that no other scenario of this server has.
    pub fn new(
        mut scenario: Scenario,
        cast: Cast,
        client: Client,
        looks: watch::Receiver<Look>,
        id: String,
        real: bool,
    ) -> Self {
        if let (true, Some(differs)) = (cast.is_ours(), &scenario.differs) {
            scenario.expect = differs.expect.clone();
        }
        Self {
            scenario,
            client,
            looks,
            id,
            kept: BTreeMap::new(),
            wrote: Instant::now(),
            cast,
            real,
            answered: BTreeSet::new(),
            quiet: quiet(cast),
        }
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Makes the namespace and takes the steps that need no controller.
    pub async fn prepare(&mut self) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.id}});
        self.write(&Method::POST, "/api/v1/namespaces", Some(&namespace)).await?;
        self.take(&self.scenario.before.clone()).await
    }

    /// Takes the steps and waits for the end.
    pub async fn play(mut self) -> Outcome {
        let played = match self.take(&self.scenario.steps.clone()).await {
            Ok(()) => self.end().await,
            Err(why) => Err(why),
        };
        let outcome = match played {
            Ok(seen) => Outcome { state: self.state(&seen), failure: None },
            Err(why) => {
                let state = self.state(&self.looks.borrow().of(&self.id));
                let failure = format!("{why:#}").replace(&self.id, "$ID");
                Outcome { state, failure: Some(failure) }
            }
        };
        if self.scenario.alone || self.cast.subject == Subject::Scheduling {
            self.clear().await;
        }
        outcome
    }

    async fn take(&mut self, steps: &[Step]) -> Result<()> {
        for (index, step) in steps.iter().enumerate() {
            if step.in_place_of_scheduler && self.cast.scheduler.is_some()
                || step.in_place_of_stateful_sets && self.real
                || step.for_stateful_sets && !self.real
            {
                continue;
            }
            self.step(step).await.with_context(|| format!("step {}", index + 1))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<()> {
        if step.settle {
            self.rest().await?;
            return Ok(());
        }
        if let Some(conditions) = &step.until {
            let conditions = conditions.filled(&self.id, &self.kept);
            self.until(|seen| conditions.unmet(seen)).await?;
            return Ok(());
        }
        let mut calls = Vec::new();
        let with = fill_value(&step.with, &self.id, &self.kept);
        for short in &step.create {
            let (kind, object) = object(&fill_value(short, &self.id, &self.kept), &self.id)?;
            let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(&self.id);
            calls.push((Method::POST, kind.path(namespace), Some(object)));
        }
        if let Some(reference) = &step.patch {
            calls.push((Method::PATCH, self.path(reference)?, Some(with)));
        } else if let Some(reference) = &step.status {
            calls.push((Method::PATCH, format!("{}/status", self.path(reference)?), Some(json!({"status": with}))));
        } else if let Some(reference) = &step.delete {
            calls.push((Method::DELETE, self.path(reference)?, step.options.clone()));
        } else if let Some(pod) = &step.bind {
            let node = fill(step.node.as_deref().unwrap_or_default(), &self.id, &self.kept);
            let name = fill(pod, &self.id, &self.kept).rsplit('/').next().unwrap_or_default().to_owned();
            let target = json!({"apiVersion": "v1", "kind": "Node", "name": node});
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target});
            calls.push((Method::POST, format!("{}/binding", self.path(pod)?), Some(binding)));
        }
        for (method, path, body) in calls {
            let (code, answer) = self.ask(&method, &path, body.as_ref()).await?;
            match step.refused {
                None if code < 300 => {}
                Some(refused) if code == refused => {}
                _ => bail!("{method} {path}: {code} {answer}"),
            }
            if let Some(says) = &step.says
                && !answer.to_string().contains(&fill(says, &self.id, &self.kept))
            {
                bail!("{method} {path}: {code} {answer}, which does not say {says}");
            }
            for (name, pointer) in &step.keep {
                let found = answer.pointer(pointer).and_then(Value::as_str);
                let found = found.with_context(|| format!("nothing at {pointer} to keep: {answer}"))?;
                self.kept.insert(name.clone(), found.to_owned());
            }
            self.wrote = Instant::now();
        }
        Ok(())
    }

    fn path(&self, reference: &str) -> Result<String> {
        path(&fill(reference, &self.id, &self.kept), &self.id)
    }

    /// What there is after the last write; the stand-in of a provisioner answers first.
    async fn look(&mut self) -> Result<(Instant, Seen)> {
        loop {
            let look = self.looks.borrow_and_update().clone();
            if look.began > self.wrote {
                let seen = look.of(&self.id);
                if !self.provision(&seen).await? {
                    return Ok((look.began, seen));
                }
            }
            self.looks.changed().await.context("nobody looks any more")?;
        }
    }

    /// Does what a provisioner would; returns whether there was something to do.
    async fn provision(&mut self, seen: &Seen) -> Result<bool> {
        let calls = answers(seen, &self.id, &self.scenario.provisioner, &mut self.answered);
        for (method, reference, body) in &calls {
            let path = match reference {
                Some(reference) => self.path(reference)?,
                None => String::from("/api/v1/persistentvolumes"),
            };
            self.write(method, &path, Some(body)).await.context("the stand-in of the provisioner")?;
        }
        Ok(!calls.is_empty())
    }

    /// Waits until nothing is wrong any more; otherwise says what was wrong last.
    async fn until(&mut self, wrong: impl Fn(&Seen) -> Result<Vec<String>>) -> Result<Seen> {
        let mut last = vec![String::from("nothing was seen")];
        let watched = timeout(PATIENCE, async {
            loop {
                let (_, seen) = self.look().await?;
                last = wrong(&seen)?;
                if last.is_empty() {
                    return Ok(seen);
                }
                self.looks.changed().await.context("nobody looks any more")?;
            }
        });
        match watched.await {
            Ok(seen) => seen,
            Err(_) => bail!("waited in vain: {}", last.join("; ")),
        }
    }

    /// Waits until the state stays the same.
    async fn rest(&mut self) -> Result<Seen> {
        let mut last = (Value::Null, Instant::now());
        let watched = timeout(PATIENCE, async {
            loop {
                let (began, seen) = self.look().await?;
                let now = self.state(&seen);
                if now != last.0 {
                    last = (now, began);
                } else if began - last.1 >= self.quiet {
                    return Ok(seen);
                }
                self.looks.changed().await.context("nobody looks any more")?;
            }
        });
        watched.await.unwrap_or_else(|_| bail!("it does not come to rest"))
    }

    fn state(&self, seen: &Seen) -> Value {
        state(seen, &self.id, &self.kept, self.cast.subject)
    }

    /// The end: as expected, and at rest.
    async fn end(&mut self) -> Result<Seen> {
        let expected = self.scenario.expect.filled(&self.id, &self.kept);
        self.until(|seen| expected.unmet(seen)).await?;
        let seen = self.rest().await?;
        // What came while it came to rest may be what must not come.
        let unmet = expected.unmet(&seen)?;
        if !unmet.is_empty() {
            bail!("in the end: {}", unmet.join("; "));
        }
        Ok(seen)
    }

    /// Takes away what the next scenario would meet: defaults, and volumes that anybody may bind.
    async fn clear(&self) {
        let seen = self.looks.borrow().of(&self.id);
        let mut paths = Vec::new();
        for short in self.scenario.steps.iter().flat_map(|step| &step.create) {
            if let Ok((kind, object)) = object(&fill_value(short, &self.id, &self.kept), &self.id)
                && !OBSERVED.contains(&kind.short)
                // Every node that comes or goes has all pods that wait tried again.
                && kind.short != "node"
            {
                let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
                let namespace = text("/metadata/namespace").unwrap_or(&self.id);
                paths.push(format!("{}/{}", kind.path(namespace), text("/metadata/name").unwrap_or_default()));
            }
        }
        paths.extend(seen.objects.keys().filter_map(|reference| path(reference, &self.id).ok()));
        for path in paths {
            // Some of it may be gone by now; what is not is seen by the next scenario's own conditions.
            let _ = self.ask(&Method::DELETE, &path, Some(&json!({"gracePeriodSeconds": 0}))).await;
            let _ = self.ask(&Method::PATCH, &path, Some(&json!({"metadata": {"finalizers": null}}))).await;
        }
    }

    async fn write(&mut self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let (code, answer) = self.ask(method, path, body).await?;
        if code >= 300 {
            bail!("{method} {path}: {code} {answer}");
        }
        self.wrote = Instant::now();
        Ok(answer)
    }

    async fn ask(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("authorization", format!("Bearer {}", token(ADMIN)));
        request = request.header("user-agent", "volumes/1.0").header("content-type", content_type);
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let response = self.client.send(request.body(Full::new(body))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}
