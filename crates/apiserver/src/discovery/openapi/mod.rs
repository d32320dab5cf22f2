//! OpenAPI v3 documents, made from the table and from the definitions of custom resources.
//!
//! Without descriptions: those are upstream's texts. Version 2 is made from version 3 when it is first asked for: kubectl does so for
//! kinds that version 3 does not have.

mod components;
mod custom;
mod document;
mod facts;
mod gnostic;
mod operation;
mod paths;
mod second;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, EXPIRES, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use plimsoll_schema::Table;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::body::Body;
use crate::core::Core;
use crate::registry::Registry;
use crate::reply;
use crate::request::Query;

const ROOT: &str = "/openapi/v3";
const SECOND: &str = "/openapi/v2";
const JSON: &str = "application/json";
/// Clients write the first, for which servers have always answered with the second.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// All documents of a registry, by their place under `/openapi/v3/`, and the index of them.
#[derive(Debug)]
pub struct Documents {
    index: Bytes,
    all: BTreeMap<String, Arc<Document>>,
    second: OnceLock<Second>,
}

/// Version 2, in both forms.
#[derive(Debug)]
struct Second {
    json: Arc<Document>,
    protobuf: Bytes,
}

/// A document as it is sent.
#[derive(Debug)]
struct Document {
    bytes: Bytes,
    hash: String,
}

/// The documents of the built-in kinds: the same in every registry, so that a new definition costs only its own.
static BUILTIN: LazyLock<BTreeMap<String, Arc<Document>>> = LazyLock::new(|| {
    let table = Table::builtin();
    let registry = Registry::new(Vec::new());
    let mut all: Vec<(String, Value)> = document::fixed(&table);
    for group in registry.groups() {
        if !group.group.is_empty() {
            all.push(document::group(&table, &group.group));
        }
        all.push(document::version(&table, &registry, group));
    }
    all.into_iter().map(|(place, value)| (place, Document::new(&value))).collect()
});

impl Document {
    fn new(value: &Value) -> Arc<Self> {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        let hash = Sha512::digest(&bytes).iter().map(|b| format!("{b:02X}")).collect();
        Arc::new(Self { bytes: bytes.into(), hash })
    }
}

impl Documents {
    /// Makes the documents of all that is served.
    pub fn new(registry: &Registry) -> Self {
        let table = Table::builtin();
        let mut all = BUILTIN.clone();
        for group in registry.groups() {
            let custom = |resource: &plimsoll_schema::Resource| {
                let found = registry.find(&group.group, &group.version, &resource.resource);
                found.is_some_and(|served| served.custom.is_some())
            };
            if group.resources.iter().any(custom) {
                let (place, value) = document::version(&table, registry, group);
                all.insert(place, Document::new(&value));
            }
        }
        let paths: serde_json::Map<String, Value> = all
            .iter()
            .map(|(place, document)| (place.clone(), json!({"serverRelativeURL": address(place, &document.hash)})))
            .collect();
        let index = serde_json::to_vec(&json!({"paths": paths})).unwrap_or_default().into();
        Self { index, all, second: OnceLock::new() }
    }

    fn second(&self) -> &Second {
        self.second.get_or_init(|| {
            let third: Vec<Value> =
                self.all.values().filter_map(|document| serde_json::from_slice(&document.bytes).ok()).collect();
            let value = second::document(&third);
            Second { json: Document::new(&value), protobuf: gnostic::document(&value).into() }
        })
    }
}

fn address(place: &str, hash: &str) -> String {
    format!("{ROOT}/{place}?hash={hash}")
}

/// Answers `/openapi/v3` and the documents under it.
pub(super) fn answer(core: &Core, registry: &Registry, parts: &Parts) -> Option<Response<Body>> {
    let documents = registry.documents();
    let path = parts.uri.path();
    if path == ROOT {
        // Upstream's aggregator leaves the type to be guessed; so it is this one.
        return Some(reply::response(200, "text/plain; charset=utf-8", Body::full(documents.index.clone())));
    }
    if path == SECOND {
        return Some(answer_second(documents.second(), parts));
    }
    let place = path.strip_prefix(ROOT)?.strip_prefix('/')?;
    let Some(document) = documents.all.get(place) else {
        return Some(bare(StatusCode::NOT_FOUND));
    };
    if !takes_json(&parts.headers) {
        let mut response = bare(StatusCode::NOT_ACCEPTABLE);
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
        return Some(response);
    }
    let asked = Query::parse(parts.uri.query());
    let asked = asked.get("hash").filter(|hash| !hash.is_empty());
    Some(sent(document, place, asked, parts, core.clock.now()))
}

/// Version 2 in the first form that the client names.
fn answer_second(second: &Second, parts: &Parts) -> Response<Body> {
    let accept = parts.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let mut clauses = accept.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
    let form = clauses.find_map(|ty| match ty {
        ty if PROTOBUF.contains(&ty) => Some(PROTOBUF[1]),
        "" | JSON | "application/*" | "*/*" => Some(JSON),
        _ => None,
    });
    let tag = format!("\"{}\"", second.json.hash);
    let mut response = match form {
        None => bare(StatusCode::NOT_ACCEPTABLE),
        Some(form) if knows(&parts.headers, &tag) => reply::response(304, form, Body::empty()),
        Some(JSON) => reply::response(200, JSON, Body::full(second.json.bytes.clone())),
        Some(form) => reply::response(200, form, Body::full(second.protobuf.clone())),
    };
    insert(&mut response, VARY, "Accept");
    if form.is_some() {
        insert(&mut response, ETAG, &tag);
    }
    response
}

fn sent(document: &Document, place: &str, asked: Option<&str>, parts: &Parts, now: Timestamp) -> Response<Body> {
    let tag = format!("\"{}\"", document.hash);
    let mut response = match asked {
        Some(hash) if hash != document.hash => {
            let mut response = reply::response(301, JSON, Body::empty());
            insert(&mut response, LOCATION, &address(place, &document.hash));
            response
        }
        _ if knows(&parts.headers, &tag) => reply::response(304, JSON, Body::empty()),
        _ => reply::response(200, JSON, Body::full(document.bytes.clone())),
    };
    insert(&mut response, VARY, "Accept");
    insert(&mut response, ETAG, &tag);
    if asked == Some(document.hash.as_str()) {
        // Under its hash a document never changes.
        insert(&mut response, CACHE_CONTROL, "public, immutable");
        if let Ok(year) = now.checked_add(SignedDuration::from_hours(365 * 24)) {
            insert(&mut response, EXPIRES, &year.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string());
        }
    }
    response
}

fn insert(response: &mut Response<Body>, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// An answer without a body or a type.
fn bare(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    insert(&mut response, CACHE_CONTROL, "no-cache, private");
    response
}

fn knows(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(IF_NONE_MATCH).and_then(|v| v.to_str().ok()).unwrap_or_default();
    known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

/// JSON is the one form there is; clients that ask for protobuf first name JSON as well.
fn takes_json(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(ACCEPT) else { return true };
    let accept = accept.to_str().unwrap_or_default();
    let clauses = accept.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
    accept.is_empty() || clauses.into_iter().any(|ty| matches!(ty, JSON | "application/*" | "*/*"))
}
