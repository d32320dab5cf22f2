//! Which kind an object is of.

use std::fmt;

/// A group, version and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind<'a> {
    /// The group; empty for core.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

impl<'a> Kind<'a> {
    /// A kind by its three parts.
    pub const fn new(group: &'a str, version: &'a str, kind: &'a str) -> Self {
        Self { group, version, kind }
    }

    /// As `apiVersion` has it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}
