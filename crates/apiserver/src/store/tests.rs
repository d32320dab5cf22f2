//! The store's corners, one by one.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::model_tests::{NAMES, delete, describe, key, on_one_thread, put};
use super::*;

#[test]
fn meta_gives_back_what_was_packed() {
    let meta = Meta::new("u", [("b", "2"), ("a", ""), ("", "é")], [("spec.nodeName", "n"), ("status.phase", "")]);
    assert_eq!(meta.uid(), "u");
    assert_eq!(meta.labels().collect::<Vec<_>>(), [("", "é"), ("a", ""), ("b", "2")]);
    assert_eq!(meta.fields().collect::<Vec<_>>(), [("spec.nodeName", "n"), ("status.phase", "")]);
    assert_eq!((meta.label("b"), meta.label("spec.nodeName")), (Some("2"), None));
    assert_eq!((meta.field("spec.nodeName"), meta.field("b")), (Some("n"), None));
    let empty = Meta::default();
    assert_eq!((empty.uid(), empty.labels().count(), empty.fields().count()), ("", 0, 0));
}

#[test]
fn keys_that_could_be_mistaken_for_others_are_refused() {
    on_one_thread(async {
        let store = Store::in_memory(HistoryLimits::default());
        for (resource, namespace, name) in
            [("pods", "a", ""), ("pods", "a/b", "c"), ("pods", "", "a/b"), ("pods", "a", "b\0"), ("", "a", "b")]
        {
            let outcome = store.write(put(resource, namespace, name, Expect::Any, 0)).await;
            assert!(matches!(outcome, Err(WriteError::Key { .. })), "{resource} {namespace} {name}");
        }
        assert_eq!(store.revision(), 0);
    });
}

#[test]
fn a_panicking_encoder_fails_only_its_own_write() {
    on_one_thread(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), HistoryLimits::default(), &describe).unwrap().store;
        let bad = Change::put(&key("pods"), "a", "bad", Expect::Any, |_| panic!("on purpose"));
        assert!(matches!(store.write(bad).await, Err(WriteError::Encode)));
        let both = Write::one(put("pods", "a", "x", Expect::Absent, 0)).and(Change::delete(
            &key("pods"),
            "a",
            "x",
            Expect::Any,
            |_| panic!("on purpose"),
        ));
        assert!(matches!(store.write(both).await, Err(WriteError::Encode)));
        let written = store.write(put("pods", "a", "good", Expect::Absent, 0)).await.unwrap();
        assert_eq!((written.revision(), store.count("pods")), (1, 1));
    });
}

#[test]
fn a_watch_wakes_and_a_dropped_wait_loses_nothing() {
    on_one_thread(async {
        let store = Store::in_memory(HistoryLimits::default());
        let mut watcher = store.watch(&key("pods"), 0).unwrap();
        let soon = std::time::Duration::from_millis(10);
        assert!(tokio::time::timeout(soon, watcher.next()).await.is_err());
        let writer = store.clone();
        let later = tokio::spawn(async move {
            tokio::time::sleep(soon).await;
            writer.write(put("apps/deployments", "a", "x", Expect::Absent, 0)).await.unwrap();
            writer.write(put("pods", "a", "x", Expect::Absent, 0)).await.unwrap();
        });
        let batch = watcher.next().await.unwrap();
        assert_eq!((batch.events.len(), batch.revision), (1, 2));
        later.await.unwrap();
        store.write(put("apps/deployments", "a", "y", Expect::Absent, 0)).await.unwrap();
        assert_eq!(watcher.progress(), 3);
    });
}

#[test]
fn history_is_bounded_by_bytes() {
    on_one_thread(async {
        let store = Store::in_memory(HistoryLimits { events: 1000, bytes: 20_000 });
        for _ in 0..100 {
            let change =
                Change::put(&key("pods"), "a", "x", Expect::Any, |_| (vec![b'x'; 1000].into(), Meta::default()));
            store.write(change).await.unwrap();
        }
        let oldest = match store.watch(&key("pods"), 0) {
            Err(RevisionError::TooOld { oldest }) => oldest,
            other => panic!("{other:?}"),
        };
        assert!((80..100).contains(&oldest), "{oldest}");
        assert!(store.watch(&key("pods"), oldest).is_ok());
    });
}

#[test]
fn many_writers_share_a_flush_and_each_revision_is_given_once() {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), HistoryLimits::default(), &describe).unwrap().store;
        let mut watcher = store.watch(&key("pods"), 0).unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..64 {
            let store = store.clone();
            tasks.spawn(async move {
                let mut revisions = Vec::new();
                for number in 0..10 {
                    let name = format!("p-{task}-{number}");
                    let written = store.write(put("pods", "a", &name, Expect::Absent, 0)).await.unwrap();
                    assert_eq!(store.get("pods", "a", &name).unwrap().revision, written.revision());
                    revisions.push(written.revision());
                }
                revisions
            });
        }
        let mut revisions: Vec<u64> = tasks.join_all().await.into_iter().flatten().collect();
        revisions.sort_unstable();
        assert_eq!(revisions, (1..=640).collect::<Vec<_>>());
        let mut seen = Vec::new();
        while seen.len() < 640 {
            seen.extend(watcher.next().await.unwrap().events.iter().map(|event| event.revision()));
        }
        assert_eq!(seen, revisions);
    });
}

