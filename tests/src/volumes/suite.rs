//! The whole suite: all scenarios on one server, and what was recorded of kube-controller-manager.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::task::JoinSet;

use super::cluster::{Keeper, Server};
use super::observe::observe;
use super::outcome::{Outcome, SCHEDULER, differences};
use super::play::Player;
use super::scenario::{Scenario, folder};

/// What all scenarios came to, by name.
#[derive(Debug)]
pub struct Outcomes {
    outcomes: BTreeMap<String, Outcome>,
    scenarios: Vec<Scenario>,
    keeper: Keeper,
    with_scheduler: bool,
    updates: bool,
}

/// Plays all scenarios. The tag keeps the names of several rounds on one server apart; it holds nothing but small letters.
///
/// ```text
///  for each set of flags:  prepare all ─► start controllers ─► play side by side ─► play the others alone ─► stop controllers
/// ```
pub async fn play_all(server: &Server, keeper: Keeper, tag: &str) -> Result<Outcomes> {
    let scenarios = Scenario::all()?;
    if scenarios.is_empty() {
        bail!("there is no scenario to play");
    }
    let scheduler = server.scheduler()?;
    let looks = observe(server.client().clone()).await?;
    let mut groups: BTreeMap<&[String], Vec<(usize, &Scenario)>> = BTreeMap::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        groups.entry(&scenario.flags).or_default().push((index, scenario));
    }
    let mut outcomes = BTreeMap::new();
    for (flags, group) in groups {
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for (index, scenario) in group {
            let id = format!("{tag}{index:03}");
            let client = server.client().clone();
            let mut player = Player::new(scenario.clone(), keeper, client, looks.clone(), id, scheduler.is_some());
            let prepared = player.prepare().await;
            prepared.with_context(|| format!("{}, before the controllers", scenario.name))?;
            if scenario.alone { alone.push(player) } else { together.push(player) }
        }
        let mut controllers = server.controllers(keeper, flags)?;
        let mut playing = JoinSet::new();
        for player in together {
            let name = player.name().to_owned();
            playing.spawn(async move { (name, player.play().await) });
        }
        while let Some(played) = playing.join_next().await {
            let (name, outcome) = played.context("a player fell")?;
            outcomes.insert(name, outcome);
        }
        for player in alone {
            let name = player.name().to_owned();
            outcomes.insert(name, player.play().await);
        }
        for process in &mut controllers {
            process.alive()?;
        }
    }
    let updates = std::env::var_os("UPDATE").is_some();
    Ok(Outcomes { outcomes, scenarios, keeper, with_scheduler: server.has_scheduler(), updates })
}

impl Outcomes {
    /// Checks one scenario: it is as it expects itself, and as recorded.
    fn check(&self, scenario: &Scenario) -> Result<()> {
        let name = &scenario.name;
        let outcome = self.outcomes.get(name).with_context(|| format!("{name} was not played"))?;
        let mut wrong = Vec::new();
        wrong.extend(outcome.failure.clone());
        let ignored = |event: &str| {
            (!self.with_scheduler && event.contains(SCHEDULER))
                || scenario.may_come.iter().any(|may| event.starts_with(may.as_str()))
        };
        match recorded(name) {
            Ok(wanted) => {
                let found = differences(&wanted, &outcome.state, ignored);
                match &scenario.differs {
                    Some(_) if self.keeper == Keeper::Ours && !found.is_empty() => {}
                    Some(differs) if self.keeper == Keeper::Ours => {
                        wrong.push(format!("it does not differ any more: take the mark off ({})", differs.why));
                    }
                    _ => wrong.extend(found),
                }
            }
            Err(why) => wrong.push(format!("{why:#}")),
        }
        if wrong.is_empty() {
            return Ok(());
        }
        bail!("{name}:\n  {}", wrong.join("\n  "))
    }

    /// Checks all scenarios that a predicate picks, and tells all that is wrong at once.
    pub fn check_all(&self, picked: impl Fn(&Scenario) -> bool) -> Result<()> {
        let mut wrong = Vec::new();
        let (mut all, mut bad) = (0, 0);
        for scenario in self.scenarios.iter().filter(|scenario| picked(scenario)) {
            all += 1;
            if let Err(why) = self.check(scenario) {
                bad += 1;
                wrong.push(format!("{why:#}"));
            }
        }
        if all == 0 {
            bail!("no scenario shows it");
        }
        if bad > 0 {
            bail!("{bad} of {all} scenarios:\n{}", wrong.join("\n"));
        }
        Ok(())
    }

    /// Checks the scenarios that show a statement.
    pub fn check_statement(&self, statement: &str) -> Result<()> {
        self.check_all(|scenario| scenario.statements.iter().any(|s| s == statement))
    }

    /// Writes these outcomes down as upstream's, where `UPDATE` is set. What is not as its scenario expects is not written.
    pub fn record(&self) -> Result<()> {
        if !self.updates {
            return Ok(());
        }
        std::fs::create_dir_all(folder().join("recorded"))?;
        for (name, outcome) in &self.outcomes {
            if outcome.failure.is_none() {
                std::fs::write(record(name), serde_json::to_string_pretty(&outcome.state)? + "\n")?;
            }
        }
        Ok(())
    }

    /// Writes every outcome into a folder, for the one who looks for the cause of a difference.
    pub fn write(&self, into: &std::path::Path) -> Result<()> {
        std::fs::create_dir_all(into)?;
        for (name, outcome) in &self.outcomes {
            let failure = outcome.failure.as_ref().map(|why| format!("{why}\n")).unwrap_or_default();
            let text = failure + &serde_json::to_string_pretty(&outcome.state)? + "\n";
            std::fs::write(into.join(format!("{name}.json")), text)?;
        }
        Ok(())
    }
}

fn record(name: &str) -> PathBuf {
    folder().join("recorded").join(format!("{name}.json"))
}

fn recorded(name: &str) -> Result<Value> {
    let path = record(name);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("{}: not recorded: run volumes-upstream with UPDATE=1", path.display()))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}
