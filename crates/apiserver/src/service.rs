//! Requests in, answers out: who asks, what for, may they, and which verb does it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{ACCEPT, AUTHORIZATION};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};

use crate::auth::{Attributes, User};
use crate::body::Body;
use crate::core::Core;
use crate::registry::Registry;
use crate::reply::{self, Reply};
use crate::request::accept::Offer;
use crate::request::path::{ResourcePath, unfit_name, well_escaped};
use crate::request::{Accept, Query, Target, Transform};
use crate::status::Status;
use crate::verbs::{Call, Verb};
use crate::{columns, discovery, health, strategy};

/// The largest body that is read, as upstream has it.
pub const LARGEST_BODY: usize = 3 << 20;
/// How long a client may take to send a body: upstream's time for a whole request.
const LONGEST_BODY: Duration = Duration::from_secs(60);

/// The API as a tower service: under a listener, or under a `kube::Client` in the same process.
#[derive(Debug, Clone)]
pub struct ApiService {
    core: Arc<Core>,
    /// Who asks when the request does not say: in process there is nobody to prove anything to.
    trusted: Option<Arc<User>>,
}

impl ApiService {
    /// For requests that must say who they are.
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, trusted: None }
    }

    /// Ends the watches that are open, since the server ends.
    pub(crate) fn end_watches(&self) {
        self.core.ending.say();
    }

    /// For requests of one user of the same process. RBAC is asked all the same.
    pub fn acting_as(core: Arc<Core>, user: User) -> Self {
        Self { core, trusted: Some(Arc::new(user)) }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (core, trusted) = (self.core.clone(), self.trusted.clone());
        Box::pin(async move { Ok(answer(core, trusted, request).await) })
    }
}

async fn answer<B>(core: Arc<Core>, trusted: Option<Arc<User>>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    let fallback =
        Accept::negotiate(&parts.headers, &query, Offer { protobuf: true, ..Offer::default() }).unwrap_or_default();
    match route(core, trusted, parts, query, body).await {
        Ok(response) => response,
        Err(status) => reply::refusal(&status, fallback),
    }
}

async fn route<B>(
    core: Arc<Core>,
    trusted: Option<Arc<User>>,
    parts: Parts,
    query: Query,
    body: B,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let asker = who(&core, trusted, &parts)?;
    if !well_escaped(parts.uri.path()) {
        return Err(Status::bad_request("400 Bad Request"));
    }
    let target = Target::parse(parts.uri.path());
    let Target::Resource(path) = target else {
        let method = parts.method.as_str().to_ascii_lowercase();
        authorize(&core, &parts, &Attributes::path(&asker, &method, parts.uri.path()))?;
        let read_only = target != Target::Other || parts.uri.path() == "/version";
        let allowed = parts.method == Method::GET || !read_only;
        if !allowed && target == Target::Other {
            return Err(Status::method_not_allowed());
        }
        if let Some(response) = health::answer(&core, &parts, &query) {
            return response;
        }
        if let Target::Resources { group, version } = &target {
            let registry = core.registry();
            let served = registry.groups().iter().any(|known| known.group == *group && known.version == *version);
            if !served && known_group(&registry, group) {
                return Err(Status::no_such_path());
            }
        }
        let answer = discovery::answer(&core, &target, &parts, &query)?;
        // What is not there is not there, whatever the method.
        return if allowed { Ok(answer) } else { Err(Status::method_not_allowed()) };
    };
    let verb = Verb::of(&parts.method, &path, &query).ok_or_else(Status::method_not_allowed)?;
    let name = named(&path, &query);
    let attributes = Attributes {
        subresource: &path.subresource,
        ..Attributes::resource(&asker, verb.word(), &path.group, &path.version, &path.resource)
            .in_namespace(&path.namespace)
            .named(&name)
    };
    let user = authorize(&core, &parts, &attributes)?.map(Arc::new).unwrap_or_else(|| asker.clone());
    let registry = core.registry();
    // Below the groups of custom resources, what is not served is not there at all.
    let custom = !plimsoll_schema::Table::builtin().groups().iter().any(|known| known.group == path.group);
    let nothing = || if custom { Ok(no_page()) } else { Err(Status::no_such_path()) };
    let Some(served) = registry.find(&path.group, &path.version, &path.resource).cloned() else {
        return nothing();
    };
    if parts.method == Method::HEAD {
        return Err(Status::method_not_allowed());
    }
    if !path.name.is_empty() && path.subresource.is_empty() && !served.is_named() {
        return nothing();
    }
    if served.namespaced() && path.namespace.is_empty() {
        // All namespaces together can be listed and watched, and nothing else.
        if !path.name.is_empty() || !served.allows("list") {
            return nothing();
        }
        if !matches!(verb, Verb::List | Verb::Watch) {
            return if custom { nothing() } else { Err(Status::method_not_allowed()) };
        }
    }
    if let Some(why) = unfit_name(&path.name).filter(|_| path.subresource.is_empty()) {
        return Err(Status::bad_request(format!(
            "Name parameter invalid: {}: {why}",
            crate::field::go_quoted(&path.name)
        )));
    }
    if served.custom.is_none() {
        routable(&parts, verb)?;
    }
    if !served.namespaced() && !path.namespace.is_empty() && path.resource != "namespaces" {
        return nothing();
    }
    let tables = served.has_tables(&path.subresource);
    let offer = Offer { metadata: true, tables, protobuf: served.custom.is_none() };
    let accept = Accept::negotiate(&parts.headers, &query, offer)?;
    let bytes = if matches!(parts.method, Method::GET | Method::HEAD) { Bytes::new() } else { read(body).await? };
    let include = query.get("includeObject").unwrap_or_default().to_owned();
    if accept.transform == Transform::Table && columns::Include::from_query(&include).is_none() {
        let shown = crate::field::go_quoted(&include);
        return Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {shown}: must be 'Metadata', 'Object', 'None', or empty"
        )));
    }
    let suffix = if matches!(verb, Verb::Create) { core.entropy.name("") } else { String::new() };
    let mut call = Call {
        core: core.clone(),
        served: served.clone(),
        path,
        query,
        headers: parts.headers,
        user,
        accept,
        suffix,
        warnings: Vec::new(),
    };
    let of_custom = served.custom.as_ref().and_then(|custom| custom.deprecation.clone());
    let mut warnings: Vec<String> =
        of_custom.into_iter().chain(strategy::deprecated_api(served.kind()).map(str::to_owned)).collect();
    let reply = match call.run(verb, bytes).await {
        Ok(reply) => reply,
        // Who is refused is warned all the same of what was seen until then.
        Err(status) => {
            warnings.append(&mut call.warnings);
            let plain = Offer { protobuf: true, ..Offer::default() };
            let accept = Accept::negotiate(&call.headers, &call.query, plain).unwrap_or_default();
            let mut response = reply::refusal(&status, accept);
            reply::warn(&mut response, &warnings);
            return Ok(response);
        }
    };
    let mut response = match reply {
        Reply::Whole(response) => response,
        Reply::Other(code, value) => reply::other(&core, code, value, accept, &include),
        Reply::Object(code, value) => reply::object(&core, &served, code, value, accept, &include),
        Reply::Stored(code, object) => {
            let plain = accept == Accept::default() && served.shown_as_stored();
            if plain {
                // The encoder of upstream ends every object with a new line.
                let bytes = [object.bytes.as_ref(), b"\n"].concat();
                reply::response(code, "application/json", Body::full(bytes))
            } else {
                let value = core.value(&served, &object)?;
                reply::object(&core, &served, code, value, accept, &include)
            }
        }
    };
    warnings.append(&mut call.warnings);
    reply::warn(&mut response, &warnings);
    Ok(response)
}

