//! Many runs: one for each seed, on as many threads as there are cores, until the first that fails. That one is made
//! smaller as far as that is cheap, and told of with the one command that repeats it.

use std::io::Write;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bed::{Options, Report};
use crate::faults::Faults;
use crate::laboratory::lock;

/// Runs only this seed, and shows its trace.
pub const SEED: &str = "PLIMSOLL_SEED";
/// With these faults instead of the seed's own.
pub const FAULTS: &str = "PLIMSOLL_FAULTS";
/// How many seeds are run, where the test's number will not do.
pub const COUNT: &str = "PLIMSOLL_SEEDS";

/// The most runs that are spent on making a failure smaller.
const SHRINKING: usize = 60;
/// How much of a failing run's trace is shown.
const TAIL: usize = 60;

/// Many seeds of one scenario.
pub struct Seeds {
    target: &'static str,
    name: &'static str,
    count: u64,
}

/// What many runs were.
#[derive(Debug, Default, Clone, Copy)]
pub struct Summary {
    /// How many.
    pub runs: u64,
    /// How many faults happened in them.
    pub faults: u64,
    /// How many writes their components sent.
    pub writes: u64,
}

impl Seeds {
    /// `count` seeds for the test `name` of the file `target`: both stand in the command that repeats a failure.
    pub fn new(target: &'static str, name: &'static str, count: u64) -> Self {
        Self { target, name, count }
    }

    /// Runs them. Panics with the account of the first failure: it is for tests.
    #[allow(clippy::panic, reason = "the account of a failed run is the test's failure")]
    pub fn check(&self, scenario: impl Fn(Options) -> Report + Sync) -> Summary {
        match self.run(scenario) {
            Ok(summary) => summary,
            Err(account) => panic!("{account}"),
        }
    }

    /// Runs them; the account of the first failure.
    pub fn run(&self, scenario: impl Fn(Options) -> Report + Sync) -> Result<Summary, String> {
        let given = variable(FAULTS).map(|line| line.parse::<Faults>()).transpose()?;
        let faults = |seed| given.clone().unwrap_or_else(|| Faults::from_seed(seed));
        let once = |seed, faults: &Faults| scenario(Options::new(seed).faults(faults.clone()));
        if let Some(seed) = variable(SEED) {
            let seed = seed.parse().map_err(|_| format!("{SEED}={seed}: not a number"))?;
            let report = once(seed, &faults(seed));
            let _ = write!(std::io::stderr(), "{}", report.trace);
            let mut summary = Summary::default();
            summary.add(&report);
            return report.outcome.map(|()| summary).map_err(|why| format!("seed {seed} fails: {why}"));
        }
        let count = match variable(COUNT) {
            Some(count) => count.parse().map_err(|_| format!("{COUNT}={count}: not a number"))?,
            None => self.count,
        };
        let (failure, summary) = (Mutex::new(None::<Report>), Mutex::new(Summary::default()));
        side_by_side(count, |seed| {
            let report = once(seed, &faults(seed));
            lock(&summary).add(&report);
            if report.outcome.is_ok() {
                return true;
            }
            let mut first = lock(&failure);
            if first.as_ref().is_none_or(|known| seed < known.seed) {
                *first = Some(report);
            }
            false
        });
        let failure = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match failure {
            None => Ok(*lock(&summary)),
            Some(report) => Err(self.account(report, &faults, &once)),
        }
    }

    fn account(&self, report: Report, faults: &dyn Fn(u64) -> Faults, once: &dyn Fn(u64, &Faults) -> Report) -> String {
        let seed = report.seed;
        let (smallest, report) = shrink(faults(seed), report, &|faults| once(seed, faults));
        let why = report.outcome.err().unwrap_or_default();
        format!(
            "seed {seed} fails: {why}\n\n\
             repeat it with\n  {SEED}={seed} {FAULTS}='{smallest}' cargo test -p plimsoll-simulate --test {} {} -- --exact --nocapture\n\n\
             the last of {} lines of its trace (! is a fault):\n{}",
            self.target,
            self.name,
            report.trace.0.len(),
            report.trace.tail(TAIL),
        )
    }
}

/// Does `work` for every number below `count`, on as many threads as there are cores, until it says false.
pub fn side_by_side(count: u64, work: impl Fn(u64) -> bool + Sync) {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            if !work(number) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
}

/// The fewest faults with which it still fails, one thing taken away at a time.
fn shrink(faults: Faults, report: Report, once: &dyn Fn(&Faults) -> Report) -> (Faults, Report) {
    let (mut best, mut report) = (faults, report);
    let mut runs = 0;
    'again: loop {
        for less in best.smaller() {
            runs += 1;
            if runs > SHRINKING {
                break 'again;
            }
            let tried = once(&less);
            if tried.outcome.is_err() {
                (best, report) = (less, tried);
                continue 'again;
            }
        }
        break;
    }
    (best, report)
}

impl Summary {
    fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.faults += report.trace.faults() as u64;
        self.writes += report.writes.values().sum::<u64>();
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
