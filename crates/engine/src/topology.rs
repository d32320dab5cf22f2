//! Segments and reaches: the cluster cut along exactly the labels that some selector reads.
//!
//! A *topology* is a set of label keys that some volume's affinity, class or pool reads. It cuts the nodes into
//! *segments* of equal values under those keys. A *reach* is an interned selector together with the segments it
//! matches. A selector is evaluated once per segment, when either of the two arrives; deciding about a pod only looks
//! up which segment a node is in.
//!
//! ```text
//!   volume affinity ─┐                       ┌─ segment (zone=a) ── node, node, …
//!   pool topology   ─┼─► reach ─► topology ──┼─ segment (zone=b) ── node, …
//!   allowedTopologies┘   (interned)  (keys)  └─ segment (no zone)
//! ```
//!
//! Local volumes have as many segments as nodes. So that neither a new node looks at every reach nor a new reach at
//! every node, reaches whose terms all ask for certain values of one key are *anchored* at those values.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::collections::{Map, Set};
use crate::labels::{Labels, Name};
use crate::selector::{AllowedTopologies, LabelSelector, NodeSelector, Requirement};

/// A selector over nodes' labels, as volumes, classes and pools carry them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Selector {
    /// No restriction.
    Everywhere,
    /// A volume's node affinity.
    Affinity(Arc<NodeSelector>),
    /// A pool's node topology.
    Pool(LabelSelector),
    /// A class's allowed topologies.
    Allowed(AllowedTopologies),
}

impl Selector {
    fn matches(&self, labels: &Labels) -> bool {
        match self {
            Selector::Everywhere => true,
            Selector::Affinity(s) => s.matches_labels(labels),
            Selector::Pool(s) => s.matches(labels),
            Selector::Allowed(s) => s.matches(labels),
        }
    }

    fn keys(&self) -> Vec<Name> {
        match self {
            Selector::Everywhere => Vec::new(),
            Selector::Affinity(s) => s.label_keys(),
            Selector::Pool(s) => s.label_keys(),
            Selector::Allowed(s) => s.keys(),
        }
    }

    /// Values of `key` outside of which the selector cannot match, if it has such.
    fn anchor(&self, key: &Name) -> Option<Vec<Name>> {
        fn of_term(requirements: &[Requirement], key: &Name) -> Option<Vec<Name>> {
            requirements.iter().filter(|r| r.key() == key).find_map(|r| r.in_values().map(<[Name]>::to_vec))
        }
        match self {
            Selector::Everywhere | Selector::Allowed(_) => None,
            Selector::Pool(s) => of_term(s.requirements(), key),
            Selector::Affinity(s) => {
                let mut values = Vec::new();
                for term in s.terms().iter().flatten().filter(|t| !t.is_empty()) {
                    values.extend(of_term(term.expressions(), key)?);
                }
                Some(values)
            }
        }
    }
}

/// A topology's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TopologyId(u32);

/// A segment's number within its topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SegmentId(u32);

impl SegmentId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A reach's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReachId(u32);

/// A place as seen by one topology.
pub(crate) type Place = (TopologyId, SegmentId);

/// An interned selector and where it matches.
#[derive(Clone, Debug)]
struct Reach {
    selector: Selector,
    topology: TopologyId,
    /// How many objects carry this selector; the slot is free at zero.
    users: u32,
    /// Sorted.
    segments: SmallVec<[SegmentId; 1]>,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    /// The values of the topology's keys, those that the nodes have.
    labels: Labels,
    /// How many nodes are here; at zero the slot may be freed.
    nodes: u32,
    /// The reaches that match here: what a pod on one of these nodes can use.
    reaches: SmallVec<[ReachId; 2]>,
}