#[test]
fn a_folder_has_one_user_and_says_what_is_wrong() {
    use std::os::unix::fs::PermissionsExt;
    on_one_thread(async {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("deep/data");
        let open = || Store::open(&folder, HistoryLimits::default(), &describe);
        let store = open().unwrap().store;
        let mode = |name: &str| std::fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("."), mode("store.redb"), mode("lock"), mode("high-water")), (0o700, 0o600, 0o600, 0o600));
        let in_use = format!(
            "the data folder {} is in use by another plimsoll process (pid {}); stop it or choose another --data-dir",
            folder.display(),
            std::process::id()
        );
        assert_eq!(open().unwrap_err().to_string(), in_use);
        store.write(put("pods", "a", "x", Expect::Absent, 7)).await.unwrap();
        store.close().await;
        assert!(matches!(store.write(put("pods", "a", "y", Expect::Any, 0)).await, Err(WriteError::Closed)));
        assert_eq!(store.count("pods"), 1, "a closed store still answers");
        let again = open().unwrap().store;
        assert_eq!((again.count("pods"), again.revision()), (1, 1));
        drop(again);

        std::fs::write(folder.join("store.redb"), b"this is not a store").unwrap();
        let error = open().unwrap_err().to_string();
        let (before, after) =
            (format!("the store {}/store.redb is damaged: ", folder.display()), "restore it from a backup");
        assert!(error.starts_with(&before) && error.contains(after), "{error}");
        std::fs::write(folder.join("high-water"), b"nonsense, and long enough").unwrap();
        std::fs::remove_file(folder.join("store.redb")).unwrap();
        std::fs::write(folder.join("store.redb.new"), b"half made").unwrap();
        assert_eq!(open().unwrap().store.revision(), 0, "a half-made store is made anew");
    });
}

#[test]
fn a_store_with_flipped_bits_is_never_a_panic() {
    on_one_thread(async {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), HistoryLimits::default(), &describe);
        let store = open().unwrap().store;
        for number in 0..50 {
            store.write(put("pods", "a", &format!("p{number}"), Expect::Absent, 0)).await.unwrap();
        }
        drop(store);
        let path = folder.path().join("store.redb");
        let whole = std::fs::read(&path).unwrap();
        for seed in 0..60 {
            let mut random = SmallRng::seed_from_u64(seed);
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(1..200) {
                let at = random.random_range(0..bytes.len().min(if seed % 2 == 0 { 512 } else { usize::MAX }));
                bytes[at] ^= 1 << random.random_range(0..8);
            }
            bytes.truncate(if seed % 5 == 0 { random.random_range(0..bytes.len()) } else { bytes.len() });
            std::fs::write(&path, bytes).unwrap();
            if let Err(error) = open() {
                let text = error.to_string();
                assert!(text.contains("store.redb") || text.contains("layout"), "{text}");
            }
        }
    });
}

#[test]
fn a_file_that_is_mostly_empty_shrinks_at_the_next_start() {
    on_one_thread(async {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), HistoryLimits::default(), &|_, _| Meta::default()).unwrap().store;
        let length = || std::fs::metadata(folder.path().join("store.redb")).unwrap().len();
        let store = open();
        for number in 0..80 {
            let name = format!("p{number:02}");
            let encode = move |_| (vec![number; 1 << 20].into(), Meta::default());
            store.write(Change::put(&key("pods"), "a", &name, Expect::Absent, encode)).await.unwrap();
        }
        for number in 0..78 {
            store.write(delete("pods", "a", &format!("p{number:02}"), Expect::Any)).await.unwrap();
        }
        drop(store);
        let before = length();
        let store = open();
        assert!(length() < before && length() < 20 << 20, "{before} and then {}", length());
        assert_eq!(store.get("pods", "a", "p79").unwrap().bytes, vec![79; 1 << 20]);
        assert_eq!((store.count("pods"), store.revision()), (2, 158));
    });
}

#[test]
fn an_older_file_put_back_is_noticed_and_no_revision_is_given_twice() {
    on_one_thread(async {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), HistoryLimits::default(), &describe).unwrap();
        let (file, copy) = (folder.path().join("store.redb"), folder.path().join("copy"));
        for (number, name) in NAMES.into_iter().enumerate() {
            let store = open().store;
            store.write(put("pods", "a", name, Expect::Absent, 0)).await.unwrap();
            store.close().await;
            if number == 2 {
                std::fs::copy(&file, &copy).unwrap();
            }
        }
        std::fs::rename(&copy, &file).unwrap();
        let Opened { store, notes } = open();
        let continues_after = store.revision();
        assert!(continues_after > 5);
        assert_eq!(notes, [Note::LostFlush { opened_at: 3, acknowledged: 5, continues_after }]);
        assert!(notes[0].to_string().starts_with(
            "the store opened at revision 3, older than the last acknowledged 5: a disk lied about a flush"
        ));
        assert_eq!(store.count("pods"), 3);
        for (resource, from) in [("pods", 3), ("pods", 5), ("never/seen", 5)] {
            assert!(
                matches!(store.watch(&key(resource), from), Err(RevisionError::TooOld { .. })),
                "{resource} {from}"
            );
        }
        drop(store);
        let Opened { store, notes } = open();
        assert_eq!((notes, store.revision()), (vec![], continues_after), "it is told once");
        let written = store.write(put("pods", "a", "new", Expect::Absent, 0)).await.unwrap();
        assert_eq!(written.revision(), continues_after + 1);
    });
}
