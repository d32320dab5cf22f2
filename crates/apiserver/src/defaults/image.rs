//! When an image is pulled, from its name.

use std::sync::LazyLock;

use regex::Regex;

/// A reference as registries write it: a domain, a path, a tag and a digest. The name is in lower case.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let host = format!(r"(?:{label}(?:\.{label})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    let tag = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
    Regex::new(&format!("^(?P<name>{host}/{part}(?:/{part})*)(?::(?P<tag>{tag}))?(?P<digest>@{digest})?$")).ok()
});

/// The longest name of a repository.
const LONGEST_NAME: usize = 255;

/// The pull policy of an image: one that may change under its tag (`latest`, or none and no digest) is pulled each time. A name that
/// is no reference has no tag.
pub fn pull_policy(image: &str) -> &'static str {
    if tag(image).as_deref() == Some("latest") { "Always" } else { "IfNotPresent" }
}

fn tag(image: &str) -> Option<String> {
    // 64 hexadecimal digits are an image's id, not its name.
    if image.len() == 64 && image.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let full = match image.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first => {
            image.to_owned()
        }
        Some(_) => format!("docker.io/{image}"),
        None => format!("docker.io/library/{image}"),
    };
    let found = REFERENCE.as_ref()?.captures(&full)?;
    if found.name("name").is_none_or(|name| name.as_str().len() > LONGEST_NAME) {
        return None;
    }
    match (found.name("tag"), found.name("digest")) {
        (Some(tag), _) => Some(tag.as_str().to_owned()),
        (None, Some(_)) => None,
        (None, None) => Some("latest".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn by_tag() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("registry.k8s.io/pause:3.10", "IfNotPresent"),
            ("registry.k8s.io/pause", "Always"),
            ("localhost:5000/a/b", "Always"),
            ("localhost:5000/a/b:v1", "IfNotPresent"),
            ("a@sha256:0123456789012345678901234567890123456789012345678901234567890123", "IfNotPresent"),
            ("a:latest@sha256:0123456789012345678901234567890123456789012345678901234567890123", "Always"),
            ("Upper", "IfNotPresent"),
            ("", "IfNotPresent"),
            ("a b", "IfNotPresent"),
            ("0123456789012345678901234567890123456789012345678901234567890123", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
