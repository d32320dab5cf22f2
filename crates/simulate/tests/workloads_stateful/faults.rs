//! A death before and after every write of a story, and seeds of faults: the end is the same.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use plimsoll_runtime::Resource;
use plimsoll_simulate::seeds::side_by_side;
use plimsoll_simulate::{Bed, Faults, Options, Report, Seeds, When, bed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::QUIET;
use super::cast::{
    self, Begun, REVISION, WORKLOADS, create, daemon_set, delete, get, image, must, patch, scale, stateful_set, text,
};

/// Two pods with claims and a daemon on each node; an update, down to one and up to three: every kind of write.
fn story(faults: Faults) -> (Report, BTreeMap<String, Value>) {
    let folder = cast::folder();
    let ended = std::sync::Arc::new(Mutex::new(BTreeMap::new()));
    let end = ended.clone();
    let options = Options::new(9).faults(faults).invariants(vec![Box::new(Begun { in_order: true })]).quiet(QUIET);
    let report = bed::run(options, |bed| async move {
        cast::begin(&bed, &folder, &["n1", "n2"]).await?;
        let policy = json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"},
            "revisionHistoryLimit": 0});
        create(&bed, Resource::STATEFUL_SETS, &stateful_set(2, policy)).await?;
        create(&bed, Resource::DAEMON_SETS, &daemon_set(json!({"revisionHistoryLimit": 0}))).await?;
        bed.settle().await?;
        patch(&bed, Resource::STATEFUL_SETS, "web", image("two")).await?;
        patch(&bed, Resource::DAEMON_SETS, "logs", image("two")).await?;
        bed.settle().await?;
        scale(&bed, 1).await?;
        bed.settle().await?;
        scale(&bed, 3).await?;
        bed.settle().await?;
        *end.lock().unwrap() = plain(&bed).await?;
        Ok(())
    });
    let ended = ended.lock().unwrap().clone();
    (report, ended)
}

