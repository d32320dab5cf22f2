//! All stories on one control plane, and what was recorded of upstream's.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::task::JoinSet;

use super::ground::Ground;
use super::outcome::races;
use super::play::Player;
use super::story::{Story, folder};
use crate::takes::{Take, Wrong, told};
use crate::volumes::outcome::{Outcome, differences};
use crate::volumes::records::{self, Records};
use crate::volumes::stage::Stage;

/// How many grounds of ours there are at a time: each is a process with threads of its own.
const GROUNDS: usize = 4;

/// What upstream came to.
pub fn recorded() -> Records {
    Records { folder: folder(), recorder: "workloads_upstream" }
}

/// What all stories came to, by name.
#[derive(Debug)]
pub struct Outcomes {
    outcomes: BTreeMap<String, Outcome>,
    stories: Vec<Story>,
}

/// Plays all on the real control plane: those that leave the nodes alone side by side, then the others one by one, and then those again
/// that came out wrong.
pub async fn play_real() -> Result<Outcomes> {
    let stories = Story::all()?;
    let mut ground = Ground::real().await?;
    let (alone, together): (Vec<&Story>, Vec<&Story>) = stories.iter().partition(|story| story.alone);
    let mut outcomes = side_by_side(&ground, &together).await?;
    outcomes.extend(one_by_one(&mut ground, &alone, "alone").await);
    let mut played = Outcomes { outcomes, stories };
    let mut take = Take::first();
    while let Some(next) = take.next(&played.wrong()) {
        let again: Vec<&Story> = played.stories.iter().filter(|story| next.plays(&story.name)).collect();
        let outcomes = one_by_one(&mut ground, &again, &next.tag()).await;
        played.outcomes.extend(outcomes);
        take = next;
    }
    ground.alive()?;
    Ok(played)
}

/// Plays all on ours: those that do something to nodes have one of their own each.
pub async fn play_ours() -> Result<Outcomes> {
    let stories = Story::all()?;
    let (alone, together): (Vec<&Story>, Vec<&Story>) = stories.iter().partition(|story| story.alone);
    let mut outcomes = BTreeMap::new();
    let limit = std::sync::Arc::new(tokio::sync::Semaphore::new(GROUNDS));
    let mut playing = JoinSet::new();
    for (index, story) in alone.into_iter().cloned().enumerate() {
        let limit = limit.clone();
        playing.spawn(async move {
            let _turn = limit.acquire_owned().await;
            let mut ground = Ground::ours().await?;
            let player = player(&ground, &story, format!("alone{index:02}"));
            let played = (story.name.clone(), player.play().await);
            ground.alive()?;
            anyhow::Ok(played)
        });
    }
    if !together.is_empty() {
        let mut ground = Ground::ours().await?;
        outcomes.extend(side_by_side(&ground, &together).await?);
        ground.alive()?;
    }
    while let Some(played) = playing.join_next().await {
        outcomes.extend([played.context("a player fell")??]);
    }
    Ok(Outcomes { outcomes, stories })
}

async fn one_by_one(ground: &mut Ground, stories: &[&Story], tag: &str) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    for (index, story) in stories.iter().enumerate() {
        let outcome = match ground.renew_nodes().await {
            Ok(()) => player(ground, story, format!("{tag}{index:02}")).play().await,
            Err(why) => Outcome { state: Value::Null, failure: Some(format!("not played: {why:#}")) },
        };
        outcomes.insert(story.name.clone(), outcome);
    }
    outcomes
}

async fn side_by_side(ground: &Ground, stories: &[&Story]) -> Result<BTreeMap<String, Outcome>> {
    let mut playing = JoinSet::new();
    for (index, story) in stories.iter().enumerate() {
        let player = player(ground, story, format!("story{index:02}"));
        playing.spawn(async move { (player.name().to_owned(), player.play().await) });
    }
    let mut outcomes = BTreeMap::new();
    while let Some(played) = playing.join_next().await {
        let (name, outcome) = played.context("a player fell")?;
        outcomes.insert(name, outcome);
    }
    Ok(outcomes)
}

fn player(ground: &Ground, story: &Story, id: String) -> Player {
    let stage = Stage::new(ground.client.clone(), ground.looks.clone(), id, story.provisioner.clone());
    Player::new(story.clone(), stage, &ground.nodes)
}

impl Outcomes {
    /// Checks all stories, and tells all that is wrong at once.
    pub fn check_all(&self) -> Result<()> {
        let wrong = self.wrong();
        if self.stories.is_empty() {
            bail!("no story was played");
        }
        if !wrong.is_empty() {
            bail!("{} of {} stories:\n{}", wrong.len(), self.stories.len(), told(&wrong));
        }
        Ok(())
    }

    /// What is wrong with each.
    fn wrong(&self) -> Wrong {
        let wrong = |story: &Story| Some((story.name.clone(), format!("{:#}", self.check(story).err()?)));
        self.stories.iter().filter_map(wrong).collect()
    }

    /// Checks one: it ends as it expects itself, and as recorded.
    fn check(&self, story: &Story) -> Result<()> {
        let name = &story.name;
        let outcome = self.outcomes.get(name).with_context(|| format!("{name} was not played"))?;
        let mut wrong: Vec<String> = outcome.failure.iter().cloned().collect();
        match recorded().read(name) {
            Ok(wanted) => {
                let ignored =
                    |event: &str| races(event) || story.may_come.iter().any(|may| event.starts_with(may.as_str()));
                let mut found = differences(&wanted, &outcome.state, ignored);
                found.retain(|line| !story.may_differ.iter().any(|may| line.starts_with(may.as_str())));
                wrong.extend(found);
            }
            Err(why) => wrong.push(format!("{why:#}")),
        }
        if wrong.is_empty() {
            return Ok(());
        }
        bail!("  {}", wrong.join("\n  "))
    }

    /// Writes these outcomes down as upstream's, where `UPDATE` is set.
    pub fn record(&self) -> Result<()> {
        recorded().record(&self.outcomes)
    }

    /// Writes every outcome into a folder, for the one who looks for the cause of a difference.
    pub fn write(&self, into: &Path) -> Result<()> {
        records::write(&self.outcomes, into)
    }
}