#[derive(Clone, Debug)]
struct Topology {
    keys: Box<[Name]>,
    segments: Vec<Segment>,
    free: Vec<SegmentId>,
    by_labels: Map<Labels, SegmentId>,
    /// Makes a new anchored reach cheap: the segments with this value of the first key.
    by_value: Map<Name, Vec<SegmentId>>,
    /// Which segment each node is in, by the node's index.
    of_node: Vec<Option<SegmentId>>,
    /// Makes a new segment cheap: the reaches anchored at this value of the first key …
    anchored: Map<Name, Vec<ReachId>>,
    /// … and those that must be asked for every segment.
    unanchored: Vec<ReachId>,
}

/// All topologies, segments and reaches of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topologies {
    topologies: Vec<Topology>,
    by_keys: Map<Box<[Name]>, TopologyId>,
    reaches: Vec<Reach>,
    free_reaches: Vec<ReachId>,
    by_selector: Map<Selector, ReachId>,
    /// The labels of every node, by index: what a new topology is cut from.
    nodes: Vec<Option<Labels>>,
}

impl Topologies {
    /// Places a node, or moves it. Returns the places whose reaches are new, so that answers kept for them are made anew.
    pub(crate) fn set_node(&mut self, node: usize, labels: Labels) -> Vec<Place> {
        if self.nodes.len() <= node {
            self.nodes.resize(node + 1, None);
        }
        let mut fresh = Vec::new();
        for t in 0..self.topologies.len() {
            let id = TopologyId(t as u32);
            if let Some(segment) = self.topologies[t].place(node, &labels) {
                self.fill_segment(id, segment);
                fresh.push((id, segment));
            }
        }
        self.nodes[node] = Some(labels);
        fresh
    }

    /// Takes a node away.
    pub(crate) fn remove_node(&mut self, node: usize) {
        if let Some(slot) = self.nodes.get_mut(node) {
            *slot = None;
        }
        for topology in &mut self.topologies {
            topology.leave(node);
        }
        self.reap_segments();
    }

    /// Interns a selector for one more user.
    pub(crate) fn acquire(&mut self, selector: Selector) -> ReachId {
        if let Some(&id) = self.by_selector.get(&selector) {
            self.reaches[id.0 as usize].users += 1;
            return id;
        }
        let topology = self.topology_for(selector.keys());
        let segments = self.topologies[topology.0 as usize].matching(&selector);
        let reach = Reach { selector: selector.clone(), topology, users: 1, segments };
        let id = match self.free_reaches.pop() {
            Some(id) => {
                self.reaches[id.0 as usize] = reach;
                id
            }
            None => {
                self.reaches.push(reach);
                ReachId((self.reaches.len() - 1) as u32)
            }
        };
        let topology = &mut self.topologies[topology.0 as usize];
        topology.register(id, &selector);
        for segment in &self.reaches[id.0 as usize].segments {
            topology.segments[segment.index()].reaches.push(id);
        }
        self.by_selector.insert(selector, id);
        id
    }

    /// Gives up one use of a reach.
    pub(crate) fn release(&mut self, id: ReachId) {
        let reach = &mut self.reaches[id.0 as usize];
        reach.users = reach.users.saturating_sub(1);
        if reach.users > 0 {
            return;
        }
        let segments = std::mem::take(&mut reach.segments);
        let selector = std::mem::replace(&mut reach.selector, Selector::Everywhere);
        let topology = &mut self.topologies[reach.topology.0 as usize];
        topology.unregister(id, &selector);
        for segment in segments {
            topology.segments[segment.index()].reaches.retain(|r| *r != id);
        }
        self.by_selector.remove(&selector);
        self.free_reaches.push(id);
    }

    /// The labels of a node.
    pub(crate) fn labels(&self, node: usize) -> Option<&Labels> {
        self.nodes.get(node).and_then(Option::as_ref)
    }

    /// The segment of a node in a topology.
    #[inline]
    pub(crate) fn segment_of(&self, topology: TopologyId, node: usize) -> Option<SegmentId> {
        self.topologies[topology.0 as usize].of_node.get(node).copied().flatten()
    }

    /// The segments of all nodes in a topology, by the nodes' indexes.
    pub(crate) fn segments(&self, topology: TopologyId) -> &[Option<SegmentId>] {
        &self.topologies[topology.0 as usize].of_node
    }

