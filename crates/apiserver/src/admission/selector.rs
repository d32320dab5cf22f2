//! Label selectors in objects.

use serde_json::Value;

use crate::value::{get, list, text, texts};

/// Whether a selector picks labels (an object of text). An absent selector picks nothing, an empty one everything; one that cannot be
/// read is `None`.
pub(super) fn matches(selector: Option<&Value>, labels: Option<&Value>) -> Option<bool> {
    let Some(selector) = selector.filter(|s| !s.is_null()) else { return Some(false) };
    let label = |key: &str| labels.and_then(|l| get(l, &[key])).and_then(Value::as_str);
    let mut picked = texts(selector, &["matchLabels"]).all(|(key, value)| label(key) == Some(value));
    for expression in list(selector, &["matchExpressions"]) {
        let has = label(text(expression, &["key"]));
        let listed = |value: &str| list(expression, &["values"]).iter().any(|v| v == value);
        picked &= match text(expression, &["operator"]) {
            "In" => has.is_some_and(listed),
            "NotIn" => !has.is_some_and(listed),
            "Exists" => has.is_some(),
            "DoesNotExist" => has.is_none(),
            _ => return None,
        };
    }
    Some(picked)
}
