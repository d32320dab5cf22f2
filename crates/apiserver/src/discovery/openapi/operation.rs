//! Operations: what can be sent to a path, and what comes back.

use plimsoll_schema::{Table, Type};
use serde_json::{Map, Value, json};

use super::components::{meta, reference};

/// A parameter; the order is that of the documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    name: String,
    place: &'static str,
    ty: &'static str,
}

impl Parameter {
    /// A part of the path.
    pub(super) fn path(name: &str) -> Self {
        Self { name: name.to_owned(), place: "path", ty: "string" }
    }

    fn to_value(&self) -> Value {
        let mut value = json!({"name": self.name, "in": self.place, "schema": {"type": self.ty, "uniqueItems": true}});
        if self.place == "path" {
            value["required"] = true.into();
        }
        value
    }
}

fn query(options: &[(&str, &'static str)]) -> Vec<Parameter> {
    options.iter().map(|(name, ty)| Parameter { name: (*name).to_owned(), place: "query", ty }).collect()
}

const PRETTY: &[(&str, &str)] = &[("pretty", "string")];
const WRITE: &[(&str, &str)] = &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const FORCE: &[(&str, &str)] = &[("force", "boolean")];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const SELECT: &[(&str, &str)] = &[
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("shardSelector", "string"),
    ("timeoutSeconds", "integer"),
];
const WATCH: &[(&str, &str)] = &[("allowWatchBookmarks", "boolean"), ("watch", "boolean")];
const VERSION: &[(&str, &str)] = &[("resourceVersion", "string")];

/// Which forms the bodies take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    /// Built-in kinds: protobuf too.
    Builtin,
    /// Custom resources.
    Custom,
}

impl Forms {
    fn answers(self, streams: bool) -> &'static [&'static str] {
        match (self, streams) {
            (Self::Builtin, false) => &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"],
            (Self::Builtin, true) => &[
                "application/json",
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf",
                "application/vnd.kubernetes.protobuf;stream=watch",
                "application/yaml",
            ],
            (Self::Custom, _) => &["application/json", "application/yaml"],
        }
    }

    fn bodies(self) -> &'static [&'static str] {
        match self {
            Self::Builtin => &["*/*"],
            Self::Custom => &["application/json", "application/yaml"],
        }
    }

    fn patches(self) -> &'static [&'static str] {
        let all = &[
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ];
        match self {
            Self::Builtin => all,
            Self::Custom => &all[..3],
        }
    }
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    List,
    Post,
    DeleteCollection,
    Get,
    /// The log of a pod: text.
    Log,
    Put,
    Delete,
    Patch,
    WatchList,
    Watch,
    /// Something that is passed on to a node or a pod, with the method.
    Connect(&'static str),
}

