//! The bed itself: it replays, it settles, and it is able to fail. The component on trial is a toy binder that can be told to
//! make the mistakes that the bed is there to find.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]
#![allow(clippy::disallowed_methods, reason = "how long the tests take is shown in real time")]

use std::time::{Duration, Instant};

use plimsoll_controllers::World;
use plimsoll_runtime::write::{Part, Writer};
use plimsoll_runtime::{Context, Error, Resource};
use plimsoll_simulate::invariants::volumes;
use plimsoll_simulate::invariants::volumes::read;
use plimsoll_simulate::{Bed, Component, Faults, Kind, Options, Report, Seeds, When, bed};
use serde_json::{Value, json};

/// What the toy does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// Nothing.
    None,
    /// It writes to the volume whatever the volume has become since it looked.
    BlindWrites,
    /// It never looks again at a claim for which it chose a volume.
    NoSecondLook,
}

/// Binds the first claim without a volume to the first free volume, over and over.
async fn toy(context: Context, mistake: Mistake) {
    let world = World::new();
    world.start(&context, Duration::from_secs(60));
    world.synced().await;
    loop {
        let _ = step(&context, &world, mistake).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn step(context: &Context, world: &World, mistake: Mistake) -> Result<(), Error> {
    let volumes = Writer::new(context, &world.volumes);
    let claims = Writer::new(context, &world.claims);
    for claim in world.claims.all() {
        if !claim.slim.spec.volume_name.is_empty() && claim.slim.status.phase == "Bound" {
            continue;
        }
        let value = claim.value();
        let mine = |v: &Value| read::claim_uid(v) == read::uid(&value);
        let all = world.volumes.all();
        let reserved = all.iter().find(|v| mine(&v.value()));
        if reserved.is_some() && mistake == Mistake::NoSecondLook {
            continue;
        }
        let free = all.iter().find(|v| v.value()["spec"]["claimRef"].is_null());
        let Some(volume) = reserved.or(free) else { continue };
        let reference = json!({"kind": "PersistentVolumeClaim", "namespace": value["metadata"]["namespace"],
                               "name": value["metadata"]["name"], "uid": value["metadata"]["uid"]});
        let name = volume.slim.metadata.name.clone();
        if mistake == Mistake::BlindWrites {
            let patch = json!({"spec": {"claimRef": reference}});
            let _: Value = context.objects().merge(Resource::VOLUMES, "", &name, "", &patch).await?;
            let patch = json!({"status": {"phase": "Bound"}});
            let _: Value = context.objects().merge(Resource::VOLUMES, "", &name, "status", &patch).await?;
        } else {
            let taken = volumes.change(volume, Part::Object, |v| v["spec"]["claimRef"] = reference).await?;
            volumes.change(&taken, Part::Status, |v| v["status"] = json!({"phase": "Bound"})).await?;
        }
        let named = claims
            .change(&claim, Part::Object, |c| {
                c["spec"]["volumeName"] = json!(name);
                c["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
            })
            .await?;
        claims.change(&named, Part::Status, |c| c["status"] = json!({"phase": "Bound"})).await?;
    }
    for volume in world.volumes.all() {
        if volume.slim.status.phase == "Pending" && volume.value()["spec"]["claimRef"].is_null() {
            volumes.change(&volume, Part::Status, |v| v["status"] = json!({"phase": "Available"})).await?;
        }
    }
    Ok(())
}

fn volume(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "x",
                    "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/x"}}})
}

fn claim(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
           "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "x",
                    "resources": {"requests": {"storage": "1Gi"}}}})
}

async fn scenario(bed: Bed, mistake: Mistake) -> Result<(), String> {
    bed.start(Component::new("toy", move |context| toy(context, mistake)));
    let objects = bed.objects();
    for i in 0..4 {
        let _: Value =
            objects.create(Resource::VOLUMES, "", &volume(&format!("v{i}"))).await.map_err(|e| e.to_string())?;
        bed.wait(Duration::from_millis(700)).await;
        let claim = claim(&format!("c{i}"));
        let _: Value = objects.create(Resource::CLAIMS, "default", &claim).await.map_err(|e| e.to_string())?;
    }
    bed.settle().await
}

fn run(options: Options, mistake: Mistake) -> Report {
    let options = options.invariants(volumes::all());
    bed::run(options, |bed| scenario(bed, mistake))
}

#[test]
fn a_run_without_faults_ends_with_everything_bound() {
    let report = run(Options::new(1), Mistake::None);
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
    assert_eq!(report.trace.faults(), 0);
    assert_eq!(report.state.claims.len(), 4);
    assert!(report.state.claims.values().all(|claim| read::phase(claim) == "Bound"));
    assert!(report.writes["toy"] >= 16);
}

#[test]
fn a_seed_replays_byte_for_byte() {
    for seed in 0..6 {
        let once = || run(Options::new(seed).faults(Faults::from_seed(seed)), Mistake::None);
        let (first, second) = (once(), once());
        assert_eq!(first.outcome, second.outcome);
        assert_eq!(first.trace.to_string(), second.trace.to_string(), "seed {seed}");
        assert_eq!(first.dump, second.dump, "seed {seed}");
        assert!(!first.dump.is_empty());
    }
    let other = run(Options::new(99).faults(Faults::from_seed(99)), Mistake::None);
    assert_ne!(other.dump, run(Options::new(1).faults(Faults::from_seed(1)), Mistake::None).dump);
}

