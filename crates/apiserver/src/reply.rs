//! Answers: codes, headers, and the forms an object can take.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use plimsoll_engine::collections::Set;
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

/// How many characters of warnings an answer may have before each is cut, and what each is cut to; upstream's numbers.
const WARNINGS: usize = 4096;
const CUT_WARNING: usize = 256;

/// Adds `Warning` headers.
pub fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for text in told(warnings) {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// The warnings that are told: each once, none that is no header, and cut where they are too many.
fn told(warnings: &[String]) -> Vec<&str> {
    let mut seen = Set::default();
    let sent = |text: &&str| !text.is_empty() && !text.contains(char::is_control);
    let all: Vec<&str> = warnings.iter().map(String::as_str).filter(sent).filter(|text| seen.insert(*text)).collect();
    let mut total = 0;
    let over = all.iter().position(|text| {
        total += text.chars().count();
        total > WARNINGS
    });
    let Some(over) = over else { return all };
    // What came before the one that is too much is told in any case, cut as it is.
    let mut written = 0;
    let cut = all.into_iter().enumerate().map_while(|(i, text)| {
        if i > over && written >= WARNINGS {
            return None;
        }
        let end = text.char_indices().nth(CUT_WARNING).map_or(text.len(), |(end, _)| end);
        let text = text.get(..end).unwrap_or(text);
        written += text.chars().count();
        Some(text)
    });
    cut.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(warnings: &[String]) -> Vec<String> {
        let mut response = Response::new(Body::full(""));
        warn(&mut response, warnings);
        let all = response.headers().get_all(WARNING).iter();
        all.map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap()).collect()
    }

    #[test]
    fn warnings_are_told_once_and_in_any_letters() {
        let warnings = ["a \"b\" \\", "", "two\nlines", "über", "über"].map(str::to_owned);
        assert_eq!(headers(&warnings), [r#"299 - "a \"b\" \\""#, "299 - \"über\""]);
    }

    #[test]
    fn too_many_warnings_are_cut() {
        let long = |letter: &str| letter.repeat(1000);
        let four = ["a", "b", "c", "ä"].map(long);
        assert_eq!(told(&four), four);
        let five = ["a", "b", "c", "d", "ä"].map(long);
        assert_eq!(told(&five), ["a", "b", "c", "d", "ä"].map(|letter| letter.repeat(256)));
        let short: Vec<String> = (10_000..60_000).map(|i| format!("{i}{}", "x".repeat(251))).collect();
        assert_eq!(told(&short).len(), 17, "the first that is too much, and all before it");
        let tiny: Vec<String> = (10_000..60_000).map(|i| format!("{i}")).collect();
        assert_eq!(told(&tiny).len(), 820);
    }
}
