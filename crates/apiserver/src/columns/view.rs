//! Reading objects in canonical form without a type per kind.

use serde_json::Value;

/// A place in an object that may not be there. A null reads as absent: Go's nil times are written as null.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a>(Option<&'a Value>);

impl<'a> View<'a> {
    /// The whole object.
    pub(super) fn new(value: &'a Value) -> Self {
        Self(Some(value).filter(|v| !v.is_null()))
    }

    /// The field at a path of names joined by dots. Keys that may hold dots are read with [`View::key`].
    pub(super) fn at(self, path: &str) -> Self {
        path.split('.').fold(self, View::key)
    }

    /// The field of exactly this name.
    pub(super) fn key(self, name: &str) -> Self {
        Self(self.0.and_then(|v| v.get(name)).filter(|v| !v.is_null()))
    }

    /// Whether something stands here: what a pointer that is not nil says in Go.
    pub(super) fn exists(self) -> bool {
        self.0.is_some()
    }

    /// Itself, if something stands here.
    pub(super) fn some(self) -> Option<Self> {
        self.0.map(|v| Self(Some(v)))
    }

    /// The text, or nothing.
    pub(super) fn text(self) -> &'a str {
        self.0.and_then(Value::as_str).unwrap_or_default()
    }

    /// The text, or this one where it is empty or absent.
    pub(super) fn text_or(self, otherwise: &'a str) -> &'a str {
        Some(self.text()).filter(|t| !t.is_empty()).unwrap_or(otherwise)
    }

    /// The text, or this one only where it is absent: a pointer to an empty text prints as empty.
    pub(super) fn text_unless_absent(self, otherwise: &'a str) -> &'a str {
        if self.exists() { self.text() } else { otherwise }
    }

    /// The whole number, or 0.
    pub(super) fn number(self) -> i64 {
        self.0.and_then(Value::as_i64).unwrap_or_default()
    }

    /// The truth, or false.
    pub(super) fn flag(self) -> bool {
        self.0.and_then(Value::as_bool).unwrap_or_default()
    }

    /// The truth, if one is given.
    pub(super) fn flag_if_given(self) -> Option<bool> {
        self.0.and_then(Value::as_bool)
    }

    /// A number or a percentage, as text.
    pub(super) fn int_or_string(self) -> String {
        match self.0 {
            Some(Value::String(text)) => text.clone(),
            _ => self.number().to_string(),
        }
    }

    /// An amount that is a plain field in Go: its zero prints as 0.
    pub(super) fn quantity(self) -> String {
        match self.0 {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => "0".to_owned(),
        }
    }

    /// An amount behind a pointer in Go, whose nil prints as such.
    pub(super) fn quantity_pointer(self) -> String {
        if self.exists() { self.quantity() } else { "<nil>".to_owned() }
    }

    /// The elements of a list.
    pub(super) fn items(self) -> impl DoubleEndedIterator<Item = View<'a>> + ExactSizeIterator {
        let list: &[Value] = self.0.and_then(Value::as_array).map_or(&[], Vec::as_slice);
        list.iter().map(View::new)
    }

    /// The pairs of a map, by key.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        self.0.and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (k.as_str(), View::new(v)))
    }

    /// How many elements or pairs there are.
    pub(super) fn len(self) -> i64 {
        let length = match self.0 {
            Some(Value::Array(list)) => list.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        };
        i64::try_from(length).unwrap_or(i64::MAX)
    }

    /// The first element of a list whose field is this text.
    pub(super) fn find(self, field: &str, text: &str) -> Self {
        self.items().find(|item| item.key(field).text() == text).unwrap_or(Self(None))
    }

    /// The first element of a list.
    pub(super) fn first(self) -> Self {
        self.items().next().unwrap_or(Self(None))
    }

    /// The texts of a list, joined.
    pub(super) fn join(self, separator: &str) -> String {
        self.items().map(View::text).collect::<Vec<_>>().join(separator)
    }
}