    /// Every place of a topology, empty ones too.
    pub(crate) fn places(&self, topology: TopologyId) -> impl Iterator<Item = Place> {
        (0..self.topologies[topology.0 as usize].segments.len() as u32).map(move |s| (topology, SegmentId(s)))
    }

    /// The node affinity that a reach was made of.
    pub(crate) fn affinity(&self, reach: ReachId) -> Option<Arc<NodeSelector>> {
        match &self.reaches[reach.0 as usize].selector {
            Selector::Affinity(affinity) => Some(Arc::clone(affinity)),
            _ => None,
        }
    }

    /// Whether every node is within a reach, at a glance: its selector asks for no label.
    pub(crate) fn is_everywhere(&self, reach: ReachId) -> bool {
        self.reaches[reach.0 as usize].selector == Selector::Everywhere
    }

    /// The topology in which a reach is decided.
    #[inline]
    pub(crate) fn topology_of(&self, reach: ReachId) -> TopologyId {
        self.reaches[reach.0 as usize].topology
    }

    /// The segments that a reach matches.
    pub(crate) fn segments_of(&self, reach: ReachId) -> &[SegmentId] {
        &self.reaches[reach.0 as usize].segments
    }

    /// Whether a node is within a reach.
    #[inline]
    pub(crate) fn reaches(&self, reach: ReachId, node: usize) -> bool {
        let reach = &self.reaches[reach.0 as usize];
        self.segment_of(reach.topology, node).is_some_and(|s| reach.segments.binary_search(&s).is_ok())
    }

    /// The reaches that match a segment.
    #[inline]
    pub(crate) fn reaches_at(&self, place: Place) -> &[ReachId] {
        &self.topologies[place.0.0 as usize].segments[place.1.index()].reaches
    }

    fn topology_for(&mut self, keys: Vec<Name>) -> TopologyId {
        let keys: Box<[Name]> = keys.into();
        if let Some(&id) = self.by_keys.get(&keys) {
            return id;
        }
        let id = TopologyId(self.topologies.len() as u32);
        let mut topology = Topology {
            keys: keys.clone(),
            segments: Vec::new(),
            free: Vec::new(),
            by_labels: Map::default(),
            by_value: Map::default(),
            of_node: Vec::new(),
            anchored: Map::default(),
            unanchored: Vec::new(),
        };
        for (node, labels) in self.nodes.iter().enumerate() {
            if let Some(labels) = labels {
                topology.place(node, labels);
            }
        }
        self.topologies.push(topology);
        self.by_keys.insert(keys, id);
        id
    }

    /// Finds the reaches that match a new segment, and tells both sides.
    fn fill_segment(&mut self, id: TopologyId, segment: SegmentId) {
        let topology = &mut self.topologies[id.0 as usize];
        let labels = topology.segments[segment.index()].labels.clone();
        let anchored = topology.keys.first().and_then(|k| labels.get(k)).and_then(|v| topology.anchored.get(v));
        let candidates: Vec<ReachId> = anchored
            .into_iter()
            .flatten()
            .chain(topology.unanchored.iter())
            .copied()
            .collect::<Set<_>>()
            .into_iter()
            .collect();
        for reach in candidates {
            let r = &mut self.reaches[reach.0 as usize];
            if r.selector.matches(&labels) {
                if let Err(at) = r.segments.binary_search(&segment) {
                    r.segments.insert(at, segment);
                }
                topology.segments[segment.index()].reaches.push(reach);
            }
        }
        topology.segments[segment.index()].reaches.sort_unstable();
    }

    fn clear_segment(&mut self, id: TopologyId, segment: SegmentId) {
        let reaches = std::mem::take(&mut self.topologies[id.0 as usize].segments[segment.index()].reaches);
        for reach in reaches {
            self.reaches[reach.0 as usize].segments.retain(|s| *s != segment);
        }
    }

