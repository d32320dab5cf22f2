//! Reflectors against a scripted API, in virtual time.

use plimsoll_api::kinds::PersistentVolumeClaim as Claim;
use serde_json::{Value, json};

use super::*;
use crate::fake::{Reply, Script, context, status};

fn claim(name: &str, version: u64) -> Value {
    json!({"metadata": {"namespace": "n", "name": name, "uid": name, "resourceVersion": version.to_string()}})
}

fn list(version: u64, items: &[Value]) -> Reply {
    Reply::Json(200, json!({"metadata": {"resourceVersion": version.to_string()}, "items": items}))
}

fn line(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

/// What is seen after `seconds`, and what was asked for.
async fn follow(replies: Vec<Reply>, seconds: u64, relist: Duration) -> (Vec<String>, Vec<(Duration, String)>) {
    let script = Script::new(replies);
    let context = context(script.client());
    let mirror: Arc<Mirror<Claim>> = Mirror::new();
    reflect(&context, &mirror, Selection { relist, ..Selection::default() });
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let seen = mirror.all().iter().map(|c| format!("{}@{}", c.metadata.name, c.metadata.resource_version)).collect();
    context.tasks.abort();
    (seen, script.asked())
}

fn version_asked(asked: &str) -> Option<&str> {
    asked.split("resourceVersion=").nth(1)?.split('&').next()
}

#[tokio::test(start_paused = true)]
async fn pages_are_put_together_and_the_watch_begins_where_they_end() {
    let first = json!({"metadata": {"resourceVersion": "10", "continue": "a b&c"}, "items": [claim("a", 1)]});
    let replies = vec![
        Reply::Json(200, first),
        list(10, &[claim("b", 2)]),
        Reply::Open(vec![line("ADDED", &claim("c", 11)), line("DELETED", &claim("a", 12))]),
    ];
    let (seen, asked) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["b@2", "c@11"]);
    assert_eq!(asked[0].1, "/api/v1/persistentvolumeclaims?limit=500");
    assert_eq!(asked[1].1, "/api/v1/persistentvolumeclaims?limit=500&continue=a%20b%26c");
    assert_eq!(version_asked(&asked[2].1), Some("10"));
    assert_eq!(asked.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_echo_of_an_own_write_takes_the_watch_on_though_it_is_not_read() {
    // As Kubernetes writes it; that it cannot be read shows that nobody does.
    let echo = r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"12","uid":5}}}"#.to_owned();
    let script = Script::new([list(10, &[]), Reply::Lines(vec![echo + "\n"]), Reply::Open(vec![])]);
    let context = context(script.client());
    let mirror: Arc<Mirror<Claim>> = Mirror::new();
    mirror.written(Arc::new(Claim::read(&claim("a", 12).to_string()).unwrap()));
    reflect(&context, &mirror, Selection::default());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(mirror.all()[0].metadata.version(), 12);
    assert_eq!(version_asked(&script.asked()[2].1), Some("12"));
    context.tasks.abort();
}

#[tokio::test(start_paused = true)]
async fn an_ended_or_broken_watch_goes_on_from_the_last_event() {
    let bookmark = json!({"metadata": {"resourceVersion": "20"}});
    let cut = line("ADDED", &claim("x", 99));
    let replies = vec![
        list(10, &[]),
        Reply::Lines(vec![line("ADDED", &claim("a", 11)), "\n".to_owned(), line("BOOKMARK", &bookmark)]),
        Reply::Broken(vec![line("MODIFIED", &claim("a", 21))]),
        Reply::Lines(vec![line("MODIFIED", &claim("a", 22)), cut[..20].to_owned()]),
        // An older event again does not take the watch back.
        Reply::Lines(vec![line("MODIFIED", &claim("a", 23)), line("ADDED", &claim("a", 11))]),
        Reply::Open(vec![]),
    ];
    let (seen, asked) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["a@23"]);
    let versions: Vec<_> = asked.iter().filter_map(|(_, path)| version_asked(path)).collect();
    assert_eq!(versions, ["10", "20", "21", "22", "23"]);
}

