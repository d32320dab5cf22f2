//! Free volumes, kept where a claim finds its smallest fit without looking at the others.
//!
//! A *shelf* holds the free volumes that differ only in size, place and labels: one class, volume mode, attributes class
//! and set of access modes. On it, volumes of one reach lie in a *pile* ordered by size, then name.
//!
//! Pods come in shapes: the hundred replicas of a set all ask for the same size. So a shelf remembers, for the sizes
//! last asked for, the best fit of every segment (a *fit column*). An event corrects only the segments its volume
//! reaches; a pod then costs one look per segment, however many volumes there are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use crate::collections::Map;
use crate::labels::Name;
use crate::model::{AccessModes, Claim, Volume, VolumeMode};
use crate::quantity::Quantity;
use crate::selector::LabelSelector;
use crate::topology::{Place, ReachId, Topologies, TopologyId};
use crate::volumes::score::utilization;
use crate::volumes::slab::{VolumeSlab, VolumeSlot};

/// How many sizes a shelf remembers. Each costs one entry per segment; an event corrects each of them.
const REMEMBERED_SIZES: usize = 16;

/// What makes free volumes interchangeable, besides size, place and labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ShelfKey {
    mode: VolumeMode,
    attributes_class: Name,
    access_modes: AccessModes,
}

impl ShelfKey {
    fn serves(&self, claim: &Claim) -> bool {
        self.mode == claim.mode
            && self.attributes_class == claim.attributes_class
            && self.access_modes.contains(claim.access_modes)
    }
}

/// A free volume's place in a pile: by size, then name. `None` stands before every name: where a search begins.
type PileKey = (Quantity, Option<Name>);

/// The best fit of one segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    /// The volume's capacity.
    pub(crate) size: Quantity,
    /// The same in whole bytes, for scores.
    pub(crate) bytes: i64,
    /// The volume.
    pub(crate) slot: VolumeSlot,
}

impl Fit {
    /// Whether this fit is closer than `other`: smaller, or of equal size and first by name.
    fn beats(&self, other: &Fit, slab: &VolumeSlab) -> bool {
        (self.size, slab.name(self.slot)) < (other.size, slab.name(other.slot))
    }
}

/// The best fits of all segments, for one size and selector.
#[derive(Clone, Debug)]
pub(crate) struct FitColumn {
    request: Quantity,
    request_bytes: i64,
    selector: Option<LabelSelector>,
    by_topology: SmallVec<[TopologyColumn; 1]>,
}

/// The part of a fit column that one topology decides, by segment.
#[derive(Clone, Debug)]
pub(crate) struct TopologyColumn {
    /// The topology.
    pub(crate) topology: TopologyId,
    fits: Vec<Option<Fit>>,
    /// How much of the best fit the claim would use, in percent; [`NO_FIT`] where there is none. One byte per segment, so
    /// that a look at all nodes stays in the nearest cache.
    pub(crate) closeness: Vec<u8>,
}

/// The closeness of a segment without a fit.
pub(crate) const NO_FIT: u8 = u8::MAX;

impl FitColumn {
    fn accepts(&self, volume: &Volume) -> bool {
        volume.capacity >= self.request && self.selector.as_ref().is_none_or(|s| s.matches(&volume.labels))
    }

    /// The best fit at a node.
    #[inline]
    pub(crate) fn at(&self, node: usize, topologies: &Topologies, slab: &VolumeSlab) -> Option<Fit> {
        let mut best: Option<Fit> = None;
        for column in &self.by_topology {
            let Some(segment) = topologies.segment_of(column.topology, node) else { continue };
            if let Some(fit) = column.fits.get(segment.index()).copied().flatten()
                && best.is_none_or(|b| fit.beats(&b, slab))
            {
                best = Some(fit);
            }
        }
        best
    }

