//! Plays one story on a ground: its steps, and the wait for an end at which nothing changes any more.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::Method;
use plimsoll_simulate::nodes::CUT_OFF;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::drain::{cordon, drain, evict};
use super::outcome::Telling;
use super::story::{Step, Story};
use crate::volumes::observe::{Look, Seen};
use crate::volumes::outcome::Outcome;
use crate::volumes::scenario::{fill, fill_value};
use crate::volumes::stage::{Body, Stage};
use crate::volumes::templates::{Kind, path};

/// How long nothing may change at the end: longer than the pauses in which controllers count again.
const QUIET: Duration = Duration::from_secs(3);

/// How often and when it is looked for a service account.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// What the last name that was only said by its beginning is kept as.
const FIRST: &str = "first";

/// A story on its ground.
#[derive(Debug)]
pub struct Player {
    story: Story,
    stage: Stage,
    telling: Telling,
}

impl Player {
    /// With the nodes of the ground.
    pub fn new(story: Story, mut stage: Stage, nodes: &[String]) -> Self {
        for (index, node) in nodes.iter().enumerate() {
            stage.kept.insert(format!("node{}", index + 1), node.clone());
        }
        let (id, nodes) = (stage.id.clone(), nodes.to_vec());
        let telling = Telling { id, nodes, of_nodes: story.alone, placed: story.placed };
        Self { story, stage, telling }
    }

    /// The story's name.
    pub fn name(&self) -> &str {
        &self.story.name
    }

    /// Takes the steps, waits for the end, and takes away what was made.
    pub async fn play(mut self) -> Outcome {
        let outcome = match self.tell().await {
            Ok((look, seen)) => Outcome { state: self.telling.state(&look, &seen), failure: None },
            Err(why) => {
                let look = self.stage.glance();
                let state = self.telling.state(&look, &look.of(&self.stage.id));
                let failure = format!("{why:#}").replace(&self.stage.id, "$ID");
                Outcome { state, failure: Some(failure) }
            }
        };
        self.clear().await;
        outcome
    }

    async fn tell(&mut self) -> Result<(Look, Seen)> {
        self.stage.open().await?;
        self.until_account().await?;
        for (index, step) in self.story.steps.clone().iter().enumerate() {
            self.step(step).await.with_context(|| format!("step {}", index + 1))?;
        }
        let expected = self.story.expect.filled(&self.stage.id, &self.stage.kept);
        self.stage.until(|seen| expected.unmet(seen)).await?;
        let (look, seen) = self.rest().await?;
        // What came while it came to rest may be what must not come.
        let unmet = expected.unmet(&seen)?;
        if !unmet.is_empty() {
            bail!("in the end: {}", unmet.join("; "));
        }
        Ok((look, seen))
    }

