//! Requests: whatever the method, path, query, media types and body, there is an answer that a client can read, and what was stored
//! on the way can be read again in every form.
//!
//! The input is text, so that seeds can be read and words of the dictionary fall into place: requests with `%%` lines between them,
//! each a line of method, path and headers, and then the body.
//!
//! ```text
//! POST /api/v1/namespaces/default/configmaps application/json
//! {"metadata":{"name":"a"}}
//! %%
//! GET /api/v1/configmaps?watch=true&resourceVersion=0
//! ```

#![no_main]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use plimsoll_apiserver::auth::User;
use plimsoll_apiserver::clock::{Clock, Entropy};
use plimsoll_apiserver::core::Core;
use plimsoll_apiserver::service::ApiService;
use plimsoll_apiserver::start;
use plimsoll_apiserver::store::ListRequest;
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// More requests than this say nothing new and only make a round slow.
const REQUESTS: usize = 12;
/// The forms in which everything stored is read again.
const FORMS: [&str; 4] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
];

struct Answer {
    code: u16,
    media: String,
    body: Bytes,
}

struct Server {
    runtime: Runtime,
    core: Arc<Core>,
}

impl Server {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let epoch = "2026-01-01T00:00:00Z".parse().unwrap();
        let starting = start::in_process(Clock::starting_at(epoch), Entropy::seeded(1), false);
        let core = runtime.block_on(starting).unwrap();
        Self { runtime, core }
    }
}

thread_local! {
    /// Starting takes longer than most rounds. A server that nothing was written to is as good as new; every other is replaced, so
    /// that what is found can be played again.
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

fuzz_target!(|input: &[u8]| {
    let server = SERVER.take().unwrap_or_else(Server::start);
    let core = &server.core;
    let before = core.store.revision();
    server.runtime.block_on(async {
        let service = start::service(core, User::in_groups("fuzz", &["system:masters"]));
        for request in input.split_with_mark().take(REQUESTS) {
            if let Some(request) = parse(request) {
                let head = request.method() == Method::HEAD;
                let shown = format!("{} {}", request.method(), request.uri());
                check(&shown, &call(&service, request).await, head);
            }
        }
        if core.store.revision() > before {
            read_again(core, &service, before).await;
            core.store.close().await;
        }
    });
    if core.store.revision() == before {
        SERVER.set(Some(server));
    }
});

trait Parts {
    fn split_with_mark(&self) -> impl Iterator<Item = &[u8]>;
}

impl Parts for [u8] {
    /// The parts between lines that hold `%%`.
    fn split_with_mark(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            match text.windows(4).position(|window| window == b"\n%%\n") {
                Some(at) => {
                    rest = Some(&text[at + 4..]);
                    Some(&text[..at])
                }
                None => Some(text),
            }
        })
    }
}

/// A request, or none where no client could send it.
fn parse(text: &[u8]) -> Option<Request<Full<Bytes>>> {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let line = std::str::from_utf8(&text[..end]).ok()?;
    let body = text.get(end + 1..).unwrap_or_default();
    let mut words = line.split(' ');
    let method: Method = words.next()?.parse().ok()?;
    let uri: Uri = words.next()?.parse().ok()?;
    let mut request = Request::new(Full::new(Bytes::copy_from_slice(body)));
    for name in ["content-type", "accept", "user-agent"] {
        if let Some(value) = words.next().and_then(|word| HeaderValue::from_str(word).ok()) {
            request.headers_mut().insert(name, value);
        }
    }
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    Some(request)
}

/// Sends a request. A watch is read for a while, and then left.
async fn call(service: &ApiService, request: Request<Full<Bytes>>) -> Answer {
    let Ok(response) = service.clone().oneshot(request).await;
    let code = response.status().as_u16();
    let media = response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let mut body = response.into_body();
    let mut out = Vec::new();
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(50), body.frame()).await {
        let Ok(frame) = frame;
        out.extend_from_slice(frame.data_ref().map(|data| data.as_ref()).unwrap_or_default());
    }
    Answer { code, media, body: out.into() }
}

fn check(request: &str, answer: &Answer, head: bool) {
    let text = String::from_utf8_lossy(&answer.body);
    assert!((200..600).contains(&answer.code), "{request}: {}", answer.code);
    if head || answer.media != "application/json" || answer.body.is_empty() {
        return;
    }
    // A watch is one document per line, any other answer is one.
    let documents = serde_json::Deserializer::from_slice(&answer.body).into_iter::<Value>();
    for document in documents {
        let Ok(document) = document else { panic!("{request}: what is answered is no JSON: {text}") };
        assert!(document.is_object(), "{request}: {text}");
        if answer.code >= 400 {
            assert_eq!(document["kind"], "Status", "{request}: {text}");
            assert_eq!(document["code"], answer.code, "{request}: {text}");
            assert_eq!(document["status"], "Failure", "{request}: {text}");
            assert!(document["message"].as_str().is_some_and(|message| !message.is_empty()), "{request}: {text}");
            // The server's own word for "this should not have happened".
            assert_ne!(document["reason"], "InternalError", "{request}: {text}");
        }
    }
}

/// Reads everything that was written since, as a list and one by one.
async fn read_again(core: &Arc<Core>, service: &ApiService, since: u64) {
    for served in core.registry().stored() {
        let stored = core.store.list(&served.key, &ListRequest::default()).unwrap();
        if stored.items.iter().all(|object| object.revision <= since) {
            continue;
        }
        let group = if served.group.is_empty() {
            format!("/api/{}", served.version)
        } else {
            format!("/apis/{}/{}", served.group, served.version)
        };
        let resource = &served.resource.resource;
        for form in FORMS {
            let request = Request::get(format!("{group}/{resource}")).header("accept", form);
            let answer = call(service, request.body(Full::default()).unwrap()).await;
            assert_eq!(answer.code, 200, "{resource} as {form}: {}", String::from_utf8_lossy(&answer.body));
            if form != FORMS[0] {
                continue;
            }
            let list: Value = serde_json::from_slice(&answer.body).unwrap();
            for item in list["items"].as_array().unwrap() {
                let metadata = &item["metadata"];
                let name = metadata["name"].as_str().unwrap();
                if metadata["resourceVersion"].as_str().and_then(|v| v.parse().ok()).is_some_and(|v: u64| v <= since) {
                    continue;
                }
                assert!(metadata["uid"].is_string() && metadata["resourceVersion"].is_string(), "{resource} {name}");
                let path = match metadata["namespace"].as_str() {
                    Some(namespace) if served.namespaced() => {
                        format!("{group}/namespaces/{namespace}/{resource}/{name}")
                    }
                    _ => format!("{group}/{resource}/{name}"),
                };
                // Roles may have names that a path must escape.
                let path = path
                    .replace('%', "%25")
                    .replace(' ', "%20")
                    .replace('"', "%22")
                    .replace('<', "%3C")
                    .replace('>', "%3E");
                let Ok(request) = Request::get(&path).body(Full::default()) else { continue };
                let answer = call(service, request).await;
                assert_eq!(answer.code, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
                let one: Value = serde_json::from_slice(&answer.body).unwrap();
                assert_eq!(one["metadata"], *metadata, "{path}");
            }
        }
    }
}
