//! Answers: codes, headers, and the forms an object can take.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use plimsoll_schema::{Schema, Table, Type, protobuf};
use serde_json::{Value, json};

use crate::body::Body;
use crate::columns::{self, Content};
use crate::core::Core;
use crate::registry::Served;
use crate::request::{Accept, Format, Transform};
use crate::status::Status;

/// A successful answer, before it takes its form.
pub enum Reply {
    /// An object of the resource, as it is stored.
    Stored(u16, std::sync::Arc<crate::store::Object>),
    /// An object of the resource, in the version asked for.
    Object(u16, Value),
    /// An object of another kind, whose `kind` and `apiVersion` say which.
    Other(u16, Value),
    /// A whole answer.
    Whole(Response<Body>),
}

/// An empty answer with its headers.
pub fn response(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    response
}

/// A refusal.
pub fn refusal(status: &Status, accept: Accept) -> Response<Body> {
    let accept = Accept { transform: Transform::None, ..accept };
    let mut response = encoded(status.code, &status.to_value(), accept);
    if status.code == 403 {
        response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    let retry = status.details.as_ref().map_or(0, |d| d.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// Any object that says what it is.
pub fn encoded(code: u16, value: &Value, accept: Accept) -> Response<Body> {
    let (bytes, format) = match accept.format {
        Format::Protobuf => match to_protobuf(value) {
            Some(bytes) => (bytes, Format::Protobuf),
            None => (to_json(value, accept.pretty), Format::Json),
        },
        format => (to_text(value, format, accept.pretty), format),
    };
    response(code, format.media_type(), Body::full(bytes))
}

/// JSON or YAML.
pub fn to_text(value: &Value, format: Format, pretty: bool) -> Bytes {
    match format {
        Format::Yaml => serde_saphyr::to_string(value).unwrap_or_default().into(),
        _ => to_json(value, pretty),
    }
}

fn to_json(value: &Value, pretty: bool) -> Bytes {
    if pretty {
        return serde_json::to_vec_pretty(value).unwrap_or_default().into();
    }
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    text.into()
}

/// Protobuf by the built-in table; none for kinds that have no protobuf form.
pub fn to_protobuf(value: &Value) -> Option<Bytes> {
    let (api_version, kind) = (value["apiVersion"].as_str()?, value["kind"].as_str()?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let table = Table::builtin();
    let raw = match (api_version, kind) {
        ("meta.k8s.io/v1", "PartialObjectMetadata" | "PartialObjectMetadataList") => {
            protobuf::encode_partial_metadata(&table, value)
        }
        ("v1", "Status") => {
            let ty = Type::Struct(table.named("io.k8s.apimachinery.pkg.apis.meta.v1.Status")?);
            protobuf::encode_message(Schema::new(&table, &ty), value)
        }
        _ => {
            let ty = Type::Struct(table.kind(group, version, kind)?);
            protobuf::encode_message(Schema::new(&table, &ty), value)
        }
    };
    Some(protobuf::encode(api_version, kind, &raw).into())
}

/// One object of a resource in the form asked for.
pub fn object(
    core: &Core,
    served: &Served,
    code: u16,
    value: Value,
    accept: Accept,
    query_include: &str,
) -> Response<Body> {
    let value = match accept.transform {
        Transform::None => value,
        Transform::Metadata => metadata_only(&value),
        Transform::Table => table(core, served, Content::One(&value), query_include, true),
    };
    encoded(code, &value, accept)
}

/// An object of another kind than the resource's; scales have columns of their own, and refusals none.
pub fn other(core: &Core, code: u16, value: Value, accept: Accept, include: &str) -> Response<Body> {
    let scale = value["kind"] == "Scale";
    let value = match accept.transform {
        Transform::Metadata if scale => metadata_only(&value),
        Transform::Table if scale => {
            let kind = crate::kind::Kind::new("autoscaling", "v1", "Scale");
            let include = columns::Include::from_query(include).unwrap_or_default();
            let options = columns::TableOptions { include, headers: true, ..columns::TableOptions::default() };
            columns::object_table(kind, Content::One(&value), options, core.clock.now())
        }
        _ => value,
    };
    encoded(code, &value, accept)
}

/// An object's metadata, as `PartialObjectMetadata`.
pub fn metadata_only(value: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]})
}

/// A table of objects; `headers` is no for the later events of a watch.
pub fn table(core: &Core, served: &Served, content: Content<'_>, include: &str, headers: bool) -> Value {
    let include = columns::Include::from_query(include).unwrap_or_default();
    let options = columns::TableOptions { include, headers, ..columns::TableOptions::default() };
    match &served.custom {
        Some(custom) => columns::custom_table(&custom.columns, content, options, core.clock.now()),
        None => columns::object_table(served.kind(), content, options, core.clock.now()),
    }
}

/// Adds `Warning` headers.
pub fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for text in warnings {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}