/// The end of a run without what chance decides: uids, times, versions, made-up names and nodes.
async fn plain(bed: &Bed) -> Result<BTreeMap<String, Value>, String> {
    let mut out = BTreeMap::new();
    let state = bed.state();
    for (key, pod) in &state.pods {
        let meta = &pod["metadata"];
        let daemon = meta["labels"]["app"] == "logs";
        let name = if daemon { format!("a daemon on {}", text(&pod["spec"]["nodeName"])) } else { key.clone() };
        let seen = json!({"labels": meta["labels"], "phase": pod["status"]["phase"], "volumes": pod["spec"]["volumes"][0]["name"],
            "owner": meta["ownerReferences"][0]["name"], "going": meta["deletionTimestamp"].is_string()});
        must(out.insert(name.clone(), seen).is_none(), || format!("two are {name}"))?;
    }
    for (key, claim) in &state.claims {
        let owners = claim["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let owners: Vec<Value> = owners.iter().map(|owner| json!([owner["kind"], owner["name"]])).collect();
        out.insert(format!("claim {key}"), json!({"owners": owners, "phase": claim["status"]["phase"]}));
    }
    for record in cast::list(bed, Resource::REVISIONS).await? {
        out.insert(format!("revision {}", text(&record["metadata"]["name"])), record["revision"].clone());
    }
    for (resource, name) in [(Resource::STATEFUL_SETS, "web"), (Resource::DAEMON_SETS, "logs")] {
        out.insert(name.to_owned(), get(bed, resource, name).await?["status"].clone());
    }
    Ok(out)
}

#[test]
fn a_death_at_any_write_changes_nothing() {
    let (calm, wanted) = story(Faults::none());
    assert_eq!(calm.outcome, Ok(()), "{}", calm.trace.tail(80));
    let writes = calm.writes[WORKLOADS];
    assert!(writes > 30, "claims, pods, owners, revisions, status, events: {writes}");
    let failures = Mutex::new(Vec::new());
    side_by_side(writes * 2, |n| {
        let when = if n % 2 == 0 { When::Before } else { When::After };
        let (report, ended) = story(Faults::none().kill(WORKLOADS, n / 2, when));
        let well = report.outcome == Ok(()) && ended == wanted;
        if !well {
            let (outcome, trace) = (report.outcome, report.trace.tail(60));
            let account = format!("killed {when:?} write {}: {outcome:?}\n{ended:#?}\n{wanted:#?}\n{trace}", n / 2);
            failures.lock().unwrap().push(account);
        }
        well
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    eprintln!("{} deaths", writes * 2);
}

/// A StatefulSet and a DaemonSet to which everything happens.
fn random_run(options: Options) -> Report {
    let (seed, folder) = (options.seed, cast::folder());
    let random = &mut StdRng::seed_from_u64(seed);
    let parallel = random.random_bool(0.5);
    let policy = |random: &mut StdRng| if random.random_bool(0.5) { "Delete" } else { "Retain" };
    let more = json!({"podManagementPolicy": if parallel { "Parallel" } else { "OrderedReady" },
        "minReadySeconds": random.random_range(0..2) * 3,
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": policy(random), "whenDeleted": policy(random)},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": random.random_range(1..3)}}});
    let set = stateful_set(random.random_range(1..4), more);
    let surge = if random.random_bool(0.5) {
        json!({"maxSurge": 1, "maxUnavailable": 0})
    } else {
        json!({"maxUnavailable": 1})
    };
    let daemons = daemon_set(json!({"updateStrategy": {"rollingUpdate": surge}}));
    let mut random = StdRng::seed_from_u64(seed ^ 1);
    let options = options.invariants(vec![Box::new(Begun { in_order: false })]).quiet(QUIET);
    bed::run(options, |bed| async move {
        cast::begin(&bed, &folder, &["n1", "n2"]).await?;
        create(&bed, Resource::STATEFUL_SETS, &set).await?;
        create(&bed, Resource::DAEMON_SETS, &daemons).await?;
        for i in 0..random.random_range(2..7) {
            bed.wait(Duration::from_millis(random.random_range(0..15_000))).await;
            match random.random_range(0..4) {
                0 => scale(&bed, random.random_range(0..4)).await?,
                1 => patch(&bed, Resource::STATEFUL_SETS, "web", image(&format!("i{i}"))).await?,
                2 => patch(&bed, Resource::DAEMON_SETS, "logs", image(&format!("i{i}"))).await?,
                _ => {
                    let pods: Vec<String> = bed.state().pods.keys().cloned().collect();
                    if let Some(key) = pods.get(random.random_range(0..pods.len().max(1))) {
                        delete(&bed, Resource::PODS, key.trim_start_matches("default/")).await?;
                    }
                }
            }
        }
        bed.settle().await?;
        judge(&bed).await
    })
}

/// Every pod that is wanted runs at the newest revision, no other is there, and the two sets say so.
async fn judge(bed: &Bed) -> Result<(), String> {
    let set = get(bed, Resource::STATEFUL_SETS, "web").await?;
    let replicas = set["spec"]["replicas"].as_u64().unwrap_or(0);
    let revision = text(&set["status"]["updateRevision"]);
    let mut wanted: Vec<(String, String)> = (0..replicas).map(|i| (format!("web-{i}"), revision.to_owned())).collect();
    let mut found = cast::running(&bed.state(), REVISION);
    let daemons: Vec<_> = found.extract_if(.., |(name, _)| name.starts_with("logs-")).collect();
    wanted.sort();
    found.sort();
    must(found == wanted, || format!("there are {found:?}, and wanted are {wanted:?}"))?;
    let total = bed.state().pods.len();
    must(total == found.len() + daemons.len(), || format!("{total} pods are there, and some do not run"))?;
    for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"] {
        let said = set["status"][field].as_u64().unwrap_or(0);
        must(said == replicas, || format!("{field} is {said}, not {replicas}"))?;
    }
    must(set["status"]["currentRevision"] == revision, || "the update is not over".to_owned())?;
    must(set["status"]["observedGeneration"] == set["metadata"]["generation"], || "the set is behind".to_owned())?;
    let logs = get(bed, Resource::DAEMON_SETS, "logs").await?;
    must(daemons.len() == 2, || format!("there are {daemons:?}"))?;
    must(daemons[0].1 == daemons[1].1, || format!("{daemons:?} are not of one revision"))?;
    for field in ["desiredNumberScheduled", "numberReady", "numberAvailable", "updatedNumberScheduled"] {
        must(logs["status"][field] == 2, || format!("{field} is {}", logs["status"][field]))?;
    }
    // A claim whose pod was gone when the set was scaled down stays, as upstream has it. One that a pod owns goes with it.
    for (key, claim) in bed.state().claims.iter() {
        let owned = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|o| o["kind"] == "Pod");
        must(!owned && claim["metadata"]["deletionTimestamp"].is_null(), || format!("{key} is still on its way out"))?;
    }
    (0..replicas).try_for_each(|i| {
        let claim = format!("default/data-web-{i}");
        must(bed.state().claims.contains_key(&claim), || format!("{claim} is not there"))
    })
}

#[test]
fn two_hundred_seeds_of_faults_end_as_they_must() {
    let summary =
        Seeds::new("workloads_stateful", "faults::two_hundred_seeds_of_faults_end_as_they_must", 200).check(random_run);
    eprintln!("{summary:?}");
}
