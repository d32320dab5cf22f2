//! VolumeBinding's score: which of the nodes that fit suits the volumes best.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::gates::Gate;
use crate::labels::ObjectKey;
use crate::volumes::binding::Judgement;
use crate::volumes::pod::PodVolumes;
use crate::volumes::pools::PoolRecord;

/// A line through (utilization %, score 0–100) points, by which the share of space in use becomes a score.
///
/// Upstream's default is the falling line from (0, 100) to (100, 0): the emptier, the better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(Arc<[(i64, i64)]>);

impl Default for Shape {
    fn default() -> Self {
        Self(Arc::from([(0, 100), (100, 0)]))
    }
}

impl Shape {
    /// A shape from points with utilization strictly rising from 0 to 100 and scores from 0 to 10, as configuration has
    /// them.
    pub fn new(points: &[(i64, i64)]) -> Option<Self> {
        let rising = points.windows(2).all(|w| w[0].0 < w[1].0);
        let in_range = points.iter().all(|(u, s)| (0..=100).contains(u) && (0..=10).contains(s));
        (!points.is_empty() && rising && in_range).then(|| Self(points.iter().map(|(u, s)| (*u, s * 10)).collect()))
    }

    /// The score at a utilization, by integer arithmetic that cuts off, as upstream's does.
    pub fn at(&self, utilization: i64) -> i64 {
        match self.0.iter().position(|(u, _)| utilization <= *u) {
            Some(0) => self.0[0].1,
            Some(i) => {
                let ((u0, s0), (u1, s1)) = (self.0[i - 1], self.0[i]);
                s0 + (s1 - s0) * (utilization - u0) / (u1 - u0)
            }
            None => self.0.last().map_or(0, |(_, s)| *s),
        }
    }

    fn of(&self, requested: i64, capacity: i64) -> i64 {
        self.at(utilization(requested, capacity))
    }
}

/// The share of `capacity` that `requested` uses, in percent, cut off; 100 where it does not fit.
pub(crate) fn utilization(requested: i64, capacity: i64) -> i64 {
    if capacity <= 0 || requested > capacity {
        return 100;
    }
    // Wide arithmetic is slow, and only numbers beyond 92 petabytes need it.
    match requested.checked_mul(100) {
        Some(hundredfold) => hundredfold / capacity,
        None => (i128::from(requested) * 100 / i128::from(capacity)) as i64,
    }
}

/// What closest-fit scoring gives a volume to be made where the driver does not say how much space it has: the middle of
/// what it gives to those that do.
const UNKNOWN_SPACE: i64 = 25;

impl PodVolumes<'_> {
    /// The score of a node that fits, 0–100.
    pub(crate) fn score(&self, judgement: &Judgement<'_>) -> i64 {
        if self.gates.on(Gate::ClosestFitScoring) {
            self.closest_fit_score(judgement)
        } else {
            self.upstream_score(judgement)
        }
    }

    /// Upstream's: the mean over classes; where anything is bound statically, what is to be made does not count.
    fn upstream_score(&self, judgement: &Judgement<'_>) -> i64 {
        let mut classes: SmallVec<[(&str, i64, i64); 2]> = SmallVec::new();
        if judgement.statics.is_empty() {
            for (i, pool) in &judgement.provisions {
                let claim = &self.claims.delayed[*i];
                // A pool that only says its largest volume has no capacity to score by (UP-2).
                let Some((_, pool)) = pool else { continue };
                // Upstream reads the field here, and crashes where only the annotation is set.
                let claim_class = Some(&claim.claim.class_field).filter(|c| !c.is_empty());
                let entry = entry_of(&mut classes, claim_class.unwrap_or(&claim.claim.class));
                entry.1 = entry.1.saturating_add(claim.bytes);
                entry.2 = pool.capacity.unwrap_or(0);
            }
        } else {
            for (i, fit) in &judgement.statics {
                let class = &self.catalog.slab.volume(fit.slot).class_field;
                let entry = entry_of(&mut classes, class);
                entry.1 = entry.1.saturating_add(self.claims.delayed[*i].bytes);
                entry.2 = entry.2.saturating_add(fit.bytes);
            }
        }
        let scores = classes.iter().map(|(_, requested, capacity)| self.rules.shape.of(*requested, *capacity));
        rounded_mean(scores.sum(), classes.len())
    }

    /// The score of a pod's only delayed claim bound to a volume that it would use to this percentage.
    pub(crate) fn static_score(&self, closeness: i64) -> i64 {
        if self.gates.on(Gate::ClosestFitScoring) { closeness_score(closeness) } else { self.rules.shape.at(closeness) }
    }

    /// The score of a pod's only delayed claim made in this pool.
    pub(crate) fn provision_score(&self, bytes: i64, pool: Option<(&ObjectKey, &PoolRecord)>) -> i64 {
        if self.gates.on(Gate::ClosestFitScoring) {
            self.space_score(bytes, pool)
        } else {
            pool.map_or(0, |(_, pool)| self.rules.shape.of(bytes, pool.capacity.unwrap_or(0)))
        }
    }

    fn space_score(&self, bytes: i64, pool: Option<(&ObjectKey, &PoolRecord)>) -> i64 {
        let free = pool.and_then(|(key, pool)| self.free(key, pool));
        free.map_or(UNKNOWN_SPACE, |free| self.rules.shape.of(bytes, free) / 2)
    }

    /// Ours: a static fit scores 50–100, the closer the better; a volume to be made scores 0–50 by the space left. The
    /// mean over the claims, so that static stands before dynamic and no node wins by wasting a large volume.
    fn closest_fit_score(&self, judgement: &Judgement<'_>) -> i64 {
        let statics = judgement
            .statics
            .iter()
            .map(|(i, fit)| closeness_score(utilization(self.claims.delayed[*i].bytes, fit.bytes)));
        let provisions =
            judgement.provisions.iter().map(|(i, pool)| self.space_score(self.claims.delayed[*i].bytes, *pool));
        let count = judgement.statics.len() + judgement.provisions.len();
        rounded_mean(statics.chain(provisions).sum(), count)
    }
}

fn closeness_score(closeness: i64) -> i64 {
    50 + closeness / 2
}

fn entry_of<'a, 'b>(
    classes: &'b mut SmallVec<[(&'a str, i64, i64); 2]>,
    class: &'a str,
) -> &'b mut (&'a str, i64, i64) {
    let at = classes.iter().position(|(c, ..)| *c == class).unwrap_or_else(|| {
        classes.push((class, 0, 0));
        classes.len() - 1
    });
    &mut classes[at]
}

/// The mean, rounded half up; 0 of nothing.
fn rounded_mean(sum: i64, count: usize) -> i64 {
    let count = count as i64;
    if count == 0 { 0 } else { (2 * sum + count) / (2 * count) }
}