fn known_group(registry: &Registry, group: &str) -> bool {
    registry.groups().iter().any(|known| known.group == group)
}

/// A path that not even a group of the API stands behind.
fn no_page() -> Response<Body> {
    health::text(404, "404 page not found\n")
}

/// Upstream's router knows the media types of built-in resources by their plain names, and refuses the others before anybody negotiates.
fn routable(parts: &Parts, verb: Verb) -> Result<(), Status> {
    const TYPES: [&str; 5] = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ];
    let types = if matches!(verb, Verb::List | Verb::Watch) { &TYPES[..] } else { &TYPES[..3] };
    let header = parts.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let plain = |clause: &str| clause.split(';').next().unwrap_or_default().trim().to_owned();
    let known = |clause: &str| matches!(plain(clause).as_str(), "*/*" | "") || types.contains(&plain(clause).as_str());
    if header.trim().is_empty() || header.split(',').any(known) {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", types.join(", "));
    let mut status = Status::new(406, "NotAcceptable", message);
    status.details = Some(Box::default());
    Err(status)
}

/// The name that a request is about: in the path, or as a field selector of a list or watch.
fn named(path: &ResourcePath, query: &Query) -> String {
    if !path.name.is_empty() {
        return path.name.clone();
    }
    let selector = query.get("fieldSelector").unwrap_or_default();
    let name = selector.split(',').find_map(|term| term.strip_prefix("metadata.name=")).unwrap_or_default();
    name.trim_start_matches('=').to_owned()
}

fn who(core: &Core, trusted: Option<Arc<User>>, parts: &Parts) -> Result<Arc<User>, Status> {
    match trusted {
        Some(user) => Ok(user),
        // A header that is no text is somebody who cannot prove anything, not nobody.
        None => core.authenticate(parts.headers.get(AUTHORIZATION).map(|v| v.to_str().unwrap_or("Bearer \u{fffd}"))),
    }
}

/// Refuses what the user may not do. The user is returned where the request acts as another one.
fn authorize(core: &Core, parts: &Parts, attributes: &Attributes<'_>) -> Result<Option<User>, Status> {
    let rbac = core.rbac.read().unwrap_or_else(PoisonError::into_inner);
    let other = core.impersonation.user(&parts.headers, attributes, &rbac)?;
    rbac.check(&Attributes { user: other.as_ref().unwrap_or(attributes.user), ..*attributes })?;
    Ok(other)
}

async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let reading = tokio::time::timeout(LONGEST_BODY, Limited::new(body, LARGEST_BODY).collect());
    let Ok(read) = reading.await else {
        return Err(Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout"));
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Status::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {LARGEST_BODY}")))
        }
        // The client broke off or sent no chunk where one must be; nobody may be there to read this.
        Err(error) => Err(Status::new(500, "", error.to_string())),
    }
}
