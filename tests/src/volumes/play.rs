//! Plays one scenario on a running server: its steps, and the wait for an end at which nothing changes any more.
//!
//! ```text
//!  namespace ─► before ─► (controllers start) ─► steps ─► expected state seen ─► same state for a while ─► outcome
//!                                                  │                │
//!                                                  └──── PATIENCE ──┴─────────► outcome with what is not as expected
//! ```

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::cluster::{Cast, Keeper};
use super::observe::{Look, OBSERVED, Seen};
use super::outcome::{Outcome, state};
use super::scenario::{Scenario, Step, Subject, fill, fill_value};
use super::stage::Stage;
use super::templates::{object, path};
use crate::client::Client;

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
    stage: Stage,
    cast: Cast,
    /// Whether the server is the real one, with the StatefulSet controller on it.
    real: bool,
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
        let stage = Stage::new(client, looks, id, scenario.provisioner.clone());
        Self { scenario, stage, cast, real, quiet: quiet(cast) }
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Makes the namespace and takes the steps that need no controller.
    pub async fn prepare(&mut self) -> Result<()> {
        self.stage.open().await?;
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
                let state = self.state(&self.stage.glance().of(&self.stage.id));
                let failure = format!("{why:#}").replace(&self.stage.id, "$ID");
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
            let conditions = conditions.filled(&self.stage.id, &self.stage.kept);
            self.stage.until(|seen| conditions.unmet(seen)).await?;
            return Ok(());
        }
        let mut calls = Vec::new();
        let with = fill_value(&step.with, &self.stage.id, &self.stage.kept);
        for short in &step.create {
            let (kind, object) = object(&fill_value(short, &self.stage.id, &self.stage.kept), &self.stage.id)?;
            let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(&self.stage.id);
            calls.push((Method::POST, kind.path(namespace), Some(object)));
        }
        if let Some(reference) = &step.patch {
            calls.push((Method::PATCH, self.stage.path(reference)?, Some(with)));
        } else if let Some(reference) = &step.status {
            calls.push((
                Method::PATCH,
                format!("{}/status", self.stage.path(reference)?),
                Some(json!({"status": with})),
            ));
        } else if let Some(reference) = &step.delete {
            calls.push((Method::DELETE, self.stage.path(reference)?, step.options.clone()));
        } else if let Some(pod) = &step.bind {
            let node = fill(step.node.as_deref().unwrap_or_default(), &self.stage.id, &self.stage.kept);
            let name = fill(pod, &self.stage.id, &self.stage.kept).rsplit('/').next().unwrap_or_default().to_owned();
            let target = json!({"apiVersion": "v1", "kind": "Node", "name": node});
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target});
            calls.push((Method::POST, format!("{}/binding", self.stage.path(pod)?), Some(binding)));
        }
        for (method, path, body) in calls {
            let (code, answer) = self.stage.ask(&method, &path, body.as_ref()).await?;
            match step.refused {
                None if code < 300 => {}
                Some(refused) if code == refused => {}
                _ => bail!("{method} {path}: {code} {answer}"),
            }
            if let Some(says) = &step.says
                && !answer.to_string().contains(&fill(says, &self.stage.id, &self.stage.kept))
            {
                bail!("{method} {path}: {code} {answer}, which does not say {says}");
            }
            for (name, pointer) in &step.keep {
                let found = answer.pointer(pointer).and_then(Value::as_str);
                let found = found.with_context(|| format!("nothing at {pointer} to keep: {answer}"))?;
                self.stage.kept.insert(name.clone(), found.to_owned());
            }
            self.stage.wrote();
        }
        Ok(())
    }

    /// Waits until the state stays the same.
    async fn rest(&mut self) -> Result<Seen> {
        let subject = self.cast.subject;
        let (_, seen) =
            self.stage.rest(self.quiet, |stage, _, seen| state(seen, &stage.id, &stage.kept, subject)).await?;
        Ok(seen)
    }

    fn state(&self, seen: &Seen) -> Value {
        state(seen, &self.stage.id, &self.stage.kept, self.cast.subject)
    }

    /// The end: as expected, and at rest.
    async fn end(&mut self) -> Result<Seen> {
        let expected = self.scenario.expect.filled(&self.stage.id, &self.stage.kept);
        self.stage.until(|seen| expected.unmet(seen)).await?;
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
        let seen = self.stage.glance().of(&self.stage.id);
        let mut paths = Vec::new();
        for short in self.scenario.steps.iter().flat_map(|step| &step.create) {
            if let Ok((kind, object)) = object(&fill_value(short, &self.stage.id, &self.stage.kept), &self.stage.id)
                && !OBSERVED.contains(&kind.short)
                // Every node that comes or goes has all pods that wait tried again.
                && kind.short != "node"
            {
                let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
                let namespace = text("/metadata/namespace").unwrap_or(&self.stage.id);
                paths.push(format!("{}/{}", kind.path(namespace), text("/metadata/name").unwrap_or_default()));
            }
        }
        paths.extend(seen.objects.keys().filter_map(|reference| path(reference, &self.stage.id).ok()));
        for path in paths {
            // Some of it may be gone by now; what is not is seen by the next scenario's own conditions.
            let _ = self.stage.ask(&Method::DELETE, &path, Some(&json!({"gracePeriodSeconds": 0}))).await;
            let _ = self.stage.ask(&Method::PATCH, &path, Some(&json!({"metadata": {"finalizers": null}}))).await;
        }
    }
}
