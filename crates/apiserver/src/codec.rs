//! Between wire, `Value` and store.

mod order;

use bytes::Bytes;
use plimsoll_schema::decode::{self, Report};
use plimsoll_schema::{Schema, Type, protobuf};
use serde_json::Value;

use crate::custom::CustomResource;
use crate::registry::Served;
use crate::request::Format;
use crate::request::options::FieldValidation;
use crate::status::Status;
use crate::store::Meta;

/// What a request's body said: its object in canonical form, and what was dropped.
#[derive(Debug)]
pub struct Decoded {
    /// The object.
    pub object: Value,
    /// `unknown field "spec.foo"` and the like, for `Warning` headers.
    pub warnings: Vec<String>,
}

/// The type that a body must be of: a resource's own, or that of one of its parts.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The group of the kind.
    pub group: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// Its type.
    pub schema: Schema<'a>,
    /// What it is as a custom resource, if it is one.
    pub custom: Option<&'a CustomResource>,
}

impl<'a> From<&'a Served> for Expected<'a> {
    fn from(served: &'a Served) -> Self {
        Self {
            group: &served.group,
            version: &served.version,
            kind: &served.kind,
            schema: served.schema(),
            custom: served.custom.as_deref(),
        }
    }
}

/// Reads a body.
pub fn body(
    bytes: &[u8],
    format: Format,
    expected: Expected<'_>,
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    let unrecognized = |why: String| {
        Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why}", expected.kind))
    };
    let (value, mut problems) = match format {
        Format::Json => decode::parse(bytes).map_err(|error| {
            unrecognized(format!("couldn't get version/kind; json parse error: {error} ({})", excerpt(bytes)))
        })?,
        Format::Yaml => {
            (yaml(bytes).map_err(|error| unrecognized(format!("{error} ({})", excerpt(bytes))))?, Vec::new())
        }
        Format::Protobuf => {
            let unread = |error: String| unrecognized(format!("{error} ({})", excerpt(bytes)));
            (from_protobuf(bytes, expected).map_err(unread)?, Vec::new())
        }
    };
    if format != Format::Protobuf {
        heading(&value).map_err(|why| {
            unrecognized(format!("couldn't get version/kind; json parse error: {why} ({})", excerpt(bytes)))
        })?;
    }
    if let Some(version) = value["apiVersion"].as_str().filter(|version| version.matches('/').count() > 1) {
        return Err(unrecognized(format!("unexpected GroupVersion string: {version} ({})", excerpt(bytes))));
    }
    // Any kind can be a custom resource's, so that none is assumed.
    if expected.custom.is_some() && value["kind"].as_str().unwrap_or_default().is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(bytes));
        return Err(unrecognized(format!("{why} ({})", excerpt(bytes))));
    }
    let object = typed(value, expected, &mut problems)?;
    // Custom resources are checked part by part, and told so.
    if format == Format::Json && problems.len() > 1 && expected.custom.is_none() {
        order::as_written(bytes, &mut problems);
    }
    strict(problems, expected, validation).map(|warnings| Decoded { object, warnings })
}

/// Kind and version are read before the rest, so it is they that are named where they cannot be read.
pub fn heading(value: &Value) -> Result<(), String> {
    let go = |value: &Value| match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        _ => "bool",
    };
    match value {
        Value::Null => Ok(()),
        Value::Object(fields) => {
            for name in ["apiVersion", "kind"] {
                if let Some(value) = fields.get(name).filter(|value| !value.is_string() && !value.is_null()) {
                    return Err(format!(
                        "json: cannot unmarshal {} into Go struct field .{name} of type string",
                        go(value)
                    ));
                }
            }
            Ok(())
        }
        other => Err(format!(
            r#"json: cannot unmarshal {} into Go value of type struct {{ APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }}"#,
            go(other)
        )),
    }
}

