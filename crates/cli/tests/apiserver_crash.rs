//! `kill -9` at any moment: what was acknowledged over the API is there after the restart, with its value and its resourceVersion.
//!
//! `CRASH_KILLS` (25) says how often, `CRASH_SEED` which run; the seed of a run is printed. The store's own test, below the API, is
//! `crates/apiserver/tests/crash.rs`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::BodyExt as _;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use server::{Client, Lost, Server};
use tokio::time::{Instant, sleep, timeout};

const WRITERS: usize = 4;
const NAMES: u64 = 6;
const RESOURCES: [&str; 2] = ["configmaps", "pods"];

/// An object's state: its resourceVersion and the value that the test gave it.
type State = (u64, String);

/// What is known of one object.
#[derive(Debug, Clone, Default)]
struct Known {
    /// As the server last acknowledged it.
    state: Option<State>,
    /// What was asked for when the server went: the value to be written, or none for a deletion.
    trying: Option<Option<String>>,
}

type Model = BTreeMap<(String, String), Known>;

fn path(resource: &str) -> String {
    format!("/api/v1/namespaces/default/{resource}")
}

/// An object that carries a value as a label, which both kinds have.
fn object(resource: &str, name: &str, value: &str) -> Value {
    let metadata = json!({"name": name, "labels": {"value": value}});
    match resource {
        "pods" => {
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        }
        _ => json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"value": value}}),
    }
}

fn state(object: &Value) -> State {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str().unwrap_or_default().parse().unwrap();
    (version, metadata["labels"]["value"].as_str().unwrap_or_default().to_owned())
}

/// Writes until the server is gone. Every object has one writer, so what it holds is never in doubt.
async fn write(client: Client, writer: usize, mut random: StdRng, mut model: Model) -> (Model, Vec<(String, State)>) {
    let mut acknowledged = Vec::new();
    let mut highest = 0;
    loop {
        let resource = RESOURCES[random.random_range(0..RESOURCES.len())];
        let name = format!("w{writer}-{}", random.random_range(0..NAMES));
        let key = (resource.to_owned(), name.clone());
        let value = format!("v{:016x}", random.random::<u64>());
        let entry = model.entry(key).or_default();
        let one = format!("{}/{name}", path(resource));
        let (trying, answer) = match (&entry.state, random.random_range(0..10)) {
            (None, _) => {
                entry.trying = Some(Some(value.clone()));
                (
                    Some(value.clone()),
                    client
                        .call("POST", &path(resource), "application/json", object(resource, &name, &value).to_string())
                        .await,
                )
            }
            (Some(_), 0..2) => {
                entry.trying = Some(None);
                (None, client.call("DELETE", &one, "application/json", r#"{"gracePeriodSeconds":0}"#).await)
            }
            (Some((version, _)), 2..6) if resource == "configmaps" => {
                entry.trying = Some(Some(value.clone()));
                let mut body = object(resource, &name, &value);
                body["metadata"]["resourceVersion"] = version.to_string().into();
                (Some(value.clone()), client.call("PUT", &one, "application/json", body.to_string()).await)
            }
            (Some(_), _) => {
                entry.trying = Some(Some(value.clone()));
                let body = json!({"metadata": {"labels": {"value": value}}}).to_string();
                (Some(value.clone()), client.call("PATCH", &one, "application/merge-patch+json", body).await)
            }
        };
        let Ok(answer) = answer else { return (model, acknowledged) };
        assert!(matches!(answer.code, 200 | 201), "{resource} {name}: {}", answer.shown());
        entry.trying = None;
        if trying.is_some() {
            let new = state(&answer.json());
            assert_eq!(Some(&new.1), trying.as_ref(), "{resource} {name}: another value is answered than was sent");
            assert!(new.0 > highest, "{resource} {name}: version {} after {highest}", new.0);
            highest = new.0;
            acknowledged.push((format!("{resource} {name}"), new.clone()));
            entry.state = Some(new);
        } else {
            entry.state = None;
        }
    }
}

/// What a watch has seen.
#[derive(Debug, Default)]
struct Seen {
    last: u64,
    versions: Vec<u64>,
    /// The server told it to list again.
    gone: bool,
}

/// Follows the config maps from a version until the server is gone, or `enough` is.
async fn watch(client: Client, mut seen: Seen, enough: Option<(u64, Duration)>) -> Seen {
    let ends = enough.map(|(_, time)| Instant::now() + time);
    let path = format!("{}?watch=true&resourceVersion={}", path("configmaps"), seen.last);
    let Ok(response) = client.open("GET", &path, "", "").await else { return seen };
    if response.status() == 410 {
        seen.gone = true;
        return seen;
    }
    let mut body = response.into_body();
    let mut text = Vec::new();
    loop {
        let wait = ends.map_or(Duration::from_secs(60), |ends| ends.saturating_duration_since(Instant::now()));
        if enough.is_some_and(|(version, _)| seen.last >= version) {
            return seen;
        }
        let Ok(Some(Ok(frame))) = timeout(wait, body.frame()).await else { return seen };
        text.extend_from_slice(frame.data_ref().map(|d| d.as_ref()).unwrap_or_default());
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap();
            if event["type"] == "ERROR" {
                assert_eq!(event["object"]["code"], 410, "{event}");
                seen.gone = true;
                return seen;
            }
            let (version, _) = state(&event["object"]);
            assert!(version > seen.last, "a watch went back from {} to {version}", seen.last);
            seen.last = version;
            seen.versions.push(version);
        }
    }
}

async fn list(client: &Client, resource: &str) -> Result<(u64, BTreeMap<String, State>), Lost> {
    let answer = client.call("GET", &path(resource), "", "").await?;
    assert_eq!(answer.code, 200, "{}", answer.shown());
    let list = answer.json();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let items = list["items"].as_array().unwrap();
    let ours = items.iter().filter(|item| item["metadata"]["labels"]["value"].is_string());
    Ok((version, ours.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), state(item))).collect()))
}

