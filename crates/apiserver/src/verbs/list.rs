//! list: all objects that a selector picks, whole or in pages.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::body::Body;
use crate::columns::Content;
use crate::field::FieldError;
use crate::reply::{self, Reply};
use crate::request::{Format, ListOptions, Transform};
use crate::selectors::Filter;
use crate::status::{Cause, Details, Status};
use crate::store::{List, ListRequest, Object, RevisionError};
use crate::strategy;
use crate::verbs::Call;

/// How much of a list is put into one piece: large enough to be cheap, small enough not to hold the whole twice.
const PIECE: usize = 256 << 10;

/// What a `continue` parameter holds. The form is upstream's.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Continue {
    v: String,
    rv: i64,
    start: String,
}

impl Call {
    pub(super) fn list(&mut self) -> Result<Reply, Status> {
        let options = ListOptions::parse(&self.query)?;
        let filter = self.filter(&options)?;
        check(&options, false)?;
        let list = self.find(&options, &filter)?;
        let metadata = self.list_metadata(&list, &options);
        self.render(&list.items, metadata).map(Reply::Whole)
    }

    /// The selectors of this request.
    pub(super) fn filter(&self, options: &ListOptions) -> Result<Filter, Status> {
        let custom = self.served.custom.clone();
        let general =
            |field: &str| field == "metadata.name" || (field == "metadata.namespace" && self.served.namespaced());
        let filter = Filter::parse(&options.label_selector, &options.field_selector, |field| match &custom {
            Some(custom) if general(field) || custom.is_selectable(field) => Ok(field.to_owned()),
            Some(_) => Err(format!("field label not supported: {field}")),
            None => strategy::field_label(self.served.kind(), field).map(str::to_owned),
        })?;
        Ok(filter.of_custom(self.served.custom.clone()))
    }

    /// The objects asked for.
    pub(super) fn find(&self, options: &ListOptions, filter: &Filter) -> Result<List, Status> {
        let store = &self.core.store;
        let namespace = Some(self.scope()).filter(|n| !n.is_empty());
        let limit = usize::try_from(options.limit).ok().filter(|l| *l > 0);
        let mut request = ListRequest { namespace, limit, ..ListRequest::default() };
        let start;
        if options.continue_token.is_empty() {
            let blamed = |status: Status| Status::bad_request(format!("invalid resource version: {}", status.message));
            if let Some(version) = options.version().map_err(blamed)?.filter(|v| *v > 0) {
                let current = store.revision();
                if version > current {
                    return Err(too_large(version, current));
                }
                // A limit with a version but no match means exactly that version, from the time before there was a match.
                if options.version_match == "Exact" || (options.version_match.is_empty() && limit.is_some()) {
                    request.at = Some(version);
                }
            }
        } else {
            let token = decode_token(&options.continue_token)?;
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            request.at = u64::try_from(token.rv).ok().filter(|rv| *rv > 0);
            start = match namespace {
                Some(namespace) => (namespace.to_owned(), token.start),
                None => match token.start.split_once('/') {
                    Some((namespace, name)) if self.served.namespaced() => (namespace.to_owned(), name.to_owned()),
                    _ => (String::new(), token.start),
                },
            };
            request.start_after = Some((&start.0, &start.1));
            return self.read(&request, filter, options);
        }
        self.read(&request, filter, options)
    }

    fn read(&self, request: &ListRequest<'_>, filter: &Filter, options: &ListOptions) -> Result<List, Status> {
        // One name is one look-up, not a walk.
        if let Some(name) = filter.name()
            && (request.namespace.is_some() || !self.served.namespaced())
            && request.at.is_none()
            && request.start_after.is_none()
        {
            let revision = self.core.store.revision();
            let object = self.core.store.get(&self.served.key, self.scope(), name).filter(|o| filter.matches(o));
            return Ok(List { revision, items: object.into_iter().collect(), more: false, remaining: None });
        }
        let found = if filter.is_empty() {
            self.core.store.list(&self.served.key, request)
        } else {
            self.core.store.list_filtered(&self.served.key, request, |object| filter.matches(object))
        };
        found.map_err(|error| match error {
            RevisionError::Future { current } => too_large(request.at.unwrap_or_default(), current),
            RevisionError::TooOld { .. } if request.start_after.is_some() => self.token_too_old(request),
            RevisionError::TooOld { oldest } => {
                let _ = options;
                Status::expired(format!("The resourceVersion for the provided list is too old. (oldest {oldest})"))
            }
        })
    }

