//! A look at all nodes at once: what a scheduler does for every pod.
//!
//! Most pods with volumes have one claim that waits for them. Whether a node fits then depends on its segments alone, so
//! segments are judged and nodes only looked up. All other pods are judged node by node.

use crate::nodes::NodeIndex;
use crate::topology::Topologies;
use crate::volumes::capacity::Room;
use crate::volumes::claims::DelayedClaim;
use crate::volumes::pod::PodVolumes;
use crate::volumes::shelf::{FitColumn, NO_FIT};

/// Which nodes the volume filters accept, and their scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// By node index; negative where the node is refused or does not exist.
    scores: Vec<i16>,
}

const REFUSED: i16 = -1;

impl Survey {
    /// VolumeBinding's score of a node; `None` where the volume filters refuse it.
    #[inline]
    pub fn score(&self, node: NodeIndex) -> Option<i64> {
        self.scores.get(node.as_usize()).copied().filter(|s| *s >= 0).map(i64::from)
    }

    /// The nodes that fit, with their scores, in order of their indexes.
    pub fn fitting(&self) -> impl Iterator<Item = (NodeIndex, i64)> {
        let all = self.scores.iter().enumerate();
        all.filter(|(_, score)| **score >= 0).map(|(node, score)| (NodeIndex(node as u32), i64::from(*score)))
    }
}

impl<'c> PodVolumes<'c> {
    /// Looks at all nodes.
    pub fn survey(&self) -> Survey {
        let scores = match self.only_claim() {
            Some(claim) => self.survey_claim(claim),
            None => self.survey_nodes(),
        };
        Survey { scores }
    }

    fn survey_nodes(&self) -> Vec<i16> {
        let mut scores = vec![REFUSED; self.catalog.node_slots()];
        for node in self.catalog.nodes.values() {
            if let Some(suitability) = self.suitability(NodeIndex(*node as u32)) {
                scores[*node] = suitability.score as i16;
            }
        }
        scores
    }

    /// The pod's only claim, if segments decide all there is to decide.
    fn only_claim(&self) -> Option<&DelayedClaim<'c>> {
        let [claim] = self.claims.delayed.as_slice() else { return None };
        let plain = self.claims.bound.is_empty()
            && self.zones.is_empty()
            && !self.restrictions.apply()
            && claim.claim.selected_node.is_none()
            && claim.claim.selector.as_ref().is_none_or(Result::is_ok)
            && claim.reserved.is_empty();
        (plain && !self.attachments.is_unclear() && !self.catalog.limits_attachments()).then_some(claim)
    }

    fn survey_claim(&self, claim: &DelayedClaim<'c>) -> Vec<i16> {
        let topologies = &self.catalog.topologies;
        let mut scores = vec![REFUSED; self.catalog.node_slots()];
        for column in &claim.columns {
            self.survey_column(column, topologies, &mut scores, claim.columns.len() > 1);
        }
        let Some(allowed) = claim.allowed else { return scores };
        let everywhere = topologies.is_everywhere(allowed);
        let rooms = self.survey_rooms(claim);
        for node in self.catalog.nodes.values().copied() {
            if scores[node] >= 0 || !(everywhere || topologies.reaches(allowed, node)) {
                continue;
            }
            scores[node] = match &rooms {
                Rooms::Everywhere(score) => *score,
                Rooms::BySegment(segments, rooms) => {
                    let segment = segments.get(node).copied().flatten();
                    segment.and_then(|s| rooms.get(s.index()).copied()).unwrap_or(REFUSED)
                }
                Rooms::ByNode => self.room_score(claim, self.room_alone(claim, node)),
            };
        }
        scores
    }

    /// Scores the nodes for which the column has a fit. Where several columns or topologies have one, the closest counts.
    fn survey_column(&self, column: &FitColumn, topologies: &Topologies, scores: &mut [i16], several: bool) {
        let by_closeness: [i16; 101] = std::array::from_fn(|c| self.static_score(c as i64) as i16);
        let score = |closeness: u8| by_closeness.get(usize::from(closeness)).copied().unwrap_or(REFUSED);
        if let ([only], false) = (column.topologies(), several) {
            for (node, segment) in topologies.segments(only.topology).iter().enumerate() {
                let Some(segment) = segment else { continue };
                let closeness = only.closeness.get(segment.index()).copied().unwrap_or(NO_FIT);
                if closeness != NO_FIT {
                    scores[node] = score(closeness);
                }
            }
            return;
        }
        // A rarity: volumes of one class whose affinities name different labels. The smallest fit decides, and only the
        // generic way knows which that is.
        for node in self.catalog.nodes.values().copied() {
            if column.at(node, topologies, &self.catalog.slab).is_some()
                && let Some(suitability) = self.suitability(NodeIndex(node as u32))
            {
                scores[node] = suitability.score as i16;
            }
        }
    }

    fn survey_rooms(&self, claim: &DelayedClaim<'c>) -> Rooms<'c> {
        let Some(checked) = claim.pools else { return Rooms::Everywhere(self.room_score(claim, Room::Unchecked)) };
        let Some(pools) = checked.0 else { return Rooms::Everywhere(REFUSED) };
        let Some(topology) = pools.only_topology() else { return Rooms::ByNode };
        let topologies = &self.catalog.topologies;
        let room = |place| {
            let usable = pools.at_place(place, topologies).filter(|(key, p)| self.limit(key, p) >= Some(claim.bytes));
            self.room_score(claim, usable.min_by_key(|(key, _)| *key).map_or(Room::None, Room::Pool))
        };
        Rooms::BySegment(topologies.segments(topology), topologies.places(topology).map(room).collect())
    }

    fn room_score(&self, claim: &DelayedClaim<'c>, room: Room<'c>) -> i16 {
        let pool = match room {
            Room::None => return REFUSED,
            Room::Unchecked => None,
            Room::Pool(pool) => Some(pool),
        };
        self.provision_score(claim.bytes, pool) as i16
    }
}

/// Where a volume can be made, as scores.
enum Rooms<'c> {
    /// The same everywhere.
    Everywhere(i16),
    /// By segment: the nodes' segments, and each segment's score.
    BySegment(&'c [Option<crate::topology::SegmentId>], Vec<i16>),
    /// The pools' reaches are of several topologies.
    ByNode,
}
