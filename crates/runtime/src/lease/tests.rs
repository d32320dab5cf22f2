//! Elections against a small API, in virtual time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::error::Error;
use crate::fake::{Fault, Store, context};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/binder";

/// A replica: who leads writes `{who, at}` objects once a second for as long as it believes that it leads.
struct Replica {
    context: Context,
    ended: JoinHandle<Ended>,
    frozen: Arc<AtomicBool>,
    refusals: Arc<Mutex<Vec<Error>>>,
}

fn begin(store: &Store, who: &'static str) -> Replica {
    begin_at(store, who, Duration::ZERO)
}

/// Its calendar is ahead by `skew`.
fn begin_at(store: &Store, who: &'static str, skew: Duration) -> Replica {
    let mut context = context(store.client());
    if let plimsoll_clock::Clock::Virtual { epoch, .. } = &mut context.clock {
        *epoch += skew;
    }
    let refusals: Arc<Mutex<Vec<Error>>> = Arc::default();
    let frozen = Arc::new(AtomicBool::new(false));
    let (mine, errors, store) = (context.clone(), refusals.clone(), store.clone());
    let election = async move {
        let config = LeaseConfig::new("kube-system", "binder", who);
        run_as_leader(&mine, config, |leader| async move {
            let stop = leader.tasks.token();
            let writes = AtomicU32::new(0);
            let objects = leader.objects();
            leader.tasks.clone().spawn("writer", async move {
                let tick = Duration::from_secs(1);
                while tokio::time::timeout(tick, stop.cancelled()).await.is_err() {
                    let name = format!("{who}-{}", writes.fetch_add(1, Ordering::Relaxed));
                    let note = json!({"metadata": {"name": name}, "who": who, "lease": store.object(PATH)});
                    if let Err(error) = objects.create::<Value>(Resource::EVENTS, "n", &note).await {
                        errors.lock().unwrap().push(error);
                    }
                }
            });
        })
        .await
    };
    let ended = tokio::spawn(freezing(frozen.clone(), election));
    Replica { context, ended, frozen, refusals }
}