    /// The 410 of a list that cannot be continued as it began, with a token to go on all the same.
    fn token_too_old(&self, request: &ListRequest<'_>) -> Status {
        // A version that was never given asks for what is there now.
        let start = request.start_after.map(|(namespace, name)| {
            let within = request.namespace.is_some() || namespace.is_empty();
            if within { name.to_owned() } else { format!("{namespace}/{name}") }
        });
        let mut status = Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the \
             continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with \
             the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the \
             first chunk was returned and now may show up in the list.",
        );
        let continue_token = encode_token(&start.unwrap_or_default(), -1);
        status.details = Some(Box::new(Details { continue_token, ..Details::default() }));
        status
    }

    fn list_metadata(&self, list: &List, options: &ListOptions) -> Value {
        let mut metadata = json!({"resourceVersion": list.revision.to_string()});
        if list.more
            && let Some(last) = list.items.last()
        {
            let within = !self.scope().is_empty() || !self.served.namespaced();
            let start = if within { last.name().to_owned() } else { last.path().to_owned() };
            metadata["continue"] = encode_token(&start, i64::try_from(list.revision).unwrap_or(i64::MAX)).into();
            let unfiltered = options.label_selector.is_empty() && options.field_selector.is_empty();
            if let Some(remaining) = list.remaining.filter(|_| unfiltered) {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        metadata
    }

    /// A list in the form asked for.
    pub(super) fn render(&self, items: &[Arc<Object>], metadata: Value) -> Result<http::Response<Body>, Status> {
        let plain = self.accept.transform == Transform::None
            && self.accept.format == Format::Json
            && !self.accept.pretty
            && self.served.shown_as_stored();
        if plain {
            return Ok(reply::response(200, "application/json", Body::pieces(self.pieces(items, &metadata))));
        }
        let values: Result<Vec<Value>, Status> = items.iter().map(|o| self.core.value(&self.served, o)).collect();
        let values = values?;
        let include = self.query.get("includeObject").unwrap_or_default();
        let body = match self.accept.transform {
            Transform::Table => {
                let content = Content::List { items: &values, metadata: &metadata };
                reply::table(&self.core, &self.served, content, include, true)
            }
            Transform::Metadata => json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": values.iter().map(reply::metadata_only).collect::<Vec<_>>(),
            }),
            Transform::None => {
                let items =
                    values.into_iter().map(|value| if self.served.custom.is_some() { value } else { untyped(value) });
                let mut metadata = metadata;
                // Lists of custom resources say even that they end here.
                if self.served.custom.is_some() && metadata["continue"].is_null() {
                    metadata["continue"] = "".into();
                }
                json!({
                    "kind": self.served.list_kind(), "apiVersion": self.served.api_version(), "metadata": metadata,
                    "items": items.collect::<Vec<_>>(),
                })
            }
        };
        Ok(reply::encoded(200, &body, self.accept))
    }

    /// The stored bytes, one after the other: nothing is decoded.
    fn pieces(&self, items: &[Arc<Object>], metadata: &Value) -> VecDeque<Bytes> {
        let mut pieces = VecDeque::new();
        let mut piece = BytesMut::with_capacity(PIECE.min(256 + items.iter().map(|i| i.bytes.len()).sum::<usize>()));
        let head = format!(
            r#"{{"kind":"{}","apiVersion":"{}","metadata":{metadata},"items":["#,
            self.served.list_kind(),
            self.served.api_version()
        );
        piece.extend_from_slice(head.as_bytes());
        // The items of a built-in list do not repeat their kind, as upstream has it; custom ones do.
        let skip = if self.served.custom.is_some() { 1 } else { self.served.head.len() };
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                piece.extend_from_slice(b",");
            }
            piece.extend_from_slice(b"{");
            piece.extend_from_slice(item.bytes.get(skip..).unwrap_or_default());
            if piece.len() >= PIECE {
                pieces.push_back(piece.split().freeze());
            }
        }
        piece.extend_from_slice(b"]}\n");
        pieces.push_back(piece.freeze());
        pieces
    }
}

