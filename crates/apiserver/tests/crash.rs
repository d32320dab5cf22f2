//! A process that is killed at any moment keeps every write it acknowledged.
//!
//! The test runs itself as a child: the child opens the store and writes from several tasks at once, and tells each acknowledgement on
//! its standard output; the parent kills it (SIGKILL), opens the folder itself to look, and starts the next one. `CRASH_KILLS` sets how
//! often, `CRASH_SEED` repeats a run's choices.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_apiserver::store::{
    Change, Expect, HistoryLimits, ListRequest, Meta, Opened, ResourceKey, RevisionError, Store, WriteError,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const FOLDER: &str = "CRASH_CHILD_FOLDER";
const LIFE: &str = "CRASH_CHILD_LIFE";
const TASKS: u64 = 8;
const NAMES: u64 = 6;

fn open(folder: &Path) -> Opened {
    // What is found out about an object must come out of its bytes alone.
    let describe = |_: &str, bytes: &[u8]| Meta::new(std::str::from_utf8(&bytes[..8]).unwrap(), [], []);
    Store::open(folder, HistoryLimits::default(), &describe).unwrap()
}

fn value(revision: u64, task: u64, length: usize) -> Vec<u8> {
    let mut value = format!("uid-{task:04}|{revision}|").into_bytes();
    let filling = (revision % 251) as u8;
    value.resize(value.len() + length, filling);
    value
}

/// Writes until it is killed. Each task has its own objects, so that the parent can follow each one's last state.
fn child(folder: &Path, seed: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let Opened { store, notes } = open(folder);
        assert!(notes.is_empty(), "{notes:?}");
        say(&format!("open {}", store.revision()));
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            tasks.spawn(write_on(store.clone(), task, SmallRng::seed_from_u64(seed ^ task << 32)));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    });
}

async fn write_on(store: Store, task: u64, mut random: SmallRng) {
    let resource: ResourceKey = Arc::from(format!("kind-{}", task % 3));
    loop {
        let name = format!("name-{}", random.random_range(0..NAMES));
        let namespace = format!("task-{task}");
        let length = if random.random_bool(0.05) { 30_000 } else { random.random_range(0..1500) };
        let encode = move |revision| (value(revision, task, length).into(), Meta::default());
        let current = store.get(&resource, &namespace, &name);
        let expect = current.as_ref().map_or(Expect::Absent, |object| Expect::Revision(object.revision));
        let key = format!("{resource} {namespace}/{name}");
        let (change, verb) = if current.is_some() && random.random_bool(0.25) {
            (Change::delete(&resource, &namespace, &name, expect, |_| Bytes::new()), "gone")
        } else {
            (Change::put(&resource, &namespace, &name, expect, encode), "put")
        };
        say(&format!("try {verb} {key}"));
        match store.write(change).await {
            Ok(written) => say(&format!("{verb} {key} {}", written.revision())),
            Err(error @ WriteError::Conflict { .. }) => panic!("nobody else writes {key}: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// One line in one call, so that a killed child leaves whole lines but for the last.
fn say(line: &str) {
    std::io::stdout().write_all(format!("crash: {line}\n").as_bytes()).unwrap();
}

/// What the parent knows about an object: its last acknowledged state, and whether a further change was on its way.
#[derive(Debug, Default, Clone)]
struct Known {
    revision: Option<u64>,
    trying: Option<&'static str>,
}

#[test]
fn killed_at_any_moment() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return child(Path::new(&folder), std::env::var(LIFE).unwrap().parse().unwrap());
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("CRASH_KILLS").unwrap_or(200);
    let seed = number("CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("CRASH_SEED={seed} CRASH_KILLS={kills}");
    let folder = tempfile::tempdir().unwrap();
    let mut random = SmallRng::seed_from_u64(seed);
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let (mut highest, mut acknowledged) = (0, 0);
    for kill in 0..kills {
        acknowledged += live_and_die(folder.path(), seed.wrapping_add(kill), &mut random, &mut known, &mut highest);
        check(folder.path(), kill, &mut known, &mut highest);
    }
    println!("{acknowledged} acknowledged writes, revision {highest}");
    assert!(acknowledged > kills, "the children were killed before they did anything");
}

/// Runs a child for a moment. Gives back how many writes it acknowledged.
fn live_and_die(
    folder: &Path,
    seed: u64,
    random: &mut SmallRng,
    known: &mut BTreeMap<String, Known>,
    highest: &mut u64,
) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_at_any_moment", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(LIFE, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            lines.push(String::from_utf8(line).unwrap());
        }
        lines
    });
    // Some die while they open the store, some in the midst of writing.
    std::thread::sleep(Duration::from_micros(random.random_range(0..100_000)));
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let lines = reader.join().unwrap();
    if let Some(status) = ended {
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        panic!("the child ended by itself ({status}): {error}");
    }
    let mut acknowledged = 0;
    for line in lines {
        // The test harness may print its own words before the first line of the child.
        let Some((_, line)) = line.split_once("crash: ") else { continue };
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["open", revision] => assert!(revision.parse::<u64>().unwrap() >= *highest, "revisions went back"),
            ["try", verb, resource, path] if !path.is_empty() => {
                let verb = if *verb == "put" { "put" } else { "gone" };
                known.entry(format!("{resource} {path}")).or_default().trying = Some(verb);
            }
            [verb @ ("put" | "gone"), resource, path, revision] => {
                let revision: u64 = revision.parse().unwrap();
                let entry = known.entry(format!("{resource} {path}")).or_default();
                *entry = Known { revision: (*verb == "put").then_some(revision), trying: None };
                *highest = revision.max(*highest);
                acknowledged += 1;
            }
            other => panic!("what is {other:?}?"),
        }
    }
    acknowledged
}

