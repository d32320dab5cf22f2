//! `kill -9` of `plimsoll up` at any moment of a running workload: the next start brings everything to the same end as if nothing
//! had happened, no volume is bound twice, and no directory is left without its volume.
//!
//! ```text
//!   what is wanted ─┐
//!        ▲          ├─ asked of the API ── killed somewhere in it ── started again ── asked again ── settled? ── checked ─┐
//!        └── changes at random ◄──────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//! `CRASH_KILLS` (5) says how often, `CRASH_SEED` which run; the seed of a run is printed. `CRASH_OF` (`pairs,set,deployment`)
//! names what takes part: `pairs` are pods and claims without any controller of workloads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use cluster::{CLAIMS, Objects, PODS, VOLUMES, bound_once, claim, directories, pod};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use server::{Client, Lost, Server};
use tokio::time::Instant;

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
/// Pods with a claim each that the test makes itself.
const PAIRS: u32 = 6;
/// How many changes are asked for before a kill.
const CHANGES: usize = 8;

/// What there should be in the end.
#[derive(Clone, Debug, Default)]
struct Wanted {
    /// Which of the pairs are there.
    pairs: BTreeSet<u32>,
    /// How many replicas a set has whose claims go when it shrinks; none where it is not there.
    set: Option<u32>,
    /// How many replicas a deployment without volumes has.
    deployment: Option<u32>,
}

impl Wanted {
    /// Changes one thing.
    fn change(&mut self, random: &mut StdRng, of: &[String]) {
        match of[random.random_range(0..of.len())].as_str() {
            "pairs" => {
                let pair = random.random_range(0..PAIRS);
                if !self.pairs.remove(&pair) {
                    self.pairs.insert(pair);
                }
            }
            "set" => self.set = Some(random.random_range(0..4)),
            "deployment" => self.deployment = Some(random.random_range(0..4)),
            other => panic!("CRASH_OF: there is no {other}"),
        }
    }

    /// Asks the API for it. What is there already is fine, and so is what is gone already.
    async fn ask(&self, client: &Client) -> Result<(), Lost> {
        for pair in 0..PAIRS {
            let (claim_name, pod_name) = (format!("data-{pair}"), format!("pod-{pair}"));
            if self.pairs.contains(&pair) {
                send(client, "POST", CLAIMS, &claim(&claim_name), &[201, 409]).await?;
                send(client, "POST", PODS, &pod(&pod_name, Some(&claim_name)), &[201, 409]).await?;
            } else {
                send(client, "DELETE", &format!("{PODS}/{pod_name}"), &Value::Null, &[200, 404]).await?;
                send(client, "DELETE", &format!("{CLAIMS}/{claim_name}"), &Value::Null, &[200, 404]).await?;
            }
        }
        for (path, replicas, object) in
            [(SETS, self.set, set as fn(u32) -> Value), (DEPLOYMENTS, self.deployment, deployment as fn(u32) -> Value)]
        {
            let Some(replicas) = replicas else { continue };
            let object = object(replicas);
            let path = format!("{path}/{}?fieldManager=test&force=true", object["metadata"]["name"].as_str().unwrap());
            let answer = client.call("PATCH", &path, "application/apply-patch+yaml", object.to_string()).await?;
            assert!(matches!(answer.code, 200 | 201), "{path}: {}", answer.shown());
        }
        Ok(())
    }

    /// The pods that should run, with their claims; pods of the deployment have names that nobody knows before.
    fn pods(&self) -> BTreeMap<String, String> {
        let pairs = self.pairs.iter().map(|i| (format!("pod-{i}"), format!("data-{i}")));
        pairs.chain((0..self.set.unwrap_or(0)).map(|i| (format!("set-{i}"), format!("data-set-{i}")))).collect()
    }
}

async fn send(client: &Client, method: &str, path: &str, object: &Value, fine: &[u16]) -> Result<(), Lost> {
    let body = if object.is_null() { String::new() } else { object.to_string() };
    let answer = client.call(method, path, "application/json", body).await?;
    // Something of the same name may still be on its way out; who asks again makes it then.
    assert!(fine.contains(&answer.code), "{method} {path}: {}", answer.shown());
    Ok(())
}

