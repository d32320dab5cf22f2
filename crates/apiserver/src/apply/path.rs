//! The steps of a field's path, and how they are written in `fieldsV1`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::values;

/// One step of a path. Text and values are borrowed from the object wherever they can be: a set is built on every write.
#[derive(Debug, Clone)]
pub enum PathElement<'a> {
    /// A field of a struct, or a key of a map.
    Field(Cow<'a, str>),
    /// The element of a list with these keys, sorted by name.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The element of a set with this value.
    Value(Cow<'a, Value>),
    /// The element of a list at this place.
    Index(i64),
}

/// A step that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadStep {
    /// A later version may know it; it is passed over.
    #[error("unknown path element type")]
    Unknown,
    /// It is broken.
    #[error("{0}")]
    Broken(String),
}

impl<'a> PathElement<'a> {
    /// The step to a named field.
    pub fn field(name: &'a str) -> Self {
        Self::Field(Cow::Borrowed(name))
    }

    /// Reads a key of `fieldsV1`.
    pub(crate) fn decode(text: &'a str) -> Result<Self, BadStep> {
        if text.len() < 2 {
            return Err(BadStep::Broken("key must be 2 characters long:".into()));
        }
        let Some((kind, rest)) = text.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
            return Err(BadStep::Broken(format!("missing colon: {text}")));
        };
        let json = |text: &str| serde_json::from_str(text).map_err(|e| BadStep::Broken(e.to_string()));
        match kind {
            "f:" => Ok(Self::field(rest)),
            "v:" => Ok(Self::Value(Cow::Owned(json(rest)?))),
            "k:" => match json(rest)? {
                Value::Object(map) => {
                    Ok(Self::Key(map.into_iter().map(|(k, v)| (Cow::Owned(k), Cow::Owned(v))).collect()))
                }
                _ => Err(BadStep::Broken(format!("no key: {rest}"))),
            },
            "i:" => rest.parse().map(Self::Index).map_err(|e: std::num::ParseIntError| BadStep::Broken(e.to_string())),
            _ => Err(BadStep::Unknown),
        }
    }

    /// The key of `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", values::go_json(value)),
            Self::Index(at) => format!("i:{at}"),
            Self::Key(keys) => {
                let mut out = String::from("k:{");
                for (i, (name, value)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(&values::go_json(&Value::String(name.to_string())));
                    out.push(':');
                    out.push_str(&values::go_json(value));
                }
                out.push('}');
                out
            }
        }
    }
}

impl fmt::Display for PathElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={}]", values::in_path(value)),
            Self::Index(at) => write!(f, "[{at}]"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (i, (name, value)) in keys.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", values::in_path(value))?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Ord for PathElement<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b);
                let mut orders = pairs.map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| values::order(va, vb)));
                orders.find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => values::order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PathElement<'_> {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement<'_> {}
