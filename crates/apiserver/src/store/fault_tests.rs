//! Torn writes lose nothing acknowledged; lost flushes lead to an earlier state that is whole, and are told.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::faults::{FaultyDisk, Loss, SharedHighWater};
use super::*;

type Contents = BTreeMap<String, (u64, Bytes)>;

fn open(disk: &FaultyDisk, note: &SharedHighWater) -> Result<Opened, OpenError> {
    Store::open_backend(disk.clone(), Box::new(note.clone()), HistoryLimits::default(), &|_, _| Meta::default())
}

fn contents(store: &Store) -> Contents {
    let list = store.list("things", &ListRequest::default()).unwrap();
    list.items.iter().map(|object| (object.path().to_owned(), (object.revision, object.bytes.clone()))).collect()
}

/// One random change, its effect on the contents, and whether it happened.
async fn change(store: &Store, contents: &Contents, random: &mut SmallRng) -> (Result<Written, WriteError>, Contents) {
    let things: ResourceKey = Arc::from("things");
    let mut after = contents.clone();
    let name = format!("thing-{}", random.random_range(0..12));
    let path = format!("space/{name}");
    let revision = store.revision() + 1;
    let write = if contents.contains_key(&path) && random.random_bool(0.3) {
        after.remove(&path);
        Change::delete(&things, "space", &name, Expect::Any, |_| Bytes::from_static(b"gone"))
    } else {
        let length = if random.random_bool(0.1) { 20_000 } else { random.random_range(1..900) };
        let filling: u8 = random.random();
        let mut value = revision.to_be_bytes().to_vec();
        value.resize(8 + length, filling);
        after.insert(path, (revision, Bytes::from(value.clone())));
        Change::put(&things, "space", &name, Expect::Any, move |at| {
            assert_eq!(at, revision);
            (Bytes::from(value), Meta::default())
        })
    };
    (store.write(write).await, after)
}

fn on_one_thread(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
}

#[test]
fn a_disk_that_dies_at_any_operation_keeps_what_was_acknowledged() {
    const CHANGES: usize = 25;
    on_one_thread(async {
        for at in 0.. {
            let mut random = SmallRng::seed_from_u64(at);
            let (mut disk, note) = (FaultyDisk::default(), SharedHighWater::default());
            let (mut known, mut in_doubt, mut revision) = (Contents::new(), None::<Contents>, 0);
            // Making the file is another matter: a folder's first start makes it under another name.
            drop(open(&disk, &note).unwrap());
            let begun = disk.operations();
            let mut reached = false;
            // The first life dies at the operation under test, the second at a random one, the third lives.
            for life in 0..3 {
                match life {
                    0 => disk.die_at(begun + at),
                    1 => disk.die_at(random.random_range(0..60)),
                    _ => {}
                }
                if let Ok(Opened { store, notes }) = open(&disk, &note) {
                    assert_eq!(notes, [], "operation {at}, life {life}");
                    let found = contents(&store);
                    assert!(
                        found == known || Some(&found) == in_doubt.as_ref(),
                        "operation {at}, life {life}: {found:?} is neither {known:?} nor {in_doubt:?}"
                    );
                    (known, in_doubt) = (found, None);
                    assert!(store.revision() >= revision, "operation {at}, life {life}: revisions went back");
                    for _ in 0..CHANGES {
                        let (written, after) = change(&store, &known, &mut random).await;
                        match written {
                            Ok(written) => {
                                assert!(written.revision() > revision);
                                (revision, known) = (written.revision(), after);
                            }
                            Err(error) => {
                                assert!(matches!(error, WriteError::Failed(_)), "{error}");
                                assert!(store.stopped().is_some());
                                assert_eq!(contents(&store), known, "what is not durable is not visible");
                                in_doubt = Some(after);
                                reached |= life == 0;
                                break;
                            }
                        }
                    }
                } else {
                    assert!(life < 2, "operation {at}: a store that was not damaged did not open");
                    reached |= life == 0;
                }
                let loss = [Loss::All, Loss::Tail, Loss::Any][random.random_range(0..3)];
                disk = disk.after_power_cut(loss, &mut random);
            }
            if !reached {
                assert!(at > 100, "the test has not seen many operations: {at}");
                return;
            }
        }
    });
}

