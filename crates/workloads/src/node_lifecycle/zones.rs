//! How many nodes of a zone may be tainted, when several fall silent.
//!
//! ```text
//!   zone: some silent ──────────────► Normal: one node in ten seconds
//!         three or more, 55 % ──────► Partial: one in a hundred seconds, none in a zone of up to 50 nodes
//!         all of them ──────────────► Full: as Normal
//!   all zones Full ─────────────────► no node is tainted, taints are taken back: the fault is likely ours
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// How nodes of a zone are tainted.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long after one node of a zone the next is tainted (the inverse of `--node-eviction-rate`).
    pub every: Duration,
    /// The same where most of a large zone is silent (`--secondary-node-eviction-rate`).
    pub every_secondary: Duration,
    /// Up to how many nodes a zone is small (`--large-cluster-size-threshold`).
    pub small: usize,
    /// Which share of a zone must be silent for it to be disrupted, in percent (`--unhealthy-zone-threshold`).
    pub unhealthy_percent: usize,
}

impl Default for Options {
    /// Upstream's.
    fn default() -> Self {
        Self {
            every: Duration::from_secs(10),
            every_secondary: Duration::from_secs(100),
            small: 50,
            unhealthy_percent: 55,
        }
    }
}

/// The state of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ZoneState {
    /// Not looked at yet.
    #[default]
    Initial,
    Normal,
    Partial,
    Full,
}

#[derive(Debug, Default)]
struct Zone {
    state: ZoneState,
    /// How long from one taint to the next; `None` is never.
    every: Option<Duration>,
    next: Option<Instant>,
    queue: VecDeque<String>,
}

/// The zones, and the nodes that wait for a taint.
#[derive(Debug, Default)]
pub(super) struct Zones {
    options: Options,
    zones: BTreeMap<String, Zone>,
    /// Whether no node answers, so that none is tainted, also of zones whose nodes do not count.
    stopped: bool,
}

/// What a look at all zones found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Nothing,
    /// No node answers any more.
    AllSilent,
    /// No node answers, as before.
    StillSilent,
    /// Some node answers again.
    SomeAnswer,
}

impl Zones {
    pub(super) fn new(options: Options) -> Self {
        Self { options, zones: BTreeMap::new(), stopped: false }
    }

    fn zone(&mut self, name: &str) -> &mut Zone {
        let every = (!self.stopped).then_some(self.options.every);
        self.zones.entry(name.to_owned()).or_insert_with(|| Zone { every, ..Zone::default() })
    }

    /// Has a node wait for its taint.
    pub(super) fn add(&mut self, zone: &str, node: &str) {
        let zone = self.zone(zone);
        if !zone.queue.iter().any(|waiting| waiting == node) {
            zone.queue.push_back(node.to_owned());
        }
    }

    /// Has a node wait no longer.
    pub(super) fn remove(&mut self, node: &str) {
        for zone in self.zones.values_mut() {
            zone.queue.retain(|waiting| waiting != node);
        }
    }

    /// The node whose turn it is, if it is any node's; otherwise when it will be one's.
    pub(super) fn take(&mut self, now: Instant) -> Result<String, Option<Instant>> {
        let mut soonest: Option<Instant> = None;
        for zone in self.zones.values_mut() {
            let Some(every) = zone.every else { continue };
            match zone.next.filter(|next| *next > now) {
                None => {
                    if let Some(node) = zone.queue.pop_front() {
                        zone.next = Some(now + every);
                        return Ok(node);
                    }
                }
                Some(next) if !zone.queue.is_empty() => {
                    soonest = Some(soonest.map_or(next, |soonest| soonest.min(next)));
                }
                Some(_) => {}
            }
        }
        Err(soonest)
    }