    fn set(&mut self, place: Place, fit: Option<Fit>) {
        let at = match self.by_topology.iter().position(|c| c.topology == place.0) {
            Some(at) => at,
            None if fit.is_none() => return,
            None => {
                self.by_topology.push(TopologyColumn { topology: place.0, fits: Vec::new(), closeness: Vec::new() });
                self.by_topology.len() - 1
            }
        };
        let (column, segment) = (&mut self.by_topology[at], place.1.index());
        if column.fits.len() <= segment {
            column.fits.resize(segment + 1, None);
            column.closeness.resize(segment + 1, NO_FIT);
        }
        column.fits[segment] = fit;
        column.closeness[segment] =
            fit.map_or(NO_FIT, |f| utilization(self.request_bytes, f.bytes).clamp(0, 100) as u8);
    }

    /// The columns by topology.
    pub(crate) fn topologies(&self) -> &[TopologyColumn] {
        &self.by_topology
    }

    fn get(&self, place: Place) -> Option<Fit> {
        let column = self.by_topology.iter().find(|c| c.topology == place.0)?;
        column.fits.get(place.1.index()).copied().flatten()
    }
}

/// The free volumes of one class that serve the same claims.
#[derive(Debug)]
pub(crate) struct Shelf {
    key: ShelfKey,
    piles: Map<ReachId, BTreeMap<PileKey, VolumeSlot>>,
    /// The topologies of the piles, with how many piles each: where to look for a node's piles.
    topologies: SmallVec<[(TopologyId, u32); 1]>,
    /// Least recently used first. Behind a lock, because asking fills it; events reach it without one.
    columns: Mutex<Vec<Arc<FitColumn>>>,
}

impl Clone for Shelf {
    /// Columns are only remembered answers: a copy makes its own.
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            piles: self.piles.clone(),
            topologies: self.topologies.clone(),
            columns: Mutex::new(Vec::new()),
        }
    }
}

impl Shelf {
    fn new(key: ShelfKey) -> Self {
        Self { key, piles: Map::default(), topologies: SmallVec::new(), columns: Mutex::new(Vec::new()) }
    }

    /// Whether volumes of this shelf serve the claim, size, place and labels aside.
    pub(crate) fn serves(&self, claim: &Claim) -> bool {
        self.key.serves(claim)
    }