#[test]
fn after_a_lost_flush_the_store_opens_at_an_earlier_whole_state_and_says_so() {
    on_one_thread(async {
        let mut told = 0;
        for seed in 0..300 {
            let mut random = SmallRng::seed_from_u64(seed);
            let (disk, note) = (FaultyDisk::default(), SharedHighWater::default());
            let mut history = vec![Contents::new()];
            let store = open(&disk, &note).unwrap().store;
            let honest = random.random_range(0..20);
            let lied = random.random_range(1..6);
            for number in 0..honest + lied {
                if number == honest {
                    disk.lie(true);
                }
                let (written, after) = change(&store, history.last().unwrap(), &mut random).await;
                assert_eq!(written.unwrap().revision() as usize, history.len());
                history.push(after);
            }
            let acknowledged = store.revision();
            disk.die();
            drop(store);
            // More than one flush lost and sectors missing in the middle: both of the file's commits are then torn, so the store is
            // found damaged; but it is never wrong.
            let loss = [Loss::All, Loss::Tail, Loss::Any][seed as usize % 3];
            let disk = disk.after_power_cut(loss, &mut random);
            let Opened { store, notes } = match open(&disk, &note) {
                Ok(opened) => opened,
                Err(OpenError::Damaged { .. }) if loss == Loss::Any && lied > 1 => continue,
                Err(error) => panic!("seed {seed}, {loss:?}: {error}"),
            };
            let opened_at = match notes.as_slice() {
                [] => {
                    assert_eq!(store.revision(), acknowledged, "seed {seed}");
                    acknowledged
                }
                [Note::LostFlush { opened_at, acknowledged: noted, continues_after }] => {
                    told += 1;
                    assert_eq!((*noted, *continues_after), (acknowledged, store.revision()), "seed {seed}");
                    let things: ResourceKey = Arc::from("things");
                    assert!(matches!(store.watch(&things, acknowledged), Err(RevisionError::TooOld { .. })));
                    *opened_at
                }
                more => panic!("seed {seed}: {more:?}"),
            };
            assert!(opened_at >= honest, "seed {seed}: what was flushed is lost");
            assert_eq!(contents(&store), history[opened_at as usize], "seed {seed}: not the state of {opened_at}");
            let (written, after) = change(&store, &history[opened_at as usize], &mut random).await;
            let revision = written.unwrap().revision();
            assert!(revision > acknowledged, "seed {seed}: a revision is given twice");
            store.close().await;
            let Opened { store, notes } = open(&disk, &note).unwrap();
            assert_eq!((notes, contents(&store), store.revision()), (vec![], after, revision), "seed {seed}");
            let things: ResourceKey = Arc::from("things");
            assert!(matches!(store.watch(&things, acknowledged.min(revision - 1)), Err(RevisionError::TooOld { .. })));
        }
        assert!(told > 100, "few losses were told: {told}");
    });
}

#[test]
fn one_dropped_flush_is_made_good_by_the_next() {
    on_one_thread(async {
        for seed in 0..60 {
            let mut random = SmallRng::seed_from_u64(seed);
            let (disk, note) = (FaultyDisk::default(), SharedHighWater::default());
            let store = open(&disk, &note).unwrap().store;
            let mut known = Contents::new();
            for lies in [false, false, true, false] {
                disk.lie(lies);
                let (written, after) = change(&store, &known, &mut random).await;
                written.unwrap();
                known = after;
            }
            disk.die();
            drop(store);
            let Opened { store, notes } = open(&disk.after_power_cut(Loss::Any, &mut random), &note).unwrap();
            assert_eq!((notes, contents(&store)), (vec![], known), "seed {seed}");
        }
    });
}
