//! Manifests: text in, objects out.
//!
//! YAML with any number of documents, JSON, one JSON object per line, `kind: List` and typed lists such as `PodList`,
//! and what kubectl dumps. A document that cannot be read is an error of its own and does not hide the others.

mod decode;
mod json;
mod raw;
mod yaml;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::document::Document;

pub(crate) use decode::Entry;
pub use raw::{Whole, whole};

/// Text with the name that messages call it by: a file's path, or `-`.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// How much input is taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest source, in bytes. A dump of half a million volumes is about a gigabyte.
    pub max_bytes: usize,
    /// How deep lists and maps may nest in YAML. Kubernetes' own objects stay below 30; JSON has serde_json's 128.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: u32::MAX as usize, max_depth: 100 }
    }
}

/// Where an object was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source's name.
    pub source: Arc<str>,
    /// The document in it, from 1.
    pub document: usize,
    /// The item of a list, from 1.
    pub item: Option<usize>,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: document {}", self.source, self.document)?;
        if let Some(item) = self.item {
            write!(f, ", item {item}")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        Ok(())
    }
}

/// Input that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {}{}{problem}", lead(object), lead(field))]
pub struct ManifestError {
    /// Where.
    pub place: Place,
    /// The object, such as `PersistentVolumeClaim default/data`; empty where it is not known.
    pub object: String,
    /// The field, such as `spec.resources.requests.storage`; empty where it is not known.
    pub field: String,
    /// What is wrong.
    pub problem: String,
}

fn lead(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!("{part}: ") }
}

/// Something worth saying about input that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Objects of a kind that no decision depends on.
    SkippedKind {
        /// The source's name.
        source: Arc<str>,
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// How many.
        count: usize,
    },
    /// An object that came twice; the later one counts.
    Replaced {
        /// The object.
        object: String,
        /// Where the one that counts was read.
        place: Place,
    },
    /// Pods name a PriorityClass that the input does not have.
    UnknownPriorityClass {
        /// The class.
        class: String,
        /// How many pods.
        pods: usize,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::SkippedKind { source, api_version, kind, count } => {
                write!(f, "{source}: {count} {kind} ({api_version}) skipped: no decision depends on this kind")
            }
            Note::Replaced { object, place } => write!(f, "{place}: {object} replaces one that was read before"),
            Note::UnknownPriorityClass { class, pods } => {
                write!(f, "PriorityClass {class} of {pods} pods is not in the input: their priority is taken as 0")
            }
        }
    }
}

/// One object that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Where.
    pub place: Place,
    /// The object.
    pub document: Document,
}

/// What reading hands on, object by object, so that nobody has to hold them all in this form.
pub trait Sink {
    /// An object.
    fn object(&mut self, read: Read);
    /// An object of a kind that is not read.
    fn skipped(&mut self, source: &Arc<str>, api_version: &str, kind: &str);
    /// Something that cannot be read.
    fn error(&mut self, error: ManifestError);
}

/// Reads a source to its end.
pub fn read(source: Source<'_>, limits: Limits, sink: &mut dyn Sink) {
    let name: Arc<str> = Arc::from(source.name);
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    if text.len() > limits.max_bytes {
        let problem = format!("{} bytes are more than the limit of {}", text.len(), limits.max_bytes);
        let place = Place { source: name, document: 1, item: None, line: None };
        sink.error(ManifestError { place, object: String::new(), field: String::new(), problem });
    } else if json::looks_like(text) {
        json::read(text, &name, sink);
    } else {
        yaml::read(text, &name, limits, sink);
    }
}

/// Hands one entry to the sink.
fn pass_on(entry: Entry, place: Place, sink: &mut dyn Sink) {
    match entry {
        Entry::Object(document) => sink.object(Read { place, document: *document }),
        Entry::Unknown { api_version, kind } => sink.skipped(&place.source, &api_version, &kind),
        Entry::Broken(broken) => sink.error(ManifestError {
            place: Place { line: broken.line.or(place.line), ..place },
            object: broken.object,
            field: broken.field,
            problem: broken.problem,
        }),
        // Only lists can say what an item without a kind is, and they have done so before this.
        Entry::Headless(_) => sink.error(ManifestError {
            place,
            object: String::new(),
            field: "kind".to_owned(),
            problem: "is missing: not a Kubernetes object".to_owned(),
        }),
    }
}
