//! The columns that a custom resource's definition asks for.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::definitions::{Column, definitions};
use super::jsonpath::Path;
use super::view::View;
use crate::kind::Kind;

/// The columns of one version of a custom resource: its name, then what `additionalPrinterColumns` says, or else its age.
#[derive(Debug, Clone)]
pub struct CustomColumns {
    columns: Vec<CustomColumn>,
}

#[derive(Debug, Clone)]
struct CustomColumn {
    definition: Value,
    kind: String,
    path: Path,
}

impl CustomColumns {
    /// The columns of a version: an element of the definition's `spec.versions`. Columns end before one whose path cannot be read,
    /// which validation does not let in.
    pub fn new(version: &Value) -> Self {
        let asked = View::new(version).at("additionalPrinterColumns");
        if asked.len() == 0 { Self::of(View::new(&json!([age_column()]))) } else { Self::of(asked) }
    }

    /// The columns of a version's `scale` subresource.
    pub fn scale(version: &Value) -> Self {
        let scale = View::new(version).at("subresources.scale");
        let mut asked = Vec::new();
        for (path, name, json_path, description) in [
            ("specReplicasPath", "Desired", ".spec.replicas", "Number of desired replicas"),
            ("statusReplicasPath", "Available", ".status.replicas", "Number of actual replicas"),
        ] {
            if !scale.key(path).text().is_empty() {
                asked.push(
                    json!({ "name": name, "type": "integer", "jsonPath": json_path, "description": description }),
                );
            }
        }
        asked.push(age_column());
        Self::of(View::new(&Value::Array(asked)))
    }

    fn of(asked: View<'_>) -> Self {
        let mut columns: Vec<CustomColumn> = Vec::new();
        for column in asked.items() {
            let path_text = column.at("jsonPath").text();
            let Ok(path) = Path::parse(path_text) else { break };
            let described = column.at("description").text();
            let description = if described.is_empty() {
                format!("Custom resource definition column (in JSONPath format): {path_text}")
            } else {
                described.to_owned()
            };
            columns.push(CustomColumn {
                definition: json!({
                    "name": column.at("name").text(),
                    "type": column.at("type").text(),
                    "format": column.at("format").text(),
                    "description": description,
                    "priority": column.at("priority").number(),
                }),
                kind: column.at("type").text().to_owned(),
                path,
            });
        }
        Self { columns }
    }

    /// The columns on the wire.
    pub fn definitions(&self) -> Vec<Value> {
        // The name's column is that of every kind.
        let name = definitions(Kind::new("", "v1", "ServiceAccount")).first().map(Column::to_json);
        name.into_iter().chain(self.columns.iter().map(|c| c.definition.clone())).collect()
    }

    /// The cells of an object; null where its path leads nowhere or to a value of another type.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let mut cells = vec![json!(View::new(object).at("metadata.name").text())];
        cells.extend(self.columns.iter().map(|column| match column.path.first(object) {
            Some(value) => cell(&column.kind, &value, now),
            None => Value::Null,
        }));
        cells
    }
}

fn age_column() -> Value {
    json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Since its creation" })
}

fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", value) => Value::String(printed(value)),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => json!(whole),
            // The fraction is dropped; what is out of range becomes the least number, as it does in Go on x86.
            #[expect(clippy::cast_possible_truncation, reason = "in range")]
            (None, Some(float)) if float.abs() < 9.223_372_036_854_775e18 => json!(float as i64),
            (None, _) => json!(i64::MIN),
        },
        ("number", Value::Number(number)) => match number.as_f64() {
            // A whole number is written without a fraction.
            #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
            Some(float) if float.fract() == 0.0 && float.abs() < 9.0e15 => json!(float as i64),
            Some(float) => json!(float),
            None => Value::Null,
        },
        ("boolean", Value::Bool(flag)) => json!(flag),
        ("date", Value::String(text)) => json!(date(text, now)),
        _ => Value::Null,
    }
}

fn date(text: &str, now: Timestamp) -> String {
    let is_rfc3339 = text.len() >= 20 && text.as_bytes().get(10) == Some(&b'T');
    match text {
        "" | "null" => age::since(None, now),
        _ if is_rfc3339 && text.parse::<Timestamp>().is_ok() => age::since(age::parse(text), now),
        _ => "<invalid>".to_owned(),
    }
}

/// A value as Go prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, fraction) => float(fraction.unwrap_or_default(), -4..6, 2),
        },
        Value::Array(_) | Value::Object(_) => {
            let mut text = String::new();
            compact(value, &mut text);
            text
        }
    }
}

/// A float in the fewest digits as Go prints it, with an exponent of at least so many figures outside of this range.
fn float(float: f64, plain: std::ops::Range<i32>, figures: usize) -> String {
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !plain.contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:0figures$}", exponent.abs())
        }
        _ => float.to_string(),
    }
}

/// JSON as Go writes it: without spaces, and without characters that mean something in HTML.
fn compact(value: &Value, out: &mut String) {
    match value {
        Value::Array(list) => {
            out.push('[');
            for (i, element) in list.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                compact(element, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, element)) in map.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                out.push_str(&escaped(key));
                out.push(':');
                compact(element, out);
            }
            out.push('}');
        }
        Value::String(text) => out.push_str(&escaped(text)),
        Value::Number(number) => match number.as_f64() {
            Some(fraction) if number.is_f64() => out.push_str(&float(fraction, -6..21, 1)),
            _ => out.push_str(&number.to_string()),
        },
        other => out.push_str(&other.to_string()),
    }
}

fn escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    let mut out = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}