impl Action {
    /// The method.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::List | Self::Get | Self::Log | Self::WatchList | Self::Watch => "get",
            Self::Post => "post",
            Self::DeleteCollection | Self::Delete => "delete",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Connect(method) => method,
        }
    }

    /// The value of `x-kubernetes-action`.
    fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::DeleteCollection => "deletecollection",
            Self::WatchList => "watchlist",
            Self::Watch => "watch",
            Self::Connect(_) => "connect",
            other => other.method(),
        }
    }

    fn parameters(self, forms: Forms) -> Vec<Parameter> {
        let custom = forms == Forms::Custom;
        let sets: &[&[(&str, &'static str)]] = match self {
            Self::List | Self::WatchList | Self::Watch => &[PRETTY, SELECT, WATCH],
            Self::DeleteCollection if custom => &[PRETTY, SELECT, WATCH],
            Self::DeleteCollection => &[PRETTY, SELECT, DELETE],
            Self::Get if custom => &[PRETTY, VERSION],
            Self::Get | Self::Log => &[PRETTY],
            Self::Post | Self::Put => &[PRETTY, WRITE],
            Self::Patch => &[PRETTY, WRITE, FORCE],
            Self::Delete => &[PRETTY, DELETE],
            Self::Connect(_) => &[],
        };
        sets.iter().flat_map(|set| query(set)).collect()
    }
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub action: Action,
    pub id: String,
    pub tag: &'a str,
    pub forms: Forms,
    /// The type of the body.
    pub body: String,
    /// The type of the answer.
    pub answer: String,
    /// Group, version and kind.
    pub kind: (&'a str, &'a str, &'a str),
    /// The options' type, of which each field is a parameter.
    pub options: Option<&'a str>,
}

impl Operation<'_> {
    /// All its parameters.
    pub(super) fn parameters(&self, table: &Table) -> Vec<Parameter> {
        let mut all = self.action.parameters(self.forms);
        let fields = self.options.and_then(|name| table.named(name)).map(|id| table.get(id).fields.as_slice());
        for field in fields.unwrap_or_default() {
            let of = match &field.ty {
                Type::List(of) => of,
                ty => ty,
            };
            let ty = match of {
                Type::String => "string",
                Type::Bool => "boolean",
                Type::Int32 | Type::Int64 => "integer",
                _ => continue,
            };
            if !matches!(&*field.name, "kind" | "apiVersion") {
                all.push(Parameter { name: field.name.to_string(), place: "query", ty });
            }
        }
        all
    }

    fn body(&self) -> Option<Value> {
        let whole = |types: &[&str], name: &str| json!({"content": content(types, &reference(name))});
        let (mut body, required) = match self.action {
            Action::Post | Action::Put => (whole(self.forms.bodies(), &self.body), true),
            Action::Patch => (whole(self.forms.patches(), &meta("Patch")), true),
            Action::DeleteCollection if self.forms == Forms::Custom => return None,
            Action::Delete | Action::DeleteCollection => (whole(self.forms.bodies(), &meta("DeleteOptions")), false),
            _ => return None,
        };
        if required {
            body["required"] = true.into();
        }
        Some(body)
    }

    fn responses(&self) -> Value {
        let codes: &[&str] = match self.action {
            Action::Post => &["200", "201", "202"],
            Action::Delete => &["200", "202"],
            Action::Patch if self.forms == Forms::Custom => &["200"],
            Action::Put | Action::Patch => &["200", "201"],
            _ => &["200"],
        };
        let streams = matches!(self.action, Action::List | Action::WatchList | Action::Watch);
        let content = match self.action {
            Action::Connect(_) => content(&["*/*"], &json!({"type": "string"})),
            Action::Log => {
                let mut content = content(self.forms.answers(false), &json!({"type": "string"}));
                content["text/plain"] = json!({"schema": {"type": "string"}});
                content
            }
            _ => content(self.forms.answers(streams), &reference(&self.answer)),
        };
        let mut all = Map::new();
        for code in codes {
            all.insert((*code).to_owned(), json!({"description": phrase(code), "content": content}));
        }
        all.insert("401".to_owned(), json!({"description": phrase("401")}));
        all.into()
    }

    /// The operation with these parameters: those that its path does not name for all.
    pub(super) fn to_value(&self, parameters: &[Parameter]) -> Value {
        let (group, version, kind) = self.kind;
        let mut value = json!({
            "tags": [self.tag], "operationId": self.id, "responses": self.responses(),
            "x-kubernetes-action": self.action.word(),
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        });
        if let Some(body) = self.body() {
            value["requestBody"] = body;
        }
        if !parameters.is_empty() {
            value["parameters"] = list(parameters);
        }
        value
    }
}

/// Parameters, by name.
pub(super) fn list(parameters: &[Parameter]) -> Value {
    let mut sorted = parameters.to_vec();
    sorted.sort();
    sorted.iter().map(Parameter::to_value).collect::<Vec<_>>().into()
}

/// A schema in each of these forms.
pub(super) fn content(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|ty| ((*ty).to_owned(), json!({"schema": schema}))).collect::<Map<_, _>>().into()
}

fn phrase(code: &str) -> &'static str {
    match code {
        "200" => "OK",
        "201" => "Created",
        "202" => "Accepted",
        _ => "Unauthorized",
    }
}

/// A document of one path that answers with one type, or with text.
pub(super) fn single(path: &str, tag: &str, id: &str, forms: &[&str], answer: Option<&str>) -> (String, Value) {
    let schema = answer.map_or_else(|| json!({"type": "string"}), reference);
    let operation = json!({
        "tags": [tag], "operationId": id,
        "responses": {
            "200": {"description": phrase("200"), "content": content(forms, &schema)},
            "401": {"description": phrase("401")},
        },
    });
    (path.to_owned(), json!({"get": operation}))
}
