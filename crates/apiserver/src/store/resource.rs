//! One resource in memory: its objects in order, and the recent events that changed them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::Notify;

use super::object::{ByPath, Event, EventKind, Object, path_of};
use super::{HistoryLimits, List, ListRequest, RevisionError};

/// A resource. Readers hold the lock while they copy pointers, the writer while it applies what is already durable: nobody waits
/// for a disk here.
#[derive(Debug)]
pub(super) struct Resource {
    state: RwLock<State>,
    /// Woken after events were added.
    pub(super) changed: Notify,
}

/// ```text
///  revisions ───────────────────────────────────────────────────────────►
///            │ forgotten │        ring: events, oldest first     │
///                        ▲ reaches                               ▲ last
/// ```
/// A watch or list from a revision at or above `reaches` can be answered: every event after it is still here.
#[derive(Debug)]
struct State {
    objects: BTreeSet<ByPath>,
    ring: VecDeque<Arc<Event>>,
    ring_weight: usize,
    reaches: u64,
    last: u64,
}

impl Resource {
    /// A resource whose events are known only after `reaches`.
    pub(super) fn new(objects: BTreeSet<ByPath>, reaches: u64) -> Self {
        let state = State { objects, ring: VecDeque::new(), ring_weight: 0, reaches, last: reaches };
        Self { state: RwLock::new(state), changed: Notify::new() }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, path: &str) -> Option<Arc<Object>> {
        self.read().objects.get(path).map(|found| found.0.clone())
    }

    pub(super) fn count(&self) -> usize {
        self.read().objects.len()
    }

    /// Applies durable events, which come in the order of their revisions, and forgets the oldest beyond the limits.
    pub(super) fn publish(&self, events: impl Iterator<Item = Arc<Event>>, limits: HistoryLimits) {
        let mut forgotten = Vec::new();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            match event.kind {
                EventKind::Added | EventKind::Modified => {
                    state.objects.replace(ByPath(event.object.clone()));
                }
                EventKind::Deleted => {
                    state.objects.remove(event.object.path());
                }
            }
            state.last = event.revision();
            state.ring_weight += event.weight();
            state.ring.push_back(event);
        }
        while state.ring.len() > limits.events || state.ring_weight > limits.bytes {
            let Some(oldest) = state.ring.pop_front() else { break };
            state.ring_weight -= oldest.weight();
            state.reaches = oldest.revision();
            forgotten.push(oldest);
        }
        drop(state);
        // Freed only here: giving back memory takes longer than the rest, and readers need not wait for it.
        drop(forgotten);
    }

    /// The newest revision that a watch may start from, given what the whole store has published.
    pub(super) fn check_start(&self, from: u64, published: u64) -> Result<(), RevisionError> {
        let state = self.read();
        state.check(from, published)
    }

    /// Events after `cursor`, at most `limit`, and the revision up to which they are complete.
    ///
    /// `published` must have been read before: then an event at or below it cannot be missing from the ring.
    pub(super) fn events_after(
        &self,
        cursor: u64,
        limit: usize,
        bytes: usize,
        published: u64,
    ) -> Result<(Vec<Arc<Event>>, u64), RevisionError> {
        let state = self.read();
        if cursor < state.reaches {
            return Err(RevisionError::TooOld { oldest: state.reaches });
        }
        let start = state.ring.partition_point(|event| event.revision() <= cursor);
        let mut taken = 0;
        let fits = |event: &&Arc<Event>| {
            let fits = taken == 0 || taken + event.object.bytes.len() <= bytes;
            taken += event.object.bytes.len().max(1);
            fits
        };
        let events: Vec<_> = state.ring.range(start..).take(limit).take_while(fits).cloned().collect();
        let complete = match events.last() {
            Some(last) if start + events.len() < state.ring.len() => last.revision(),
            _ => published.max(state.last).max(cursor),
        };
        Ok((events, complete))
    }

    pub(super) fn list(
        &self,
        request: &ListRequest<'_>,
        published: u64,
        mut filter: Option<&mut dyn FnMut(&Object) -> bool>,
    ) -> Result<List, RevisionError> {
        let state = self.read();
        let revision = published.max(state.last);
        let at = request.at.unwrap_or(revision);
        state.check(at, published)?;
        let range = Range::of(request);
        let undone = state.undo_to(at, &range);
        let mut walk = Walk::new(&state.objects, &undone, &range);
        let mut list = List { revision: at, items: Vec::new(), more: false, remaining: None };
        let limit = request.limit.unwrap_or(usize::MAX);
        if request.limit.is_none() && filter.is_none() && range.is_everything() {
            list.items.reserve_exact(state.objects.len());
        }
        while list.items.len() < limit {
            let Some(object) = walk.next() else { return Ok(list) };
            if filter.as_mut().is_none_or(|wanted| wanted(object)) {
                list.items.push(object.clone());
            }
        }
        let remaining = if filter.is_none() { walk.count() } else { usize::from(walk.next().is_some()) };
        list.more = remaining > 0;
        list.remaining = filter.is_none().then_some(remaining);
        Ok(list)
    }
}

