//! What goes wrong, how often, and until when: a plan that a seed decides, and that can be written on one line.
//!
//! Whether a fault happens depends only on the seed, the component, the number of its request and the kind of the fault:
//! taking one kind away does not move the others, so that a failing run can be made smaller.

pub mod layer;
pub mod trace;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use trace::{Entry, Trace};

/// A way in which things go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A write is refused with 409, and not done.
    Conflict,
    /// A request is refused with 429 and a time to wait, and not done.
    Busy,
    /// A request is refused with 500 or 503, and not done.
    ServerError,
    /// The request, or its answer, takes its time.
    Latency,
    /// The connection breaks before the request arrives.
    LostRequest,
    /// The request is done, and the connection breaks (or the answer is 504) before the client hears of it.
    LostAnswer,
    /// A watch leaves an event out and says nothing.
    WatchDrop,
    /// A watch sends an event again, at once or after newer ones.
    WatchRepeat,
    /// A watch holds back an event and all after it for a while.
    WatchDelay,
    /// A watch breaks in the middle of a line.
    WatchCut,
    /// A watch is refused with 410.
    WatchGone,
    /// A watch that runs ends with an ERROR event that says 410.
    WatchGoneEvent,
    /// A watch ends as soon as it began.
    WatchEnd,
    /// The component dies before its request is sent.
    CrashBefore,
    /// The component dies after its request was done, without having heard of it.
    CrashAfter,
    /// The component stands still for a while, before its request is sent or after it was done.
    Freeze,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Conflict,
        Self::Busy,
        Self::ServerError,
        Self::Latency,
        Self::LostRequest,
        Self::LostAnswer,
        Self::WatchDrop,
        Self::WatchRepeat,
        Self::WatchDelay,
        Self::WatchCut,
        Self::WatchGone,
        Self::WatchGoneEvent,
        Self::WatchEnd,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Freeze,
    ];

    /// The name on the line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::ServerError => "server-error",
            Self::Latency => "latency",
            Self::LostRequest => "lost-request",
            Self::LostAnswer => "lost-answer",
            Self::WatchDrop => "watch-drop",
            Self::WatchRepeat => "watch-repeat",
            Self::WatchDelay => "watch-delay",
            Self::WatchCut => "watch-cut",
            Self::WatchGone => "watch-gone",
            Self::WatchGoneEvent => "watch-gone-event",
            Self::WatchEnd => "watch-end",
            Self::CrashBefore => "crash-before",
            Self::CrashAfter => "crash-after",
            Self::Freeze => "freeze",
        }
    }
}

/// On which side of a request a component dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Before it is sent.
    Before,
    /// After it was done, and before the answer arrives.
    After,
}

/// Kills a component at one of its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// Whom.
    pub component: String,
    /// At which of its writes, counted from 0 over all its lives.
    pub write: u64,
    /// On which side of it.
    pub when: When,
}