/// An item of a built-in list.
pub(super) fn untyped(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    value
}

/// A token that goes on behind this name.
fn encode_token(start: &str, rv: i64) -> String {
    let token = Continue { v: "meta.k8s.io/v1".into(), rv, start: format!("{start}\0") };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// As Go says it: where the first character stands that is none of the alphabet, or the one that is left over.
fn not_base64(token: &str) -> String {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let at = token.bytes().position(|byte| !known(byte)).unwrap_or(token.len().saturating_sub(1));
    format!("illegal base64 data at input byte {at}")
}

fn decode_token(token: &str) -> Result<Continue, Status> {
    let invalid = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid(&not_base64(token)))?;
    let (value, _) = plimsoll_schema::decode::parse(&bytes).map_err(|error| invalid(&error.to_string()))?;
    let mut token: Continue = match value {
        Value::Null => Continue::default(),
        Value::Object(_) => serde_json::from_value(value).map_err(|error| invalid(&error.to_string()))?,
        other => {
            let what = crate::patch::json_kind(&other);
            return Err(invalid(&format!("json: cannot unmarshal {what} into Go value of type storage.continueToken")));
        }
    };
    if token.v != "meta.k8s.io/v1" {
        return Err(invalid(&format!("server does not recognize this encoded version {}", token.v)));
    }
    if token.rv == 0 {
        return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
    }
    if token.start.is_empty() {
        return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
    }
    // A key must not lead out of its resource.
    let start = token.start.trim_start_matches('/');
    if start.is_empty() || start.split('/').any(|part| matches!(part, "." | ".." | "")) {
        return Err(invalid(&token.start));
    }
    // The key of the last object and a zero byte: the next key there can be.
    token.start = start.trim_end_matches('\0').to_owned();
    Ok(token)
}

/// 504: a version that does not exist yet.
pub(super) fn too_large(asked: u64, current: u64) -> Status {
    let mut status =
        Status::new(504, "Timeout", format!("Timeout: Too large resource version: {asked}, current: {current}"));
    status.details = Some(Box::new(Details {
        retry_after_seconds: 1,
        causes: vec![Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        }],
        ..Details::default()
    }));
    status
}

/// Options that contradict each other.
pub(super) fn check(options: &ListOptions, watch: bool) -> Result<(), Status> {
    let mut errors = Vec::new();
    let match_field = "resourceVersionMatch";
    let matching = options.version_match.as_str();
    if watch {
        if !options.continue_token.is_empty() {
            errors.push(FieldError::forbidden(
                match_field,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        match options.send_initial_events {
            Some(_) if matching != "NotOlderThan" => {
                errors.push(FieldError::forbidden(
                    match_field,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
            None if !matching.is_empty() => {
                errors.push(FieldError::forbidden(
                    match_field,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            _ => {}
        }
        if !matches!(matching, "" | "NotOlderThan") {
            errors.push(FieldError::not_supported(match_field, &matching.into(), &["NotOlderThan"]));
        }
    } else {
        if !matching.is_empty() {
            if options.resource_version.is_empty() {
                errors.push(FieldError::forbidden(
                    match_field,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !options.continue_token.is_empty() {
                errors.push(FieldError::forbidden(
                    match_field,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(match_field, &matching.into(), &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && options.resource_version == "0" {
                errors.push(FieldError::forbidden(
                    match_field,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if options.send_initial_events.is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors)) }
}

/// Marks an object that carries nothing but a version.
pub(super) fn bare(api_version: &str, kind: &str, revision: u64, ends_initial: bool) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), revision.to_string().into());
    if ends_initial {
        metadata.insert("annotations".into(), json!({"k8s.io/initial-events-end": "true"}));
    }
    json!({"kind": kind, "apiVersion": api_version, "metadata": metadata})
}
