//! Spans as OTLP has them on the wire: the few messages of its protobuf that are needed, written field by field. The numbers are those of
//! opentelemetry-proto 1.10, where they are stable.
//!
//! ```text
//!   ExportTraceServiceRequest { 1 ResourceSpans { 1 Resource { 1 KeyValue… }, 2 ScopeSpans { 1 Scope, 2 Span… } } }
//!   Span { 1 trace, 2 id, 4 parent, 5 name, 6 kind, 7 from, 8 to, 9 KeyValue…, 15 Status { 2 message, 3 code } }
//!   KeyValue { 1 key, 2 AnyValue { 1 text | 3 number | 5 ArrayValue { 1 AnyValue… } } }
//! ```

use super::trace::{Phase, Tree, Value};

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const KINDS: (u64, u64) = (1, 3);
/// `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// Writes a request with the spans that [`tree`] wrote, of the one that [`resource`] wrote.
pub(super) fn request(resource: &[u8], spans: &[u8]) -> Vec<u8> {
    let mut scope = Vec::new();
    text(&mut scope, 1, "plimsoll");
    text(&mut scope, 2, env!("CARGO_PKG_VERSION"));
    let mut in_scope = Vec::new();
    bytes(&mut in_scope, 1, &scope);
    in_scope.extend_from_slice(spans);
    let mut of_resource = Vec::new();
    bytes(&mut of_resource, 1, resource);
    bytes(&mut of_resource, 2, &in_scope);
    let mut out = Vec::new();
    bytes(&mut out, 1, &of_resource);
    out
}

/// Writes who speaks.
pub(super) fn resource(attributes: &[(&'static str, Value)]) -> Vec<u8> {
    let mut out = Vec::new();
    attributes.iter().for_each(|(key, value)| attribute(&mut out, 1, key, value));
    out
}

/// Writes a tree of spans as fields of a scope, and says how many they are. `identity` makes up one for each.
pub(super) fn tree(out: &mut Vec<u8>, tree: &Tree, identity: &mut impl FnMut() -> [u8; 8]) -> usize {
    let own = tree.span.unwrap_or_else(&mut *identity);
    let mut count = 1;
    span(out, tree, &tree.top, own, tree.parent);
    let mut left: Vec<(&Phase, [u8; 8])> = tree.top.phases.iter().map(|phase| (phase, own)).collect();
    while let Some((phase, parent)) = left.pop() {
        let own = identity();
        count += 1;
        span(out, tree, phase, own, Some(parent));
        left.extend(phase.phases.iter().map(|phase| (phase, own)));
    }
    count
}

fn span(out: &mut Vec<u8>, tree: &Tree, phase: &Phase, own: [u8; 8], parent: Option<[u8; 8]>) {
    let mut span = Vec::new();
    bytes(&mut span, 1, &tree.trace);
    bytes(&mut span, 2, &own);
    if let Some(parent) = parent {
        bytes(&mut span, 4, &parent);
    }
    text(&mut span, 5, phase.name);
    number(&mut span, 6, if phase.is_call { KINDS.1 } else { KINDS.0 });
    fixed(&mut span, 7, tree.nanos(phase.began));
    fixed(&mut span, 8, tree.nanos(phase.ended));
    phase.attributes.iter().for_each(|(key, value)| attribute(&mut span, 9, key, value));
    if let Some(error) = &phase.error {
        let mut status = Vec::new();
        text(&mut status, 2, error);
        number(&mut status, 3, ERROR);
        bytes(&mut span, 15, &status);
    }
    bytes(out, 2, &span);
}

fn attribute(out: &mut Vec<u8>, field: u64, key: &str, value: &Value) {
    let mut pair = Vec::new();
    text(&mut pair, 1, key);
    bytes(&mut pair, 2, &any(value));
    bytes(out, field, &pair);
}

fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Text(value) => text(&mut out, 1, value),
        // Two's complement, as protobuf has it.
        Value::Number(value) => number(&mut out, 3, value.cast_unsigned()),
        Value::List(values) => {
            let mut list = Vec::new();
            for value in values {
                let mut one = Vec::new();
                text(&mut one, 1, value);
                bytes(&mut list, 1, &one);
            }
            bytes(&mut out, 5, &list);
        }
    }
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        // The lowest seven bits.
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn fixed(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn text(out: &mut Vec<u8>, field: u64, value: &str) {
    bytes(out, field, value.as_bytes());
}

/// A field of a message that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// A number, of whatever width.
    Number(u64),
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
}

/// Reads the fields of a message, in order; `None` where it is not one.
pub(super) fn fields(mut message: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut all = Vec::new();
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        let field = match key & 7 {
            0 => Field::Number(take_varint(&mut message)?),
            1 => Field::Number(u64::from_le_bytes(take(&mut message, 8)?.try_into().ok()?)),
            2 => {
                let length = take_varint(&mut message)?;
                Field::Bytes(take(&mut message, usize::try_from(length).ok()?)?)
            }
            5 => Field::Number(u32::from_le_bytes(take(&mut message, 4)?.try_into().ok()?).into()),
            _ => return None,
        };
        all.push((key >> 3, field));
    }
    Some(all)
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(head)
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(message, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// How many spans a collector did not take, and why, by its answer (`ExportTraceServiceResponse { 1 { 1 rejected, 2 why } }`).
pub(super) fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let part = fields(answer)?.into_iter().find_map(|(number, field)| match field {
        Field::Bytes(part) if number == 1 => fields(part),
        _ => None,
    })?;
    let mut rejected = (0, String::new());
    for (number, field) in part {
        match (number, field) {
            (1, Field::Number(spans)) => rejected.0 = spans,
            (2, Field::Bytes(why)) => rejected.1 = String::from_utf8_lossy(why).into_owned(),
            _ => {}
        }
    }
    (rejected.0 > 0).then_some(rejected)
}
