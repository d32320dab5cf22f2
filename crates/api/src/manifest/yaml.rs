//! YAML: documents between `---` lines.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::decode::{self, Entry};
use super::{Limits, ManifestError, Place, Sink, pass_on};

/// Reads every document of the text. They are split first, as kubectl does, so that a broken one does not hide those
/// after it.
pub(super) fn read(text: &str, source: &Arc<str>, limits: Limits, sink: &mut dyn Sink) {
    let mut document = 0;
    for (first_line, chunk) in split(text) {
        if chunk.lines().all(is_blank) {
            continue;
        }
        document += 1;
        let place = |item, line| Place { source: source.clone(), document, item, line };
        match serde_saphyr::from_str_with_options::<Top>(chunk, options(chunk.len(), limits)) {
            Ok(Top::Nothing) => {}
            Ok(Top::Map { rest, items }) => {
                top(rest, items, |item| place(item, (item.is_none()).then_some(first_line)), sink);
            }
            Err(error) => {
                let line = error.location().and_then(|l| usize::try_from(l.line()).ok());
                sink.error(ManifestError {
                    place: place(None, Some(line.map_or(first_line, |l| l + first_line - 1))),
                    object: String::new(),
                    field: String::new(),
                    problem: problem(&error),
                });
            }
        }
    }
}

/// The parser's message without the place, which is counted from the wrong line, in one line.
pub(super) fn problem(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let end = [" at line ", " (line "].iter().filter_map(|p| text.rfind(p)).min().unwrap_or(text.len());
    let line = text[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "not valid YAML".to_owned() } else { line }
}

/// A `---` line begins a document. Text of a block scalar is always indented below a map, so it cannot look like one.
fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
}

pub(super) fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
}

/// The documents with the line that each begins on.
pub(super) fn split(text: &str) -> Vec<(usize, &str)> {
    let mut chunks = Vec::new();
    let (mut begin, mut begin_line, mut at) = (0, 1, 0);
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if at > begin && is_separator(line.trim_end_matches(['\n', '\r'])) {
            chunks.push((begin_line, &text[begin..at]));
            (begin, begin_line) = (at, i + 1);
        }
        at += line.len();
    }
    chunks.push((begin_line, &text[begin..]));
    chunks
}

/// The parser's limits. What aliases may expand to is bounded apart from the size of the text, which is bounded already.
pub(super) fn options(len: usize, limits: Limits) -> serde_saphyr::Options {
    /// The most events that aliases may be replayed as: far beyond any manifest, far below what hurts.
    const MAX_REPLAYED: usize = 200_000;
    let of_text = len.saturating_mul(4).saturating_add(MAX_REPLAYED);
    serde_saphyr::options! {
        with_snippet: false,
        // Only `true` and `false`: a node may be called `n`, and a label's value may be `on`.
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_depth: limits.max_depth,
            max_events: of_text,
            max_nodes: of_text,
            max_total_scalar_bytes: of_text,
            max_merge_keys: of_text,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
        },
    }
}

/// A document; the items of a list are decoded one by one while parsing, so that the whole tree is never held.
enum Top {
    Nothing,
    Map { rest: Map<String, Value>, items: Option<Vec<Entry>> },
}

impl<'de> Deserialize<'de> for Top {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TopVisitor;
        impl<'de> Visitor<'de> for TopVisitor {
            type Value = Top;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Kubernetes object")
            }
            fn visit_unit<E>(self) -> Result<Top, E> {
                Ok(Top::Nothing)
            }
            fn visit_none<E>(self) -> Result<Top, E> {
                Ok(Top::Nothing)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top, A::Error> {
                let (mut rest, mut items) = (Map::new(), None);
                while let Some(key) = map.next_key::<String>()? {
                    if key == "items" {
                        items = map.next_value::<Option<Vec<Entry>>>()?;
                    } else {
                        rest.insert(key, map.next_value()?);
                    }
                }
                Ok(Top::Map { rest, items })
            }
        }
        from.deserialize_any(TopVisitor)
    }
}

fn top(
    rest: Map<String, Value>,
    items: Option<Vec<Entry>>,
    place: impl Fn(Option<usize>) -> Place,
    sink: &mut dyn Sink,
) {
    let text = |key: &str| rest.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    match decode::list_item_kind(&kind) {
        Some(item_kind) if kind == "List" || items.is_some() => {
            let fallback = (!item_kind.is_empty()).then_some((api_version.as_str(), item_kind));
            for (i, entry) in items.into_iter().flatten().enumerate() {
                let entry = match entry {
                    Entry::Headless(value) => decode::tree(value, fallback),
                    entry => entry,
                };
                pass_on(entry, place(Some(i + 1)), sink);
            }
        }
        _ => pass_on(decode::tree(Value::Object(rest), None), place(None), sink),
    }
}
