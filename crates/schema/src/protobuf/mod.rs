//! Protobuf, as Kubernetes speaks it: the table says which field has which number, so one codec serves every kind.
//!
//! Kubernetes' generated code has habits that the format does not ask for, and clients compare bytes: fields in the order of their
//! numbers, every field that is no pointer written even if it is zero, maps sorted by key, lists of numbers unpacked. The encoder keeps
//! them; the decoder takes any valid message.
//!
//! The decoder's objects are not in canonical form yet ([`mod@crate::decode`] makes it): they hold what was on the wire, less the zeros
//! that JSON leaves out.

mod decode;
mod encode;
mod envelope;
mod fields;
mod json_schema;
mod layout;
mod leaf;
#[cfg(test)]
mod tests;
mod wire;

pub use decode::decode_message;
pub use encode::{encode_message, encode_partial_metadata};
pub use envelope::{Envelope, MAGIC, decode, encode, encode_watch_event};
pub use fields::owned_fields_text;

/// Why bytes are no message of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub(crate) String);

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}
