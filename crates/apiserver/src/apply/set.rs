//! Sets of fields.
//!
//! A set is a tree of steps. A node says whether its own path is in the set, and which paths below it are. Nodes are sorted by their
//! step, and a node that says neither is never kept, so equal sets are equal trees.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::path::{BadStep, PathElement};

/// A set of field paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet<'a> {
    nodes: Vec<Node<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) step: PathElement<'a>,
    pub(crate) member: bool,
    pub(crate) below: FieldSet<'a>,
}

impl Node<'_> {
    fn says_something(&self) -> bool {
        self.member || !self.below.is_empty()
    }
}

impl<'a> FieldSet<'a> {
    /// The set of these paths of named fields.
    pub fn of_fields(paths: &[&[&'a str]]) -> Self {
        let mut out = Self::default();
        for path in paths {
            out.insert(path.iter().map(|name| PathElement::field(name)));
        }
        out
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    fn find(&self, step: &PathElement<'_>) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.step.cmp(step))
    }

    /// Whether the path of this one step is in it.
    pub fn has_step(&self, step: &PathElement<'_>) -> bool {
        self.node(step).is_some_and(|node| node.member)
    }

    /// What is in it below a step.
    pub fn below(&self, step: &PathElement<'_>) -> Option<&FieldSet<'a>> {
        self.node(step).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    fn node(&self, step: &PathElement<'_>) -> Option<&Node<'a>> {
        self.find(step).ok().and_then(|at| self.nodes.get(at))
    }

    /// Whether a path is in it.
    pub fn has(&self, path: &[PathElement<'_>]) -> bool {
        match path {
            [] => false,
            [last] => self.has_step(last),
            [first, rest @ ..] => self.node(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// Adds a path.
    pub fn insert(&mut self, path: impl IntoIterator<Item = PathElement<'a>>) {
        let mut steps = path.into_iter();
        if let Some(first) = steps.next() {
            let mut below = FieldSet::default();
            below.insert(steps);
            let member = below.is_empty();
            self.push(first, member, below);
        }
    }

    /// Adds a step's own path, if it is a `member`, and what stands below it.
    pub(crate) fn push(&mut self, step: PathElement<'a>, member: bool, below: FieldSet<'a>) {
        if !member && below.is_empty() {
            return;
        }
        // Walks go through sorted maps, so the end is where nearly every step belongs.
        let place = match self.nodes.last() {
            None => Err(0),
            Some(last) => match last.step.cmp(&step) {
                Ordering::Less => Err(self.nodes.len()),
                Ordering::Equal => Ok(self.nodes.len() - 1),
                Ordering::Greater => self.find(&step),
            },
        };
        match place {
            Err(at) => self.nodes.insert(at, Node { step, member, below }),
            Ok(at) => {
                if let Some(node) = self.nodes.get_mut(at) {
                    node.member |= member;
                    node.below.union(below);
                }
            }
        }
    }

    /// Adds all paths of another set.
    pub fn union(&mut self, other: FieldSet<'a>) {
        if self.nodes.is_empty() {
            self.nodes = other.nodes;
            return;
        }
        let ours = std::mem::take(&mut self.nodes);
        self.nodes.reserve(ours.len().max(other.nodes.len()));
        let mut theirs = other.nodes.into_iter().peekable();
        for node in ours {
            while let Some(next) = theirs.next_if(|next| next.step < node.step) {
                self.nodes.push(next);
            }
            let twin = theirs.next_if(|next| next.step == node.step);
            self.nodes.push(node);
            if let Some(twin) = twin {
                self.push(twin.step, twin.member, twin.below);
            }
        }
        self.nodes.extend(theirs);
    }

    /// The set of these nodes, in any order.
    fn from_nodes(mut nodes: Vec<Node<'a>>) -> Self {
        if nodes.is_sorted_by(|a, b| a.step < b.step) {
            return Self { nodes };
        }
        nodes.sort_by(|a, b| a.step.cmp(&b.step));
        let mut out = Self { nodes: Vec::with_capacity(nodes.len()) };
        for node in nodes {
            out.push(node.step, node.member, node.below);
        }
        out
    }

    /// Takes the paths of another set away; says whether any was there.
    pub fn subtract(&mut self, other: &FieldSet<'_>) -> bool {
        let mut changed = false;
        self.retain_beside(other, |node, beside| {
            if beside.member && node.member {
                node.member = false;
                changed = true;
            }
            changed |= node.below.subtract(&beside.below);
        });
        changed
    }

    /// Takes the paths of another set away, and everything below them.
    pub fn subtract_trees(&mut self, other: &FieldSet<'_>) {
        self.retain_beside(other, |node, beside| {
            if beside.member {
                node.member = false;
                node.below.nodes.clear();
            } else {
                node.below.subtract_trees(&beside.below);
            }
        });
    }

    /// Calls `act` on each node that the other set has too, and drops those that then say nothing.
    fn retain_beside<'b>(&mut self, other: &FieldSet<'b>, mut act: impl FnMut(&mut Node<'a>, &Node<'b>)) {
        if other.is_empty() {
            return;
        }
        let mut rest = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while let Some(beside) = rest.peek() {
                match beside.step.cmp(&node.step) {
                    Ordering::Less => _ = rest.next(),
                    Ordering::Greater => return true,
                    Ordering::Equal => {
                        act(node, beside);
                        return node.says_something();
                    }
                }
            }
            true
        });
    }

    /// The paths that both sets have.
    pub fn intersection(&self, other: &FieldSet<'_>) -> FieldSet<'a> {
        let mut out = FieldSet::default();
        let mut rest = other.nodes.iter().peekable();
        for node in &self.nodes {
            while rest.next_if(|beside| beside.step < node.step).is_some() {}
            if let Some(beside) = rest.peek().filter(|beside| beside.step == node.step) {
                let below = node.below.intersection(&beside.below);
                out.push(node.step.clone(), node.member && beside.member, below);
            }
        }
        out
    }

    /// Every path: first all those that end at a level, then those that go on below it.
    pub fn for_each(&self, act: &mut impl FnMut(&[PathElement<'a>])) {
        self.visit(&mut Vec::new(), act);
    }

    fn visit(&self, path: &mut Vec<PathElement<'a>>, act: &mut impl FnMut(&[PathElement<'a>])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.step.clone());
            act(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            path.push(node.step.clone());
            node.below.visit(path, act);
            path.pop();
        }
    }

    /// As `fieldsV1` has it.
    pub fn encode(&self) -> Value {
        Value::Object(self.encode_nodes(Map::new()))
    }

    fn encode_nodes(&self, mut out: Map<String, Value>) -> Map<String, Value> {
        for node in &self.nodes {
            let mut inner = Map::new();
            if node.member && !node.below.is_empty() {
                inner.insert(".".into(), Value::Object(Map::new()));
            }
            out.insert(node.step.encode(), Value::Object(node.below.encode_nodes(inner)));
        }
        out
    }

    /// Reads `fieldsV1`. Steps of a kind that we do not know are passed over.
    pub fn decode(fields: &'a Value) -> Result<Self, String> {
        match fields {
            Value::Null => Ok(Self::default()),
            Value::Object(map) => Self::decode_map(map).map(|(set, _)| set),
            other => Err(format!("fieldsV1 must be an object, not {other}")),
        }
    }

    /// The set, and whether the path of the map itself is in its parent's set.
    fn decode_map(map: &'a Map<String, Value>) -> Result<(Self, bool), String> {
        let mut nodes = Vec::with_capacity(map.len());
        let mut member = false;
        for (key, value) in map {
            if key == "." {
                member = true;
                continue;
            }
            let step = match PathElement::decode(key) {
                Ok(step) => step,
                Err(BadStep::Unknown) => continue,
                Err(BadStep::Broken(why)) => return Err(why),
            };
            let (below, own) = match value {
                Value::Object(map) => Self::decode_map(map)?,
                Value::Null => (Self::default(), true),
                other => return Err(format!("field {key} must be an object, not {other}")),
            };
            if own || !below.is_empty() {
                nodes.push(Node { step, member: own, below });
            }
        }
        member |= nodes.is_empty();
        Ok((Self::from_nodes(nodes), member))
    }
}

/// A path as errors print it.
pub(crate) fn path_text(path: &[PathElement<'_>]) -> String {
    path.iter().map(ToString::to_string).collect()
}
