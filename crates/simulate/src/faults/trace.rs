//! What happened in a run, line by line: every request, every fault, every life and death of a component.

use std::fmt;
use std::time::Duration;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, from the beginning of the run.
    pub at: Duration,
    /// Whose request it was.
    pub component: String,
    /// The request, or empty where it is about the component.
    pub request: String,
    /// What became of it.
    pub what: String,
    /// Whether it was made to go wrong.
    pub fault: bool,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.fault { '!' } else { ' ' };
        write!(f, "{mark}{:>10.3}s {:<12} ", self.at.as_secs_f64(), self.component)?;
        if !self.request.is_empty() {
            write!(f, "{} -> ", self.request)?;
        }
        f.write_str(&self.what)
    }
}

/// All lines of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Vec<Entry>);

impl Trace {
    /// The last lines.
    pub fn tail(&self, lines: usize) -> String {
        let skipped = self.0.len().saturating_sub(lines);
        self.0[skipped..].iter().map(|entry| format!("{entry}\n")).collect()
    }

    /// How many faults there were.
    pub fn faults(&self) -> usize {
        self.0.iter().filter(|entry| entry.fault).count()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
