//! What the published documents say beyond the table: enums, unions, and the types that the table knows only by a word.

use std::sync::LazyLock;

use serde_json::Value;

/// Taken from the documents of the release; the texts are left out.
const FACTS: &str = include_str!("facts.json");

static PARSED: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(FACTS).unwrap_or_default());

/// The values that a field may have, or its elements where it is a list or a map.
pub(super) fn values(type_name: &str, field: &str) -> Option<&'static Value> {
    PARSED["enums"].get(type_name)?.get(field)
}

/// A default that is the zero value, where others of its kind name none.
pub(super) fn default(type_name: &str, field: &str) -> Option<&'static Value> {
    PARSED["defaults"].get(type_name)?.get(field)
}

/// The unions among the fields of a type.
pub(super) fn unions(type_name: &str) -> Option<&'static Value> {
    PARSED["unions"].get(type_name)
}

/// A field whose published form is another one than its type's.
pub(super) fn property(type_name: &str, field: &str) -> Option<&'static Value> {
    PARSED["properties"].get(type_name)?.get(field)
}

/// A type that the table does not hold as a struct.
pub(super) fn component(type_name: &str) -> Option<&'static Value> {
    PARSED["types"].get(type_name)
}

#[cfg(test)]
mod tests {
    use plimsoll_schema::Table;

    use super::*;

    #[test]
    fn every_fact_is_about_a_type_and_field_that_exist() {
        let table = Table::builtin();
        for section in ["enums", "defaults", "properties"] {
            for (name, fields) in PARSED[section].as_object().expect(section) {
                let ty = table.get(table.named(name).expect(name));
                for field in fields.as_object().expect(name).keys() {
                    assert!(ty.field(field).is_some(), "{section}: {name}.{field}");
                }
            }
        }
        assert!(PARSED["unions"].as_object().expect("unions").keys().all(|name| table.named(name).is_some()));
        assert!(PARSED["types"].as_object().expect("types").keys().all(|name| table.named(name).is_none()));
    }
}