    /// Waits until pods can be made here: they need the namespace's service account.
    async fn until_account(&self) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/serviceaccounts/default", self.stage.id);
        for _ in 0..TRIES {
            if self.stage.ask(&Method::GET, &path, None).await?.0 == 200 {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        bail!("{path} does not come")
    }

    async fn rest(&mut self) -> Result<(Look, Seen)> {
        let telling = self.telling.clone();
        self.stage.rest(QUIET, |_, look, seen| telling.state(look, seen)).await
    }

    async fn step(&mut self, step: &Step) -> Result<()> {
        let (id, kept) = (self.stage.id.clone(), self.stage.kept.clone());
        let with = fill_value(&step.with, &id, &kept);
        let node = |name: &String| fill(name, &id, &kept);
        for manifest in &step.apply {
            self.apply(&fill_value(manifest, &id, &kept)).await?;
        }
        if step.settle {
            self.rest().await?;
        } else if let Some(conditions) = &step.until {
            let conditions = conditions.filled(&id, &kept);
            self.stage.until(|seen| conditions.unmet(seen)).await?;
        } else if let Some(reference) = &step.scale {
            let path = format!("{}/scale", self.path(reference)?);
            let replicas = json!({"spec": {"replicas": step.to}});
            self.stage.write(&Method::PATCH, &path, Some(&replicas)).await?;
        } else if let Some(reference) = &step.patch {
            let path = self.path(reference)?;
            let (code, answer) = self.stage.ask_as(&Method::PATCH, &path, Some(&with), Body::Strategic).await?;
            if code >= 300 {
                bail!("PATCH {path}: {code} {answer}");
            }
            self.stage.wrote();
        } else if let Some(reference) = &step.status {
            let path = format!("{}/status", self.path(reference)?);
            self.stage.write(&Method::PATCH, &path, Some(&json!({"status": with}))).await?;
        } else if let Some(reference) = &step.delete {
            // As kubectl does unless told otherwise: what it owns goes with it, behind.
            let path = self.path(reference)?;
            let options = step.options.clone().unwrap_or_else(|| json!({"propagationPolicy": "Background"}));
            self.stage.write(&Method::DELETE, &path, Some(&options)).await?;
        } else if let Some(reference) = &step.evict {
            let path = self.path(reference)?;
            let pod = path.rsplit('/').next().unwrap_or_default();
            if evict(&mut self.stage, pod).await? == step.blocked {
                bail!("the eviction of {pod} was {}", if step.blocked { "not refused" } else { "refused" });
            }
        } else if let Some(name) = &step.cordon {
            cordon(&mut self.stage, &node(name), true).await?;
        } else if let Some(name) = &step.uncordon {
            cordon(&mut self.stage, &node(name), false).await?;
        } else if let Some(name) = &step.drain {
            drain(&mut self.stage, &node(name), step.blocked).await?;
        } else if let Some(name) = &step.cut_off {
            self.cut(&node(name), json!("true")).await?;
        } else if let Some(name) = &step.bring_back {
            self.cut(&node(name), Value::Null).await?;
        }
        Ok(())
    }

    async fn apply(&mut self, manifest: &Value) -> Result<()> {
        let kind = manifest["kind"].as_str().and_then(Kind::named);
        let kind = kind.with_context(|| format!("of no kind that is known here: {manifest}"))?;
        self.stage.write(&Method::POST, &kind.path(&self.stage.id), Some(manifest)).await?;
        if kind.short == "priority"
            && let Some(name) = manifest["metadata"]["name"].as_str()
        {
            self.stage.client().until_known(name).await?;
        }
        Ok(())
    }

    async fn cut(&mut self, node: &str, cut: Value) -> Result<()> {
        let patch = json!({"metadata": {"annotations": {CUT_OFF: cut}}});
        self.stage.write(&Method::PATCH, &format!("/api/v1/nodes/{node}"), Some(&patch)).await?;
        Ok(())
    }

    /// The path of `KIND/NAME`; a name that ends with `*` is the first that begins so, and is kept.
    fn path(&mut self, reference: &str) -> Result<String> {
        let Some(begin) = reference.strip_suffix('*') else { return self.stage.path(reference) };
        let begin = fill(begin, &self.stage.id, &self.stage.kept);
        let seen = self.stage.glance().of(&self.stage.id);
        let found = seen.objects.keys().find(|name| name.starts_with(&begin));
        let found = found.with_context(|| format!("nothing is called {reference}"))?;
        let name = found.split_once('/').map_or(found.as_str(), |(_, name)| name);
        self.stage.kept.insert(FIRST.to_owned(), name.to_owned());
        path(found, &self.stage.id)
    }

    /// Takes away what the story made: what it is about has been seen.
    async fn clear(&mut self) {
        // Pods of a node that says nothing would stay.
        let cut: Vec<String> = self.story.steps.iter().filter_map(|step| step.cut_off.clone()).collect();
        for node in cut {
            let node = fill(&node, &self.stage.id, &self.stage.kept);
            let _ = self.cut(&node, Value::Null).await;
        }
        let background = json!({"propagationPolicy": "Background"});
        let namespace = format!("/api/v1/namespaces/{}", self.stage.id);
        let mut paths = vec![namespace];
        let seen = self.stage.glance().of(&self.stage.id);
        let volumes = seen.objects.keys().filter(|reference| reference.starts_with("pv/"));
        paths.extend(volumes.filter_map(|reference| path(reference, &self.stage.id).ok()));
        for manifest in self.story.steps.iter().flat_map(|step| &step.apply) {
            let kind = manifest["kind"].as_str().and_then(Kind::named);
            if let (Some(kind), Some(name)) = (kind, manifest["metadata"]["name"].as_str())
                && matches!(kind.short, "class" | "priority")
            {
                let name = fill(name, &self.stage.id, &self.stage.kept);
                paths.push(format!("{}/{name}", kind.everywhere()));
            }
        }
        for path in paths {
            // Some of it may be gone by now.
            let _ = self.stage.ask(&Method::DELETE, &path, Some(&background)).await;
        }
    }
}