/// Every version that was ever seen, and of what.
#[derive(Default)]
struct History(BTreeMap<u64, (String, String)>);

impl History {
    fn record(&mut self, key: &str, state: &State) {
        let entry = (key.to_owned(), state.1.clone());
        let before = self.0.insert(state.0, entry.clone());
        assert!(
            before.as_ref().is_none_or(|b| *b == entry),
            "version {} stands for {before:?} and for {entry:?}",
            state.0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost() {
    let kills: usize = std::env::var("CRASH_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(25);
    let seed: u64 =
        std::env::var("CRASH_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or_else(|| StdRng::from_os_rng().random());
    println!("CRASH_SEED={seed} CRASH_KILLS={kills}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let (mut model, mut history) = (Model::new(), History::default());
    let (mut highest, mut writes, mut resumed, mut relisted, mut starting) = (0, 0, 0, 0, Duration::ZERO);
    let mut previous: Option<([u64; 2], Vec<u64>)> = None;

    for kill in 0..kills {
        let start = Instant::now();
        let mut server = Server::start(folder.path(), &[]).await;
        starting += start.elapsed();
        let client = server.client().await.unwrap();

        // What was there before the kill is there now.
        let mut found = BTreeMap::new();
        let mut newest = 0;
        for resource in RESOURCES {
            let (version, items) = list(&client, resource).await.unwrap();
            assert!(version >= highest, "kill {kill}: the list is at {version}, {highest} was acknowledged");
            newest = newest.max(version);
            found.extend(items.into_iter().map(|(name, state)| ((resource.to_owned(), name), state)));
        }
        check(kill, &mut model, &found);
        for ((resource, name), state) in &found {
            assert!(state.0 <= newest);
            history.record(&format!("{resource} {name}"), state);
        }
        highest = highest.max(newest);

        // A watch goes on where it was, or is told that it cannot, and then the list above was the answer. One has read all that came,
        // and one has not read anything of the last round.
        let (froms, acknowledged) = previous.take().unwrap_or_default();
        for from in froms.into_iter().filter(|from| *from > 0) {
            let expected: Vec<u64> = acknowledged.iter().copied().filter(|version| *version > from).collect();
            let enough = expected.iter().max().copied().unwrap_or(from + 1);
            let patience = Duration::from_millis(if expected.is_empty() { 20 } else { 5000 });
            let seen = watch(client.clone(), Seen { last: from, ..Seen::default() }, Some((enough, patience))).await;
            if seen.gone {
                relisted += 1;
                continue;
            }
            resumed += 1;
            for version in expected {
                assert!(
                    seen.versions.contains(&version),
                    "kill {kill}: resumed from {from}, but {version} never came: {seen:?}"
                );
            }
        }

        // Writers and a watch, until the process is gone.
        let watching =
            tokio::spawn(watch(server.client().await.unwrap(), Seen { last: newest, ..Seen::default() }, None));
        let mut writing = Vec::new();
        for writer in 0..WRITERS {
            let mine = format!("w{writer}-");
            let part: Model = model
                .iter()
                .filter(|((_, name), _)| name.starts_with(&mine))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            let seed = random.random();
            writing.push(tokio::spawn(write(
                server.client().await.unwrap(),
                writer,
                StdRng::seed_from_u64(seed),
                part,
            )));
        }
        sleep(Duration::from_micros(random.random_range(1_000..250_000))).await;
        server.kill();

        let mut of_maps = Vec::new();
        for task in writing {
            let (part, acknowledged) = task.await.unwrap();
            model.extend(part);
            writes += acknowledged.len();
            for (key, state) in acknowledged {
                assert!(
                    state.0 > newest,
                    "kill {kill}: {key} was written at {}, the server began at {newest}",
                    state.0
                );
                highest = highest.max(state.0);
                history.record(&key, &state);
                if key.starts_with("configmaps ") {
                    of_maps.push(state.0);
                }
            }
        }
        let seen = watching.await.unwrap();
        assert!(!seen.gone, "kill {kill}: a watch from the present was told that it is too old");
        // What came in between must have come without gaps.
        let gaps: Vec<_> = of_maps.iter().filter(|v| **v <= seen.last && !seen.versions.contains(v)).collect();
        assert!(gaps.is_empty(), "kill {kill}: the watch left out {gaps:?}");
        previous = Some(([seen.last, newest], of_maps));
    }

    let mut server = Server::start(folder.path(), &[]).await;
    server.check().await;
    let took = begun.elapsed();
    println!(
        "{kills} kills in {took:.1?}: {writes} acknowledged writes, {resumed} watches resumed, {relisted} were told to list again, \
         {:.0?} to start on average",
        starting / u32::try_from(kills).unwrap().max(1)
    );
    assert!(writes > kills, "hardly anything was written");
}

/// Compares what is found with what is known, and takes it over.
fn check(kill: usize, model: &mut Model, found: &BTreeMap<(String, String), State>) {
    for key in found.keys() {
        assert!(model.contains_key(key), "kill {kill}: {key:?} was never written");
    }
    for (key, known) in model {
        let there = found.get(key);
        let as_acknowledged = there == known.state.as_ref();
        let as_tried = match &known.trying {
            Some(Some(value)) => there.is_some_and(|(version, found)| {
                found == value && known.state.as_ref().is_none_or(|(before, _)| version > before)
            }),
            Some(None) => there.is_none(),
            None => false,
        };
        assert!(as_acknowledged || as_tried, "kill {kill}: {key:?} is {there:?}, known is {known:?}");
        *known = Known { state: there.cloned(), trying: None };
    }
}
