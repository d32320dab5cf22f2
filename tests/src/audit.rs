//! kube-apiserver's audit log: who asked for what, and what they were answered.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When it came.
    pub at: String,
    /// Who asked.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource: `pods/status`.
    pub resource: String,
    /// The namespace; empty where there is none.
    pub namespace: String,
    /// The object's name; empty for many.
    pub name: String,
    /// The answer's code.
    pub code: u16,
}

/// Everything that was written down so far about resources. A line that is half written is left out.
pub fn read(folder: &Path) -> Result<Vec<Entry>> {
    let log = std::fs::read_to_string(folder.join("audit.log")).context("there is no audit log")?;
    Ok(log.lines().filter_map(|line| serde_json::from_str(line).ok()).filter_map(|event| entry(&event)).collect())
}

fn entry(event: &Value) -> Option<Entry> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let resource = text("/objectRef/resource");
    if resource.is_empty() {
        return None;
    }
    let resource = match text("/objectRef/subresource").as_str() {
        "" => resource,
        part => format!("{resource}/{part}"),
    };
    let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or(0);
    Some(Entry {
        at: text("/requestReceivedTimestamp"),
        user: text("/user/username"),
        verb: text("/verb"),
        group: text("/objectRef/apiGroup"),
        resource,
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code: u16::try_from(code).unwrap_or(0),
    })
}
