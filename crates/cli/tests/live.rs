//! Live clusters: a small API server on loopback that lists the objects of a dump, page by page.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use support::{cases, plimsoll, run};

/// What the server does apart from listing.
#[derive(Clone, Copy, Default)]
struct Manners {
    /// A resource that may not be listed.
    forbidden: Option<&'static str>,
    /// A resource that the server does not know.
    unknown: Option<&'static str>,
    /// Whether tokens for further pages are too old.
    expired: bool,
    /// Whether there is a volume that cannot be read.
    malformed: bool,
    /// Whether a pod waits for a claim that its provisioner cannot make.
    trouble: bool,
}

/// An API server that ends with the test.
struct Server {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    kubeconfig: PathBuf,
}

impl Server {
    fn start(name: &str, manners: Manners) -> Self {
        let dump = std::fs::read(cases().join("kubectl-list.json")).unwrap();
        let dump: Value = serde_json::from_slice(&dump).unwrap();
        let mut items = dump["items"].as_array().unwrap().clone();
        if manners.malformed {
            let spec = json!({"capacity": {"storage": "lots"}});
            items.push(
                json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "odd"}, "spec": spec}),
            );
        }
        if manners.trouble {
            let meta = |name: &str| json!({"name": name, "namespace": "shop"});
            let claim = json!({"persistentVolumeClaim": {"claimName": "shared"}, "name": "data"});
            let about = json!({"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "shared"});
            items.extend([
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta("shared"),
                    "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteMany"],
                        "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}),
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("reader"),
                    "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [claim]}}),
                json!({"apiVersion": "v1", "kind": "Event", "metadata": meta("shared.1"), "involvedObject": about,
                    "reason": "ProvisioningFailed", "lastTimestamp": "2026-01-01T00:00:00Z",
                    "message": "only ReadWriteOnce is supported"}),
            ]);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ending = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ending);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                answer(stream.unwrap(), &items, manners);
            }
        });
        let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}.kubeconfig"));
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "test", "user": {"token": "let-me-in"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "shop"}},
                         {"name": "other", "context": {"cluster": "test", "user": "nobody"}}],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        Self { address, ending, thread: Some(thread), kubeconfig }
    }

    fn explain(&self, args: &[&str]) -> Output {
        run(plimsoll().args(["explain", "--kubeconfig"]).arg(&self.kubeconfig).args(args), b"")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn answer(mut stream: TcpStream, items: &[Value], manners: Manners) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let headers: Vec<String> = lines.take_while(|l| !l.is_empty()).collect();
    let authorized = headers.iter().any(|h| h.eq_ignore_ascii_case("authorization: Bearer let-me-in"));
    let target = request.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (code, body) = if authorized { page(path, query, items, manners) } else { status(401, "Unauthorized") };
    let text = body.to_string();
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())).unwrap();
}

fn status(code: u16, message: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}))
}

/// Two objects a page where a limit is asked for; the token is full of what a query must not hold as it is.
fn page(path: &str, query: &str, items: &[Value], manners: Manners) -> (u16, Value) {
    let resource = path.rsplit('/').next().unwrap();
    if manners.forbidden == Some(resource) {
        return status(403, &format!("{resource} is forbidden: User \"test\" cannot list resource \"{resource}\""));
    }
    if manners.unknown == Some(resource) {
        return status(404, "the server could not find the requested resource");
    }
    let plural = |o: &&Value| match o["kind"].as_str().unwrap() {
        "StorageClass" => resource == "storageclasses",
        kind => resource == format!("{}s", kind.to_ascii_lowercase()),
    };
    let own: Vec<&Value> = items.iter().filter(plural).collect();
    let parameter = |name: &str| query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='));
    let from = match parameter("continue") {
        None => 0,
        Some(_) if manners.expired => return status(410, "The provided continue parameter is too old"),
        Some(token) => token.strip_prefix("a%2Bb%2F%3D").unwrap().parse().unwrap(),
    };
    let until = if parameter("limit").is_some() { (from + 2).min(own.len()) } else { own.len() };
    let mut metadata = json!({"resourceVersion": "100"});
    if until < own.len() {
        metadata["continue"] = json!(format!("a+b/={until}"));
    }
    let (version, kind) =
        own.first().map_or((json!("v1"), "None"), |o| (o["apiVersion"].clone(), o["kind"].as_str().unwrap()));
    let strip = |o: &&Value| {
        let mut item = (*o).clone();
        // An API server does not repeat these in the items of a list.
        item.as_object_mut().unwrap().retain(|k, _| k != "kind" && k != "apiVersion");
        item
    };
    let items: Vec<Value> = own[from..until].iter().map(strip).collect();
    (200, json!({"kind": format!("{kind}List"), "apiVersion": version, "metadata": metadata, "items": items}))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The same answer, to the byte, as from a dump of the same cluster.
#[test]
fn a_live_cluster_is_explained_as_its_dump() {
    for manners in [Manners::default(), Manners { expired: true, ..Manners::default() }] {
        let server = Server::start(&format!("dump-{}", manners.expired), manners);
        for args in [&["-o", "json"][..], &["shop/web-0"], &["pod", "web-1"], &["-n", "default"]] {
            let live = server.explain(args);
            // The context's namespace is what -n would say for a dump.
            let namespace: &[&str] = if args.contains(&"pod") { &["-n", "shop"] } else { &[] };
            let dump = run(plimsoll().args(["explain", "-f", "kubectl-list.json"]).args(args).args(namespace), b"");
            assert_eq!(text(&live.stdout), text(&dump.stdout), "{args:?}: {}", text(&live.stderr));
            assert_eq!((live.status.code(), text(&live.stderr)), (dump.status.code(), ""), "{args:?}");
        }
    }
}

#[test]
fn what_may_not_be_listed_is_named() {
    let server = Server::start("forbidden", Manners { forbidden: Some("persistentvolumes"), ..Manners::default() });
    let done = server.explain(&["web-0"]);
    let expected = "\
error: listing persistentvolumes is forbidden: persistentvolumes is forbidden: User \"test\" cannot list resource \"persistentvolumes\"
help: explain needs the verb list on namespaces, nodes, storageclasses, csidrivers, csinodes, csistoragecapacities, persistentvolumes, persistentvolumeclaims, volumeattachments, services, replicationcontrollers, replicasets, statefulsets, pods; or read manifests or a dump with -f
";
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(1), expected));
    assert!(done.stdout.is_empty());
}

