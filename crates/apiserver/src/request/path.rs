//! Paths: `/api/v1/namespaces/NS/pods/NAME/status` and its like.

/// What a path points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: all groups.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`: what is served there.
    Resources {
        /// The group; empty for core.
        group: String,
        /// The version.
        version: String,
    },
    /// A resource, an object or a part of one.
    Resource(ResourcePath),
    /// Everything else.
    Other,
}

/// The path of a resource, an object or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePath {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace; empty for all, or for none.
    pub namespace: String,
    /// The plural name.
    pub resource: String,
    /// The object's name; empty for the collection.
    pub name: String,
    /// The part of the object; empty for the whole.
    pub subresource: String,
    /// What follows a subresource (`proxy` takes a path).
    pub rest: String,
    /// The old form `/api/v1/watch/...`.
    pub watch: bool,
}

impl Target {
    /// Reads a path. Percent escapes are resolved before it is taken apart, as upstream does it: an escaped slash parts segments too.
    pub fn parse(path: &str) -> Target {
        let decoded = unescape(path);
        let path = decoded.strip_prefix('/').unwrap_or(&decoded).trim_end_matches('/');
        let segments: Vec<&str> = path.split('/').filter(|_| !path.is_empty()).collect();
        match segments.as_slice() {
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["api", version] => Self::Resources { group: String::new(), version: (*version).into() },
            ["apis", group] => Self::Group((*group).into()),
            ["apis", group, version] => Self::Resources { group: (*group).into(), version: (*version).into() },
            ["api", version, rest @ ..] => Self::Resource(resource("", version, rest)),
            ["apis", group, version, rest @ ..] => Self::Resource(resource(group, version, rest)),
            _ => Self::Other,
        }
    }
}

fn resource(group: &str, version: &str, segments: &[&str]) -> ResourcePath {
    let (watch, segments) = match segments {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        all => (false, all),
    };
    // `namespaces/NS/status` is a part of the namespace, `namespaces/NS/pods` a resource within it.
    let (namespace, segments) = match segments {
        ["namespaces", "", rest @ ..] => ("", rest),
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", segments),
        // A namespace is in no other.
        ["namespaces", _, "namespaces", ..] if group.is_empty() => ("", &[][..]),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        all => ("", all),
    };
    // Nothing is called by an empty name, but no namespace is all of them.
    let segments = if segments.iter().any(|s| s.is_empty()) { &[] } else { segments };
    let at = |i: usize| segments.get(i).copied().unwrap_or_default().to_owned();
    let mut path = ResourcePath {
        group: group.into(),
        version: version.into(),
        namespace: namespace.into(),
        resource: at(0),
        name: at(1),
        subresource: at(2),
        rest: segments.get(3..).unwrap_or_default().join("/"),
        watch,
    };
    if path.resource == "namespaces" && group.is_empty() && !path.name.is_empty() {
        path.namespace.clone_from(&path.name);
    }
    path
}

/// Whether every percent sign begins an escape.
pub fn well_escaped(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)))
}

/// Why upstream takes no such name in a path.
pub fn unfit_name(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('/') => Some("may not contain '/'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

/// Resolves percent escapes; what is no escape stays as it is.
pub fn unescape(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escape = (bytes[i] == b'%').then(|| bytes.get(i + 1..i + 3)).flatten();
        let value =
            escape.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match value {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> ResourcePath {
        match Target::parse(path) {
            Target::Resource(path) => path,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        let pod = at("/api/v1/namespaces/a/pods/p/status");
        assert_eq!((&*pod.namespace, &*pod.resource, &*pod.name, &*pod.subresource), ("a", "pods", "p", "status"));
        let ns = at("/api/v1/namespaces/a/finalize");
        assert_eq!((&*ns.resource, &*ns.name, &*ns.subresource, &*ns.namespace), ("namespaces", "a", "finalize", "a"));
        let all = at("/apis/apps/v1/deployments");
        assert_eq!((&*all.group, &*all.resource, &*all.namespace), ("apps", "deployments", ""));
        assert_eq!((&*at("/api/v1/nodes/a%2Fb").name, &*at("/api/v1/nodes/a%2Fb").subresource), ("a", "b"));
        assert_eq!(at("/api/v1/nodes/").resource, "nodes");
        assert_eq!(
            (&*at("/api/v1/namespaces//pods").resource, &*at("/api/v1/namespaces//pods").namespace),
            ("pods", "")
        );
        assert_eq!(at("/api/v1/namespaces/a//pods").resource, "");
        assert_eq!(at("/api/v1/namespaces/a/namespaces/b").resource, "");
        assert_eq!(
            (well_escaped("a%2f%FFb"), well_escaped("%"), well_escaped("a%2"), well_escaped("%zz")),
            (true, false, false, false)
        );
        assert_eq!(Target::parse("/apis/apps"), Target::Group("apps".into()));
        assert_eq!(Target::parse("/healthz"), Target::Other);
    }
}
