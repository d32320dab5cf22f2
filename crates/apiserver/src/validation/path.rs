//! The path of a field, and reading fields of canonical objects.

use std::fmt;

use serde_json::{Map, Value};

/// A field's path as upstream prints it: `spec.containers[0].name`, `metadata.annotations[key]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// A path of one name, or of none.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field of the struct at this path.
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// Several fields down.
    pub fn children(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |path, name| path.child(name))
    }

    /// An entry of the list at this path.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of the map at this path.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0
    }
}

impl From<&Path> for String {
    fn from(path: &Path) -> Self {
        path.0.clone()
    }
}

/// Nothing.
pub static NOTHING: Value = Value::Null;

/// Text as a value.
pub fn str_value(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// A field, or null.
pub fn get<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&NOTHING)
}

/// A field several structs down, or null.
pub fn at<'a>(object: &'a Value, names: &[&str]) -> &'a Value {
    names.iter().fold(object, |object, name| get(object, name))
}

/// Whether the field is there (and not null).
pub fn has(object: &Value, name: &str) -> bool {
    !get(object, name).is_null()
}

/// A text field; empty where it is absent.
pub fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    get(object, name).as_str().unwrap_or_default()
}

/// A whole number, where it is there.
pub fn number(object: &Value, name: &str) -> Option<i64> {
    get(object, name).as_i64()
}

/// A switch; off where it is absent.
pub fn flag(object: &Value, name: &str) -> bool {
    get(object, name).as_bool().unwrap_or_default()
}

/// A list; empty where it is absent.
pub fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    get(object, name).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
pub fn texts<'a>(object: &'a Value, name: &str) -> Vec<&'a str> {
    list(object, name).iter().filter_map(Value::as_str).collect()
}

/// The entries of a map, by key; none where it is absent.
pub fn entries<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    get(object, name).as_object().into_iter().flat_map(Map::iter)
}

/// Whether two values are the same to Kubernetes: what is empty equals what is absent.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(k, v)| same(v, b.get(k).unwrap_or(&NOTHING)))
                && b.iter().all(|(k, v)| a.contains_key(k) || same(&NOTHING, v))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Null, Value::Array(other)) | (Value::Array(other), Value::Null) => other.is_empty(),
        (a, b) => a == b,
    }
}
