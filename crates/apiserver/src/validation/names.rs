//! The syntax of names, labels and other small words, with upstream's sentences about what is wrong with them.
//!
//! Each `is_…` function gives the list of complaints; an empty list says that the word is well formed. Lengths are in bytes.

use crate::field::FieldError;
use crate::validation::path::{Path, str_value};

/// A rule for an object's name. The second argument says that the text is only the beginning of a name (`generateName`).
pub type NameRule = fn(&str, bool) -> Vec<String>;

/// The longest DNS label.
pub const LABEL_MAX: usize = 63;
/// The longest DNS subdomain.
pub const SUBDOMAIN_MAX: usize = 253;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_LABEL_MSG: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
     end with an alphanumeric character";
const DNS1123_SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1123_SUBDOMAIN_MSG: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
     start and end with an alphanumeric character";
const UNDERSCORE_SUBDOMAIN: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const UNDERSCORE_SUBDOMAIN_MSG: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
     must start and end with an alphanumeric character";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS1035_LABEL_MSG: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
     character, and end with an alphanumeric character";
const WILDCARD_MSG: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
     lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_MSG: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const LABEL_VALUE_MSG: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character";
const ENV_MSG: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not \
     start with a digit";
const ENV_RELAXED_MSG: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const C_IDENTIFIER_MSG: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
     characters or '_'";
const CONFIG_KEY_MSG: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
const CONDITION_REASON_MSG: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
     alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";

/// The sentence about a text that does not match `pattern`.
pub fn regex_error(message: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{pattern}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

/// A sentence as upstream's declarative rules have it: these count bytes, and say so.
pub fn declared(sentence: &str) -> String {
    match sentence.strip_prefix("must be no more than ").and_then(|rest| rest.strip_suffix(" characters")) {
        Some(max) => format!("must be no more than {max} bytes"),
        None => sentence.to_owned(),
    }
}

/// The sentence about a number outside of a range.
pub fn range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// Whether the text is not empty, consists of characters that `middle` takes, and has ends that `end` takes.
fn framed(text: &str, first: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool, last: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(a), Some(z)) if bytes.len() == 1 => first(*a) && (last(*z) || first(*z)),
        (Some(a), Some(z)) => first(*a) && last(*z) && bytes.iter().all(|b| middle(*b)),
        _ => false,
    }
}

fn lower(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn matches_label(text: &str) -> bool {
    framed(text, lower, |b| lower(b) || b == b'-', lower)
}

fn matches_subdomain(text: &str) -> bool {
    text.split('.').all(matches_label)
}

fn matches_key(text: &str) -> bool {
    framed(
        text,
        |b| b.is_ascii_alphanumeric(),
        |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'),
        |b| b.is_ascii_alphanumeric(),
    )
}

/// A label in DNS (RFC 1123).
pub fn is_dns1123_label(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > LABEL_MAX {
        out.push(too_long(LABEL_MAX));
    }
    if !matches_label(text) {
        out.push(if matches_subdomain(text) {
            "must not contain dots".into()
        } else {
            regex_error(DNS1123_LABEL_MSG, DNS1123_LABEL, &["my-name", "123-abc"])
        });
    }
    out
}

/// A subdomain in DNS (RFC 1123).
pub fn is_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        out.push(too_long(SUBDOMAIN_MAX));
    }
    if !matches_subdomain(text) {
        out.push(regex_error(DNS1123_SUBDOMAIN_MSG, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    out
}

/// A subdomain whose labels may have underscores.
pub fn is_dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        out.push(too_long(SUBDOMAIN_MAX));
    }
    let label = |part: &str| {
        framed(part.strip_prefix('_').unwrap_or(part), lower, |b| lower(b) || matches!(b, b'-' | b'_'), lower)
    };
    if !text.split('.').all(label) {
        out.push(regex_error(UNDERSCORE_SUBDOMAIN_MSG, UNDERSCORE_SUBDOMAIN, &["example.com"]));
    }
    out
}

/// A label in DNS (RFC 1035): it begins with a letter.
pub fn is_dns1035_label(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > LABEL_MAX {
        out.push(too_long(LABEL_MAX));
    }
    if !framed(text, |b| b.is_ascii_lowercase(), |b| lower(b) || b == b'-', lower) {
        out.push(regex_error(DNS1035_LABEL_MSG, DNS1035_LABEL, &["my-name", "abc-123"]));
    }
    out
}

