//! What may be a label's key and value. The sentences are the API server's.

/// The most bytes in a value, and in the part of a key behind the slash.
const NAME_LENGTH: usize = 63;
/// The most bytes in the domain before a key's slash.
const DOMAIN_LENGTH: usize = 253;

const NAME_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const DOMAIN_PATTERN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

/// Whether the text may be a label's key: a name, or a lower-case domain, a slash and a name.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((domain, name)) => domain.len() <= DOMAIN_LENGTH && is_domain(domain) && is_name(name),
    }
}

/// Whether the text may be a label's value: a name or nothing.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    name.len() <= NAME_LENGTH && has_name_characters(name)
}

fn has_name_characters(name: &str) -> bool {
    bounded(name, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.'))
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|part| bounded(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), |b| b == b'-'))
}

/// Whether the text is not empty, starts and ends with an `outer` byte and has only `outer` or `inner` ones between.
fn bounded(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let at_ends = |end: Option<&u8>| end.is_some_and(|b| outer(*b));
    at_ends(bytes.first()) && at_ends(bytes.last()) && bytes.iter().all(|b| outer(*b) || inner(*b))
}

/// Everything wrong with a key in one sentence, or nothing.
pub(super) fn key_problems(key: &str) -> Option<String> {
    if is_label_key(key) {
        return None;
    }
    let parts: Vec<&str> = key.split('/').collect();
    let (domain, name) = match parts[..] {
        [name] => (None, name),
        [domain, name] => (Some(domain), name),
        _ => {
            return Some(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                name_rule()
            ));
        }
    };
    let mut problems = Vec::new();
    if let Some(domain) = domain {
        if domain.is_empty() {
            problems.push("prefix part must be non-empty".to_owned());
        } else {
            if domain.len() > DOMAIN_LENGTH {
                problems.push(format!("prefix part {}", too_long(DOMAIN_LENGTH)));
            }
            if !is_domain(domain) {
                problems.push(format!(
                    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                     '-' or '.', and must start and end with an alphanumeric character \
                     (e.g. 'example.com', regex used for validation is '{DOMAIN_PATTERN}')"
                ));
            }
        }
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LENGTH {
        problems.push(format!("name part {}", too_long(NAME_LENGTH)));
    }
    if !has_name_characters(name) {
        problems.push(format!("name part {}", name_rule()));
    }
    Some(problems.join("; "))
}

/// Everything wrong with a value in one sentence, or nothing.
pub(super) fn value_problems(value: &str) -> Option<String> {
    if is_label_value(value) {
        return None;
    }
    let mut problems = Vec::new();
    if value.len() > NAME_LENGTH {
        problems.push(too_long(NAME_LENGTH));
    }
    if !has_name_characters(value) {
        problems.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character \
             (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({NAME_PATTERN})?')"
        ));
    }
    Some(problems.join("; "))
}

fn too_long(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

/// The odd blanks and commas are upstream's.
fn name_rule() -> String {
    format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME_PATTERN}')"
    )
}
