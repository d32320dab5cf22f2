//! Errors as the user meets them: what is wrong, then what to do.

use std::io;

/// Why a command could not do its work. "Does not fit" is not one: that is an answer.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong, one sentence each. Never empty.
    problems: Vec<String>,
    /// What to do about it.
    help: Option<String>,
    nature: Nature,
}

/// What the process's end depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// Bad input, an API that cannot be reached.
    Error,
    /// The command line makes no sense.
    Usage,
    /// The reader of our output went away, as `head` does: nobody is left to be told.
    BrokenPipe,
}

impl Failure {
    /// A single problem.
    pub fn new(problem: impl Into<String>) -> Self {
        Self::all(vec![problem.into()])
    }

    /// Several problems of one input.
    pub fn all(problems: Vec<String>) -> Self {
        Self { problems, help: None, nature: Nature::Error }
    }

    /// A command line that makes no sense.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self { nature: Nature::Usage, ..Self::new(problem) }
    }

    /// The same with what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with something else that could be done, where there is something to do.
    #[must_use]
    pub fn or_help(mut self, other: &str) -> Self {
        self.help = self.help.map(|help| format!("{help}; or {other}"));
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

    /// The exit code; `None` where the failure is none of the user's business.
    pub fn exit_code(&self) -> Option<u8> {
        match self.nature {
            Nature::Error => Some(1),
            Nature::Usage => Some(2),
            Nature::BrokenPipe => None,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        let nature = if gone { Nature::BrokenPipe } else { Nature::Error };
        Self { nature, ..Self::new(format!("the output cannot be written: {error}")) }
    }
}
