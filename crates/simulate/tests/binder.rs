//! The binder under faults: random small worlds, and a death at every write of chosen scenarios.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{claim, class, classes, create, told, volume};
use plimsoll_runtime::Resource;
use plimsoll_simulate::invariants::volumes::{self, read};
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Bed, Faults, Options, Report, Seeds, State, When, bed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

/// Something that the administrator, or a user, or the scheduler does.
#[derive(Clone, Debug)]
enum Deed {
    Volume(Value),
    Claim(Value),
    DropVolume(String),
    DropClaim(String),
    /// The scheduler chooses a node for a delayed claim.
    Select(String),
    /// The scheduler gives a volume of the class `shelf` to a claim.
    Shelve(String),
}

fn pick<'a>(random: &mut StdRng, from: &[&'a str]) -> &'a str {
    from[random.random_range(0..from.len())]
}

/// A small world: what is done, and how long after the deed before it.
fn world(seed: u64) -> Vec<(Duration, Deed)> {
    let random = &mut StdRng::seed_from_u64(seed);
    let mut deeds = Vec::new();
    let (volumes, claims) = (random.random_range(0..5), random.random_range(1..5));
    for i in 0..volumes {
        let class = pick(random, &["disk", "disk", "shelf", "fast", ""]);
        let policy = pick(random, &["Retain", "Delete"]);
        let mut volume = volume(&format!("v{i}"), class, random.random_range(1..4), policy);
        if random.random_bool(0.15) {
            let wanted = format!("c{}", random.random_range(0..claims));
            volume["spec"]["claimRef"] = json!({"namespace": "default", "name": wanted});
        }
        deeds.push(Deed::Volume(volume));
    }
    for i in 0..claims {
        let class = pick(random, &["disk", "disk", "shelf", "fast", "late", ""]);
        let mut claim = claim(&format!("c{i}"), Some(class), random.random_range(1..4));
        if random.random_bool(0.15) {
            claim["spec"]["volumeName"] = json!(format!("v{}", random.random_range(0..4)));
        }
        deeds.push(Deed::Claim(claim));
    }
    for i in (1..deeds.len()).rev() {
        deeds.swap(i, random.random_range(0..=i));
    }
    for i in 0..claims {
        if random.random_bool(0.6) {
            deeds.push(Deed::Select(format!("c{i}")));
            deeds.push(Deed::Shelve(format!("c{i}")));
        }
        if random.random_bool(0.3) {
            deeds.push(Deed::DropClaim(format!("c{i}")));
            if random.random_bool(0.4) {
                deeds.push(Deed::Claim(common::claim(&format!("c{i}"), Some("disk"), 1)));
            }
        }
    }
    for i in 0..volumes {
        if random.random_bool(0.15) {
            deeds.push(Deed::DropVolume(format!("v{i}")));
        }
    }
    let pause = |random: &mut StdRng| match random.random_range(0..3) {
        0 => Duration::ZERO,
        1 => Duration::from_millis(random.random_range(1..300)),
        _ => Duration::from_millis(random.random_range(300..8000)),
    };
    deeds.into_iter().map(|deed| (pause(random), deed)).collect()
}

async fn act(bed: &Bed, deed: Deed) -> Result<(), String> {
    let objects = bed.objects();
    match deed {
        Deed::Volume(volume) => create(bed, Resource::VOLUMES, &volume).await,
        // One of that name may still be on its way out.
        Deed::Claim(claim) => create(bed, Resource::CLAIMS, &claim).await.or(Ok(())),
        Deed::DropVolume(name) => objects.delete(Resource::VOLUMES, "", &name, &Default::default()).await.map_err(told),
        Deed::DropClaim(name) => {
            objects.delete(Resource::CLAIMS, "default", &name, &Default::default()).await.map_err(told)
        }
        Deed::Select(name) => {
            let state = bed.state();
            let Some(claim) = state.claims.get(&format!("default/{name}")) else { return Ok(()) };
            if claim["spec"]["storageClassName"] != "late" || !read::volume_name(claim).is_empty() {
                return Ok(());
            }
            let patch = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}});
            objects.merge::<Value>(Resource::CLAIMS, "default", &name, "", &patch).await.map(|_| ()).map_err(told)
        }
        Deed::Shelve(name) => shelve(bed, &name).await,
    }
}

/// What the scheduler writes to bind a claim to a volume that is there.
async fn shelve(bed: &Bed, name: &str) -> Result<(), String> {
    let state = bed.state();
    let Some(claim) = state.claims.get(&format!("default/{name}")) else { return Ok(()) };
    if claim["spec"]["storageClassName"] != "shelf" || !read::volume_name(claim).is_empty() {
        return Ok(());
    }
    let taken = state.volumes.values().any(|v| read::claim_uid(v) == read::uid(claim));
    let fits = |v: &Value| {
        v["spec"]["storageClassName"] == "shelf"
            && v["spec"]["claimRef"].is_null()
            && read::phase(v) == "Available"
            && !read::is_deleting(v)
            && gib(&v["spec"]["capacity"]["storage"]) >= gib(&claim["spec"]["resources"]["requests"]["storage"])
    };
    let Some(volume) = state.volumes.values().find(|v| fits(v)).filter(|_| !taken) else { return Ok(()) };
    let mut volume = (**volume).clone();
    volume["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default",
                                        "name": name, "uid": read::uid(claim)});
    volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] = json!("yes");
    bed.objects().replace::<Value>(Resource::VOLUMES, &volume).await.map(|_| ()).map_err(told)
}

