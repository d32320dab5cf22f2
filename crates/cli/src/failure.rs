//! Errors as the user meets them: what is wrong, then what to do.

use std::io;

/// Why a command could not do its work. "Does not fit" is not one: that is an answer.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong, one sentence each. Never empty.
    problems: Vec<String>,
    /// What to do about it.
    help: Option<String>,
    broken_pipe: bool,
}

impl Failure {
    /// A single problem.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()], help: None, broken_pipe: false }
    }

    /// Several problems of one input.
    pub fn all(problems: Vec<String>) -> Self {
        Self { problems, help: None, broken_pipe: false }
    }

    /// The same with what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What is wrong.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// What to do.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Whether the reader of our output went away, as `head` does: nobody is left to be told.
    pub fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { broken_pipe, ..Self::new(format!("the output cannot be written: {error}")) }
    }
}
