//! Deleting: how long an object has, and what becomes of what it owns.

use serde_json::Value;

use crate::kind::Kind;
use crate::value::{int, text};

/// What becomes of an object's dependents when the request does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They stay, without an owner.
    Orphan,
    /// It owns nothing, and no finalizer is ever set for it.
    Unsupported,
}

/// How long an object has before it is gone, in seconds; `None` for kinds that go at once. `asked` is what the request says.
pub fn graceful_delete(kind: Kind<'_>, object: &Value, asked: Option<i64>) -> Option<i64> {
    if (kind.group, kind.kind) != ("", "Pod") {
        return None;
    }
    let wanted = asked.or_else(|| int(object, &["spec", "terminationGracePeriodSeconds"])).unwrap_or_default();
    // Nobody has to be told: it runs nowhere, or no longer.
    let idle = text(object, &["spec", "nodeName"]).is_empty()
        || matches!(text(object, &["status", "phase"]), "Failed" | "Succeeded");
    Some(match wanted {
        _ if idle => 0,
        negative if negative < 0 => 1,
        wanted => wanted,
    })
}

/// What becomes of an object's dependents by default.
pub fn default_propagation(kind: Kind<'_>) -> Propagation {
    match (kind.group, kind.version, kind.kind) {
        ("", _, "ReplicationController") | ("batch", "v1", "Job") => Propagation::Orphan,
        ("" | "events.k8s.io", _, "Event") => Propagation::Unsupported,
        _ => Propagation::Background,
    }
}