#[test]
fn a_sound_component_survives_every_kind_of_fault() {
    let begun = Instant::now();
    let summary = Seeds::new("bed", "a_sound_component_survives_every_kind_of_fault", 100)
        .check(|options| run(options, Mistake::None));
    eprintln!("{summary:?} in {:?}", begun.elapsed());
    assert!(summary.faults > 1000, "{summary:?}");
}

#[test]
fn blind_writes_are_found_and_the_account_says_how_to_repeat_them() {
    let seeds = Seeds::new("bed", "NAME", 400);
    let account = seeds.run(|options| run(options, Mistake::BlindWrites)).expect_err("the mistake was not found");
    eprintln!("{account}");
    assert!(account.contains("no volume is bound twice") || account.contains("what is bound stays bound"), "{account}");
    // The faults that are left are few, and the run they make fails again in the same words.
    let line = account.lines().find(|line| line.contains("PLIMSOLL_SEED=")).expect("no command");
    let between = |from: &str, to: &str| line.split_once(from).and_then(|(_, rest)| rest.split_once(to)).unwrap().0;
    let faults: Faults = between("PLIMSOLL_FAULTS='", "'").parse().unwrap();
    assert!(faults.rates.len() <= 4, "{faults}");
    let seed = between("PLIMSOLL_SEED=", " ").parse().unwrap();
    let again = run(Options::new(seed).faults(faults), Mistake::BlindWrites);
    let why = again.outcome.expect_err("it does not fail again");
    assert!(account.contains(&why), "{why}\n{account}");
}

#[test]
fn a_death_between_two_writes_is_found_by_the_sweep() {
    let counted = run(Options::new(3), Mistake::NoSecondLook);
    assert_eq!(counted.outcome, Ok(()));
    let fails = |mistake| {
        let mut failures = 0;
        for write in 0..counted.writes["toy"] {
            for when in [When::Before, When::After] {
                let faults = Faults::none().kill("toy", write, when);
                let report = run(Options::new(3).faults(faults), mistake);
                assert_eq!(report.trace.faults(), 1);
                failures += u64::from(report.outcome.is_err());
            }
        }
        failures
    };
    assert!(fails(Mistake::NoSecondLook) > 0, "the mistake was not found");
    assert_eq!(fails(Mistake::None), 0);
}

#[test]
fn every_kind_of_fault_happens() {
    for kind in Kind::ALL {
        let faults = Faults::none().with(kind, 0.3).until(Duration::from_secs(10));
        let report = run(Options::new(5).faults(faults), Mistake::None);
        assert!(report.trace.faults() > 0, "{kind:?}: {}", report.trace);
        assert_eq!(report.outcome, Ok(()), "{kind:?}");
    }
}

#[test]
fn a_component_that_asks_in_a_circle_is_stopped() {
    let report = bed::run(Options::new(1), |bed| async move {
        bed.start(Component::new("mad", |context: Context| async move {
            loop {
                let _ = context.objects().get::<Value>(Resource::NODES, "", "none").await;
            }
        }));
        bed.settle().await
    });
    assert!(report.outcome.unwrap_err().contains("in a circle"));
}

#[test]
fn a_cluster_that_never_rests_fails() {
    let mut options = Options::new(1);
    options.limit = Duration::from_secs(600);
    let report = bed::run(options, |bed| async move {
        bed.start(Component::new("clock", |context: Context| async move {
            for i in 0.. {
                let object = json!({"metadata": {"name": format!("n{i}")}});
                let _ = context.objects().create::<Value>(Resource::NAMESPACES, "", &object).await;
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
        }));
        bed.settle().await
    });
    assert!(report.outcome.unwrap_err().contains("not at rest"));
}

#[test]
fn a_panic_of_a_component_or_of_the_scenario_is_a_failure() {
    let report = bed::run(Options::new(1), |bed| async move {
        bed.start(Component::new("weak", |_| async { panic!("no more") }));
        bed.settle().await
    });
    assert_eq!(report.outcome, Err("a task of weak panicked".to_owned()));
    let report = bed::run(Options::new(1), |_| async { panic!("wrong: {}", 7) });
    assert_eq!(report.outcome, Err("wrong: 7".to_owned()));
}

#[test]
fn a_frozen_component_does_nothing_and_goes_on() {
    let report = bed::run(Options::new(1), |bed| async move {
        bed.start(Component::new("worker", |context: Context| async move {
            for i in 0..10 {
                let object = json!({"metadata": {"name": format!("n{i}")}});
                let _ = context.objects().create::<Value>(Resource::NODES, "", &object).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }));
        bed.wait(Duration::from_millis(3500)).await;
        bed.freeze("worker", Duration::from_secs(60));
        bed.wait(Duration::from_secs(59)).await;
        assert_eq!(bed.state().nodes.len(), 4);
        bed.wait(Duration::from_millis(1001)).await;
        assert_eq!(bed.state().nodes.len(), 5);
        bed.settle().await
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
    assert_eq!(report.state.nodes.len(), 10);
}
