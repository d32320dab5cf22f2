//! The only place that writes: data to stdout, notes and errors to stderr.
//!
//! Text comes with its colours; the streams take them away where they are not wanted (no terminal, `NO_COLOR`).

use std::io::{IsTerminal, Write};

use anstream::AutoStream;
use serde::Serialize;

use crate::args::Output;
use crate::failure::Failure;
use crate::text::style;

/// How wide lines are where no terminal says so.
const DEFAULT_WIDTH: usize = 100;

/// The narrowest width that is honoured: below this a table is not readable anyway.
const MIN_WIDTH: usize = 40;

/// Writes what commands have to say.
pub struct Printer {
    out: AutoStream<std::io::Stdout>,
    err: AutoStream<std::io::Stderr>,
    output: Output,
    /// How long the line of progress is that stands on the terminal.
    progress: usize,
}

impl Printer {
    /// A printer to this process's streams.
    pub fn new(output: Output) -> Self {
        Self { out: anstream::stdout(), err: anstream::stderr(), output, progress: 0 }
    }

    /// Whether the result is for a person.
    pub fn is_table(&self) -> bool {
        self.output == Output::Table
    }

    /// How wide a line of stdout may be.
    fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).max(MIN_WIDTH))
    }

    /// Writes data in the form the user asked for. The table is made only where it is wanted.
    pub fn data<T: Serialize>(&mut self, data: &T, table: impl FnOnce(&T, usize) -> String) -> Result<(), Failure> {
        let text = match self.output {
            Output::Table => table(data, self.width()),
            Output::Json => {
                let json = serde_json::to_string_pretty(data);
                json.map_err(|e| Failure::new(format!("the result cannot be written as JSON: {e}")))? + "\n"
            }
            Output::Yaml => serde_saphyr::to_string(data)
                .map_err(|e| Failure::new(format!("the result cannot be written as YAML: {e}")))?,
        };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        Ok(())
    }

    /// Writes one line of data, for scripts that wait for it.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}")?;
        self.out.flush()?;
        Ok(())
    }

    /// Shows what is being done, in a line that the next one replaces. Only where somebody looks on.
    pub fn progress(&mut self, doing: &str) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        self.end_progress();
        let _ = write!(self.err, "{doing} …");
        let _ = self.err.flush();
        self.progress = doing.chars().count() + 2;
    }

    /// Takes the line of progress away.
    pub fn end_progress(&mut self) {
        let length = std::mem::take(&mut self.progress);
        if length > 0 {
            let _ = write!(self.err, "\r{:length$}\r", "");
        }
    }

    /// Says something to whoever looks on: data goes to stdout, which scripts read.
    pub fn say(&mut self, line: &str) {
        self.end_progress();
        let _ = writeln!(self.err, "{line}");
    }

    /// Says something by the way. Nothing depends on its being read, so a closed stderr is no error.
    pub fn note(&mut self, note: &str) {
        self.end_progress();
        let style = style::NOTE;
        let _ = writeln!(self.err, "{style}note{style:#}: {note}");
    }

    /// Says why the command failed.
    pub fn failure(&mut self, failure: &Failure) {
        /// More problems than this are counted rather than listed.
        const LISTED: usize = 20;
        self.end_progress();
        let (error, help) = (style::ERROR, style::HELP);
        for problem in failure.problems().iter().take(LISTED) {
            let _ = writeln!(self.err, "{error}error{error:#}: {}", shortened(problem));
        }
        if let Some(more) = failure.problems().len().checked_sub(LISTED).filter(|more| *more > 0) {
            let _ = writeln!(self.err, "{error}error{error:#}: {more} more errors of this kind");
        }
        if let Some(advice) = failure.advice() {
            let _ = writeln!(self.err, "{help}help{help:#}: {advice}");
        }
    }
}

/// A problem may quote input of any size; its beginning tells enough.
fn shortened(problem: &str) -> std::borrow::Cow<'_, str> {
    /// Longer than any message that is not a quotation.
    const LONGEST: usize = 1_000;
    match problem.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &problem[..end]).into(),
        None => problem.into(),
    }
}