/// A parsed object of the expected kind, in canonical form.
pub fn typed(mut value: Value, expected: Expected<'_>, problems: &mut Vec<String>) -> Result<Value, Status> {
    if let Some(custom) = expected.custom {
        return custom.decode(value, problems);
    }
    let cannot = |why: String| {
        let (kind, version) = (expected.kind, expected.version);
        Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
    };
    let api_version = crate::kind::Kind::new(expected.group, expected.version, expected.kind).api_version();
    if let Some(object) = value.as_object_mut() {
        for (name, ours) in [("kind", expected.kind), ("apiVersion", &*api_version)] {
            match object.get(name) {
                None | Some(Value::Null) => {
                    object.insert(name.into(), ours.into());
                }
                Some(Value::String(text)) if text.is_empty() => {
                    object.insert(name.into(), ours.into());
                }
                Some(_) => {}
            }
        }
        let found = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, version) = (found("kind"), found("apiVersion"));
        if kind != expected.kind || version != api_version {
            return Err(other_kind(&kind, &version, expected, &api_version));
        }
    }
    let mut report = Report::default();
    let disowned = disowns(&value);
    let mut object =
        decode::canonical(expected.schema, value, &mut report).map_err(|error| cannot(error.to_string()))?;
    if disowned {
        object["metadata"]["managedFields"] = Value::Array(Vec::new());
    }
    let kind = crate::kind::Kind::new(expected.group, expected.version, expected.kind);
    if let Some(why) = crate::defaults::inconvertible(kind, &object) {
        return Err(cannot(why));
    }
    report.problems.append(problems);
    *problems = report.problems;
    Ok(object)
}

/// An empty list of owners is no absent one: it asks for all ownership to be forgotten.
pub(crate) fn disowns(value: &Value) -> bool {
    value.pointer("/metadata/managedFields").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

fn other_kind(kind: &str, api_version: &str, expected: Expected<'_>, ours: &str) -> Status {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = plimsoll_schema::Table::builtin().kind(group, version, kind).is_some();
    if known && kind == expected.kind && group == expected.group {
        return Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({ours})"
        ));
    }
    if known {
        let package = expected.group.split('.').next().filter(|g| !g.is_empty()).unwrap_or("core");
        return Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {}: converting ({version}.{kind}) to ({package}.{}): unknown conversion",
            expected.kind, expected.kind
        ));
    }
    if expected.custom.is_some() && kind == expected.kind && group == expected.group {
        return Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({ours})"
        ));
    }
    Status::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {}: no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\"",
        expected.kind
    ))
}

/// Refuses, warns or keeps quiet about what was dropped.
pub fn strict(
    problems: Vec<String>,
    expected: Expected<'_>,
    validation: FieldValidation,
) -> Result<Vec<String>, Status> {
    match validation {
        FieldValidation::Strict if !problems.is_empty() => {
            let (kind, version) = (expected.kind, expected.version);
            Err(Status::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {}",
                problems.join(", ")
            )))
        }
        FieldValidation::Ignore => Ok(Vec::new()),
        _ => Ok(problems),
    }
}

/// The beginning of a body that could not be read, as upstream shows it: what does not look like JSON as numbers.
fn excerpt(bytes: &[u8]) -> String {
    match bytes.len() {
        0 => "<empty>".into(),
        length => {
            let (shown, more) = if length > 30 { (&bytes[..30], " ...") } else { (bytes, "") };
            let text = match shown.first() {
                Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
                _ => shown.iter().map(|b| format!("{b:02x}")).collect(),
            };
            text + more
        }
    }
}

/// YAML as JSON: the first document, and the last of two values of one key, as upstream reads it. The sentence of a syntax error is the
/// parser's, in upstream's frame.
pub fn yaml(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins };
    let mut documents: Vec<Value> = serde_saphyr::from_str_multiple_with_options(text, options)
        .map_err(|error| yaml_complaint(&error.to_string()))?;
    Ok(if documents.is_empty() { Value::Null } else { documents.swap_remove(0) })
}