    /// Takes note of how many nodes of each zone are there, and how many of them do not answer.
    pub(super) fn assess(&mut self, counts: &BTreeMap<String, (usize, usize)>) -> Turn {
        for name in counts.keys() {
            self.zone(name);
        }
        self.zones.retain(|name, zone| counts.contains_key(name) || !zone.queue.is_empty());
        let new: BTreeMap<&String, ZoneState> =
            counts.iter().map(|(name, (all, silent))| (name, self.state_of(*all, *silent))).collect();
        let all_silent = !new.is_empty() && new.values().all(|state| *state == ZoneState::Full);
        let were_stopped = std::mem::replace(&mut self.stopped, all_silent);
        let options = self.options;
        for (name, zone) in &mut self.zones {
            let size = counts.get(name).map_or(0, |(all, _)| *all);
            zone.state = new.get(name).copied().unwrap_or_default();
            zone.every = match zone.state {
                _ if all_silent => None,
                ZoneState::Partial if size > options.small => Some(options.every_secondary),
                ZoneState::Partial => None,
                _ => Some(options.every),
            };
        }
        match (all_silent, were_stopped) {
            (true, true) => Turn::StillSilent,
            (true, false) => Turn::AllSilent,
            (false, true) => Turn::SomeAnswer,
            (false, false) => Turn::Nothing,
        }
    }

    fn state_of(&self, all: usize, silent: usize) -> ZoneState {
        if silent > 0 && silent == all {
            ZoneState::Full
        } else if silent > 2 && silent * 100 >= all * self.options.unhealthy_percent {
            ZoneState::Partial
        } else {
            ZoneState::Normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(all: &[(&str, usize, usize)]) -> BTreeMap<String, (usize, usize)> {
        all.iter().map(|(zone, all, silent)| ((*zone).to_owned(), (*all, *silent))).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_node_of_a_zone_at_a_time() {
        let mut zones = Zones::new(Options::default());
        let begin = Instant::now();
        for (zone, node) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a1")] {
            zones.add(zone, node);
        }
        assert_eq!(zones.assess(&counts(&[("a", 5, 2), ("b", 5, 1)])), Turn::Nothing);
        assert_eq!(zones.take(begin), Ok("a1".to_owned()));
        assert_eq!(zones.take(begin), Ok("b1".to_owned()));
        assert_eq!(zones.take(begin), Err(Some(begin + Duration::from_secs(10))));
        zones.add("a", "a3");
        zones.remove("a2");
        assert_eq!(zones.take(begin + Duration::from_secs(10)), Ok("a3".to_owned()));
        assert_eq!(zones.take(begin + Duration::from_secs(99)), Err(None));
    }

    #[test]
    fn a_zone_is_disrupted_by_three_silent_nodes_and_a_share() {
        let zones = Zones::new(Options::default());
        for (all, silent, state) in [
            (3, 0, ZoneState::Normal),
            (3, 2, ZoneState::Normal),
            (3, 3, ZoneState::Full),
            (1, 1, ZoneState::Full),
            (5, 3, ZoneState::Partial),
            (6, 3, ZoneState::Normal),
            (20, 11, ZoneState::Partial),
        ] {
            assert_eq!(zones.state_of(all, silent), state, "{silent} of {all}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_nobody_answers_nobody_is_tainted() {
        let mut zones = Zones::new(Options::default());
        let now = Instant::now();
        zones.add("a", "a1");
        assert_eq!(zones.assess(&counts(&[("a", 1, 1), ("b", 2, 2)])), Turn::AllSilent);
        assert_eq!(zones.take(now), Err(None));
        assert_eq!(zones.assess(&counts(&[("a", 1, 1), ("b", 2, 2)])), Turn::StillSilent);
        assert_eq!(zones.assess(&counts(&[("a", 1, 1), ("b", 2, 1)])), Turn::SomeAnswer);
        assert_eq!(zones.assess(&counts(&[("a", 1, 1), ("b", 2, 1)])), Turn::Nothing);
        assert_eq!(zones.take(now), Ok("a1".to_owned()));
        // Where the only node of a zone does not count, it is not the exception.
        assert_eq!(zones.assess(&counts(&[("a", 1, 1)])), Turn::AllSilent);
        for _ in 0..3 {
            zones.add("odd", "o1");
            assert_eq!(zones.assess(&counts(&[("a", 1, 1)])), Turn::StillSilent);
            assert_eq!(zones.take(now + Duration::from_secs(30)), Err(None));
        }
        assert_eq!(zones.assess(&counts(&[("a", 1, 0)])), Turn::SomeAnswer);
        assert_eq!(zones.take(now + Duration::from_secs(30)), Ok("o1".to_owned()));
        // Most of a small zone: nobody.
        assert_eq!(zones.assess(&counts(&[("a", 1, 0), ("b", 5, 3)])), Turn::Nothing);
        zones.add("b", "b1");
        assert_eq!(zones.take(now + Duration::from_secs(60)), Err(None));
    }
}
