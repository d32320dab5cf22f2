//! Labels and label selectors as text.

use super::view::View;

/// The pairs of a map of texts, sorted, or that there are none.
pub(super) fn labels(map: View<'_>) -> String {
    // Sorted as whole pairs, which is not the order of the keys: `a-b=1` stands before `a=1`.
    let mut pairs: Vec<String> = map.entries().map(|(k, v)| format!("{k}={}", v.text())).collect();
    pairs.sort();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// A selector as text, or that it selects by nothing, or that it is none.
pub(super) fn selector(selector: View<'_>) -> String {
    match requirements(selector) {
        None => "<error>".to_owned(),
        Some(text) if text.is_empty() => "<none>".to_owned(),
        Some(text) => text,
    }
}

/// A selector's requirements by key; `None` if one of them is none. An absent selector, and one that selects all, have no text.
pub(super) fn requirements(selector: View<'_>) -> Option<String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector.at("matchLabels").entries() {
        if !(is_key(key) && is_value(value.text())) {
            return None;
        }
        parts.push((key, format!("{key}={}", value.text())));
    }
    for expression in selector.at("matchExpressions").items() {
        let key = expression.at("key").text();
        let mut values: Vec<&str> = expression.at("values").items().map(View::text).collect();
        if !is_key(key) || !values.iter().all(|v| is_value(v)) {
            return None;
        }
        values.sort_unstable();
        let text = match (expression.at("operator").text(), values.as_slice()) {
            ("In", [_, ..]) => format!("{key} in ({})", values.join(",")),
            ("NotIn", [_, ..]) => format!("{key} notin ({})", values.join(",")),
            ("Exists", []) => key.to_owned(),
            ("DoesNotExist", []) => format!("!{key}"),
            _ => return None,
        };
        parts.push((key, text));
    }
    // Stable: requirements on one key keep their order.
    parts.sort_by_key(|(key, _)| *key);
    Some(parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// A selector in the form in which Go prints the struct: what a policy binding's parameters show.
pub(super) fn go_struct(selector: View<'_>) -> String {
    let pairs: String =
        selector.at("matchLabels").entries().map(|(key, value)| format!("{key}: {},", value.text())).collect();
    let expressions: String = selector
        .at("matchExpressions")
        .items()
        .map(|e| {
            let (key, operator, values) = (e.at("key").text(), e.at("operator").text(), e.at("values").join(" "));
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

/// A label key: a name, which a DNS domain may stand before.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((domain, name)) => is_domain(domain) && is_name(name),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && is_value(name)
}

fn is_value(value: &str) -> bool {
    let bytes = value.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    bytes.len() <= 63
        && bytes.iter().all(inner)
        && bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
}

fn is_domain(domain: &str) -> bool {
    let part = |p: &str| {
        !p.is_empty()
            && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !p.starts_with('-')
            && !p.ends_with('-')
    };
    domain.len() <= 253 && domain.split('.').all(part)
}