fn gib(quantity: &Value) -> u64 {
    quantity.as_str().and_then(|text| text.strip_suffix("Gi")?.parse().ok()).unwrap_or(0)
}

fn begin(bed: &Bed) {
    bed.start(common::controllers());
    bed.start(common::provisioner(bed));
}

fn random_run(options: Options) -> Report {
    let seed = options.seed;
    bed::run(options.invariants(volumes::all()), |bed| async move {
        classes(&bed).await?;
        begin(&bed);
        for (pause, deed) in world(seed) {
            bed.wait(pause).await;
            act(&bed, deed).await?;
        }
        bed.settle().await?;
        done(&bed.state())
    })
}

/// What a run without faults always reaches: nobody waits for what is there.
fn done(state: &State) -> Result<(), String> {
    for (key, claim) in &state.claims {
        if read::is_deleting(claim) {
            return Err(format!("claim {key} is still being deleted"));
        }
        let class = claim["spec"]["storageClassName"].as_str().unwrap_or_default();
        let (request, name) = (gib(&claim["spec"]["resources"]["requests"]["storage"]), read::volume_name(claim));
        if read::phase(claim) == "Bound" {
            let volume = &state.volumes[name];
            if read::annotation(volume, "pv.kubernetes.io/bound-by-controller").is_none() {
                // Its owner named the claim, and is not asked whether it is of the class.
                continue;
            }
            if gib(&volume["spec"]["capacity"]["storage"]) < request {
                return Err(format!("claim {key} has {name}, which is too small"));
            }
            if volume["spec"]["storageClassName"].as_str().unwrap_or_default() != class {
                return Err(format!("claim {key} has {name}, which is of another class"));
            }
            continue;
        }
        if read::phase(claim) != "Pending" || !name.is_empty() {
            continue;
        }
        if class == "fast" {
            return Err(format!("claim {key} has no volume, and one can be made"));
        }
        let free = state.volumes.iter().find(|(_, v)| {
            v["spec"]["storageClassName"].as_str().unwrap_or_default() == class
                && v["spec"]["claimRef"].is_null()
                && !read::is_deleting(v)
                && gib(&v["spec"]["capacity"]["storage"]) >= request
        });
        if let Some((name, _)) = free.filter(|_| matches!(class, "disk" | "")) {
            return Err(format!("claim {key} waits, and {name} is free"));
        }
    }
    for (name, volume) in &state.volumes {
        let made = read::annotation(volume, "pv.kubernetes.io/provisioned-by").is_some();
        if made && read::phase(volume) == "Released" {
            return Err(format!("volume {name} was made for a claim that is gone, and is still there"));
        }
    }
    Ok(())
}

#[test]
fn two_thousand_seeds_of_faults_leave_nothing_half_bound() {
    let summary = Seeds::new("binder", "two_thousand_seeds_of_faults_leave_nothing_half_bound", 2000).check(random_run);
    eprintln!("{summary:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [1, 2, 3] {
        let once = || random_run(Options::new(seed).faults(Faults::from_seed(seed)));
        let (first, second) = (once(), once());
        assert_eq!(first.trace.to_string(), second.trace.to_string(), "seed {seed}");
        assert_eq!(first.dump, second.dump, "seed {seed}");
    }
}

/// A scenario with one end, whatever happens on the way: steps, each begun when the cluster is at rest.
struct Story {
    name: &'static str,
    steps: Vec<Vec<Deed>>,
    default_class_at: Option<usize>,
}

