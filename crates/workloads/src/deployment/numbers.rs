//! How large each ReplicaSet of a Deployment should be now. Numbers in, numbers out.
//!
//! ```text
//!   rolling:  new set up, as far as replicas + maxSurge allows ─► old sets down: first what is not available anyway,
//!             then as far as replicas - maxUnavailable allows ─► and so on, until the old sets are empty
//!   scaled in the middle of that, or paused: every set in proportion to what it is
//! ```

use std::cmp::Reverse;

use serde_json::Value;

use crate::portion;

/// A Deployment's size and what may be more or less of it on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The replicas asked for.
    pub(super) replicas: i64,
    /// How many more there may be.
    pub(super) surge: i64,
    /// How many fewer may be available.
    pub(super) unavailable: i64,
    /// Whether sets are replaced bit by bit; otherwise the old ones go first.
    pub(super) rolling: bool,
}

impl Room {
    /// The most replicas there may be.
    pub(super) fn most(&self) -> i64 {
        self.replicas + self.surge
    }

    /// The fewest available replicas there may be.
    pub(super) fn fewest(&self) -> i64 {
        self.replicas - self.unavailable
    }

    /// Reads a Deployment's `spec`.
    pub(super) fn of(spec: &Value) -> Self {
        let replicas = spec["replicas"].as_i64().unwrap_or(1);
        let rolling = spec["strategy"]["type"] != "Recreate";
        if !rolling {
            return Self { replicas, surge: 0, unavailable: 0, rolling };
        }
        let rule = &spec["strategy"]["rollingUpdate"];
        // What is neither a number nor a share is none: the API server does not let it in.
        let surge = portion::of(&rule["maxSurge"], replicas, true).unwrap_or(0);
        let mut unavailable = portion::of(&rule["maxUnavailable"], replicas, false).unwrap_or(0);
        // Neither up nor down would be no way at all. It comes of a percentage that is less than one pod.
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        Self { replicas, surge, unavailable: unavailable.min(replicas), rolling }
    }
}

/// A set as far as numbers go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Its name.
    pub(super) name: String,
    /// When it was made, as written, so that text order is time order.
    pub(super) created: String,
    /// The replicas it is to have.
    pub(super) replicas: i64,
    /// Those that are available.
    pub(super) available: i64,
    /// The most that the Deployment could have when this set was last scaled.
    pub(super) most_then: Option<i64>,
}

impl Size {
    fn age(&self) -> (&str, &str) {
        (&self.created, &self.name)
    }
}

/// Which set is to have how many replicas.
pub(super) type Targets = Vec<(String, i64)>;

fn total(sets: &[Size]) -> i64 {
    sets.iter().map(|set| set.replicas).sum()
}

/// The size of the new set, of which there are `new` replicas now and `all` with those of the old ones.
pub(super) fn new_size(room: &Room, new: i64, all: i64) -> i64 {
    if !room.rolling || new >= room.replicas {
        return room.replicas;
    }
    new + (room.most() - all).clamp(0, room.replicas - new)
}

/// How many replicas the old sets have beyond need. Pods of the new set that are not available yet count as missing, so
/// that one that does not come up leaves the old ones as they are.
pub(super) fn spare(room: &Room, new: &Size, old: &[Size]) -> i64 {
    let missing = new.replicas - new.available;
    total(old) + new.replicas - room.fewest() - missing
}

/// Takes up to `spare` replicas from the old sets that are not available anyway, the oldest set first: otherwise pods that
/// never come up would be in the way for good.
pub(super) fn without_unhealthy(old: &[Size], mut spare: i64) -> Targets {
    let mut targets = Targets::new();
    for set in by_age(old) {
        let cut = (set.replicas - set.available).min(spare);
        if cut > 0 {
            targets.push((set.name.clone(), set.replicas - cut));
            spare -= cut;
        }
    }
    targets
}

/// Takes from the old sets what is available beyond need, the oldest set first.
pub(super) fn shrunk(room: &Room, new: &Size, old: &[Size]) -> Targets {
    let available: i64 = old.iter().map(|set| set.available).sum::<i64>() + new.available;
    let mut spare = available - room.fewest();
    let mut targets = Targets::new();
    for set in by_age(old) {
        let cut = set.replicas.min(spare);
        if cut > 0 {
            targets.push((set.name.clone(), set.replicas - cut));
            spare -= cut;
        }
    }
    targets
}

fn by_age(sets: &[Size]) -> Vec<&Size> {
    let mut sets: Vec<&Size> = sets.iter().collect();
    sets.sort_by(|a, b| a.age().cmp(&b.age()));
    sets
}

/// What to do where a Deployment was scaled, or is paused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scaling {
    /// These sets get these sizes.
    To(Targets),
    /// The same; and all of them take note of the Deployment's size, also where theirs stays.
    Proportionally(Targets),
}

/// The sizes of all sets of a Deployment that was scaled, or is paused. `saturated` says whether the new set has all it
/// is to have; `there` is how many pods the Deployment says it has.
pub(super) fn scaled(room: &Room, new: Option<&Size>, old: &[Size], saturated: bool, there: i64) -> Scaling {
    let mut active: Vec<&Size> = old.iter().chain(new).filter(|set| set.replicas > 0).collect();
    let only = match active.as_slice() {
        [] => new.or_else(|| old.iter().max_by(|a, b| a.age().cmp(&b.age()))),
        [one] => Some(*one),
        _ => None,
    };
    if let Some(only) = only {
        return Scaling::To(vec![(only.name.clone(), room.replicas)]);
    }
    if active.is_empty() {
        return Scaling::To(Targets::new());
    }
    if saturated {
        let empty = old.iter().filter(|set| set.replicas > 0).map(|set| (set.name.clone(), 0));
        return Scaling::To(empty.collect());
    }
    if !room.rolling {
        return Scaling::To(Targets::new());
    }
    let allowed = if room.replicas > 0 { room.most() } else { 0 };
    let more = allowed - active.iter().map(|set| set.replicas).sum::<i64>();
    // The largest first. Of those of one size the newer one grows first, and the older one shrinks first.
    if more > 0 {
        active.sort_by(|a, b| (b.replicas, b.age()).cmp(&(a.replicas, a.age())));
    } else {
        active.sort_by(|a, b| (Reverse(a.replicas), a.age()).cmp(&(Reverse(b.replicas), b.age())));
    }
    let mut added = 0;
    let mut targets = Targets::new();
    for set in &active {
        let part = proportion(room, set, more, added, there);
        added += part;
        targets.push((set.name.clone(), set.replicas + part));
    }
    // What rounding left over is the largest one's.
    if let Some((_, size)) = targets.first_mut() {
        *size = (*size + more - added).max(0);
    }
    Scaling::Proportionally(targets)
}

/// How many of `more` replicas are for a set, where `added` of them are given away already; both are negative where the
/// Deployment shrinks.
fn proportion(room: &Room, set: &Size, more: i64, added: i64, there: i64) -> i64 {
    if more == 0 || more == added {
        return 0;
    }
    let fraction = if room.replicas == 0 {
        -set.replicas
    } else {
        match set.most_then.filter(|most| *most != 0).unwrap_or(there) {
            0 => 0,
            before => rounded(set.replicas * room.most(), before) - set.replicas,
        }
    };
    if more > 0 { fraction.min(more - added) } else { fraction.max(more - added) }
}

/// A quotient of numbers that are not negative, rounded half up.
fn rounded(numerator: i64, denominator: i64) -> i64 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

#[cfg(test)]
mod tests;
