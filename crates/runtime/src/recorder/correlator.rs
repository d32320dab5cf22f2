//! What becomes of an event: written anew, counted on one that is there, combined with similar ones, or not written.
//!
//! ```text
//!              the tenth message in ten       said before, in      the object's
//!              minutes for one reason?        these words?         allowance used up?
//!   event ─┬─ no ──────────────────────────┬─ no ── new ─────────┬─ no ──► written
//!          └─ yes ── "(combined from …)" ──┴─ yes ─ count + 1 ───┴─ yes ─► dropped
//! ```
//!
//! The numbers, the order of the steps and the words are client-go's: they decide which events a cluster's users see.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{About, Said, Severity};
use crate::lru::Lru;

/// Entries of each memory.
const MEMORY: usize = 4096;
/// This many different messages of one reason are told one by one, less one; the others are combined.
const SIMILAR: usize = 10;
/// Similar events that are further apart have nothing to do with each other.
const SIMILAR_WITHIN: Duration = Duration::from_secs(600);
/// How many events an object may have at once, for each severity.
const ALLOWANCE: f64 = 25.0;
/// How long until it may have one more.
const REFILL: Duration = Duration::from_secs(300);

/// An object, whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    api_version: String,
    kind: &'static str,
    namespace: String,
    name: String,
    uid: String,
    severity: Severity,
}

impl Subject {
    fn of(about: &About, severity: Severity) -> Self {
        Self {
            api_version: about.resource.api_version(),
            kind: about.resource.kind,
            namespace: about.namespace.clone(),
            name: about.name.clone(),
            uid: about.uid.clone(),
            severity,
        }
    }
}

/// What makes two events the same one: subject, part of it, reason and message; `None` for the message of combined ones.
type Sameness = (Subject, String, String, Option<String>);

/// An event as it is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The name of the API's object.
    pub(super) name: String,
    /// How often it was said.
    pub(super) count: u32,
    /// When it was first said.
    pub(super) first: Timestamp,
    /// When it was last said.
    pub(super) last: Timestamp,
    /// In which words.
    pub(super) message: String,
    /// Whether it stands for several.
    pub(super) combined: bool,
}

struct Allowance {
    left: f64,
    at: Instant,
}

struct Similar {
    messages: BTreeSet<String>,
    last: Instant,
}

struct Known {
    name: String,
    count: u32,
    first: Timestamp,
}

/// The memory of what was said.
pub(super) struct Correlator {
    similar: Lru<(Subject, String), Similar>,
    known: Lru<Sameness, Known>,
    allowances: Lru<Subject, Allowance>,
}

impl Correlator {
    /// Nothing was said yet.
    pub(super) fn new() -> Self {
        Self { similar: Lru::new(MEMORY), known: Lru::new(MEMORY), allowances: Lru::new(MEMORY) }
    }

    /// What is to be written for it, if anything. `name` makes a name for a new event.
    pub(super) fn take(&mut self, said: &Said, name: impl Fn(Timestamp) -> String) -> Option<Entry> {
        let now = Instant::now();
        let subject = Subject::of(&said.about, said.severity);
        let combined = self.is_one_of_many(&subject, said, now);
        let message =
            if combined { format!("(combined from similar events): {}", said.message) } else { said.message.clone() };
        let same = (!combined).then(|| said.message.clone());
        let sameness = (subject.clone(), said.place.field.clone(), said.reason.clone(), same);
        let known = self.known.entry(&sameness, || Known { name: name(said.at), count: 0, first: said.at });
        known.count = known.count.saturating_add(1);
        let entry = Entry {
            name: known.name.clone(),
            count: known.count,
            first: known.first,
            last: said.at,
            message,
            combined,
        };
        // Counted although it is not written, so that the next one that is tells how often it happened.
        self.allow(&subject, now).then_some(entry)
    }

    fn is_one_of_many(&mut self, subject: &Subject, said: &Said, now: Instant) -> bool {
        let new = || Similar { messages: BTreeSet::new(), last: now };
        let similar = self.similar.entry(&(subject.clone(), said.reason.clone()), new);
        if now - similar.last > SIMILAR_WITHIN {
            similar.messages.clear();
        }
        similar.last = now;
        similar.messages.insert(said.message.clone());
        if similar.messages.len() < SIMILAR {
            return false;
        }
        // client-go forgets any one of them; the newest, so that the first ones keep counting on their own events.
        similar.messages.remove(&said.message);
        true
    }

    fn allow(&mut self, subject: &Subject, now: Instant) -> bool {
        let allowance = self.allowances.entry(subject, || Allowance { left: ALLOWANCE, at: now });
        let refilled = (now - allowance.at).as_secs_f64() / REFILL.as_secs_f64();
        allowance.left = (allowance.left + refilled).min(ALLOWANCE);
        allowance.at = now;
        if allowance.left < 1.0 {
            return false;
        }
        allowance.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Resource;

    fn said(message: &str) -> Said {
        let about = About {
            resource: Resource::CLAIMS,
            namespace: "n".to_owned(),
            name: "c".to_owned(),
            uid: "u".to_owned(),
            version: "1".to_owned(),
        };
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        let place = Default::default();
        Said { about, place, severity: Severity::Warning, reason: "R".to_owned(), message: message.to_owned(), at }
    }

    fn take(correlator: &mut Correlator, message: &str) -> Option<(u32, String)> {
        let entry = correlator.take(&said(message), |_| "name".to_owned())?;
        Some((entry.count, entry.message))
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_words_are_counted_and_an_object_has_an_allowance() {
        let mut correlator = Correlator::new();
        for count in 1..=25 {
            assert_eq!(take(&mut correlator, "m"), Some((count, "m".to_owned())));
        }
        assert_eq!(take(&mut correlator, "m"), None);
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(take(&mut correlator, "m"), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(take(&mut correlator, "m"), Some((28, "m".to_owned())));
        // Other objects, and news that is no warning, have their own.
        let mut other = said("m");
        other.about.uid = "v".to_owned();
        assert!(correlator.take(&other, |_| String::new()).is_some());
        other = said("m");
        other.severity = Severity::Normal;
        assert!(correlator.take(&other, |_| String::new()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn many_messages_of_one_reason_are_combined() {
        let mut correlator = Correlator::new();
        for i in 1..=9 {
            assert_eq!(take(&mut correlator, &format!("m{i}")), Some((1, format!("m{i}"))));
        }
        assert_eq!(take(&mut correlator, "x"), Some((1, "(combined from similar events): x".to_owned())));
        assert_eq!(take(&mut correlator, "y"), Some((2, "(combined from similar events): y".to_owned())));
        assert_eq!(take(&mut correlator, "m3"), Some((2, "m3".to_owned())));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert_eq!(take(&mut correlator, "z"), Some((1, "z".to_owned())));
    }
}
