//! Scenarios as files: what is asked, in order. What must be answered is not in them: the real server says that.
//!
//! ```yaml
//! about: why this is asked
//! steps:
//! - do: POST /api/v1/namespaces/${ns}/configmaps      # METHOD path?query
//!   body: {metadata: {name: a}}                       # or raw: '{"as it is'
//!   keep: {version: /metadata/resourceVersion}        # for ${version} in later steps
//! - do: POST /api/v1/namespaces/${ns}/configmaps?dryRun=All
//!   body: {metadata: {name: a}}
//!   until: {/code: 409}                               # asked again until the answer has this: what was written is acted upon later
//! - watch: w                                          # opens a watch named w
//!   do: GET /api/v1/namespaces/${ns}/configmaps?watch=true&resourceVersion=${version}
//! - read: w                                           # its next events
//!   count: 1
//! ```
//!
//! Every scenario has a namespace of its own, `${ns}`. A step with `each: [a, b]` stands for two steps, with `${each}` in them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::files;

/// A named list of steps.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The file's name without `.yaml`.
    pub name: String,
    /// The steps, with `each` taken apart.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[allow(dead_code, reason = "for the reader of the file; here it is only checked that it is there")]
    about: String,
    steps: Vec<Step>,
}

/// One request, or the events of a watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Step {
    /// `METHOD path?query`.
    #[serde(rename = "do")]
    pub call: String,
    /// The user; `none` sends no token, `stranger` one that nobody has.
    #[serde(rename = "as")]
    pub user: Option<String>,
    /// The body, sent as JSON.
    pub body: Option<Value>,
    /// The body, sent as it is.
    pub raw: Option<String>,
    /// `Content-Type`; `application/json` unless told.
    pub content_type: Option<String>,
    /// `Accept`; `application/json` unless told.
    pub accept: Option<String>,
    /// `User-Agent`, from which the field manager follows.
    pub user_agent: Option<String>,
    /// Further headers.
    pub headers: BTreeMap<String, String>,
    /// The answer is a stream; this is its name.
    pub watch: Option<String>,
    /// Reads from the stream of this name.
    pub read: Option<String>,
    /// How many events are read.
    pub count: usize,
    /// Whether the stream must end after them.
    pub ends: bool,
    /// Whether nothing more may come for a moment.
    pub quiet: bool,
    /// Texts of the answer's body that later steps use: name to JSON pointer.
    pub keep: BTreeMap<String, String>,
    /// Arrays of the body whose order says nothing: JSON pointers.
    pub unordered: Vec<String>,
    /// Only these parts of the body are compared: JSON pointers.
    pub only: Vec<String>,
    /// Asked again until the body has this: JSON pointer to value.
    pub until: BTreeMap<String, Value>,
    /// The step is taken once for each of these.
    pub each: Vec<String>,
}

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let (name, file): (String, File) = files::read(path)?;
        let mut steps = Vec::new();
        for step in file.steps {
            if step.call.is_empty() == step.read.is_none() {
                bail!("{}: a step either does something or reads a watch: {step:?}", path.display());
            }
            if step.each.is_empty() {
                steps.push(step);
                continue;
            }
            for each in &step.each {
                steps.push(step.filled(&BTreeMap::from([("each".to_owned(), each.clone())])));
            }
        }
        Ok(Self { name, steps })
    }

    /// All scenarios of a folder, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut paths = files::of_folder(folder)?;
        paths.retain(|path| !path.ends_with(crate::compare::KNOWN));
        paths.iter().map(|path| Self::read(path)).collect()
    }
}

impl Step {
    /// The step with `${name}` replaced.
    pub fn filled(&self, values: &BTreeMap<String, String>) -> Self {
        let text = |text: &str| fill(text, values);
        Self {
            call: text(&self.call),
            body: self.body.as_ref().map(|body| fill_value(body, values)),
            raw: self.raw.as_deref().map(text),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            each: Vec::new(),
            ..self.clone()
        }
    }
}

fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = text.to_owned();
    for (name, value) in values {
        out = out.replace(&format!("${{{name}}}"), value);
    }
    out
}

fn fill_value(value: &Value, values: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => fill(text, values).into(),
        Value::Array(items) => items.iter().map(|item| fill_value(item, values)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (fill(name, values), fill_value(value, values))).collect()
        }
        other => other.clone(),
    }
}
