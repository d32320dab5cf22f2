//! Selectors in access reviews: only whether they can be read.

use serde_json::Value;

/// RBAC looks at no selectors; upstream still says when it could not read one.
pub fn unread(resource: &Value) -> Vec<&'static str> {
    let raw =
        |key: &str| resource.get(key).and_then(|s| s.get("rawSelector")).and_then(Value::as_str).unwrap_or_default();
    let mut out = Vec::new();
    if !field_selector_reads(raw("fieldSelector")) {
        out.push("spec.resourceAttributes.fieldSelector ignored due to parse error");
    }
    if !label_selector_reads(raw("labelSelector")) {
        out.push("spec.resourceAttributes.labelSelector ignored due to parse error");
    }
    out
}

/// Whether text is a field selector: `a=b,c!=d`, with `\` before a comma, an equals sign or a backslash in a value.
fn field_selector_reads(text: &str) -> bool {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        match terms.last_mut() {
            Some(term) if escaped || c != ',' => term.push(c),
            _ => terms.push(String::new()),
        }
        escaped = !escaped && c == '\\';
    }
    terms.iter().filter(|term| !term.is_empty()).all(|term| {
        let Some((_, value)) = term.split_once('=') else { return false };
        let mut chars = value.strip_prefix('=').unwrap_or(value).chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' if !matches!(chars.next(), Some('\\' | ',' | '=')) => return false,
                '=' | ',' => return false,
                _ => {}
            }
        }
        true
    })
}

/// Whether text is a label selector, by its grammar: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a>1`, `a<1`.
fn label_selector_reads(selector: &str) -> bool {
    // Commas inside parentheses separate values, not requirements.
    let mut depth = 0i32;
    let mut terms = vec![String::new()];
    for c in selector.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        match terms.last_mut() {
            Some(term) if c != ',' || depth > 0 => term.push(c),
            _ => terms.push(String::new()),
        }
    }
    selector.trim().is_empty() || depth == 0 && terms.iter().all(|term| requirement_reads(term.trim()))
}

fn requirement_reads(term: &str) -> bool {
    let value = |v: &str| {
        let v = v.trim();
        v.is_empty() || v.len() <= 63 && is_name(v)
    };
    if let Some(key) = term.strip_prefix('!') {
        return is_key(key.trim());
    }
    if let Some(at) = term.find(['=', '!', '<', '>']) {
        let (key, rest) = term.split_at(at);
        let number = |v: &str| v.trim().parse::<i64>().is_ok();
        return is_key(key.trim())
            && match rest.as_bytes() {
                [b'=', b'=', ..] | [b'!', b'=', ..] => rest.get(2..).is_some_and(value),
                [b'=', ..] => rest.get(1..).is_some_and(value),
                [b'<' | b'>', ..] => rest.get(1..).is_some_and(number),
                _ => false,
            };
    }
    let mut words = term.splitn(2, char::is_whitespace);
    let (key, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().trim());
    if rest.is_empty() {
        return is_key(key);
    }
    let list = rest.strip_prefix("notin").or_else(|| rest.strip_prefix("in")).map(str::trim);
    let inner = list.and_then(|l| l.strip_prefix('(')).and_then(|l| l.strip_suffix(')'));
    is_key(key) && inner.is_some_and(|values| values.split(',').all(value))
}

fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').unwrap_or(("x", key));
    let label = |l: &str| is_name(l) && !l.contains(['_', '.']) && !l.contains(|c: char| c.is_ascii_uppercase());
    prefix.len() <= 253 && prefix.split('.').all(label) && name.len() <= 63 && is_name(name)
}

fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(inner) && edge(text.chars().next()) && edge(text.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_that_read() {
        for (text, want) in [
            ("", true),
            ("a=b", true),
            ("a==b,c!=d", true),
            ("a", false),
            ("a=b\\,c", true),
            ("a=b=c", false),
            ("a=\\x", false),
            ("a=b,", true),
        ] {
            assert_eq!(field_selector_reads(text), want, "{text:?}");
        }
        for (text, want) in [
            ("", true),
            ("a", true),
            ("!a", true),
            ("a=b", true),
            ("a==b,x.y/c!=d", true),
            ("a in (b,c),d notin (e)", true),
            ("a in", false),
            ("a in (b", false),
            ("a>1", true),
            ("a>b", false),
            ("=b", false),
            ("a=b c", false),
            ("-a", false),
            ("a,", false),
        ] {
            assert_eq!(label_selector_reads(text), want, "{text:?}");
        }
    }
}
