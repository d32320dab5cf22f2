//! Spans read back from the wire, for tests that play the collector.

use std::collections::BTreeMap;

use super::wire::{Field, fields};

/// A span as a collector has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Who spoke: `service.name`.
    pub service: String,
    /// The identity of its trace.
    pub trace: Vec<u8>,
    /// Its own.
    pub id: Vec<u8>,
    /// That of the span which it is a part of; empty for the first of a trace.
    pub parent: Vec<u8>,
    /// Its name.
    pub name: String,
    /// When it began, in nanoseconds since 1970.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// Whether somebody else was asked.
    pub is_call: bool,
    /// What is said of it. Lists have commas between their texts.
    pub attributes: BTreeMap<String, String>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Reads all spans of a request, in order; `None` where it is not one.
pub fn read(request: &[u8]) -> Option<Vec<Told>> {
    let mut all = Vec::new();
    for of_resource in messages(request, 1)? {
        let resource = messages(of_resource, 1)?.first().map(|resource| attributes(resource, 1))??;
        for scope in messages(of_resource, 2)? {
            for span in messages(scope, 2)? {
                let service = resource.get("service.name").cloned().unwrap_or_default();
                all.push(Told { service, ..told(span)? });
            }
        }
    }
    Some(all)
}

fn told(span: &[u8]) -> Option<Told> {
    let mut told = Told { attributes: attributes(span, 9)?, ..Told::default() };
    for (number, field) in fields(span)? {
        match (number, field) {
            (1, Field::Bytes(id)) => told.trace = id.to_vec(),
            (2, Field::Bytes(id)) => told.id = id.to_vec(),
            (4, Field::Bytes(id)) => told.parent = id.to_vec(),
            (5, Field::Bytes(name)) => told.name = text(name),
            (6, Field::Number(kind)) => told.is_call = kind == 3,
            (7, Field::Number(nanos)) => told.from = nanos,
            (8, Field::Number(nanos)) => told.to = nanos,
            (15, Field::Bytes(status)) => told.error = messages(status, 2)?.first().map(|why| text(why)),
            _ => {}
        }
    }
    Some(told)
}

fn attributes(message: &[u8], field: u64) -> Option<BTreeMap<String, String>> {
    let pair = |pair: &&[u8]| {
        let key = text(messages(pair, 1)?.first()?);
        Some((key, value(messages(pair, 2)?.first()?)?))
    };
    messages(message, field)?.iter().map(pair).collect()
}

fn value(message: &[u8]) -> Option<String> {
    match *fields(message)?.first()? {
        (1, Field::Bytes(value)) => Some(text(value)),
        (3, Field::Number(value)) => Some(value.cast_signed().to_string()),
        (5, Field::Bytes(list)) => {
            let values: Option<Vec<String>> = messages(list, 1)?.iter().map(|one| value(one)).collect();
            values.map(|values| values.join(","))
        }
        _ => None,
    }
}

/// The messages, texts or bytes of one field.
fn messages(message: &[u8], field: u64) -> Option<Vec<&[u8]>> {
    let all = fields(message)?.into_iter().filter_map(|(number, value)| match value {
        Field::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    });
    Some(all.collect())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
