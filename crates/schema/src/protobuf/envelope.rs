//! What stands around a message: four bytes that say "Kubernetes", and a message that says which kind is inside.

use super::DecodeError;
use super::wire::{Reader, put_bytes, put_message};

/// The first bytes of every protobuf body.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// A body, opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The group and version; may be empty, then the path says.
    pub api_version: String,
    /// The kind; may be empty.
    pub kind: String,
    /// The object's message.
    pub raw: &'a [u8],
    /// The type of what is inside, if it is not protobuf.
    pub content_type: String,
}

/// Opens a body. The sentences are upstream's.
pub fn decode(bytes: &[u8]) -> Result<Envelope<'_>, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError("empty data".into()));
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(DecodeError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".into(),
        ));
    };
    if rest.is_empty() {
        return Err(DecodeError("empty body".into()));
    }
    let mut out = Envelope::default();
    let mut reader = Reader::new(rest);
    while let Some((number, wire)) = reader.next()? {
        match number {
            1 => {
                let mut meta = Reader::new(wire.bytes("TypeMeta")?);
                while let Some((number, wire)) = meta.next()? {
                    match number {
                        1 => out.api_version = wire.text("APIVersion")?,
                        2 => out.kind = wire.text("Kind")?,
                        _ => {}
                    }
                }
            }
            2 => out.raw = wire.bytes("Raw")?,
            4 => out.content_type = wire.text("ContentType")?,
            _ => {}
        }
    }
    Ok(out)
}

/// A body around a message.
pub fn encode(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + api_version.len() + kind.len() + 32);
    out.extend_from_slice(MAGIC);
    put_message(&mut out, 1, |out| {
        put_bytes(out, 1, api_version.as_bytes());
        put_bytes(out, 2, kind.as_bytes());
    });
    put_bytes(&mut out, 2, raw);
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    out
}

/// An event of a watch as it goes over the wire: its length in four bytes, then the event, with the object in its envelope inside.
pub fn encode_watch_event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    put_bytes(&mut out, 1, kind.as_bytes());
    put_message(&mut out, 2, |out| put_bytes(out, 1, object));
    let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
    if let Some(frame) = out.first_chunk_mut::<4>() {
        *frame = length.to_be_bytes();
    }
    out
}