    /// The best fits everywhere for a size and selector, remembered or made now.
    pub(crate) fn column(
        &self,
        request: Quantity,
        selector: Option<&LabelSelector>,
        topologies: &Topologies,
        slab: &VolumeSlab,
    ) -> Arc<FitColumn> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = columns.iter().position(|c| c.request == request && c.selector.as_ref() == selector) {
            let column = columns.remove(at);
            columns.push(Arc::clone(&column));
            return column;
        }
        // What fits a smaller request and is large enough for this one is its best fit too: only the rest is looked for.
        let smaller = columns.iter().filter(|c| c.request < request && c.selector.as_ref() == selector);
        let column = match smaller.max_by_key(|c| c.request) {
            Some(nearest) => self.grow_column(nearest, request, topologies, slab),
            None => self.make_column(request, selector.cloned(), topologies, slab),
        };
        let column = Arc::new(column);
        if columns.len() >= REMEMBERED_SIZES {
            columns.remove(0);
        }
        columns.push(Arc::clone(&column));
        column
    }

    fn make_column(
        &self,
        request: Quantity,
        selector: Option<LabelSelector>,
        topologies: &Topologies,
        slab: &VolumeSlab,
    ) -> FitColumn {
        let mut column = FitColumn { request, request_bytes: request.value(), selector, by_topology: SmallVec::new() };
        // Pile by pile, not segment by segment: a pile of a zone is searched once, not once per node in it.
        for (reach, pile) in &self.piles {
            let Some(fit) = first_fit(pile, column.request, column.selector.as_ref(), slab) else { continue };
            let topology = topologies.topology_of(*reach);
            for segment in topologies.segments_of(*reach) {
                let place = (topology, *segment);
                if column.get(place).is_none_or(|best| fit.beats(&best, slab)) {
                    column.set(place, Some(fit));
                }
            }
        }
        column
    }

    /// The column of a larger request, from that of a smaller one.
    fn grow_column(
        &self,
        smaller: &FitColumn,
        request: Quantity,
        topologies: &Topologies,
        slab: &VolumeSlab,
    ) -> FitColumn {
        let mut column = smaller.clone();
        column.request = request;
        column.request_bytes = request.value();
        for at in 0..column.by_topology.len() {
            for place in topologies.places(column.by_topology[at].topology) {
                let Some(fit) = column.get(place) else { continue };
                let fit = if fit.size >= request {
                    Some(fit)
                } else {
                    best_at(&self.piles, &column, place, topologies, slab)
                };
                column.set(place, fit);
            }
        }
        column
    }

    /// The free volumes that fit at a node, closest first, leaving out `excluded`; at most `limit`.
    pub(crate) fn candidates(
        &self,
        claim: &Claim,
        node: usize,
        excluded: &[VolumeSlot],
        limit: usize,
        topologies: &Topologies,
        slab: &VolumeSlab,
    ) -> Vec<Fit> {
        let request = claim.requested();
        let selector = claim.usable_selector();
        let mut found: Vec<Fit> = Vec::new();
        for (topology, _) in &self.topologies {
            let Some(segment) = topologies.segment_of(*topology, node) else { continue };
            for reach in topologies.reaches_at((*topology, segment)) {
                let Some(pile) = self.piles.get(reach) else { continue };
                found.extend(
                    pile.range((request, None)..)
                        .filter(|(_, slot)| !excluded.contains(slot))
                        .filter(|(_, slot)| selector.is_none_or(|s| s.matches(&slab.volume(**slot).labels)))
                        .take(limit)
                        .map(|((size, _), slot)| Fit { size: *size, bytes: size.value(), slot: *slot }),
                );
            }
        }
        found.sort_by(|a, b| (a.size, slab.name(a.slot)).cmp(&(b.size, slab.name(b.slot))));
        found.truncate(limit);
        found
    }

    /// The closest fit for a claim anywhere at all: one look per pile.
    pub(crate) fn smallest(&self, claim: &Claim, slab: &VolumeSlab) -> Option<Fit> {
        let (request, selector) = (claim.requested(), claim.usable_selector());
        let fits = self.piles.values().filter_map(|pile| first_fit(pile, request, selector, slab));
        fits.reduce(|a, b| if b.beats(&a, slab) { b } else { a })
    }

    fn insert(&mut self, slot: VolumeSlot, reach: ReachId, topologies: &Topologies, slab: &VolumeSlab) {
        let volume = slab.volume(slot);
        let pile = self.piles.entry(reach).or_insert_with(|| {
            let topology = topologies.topology_of(reach);
            match self.topologies.iter_mut().find(|(t, _)| *t == topology) {
                Some((_, piles)) => *piles += 1,
                None => self.topologies.push((topology, 1)),
            }
            BTreeMap::new()
        });
        pile.insert((volume.capacity, Some(volume.name.clone())), slot);
        let fit = Fit { size: volume.capacity, bytes: volume.capacity.value(), slot };
        let topology = topologies.topology_of(reach);
        for column in self.columns.get_mut().unwrap_or_else(PoisonError::into_inner) {
            if !column.accepts(volume) {
                continue;
            }
            let column = Arc::make_mut(column);
            for segment in topologies.segments_of(reach) {
                let place = (topology, *segment);
                if column.get(place).is_none_or(|best| fit.beats(&best, slab)) {
                    column.set(place, Some(fit));
                }
            }
        }
    }

    fn remove(&mut self, slot: VolumeSlot, reach: ReachId, topologies: &Topologies, slab: &VolumeSlab) {
        let volume = slab.volume(slot);
        if let Some(pile) = self.piles.get_mut(&reach) {
            pile.remove(&(volume.capacity, Some(volume.name.clone())));
            if pile.is_empty() {
                self.piles.remove(&reach);
                let topology = topologies.topology_of(reach);
                self.topologies.retain(|(t, piles)| {
                    *piles -= u32::from(*t == topology);
                    *piles > 0
                });
            }
        }
        let topology = topologies.topology_of(reach);
        let piles = &self.piles;
        for column in self.columns.get_mut().unwrap_or_else(PoisonError::into_inner) {
            for segment in topologies.segments_of(reach) {
                let place = (topology, *segment);
                if column.get(place).is_some_and(|best| best.slot == slot) {
                    let fit = best_at(piles, column, place, topologies, slab);
                    Arc::make_mut(column).set(place, fit);
                }
            }
        }
    }

    fn refresh(&mut self, place: Place, topologies: &Topologies, slab: &VolumeSlab) {
        let piles = &self.piles;
        for column in self.columns.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let fit = best_at(piles, column, place, topologies, slab);
            Arc::make_mut(column).set(place, fit);
        }
    }

    /// How many free volumes lie here.
    pub(crate) fn len(&self) -> usize {
        self.piles.values().map(BTreeMap::len).sum()
    }
}

