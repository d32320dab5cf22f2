//! The whole suite: all scenarios on one server, and what was recorded of kube-controller-manager.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use tokio::task::JoinSet;

use super::cluster::{Cast, Server, Setting};
use super::observe::{OBSERVED, observe};
use super::outcome::{Outcome, SCHEDULER, differences};
use super::play::Player;
use super::records;
use super::scenario::{Scenario, Subject};
use crate::takes::{Take, Wrong, told};

/// What all scenarios came to, by name.
#[derive(Debug)]
pub struct Outcomes {
    outcomes: BTreeMap<String, Outcome>,
    scenarios: Vec<Scenario>,
    cast: Cast,
}

/// Plays all scenarios. The tag keeps the names of several rounds on one server apart; it holds nothing but small letters.
///
/// ```text
///  for each setting:  prepare all ─► start the cast ─► play side by side ─► play the others alone ─► stop the cast
/// ```
pub async fn play_all(server: &Server, cast: Cast, tag: &str) -> Result<Outcomes> {
    play_some(server, cast, tag, |_| true).await
}

/// Plays those that a predicate picks; on a real server some again, where they came out wrong.
pub async fn play_some(server: &Server, cast: Cast, tag: &str, picked: impl Fn(&Scenario) -> bool) -> Result<Outcomes> {
    let mut take = Take::first();
    let mut played = play_once(server, cast, tag, picked).await?;
    while let (true, Some(next)) = (server.is_real(), take.next(&played.wrong(|_| true))) {
        let tag = format!("{tag}{}", next.tag());
        let again = play_once(server, cast, &tag, |scenario| next.plays(&scenario.name)).await?;
        played.outcomes.extend(again.outcomes);
        take = next;
    }
    Ok(played)
}

async fn play_once(server: &Server, cast: Cast, tag: &str, picked: impl Fn(&Scenario) -> bool) -> Result<Outcomes> {
    let mut scenarios = Scenario::all(cast.subject)?;
    scenarios.retain(picked);
    let looks = observe(server.client().clone(), &OBSERVED).await?;
    let mut groups: BTreeMap<Setting, Vec<(usize, &Scenario)>> = BTreeMap::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let (flags, controllers, bind_timeout) = (scenario.flags.clone(), scenario.controllers, scenario.bind_timeout);
        groups.entry(Setting { flags, controllers, bind_timeout }).or_default().push((index, scenario));
    }
    let mut outcomes = BTreeMap::new();
    for (setting, group) in groups {
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for (index, scenario) in group {
            let id = format!("{tag}{index:03}");
            let client = server.client().clone();
            let mut player = Player::new(scenario.clone(), cast, client, looks.clone(), id, server.is_real());
            let prepared = player.prepare().await;
            prepared.with_context(|| format!("{}, before the controllers", scenario.name))?;
            if scenario.alone { alone.push(player) } else { together.push(player) }
        }
        let mut processes = server.cast(cast, &setting)?;
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
        for process in &mut processes {
            process.alive()?;
        }
    }
    Ok(Outcomes { outcomes, scenarios, cast })
}

impl Outcomes {
    /// With those of another part of the same scenarios.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.outcomes.extend(other.outcomes);
        self.scenarios.extend(other.scenarios);
        self
    }

    /// Checks one scenario: it is as it expects itself, and as recorded.
    fn check(&self, scenario: &Scenario) -> Result<()> {
        let name = &scenario.name;
        let outcome = self.outcomes.get(name).with_context(|| format!("{name} was not played"))?;
        let mut wrong = Vec::new();
        wrong.extend(outcome.failure.clone());
        // What the controllers say is compared in their own scenarios.
        let compared = |event: &str| match self.cast.subject {
            Subject::Volumes => self.cast.scheduler.is_some() || !event.contains(SCHEDULER),
            Subject::Scheduling => event.contains(SCHEDULER),
        };
        let ignored =
            |event: &str| !compared(event) || scenario.may_come.iter().any(|may| event.starts_with(may.as_str()));
        match self.cast.subject.records().read(name) {
            Ok(wanted) => {
                let mut found = differences(&wanted, &outcome.state, ignored);
                found.retain(|line| !scenario.may_differ.iter().any(|may| line.starts_with(may.as_str())));
                match &scenario.differs {
                    Some(_) if self.cast.is_ours() && !found.is_empty() => {}
                    Some(differs) if self.cast.is_ours() => {
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
        bail!("  {}", wrong.join("\n  "))
    }

    /// What is wrong with each that a predicate picks.
    fn wrong(&self, picked: impl Fn(&Scenario) -> bool) -> Wrong {
        let wrong = |scenario: &Scenario| Some((scenario.name.clone(), format!("{:#}", self.check(scenario).err()?)));
        self.scenarios.iter().filter(|scenario| picked(scenario)).filter_map(wrong).collect()
    }

    /// Checks all scenarios that a predicate picks, and tells all that is wrong at once.
    pub fn check_all(&self, picked: impl Fn(&Scenario) -> bool) -> Result<()> {
        let all = self.scenarios.iter().filter(|scenario| picked(scenario)).count();
        let wrong = self.wrong(picked);
        if all == 0 {
            bail!("no scenario shows it");
        }
        if !wrong.is_empty() {
            bail!("{} of {all} scenarios:\n{}", wrong.len(), told(&wrong));
        }
        Ok(())
    }

    /// Checks the scenarios that show a statement.
    pub fn check_statement(&self, statement: &str) -> Result<()> {
        self.check_all(|scenario| scenario.statements.iter().any(|s| s == statement))
    }

    /// Writes these outcomes down as upstream's, where `UPDATE` is set. What is not as its scenario expects is not written.
    pub fn record(&self) -> Result<()> {
        self.cast.subject.records().record(&self.outcomes)
    }

    /// Writes every outcome into a folder, for the one who looks for the cause of a difference.
    pub fn write(&self, into: &std::path::Path) -> Result<()> {
        records::write(&self.outcomes, into)
    }
}
