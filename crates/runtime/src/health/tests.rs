//! The server on a real socket, so in real time.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::fake::Script;

async fn start() -> (Context, Health, SocketAddr) {
    let context = Context::system(Script::default().client());
    let health = Health::new();
    let address = serve(&context, &health, ([127, 0, 0, 1], 0).into()).await.unwrap();
    (context, health, address)
}

/// Everything that the server sends on a connection that says `text`.
async fn say(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may have hung up before everything was said.
    let _ = stream.write_all(text.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// The code and the body.
async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    ask(address, "GET", path).await
}

async fn ask(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    let answer = say(address, &format!("{method} {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[tokio::test]
async fn a_process_that_is_well_says_ok() {
    let (context, _, address) = start().await;
    for path in ["/healthz", "/livez", "/readyz", "/healthz/ping"] {
        assert_eq!(get(address, path).await, (200, text("ok")), "{path}");
    }
    assert_eq!(get(address, "/livez?verbose").await, (200, text("[+]ping ok\nlivez check passed\n")));
    assert_eq!(get(address, "/healthz?verbose=1").await, (200, text("[+]ping ok\nhealthz check passed\n")));
    assert_eq!(ask(address, "HEAD", "/healthz").await, (200, String::new()));
    for path in ["/", "/metrics/x", "/healthz/none", "/healthzz", "//", "/debug/pprof"] {
        assert_eq!(get(address, path).await.0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        assert_eq!(ask(address, method, "/metrics").await.0, 405, "{method}");
    }
    context.tasks.shut_down(Duration::from_secs(5)).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_failing_check_is_named_but_not_explained() {
    let (_context, health, address) = start().await;
    let synced = Arc::new(AtomicBool::new(false));
    let check = synced.clone();
    health.add_ready(
        "informer-sync",
        move || {
            if check.load(Ordering::Relaxed) { Ok(()) } else { Err("a secret".to_owned()) }
        },
    );
    let failing = "[+]ping ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n";
    assert_eq!(get(address, "/readyz").await, (500, text(failing)));
    assert_eq!(get(address, "/readyz/informer-sync").await.0, 500);
    assert_eq!(get(address, "/readyz?exclude=informer-sync").await, (200, text("ok")));
    assert_eq!(get(address, "/livez").await.0, 200);
    synced.store(true, Ordering::Relaxed);
    let passing = "[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n";
    assert_eq!(get(address, "/readyz?verbose").await, (200, text(passing)));
    health.add_live("leaderElection", || Err("lost".to_owned()));
    assert_eq!(get(address, "/healthz").await.0, 500);
    assert_eq!(get(address, "/readyz").await.0, 500);
}

#[tokio::test]
async fn figures_are_shown() {
    let (context, _, address) = start().await;
    let queue = crate::queue::Queue::named(crate::queue::Backoff::default(), "claims", &context.metrics);
    queue.add(1);
    let (code, figures) = get(address, "/metrics").await;
    assert_eq!(code, 200);
    assert!(figures.contains("workqueue_depth{name=\"claims\"} 1\n"), "{figures}");
    assert!(figures.contains("\nprocess_start_time_seconds "), "{figures}");
    assert!(figures.ends_with("# EOF\n"));
}

#[tokio::test]
async fn nonsense_is_refused_and_others_are_served() {
    let (_context, _, address) = start().await;
    let long = "x".repeat(REQUEST.0 + 1);
    assert!(!say(address, &format!("GET /{long} HTTP/1.1\r\n\r\n")).await.contains(" 200 "));
    let many = "a: b\r\n".repeat(REQUEST.1 + 1);
    assert!(!say(address, &format!("GET /healthz HTTP/1.1\r\n{many}\r\n")).await.contains(" 200 "));
    assert!(!say(address, "\0\u{1}\u{2}\r\n\r\n").await.contains(" 200 "));
    assert_eq!(get(address, "/healthz").await.0, 200);
}

#[tokio::test]
async fn those_who_say_nothing_do_not_stay() {
    let (_context, _, address) = start().await;
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HT").await.unwrap();
        silent.push(stream);
    }
    let began = tokio::time::Instant::now();
    // Waits in line until one of them is sent away.
    assert_eq!(get(address, "/healthz").await.0, 200);
    assert!(began.elapsed() < CONNECTION, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_component_adds_pages() {
    let (_context, health, address) = start().await;
    assert_eq!(get(address, "/configz").await.0, 404);
    health.add_page("configz", || "{\"a\":1}".to_owned());
    assert_eq!(get(address, "/configz").await, (200, text("{\"a\":1}")));
    assert_eq!(get(address, "/configz/a").await.0, 404);
    assert_eq!(ask(address, "POST", "/configz").await.0, 405);
}
