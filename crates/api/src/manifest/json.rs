//! JSON: one object, an array, or a stream of them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::{self, Entry};
use super::{ManifestError, Place, Sink, pass_on};
use crate::document::without_place;

/// Whether the text is to be read as JSON. What only resembles it (flow style without quotes, templates that nobody
/// has filled in, JSON between `---` lines) is YAML.
pub(super) fn looks_like(text: &str) -> bool {
    let text = text.trim_start();
    let inner = |rest: &str| rest.trim_start().starts_with(['"', '}', '{', '[', ']']);
    let begins = text.strip_prefix('{').is_some_and(|r| inner(r) && !r.starts_with('{'))
        || text.strip_prefix('[').is_some_and(inner);
    begins && !text.contains("\n---")
}

/// A document, its items left as text so that each is decoded, and let go, on its own.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads every value of the text.
pub(super) fn read(text: &str, source: &Arc<str>, sink: &mut dyn Sink) {
    let stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    for (document, value) in (1..).zip(stream) {
        match value {
            Ok(raw) => one(raw, text, source, document, sink),
            Err(error) => {
                sink.error(ManifestError {
                    place: Place { source: source.clone(), document, item: None, line: Some(error.line()) },
                    object: String::new(),
                    field: String::new(),
                    problem: without_place(&error),
                });
                return;
            }
        }
    }
}

fn one(raw: &RawValue, text: &str, source: &Arc<str>, document: usize, sink: &mut dyn Sink) {
    let place = |item| Place { source: source.clone(), document, item, line: None };
    if raw.get().starts_with('[') {
        if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            all(&items, None, text, place, sink);
            return;
        }
    } else if let Ok(outline) = serde_json::from_str::<Outline<'_>>(raw.get()) {
        let kind = outline.kind.unwrap_or_default();
        if let Some(item_kind) = decode::list_item_kind(&kind)
            && (kind == "List" || outline.items.is_some())
        {
            let api_version = outline.api_version.unwrap_or_default();
            let fallback = (!item_kind.is_empty()).then_some((api_version.as_str(), item_kind));
            all(&outline.items.unwrap_or_default(), fallback, text, place, sink);
            return;
        }
    }
    if raw.get() != "null" {
        pass_on(located(decode::text(raw, None), raw, text), place(None), sink);
    }
}

fn all(
    items: &[&RawValue],
    fallback: Option<(&str, &str)>,
    text: &str,
    place: impl Fn(Option<usize>) -> Place,
    sink: &mut dyn Sink,
) {
    for (i, raw) in items.iter().enumerate() {
        pass_on(located(decode::text(raw, fallback), raw, text), place(Some(i + 1)), sink);
    }
}

/// Counts an error's line from the beginning of the source rather than of the value.
fn located(entry: Entry, raw: &RawValue, text: &str) -> Entry {
    let Entry::Broken(mut broken) = entry else { return entry };
    let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.as_bytes().iter().take(offset).filter(|b| **b == b'\n').count();
    broken.line = Some(before + broken.line.unwrap_or(1));
    Entry::Broken(broken)
}
