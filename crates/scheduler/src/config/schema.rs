//! Strictness: every field of a configuration is known, has its type, and has something said of it where it changes nothing.
//!
//! The types stand in [`super::fields`]. Reading goes through them before anything is decoded, so that a problem can be
//! named by its place, and all problems of a file are told at once.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_clock::duration;
use plimsoll_runtime::Treatment;
use serde_json::{Map, Value};

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Number,
    /// A length of time, such as `15s`.
    Span,
    /// Bytes in base64.
    Bytes,
    /// Whatever: its treatment says that it must not be there.
    Anything,
    /// A list of these.
    List(&'static Shape),
    /// An object of this type.
    Object(&'static Type),
    /// The arguments of the plugin that is named beside them.
    Arguments,
}

/// A type of objects.
#[derive(Debug)]
pub struct Type {
    /// Its name upstream.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// A field of a type.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What its value must be.
    pub shape: Shape,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// Something wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `profiles[0].plugins.filter`; empty for the whole.
    pub path: String,
    /// What.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.text) } else { write!(f, "{}: {}", self.path, self.text) }
    }
}

/// What is found while a configuration is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is wrong. Nothing is made of a configuration with problems.
    pub problems: Vec<Problem>,
    /// What is accepted and changes nothing.
    pub notes: Vec<Problem>,
}

impl Findings {
    /// Says that something is wrong.
    pub fn wrong(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.problems.push(Problem { path: path.into(), text: text.into() });
    }

    /// Says that something changes nothing.
    pub fn note(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.notes.push(Problem { path: path.into(), text: text.into() });
    }
}

/// Takes out what is `null`: that is the same as absent.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Checks a value and everything in it.
pub fn check(value: &Value, shape: Shape, path: &str, found: &mut Findings) {
    match shape {
        Shape::Object(of) => match value {
            Value::Object(map) => fields(map, of, path, found),
            value => wrong_type(value, "an object", path, found),
        },
        Shape::List(of) => match value {
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    check(value, *of, &format!("{path}[{index}]"), found);
                }
            }
            value => wrong_type(value, "a list", path, found),
        },
        Shape::Anything | Shape::Arguments => {}
        Shape::Text if value.is_string() => {}
        Shape::Text => wrong_type(value, "text", path, found),
        Shape::Bool if value.is_boolean() => {}
        Shape::Bool => wrong_type(value, "true or false", path, found),
        Shape::Int32 if value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {}
        Shape::Int32 => wrong_type(value, "a whole number of 32 bits", path, found),
        Shape::Int64 if value.is_i64() => {}
        Shape::Int64 => wrong_type(value, "a whole number of 64 bits", path, found),
        Shape::Number if value.is_number() => {}
        Shape::Number => wrong_type(value, "a number", path, found),
        Shape::Span => match value.as_str().map(duration::parse) {
            Some(Ok(_)) => {}
            Some(Err(problem)) => found.wrong(path, problem),
            None => wrong_type(value, "a duration such as 15s", path, found),
        },
        Shape::Bytes => match value.as_str().map(|text| STANDARD.decode(text)) {
            Some(Ok(_)) => {}
            // The value may be a private key: it is not repeated.
            _ => found.wrong(path, "is not base64"),
        },
    }
}

fn wrong_type(value: &Value, wanted: &str, path: &str, found: &mut Findings) {
    let given = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => format!("the text {value:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    found.wrong(path, format!("is {given}, where {wanted} is wanted"));
}

fn fields(map: &Map<String, Value>, of: &Type, path: &str, found: &mut Findings) {
    for (name, value) in map {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let Some(field) = of.fields.iter().find(|field| field.name == name) else {
            found.wrong(path, unknown(name, of));
            continue;
        };
        let before = found.problems.len();
        match field.shape {
            Shape::Arguments => super::arguments::check(map.get("name"), value, &path, found),
            shape => check(value, shape, &path, found),
        }
        if found.problems.len() > before {
            continue;
        }
        match field.treatment {
            Treatment::Taken => {}
            Treatment::Noted(why) => found.note(path, format!("changes nothing: {why}")),
            Treatment::Refused(_) if is_off(value) => {}
            Treatment::Refused(why) => found.wrong(path, format!("cannot be honoured: {why}")),
        }
    }
}

fn unknown(name: &str, of: &Type) -> String {
    let names: Vec<&str> = of.fields.iter().map(|field| field.name).collect();
    match names.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(meant) => format!("there is no such field; it is written {meant}"),
        None => format!("there is no such field; {} has {}", of.name, names.join(", ")),
    }
}

/// Whether a value asks for nothing.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.iter().all(is_off),
        // To disable plugins where none runs is no request.
        Value::Object(map) => map.iter().all(|(name, value)| name == "disabled" || is_off(value)),
    }
}
