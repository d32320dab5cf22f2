//! Clients that misbehave: the server answers with upstream's codes, keeps what it has, and serves the others meanwhile.
//!
//! Everything here goes over sockets and TLS to the program as it is shipped. Figures are printed (`--nocapture`).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "abuse/requests.rs"]
mod requests;
#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use server::{Client, Server};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

const MAPS: &str = "/api/v1/namespaces/abuse/configmaps";
const JSON: &str = "application/json";
const MEGABYTE: u64 = 1 << 20;

/// A server of its own for each test, with a namespace and one object that must survive everything.
async fn server() -> (TempDir, Server, Client) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--in-memory"]).await;
    let client = server.client().await.unwrap();
    let namespace = client.call("POST", "/api/v1/namespaces", JSON, r#"{"metadata":{"name":"abuse"}}"#).await.unwrap();
    assert_eq!(namespace.code, 201, "{}", namespace.shown());
    let base = client.call("POST", MAPS, JSON, map("base", "kept")).await.unwrap();
    assert_eq!(base.code, 201, "{}", base.shown());
    (folder, server, client)
}

fn map(name: &str, value: &str) -> String {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": value}}).to_string()
}

async fn get(client: &Client, name: &str) -> Value {
    let answer = client.call("GET", &format!("{MAPS}/{name}"), "", "").await.unwrap();
    assert_eq!(answer.code, 200, "{}", answer.shown());
    answer.json()
}

