//! JSON text to a `Value`, noting keys that stand twice: the last one wins, as in Go, and a strict request is refused for it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::scan;

/// Text that is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// Reads one JSON document. The second part names the fields that stand twice (`duplicate field "spec.x"`).
pub fn parse(text: &[u8]) -> Result<(Value, Vec<String>), ParseError> {
    match attempt(text) {
        Ok(read) => Ok(read),
        Err(error) => match scan::complaint(text) {
            Some(complaint) => Err(ParseError(complaint)),
            // Go takes it. Where it replaces something on the way, so is it replaced here.
            None => match scan::mended(text) {
                Some(mended) => attempt(&mended).map_err(|error| ParseError(error.to_string())),
                None => Err(ParseError(error.to_string())),
            },
        },
    }
}

fn attempt(text: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Node { path: &Place::Root, duplicates: &mut duplicates }.deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, duplicates))
}

enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Place::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, i) => write!(f, "{parent}[{i}]"),
        }
    }
}

struct Node<'a> {
    path: &'a Place<'a>,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let path = Place::Index(self.path, items.len());
            match seq.next_element_seed(Node { path: &path, duplicates: self.duplicates })? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = Place::Key(self.path, &key);
            let value = map.next_value_seed(Node { path: &path, duplicates: self.duplicates })?;
            if entries.contains_key(&key) && self.duplicates.len() < 100 {
                self.duplicates.push(format!("duplicate field \"{path}\""));
            }
            entries.insert(key, value);
        }
        if entries.len() > 1_000_000 {
            return Err(A::Error::custom("too many keys"));
        }
        Ok(Value::Object(entries))
    }
}