/// A subdomain behind `*.`.
pub fn is_wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        out.push(too_long(SUBDOMAIN_MAX));
    }
    if !text.strip_prefix("*.").is_some_and(matches_subdomain) {
        out.push(regex_error(WILDCARD_MSG, &format!("\\*\\.{DNS1123_SUBDOMAIN}"), &["*.example.com"]));
    }
    out
}

/// A name with an optional domain before it: `example.com/name`. Keys of labels are such.
pub fn is_qualified_name(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut out = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                out.push("prefix part must be non-empty".into());
            } else {
                if prefix.len() > SUBDOMAIN_MAX {
                    out.push(format!("prefix part {}", too_many_bytes(SUBDOMAIN_MAX)));
                }
                if !matches_subdomain(prefix) {
                    let said = regex_error(DNS1123_SUBDOMAIN_MSG, DNS1123_SUBDOMAIN, &["example.com"]);
                    out.push(format!("prefix part {said}"));
                }
            }
            name
        }
        _ => {
            out.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                regex_error(KEY_MSG, KEY, &examples)
            ));
            return out;
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".into());
    } else if name.len() > LABEL_MAX {
        out.push(format!("name part {}", too_many_bytes(LABEL_MAX)));
    }
    if !matches_key(name) {
        out.push(format!("name part {}", regex_error(KEY_MSG, KEY, &examples)));
    }
    out
}

/// The value of a label.
pub fn is_label_value(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > LABEL_MAX {
        out.push(too_many_bytes(LABEL_MAX));
    }
    if !text.is_empty() && !matches_key(text) {
        out.push(regex_error(LABEL_VALUE_MSG, &format!("({KEY})?"), &["MyValue", "my_value", "12345"]));
    }
    out
}

/// An identifier in C.
pub fn is_c_identifier(text: &str) -> Vec<String> {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let more = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if framed(text, letter, more, more) {
        return Vec::new();
    }
    vec![regex_error(C_IDENTIFIER_MSG, "[A-Za-z_][A-Za-z0-9_]*", &["my_name", "MY_NAME", "MyName"])]
}

/// A port that one can listen on.
pub fn is_port_number(port: i64) -> Vec<String> {
    is_in_range(port, 1, 65535)
}

/// A number between two others, both included.
pub fn is_in_range(number: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&number) { Vec::new() } else { vec![range_error(low, high)] }
}

/// A Unix group.
pub fn is_group_id(id: i64) -> Vec<String> {
    is_in_range(id, 0, i64::from(i32::MAX))
}

/// A Unix user.
pub fn is_user_id(id: i64) -> Vec<String> {
    is_in_range(id, 0, i64::from(i32::MAX))
}

/// The name of a port (RFC 6335, lower case only).
pub fn is_port_name(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > 15 {
        out.push(too_long(15));
    }
    if text.is_empty() || !text.bytes().all(|b| lower(b) || b == b'-') {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".into());
    }
    if text.contains("--") {
        out.push("must not contain consecutive hyphens".into());
    }
    if text.starts_with('-') || text.ends_with('-') {
        out.push("must not begin or end with a hyphen".into());
    }
    out
}

/// A percentage such as `25%`.
pub fn is_percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let said = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![regex_error(said, "[0-9]+%", &["1%", "93%"])]
}

/// The name of an HTTP header.
pub fn is_http_header_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    let said = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_error(said, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// The name of an environment variable, strictly.
pub fn is_env_var_name(text: &str) -> Vec<String> {
    let first = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'.' | b'_');
    let more = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let mut out = Vec::new();
    if !framed(text, first, more, more) {
        let examples = ["my.env-name", "MY_ENV.NAME", "MyEnvName1"];
        out.push(regex_error(ENV_MSG, "[-._a-zA-Z][-._a-zA-Z0-9]*", &examples));
    }
    out.extend(has_parent_prefix(text));
    out
}

/// The name of an environment variable, as far as kubelets can pass it on.
pub fn is_relaxed_env_var_name(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.is_empty() {
        out.push("environment variable name must be non-empty".into());
    }
    if text.bytes().any(|b| !(0x20..0x7f).contains(&b) || b == b'=') {
        out.push(ENV_RELAXED_MSG.into());
    }
    out
}

