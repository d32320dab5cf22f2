//! The whole table as a response's body, or as a watch event's object.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::view::View;
use super::{Column, CustomColumns, control, definitions, pods, row, storage};
use crate::kind::Kind;

/// How much of each object goes along with its row (`includeObject`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// The choice that the query parameter names; `None` if it names none.
    pub fn from_query(value: &str) -> Option<Self> {
        match value {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// How a table is asked for.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions<'a> {
    /// What goes along with the rows.
    pub include: Include,
    /// Whether the columns are named: in a watch, only the first event does it.
    pub headers: bool,
    /// The version of `meta.k8s.io` that was asked for: `v1` or `v1beta1`.
    pub version: &'a str,
}

impl Default for TableOptions<'_> {
    fn default() -> Self {
        Self { include: Include::default(), headers: true, version: "v1" }
    }
}

/// What a table shows.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// One object: the answer to a get, or a watch event, bookmarks too.
    One(&'a Value),
    /// A list, with its `metadata`.
    List {
        /// The objects, each with its `apiVersion` and `kind`.
        items: &'a [Value],
        /// `resourceVersion`, `continue` and `remainingItemCount`, as the plain list would have them.
        metadata: &'a Value,
    },
}

impl<'a> Content<'a> {
    fn items(self) -> &'a [Value] {
        match self {
            Content::One(object) => std::slice::from_ref(object),
            Content::List { items, .. } => items,
        }
    }

    fn metadata(self) -> Value {
        let (from, fields): (_, &[&str]) = match self {
            Content::One(object) => (View::new(object).at("metadata"), &["resourceVersion"]),
            Content::List { metadata, .. } => {
                (View::new(metadata), &["resourceVersion", "continue", "remainingItemCount"])
            }
        };
        let mut out = Map::new();
        for field in fields {
            let found = from.key(field);
            if !found.text().is_empty() {
                out.insert((*field).to_owned(), json!(found.text()));
            } else if *field == "remainingItemCount" && found.exists() {
                out.insert((*field).to_owned(), json!(found.number()));
            }
        }
        Value::Object(out)
    }
}

/// The table of objects of a built-in kind.
pub fn object_table(kind: Kind<'_>, content: Content<'_>, options: TableOptions<'_>, now: Timestamp) -> Value {
    let mut items: Vec<&Value> = content.items().iter().collect();
    let mut default = None;
    if let Content::List { .. } = content {
        match (kind.group, kind.kind) {
            ("storage.k8s.io", "StorageClass") => {
                default = storage::default_class(items.iter().map(|item| View::new(item)));
            }
            ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
                items.sort_by_key(|item| control::flow_schema_order(View::new(item)));
            }
            _ => {}
        }
    }
    let is_default = |item: View<'_>| default.is_some_and(|name| name == item.at("metadata.name").text());
    let rows: Vec<Value> = items
        .into_iter()
        .map(|item| {
            let view = View::new(item);
            let conditions = match (kind.group, kind.kind) {
                ("", "Pod") => pods::conditions(view),
                _ => None,
            };
            table_row(row(kind, view, is_default(view), now), conditions, item, options)
        })
        .collect();
    // Upstream's table of APIServices pays no attention to what was asked for.
    let headers = options.headers || (kind.group, kind.kind) == ("apiregistration.k8s.io", "APIService");
    let columns = headers.then(|| definitions(kind).iter().map(Column::to_json).collect());
    // Where upstream has no printer, an empty list is one that was never made.
    let rows = if rows.is_empty() && has_no_printer(kind) { Value::Null } else { Value::Array(rows) };
    body(content, columns, rows, options)
}

/// The table of custom resources.
pub fn custom_table(columns: &CustomColumns, content: Content<'_>, options: TableOptions<'_>, now: Timestamp) -> Value {
    let rows = content.items().iter().map(|item| table_row(columns.cells(item, now), None, item, options)).collect();
    body(content, options.headers.then(|| columns.definitions()), Value::Array(rows), options)
}

fn has_no_printer(kind: Kind<'_>) -> bool {
    matches!(
        (kind.group, kind.kind),
        ("", "LimitRange")
            | ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
            | ("storage.k8s.io", "CSIStorageCapacity")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

fn body(content: Content<'_>, columns: Option<Vec<Value>>, rows: Value, options: TableOptions<'_>) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{}", options.version),
        "metadata": content.metadata(),
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn table_row(cells: Vec<Value>, conditions: Option<Value>, object: &Value, options: TableOptions<'_>) -> Value {
    let metadata = object.get("metadata");
    // The bookmark that ends the initial events must be known as such whatever was asked for.
    let ends_initial_events =
        View::new(object).at("metadata.annotations").key("k8s.io/initial-events-end").text() == "true";
    let included = match options.include {
        Include::Object => object.clone(),
        Include::None if !ends_initial_events => Value::Null,
        Include::None | Include::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": format!("meta.k8s.io/{}", options.version),
            "metadata": metadata.cloned().unwrap_or_else(|| json!({})),
        }),
    };
    let mut row = Map::new();
    row.insert("cells".to_owned(), Value::Array(cells));
    if let Some(conditions) = conditions {
        row.insert("conditions".to_owned(), conditions);
    }
    row.insert("object".to_owned(), included);
    Value::Object(row)
}
