//! Patches: the three ways in which a request may say what to change (server-side apply is the fourth, and its own module).
//!
//! Each takes the object as it stands in canonical form and gives it back changed. Whether the result is an object of its kind is
//! for the decoding that follows: a patch may well leave a field of the wrong type. [`undecodable`] words that refusal.

mod convert;
mod go;
mod json;
mod lists;
mod merge;
mod meta;
mod order;
mod strategic;
#[cfg(test)]
mod tests;
mod text;

use serde_json::Value;

pub use convert::{convert, unconvertible};
pub use go::shown;
pub use json::{json, json_strict};
pub use merge::{merge, merge_request};
pub use strategic::{strategic, strategic_leaving};
pub use text::patched_text;

use crate::field::FieldError;
use crate::status::{Details, Status};

/// 422 for a patch that was applied and left something that is no object of its kind. `what` is, for a strategic merge patch, what is
/// left of the patch ([`strategic_leaving`], [`shown`]), otherwise the patched object ([`patched_text`]); `why` is for the former what
/// [`unconvertible`] says, else the decoder's sentence.
pub fn undecodable(what: &str, why: &str) -> Status {
    Status::invalid("", "", "", &[FieldError::invalid("patch", &Value::String(what.into()), why)])
}

/// 422 for a patch that makes sense but does not fit the object; upstream does not say where.
fn unprocessable() -> Status {
    let mut status = Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
    status.details = Some(Box::<Details>::default());
    status
}

/// What Go's JSON decoder calls a value.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