/// A key in a ConfigMap or a Secret.
pub fn is_config_map_key(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        out.push(too_long(SUBDOMAIN_MAX));
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')) {
        out.push(regex_error(CONFIG_KEY_MSG, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    out.extend(has_parent_prefix(text));
    out
}

/// The reason of a condition.
pub fn is_condition_reason(text: &str) -> Vec<String> {
    let more = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b',' | b':');
    if framed(text, |b| b.is_ascii_alphabetic(), more, |b| b.is_ascii_alphanumeric() || b == b'_') {
        return Vec::new();
    }
    let examples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    vec![regex_error(CONDITION_REASON_MSG, "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", &examples)]
}

fn has_parent_prefix(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".into()),
        ".." => Some("must not be '..'".into()),
        _ if text.starts_with("..") => Some("must not start with '..'".into()),
        _ => None,
    }
}

/// A name that can stand in a path of a URL.
pub fn is_path_segment_name(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => is_path_segment_prefix(text),
    }
}

/// The beginning of a name that can stand in a path of a URL.
pub fn is_path_segment_prefix(text: &str) -> Vec<String> {
    ["/", "%"].iter().filter(|c| text.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// A domain of at least three parts.
pub fn is_fully_qualified_name(path: &Path, text: &str) -> Vec<FieldError> {
    fully_qualified(path, text, 3, "should be a domain with at least three segments separated by dots")
}

/// A domain of at least two parts; it may end with a dot.
pub fn is_fully_qualified_domain_name(path: &Path, text: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let few = "should be a domain with at least two segments separated by dots";
    let out = if text.is_empty() {
        let said = is_dns1123_subdomain(text).join(",");
        vec![FieldError::invalid(path, &str_value(text), said)]
    } else {
        fully_qualified(path, text, 2, few)
    };
    if !out.is_empty() {
        return out;
    }
    for label in text.split('.') {
        let said = is_dns1123_label(label);
        if !said.is_empty() {
            return vec![FieldError::invalid(path, &str_value(label), said.join(","))];
        }
    }
    Vec::new()
}

fn fully_qualified(path: &Path, text: &str, parts: usize, few: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let said = is_dns1123_subdomain(text);
    if !said.is_empty() {
        return vec![FieldError::invalid(path, &str_value(text), said.join(","))];
    }
    if text.split('.').count() < parts {
        return vec![FieldError::invalid(path, &str_value(text), few)];
    }
    Vec::new()
}

/// A path behind a domain: `acme.io/foo`.
pub fn is_domain_prefixed_path(path: &Path, text: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let (host, rest) = match text.split_once('/') {
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => (host, rest),
        _ => {
            let said = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            return vec![FieldError::invalid(path, &str_value(text), said)];
        }
    };
    let mut out: Vec<FieldError> =
        is_dns1123_subdomain(host).into_iter().map(|said| FieldError::invalid(path, &str_value(host), said)).collect();
    if !rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b)) {
        let said = regex_error("Invalid path", "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", &[]);
        out.push(FieldError::invalid(path, &str_value(rest), said));
    }
    out
}

/// A key behind a domain: `acme.io/foo`.
pub fn is_domain_prefixed_key(path: &Path, text: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let said = is_qualified_name(text);
    if !said.is_empty() {
        return said.into_iter().map(|said| FieldError::invalid(path, &str_value(text), said)).collect();
    }
    if text.contains('/') {
        return Vec::new();
    }
    vec![FieldError::invalid(path, &str_value(text), "must be a domain-prefixed key (such as \"acme.io/foo\")")]
}

/// A dash at the end of a `generateName` is well: something follows. (Upstream drops the character before it, too.)
fn masked(text: &str, prefix: bool) -> String {
    match text.strip_suffix('-') {
        Some(rest) if prefix && !rest.is_empty() => {
            let mut rest: String = rest.to_owned();
            rest.pop();
            rest.push('a');
            rest
        }
        _ => text.to_owned(),
    }
}

/// Names that are DNS subdomains: most kinds.
pub fn name_is_dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    is_dns1123_subdomain(&masked(name, prefix))
}

/// Names that are DNS labels: namespaces.
pub fn name_is_dns_label(name: &str, prefix: bool) -> Vec<String> {
    is_dns1123_label(&masked(name, prefix))
}

/// Names that are DNS labels beginning with a letter.
pub fn name_is_dns1035_label(name: &str, prefix: bool) -> Vec<String> {
    is_dns1035_label(&masked(name, prefix))
}

/// Names that can stand in a path: RBAC's kinds.
pub fn name_is_path_segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix { is_path_segment_prefix(name) } else { is_path_segment_name(name) }
}