fn stories() -> Vec<Story> {
    let v = |name: &str, gib, policy: &str| Deed::Volume(volume(name, "disk", gib, policy));
    let c = |name: &str, class: &str, gib| Deed::Claim(claim(name, Some(class), gib));
    let named = |mut object: Value, at: &str, value: Value| {
        object["spec"][at] = value;
        object
    };
    let story = |name, steps| Story { name, steps, default_class_at: None };
    vec![
        story("a volume, then a claim", vec![vec![v("v", 1, "Retain")], vec![c("c", "disk", 1)]]),
        story("a claim, then a volume", vec![vec![c("c", "disk", 1)], vec![v("v", 2, "Retain")]]),
        story(
            "two of each, each with its own size",
            vec![
                vec![v("small", 1, "Retain"), v("large", 3, "Retain")],
                vec![c("b", "disk", 3)],
                vec![c("a", "disk", 1)],
            ],
        ),
        story(
            "the claim names its volume",
            vec![
                vec![v("v", 1, "Retain"), v("w", 1, "Retain")],
                vec![Deed::Claim(named(claim("c", Some("disk"), 1), "volumeName", json!("w")))],
            ],
        ),
        story(
            "the volume names its claim",
            vec![
                vec![Deed::Volume(named(
                    volume("v", "shelf", 1, "Retain"),
                    "claimRef",
                    json!({"namespace": "default", "name": "c"}),
                ))],
                vec![c("c", "shelf", 1)],
            ],
        ),
        story("a volume is made", vec![vec![c("c", "fast", 2)]]),
        story("a volume is made for a node", vec![vec![c("c", "late", 2)], vec![Deed::Select("c".into())]]),
        story(
            "the scheduler gives a volume",
            vec![
                vec![Deed::Volume(volume("v", "shelf", 1, "Retain"))],
                vec![c("c", "shelf", 1)],
                vec![Deed::Shelve("c".into())],
            ],
        ),
        story(
            "the claim goes, its volume is kept",
            vec![vec![v("v", 1, "Retain")], vec![c("c", "disk", 1)], vec![Deed::DropClaim("c".into())]],
        ),
        story(
            "the claim goes, and its volume with it",
            vec![vec![c("c", "fast", 2)], vec![Deed::DropClaim("c".into())]],
        ),
        story(
            "the volume is deleted first",
            vec![
                vec![v("v", 1, "Retain")],
                vec![c("c", "disk", 1)],
                vec![Deed::DropVolume("v".into())],
                vec![Deed::DropClaim("c".into())],
            ],
        ),
        Story {
            name: "a default class comes late",
            steps: vec![vec![Deed::Claim(claim("c", None, 1))], vec![]],
            default_class_at: Some(1),
        },
    ]
}

fn tell(story: &Story, faults: Faults) -> Report {
    let steps = story.steps.clone();
    let default_class_at = story.default_class_at;
    let options = Options::new(11).faults(faults).invariants(volumes::all());
    bed::run(options, |bed| async move {
        classes(&bed).await?;
        begin(&bed);
        for (i, step) in steps.into_iter().enumerate() {
            if default_class_at == Some(i) {
                let mut class = class("default", common::DRIVER, false);
                class["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
                create(&bed, Resource::CLASSES, &class).await?;
            }
            for deed in step {
                act(&bed, deed).await?;
            }
            bed.settle().await?;
        }
        Ok(())
    })
}

/// The end of a run without what chance decides: uids, times, versions and who wrote which field.
fn end(report: &Report) -> BTreeMap<String, Value> {
    let plain = |objects: &BTreeMap<String, std::sync::Arc<Value>>| -> BTreeMap<String, Value> {
        objects.iter().map(|(key, object)| (key.clone(), (**object).clone())).collect()
    };
    let mut text = serde_json::to_string(&(plain(&report.state.volumes), plain(&report.state.claims))).unwrap();
    for (key, claim) in &report.state.claims {
        text = text.replace(read::uid(claim), &format!("<{key}>"));
    }
    let (volumes, claims): (BTreeMap<String, Value>, BTreeMap<String, Value>) = serde_json::from_str(&text).unwrap();
    let mut out = BTreeMap::new();
    for (key, mut object) in volumes.into_iter().chain(claims) {
        let meta = object["metadata"].as_object_mut().unwrap();
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
            meta.remove(field);
        }
        if let Some(reference) = object["spec"]["claimRef"].as_object_mut() {
            reference.remove("resourceVersion");
            // Claims that are gone have nobody to be called after.
            let gone = reference.get("uid").and_then(Value::as_str).is_some_and(|uid| !uid.starts_with('<'));
            if gone {
                reference.insert("uid".into(), json!("<gone>"));
            }
        }
        if let Some(status) = object["status"].as_object_mut() {
            status.remove("lastPhaseTransitionTime");
            for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                condition["lastTransitionTime"] = json!("<time>");
            }
        }
        out.insert(key, object);
    }
    out
}

#[test]
fn killed_at_every_write_the_binder_ends_as_if_it_had_lived() {
    let mut deaths = Vec::new();
    for story in stories() {
        let calm = tell(&story, Faults::none());
        assert_eq!(calm.outcome, Ok(()), "{}:\n{}", story.name, calm.trace);
        let (writes, wanted) = (calm.writes["binder"], std::sync::Arc::new((end(&calm), story)));
        assert!(writes > 0, "{}", wanted.1.name);
        let both = |write| [When::Before, When::After].map(|when| (write, when, wanted.clone()));
        deaths.extend((0..writes).flat_map(both));
    }
    let failures = std::sync::Mutex::new(Vec::new());
    side_by_side(deaths.len() as u64, |i| {
        let (write, when, case) = &deaths[i as usize];
        let (wanted, story) = &**case;
        let report = tell(story, Faults::none().kill("binder", *write, *when));
        let ended = end(&report);
        let well = report.outcome == Ok(()) && report.trace.faults() == 1 && ended == *wanted;
        if !well {
            let (outcome, trace) = (report.outcome, report.trace);
            let account =
                format!("{}, killed {when:?} write {write}: {outcome:?}\n{ended:#?}\n{wanted:#?}\n{trace}", story.name);
            failures.lock().unwrap().push(account);
        }
        well
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    eprintln!("{} deaths", deaths.len());
}