fn set(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "set"}, "spec": {
        "serviceName": "set", "replicas": replicas, "podManagementPolicy": "Parallel",
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"},
        "selector": {"matchLabels": {"app": "set"}},
        "template": {"metadata": {"labels": {"app": "set"}}, "spec": {
            "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}})
}

fn deployment(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "deployment"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "deployment"}},
        "template": {"metadata": {"labels": {"app": "deployment"}}, "spec": {
            "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}}}})
}

/// Whether the cluster is what is wanted, to the last directory; otherwise what is not so.
async fn settled(objects: &Objects, wanted: &Wanted, data: &Path) -> Result<(), String> {
    let (pods, claims, volumes) = (objects.list(PODS).await, objects.list(CLAIMS).await, objects.list(VOLUMES).await);
    bound_once(&claims, &volumes)?;
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    let of_deployment = |pod: &&Value| pod["metadata"]["labels"]["app"] == "deployment";
    let expected = wanted.pods();
    let running: BTreeSet<String> = pods
        .iter()
        .filter(|pod| pod["status"]["phase"] == "Running" && !pod["metadata"]["deletionTimestamp"].is_string())
        .filter(|pod| !of_deployment(pod))
        .map(name)
        .collect();
    let there: BTreeSet<String> = pods.iter().filter(|pod| !of_deployment(pod)).map(name).collect();
    let names: BTreeSet<String> = expected.keys().cloned().collect();
    if running != names || there != names {
        return Err(format!("pods {names:?} are wanted, {there:?} are there, {running:?} run"));
    }
    let replicas = pods.iter().filter(of_deployment).filter(|pod| pod["status"]["phase"] == "Running").count();
    if replicas != wanted.deployment.unwrap_or(0) as usize || replicas != pods.iter().filter(of_deployment).count() {
        return Err(format!("{replicas} pods of the deployment run"));
    }
    let wanted_claims: BTreeSet<String> = expected.values().cloned().collect();
    let claimed: BTreeSet<String> = claims.iter().map(name).collect();
    if claimed != wanted_claims {
        return Err(format!("claims {wanted_claims:?} are wanted, {claimed:?} are there"));
    }
    if let Some(claim) = claims.iter().find(|claim| claim["status"]["phase"] != "Bound") {
        return Err(format!("claim {} is {}", name(claim), claim["status"]));
    }
    let volumes: BTreeSet<String> = volumes.iter().map(name).collect();
    let on_disk = directories(data);
    let made: BTreeSet<String> = on_disk.keys().cloned().collect();
    if volumes != made || volumes.len() != claims.len() {
        return Err(format!("{} claims, volumes {volumes:?}, directories {made:?}", claims.len()));
    }
    for pod in pods.iter().filter(|pod| !of_deployment(pod)) {
        let claim = claims.iter().find(|claim| name(claim) == expected[&name(pod)]).unwrap();
        let node = on_disk[claim["spec"]["volumeName"].as_str().unwrap()].as_str();
        assert_eq!(pod["spec"]["nodeName"], node, "pod {} is where its volume is not", name(pod));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_cluster_comes_to_the_same_end() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let kills = number("CRASH_KILLS").unwrap_or(5);
    let seed = number("CRASH_SEED").unwrap_or_else(|| StdRng::from_os_rng().random());
    let of = std::env::var("CRASH_OF").unwrap_or_else(|_| "pairs,set,deployment".to_owned());
    println!("CRASH_SEED={seed} CRASH_KILLS={kills} CRASH_OF={of}");
    let of: Vec<String> = of.split(',').map(str::to_owned).collect();
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = Wanted::default();
    let (begun, mut settling) = (Instant::now(), Duration::ZERO);
    for kill in 0..=kills {
        let mut server = Server::up(folder.path(), &[]).await;
        let started = Instant::now();
        let objects = Objects::of(&server).await;
        // The one who asked was cut off in the middle, too, and asks again; as often as it takes for names to be free.
        objects
            .until(&format!("kill {kill}, seed {seed}: settled"), async |objects| {
                wanted.ask(&objects.0).await.unwrap();
                settled(objects, &wanted, folder.path()).await
            })
            .await;
        settling += started.elapsed();
        let said = server.said();
        assert!(!said.contains("panicked") && !said.contains("forbidden"), "{said}");
        if kill == kills {
            break;
        }
        let client = server.client().await.unwrap();
        let asking = {
            let mut steps = Vec::new();
            for _ in 0..CHANGES {
                wanted.change(&mut random, &of);
                steps.push((wanted.clone(), Duration::from_millis(random.random_range(0..200))));
            }
            tokio::spawn(async move {
                for (step, pause) in steps {
                    if step.ask(&client).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            })
        };
        tokio::time::sleep(Duration::from_micros(random.random_range(1_000..1_500_000))).await;
        server.kill();
        asking.await.unwrap();
    }
    println!("{kills} kills in {:?}, of which {settling:?} went by until all was settled", begun.elapsed());
}