    /// Frees the segments without nodes. One that a moved node left behind stays until then: it answers as before.
    fn reap_segments(&mut self) {
        for t in 0..self.topologies.len() {
            for segment in self.topologies[t].take_empty() {
                self.clear_segment(TopologyId(t as u32), segment);
            }
        }
    }
}

impl Topology {
    /// Puts a node into its segment. Returns the segment if it is new.
    fn place(&mut self, node: usize, labels: &Labels) -> Option<SegmentId> {
        if self.of_node.len() <= node {
            self.of_node.resize(node + 1, None);
        }
        let values: Labels = self.keys.iter().filter_map(|k| labels.get(k).map(|v| (k.clone(), v.clone()))).collect();
        let (segment, fresh) = match self.by_labels.get(&values) {
            Some(&segment) => (segment, false),
            None => (self.new_segment(values), true),
        };
        if self.of_node[node] == Some(segment) {
            return None;
        }
        self.leave(node);
        self.of_node[node] = Some(segment);
        self.segments[segment.index()].nodes += 1;
        fresh.then_some(segment)
    }

    fn new_segment(&mut self, labels: Labels) -> SegmentId {
        let segment = Segment { labels: labels.clone(), nodes: 0, reaches: SmallVec::new() };
        let id = match self.free.pop() {
            Some(id) => {
                self.segments[id.index()] = segment;
                id
            }
            None => {
                self.segments.push(segment);
                SegmentId((self.segments.len() - 1) as u32)
            }
        };
        if let Some(value) = self.keys.first().and_then(|k| labels.get(k)) {
            self.by_value.entry(value.clone()).or_default().push(id);
        }
        self.by_labels.insert(labels, id);
        id
    }

    /// Takes a node out of its segment.
    fn leave(&mut self, node: usize) {
        if let Some(segment) = self.of_node.get_mut(node).and_then(Option::take) {
            let left = &mut self.segments[segment.index()].nodes;
            *left = left.saturating_sub(1);
        }
    }

    /// Removes the empty segments from the indexes and returns them.
    fn take_empty(&mut self) -> Vec<SegmentId> {
        let empty: Vec<SegmentId> =
            self.by_labels.values().copied().filter(|s| self.segments[s.index()].nodes == 0).collect();
        for segment in &empty {
            let labels = std::mem::take(&mut self.segments[segment.index()].labels);
            if let Some(value) = self.keys.first().and_then(|k| labels.get(k))
                && let Some(list) = self.by_value.get_mut(value)
            {
                list.retain(|s| s != segment);
            }
            self.by_labels.remove(&labels);
            self.free.push(*segment);
        }
        empty
    }

    fn matching(&self, selector: &Selector) -> SmallVec<[SegmentId; 1]> {
        let matches = |s: &SegmentId| selector.matches(&self.segments[s.index()].labels);
        let mut found: SmallVec<[SegmentId; 1]> = match self.keys.first().and_then(|k| selector.anchor(k)) {
            Some(values) => {
                values.iter().filter_map(|v| self.by_value.get(v)).flatten().copied().filter(matches).collect()
            }
            None => self.by_labels.values().copied().filter(matches).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    fn register(&mut self, id: ReachId, selector: &Selector) {
        match self.keys.first().and_then(|k| selector.anchor(k)) {
            Some(mut values) => {
                values.sort_unstable();
                values.dedup();
                for value in values {
                    self.anchored.entry(value).or_default().push(id);
                }
            }
            None => self.unanchored.push(id),
        }
    }

    fn unregister(&mut self, id: ReachId, selector: &Selector) {
        match self.keys.first().and_then(|k| selector.anchor(k)) {
            Some(values) => {
                for value in values {
                    if let Some(list) = self.anchored.get_mut(&value) {
                        list.retain(|r| *r != id);
                        if list.is_empty() {
                            self.anchored.remove(&value);
                        }
                    }
                }
            }
            None => self.unanchored.retain(|r| *r != id),
        }
    }
}
