//! What a body got wrong, in the order in which it was written: that is how a reader of the body looks for it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Sorts `unknown field "a.b"` and `duplicate field "a.b"` by where the body has them.
pub(super) fn as_written(bytes: &[u8], problems: &mut [String]) {
    let mut places = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    if (Walk { path: "", places: &mut places }).deserialize(&mut reader).is_err() {
        return;
    }
    problems.sort_by_key(|problem| place(problem, &places));
}

/// How many fields stand before it. A duplicate is where it stands the second time.
fn place(problem: &str, places: &[String]) -> usize {
    let Some((what, path)) = problem.split_once(" field ") else { return usize::MAX };
    let path = path.trim_matches('"');
    let nth = usize::from(what == "duplicate");
    let mut found = places.iter().enumerate().filter(|(_, place)| *place == path).map(|(at, _)| at);
    found.nth(nth).unwrap_or(usize::MAX)
}

/// Writes down the path of every field, in order.
struct Walk<'a> {
    path: &'a str,
    places: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
            self.places.push(path.clone());
            map.next_value_seed(Walk { path: &path, places: self.places })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if items.next_element_seed(Walk { path: &path, places: self.places })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_stand_where_the_body_has_them() {
        let body =
            br#"{"metadata":{"name":"a","name":"a","foo":1},"data":{"k":"v","k":"w"},"list":[{"odd":1}],"bar":2}"#;
        let mut problems = [
            r#"unknown field "bar""#,
            r#"unknown field "list[0].odd""#,
            r#"unknown field "metadata.foo""#,
            r#"duplicate field "metadata.name""#,
            r#"duplicate field "data.k""#,
        ]
        .map(str::to_owned);
        as_written(body, &mut problems);
        let sorted = [
            r#"duplicate field "metadata.name""#,
            r#"unknown field "metadata.foo""#,
            r#"duplicate field "data.k""#,
            r#"unknown field "list[0].odd""#,
            r#"unknown field "bar""#,
        ];
        assert_eq!(problems, sorted);
    }
}