fn first_fit(
    pile: &BTreeMap<PileKey, VolumeSlot>,
    request: Quantity,
    selector: Option<&LabelSelector>,
    slab: &VolumeSlab,
) -> Option<Fit> {
    pile.range((request, None)..)
        .find(|(_, slot)| selector.is_none_or(|s| s.matches(&slab.volume(**slot).labels)))
        .map(|((size, _), slot)| Fit { size: *size, bytes: size.value(), slot: *slot })
}

fn best_at(
    piles: &Map<ReachId, BTreeMap<PileKey, VolumeSlot>>,
    column: &FitColumn,
    place: Place,
    topologies: &Topologies,
    slab: &VolumeSlab,
) -> Option<Fit> {
    topologies
        .reaches_at(place)
        .iter()
        .filter_map(|reach| first_fit(piles.get(reach)?, column.request, column.selector.as_ref(), slab))
        .reduce(|a, b| if b.beats(&a, slab) { b } else { a })
}

/// All shelves, by class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelves {
    by_class: Map<Name, Vec<Shelf>>,
}

impl Shelves {
    /// The shelves of a class.
    pub(crate) fn of_class(&self, class: &str) -> &[Shelf] {
        self.by_class.get(class).map_or(&[], Vec::as_slice)
    }

    /// Puts a free volume on its shelf.
    pub(crate) fn insert(&mut self, slot: VolumeSlot, reach: ReachId, topologies: &Topologies, slab: &VolumeSlab) {
        let volume = slab.volume(slot);
        let key = ShelfKey {
            mode: volume.mode,
            attributes_class: volume.attributes_class.clone(),
            access_modes: volume.access_modes,
        };
        let shelves = self.by_class.entry(volume.class.clone()).or_default();
        let at = shelves.iter().position(|s| s.key == key).unwrap_or_else(|| {
            shelves.push(Shelf::new(key));
            shelves.len() - 1
        });
        shelves[at].insert(slot, reach, topologies, slab);
    }

    /// Takes a volume from its shelf. An empty shelf stays: its class will have volumes again.
    pub(crate) fn remove(&mut self, slot: VolumeSlot, reach: ReachId, topologies: &Topologies, slab: &VolumeSlab) {
        let volume = slab.volume(slot);
        if let Some(shelf) = self.by_class.get_mut(&volume.class).and_then(|shelves| {
            shelves.iter_mut().find(|s| {
                s.key.mode == volume.mode
                    && s.key.attributes_class == volume.attributes_class
                    && s.key.access_modes == volume.access_modes
            })
        }) {
            shelf.remove(slot, reach, topologies, slab);
        }
    }

    /// Corrects what is remembered of new segments.
    pub(crate) fn refresh(&mut self, places: &[Place], topologies: &Topologies, slab: &VolumeSlab) {
        for shelf in self.by_class.values_mut().flatten() {
            for place in places {
                shelf.refresh(*place, topologies, slab);
            }
        }
    }
}