#[test]
fn a_kind_that_the_server_does_not_know_is_noted() {
    let server = Server::start("unknown", Manners { unknown: Some("csistoragecapacities"), ..Manners::default() });
    let done = server.explain(&["web-1"]);
    let expected = "note: the API server does not know csistoragecapacities: taken as there being none\n";
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), expected));
}

/// A node may fit, and the pod still waits: its provisioner says why, and so does explain, for one pod and for all.
#[test]
fn a_volume_that_cannot_be_made_is_noted() {
    let server = Server::start("trouble", Manners { trouble: true, ..Manners::default() });
    let note = "note: no volume could be made for claim shop/shared of pod shop/reader so far: only ReadWriteOnce is supported\n";
    for args in [&["reader"][..], &[]] {
        let done = server.explain(args);
        assert_eq!(text(&done.stderr), note, "{args:?}");
    }
    let done = server.explain(&["web-1"]);
    assert_eq!(text(&done.stderr), "", "it is none of this pod's business");
}

/// One object that cannot be read does not keep the others from being judged.
#[test]
fn a_malformed_object_is_noted_and_skipped() {
    let server = Server::start("malformed", Manners { malformed: true, ..Manners::default() });
    let done = server.explain(&["web-1"]);
    let note = "note: skipped: persistentvolumes: document 1, item 2: PersistentVolume odd: spec.capacity.storage: ";
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stderr).starts_with(note), "{}", text(&done.stderr));
    assert_eq!(text(&done.stderr).lines().count(), 1);
}

#[test]
fn a_pod_that_is_not_there_and_wrong_credentials() {
    let server = Server::start("missing", Manners::default());
    let done = server.explain(&["web-2"]);
    let expected = "error: pod shop/web-2 is not in the cluster\nhelp: did you mean shop/web-0, shop/web-1?\n";
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(1), expected));
    let done = server.explain(&["web-0", "--context", "other"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("help: "), "{}", text(&done.stderr));
    let done = server.explain(&["web-0", "--context", "none"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).starts_with("error: no cluster to look at: "), "{}", text(&done.stderr));
}

#[test]
fn no_cluster_at_all() {
    let done = run(plimsoll().arg("explain"), b"");
    assert_eq!(done.status.code(), Some(1));
    let message = text(&done.stderr);
    assert!(message.starts_with("error: no cluster to look at: "), "{message}");
    assert!(message.contains("help: name one with --kubeconfig, --context or KUBECONFIG"), "{message}");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("live-nobody.kubeconfig");
    let text_of_it = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{nobody}")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&kubeconfig, text_of_it.to_string()).unwrap();
    let mut command: Command = plimsoll();
    let done = run(command.env("KUBECONFIG", &kubeconfig).arg("explain"), b"");
    assert_eq!(done.status.code(), Some(1));
    let message = text(&done.stderr);
    assert!(message.starts_with(&format!("error: the API server http://{nobody}/ cannot be reached: ")), "{message}");
    assert!(message.contains("refused"), "{message}");
}