/// How long ordinary requests take meanwhile: the middle one, and the slowest of a hundred but one.
async fn latency(client: &Client, count: usize) -> (Duration, Duration) {
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        get(client, "base").await;
        times.push(start.elapsed());
    }
    times.sort();
    (times[count / 2], times[count * 99 / 100])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_requests_get_upstreams_codes() {
    let (_folder, mut server, client) = server().await;
    let mut wrong = Vec::new();
    let cases = requests::all();
    let count = cases.len();
    for case in cases {
        let headers: Vec<&str> = case.headers.iter().map(String::as_str).collect();
        let answer = server.raw(&server.request(case.method, &case.path, &headers, &case.body)).await;
        if answer.code != case.code {
            wrong.push(format!("{} instead of {}: {}", answer.shown(), case.code, case.name));
            continue;
        }
        assert!(!answer.head.contains("\nX-Evil"), "{}: a header was smuggled in: {}", case.name, answer.head);
        // Refusals by the API, not by HTTP itself, are Status objects with the same code.
        let body = answer.json();
        if answer.code >= 400 && body.is_object() && (body["kind"] != "Status" || body["code"] != answer.code) {
            wrong.push(format!("no Status of {}: {}", answer.code, answer.shown()));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} requests:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(get(&client, "base").await["data"]["a"], "kept");
    server.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_no_http_are_refused() {
    let (_folder, mut server, client) = server().await;
    let post = |rest: &str| {
        format!(
            "POST {MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{rest}",
            server.token
        )
    };
    for (bytes, codes) in [
        (post("Content-Length: -5\r\n\r\n"), &[400][..]),
        (post("Content-Length: zap\r\n\r\n"), &[400]),
        (post("Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"), &[400]),
        (post("Content-Length: 99999999999999999999999\r\n\r\n"), &[400]),
        (post("Transfer-Encoding: zap\r\n\r\n"), &[400, 501]),
        (post("Transfer-Encoding: chunked\r\n\r\nzz\r\n"), &[500]),
        (post("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"), &[500]),
        // The length is a lie: less is read than was sent, and what is left over is no second request.
        (post("Content-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n"), &[422]),
        ("GET /\r\n\r\n".to_owned(), &[400]),
        ("GET / HTTP/3.0\r\n\r\n".to_owned(), &[400, 505]),
        ("\0\u{1}\u{2}\u{3}\r\n\r\n".to_owned(), &[400]),
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), &[200]),
    ] {
        let answer = server.raw(bytes.as_bytes()).await;
        assert!(codes.contains(&answer.code), "{bytes}: {}", answer.shown());
    }
    // Bytes that are no TLS, and TLS that speaks something else.
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], b"\x16\x03\x01\xff\xff"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let mut rest = Vec::new();
        let _ = timeout(Duration::from_secs(15), stream.read_to_end(&mut rest)).await.unwrap();
    }
    let mut stream = server.tls(b"h2").await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&[0xff; 1000]).await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(15), stream.read_to_end(&mut rest)).await.unwrap();

    // Expect: 100-continue is answered before the body is sent.
    let body = map("expected", "1");
    let mut stream = server.tls(b"http/1.1").await.unwrap();
    let head = post(&format!(
        "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut buffer = [0; 1000];
    let n = timeout(Duration::from_secs(5), stream.read(&mut buffer)).await.unwrap().unwrap();
    assert!(buffer[..n].starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&buffer[..n]));
    stream.write_all(body.as_bytes()).await.unwrap();
    let n = timeout(Duration::from_secs(5), stream.read(&mut buffer)).await.unwrap().unwrap();
    assert!(buffer[..n].starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&buffer[..n]));
    assert_eq!(get(&client, "expected").await["data"]["a"], "1");
    server.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_twenty_megabytes_are_refused_in_little_memory() {
    let (_folder, mut server, client) = server().await;
    let (before, _) = server.memory();
    let body = Bytes::from(map("huge", &"x".repeat(20_000_000)));
    let start = Instant::now();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let path = if method == "POST" { MAPS.to_owned() } else { format!("{MAPS}/base") };
        let media = if method == "PATCH" { "application/merge-patch+json" } else { JSON };
        // The refusal arrives, and the connection goes on.
        let answer = client.call(method, &path, media, body.clone()).await.unwrap();
        assert_eq!(answer.code, 413, "{method}: {}", answer.shown());
        assert_eq!(answer.json()["reason"], "RequestEntityTooLarge");
    }
    get(&client, "base").await;
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let (client, body) = (client.clone(), body.clone());
        tasks.spawn(async move { client.call("POST", MAPS, JSON, body).await.unwrap().code });
    }
    while let Some(code) = tasks.join_next().await {
        assert_eq!(code.unwrap(), 413);
    }
    // HTTP/1.1 with a length, and in chunks that never end.
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n",
        server.token
    );
    let mut whole = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    whole.extend_from_slice(&body);
    let answer = server.raw(&whole).await;
    assert!(matches!(answer.code, 413 | 0), "{}", answer.shown());
    let mut chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..20 {
        chunks.extend_from_slice(b"f4240\r\n");
        chunks.extend_from_slice(&vec![b'x'; 1_000_000]);
        chunks.extend_from_slice(b"\r\n");
    }
    let answer = server.raw(&chunks).await;
    assert!(matches!(answer.code, 413 | 0), "{}", answer.shown());
    // The largest that may be is taken.
    let answer = client.call("POST", MAPS, JSON, map("large", &"x".repeat(1_000_000))).await.unwrap();
    assert_eq!(answer.code, 201, "{}", answer.shown());
    let (_, peak) = server.memory();
    println!(
        "22 bodies of 20 MB in {:.1?}; memory {} MB, at its most {} MB",
        start.elapsed(),
        before / MEGABYTE,
        peak / MEGABYTE
    );
    assert!(peak < before + 160 * MEGABYTE, "{} MB", peak / MEGABYTE);
    server.check().await;
}

