//! Why a selector cannot be compiled.

use std::fmt::Write as _;

use crate::labels::Name;

/// Why a selector cannot be compiled: one message, or several in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

impl SelectorError {
    /// One error from messages of which there is at least one; repeated ones are said once.
    pub(super) fn aggregate(messages: &[String]) -> Self {
        let mut unique: Vec<&str> = Vec::with_capacity(messages.len());
        for message in messages {
            if !unique.contains(&message.as_str()) {
                unique.push(message);
            }
        }
        Self(match unique[..] {
            [only] => only.to_owned(),
            _ => format!("[{}]", unique.join(", ")),
        })
    }
}

/// Where in the object a message points, written as the API writes paths: `nodeSelectorTerms[0].matchExpressions[1]`.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl Path<'_> {
    /// The object itself.
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub(super) fn child<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Child(name) }
    }

    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn key<'a>(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// A message about a text that is not accepted here.
    pub(super) fn invalid(&self, value: &str, detail: &str) -> String {
        format!("{}: Invalid value: {value:?}: {detail}", self.text())
    }

    /// A message about a list that is not accepted here.
    pub(super) fn invalid_list(&self, values: &[Name], detail: &str) -> String {
        // What is stored without values is read back as no list at all.
        let list = if values.is_empty() {
            "null".to_owned()
        } else {
            format!("[{}]", values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(","))
        };
        format!("{}: Invalid value: {list}: {detail}", self.text())
    }

    /// A message about a word that is none of the accepted ones.
    pub(super) fn unsupported(&self, value: &str, supported: &[&str]) -> String {
        let supported: Vec<String> = supported.iter().map(|v| format!("{v:?}")).collect();
        format!("{}: Unsupported value: {value:?}: supported values: {}", self.text(), supported.join(", "))
    }

    fn text(&self) -> String {
        let mut text = self.parent.map(Path::text).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Child(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
            Step::Key(key) => {
                let _ = write!(text, "[{key}]");
            }
        }
        text
    }
}
