//! The errors found so far, in the order in which they are told.

use serde_json::Value;

use crate::field::{FieldError, Wrong};
use crate::validation::meta;
use crate::validation::path::{Path, str_value};
use crate::validation::shown;

/// A growing list of errors.
#[derive(Debug, Default)]
pub struct Found {
    errors: Vec<FieldError>,
}

impl Found {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list.
    pub fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.errors.len()
    }

    /// Errors found elsewhere.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        self.errors.extend(errors);
    }

    /// One error.
    pub fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// `Required value`.
    pub fn required(&mut self, path: &Path, detail: impl Into<String>) {
        self.push(FieldError::required(path, detail));
    }

    /// `Invalid value`.
    pub fn invalid(&mut self, path: &Path, value: impl Into<Value>, detail: impl Into<String>) {
        self.push(FieldError::invalid(path, &value.into(), detail));
    }

    /// `Invalid value` with a value that is printed already.
    pub fn invalid_shown(&mut self, path: &Path, value: String, detail: impl Into<String>) {
        self.push(shown::invalid(path, value, detail));
    }

    /// `Invalid value` without the value.
    pub fn invalid_omitted(&mut self, path: &Path, detail: impl Into<String>) {
        self.push(FieldError {
            wrong: Wrong::Invalid,
            field: path.into(),
            value: detail.into(),
            detail: String::new(),
        });
    }

    /// One `Invalid value` for each complaint about the text.
    pub fn said(&mut self, path: &Path, text: &str, complaints: Vec<String>) {
        self.extend(complaints.into_iter().map(|said| FieldError::invalid(path, &str_value(text), said)));
    }

    /// `Forbidden`.
    pub fn forbidden(&mut self, path: &Path, detail: impl Into<String>) {
        self.push(FieldError::forbidden(path, detail));
    }

    /// `Duplicate value`.
    pub fn duplicate(&mut self, path: &Path, value: impl Into<Value>) {
        self.push(FieldError::duplicate(path, &value.into()));
    }

    /// `Not found`.
    pub fn not_found(&mut self, path: &Path, value: &str) {
        self.push(FieldError::not_found(path, &str_value(value)));
    }

    /// `Unsupported value`, with the supported words in the order given.
    pub fn unsupported(&mut self, path: &Path, value: impl Into<Value>, words: &[&str]) {
        self.push(shown::unsupported(path, &value.into(), words));
    }

    /// `Unsupported value` unless the text is one of the words.
    pub fn one_of(&mut self, path: &Path, text: &str, words: &[&str]) {
        if !words.contains(&text) {
            self.unsupported(path, text, words);
        }
    }

    /// `Too long`, in bytes.
    pub fn too_long(&mut self, path: &Path, max: usize) {
        self.push(meta::too_long(path, max));
    }

    /// `Too many`, with how many there are and may be.
    pub fn too_many(&mut self, path: &Path, count: usize, max: usize) {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("{count}: must have at most {max} {unit}");
        self.push(FieldError::new(Wrong::TooMany, path, &Value::Null, detail));
    }

    /// `must be greater than or equal to 0`, where the number is there and is not.
    pub fn non_negative(&mut self, path: &Path, value: Option<i64>) {
        self.extend(meta::non_negative(value, path));
    }
}