#[tokio::test(start_paused = true)]
async fn gone_versions_are_listed_again_wherever_they_are_met() {
    let replies = vec![
        Reply::Json(410, status(410, "Expired")),
        list(10, &[claim("a", 1), claim("b", 2)]),
        Reply::Lines(vec![line("ERROR", &status(410, "Expired"))]),
        list(20, &[claim("b", 15)]),
        Reply::Json(410, status(410, "Gone")),
        list(30, &[claim("b", 25)]),
        Reply::Open(vec![line("ADDED", &claim("c", 31))]),
    ];
    let (seen, asked) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["b@25", "c@31"]);
    assert_eq!(asked.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_says_gone_or_ends_every_watch_is_not_asked_without_pause() {
    let forever =
        || (0..500).flat_map(|i| [list(10 + i, &[]), Reply::Lines(vec![line("ERROR", &status(410, "Gone"))])]);
    let (_, asked) = follow(forever().collect(), 120, RELIST).await;
    assert!(asked.len() < 40, "{}", asked.len());
    let ends = std::iter::once(list(10, &[])).chain((0..500).map(|_| Reply::Lines(vec![])));
    let (_, asked) = follow(ends.collect(), 120, RELIST).await;
    assert!(asked.len() < 20, "{}", asked.len());
    let repeats = (0..500).map(|_| Reply::Lines(vec![line("ADDED", &claim("a", 5))]));
    let (_, asked) = follow(std::iter::once(list(10, &[])).chain(repeats).collect(), 120, RELIST).await;
    assert!(asked.len() < 20, "{}", asked.len());
    let garbage = (0..500).flat_map(|i| [list(10 + i, &[]), Reply::Lines(vec!["garbage\n".to_owned()])]);
    let (_, asked) = follow(garbage.collect(), 120, RELIST).await;
    assert!(asked.len() < 40, "{}", asked.len());
}

#[tokio::test(start_paused = true)]
async fn errors_are_waited_out_longer_each_time() {
    let mut replies: Vec<Reply> = (0..4).map(|_| Reply::Json(500, status(500, "InternalError"))).collect();
    replies.push(Reply::Refused);
    replies.extend([list(10, &[claim("a", 1)]), Reply::Open(vec![])]);
    let (seen, asked) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["a@1"]);
    let waits: Vec<Duration> = asked.windows(2).map(|w| w[1].0 - w[0].0).collect();
    for (i, wait) in waits[..5].iter().enumerate() {
        let most = Duration::from_millis(500 << i);
        assert!(*wait >= most / 2 && *wait <= most + Duration::from_millis(1), "{i}: {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    let mut busy = status(429, "TooManyRequests");
    busy["details"] = json!({"retryAfterSeconds": 17});
    let replies = vec![Reply::Json(429, busy), list(10, &[claim("a", 1)]), Reply::Open(vec![])];
    let (seen, asked) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["a@1"]);
    assert!(asked[1].0 >= Duration::from_secs(17) && asked[1].0 < Duration::from_secs(18));
}

#[tokio::test(start_paused = true)]
async fn repeated_events_change_nothing_and_a_skipped_one_is_healed_by_listing() {
    let twice = line("ADDED", &claim("a", 11));
    let replies = vec![
        list(10, &[]),
        // The deletion of a, and the addition of b, are skipped.
        Reply::Open(vec![twice.clone(), twice, line("ADDED", &claim("c", 14))]),
        list(20, &[claim("b", 13), claim("c", 14)]),
        Reply::Open(vec![]),
    ];
    let (seen, asked) = follow(replies, 200, Duration::from_secs(100)).await;
    assert_eq!(seen, ["b@13", "c@14"]);
    assert_eq!(asked[2].0, Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_stops_nothing_and_is_not_taken_for_gone() {
    let odd = |name: &str, version: u64| {
        let mut odd = claim(name, version);
        odd["spec"] = json!("not an object");
        odd
    };
    let replies = vec![
        list(10, &[claim("a", 1), odd("b", 2), claim("c", 3), claim("d", 4)]),
        Reply::Lines(vec![
            line("MODIFIED", &odd("a", 11)),
            line("MODIFIED", &claim("c", 12)),
            line("DELETED", &odd("d", 13)),
            line("ERROR", &status(410, "Gone")),
        ]),
        list(20, &[odd("a", 11), odd("b", 2), claim("c", 12)]),
        Reply::Open(vec![line("MODIFIED", &claim("b", 21))]),
    ];
    let (seen, _) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["a@1", "b@21", "c@12"]);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_event_has_everything_listed() {
    let replies = vec![
        list(10, &[]),
        Reply::Lines(vec![line("ADDED", &claim("a", 11)), "{\"type\":\n".to_owned()]),
        list(20, &[claim("b", 12)]),
        Reply::Open(vec![]),
    ];
    let (seen, _) = follow(replies, 60, RELIST).await;
    assert_eq!(seen, ["b@12"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_asked_again() {
    let replies = vec![
        Reply::Silence,
        list(10, &[claim("a", 1)]),
        Reply::Silence,
        // The connection died: nothing comes, not even the end.
        Reply::Open(vec![]),
        Reply::Open(vec![line("ADDED", &claim("b", 11))]),
    ];
    let (seen, asked) = follow(replies, 400, RELIST).await;
    assert_eq!(seen, ["a@1", "b@11"]);
    assert_eq!(asked.len(), 5);
    assert_eq!(asked[4].0 - asked[3].0, SILENCE);
}

#[tokio::test(start_paused = true)]
async fn a_selection_is_asked_for() {
    let script = Script::new([list(10, &[]), Reply::Open(vec![])]);
    let context = context(script.client());
    let mirror: Arc<Mirror<Claim>> = Mirror::new();
    let selection = Selection { fields: "spec.nodeName=a b".to_owned(), ..Selection::default() };
    reflect(&context, &mirror, selection);
    mirror.synced().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(script.asked().iter().all(|(_, path)| path.ends_with("&fieldSelector=spec.nodeName%3Da%20b")));
    context.tasks.shut_down(Duration::from_secs(1)).await;
}

#[test]
fn a_token_survives_the_query() {
    assert_eq!(escape("aZ9-._~"), "aZ9-._~");
    assert_eq!(escape("a+/=&"), "a%2B%2F%3D%26");
}