/// What goes wrong in a run.
///
/// On a line: `conflict=0.1,freeze=0.01,until=60,kill=binder:3:after`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// How likely each kind is for each request (or event of a watch) that it can happen to.
    pub rates: BTreeMap<Kind, f64>,
    /// Deaths at given writes; they do not end with the rest.
    pub crashes: Vec<CrashPoint>,
    /// When the rates end, so that the end state can be judged.
    pub until: Duration,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// About half the kinds, each with a rate of its own: a run with everything in it rarely gets far, and one with all
    /// rates alike hides what needs two of the same.
    pub fn from_seed(seed: u64) -> Self {
        let mut faults = Self { until: Duration::from_secs(20 + mix(seed, &[1]) % 60), ..Self::default() };
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            let draw = mix(seed, &[2, i as u64]);
            if draw.is_multiple_of(2) {
                let rates = match kind {
                    Kind::CrashBefore | Kind::CrashAfter => [0.005, 0.03, 0.1],
                    Kind::Freeze => [0.002, 0.01, 0.03],
                    _ => [0.02, 0.1, 0.35],
                };
                faults.rates.insert(kind, rates[(draw / 2 % 3) as usize]);
            }
        }
        faults
    }

    /// With a kind at a rate.
    pub fn with(mut self, kind: Kind, rate: f64) -> Self {
        self.rates.insert(kind, rate);
        self
    }

    /// Until a time of the run.
    pub fn until(mut self, until: Duration) -> Self {
        self.until = until;
        self
    }

    /// With a death at a write.
    pub fn kill(mut self, component: &str, write: u64, when: When) -> Self {
        self.crashes.push(CrashPoint { component: component.to_owned(), write, when });
        self
    }

    /// Everything that can be taken away: each fault set with one thing less.
    pub fn smaller(&self) -> Vec<Self> {
        let mut out = Vec::new();
        for kind in self.rates.keys() {
            let mut less = self.clone();
            less.rates.remove(kind);
            out.push(less);
        }
        for i in 0..self.crashes.len() {
            let mut less = self.clone();
            less.crashes.remove(i);
            out.push(less);
        }
        out
    }

    /// A number for this event of this component, or `None` where the fault does not happen.
    pub(crate) fn roll(&self, seed: u64, now: Duration, kind: Kind, component: &str, event: &[u64]) -> Option<u64> {
        let rate = *self.rates.get(&kind)?;
        if now >= self.until {
            return None;
        }
        let mut parts = vec![kind as u64, text(component)];
        parts.extend_from_slice(event);
        let draw = mix(seed, &parts);
        // 53 bits are what a float holds.
        let share = (draw >> 11) as f64 / (1u64 << 53) as f64;
        (share < rate).then(|| mix(draw, &[3]))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, rate) in &self.rates {
            write!(f, "{}={rate},", kind.word())?;
        }
        for crash in &self.crashes {
            let when = if crash.when == When::Before { "before" } else { "after" };
            write!(f, "kill={}:{}:{when},", crash.component, crash.write)?;
        }
        write!(f, "until={}", self.until.as_secs_f64())
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for part in line.split(',').filter(|p| !p.is_empty()) {
            let bad = || format!("{part}: not a fault; such as conflict=0.1 or kill=binder:3:after");
            let (word, value) = part.split_once('=').ok_or_else(bad)?;
            match word {
                "until" => {
                    let seconds = value.parse().map_err(|_| bad())?;
                    faults.until = Duration::try_from_secs_f64(seconds).map_err(|_| bad())?;
                }
                "kill" => {
                    let mut fields = value.rsplitn(3, ':');
                    let when = match fields.next() {
                        Some("before") => When::Before,
                        Some("after") => When::After,
                        _ => return Err(bad()),
                    };
                    let write = fields.next().and_then(|n| n.parse().ok()).ok_or_else(bad)?;
                    let component = fields.next().ok_or_else(bad)?.to_owned();
                    faults.crashes.push(CrashPoint { component, write, when });
                }
                _ => {
                    let kind = Kind::ALL.into_iter().find(|k| k.word() == word).ok_or_else(bad)?;
                    faults.rates.insert(kind, value.parse().map_err(|_| bad())?);
                }
            }
        }
        Ok(faults)
    }
}

/// Numbers from a number and what they are for: the same from the same, and otherwise unrelated (splitmix64's finisher).
pub(crate) fn mix(seed: u64, parts: &[u64]) -> u64 {
    let mut out = seed;
    for part in std::iter::once(&0).chain(parts) {
        out = (out ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        out = (out ^ (out >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        out = (out ^ (out >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        out ^= out >> 31;
    }
    out
}

/// A number for a name (FNV-1a).
pub(crate) fn text(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_their_own_line() {
        for seed in 0..200 {
            let faults = Faults::from_seed(seed).kill("a:b", seed, When::After).kill("c", 0, When::Before);
            assert_eq!(faults.to_string().parse::<Faults>().unwrap(), faults);
        }
        assert!("conflict".parse::<Faults>().is_err());
        assert!("unheard=1".parse::<Faults>().is_err());
        assert!("kill=binder:x:after".parse::<Faults>().is_err());
        assert!("until=-1".parse::<Faults>().is_err());
    }

    #[test]
    fn rates_are_kept_and_end() {
        let faults = Faults::none().with(Kind::Busy, 0.25).until(Duration::from_secs(10));
        let at = |now, n| faults.roll(7, Duration::from_secs(now), Kind::Busy, "c", &[n]).is_some();
        let hits = (0..10_000).filter(|n| at(1, *n)).count();
        assert!((2300..2700).contains(&hits), "{hits}");
        assert!((0..10_000).all(|n| !at(10, n)));
        assert_eq!(faults.roll(7, Duration::ZERO, Kind::Freeze, "c", &[0]), None);
    }

    #[test]
    fn every_kind_is_drawn_by_some_seed() {
        for kind in Kind::ALL {
            assert!((0..50).any(|seed| Faults::from_seed(seed).rates.contains_key(&kind)), "{kind:?}");
        }
    }
}