/// Connections that stop at any stage, each kind this often.
const HALF: usize = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_requests_hold_nobody_up() {
    let (_folder, mut server, client) = server().await;
    let (idle, _) = latency(&client, 100).await;
    let hello = server.hello();
    let post = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 100000\r\n\r\n{{\"a",
        server.token
    );
    let opened = Instant::now();
    let mut silent = Vec::new();
    let mut open = Vec::new();
    for _ in 0..HALF {
        silent.push(TcpStream::connect(server.address).await.unwrap());
        let mut half = TcpStream::connect(server.address).await.unwrap();
        half.write_all(&hello[..hello.len() / 2]).await.unwrap();
        silent.push(half);
        for (protocol, bytes) in [
            (&b"http/1.1"[..], &b""[..]),
            (b"h2", b""),
            (b"h2", b"PRI * HTTP/2.0\r\n\r\n"),
            (b"http/1.1", b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAuth"),
            (b"http/1.1", post.as_bytes()),
        ] {
            let mut stream = server.tls(protocol).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            open.push((stream, !bytes.starts_with(b"POST")));
        }
    }
    let connections = silent.len() + open.len();
    let took = opened.elapsed();
    let (middle, slow) = latency(&client, 200).await;
    let (memory, _) = server.memory();
    println!(
        "{connections} half-done connections (opened in {took:.1?}): requests take {middle:.1?} ({slow:.1?} the slowest of a hundred; {idle:.1?} \
         without them), memory {} MB",
        memory / MEGABYTE
    );
    assert!(slow < Duration::from_secs(1), "{slow:?}");
    // After a while they are gone; a body may take a minute, as upstream gives it.
    for mut stream in silent {
        let mut rest = Vec::new();
        let closed = timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "a connection without a handshake is still open");
    }
    for (mut stream, ends) in open {
        let mut rest = Vec::new();
        if ends {
            let closed = timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
            assert!(closed.is_ok(), "a connection without a request is still open");
        }
    }
    server.check().await;
}

/// Reads a watch until it has seen `count` events.
async fn events(body: &mut Incoming, count: usize) -> usize {
    let mut seen = 0;
    while seen < count {
        let Ok(Some(Ok(frame))) = timeout(Duration::from_secs(60), body.frame()).await else { break };
        seen += frame.data_ref().map_or(0, |data| data.iter().filter(|b| **b == b'\n').count());
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_a_watch_pins_no_memory() {
    const WRITERS: usize = 2;
    const WRITES: usize = 55;
    const SLOW: usize = 40;
    let (_folder, mut server, client) = server().await;
    let (before, _) = server.memory();
    let path = format!("{MAPS}?watch=true&resourceVersion=0&allowWatchBookmarks=true");
    let mut unread = Vec::new();
    for _ in 0..SLOW / 2 {
        let mut stream = server.tls(b"http/1.1").await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", server.token);
        stream.write_all(request.as_bytes()).await.unwrap();
        unread.push(stream);
    }
    let other = server.client().await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..SLOW / 2 {
        streams.push(other.open("GET", &path, "", "").await.unwrap());
    }
    let version = get(&client, "base").await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let reader = server.client().await.unwrap();
    let mut watch =
        reader.open("GET", &format!("{MAPS}?watch=true&resourceVersion={version}"), "", "").await.unwrap().into_body();
    let reading = tokio::spawn(async move { events(&mut watch, WRITERS * WRITES).await });
    let begun = Instant::now();
    let mut writing = JoinSet::new();
    for writer in 0..WRITERS {
        let client = server.client().await.unwrap();
        writing.spawn(async move {
            let (name, filler) = (format!("large-{writer}"), "x".repeat(1_000_000));
            let mut slowest = Duration::ZERO;
            for i in 0..WRITES {
                let start = Instant::now();
                let body = map(&name, &format!("{i}{filler}"));
                let answer = match i {
                    0 => client.call("POST", MAPS, JSON, body).await.unwrap(),
                    _ => client.call("PUT", &format!("{MAPS}/{name}"), JSON, body).await.unwrap(),
                };
                assert!(matches!(answer.code, 200 | 201), "{}", answer.shown());
                slowest = slowest.max(start.elapsed());
            }
            slowest
        });
    }
    let slowest = writing.join_all().await.into_iter().max().unwrap();
    let took = begun.elapsed();
    assert_eq!(reading.await.unwrap(), WRITERS * WRITES, "who reads gets every change");
    let (now, peak) = server.memory();
    println!(
        "{} MB of changes past {SLOW} watches that nobody reads in {took:.1?} (slowest write {slowest:.1?}), memory {} MB before, {} MB now, {} \
         MB at its most",
        WRITERS * WRITES,
        before / MEGABYTE,
        now / MEGABYTE,
        peak / MEGABYTE
    );
    // The history that all watches share, and a few megabytes for each that does not read; not 110 MB for each.
    assert!(peak < before + (100 + 4 * SLOW as u64) * MEGABYTE, "{} MB", peak / MEGABYTE);
    drop((unread, streams));
    server.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_watches_get_their_event() {
    const CONNECTIONS: usize = 10;
    const STREAMS: usize = 1000;
    let (_folder, mut server, client) = server().await;
    let (before, _) = server.memory();
    let version = get(&client, "base").await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let path = format!("{MAPS}?watch=true&resourceVersion={version}");
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (client, path) = (server.client().await.unwrap(), path.clone());
        tasks.spawn(async move {
            let mut open = Vec::new();
            for _ in 0..STREAMS / 50 {
                let mut some = JoinSet::new();
                for _ in 0..50 {
                    let (client, path) = (client.clone(), path.clone());
                    some.spawn(async move { client.open("GET", &path, "", "").await.unwrap().into_body() });
                }
                open.extend(some.join_all().await);
            }
            (client, open)
        });
    }
    let open = tasks.join_all().await;
    let opened = begun.elapsed();
    let (memory, _) = server.memory();
    let (middle, slow) = latency(&client, 100).await;

    let begun = Instant::now();
    let answer = client.call("POST", MAPS, JSON, map("news", "1")).await.unwrap();
    assert_eq!(answer.code, 201, "{}", answer.shown());
    let written = begun.elapsed();
    let mut tasks = JoinSet::new();
    for (client, bodies) in open {
        tasks.spawn(async move {
            let mut got = 0;
            for mut body in bodies {
                got += events(&mut body, 1).await;
            }
            drop(client);
            got
        });
    }
    let got: usize = tasks.join_all().await.into_iter().sum();
    println!(
        "{} watches: opened in {opened:.1?}, {} KB each ({} MB in all), requests take {middle:.1?} ({slow:.1?}) meanwhile; one write took \
         {written:.1?}, all had its event after {:.1?}",
        CONNECTIONS * STREAMS,
        memory.saturating_sub(before) / 1024 / (CONNECTIONS * STREAMS) as u64,
        memory / MEGABYTE,
        begun.elapsed()
    );
    assert_eq!(got, CONNECTIONS * STREAMS);
    assert!(memory < before + 500 * MEGABYTE, "{} MB", memory / MEGABYTE);
    server.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_create_one_name_one_does() {
    let (_folder, mut server, client) = server().await;
    for round in 0..10 {
        let mut tasks = JoinSet::new();
        for i in 0..64 {
            let client = if i % 16 == 0 { server.client().await.unwrap() } else { client.clone() };
            let body = map(&format!("name-{round}"), &i.to_string());
            tasks.spawn(async move { client.call("POST", MAPS, JSON, body).await.unwrap() });
        }
        let answers = tasks.join_all().await;
        let made: Vec<_> = answers.iter().filter(|a| a.code == 201).collect();
        assert_eq!(made.len(), 1, "round {round}");
        assert!(answers.iter().all(|a| matches!(a.code, 201 | 409)), "round {round}");
        // The one that was told so is the one that is there.
        assert_eq!(get(&client, &format!("name-{round}")).await, made[0].json());
    }
    // Many change one object without naming a version: nothing is lost.
    let mut tasks = JoinSet::new();
    for i in 0..64 {
        let client = client.clone();
        let body = json!({"data": {format!("k{i}"): "v"}}).to_string();
        tasks.spawn(async move {
            client.call("PATCH", &format!("{MAPS}/base"), "application/merge-patch+json", body).await.unwrap().code
        });
    }
    let codes = tasks.join_all().await;
    let changed = codes.iter().filter(|code| **code == 200).count();
    assert!(codes.iter().all(|code| matches!(code, 200 | 409)), "{codes:?}");
    assert_eq!(get(&client, "base").await["data"].as_object().unwrap().len(), changed + 1);
    server.check().await;
}