/// A watch from before the restart goes on where nothing was missed, and is told to list again where something was.
fn check_watch(store: &Store, resource: &ResourceKey, kill: u64, known: &BTreeMap<String, Known>) {
    let of_resource = known.iter().filter(|(key, _)| key.split(' ').next() == Some(resource));
    let Some(last) = of_resource.filter_map(|(_, entry)| entry.revision).max() else { return };
    let mut watcher = match store.watch(resource, last) {
        Ok(watcher) => watcher,
        Err(RevisionError::TooOld { oldest }) => {
            assert!(oldest > last && oldest <= store.revision(), "kill {kill}: {resource} {last} {oldest}");
            store.watch(resource, oldest).unwrap()
        }
        Err(error) => panic!("kill {kill}: {error}"),
    };
    assert!(watcher.try_next().unwrap().is_none(), "kill {kill}: nothing has happened since the start");
    assert!(matches!(store.watch(resource, last - 1), Err(RevisionError::TooOld { .. })), "kill {kill}: {resource}");
}

/// Opens the store as a restarted server would and compares it with what the child said.
fn check(folder: &Path, kill: u64, known: &mut BTreeMap<String, Known>, highest: &mut u64) {
    let Opened { store, notes } = open(folder);
    assert!(notes.is_empty(), "kill {kill}: {notes:?}");
    assert!(store.revision() >= *highest, "kill {kill}: revision {} after {highest}", store.revision());
    *highest = store.revision();
    let mut found = BTreeMap::new();
    for resource in store.resources() {
        let list = store.list(&resource, &ListRequest::default()).unwrap();
        assert_eq!(list.revision, store.revision());
        for object in list.items {
            let text = String::from_utf8_lossy(&object.bytes).into_owned();
            let task: u64 = object.namespace().strip_prefix("task-").unwrap().parse().unwrap();
            let header = format!("uid-{task:04}|{}|", object.revision);
            assert!(text.starts_with(&header), "kill {kill}: {} holds another's value", object.path());
            let length = object.bytes.len() - header.len();
            assert_eq!(object.bytes, value(object.revision, task, length), "kill {kill}: a value is not whole");
            assert_eq!(object.meta.uid(), format!("uid-{task:04}"));
            assert!(object.created_revision <= object.revision && object.revision <= store.revision());
            found.insert(format!("{resource} {}", object.path()), object.revision);
        }
        check_watch(&store, &resource, kill, known);
    }
    for path in found.keys() {
        assert!(known.contains_key(path), "kill {kill}: {path} was never written");
    }
    for (path, entry) in known {
        let there = found.get(path).copied();
        let as_acknowledged = there == entry.revision;
        let as_tried = match entry.trying {
            Some("put") => there > entry.revision,
            Some(_) => there.is_none(),
            None => false,
        };
        assert!(as_acknowledged || as_tried, "kill {kill}: {path} is at {there:?}, acknowledged was {entry:?}");
        *entry = Known { revision: there, trying: None };
    }
}
