//! The only place that writes: data to stdout, notes and errors to stderr.
//!
//! Text comes with its colours; the streams take them away where they are not wanted (no terminal, `NO_COLOR`).

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

use anstream::AutoStream;
use anstyle::Style;
use serde::Serialize;

use crate::args::Output;
use crate::failure::Failure;
use crate::text::{fold, style};

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
        width_of(std::io::stdout()).unwrap_or(DEFAULT_WIDTH)
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

    /// Writes sentences, broken between words where a terminal shows them.
    pub fn sentences(&mut self, text: &str) -> Result<(), Failure> {
        self.line(&for_terminal(text, width_of(std::io::stdout())))
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

    /// Says something to whoever looks on: data goes to stdout, which scripts read. The line may be a command to copy, and is not broken.
    pub fn say(&mut self, line: &str) {
        self.end_progress();
        let _ = writeln!(self.err, "{line}");
    }

    /// Says that a process ended as it was asked to: where somebody looks on, below the `^C` that the terminal shows.
    pub fn ended(&mut self, sentence: &str) {
        if std::io::stderr().is_terminal() {
            let _ = writeln!(self.err, "\n{sentence}");
        }
    }

    /// Writes a sentence behind its word in colour.
    fn told(&mut self, style: Style, word: &str, sentence: &str) {
        let text = format!("{word}: {sentence}");
        let text = for_terminal(&text, width_of(std::io::stderr()));
        let _ = writeln!(self.err, "{style}{word}{style:#}{}", text.strip_prefix(word).unwrap_or(&text));
    }

    /// Says something by the way. Nothing depends on its being read, so a closed stderr is no error.
    pub fn note(&mut self, note: &str) {
        self.end_progress();
        self.told(style::NOTE, "note", note);
    }

    /// Says why the command failed.
    pub fn failure(&mut self, failure: &Failure) {
        /// More problems than this are counted rather than listed.
        const LISTED: usize = 20;
        self.end_progress();
        for problem in failure.problems().iter().take(LISTED) {
            self.told(style::ERROR, "error", &shortened(problem));
        }
        if let Some(more) = failure.problems().len().checked_sub(LISTED).filter(|more| *more > 0) {
            self.told(style::ERROR, "error", &format!("{more} more errors of this kind"));
        }
        if let Some(advice) = failure.advice() {
            self.told(style::HELP, "help", advice);
        }
    }
}

/// How wide the terminal is that a stream goes to, if it goes to one.
fn width_of(stream: impl AsFd) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width.0).max(MIN_WIDTH))
}

/// Text as a terminal of some width shows it best; what goes to a file or another program stays as it is.
fn for_terminal(text: &str, width: Option<usize>) -> Cow<'_, str> {
    width.map_or(text.into(), |width| fold(text, width).into())
}

/// A problem may quote input of any size; its beginning tells enough.
fn shortened(problem: &str) -> Cow<'_, str> {
    /// Longer than any message that is not a quotation.
    const LONGEST: usize = 1_000;
    match problem.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &problem[..end]).into(),
        None => problem.into(),
    }
}
