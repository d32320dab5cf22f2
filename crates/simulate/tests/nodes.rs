//! Simulated nodes do with pods what kubelets do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what is missing is a failure")]

mod common;

use std::time::Duration;

use common::{claim, create, told, volume};
use plimsoll_runtime::Resource;
use plimsoll_simulate::invariants::volumes::read;
use plimsoll_simulate::{Bed, Faults, Kind, Machine, Options, bed};
use serde_json::{Value, json};

fn pod(name: &str, node: &str, cpu: &str, claim: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 20,
                 "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}});
    if let Some(claim) = claim {
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    }
    pod
}

fn phase(bed: &Bed, name: &str) -> Option<String> {
    Some(read::phase(bed.state().pods.get(&format!("default/{name}"))?).to_owned())
}

async fn events(bed: &Bed) -> String {
    let request = http::Request::get("/api/v1/events").body(Vec::new()).unwrap();
    bed.client().request_text(request).await.unwrap()
}

#[test]
fn a_node_registers_and_renews_its_lease() {
    let report = bed::run(Options::new(1), |bed| async move {
        bed.start(Machine::new("a").label("zone", "z").component());
        bed.wait(Duration::from_secs(1)).await;
        let lease = |objects: plimsoll_runtime::Objects| async move {
            let lease = objects.get::<Value>(Resource::LEASES, "kube-node-lease", "a").await.unwrap().unwrap();
            lease["spec"]["renewTime"].as_str().unwrap().to_owned()
        };
        let first = lease(bed.objects()).await;
        bed.wait(Duration::from_secs(11)).await;
        assert!(lease(bed.objects()).await > first);
        // A new life finds its node there already.
        bed.crash("node-a");
        bed.settle().await?;
        let node = bed.state().nodes["a"].clone();
        assert_eq!(node["metadata"]["labels"]["zone"], "z");
        assert_eq!(node["status"]["allocatable"]["cpu"], "8");
        Ok(())
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
}

#[test]
fn pods_run_where_there_is_room_and_are_refused_where_not() {
    let report = bed::run(Options::new(2), |bed| async move {
        bed.start(Machine::new("a").allocatable("cpu", "2").component());
        bed.wait(Duration::from_secs(1)).await;
        create(&bed, Resource::PODS, &pod("one", "a", "1500m", None)).await?;
        create(&bed, Resource::PODS, &pod("two", "a", "1", None)).await?;
        create(&bed, Resource::PODS, &pod("elsewhere", "b", "1", None)).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "one").as_deref(), Some("Running"));
        assert_eq!(phase(&bed, "two").as_deref(), Some("Failed"));
        assert_eq!(phase(&bed, "elsewhere").as_deref(), Some("Pending"));
        let two = bed.state().pods["default/two"].clone();
        assert_eq!(two["status"]["reason"], "OutOfcpu");
        let message =
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
        assert_eq!(two["status"]["message"], message);
        assert!(bed.state().pods["default/one"]["status"]["startTime"].is_string());
        Ok(())
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
}

#[test]
fn a_pod_ends_after_its_grace() {
    let report = bed::run(Options::new(3), |bed| async move {
        bed.start(Machine::new("a").component());
        create(&bed, Resource::PODS, &pod("one", "a", "1", None)).await?;
        bed.settle().await?;
        bed.objects().delete(Resource::PODS, "default", "one", &Default::default()).await.map_err(told)?;
        bed.wait(Duration::from_secs(18)).await;
        assert_eq!(phase(&bed, "one").as_deref(), Some("Running"));
        bed.wait(Duration::from_secs(4)).await;
        assert_eq!(phase(&bed, "one"), None);
        Ok(())
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
}

#[test]
fn a_pod_waits_for_its_claim_and_for_a_volume_within_reach() {
    let report = bed::run(Options::new(4), |bed| async move {
        common::classes(&bed).await?;
        bed.start(common::controllers());
        bed.start(Machine::new("a").label("topology.kubernetes.io/zone", "a").component());
        create(&bed, Resource::PODS, &pod("near", "a", "1", Some("near"))).await?;
        create(&bed, Resource::PODS, &pod("far", "a", "1", Some("far"))).await?;
        create(&bed, Resource::CLAIMS, &claim("near", Some("disk"), 1)).await?;
        create(&bed, Resource::CLAIMS, &claim("far", Some("disk"), 1)).await?;
        bed.settle().await?;
        assert_eq!(phase(&bed, "near").as_deref(), Some("Pending"));
        assert!(events(&bed).await.contains("PVC is not bound"));
        for zone in ["near", "far"] {
            let mut volume = volume(zone, "disk", 1, "Retain");
            volume["spec"]["claimRef"] = json!({"namespace": "default", "name": zone});
            let value = if zone == "near" { "a" } else { "b" };
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [value]}]}]}});
            create(&bed, Resource::VOLUMES, &volume).await?;
        }
        bed.settle().await?;
        assert_eq!(phase(&bed, "near").as_deref(), Some("Running"));
        assert_eq!(phase(&bed, "far").as_deref(), Some("Pending"));
        let events = events(&bed).await;
        assert!(events.contains("FailedMount") && events.contains("NodeAffinity check failed for volume"), "{events}");
        Ok(())
    });
    assert_eq!(report.outcome, Ok(()), "{}", report.trace);
}

#[test]
fn a_node_that_is_killed_and_cut_off_comes_to_the_same_end() {
    for seed in 0..10 {
        let faults = Faults::none()
            .with(Kind::CrashAfter, 0.1)
            .with(Kind::LostAnswer, 0.2)
            .with(Kind::WatchCut, 0.2)
            .with(Kind::WatchGone, 0.2)
            .until(Duration::from_secs(60));
        let report = bed::run(Options::new(seed).faults(faults), |bed| async move {
            bed.start(Machine::new("a").component());
            create(&bed, Resource::PODS, &pod("one", "a", "1", None)).await?;
            create(&bed, Resource::PODS, &pod("two", "a", "100", None)).await?;
            bed.settle().await?;
            assert_eq!(phase(&bed, "one").as_deref(), Some("Running"));
            assert_eq!(phase(&bed, "two").as_deref(), Some("Failed"));
            bed.objects().delete(Resource::PODS, "default", "one", &Default::default()).await.map_err(told)?;
            bed.settle().await?;
            assert_eq!(phase(&bed, "one"), None);
            Ok(())
        });
        assert_eq!(report.outcome, Ok(()), "seed {seed}: {}", report.trace);
    }
}