/// What is wrong with a YAML document, on one line, in upstream's words where there are any for it.
fn yaml_complaint(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let known = [
        ("budget breached", "document contains excessive aliasing"),
        ("recursion limit", "exceeded max depth of 10000"),
    ];
    if let Some((_, words)) = known.iter().find(|(mark, _)| line.contains(mark)) {
        return format!("yaml: {words}");
    }
    // Upstream's parser tells the line and not the column.
    match line.split_once(": ").and_then(|(place, why)| Some((place.strip_prefix("line ")?.split(' ').next()?, why))) {
        Some((number, why)) => format!("yaml: line {number}: {why}"),
        None => format!("yaml: {line}"),
    }
}

/// A body in protobuf, of the kind and version that its envelope names.
pub fn from_protobuf(bytes: &[u8], expected: Expected<'_>) -> Result<Value, String> {
    let envelope = protobuf::decode(bytes).map_err(|error| error.to_string())?;
    let mut value = protobuf::decode_message(expected.schema, envelope.raw).map_err(|error| error.to_string())?;
    value["kind"] = envelope.kind.into();
    value["apiVersion"] = envelope.api_version.into();
    Ok(value)
}

/// An object's canonical form again, after defaults or a patch; what is unknown is dropped in silence.
pub fn recanonical(served: &Served, object: Value) -> Result<Value, Status> {
    let disowned = disowns(&object);
    let mut object = decode::canonical(served.schema(), object, &mut Report::default())
        .map_err(|e| Status::internal(e.to_string()))?;
    if disowned {
        object["metadata"]["managedFields"] = Value::Array(Vec::new());
    }
    Ok(object)
}

/// An object ready to be stored: encoded, but for the revision that it will get.
pub struct Encoded {
    before: Vec<u8>,
    after: Vec<u8>,
    /// What selectors ask for.
    pub meta: Meta,
}

impl Encoded {
    /// Encodes an object of the stored version: kind, version, metadata, then the rest. The revision stands last in the metadata, so that
    /// it can be put in without looking for its place.
    pub fn new(served: &Served, object: Value, meta: Meta) -> Result<Self, Status> {
        let Value::Object(mut fields) = object else { return Err(Status::internal("the object is none")) };
        fields.remove("kind");
        fields.remove("apiVersion");
        let mut metadata = match fields.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => serde_json::Map::new(),
        };
        metadata.remove("resourceVersion");
        let broken = |error: serde_json::Error| Status::internal(error.to_string());

        let mut before = served.head.clone().into_bytes();
        before.extend_from_slice(br#""metadata":"#);
        serde_json::to_writer(&mut before, &metadata).map_err(broken)?;
        before.pop();
        if !metadata.is_empty() {
            before.push(b',');
        }
        before.extend_from_slice(br#""resourceVersion":""#);

        let mut after = br#""}"#.to_vec();
        let rest = serde_json::to_vec(&fields).map_err(broken)?;
        if !fields.is_empty() {
            after.push(b',');
        }
        after.extend_from_slice(&rest[1..]);
        Ok(Self { before, after, meta })
    }

    /// The bytes with the revision in its place.
    pub fn stamp(&self, revision: u64) -> Bytes {
        let digits = revision.to_string();
        let mut out = Vec::with_capacity(self.before.len() + digits.len() + self.after.len());
        out.extend_from_slice(&self.before);
        out.extend_from_slice(digits.as_bytes());
        out.extend_from_slice(&self.after);
        out.into()
    }
}

/// A stored object.
pub fn stored(bytes: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(bytes).map_err(|error| Status::internal(format!("a stored object cannot be read: {error}")))
}

/// The type of a struct of the built-in table, for bodies of subresources.
pub fn builtin_type(group: &str, version: &str, kind: &str) -> Option<Type> {
    plimsoll_schema::Table::builtin().kind(group, version, kind).map(Type::Struct)
}
