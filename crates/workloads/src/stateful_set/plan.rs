//! What a StatefulSet does next, from what its pods are now. Nothing remembers what was begun: whoever looks again, also after a
//! crash, comes to the same.
//!
//! ```text
//!   in order (OrderedReady), from the first pod up            all at once (Parallel)
//!   ┌────────────────────────────────────────────────┐        the same for every pod,
//!   │ ended?            delete it            ─► wait │        and nobody waits
//!   │ not there?        make it              ─► wait │
//!   │ being deleted?    not ready, available? ─► wait│
//!   └───────────────┬────────────────────────────────┘
//!                   ▼ all are there and available
//!     pods too many: delete the last one ─► wait
//!                   ▼ none
//!     rolling update: delete old pods from the last one down, as many as may be unavailable
//! ```

use super::spec::Strategy;

/// A pod as the plan sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// How far it is.
    pub phase: Phase,
    /// Whether it is running and ready.
    pub ready: bool,
    /// Whether it is ready for long enough.
    pub available: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it is of the revision that the set is to have.
    pub updated: bool,
    /// Whether its identity, its volumes and the owners of its claims are as they must be.
    pub fits: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Pending,
    Running,
    /// Succeeded or Failed: it will not come back by itself.
    Over,
}

impl Seen {
    fn is_away(&self) -> bool {
        !self.available || self.deleting
    }
}

/// A number of the set, and the pod that has it.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub ordinal: i64,
    pub pod: Option<Seen>,
    /// Whether a claim of a pod that is gone is in the way of a new one: it is on its way out.
    pub blocked: bool,
}

impl Seat {
    fn is_away(&self) -> bool {
        self.pod.as_ref().is_none_or(Seen::is_away)
    }
}

/// One thing to be done about one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Make its claims and then the pod.
    Create(i64),
    /// Make the claims that it lacks.
    Claims(i64),
    /// Bring its identity, its volumes and the owners of its claims in order.
    Mend(i64),
    /// Bring the owners of its claims in order, before it goes.
    Disown(i64),
    /// Delete it.
    Delete(i64),
}

impl Step {
    fn ordinal(self) -> i64 {
        match self {
            Self::Create(n) | Self::Claims(n) | Self::Mend(n) | Self::Disown(n) | Self::Delete(n) => n,
        }
    }
}

/// The steps of a stage by their pods. Pods may be worked on beside each other; the steps of one pod are taken in their order.
pub(super) fn by_pod(stage: &[Step]) -> Vec<&[Step]> {
    stage.chunk_by(|a, b| a.ordinal() == b.ordinal()).collect()
}

/// What the set has decided about itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub parallel: bool,
    pub strategy: Strategy,
}

/// The steps, in stages: what fails in one ends the plan there. Those of one pod are next to each other ([`by_pod`]). `seats` are in
/// order, `condemned` are those that are not wanted, the last first.
pub(super) fn plan(rules: Rules, seats: &[Seat], condemned: &[Seat]) -> Vec<Vec<Step>> {
    let mut stages = Vec::new();
    let (steps, waits) = living(rules, seats);
    stages.push(steps);
    if waits {
        return stages;
    }
    let unfit = |seat: &&Seat| seat.pod.as_ref().is_some_and(|pod| !pod.fits);
    stages.push(condemned.iter().filter(unfit).map(|seat| Step::Disown(seat.ordinal)).collect());
    let (steps, waits) = dying(rules, seats, condemned);
    stages.push(steps);
    if waits {
        return stages;
    }
    if let Strategy::Rolling { partition, max_unavailable } = rules.strategy {
        let partition = usize::try_from(partition.unwrap_or(0)).unwrap_or(usize::MAX);
        let allowed = usize::try_from(max_unavailable).unwrap_or(usize::MAX);
        let begun: Vec<Step> = stages.iter().flatten().copied().collect();
        let mut steps = outdated(rules.parallel, seats, partition, allowed);
        // One that has ended goes already.
        steps.retain(|step| !begun.contains(step));
        stages.push(steps);
    }
    stages
}

/// The pods that are wanted; true where nothing else may be done before one of them comes or goes.
fn living(rules: Rules, seats: &[Seat]) -> (Vec<Step>, bool) {
    let mut steps = Vec::new();
    for seat in seats {
        let waits = match &seat.pod {
            None => {
                if !seat.blocked {
                    steps.push(Step::Create(seat.ordinal));
                }
                true
            }
            Some(pod) if pod.phase == Phase::Over => {
                if !pod.deleting {
                    steps.push(Step::Delete(seat.ordinal));
                }
                true
            }
            Some(pod) => {
                if pod.phase == Phase::Pending {
                    steps.push(Step::Claims(seat.ordinal));
                }
                let waits = pod.deleting || !pod.ready || !pod.available;
                if !pod.fits && (rules.parallel || !waits) {
                    steps.push(Step::Mend(seat.ordinal));
                }
                waits
            }
        };
        if waits && !rules.parallel {
            return (steps, true);
        }
    }
    (steps, false)
}

/// The pods that are not wanted.
fn dying(rules: Rules, seats: &[Seat], condemned: &[Seat]) -> (Vec<Step>, bool) {
    // The first that is not well may go although it is not: it would never become so if it had to.
    let first_away = seats.iter().chain(condemned.iter().rev()).find(|seat| seat.is_away()).map(|seat| seat.ordinal);
    let mut steps = Vec::new();
    for seat in condemned {
        let Some(pod) = &seat.pod else { continue };
        let well = pod.ready && pod.available;
        if rules.parallel {
            if !pod.deleting {
                steps.push(Step::Delete(seat.ordinal));
            }
        } else {
            if !pod.deleting && (well || first_away == Some(seat.ordinal)) {
                steps.push(Step::Delete(seat.ordinal));
            }
            return (steps, true);
        }
    }
    (steps, false)
}

/// The pods that are replaced since they are not of the revision that is to be.
fn outdated(parallel: bool, seats: &[Seat], partition: usize, allowed: usize) -> Vec<Step> {
    let away = seats.iter().filter(|seat| seat.is_away()).count();
    let old = |seat: &&Seat| seat.pod.as_ref().is_some_and(|pod| !pod.updated && !pod.deleting);
    let candidates = || seats.iter().skip(partition).rev().filter(old);
    let left = allowed.saturating_sub(away);
    let delete = |seat: &Seat| Step::Delete(seat.ordinal);
    if !parallel {
        return candidates().take(left).map(delete).collect();
    }
    // Those that are not available cost nothing, and go first: else the last pods would use up what may be away, and the broken
    // ones below them would never be reached.
    let broken = candidates().filter(|seat| seat.is_away());
    let well = candidates().filter(|seat| !seat.is_away()).take(left);
    broken.chain(well).map(delete).collect()
}

#[cfg(test)]
mod tests;