impl State {
    fn check(&self, at: u64, published: u64) -> Result<(), RevisionError> {
        let current = published.max(self.last);
        if at > current {
            return Err(RevisionError::Future { current });
        }
        if at < self.reaches {
            return Err(RevisionError::TooOld { oldest: self.reaches });
        }
        Ok(())
    }

    /// What the objects that changed after `at` were then; none for those that were not there.
    fn undo_to(&self, at: u64, range: &Range) -> BTreeMap<&str, Option<&Arc<Object>>> {
        let mut undone = BTreeMap::new();
        let start = self.ring.partition_point(|event| event.revision() <= at);
        for event in self.ring.range(start..) {
            let path = event.object.path();
            if range.contains(path) {
                // The first change after `at` knows what was there at `at`.
                undone.entry(path).or_insert(event.previous.as_ref());
            }
        }
        undone
    }
}

/// The paths a list asks for.
struct Range {
    from: Bound<String>,
    to: Bound<String>,
}

impl Range {
    fn of(request: &ListRequest<'_>) -> Self {
        let within = request.namespace.filter(|namespace| !namespace.is_empty());
        // '0' is the character after '/'.
        let to = within.map_or(Bound::Unbounded, |namespace| Bound::Excluded(format!("{namespace}0")));
        let first = within.map_or(Bound::Unbounded, |namespace| Bound::Included(format!("{namespace}/")));
        let after = request.start_after.map(|(namespace, name)| path_of(namespace, name));
        let from = match (first, after) {
            (Bound::Included(first), Some(after)) if after < first => Bound::Included(first),
            (_, Some(after)) => Bound::Excluded(after),
            (first, None) => first,
        };
        Self { from, to }
    }

    /// A start behind the end is a token from another namespace: there is nothing there, and a tree must not be asked for it.
    fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
            _ => false,
        }
    }

    fn is_everything(&self) -> bool {
        matches!((&self.from, &self.to), (Bound::Unbounded, Bound::Unbounded))
    }

    fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        (self.from.as_ref().map(String::as_str), self.to.as_ref().map(String::as_str))
    }

    fn contains(&self, path: &str) -> bool {
        use std::ops::RangeBounds;
        <(Bound<&str>, Bound<&str>) as RangeBounds<str>>::contains(&self.bounds(), path)
    }
}

/// Objects of a range in order, as they were before the events in `undone`.
struct Walk<'a> {
    live: Option<std::iter::Peekable<std::collections::btree_set::Range<'a, ByPath>>>,
    undone: std::iter::Peekable<std::collections::btree_map::Iter<'a, &'a str, Option<&'a Arc<Object>>>>,
}

impl<'a> Walk<'a> {
    fn new(
        objects: &'a BTreeSet<ByPath>,
        undone: &'a BTreeMap<&'a str, Option<&'a Arc<Object>>>,
        range: &Range,
    ) -> Self {
        let live = (!range.is_empty()).then(|| objects.range::<str, _>(range.bounds()).peekable());
        Self { live, undone: undone.iter().peekable() }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = &'a Arc<Object>;

    fn next(&mut self) -> Option<Self::Item> {
        let live = self.live.as_mut()?;
        loop {
            let Some((path, before)) = self.undone.peek() else { return live.next().map(|found| &found.0) };
            match live.peek() {
                Some(found) if found.0.path() < **path => return live.next().map(|found| &found.0),
                Some(found) if found.0.path() == **path => {
                    live.next();
                }
                _ => {}
            }
            let before = **before;
            self.undone.next();
            if before.is_some() {
                return before;
            }
        }
    }
}
