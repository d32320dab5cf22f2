//! Selectors in access reviews: only whether they can be read.

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::path::{Path, get, list, text, texts};
use crate::validation::selectors::{label_requirement, label_requirement_reads};

/// How much of a selector could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Wholly,
    Partly,
    Not,
}

/// RBAC looks at no selectors; upstream still says which it could not read, or only in part.
pub fn unread(resource: &Value) -> Vec<String> {
    let fields = read(get(resource, "fieldSelector"), field_selector_reads, field_requirement_reads);
    let labels = read(get(resource, "labelSelector"), label_selector_reads, label_requirement_reads);
    let said = [("fieldSelector", fields), ("labelSelector", labels)].map(|(name, read)| {
        let how = match read {
            Read::Wholly => return None,
            Read::Partly => "partially ignored",
            Read::Not => "ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
    });
    said.into_iter().flatten().collect()
}

fn read(selector: &Value, text_reads: fn(&str) -> bool, requirement_reads: fn(&Value) -> bool) -> Read {
    let requirements = list(selector, "requirements");
    let good = requirements.iter().filter(|wanted| requirement_reads(wanted)).count();
    if good < requirements.len() {
        return if good == 0 { Read::Not } else { Read::Partly };
    }
    if text_reads(text(selector, "rawSelector")) { Read::Wholly } else { Read::Not }
}

/// Upstream's field selectors compare with one value.
fn field_requirement_reads(wanted: &Value) -> bool {
    matches!(text(wanted, "operator"), "In" | "NotIn") && texts(wanted, "values").len() == 1
}

/// What is wrong with the selectors of a review. An operator that is not known is no error: whoever asks may be newer.
pub fn errors(resource: &Value, path: &Path) -> Vec<FieldError> {
    let mut out = Found::new();
    for name in ["fieldSelector", "labelSelector"] {
        let (selector, path) = (get(resource, name), path.child(name));
        if selector.is_null() {
            continue;
        }
        let (raw, requirements) = (text(selector, "rawSelector"), list(selector, "requirements"));
        let path_of_list = path.child("requirements");
        match (raw.is_empty(), requirements.is_empty()) {
            (false, false) => {
                out.invalid(&path.child("rawSelector"), raw, "may not specified at the same time as requirements");
            }
            (true, true) => {
                let said = format!("when {path} is specified, requirements or rawSelector is required");
                out.required(&path_of_list, said);
            }
            _ => {}
        }
        for (i, wanted) in requirements.iter().enumerate() {
            let path = path_of_list.index(i);
            if name == "fieldSelector" && text(wanted, "key").is_empty() {
                out.required(&path.child("key"), "must be specified");
            }
            let (operator, key) = (path.child("operator"), path.child("key"));
            let mut found = label_requirement(wanted, name == "fieldSelector", &path);
            // Any path may be a field's.
            found.retain(|error| {
                error.field != operator.as_str() && (name == "labelSelector" || error.field != key.as_str())
            });
            out.extend(found);
        }
    }
    out.into_errors()
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
    use serde_json::json;

    use super::*;

    /// As kube-apiserver 1.37.1 answered.
    #[test]
    fn what_could_not_be_read_is_said() {
        let fields = |requirements: Value| unread(&json!({"fieldSelector": {"requirements": requirements}})).join("; ");
        let wholly = "spec.resourceAttributes.fieldSelector ignored due to parse error";
        let partly = "spec.resourceAttributes.fieldSelector partially ignored due to parse error";
        let good = json!({"key": "a", "operator": "In", "values": ["b"]});
        let (odd, two) =
            (json!({"key": "a", "operator": "Odd"}), json!({"key": "a", "operator": "In", "values": [1, 2]}));
        assert_eq!(fields(json!([good])), "");
        assert_eq!(fields(json!([odd])), wholly);
        assert_eq!(fields(json!([two])), wholly);
        assert_eq!(fields(json!([good, odd])), partly);
        let labels = json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Gt", "values": ["5"]}]);
        let labels = unread(&json!({"labelSelector": {"requirements": labels}}));
        assert_eq!(labels, ["spec.resourceAttributes.labelSelector partially ignored due to parse error"]);
    }

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
