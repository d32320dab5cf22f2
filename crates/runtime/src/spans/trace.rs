//! One piece of work, and the phases that its time went into.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use plimsoll_engine::labels::Name;
use tokio::time::Instant;

use super::Spans;

/// Longer texts are cut: a collector refuses a whole batch for one that is too long.
const LONGEST_TEXT: usize = 1024;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(Name),
    /// A number.
    Number(i64),
    /// Several texts.
    List(Vec<Name>),
}

impl From<&Name> for Value {
    fn from(text: &Name) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(cut(text).into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// What a text is cut to.
fn cut(text: &str) -> &str {
    text.char_indices().nth(LONGEST_TEXT).map_or(text, |(end, _)| &text[..end])
}

/// A phase of work: a span, with those that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    pub(super) name: &'static str,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// Why it did not succeed.
    pub(super) error: Option<Box<str>>,
    /// Whether somebody else was asked, and it took the time that they took.
    pub(super) is_call: bool,
    pub(super) phases: Vec<Phase>,
}

impl Phase {
    /// A phase that began then, and ends when it is said to.
    pub fn begun(name: &'static str, began: Instant) -> Self {
        let (attributes, phases) = (Vec::new(), Vec::new());
        Self { name, began, ended: began, attributes, error: None, is_call: false, phases }
    }

    /// A phase that began then and has ended just now.
    pub fn since(name: &'static str, began: Instant) -> Self {
        Self::begun(name, began).until(Instant::now())
    }

    /// It ended then.
    pub fn until(mut self, ended: Instant) -> Self {
        self.ended = ended;
        self
    }

    /// It asked somebody else.
    pub fn call(mut self) -> Self {
        self.is_call = true;
        self
    }

    /// With an attribute.
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// It failed, where there is an error.
    pub fn failed(mut self, error: Option<&str>) -> Self {
        self.error = error.map(|error| cut(error).into());
        self
    }

    /// How many spans it is.
    pub(super) fn spans(&self) -> usize {
        1 + self.phases.iter().map(Self::spans).sum::<usize>()
    }
}

/// Which span another belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
}

impl Origin {
    /// Whether a trace is among so many of a million: by its identity alone, as OpenTelemetry's own sampler has it.
    pub(super) fn is_sampled(&self, per_million: u32) -> bool {
        let number = self.trace[8..].iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) >> 1;
        u128::from(number) * u128::from(super::ALL) < u128::from(per_million) << 63
    }
}

/// Spans that are ready to be told.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) trace: [u8; 16],
    /// The identity of the first, where others know it already.
    pub(super) span: Option<[u8; 8]>,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) top: Phase,
    /// A moment by both clocks: phases are measured by tokio's, and told by the calendar.
    pub(super) at: (Timestamp, Instant),
}

impl Tree {
    /// A moment in nanoseconds since 1970. All of a tree are seen from the same one, so that a clock that is set in between does
    /// not tear it apart.
    pub(super) fn nanos(&self, moment: Instant) -> u64 {
        let (calendar, now) = self.at;
        let ago = SignedDuration::try_from(now.saturating_duration_since(moment)).unwrap_or_default();
        let ahead = SignedDuration::try_from(moment.saturating_duration_since(now)).unwrap_or_default();
        let at = calendar.checked_sub(ago).and_then(|at| at.checked_add(ahead)).unwrap_or(calendar);
        u64::try_from(at.as_nanosecond()).unwrap_or(0)
    }
}

/// A piece of work whose spans are kept. It has ended, and is told, when it is let go of: whoever drops a piece of work half done
/// need not think of it.
pub struct Trace {
    spans: Spans,
    origin: Origin,
    top: Phase,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", self.top.name)
    }
}

impl Trace {
    pub(super) fn new(spans: Spans, origin: Origin, top: Phase) -> Self {
        Self { spans, origin, top }
    }

    /// What a phase that ends later, after this is let go of, belongs to.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sets an attribute of the whole.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.top.attributes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.top.attributes.push((key, value)),
        }
    }

    /// The whole failed.
    pub fn fail(&mut self, error: &str) {
        self.top.error = Some(cut(error).into());
    }

    /// Adds a phase.
    pub fn add(&mut self, phase: Phase) {
        self.top.phases.push(phase);
    }

    /// Adds a phase that all those so far, but for the `first` ones, are parts of.
    pub fn add_around(&mut self, first: usize, mut phase: Phase) {
        let all = &mut self.top.phases;
        phase.phases = all.split_off(first.min(all.len()));
        self.add(phase);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let Some(on) = &self.spans.on else { return };
        let now = Instant::now();
        let top = std::mem::replace(&mut self.top, Phase::begun("", now)).until(now);
        let Origin { trace, span } = self.origin;
        on.take(Tree { trace, span: Some(span), parent: None, top, at: (on.clock.now(), now) });
    }
}
