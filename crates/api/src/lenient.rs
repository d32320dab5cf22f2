//! Decoding as forgiving as the API server's: `null` is the same as absent, and fields that nobody reads are skipped.

use std::fmt;

use plimsoll_engine::labels::{Labels, Name};
use plimsoll_engine::model::Requests;
use plimsoll_engine::quantity::Quantity;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::ConvertError;
use crate::interner::Interner;
use crate::names;

/// Declares slim types: every field may be absent or `null`, names are camelCase, unknown fields are skipped.
macro_rules! slim {
    ($($(#[$meta:meta])* pub struct $name:ident { $($(#[$fmeta:meta])* pub $field:ident: $ty:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            $($(#[$fmeta])* #[serde(deserialize_with = "crate::lenient::or_default")] pub $field: $ty,)*
        }
    )*};
}
pub(crate) use slim;

/// Reads a value; `null` is its default.
pub(crate) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// Whether a field is there, its value skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present(pub bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<IgnoredAny>::deserialize(from)?.is_some()))
    }
}

/// A map of strings, in the order it was written. A `null` value is empty, as for the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs(pub Vec<(String, String)>);

impl Pairs {
    /// The value of `key`; the last one where it is repeated.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Sets `key` to `value`.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        self.0.retain(|(k, _)| k != key);
        self.0.push((key.to_owned(), value.into()));
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, shared.
    pub fn to_labels(&self, names: &mut Interner) -> Labels {
        self.0.iter().map(|(k, v)| (names.share(k), names.share(v))).collect()
    }

    /// The pairs, shared.
    pub fn to_pairs(&self, names: &mut Interner) -> Vec<(Name, Name)> {
        self.0.iter().map(|(k, v)| (names.share(k), names.share(v))).collect()
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor { keep: |_| true }).map(Self)
    }
}

/// The annotations that some rule reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations(pub Vec<(String, String)>);

impl Annotations {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor { keep: |k| names::READ_ANNOTATIONS.contains(&k) }).map(Self)
    }
}

struct PairsVisitor {
    keep: fn(&str) -> bool,
}

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if (self.keep)(&key) {
                pairs.push((key, map.next_value::<Option<String>>()?.unwrap_or_default()));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(pairs)
    }
}

/// A quantity as written: text or a bare number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityText(pub String);

impl QuantityText {
    /// Parses it; surrounding blanks do not count.
    pub fn parse(&self) -> Result<Quantity, ConvertError> {
        Quantity::parse(self.0.trim()).map_err(|e| ConvertError::new(e.to_string()))
    }
}

impl<'de> Deserialize<'de> for QuantityText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = QuantityText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m or 10Gi")
            }
            fn visit_str<E>(self, text: &str) -> Result<QuantityText, E> {
                Ok(QuantityText(text.to_owned()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<QuantityText, E> {
                Ok(QuantityText(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<QuantityText, E> {
                Ok(QuantityText(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<QuantityText, E> {
                Ok(QuantityText(number.to_string()))
            }
            fn visit_unit<E>(self) -> Result<QuantityText, E> {
                Ok(QuantityText("0".to_owned()))
            }
        }
        from.deserialize_any(TextVisitor)
    }
}

/// A list of resources: names with quantities, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceList(pub Vec<(String, QuantityText)>);

impl ResourceList {
    /// The quantity of `resource` as written.
    pub fn get(&self, resource: &str) -> Option<&QuantityText> {
        self.0.iter().rev().find(|(k, _)| k == resource).map(|(_, v)| v)
    }

    /// The parsed quantity of `resource`, where it is listed.
    pub fn parse(&self, resource: &str) -> Result<Option<Quantity>, ConvertError> {
        self.get(resource).map(|q| q.parse().map_err(|e| e.at(resource))).transpose()
    }

    /// All of them parsed.
    pub fn to_requests(&self, names: &mut Interner) -> Result<Requests, ConvertError> {
        self.0.iter().map(|(k, q)| Ok((names.share(k), q.parse().map_err(|e| e.at(k))?))).collect()
    }

    /// Takes over what `other` lists and this list does not.
    pub fn fill_from(&mut self, other: &ResourceList) {
        for (resource, quantity) in &other.0 {
            if self.get(resource).is_none() {
                self.0.push((resource.clone(), quantity.clone()));
            }
        }
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = ResourceList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of quantities")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(ResourceList(list))
            }
        }
        from.deserialize_map(ListVisitor)
    }
}