/// The future, which is not polled while frozen. Its own tasks go on, which is worse than a frozen process.
async fn freezing<T>(frozen: Arc<AtomicBool>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    std::future::poll_fn(move |cx| {
        while tick.poll_tick(cx).is_ready() {}
        if frozen.load(Ordering::Relaxed) { std::task::Poll::Pending } else { work.as_mut().poll(cx) }
    })
    .await
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn spec(store: &Store) -> Value {
    store.object(PATH).unwrap()["spec"].clone()
}

fn holder(store: &Store) -> String {
    spec(store)["holderIdentity"].as_str().unwrap().to_owned()
}

/// Who made the notes, in order, without repetitions; and that each was the lease's holder when it made one.
fn writers(store: &Store) -> Vec<String> {
    let mut writers: Vec<String> = Vec::new();
    for (_, note) in store.done(&Method::POST) {
        let Some(who) = note["who"].as_str() else { continue };
        assert_eq!(note["lease"]["spec"]["holderIdentity"], who, "written without the lease");
        if writers.last().is_none_or(|last| last != who) {
            writers.push(who.to_owned());
        }
    }
    writers
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_written_as_client_go_writes_it() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(1).await;
    assert_eq!(
        spec(&store),
        json!({
            "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        })
    );
    assert!(a.context.metrics.text().contains("leader_election_master_status{name=\"binder\"} 1"));
    seconds(4).await;
    let renewed = spec(&store)["renewTime"].as_str().unwrap().to_owned();
    assert!(renewed.starts_with("2026-01-01T00:00:04."), "{renewed}");
    assert_eq!(spec(&store)["acquireTime"], "2026-01-01T00:00:00.000000Z");

    a.context.tasks.stop();
    assert_eq!(a.ended.await.unwrap(), Ended::Released);
    let released = spec(&store);
    assert_eq!((&released["holderIdentity"], &released["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    assert!(a.context.metrics.text().contains("leader_election_master_status{name=\"binder\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn of_two_one_leads_and_the_other_follows_a_clean_end_at_once() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(1).await;
    let b = begin(&store, "b");
    seconds(120).await;
    assert_eq!((holder(&store).as_str(), writers(&store)), ("a", vec!["a".to_owned()]));
    a.context.tasks.stop();
    assert_eq!(a.ended.await.unwrap(), Ended::Released);
    seconds(5).await;
    assert_eq!(holder(&store), "b");
    assert_eq!(spec(&store)["leaseTransitions"], 1);
    seconds(5).await;
    assert_eq!(writers(&store), ["a", "b"]);
    b.context.tasks.stop();
    assert_eq!(b.ended.await.unwrap(), Ended::Released);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_died_is_followed_within_the_lease_and_a_try() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(1).await;
    let _b = begin(&store, "b");
    seconds(30).await;
    a.ended.abort();
    let died = Instant::now();
    seconds(1).await;
    let written = store.done(&Method::POST).len();
    seconds(5).await;
    assert_eq!(store.done(&Method::POST).len(), written, "its tasks go on");
    while holder(&store) == "a" {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let passed = died.elapsed();
    assert!(passed > Duration::from_secs(10) && passed < Duration::from_secs(22), "{passed:?}");
    assert_eq!(spec(&store)["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_leader_writes_nothing_once_its_time_is_over() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(1).await;
    let b = begin(&store, "b");
    seconds(20).await;
    a.frozen.store(true, Ordering::Relaxed);
    // Its writer task goes on trying; only the fence stands before it.
    seconds(40).await;
    assert_eq!(holder(&store), "b");
    assert_eq!(writers(&store), ["a", "b"]);
    let refused = a.refusals.lock().unwrap().len();
    assert!(refused > 25, "{refused}");
    assert!(a.refusals.lock().unwrap().iter().all(|e| matches!(e, Error::Fenced(_))));
    a.frozen.store(false, Ordering::Relaxed);
    assert_eq!(a.ended.await.unwrap(), Ended::Lost);
    seconds(10).await;
    assert_eq!((holder(&store).as_str(), writers(&store)), ("b", vec!["a".to_owned(), "b".to_owned()]));
    b.context.tasks.stop();
    assert_eq!(b.ended.await.unwrap(), Ended::Released);
}

#[tokio::test(start_paused = true)]
async fn a_leader_behind_a_closed_gate_does_nothing_and_then_ends() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(5).await;
    // The election itself is no task of the context here.
    a.frozen.store(true, Ordering::Relaxed);
    a.context.tasks.gate().close();
    let written = store.done(&Method::POST).len();
    seconds(30).await;
    assert_eq!(store.done(&Method::POST).len(), written);
    assert!(a.refusals.lock().unwrap().is_empty());
    a.context.tasks.gate().open();
    seconds(1).await;
    assert!(matches!(a.refusals.lock().unwrap()[..], [Error::Fenced(_), ..]));
    assert_eq!(store.done(&Method::POST).len(), written);
    a.frozen.store(false, Ordering::Relaxed);
    assert_eq!(a.ended.await.unwrap(), Ended::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_reach_the_lease_stops_before_others_begin() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(10).await;
    // Its other requests still go through.
    store.faults(|_, path| (path == PATH).then_some(Fault::Silence));
    let began = Instant::now();
    assert_eq!(a.ended.await.unwrap(), Ended::Lost);
    let passed = began.elapsed();
    assert!(passed <= Duration::from_secs(10) && passed > Duration::from_secs(7), "{passed:?}");
    assert_eq!(holder(&store), "a");
}

#[tokio::test(start_paused = true)]
async fn lost_answers_conflicts_and_errors_are_survived() {
    let store = Store::default();
    let count = AtomicU32::new(0);
    store.faults(move |method, path| {
        if method == Method::GET || !path.contains("leases") {
            return None;
        }
        match count.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => Some(Fault::LoseAnswer),
            1 => Some(Fault::Refuse(500)),
            2 => Some(Fault::Late(Duration::from_secs(1))),
            _ => None,
        }
    });
    let a = begin(&store, "a");
    let b = begin(&store, "b");
    seconds(300).await;
    assert_eq!(writers(&store).len(), 1);
    assert_eq!(spec(&store)["leaseTransitions"], 0);
    assert!(!a.ended.is_finished() && !b.ended.is_finished());
}

#[tokio::test(start_paused = true)]
async fn calendars_that_differ_do_not_matter() {
    let store = Store::default();
    let _a = begin_at(&store, "a", Duration::ZERO);
    seconds(1).await;
    let _b = begin_at(&store, "b", Duration::from_secs(86_400));
    seconds(100).await;
    assert_eq!(writers(&store), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_on_the_work_does_not_lose_the_lease() {
    let store = Store::default();
    let mut context = context(store.client());
    let config = LeaseConfig { client: Some(context.client.clone()), ..LeaseConfig::new("kube-system", "binder", "a") };
    context.client = crate::throttle::throttled(&context.client, 1.0, 0);
    let (stop, done) = (context.tasks.clone(), store.clone());
    let ended = run_as_leader(&context, config, |leader| async move {
        for i in 0..100 {
            let objects = leader.objects();
            leader.tasks.spawn("writer", async move {
                let note = json!({"metadata": {"name": format!("a-{i}")}});
                let _ = objects.create::<Value>(Resource::EVENTS, "n", &note).await;
            });
        }
        seconds(50).await;
        stop.stop();
    });
    assert_eq!(ended.await, Ended::Released);
    assert!(done.done(&Method::POST).len() > 45);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_taken_from_its_holder_is_lost_at_once() {
    let store = Store::default();
    let a = begin(&store, "a");
    seconds(3).await;
    let mut lease = store.object(PATH).unwrap();
    lease["spec"]["holderIdentity"] = json!("thief");
    context(store.client()).objects().replace::<Value>(Resource::LEASES, &lease).await.unwrap();
    let taken = Instant::now();
    assert_eq!(a.ended.await.unwrap(), Ended::Lost);
    assert!(taken.elapsed() <= Duration::from_secs(2));
    assert_eq!(holder(&store), "thief");
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_the_lease_back() {
    let store = Store::default();
    let context = context(store.client());
    let config = LeaseConfig::new("kube-system", "binder", "a");
    let ended = run_as_leader(&context, config, |leader| async move {
        leader.tasks.spawn("loud", async { panic!("on purpose") });
    });
    assert_eq!(ended.await, Ended::Failed);
    assert_eq!(holder(&store), "");
}

#[tokio::test(start_paused = true)]
async fn what_is_begun_is_written_before_the_lease_is_given_back() {
    let store = Store::default();
    let context = context(store.client());
    let config = LeaseConfig::new("kube-system", "binder", "a");
    let stopping = context.tasks.clone();
    let watched = store.clone();
    let ended = run_as_leader(&context, config, |leader| async move {
        let recorder = Recorder::new(&leader, "c");
        let (stop, objects) = (leader.tasks.token(), leader.objects());
        leader.tasks.spawn("writer", async move {
            stop.cancelled().await;
            seconds(3).await;
            assert_eq!(holder(&watched), "a");
            let note = json!({"metadata": {"name": "last"}});
            objects.create::<Value>(Resource::EVENTS, "n", &note).await.unwrap();
            let about = About {
                resource: Resource::CLAIMS,
                namespace: "n".to_owned(),
                name: "c".to_owned(),
                uid: String::new(),
                version: String::new(),
            };
            recorder.event(&about, Severity::Normal, "R", "m");
        });
        seconds(1).await;
        stopping.stop();
    });
    assert_eq!(ended.await, Ended::Released);
    assert_eq!(holder(&store), "");
    assert_eq!(store.objects().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_came_too_late_is_given_back() {
    let store = Store::default();
    store.faults(|method, _| (method == Method::POST).then_some(Fault::Late(Duration::from_millis(1500))));
    let context = context(store.client());
    let config = LeaseConfig::new("kube-system", "binder", "a");
    let stop = async {
        seconds(1).await;
        context.tasks.stop();
    };
    let lead = run_as_leader(&context, config, |_| async { panic!("it must not begin") });
    let (ended, ()) = join(lead, stop).await;
    assert_eq!((ended, holder(&store).as_str()), (Ended::Released, ""));
}

#[tokio::test(start_paused = true)]
async fn upstreams_events_say_who_leads() {
    let store = Store::default();
    let context = context(store.client());
    let recorder = Recorder::new(&context, "plimsoll-controller");
    let config = LeaseConfig { recorder: Some(recorder), ..LeaseConfig::new("kube-system", "binder", "a") };
    let stopping = context.tasks.clone();
    run_as_leader(&context, config, |_| async move { stopping.stop() }).await;
    seconds(1).await;
    let events: Vec<Value> = store.objects().into_iter().filter(|o| o["kind"] == "Event").collect();
    let messages: Vec<&str> = events.iter().filter_map(|e| e["message"].as_str()).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages.contains(&"a became leader") && messages.contains(&"a stopped leading"), "{messages:?}");
    assert_eq!(events[0]["involvedObject"]["kind"], "Lease");
    assert_eq!(events[0]["reason"], "LeaderElection");
}

#[tokio::test(start_paused = true)]
async fn a_guarded_client_still_reads_when_it_may_not_write() {
    let store = Store::default();
    let plain = context(store.client());
    let sent = fence::Moment::now(&plain.clock);
    let leadership = Leadership::new(plain.clock.clone(), Duration::from_secs(10), sent);
    let guarded = context(leadership.guard(&plain.client)).objects();
    let note = |name: &str| json!({"metadata": {"name": name}});
    guarded.create::<Value>(Resource::EVENTS, "n", &note("a")).await.unwrap();
    seconds(9).await;
    leadership.renewed(fence::Moment::now(&plain.clock)).unwrap();
    seconds(9).await;
    guarded.create::<Value>(Resource::EVENTS, "n", &note("b")).await.unwrap();
    // On its way when the time runs out: not waited for, since it might not have been sent yet.
    store.faults(|method, _| (method == Method::POST).then_some(Fault::Late(Duration::from_secs(2))));
    let late = guarded.create::<Value>(Resource::EVENTS, "n", &note("c")).await;
    assert!(matches!(late, Err(Error::Fenced(_))), "{late:?}");
    assert!(leadership.renewed(fence::Moment::now(&plain.clock)).is_err());
    let refused = guarded.create::<Value>(Resource::EVENTS, "n", &note("d")).await;
    assert!(matches!(refused, Err(Error::Fenced(_))), "{refused:?}");
    assert!(guarded.get::<Value>(Resource::EVENTS, "n", "a").await.unwrap().is_some());
    leadership.over().await;
}

#[test]
fn spans_that_cannot_work_are_refused() {
    let good = LeaseConfig::new("n", "l", "i");
    assert_eq!(good.check(), Ok(()));
    let second = Duration::from_secs(1);
    for bad in [
        LeaseConfig { identity: String::new(), ..good.clone() },
        LeaseConfig { lease_duration: 10 * second, ..good.clone() },
        LeaseConfig { lease_duration: Duration::from_millis(15_500), ..good.clone() },
        LeaseConfig { retry_period: 9 * second, ..good.clone() },
        LeaseConfig { retry_period: Duration::ZERO, ..good.clone() },
    ] {
        assert!(bad.check().is_err());
    }
    let name = identity(&Entropy::seeded(1));
    assert!(name.split_once('_').is_some_and(|(host, uid)| !host.is_empty() && uid.len() == 36), "{name}");
}
