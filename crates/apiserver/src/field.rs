//! Errors about one field of an object, as validation finds them.

use std::fmt;

use serde_json::Value;

use crate::status::Cause;

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It must be there.
    Required,
    /// It holds something it may not hold.
    Invalid,
    /// It is there twice.
    Duplicate,
    /// It is none of the allowed words.
    NotSupported,
    /// It may not be set like this.
    Forbidden,
    /// It names something that is not there.
    NotFound,
    /// It is too long.
    TooLong,
    /// It has too many entries.
    TooMany,
    /// It is of another type.
    TypeInvalid,
    /// We failed.
    Internal,
}

impl Wrong {
    /// The machine-readable word of a cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    /// Whether upstream's sentence shows the value.
    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::TooMany | Self::Internal)
    }
}

/// One thing wrong with one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub wrong: Wrong,
    /// The field's path, such as `spec.containers[0].name`.
    pub field: String,
    /// What it holds, as the sentence shows it (already printed as Go prints it: text quoted, structs as JSON).
    pub value: String,
    /// What it should be.
    pub detail: String,
}

impl FieldError {
    /// An error with a value that is shown as Go shows it: text quoted, numbers bare, everything else as JSON.
    pub fn new(wrong: Wrong, field: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self { wrong, field: field.into(), value: shown(value), detail: detail.into() }
    }

    /// `Required value`.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Wrong::Required, field, &Value::Null, detail)
    }

    /// `Invalid value`.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::new(Wrong::Invalid, field, value, detail)
    }

    /// `Forbidden`.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Wrong::Forbidden, field, &Value::Null, detail)
    }

    /// `Duplicate value`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(Wrong::Duplicate, field, value, "")
    }

    /// `Not found`.
    pub fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self::new(Wrong::NotFound, field, value, "")
    }

    /// `Unsupported value`, with the words that are supported, in upstream's order.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let words: Vec<String> = supported.iter().map(|w| format!("{w:?}")).collect();
        let detail = if words.is_empty() { String::new() } else { format!("supported values: {}", words.join(", ")) };
        Self::new(Wrong::NotSupported, field, value, detail)
    }

    /// The sentence without the field's path.
    pub fn body(&self) -> String {
        let mut out = self.wrong.sentence().to_owned();
        if self.wrong.shows_value() {
            out.push_str(": ");
            out.push_str(&self.value);
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }

    /// The entry in a Status.
    pub fn cause(&self) -> Cause {
        Cause { reason: self.wrong.reason().into(), message: self.body(), field: self.field.clone() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// A value as Go's field errors show it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go_quoted(text),
        Value::Null => "null".into(),
        other => other.to_string(),
    }
}

/// Text in Go's quotes (`%q`).
pub fn go_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The sentences of several errors: equal ones once, as upstream's aggregate has them.
pub fn aggregate(errors: &[FieldError]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}
