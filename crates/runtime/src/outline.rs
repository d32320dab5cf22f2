//! A first look at an object's JSON: its version, and where the list of its fields' owners stands. Only as much is read as
//! stands before what is looked for, which Kubernetes writes first.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use plimsoll_engine::model::Version;

/// The version of an object; `None` where it has none, or is no object.
pub(crate) fn version(text: &str) -> Option<Version> {
    find::<String>(text, "resourceVersion")?.parse().ok()
}

/// The list `metadata.managedFields` of an object, as it stands in the text.
pub(crate) fn owners(text: &str) -> Option<&str> {
    find::<&RawValue>(text, "managedFields").map(RawValue::get)
}

/// A field of `metadata`. Reading ends there, in the middle of the text.
fn find<'a, T: Deserialize<'a>>(text: &'a str, field: &str) -> Option<T> {
    let mut found = None;
    let metadata = Inside { name: field, then: Keep(&mut found) };
    let whole = Inside { name: "metadata", then: metadata };
    // The error is the end of the look, or of the object.
    let _ = whole.deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

/// Looks for a field of an object and leaves it to `then`; the rest of the object is not read.
struct Inside<'n, S> {
    name: &'n str,
    then: S,
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for Inside<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Inside<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(is_it) = map.next_key_seed(Is(self.name))? {
            if is_it {
                map.next_value_seed(self.then)?;
                return Err(A::Error::custom("that is all"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Whether a key is this one: most are not, and are not kept.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Keeps what is found.
struct Keep<'k, T>(&'k mut Option<T>);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Keep<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        *self.0 = Some(T::deserialize(from)?);
        Ok(())
    }
}

/// An event of a watch, cut at the places where Kubernetes writes it, so that the object in it is read once and not twice. `None`
/// where it is written otherwise.
pub(crate) fn event(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_end().strip_prefix("{\"type\":\"")?;
    let (kind, rest) = rest.split_once('"')?;
    let object = rest.strip_prefix(",\"object\":")?.strip_suffix('}')?;
    (object.starts_with('{') && object.ends_with('}')).then_some((kind, object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_objects_own() {
        for (text, found) in [
            (
                r#"{"kind":"PersistentVolume","metadata":{"name":"v","resourceVersion":"17","uid":"u"},"spec":{}}"#,
                Some(17),
            ),
            (
                r#"{"spec":{"claimRef":{"resourceVersion":"3"}},"metadata":{"name":"v","resourceVersion":"17"}}"#,
                Some(17),
            ),
            (r#"{"metadata":{"annotations":{"resourceVersion":"3"},"resourceVersion":"17"}}"#, Some(17)),
            (r#"{"metadata":{"name":"\"resourceVersion\":\"3\""},"spec":{"resourceVersion":"4"}}"#, None),
            (r#"{"metadata":{"resourceVersion":"many"}}"#, None),
            (r#"{"metadata":{"resourceVersion":17}}"#, None),
            (r#"{"metadata":null}"#, None),
            ("[]", None),
            (r#"{"metadata":{"resourceVer"#, None),
            // What follows is not looked at.
            (r#"{"metadata":{"resourceVersion":"17", and no JSON"#, Some(17)),
        ] {
            assert_eq!(version(text), found, "{text}");
        }
    }

    #[test]
    fn an_event_is_cut_where_kubernetes_writes_it_so() {
        let object = r#"{"metadata":{"name":"a"}}"#;
        for line in [
            format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n"),
            format!("{{\"type\":\"ADDED\",\"object\":{object}}}"),
        ] {
            assert_eq!(event(&line), Some(("ADDED", object)));
        }
        for line in [
            format!("{{\"object\":{object},\"type\":\"ADDED\"}}\n"),
            format!("{{\"type\": \"ADDED\", \"object\": {object}}}\n"),
            format!("{{\"type\":\"ADDED\",\"object\":{object},\"more\":1}}\n"),
            "{\"type\":\"ADDED\",\"object\":null}\n".to_owned(),
            "{\"type\":\"ADDED\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(event(&line), None, "{line}");
        }
    }
}
