//! Health, version, and what else is about the server itself.

use http::Response;
use http::request::Parts;
use serde_json::json;

use crate::body::Body;
use crate::core::Core;
use crate::reply;
use crate::request::Query;
use crate::status::Status;

/// The single checks that can be asked for: our own, and those of upstream's that probes name. All of them are about the store.
const CHECKS: [&str; 8] =
    ["ping", "store", "log", "etcd", "etcd-readiness", "informer-sync", "poststarthook", "shutdown"];

/// Answers a path that is about the server; none where it is about something else.
pub fn answer(core: &Core, parts: &Parts, query: &Query) -> Option<Result<Response<Body>, Status>> {
    let path = parts.uri.path();
    match path {
        "/version" | "/version/" => Some(Ok(version(core))),
        "/metrics" => Some(Ok(text(200, metrics(core)))),
        "/healthz" | "/livez" | "/readyz" => Some(Ok(health(core, path, query.get("verbose").is_some()))),
        _ if path.starts_with("/healthz/") || path.starts_with("/livez/") || path.starts_with("/readyz/") => {
            let check = path.split('/').nth(2).unwrap_or_default();
            if CHECKS.contains(&check) {
                Some(Ok(health(core, path, false)))
            } else {
                Some(Ok(text(404, "404 page not found\n")))
            }
        }
        _ => None,
    }
}

/// Plain text.
pub fn text(code: u16, body: impl Into<bytes::Bytes>) -> Response<Body> {
    reply::response(code, "text/plain; charset=utf-8", Body::full(body))
}

/// The store is all there is to be sick: a disk that refused, and no write is taken any more.
fn health(core: &Core, path: &str, verbose: bool) -> Response<Body> {
    let name = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    match core.store.stopped() {
        Some(why) if name != "livez" => text(500, format!("[+]ping ok\n[-]store failed: {why}\n{name} check failed\n")),
        _ if verbose => text(200, format!("[+]ping ok\n[+]store ok\n{name} check passed\n")),
        _ => text(200, "ok"),
    }
}

fn version(core: &Core) -> Response<Body> {
    let git = core.version.git_version.as_str();
    let mut parts = git.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or("1"), parts.next().unwrap_or("0"));
    let before = minor.parse::<u32>().unwrap_or(1).saturating_sub(1).to_string();
    let body = json!({
        "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
        "minCompatibilityMajor": major, "minCompatibilityMinor": before,
        "gitVersion": git, "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, platform()),
    });
    let text = serde_json::to_vec_pretty(&body).unwrap_or_default();
    reply::response(200, "application/json", Body::full(text))
}

fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Counts, in Prometheus' text form.
fn metrics(core: &Core) -> String {
    let mut out = String::from(
        "# HELP apiserver_storage_objects Number of stored objects at the time of last check split by kind.\n\
         # TYPE apiserver_storage_objects gauge\n",
    );
    for served in core.registry().stored() {
        let name = served.name();
        out.push_str(&format!("apiserver_storage_objects{{resource=\"{name}\"}} {}\n", core.store.count(&served.key)));
    }
    out.push_str(
        "# HELP plimsoll_store_revision The revision of the last write.\n# TYPE plimsoll_store_revision counter\n",
    );
    out.push_str(&format!("plimsoll_store_revision {}\n", core.store.revision()));
    out
}
