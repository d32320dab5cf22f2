//! Custom resources: what a CustomResourceDefinition adds to the served kinds.
//!
//! ```text
//!   definition ─ written ─► names accepted, established (definition.rs) ─► served (serve.rs): a schema (schema.rs), its types (types.rs)
//!   object     ─ decoded ─► pruned and defaulted (prune.rs) ─► checked (check.rs, lists.rs, embedded.rs, object.rs)
//! ```
//!
//! Known limits: rules in CEL (`x-kubernetes-validations`) are stored, not evaluated; conversion webhooks are not called.

mod check;
mod definition;
mod embedded;
mod formats;
mod lists;
mod number;
mod object;
mod pattern;
mod prune;
mod schema;
mod serve;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use serde_json::Value;

use crate::columns::CustomColumns;
use crate::field::FieldError;
pub(crate) use definition::{builtin_definitions, marked, removed, resume, written};
pub(crate) use pattern::wrong_pattern;
use schema::Node;
pub use serve::served;

/// What is wrong with the default of a place of a schema: it must fit there, and hold nothing that would be pruned. `path` is that of the
/// default.
pub(crate) fn check_default(schema: &Value, default: &Value, path: &str) -> Vec<FieldError> {
    let node = Node::read(schema);
    let mut pruned = default.clone();
    let mut out = Vec::new();
    prune::unknown(&mut pruned, &node, false);
    if pruned != *default {
        out.push(FieldError::invalid(path, default, "must not have unknown fields"));
    }
    out.extend(check::value(&node, default, None, path));
    out
}

/// Where a custom resource has its replicas.
#[derive(Debug, Clone, Default)]
pub struct Scale {
    /// The path of the wanted number.
    pub spec_replicas: String,
    /// The path of the number there is.
    pub status_replicas: String,
    /// The path of the selector, as text.
    pub label_selector: Option<String>,
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct CustomResource {
    group: String,
    version: String,
    kind: String,
    namespaced: bool,
    /// The kind of its lists.
    pub list_kind: String,
    /// It has the status subresource.
    pub has_status: bool,
    /// Its scale subresource.
    pub scale: Option<Scale>,
    /// What `kubectl get` shows.
    pub columns: CustomColumns,
    /// What requests to a deprecated version are warned of.
    pub deprecation: Option<String>,
    /// Its definition is being deleted: nothing new may come.
    pub terminating: bool,
    /// It is converted by a webhook, from and to this stored version.
    webhook: Option<String>,
    node: Arc<Node>,
    /// The schema of the stored version.
    storage: Arc<Node>,
    /// The paths of fields that can be selected by.
    selectable: Vec<String>,
    schema: Value,
}
