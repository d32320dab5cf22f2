//! The scenes.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use plimsoll_tests::audit::{self, Entry};
use plimsoll_tests::deploy::{self, Component, kubeconfig, kubectl, manifests, user};
use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::identities::token;
use serde_json::json;

use crate::stage::{CLAIMS, PODS, Stage, VOLUMES, claim_spec};

const SCHEDULER: &str = "plimsoll-scheduler";
const CONTROLLER: &str = "plimsoll-controller";
const IN_PLACE: &str = "scheduler/in-place.yaml";
const BESIDE: &str = "scheduler/beside.yaml";
const SCHEDULER_ROLE: &str = "scheduler/rbac.yaml";
const CONTROLLER_ROLE: &str = "controller/rbac.yaml";
const CONTROLLER_DEPLOYMENT: &str = "controller/deployment.yaml";

/// Rights that the work below does not use, each with its reason.
const SCHEDULER_ARGUED: [(&str, &str); 3] = [
    ("get persistentvolumes", "read after a conflict, which comes when it comes"),
    ("get persistentvolumeclaims", "read after a conflict, which comes when it comes"),
    ("get pods", "an HTTP extender is sent the pod as the API server has it; none is configured here"),
];
const CONTROLLER_ARGUED: [(&str, &str); 4] = [
    ("get csinodes.storage.k8s.io", "asked before a selected node without a driver is given up, after two minutes"),
    ("get csidrivers.storage.k8s.io", "the same"),
    ("get persistentvolumes", "asked before a claim is lost and after a conflict"),
    ("update pods/finalizers", "not asked for, but checked where a claim names its pod: see rg_17"),
];

/// kubectl sends every manifest to both servers, which take it and store nothing.
pub async fn dry_run(stage: &Stage) -> Result<()> {
    let embedded = Embedded::start(true).await?;
    let arguments = ["apply", "--dry-run=server", "--validate=strict"];
    let configs = [stage.server.kubeconfig.clone(), embedded.kubeconfig.clone()];
    for config in configs {
        let files = manifests()?;
        let said = tokio::task::spawn_blocking(move || kubectl(&config, &arguments, &files)).await??;
        ensure!(said.lines().count() == 17, "{said}");
        ensure!(said.lines().all(|line| line.ends_with("(server dry run)")), "{said}");
    }
    embedded.stop().await;
    Ok(())
}

/// Scheduler and controller place and bind pods with volumes of all sorts, as the manifests run them.
pub async fn work(stage: &Stage) -> Result<()> {
    let controller =
        Component::start(&stage.server, CONTROLLER_DEPLOYMENT, &kubeconfig(&stage.server, CONTROLLER).await?, &[])
            .await?;
    let account = kubeconfig(&stage.server, SCHEDULER).await?;
    // What fits nowhere is tried again soon, so that the same is said of it twice.
    let often = "--pod-max-in-unschedulable-pods-duration=3s";
    let scheduler = Component::start(&stage.server, IN_PLACE, &account, &[often]).await?;
    // Stale: the controller takes back a selection of a node that is not there, after half a minute. It is looked at in the end.
    let lost = json!({"metadata": {"name": "lost", "annotations": {"volume.kubernetes.io/selected-node": "gone"}},
        "spec": claim_spec("fast")});
    stage.create(CLAIMS, &lost).await?;

    // Volumes that are there, volumes that are made, and claims that are made with the pod.
    for name in ["disk-a", "disk-b"] {
        stage.local_volume(name).await?;
    }
    for name in ["data-a", "data-b"] {
        stage.claim(name, "local").await?;
    }
    stage.claim("made", "fast").await?;
    // Bound by the controller alone, before anybody uses it.
    stage.claim("at-once", "").await?;
    let volume = json!({"metadata": {"name": "at-once"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d", "volumeHandle": "h"}}});
    stage.create(VOLUMES, &volume).await?;
    stage.until("a claim is bound at once", &format!("{CLAIMS}/at-once"), |c| c["status"]["phase"] == "Bound").await?;
    stage.pod("static", &["data-a", "data-b"], json!({})).await?;
    stage.pod("dynamic", &["made"], json!({})).await?;
    stage.provision("made").await?;
    let template = json!({"spec": claim_spec("fast")});
    let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]);
    stage.pod("scratchy", &[], json!({"volumes": volumes})).await?;
    stage.provision("scratchy-scratch").await?;
    ensure!(stage.until_placed("static").await? == "node-0", "a pod is not where its volumes are");
    stage.until_placed("dynamic").await?;
    stage.until_placed("scratchy").await?;
    stage.until_event("static", "Scheduled", 1).await?;

    // A pod that fits nowhere is told so, and told again when it was tried again in vain.
    let huge = json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]);
    stage.pod("huge", &[], json!({"containers": huge})).await?;
    stage.until_refused("huge", "Unschedulable", "2 Insufficient cpu").await?;
    stage.until_event("huge", "FailedScheduling", 1).await?;
    // There would be room, but not for now; and then there is none again, and the same to be told.
    let size = |cpu: &str| json!({"status": {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}});
    stage.patch("/api/v1/nodes/node-1", &json!({"spec": {"unschedulable": true}})).await?;
    stage.patch("/api/v1/nodes/node-1/status", &size("80")).await?;
    stage.until_refused("huge", "Unschedulable", "1 node(s) were unschedulable").await?;
    stage.patch("/api/v1/nodes/node-1/status", &size("4")).await?;
    stage.patch("/api/v1/nodes/node-1", &json!({"spec": {"unschedulable": false}})).await?;
    stage.until_event("huge", "FailedScheduling", 3).await?;
    stage.until_series("huge", "FailedScheduling").await?;
    stage.delete(&format!("{PODS}/huge")).await?;

    // A claim is protected while its pod is there, its volume released when it is gone.
    for path in [format!("{CLAIMS}/data-a"), format!("{PODS}/static")] {
        stage.delete(&path).await?;
    }
    stage.until("the claim goes", &format!("{CLAIMS}/data-a"), |c| c["code"] == 404).await?;
    let released = |list: &serde_json::Value| {
        list["items"].as_array().is_some_and(|all| all.iter().any(|volume| volume["status"]["phase"] == "Released"))
    };
    stage.until("its volume is released", VOLUMES, released).await?;

    // A pod of a higher priority gets the room of a lower one.
    for (name, value) in [("low", 10), ("high", 1000)] {
        let class = json!({"metadata": {"name": name}, "value": value});
        stage.create("/apis/scheduling.k8s.io/v1/priorityclasses", &class).await?;
        stage.server.client.until_known(name).await?;
        let half = json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]);
        let on = json!({"kubernetes.io/hostname": "node-0"});
        stage.pod(name, &[], json!({"containers": half, "priorityClassName": name, "nodeSelector": on})).await?;
        if name == "low" {
            stage.until_placed(name).await?;
        }
    }
    stage.until_event("low", "Preempted", 1).await?;
    stage
        .until("the victim goes", &format!("{PODS}/low"), |pod| pod["metadata"]["deletionTimestamp"].is_string())
        .await?;
    stage.delete(&format!("{PODS}/low")).await?;
    ensure!(stage.until_placed("high").await? == "node-0", "room was made on node-0");

    // The other flavour works at the same time, for the pods that name it.
    let beside = Component::start(&stage.server, BESIDE, &account, &[]).await?;
    stage.pod("beside", &[], json!({"schedulerName": "plimsoll"})).await?;
    stage.until_placed("beside").await?;
    let (code, page) = beside.page("/configz").await?;
    let page: serde_json::Value = serde_json::from_str(&page)?;
    ensure!(code == 200 && page["componentconfig"]["profiles"][0]["schedulerName"] == "plimsoll", "{code} {page}");

    let leaders =
        [(&controller, "plimsoll-controller"), (&scheduler, "kube-scheduler"), (&beside, "plimsoll-scheduler")];
    for (component, lease) in leaders {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{lease}", deploy::NAMESPACE);
        let holder = stage.get(&path).await?["spec"]["holderIdentity"].clone();
        ensure!(holder.as_str().is_some_and(|holder| !holder.is_empty()), "nobody holds {lease}");
        ensure!(
            component.page("/readyz").await? == (200, "ok".to_owned()),
            "{} is not ready",
            component.process.printed()
        );
        stage.until_event(lease, "LeaderElection", 1).await?;
    }
    stage
        .until("the stale selection is taken back", &format!("{CLAIMS}/lost"), |claim| {
            claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_null()
        })
        .await?;
    Ok(())
}

fn asked_by(stage: &Stage, account: &str) -> Result<Vec<Entry>> {
    let user = user(account);
    Ok(audit::read(stage.server.folder())?.into_iter().filter(|entry| entry.user == user).collect())
}

pub fn no_refusals(stage: &Stage) -> Result<()> {
    for account in [SCHEDULER, CONTROLLER] {
        let asked = asked_by(stage, account)?;
        ensure!(asked.len() > 30, "{account} asked for little: {asked:#?}");
        let refused: Vec<&Entry> = asked.iter().filter(|entry| entry.code == 403).collect();
        ensure!(refused.is_empty(), "{account} was refused {refused:#?}");
    }
    Ok(())
}

pub fn scheduler_uses_its_rights(stage: &Stage) -> Result<()> {
    uses_its_rights(stage, SCHEDULER, &[SCHEDULER_ROLE, IN_PLACE, BESIDE], &SCHEDULER_ARGUED)
}

pub fn controller_uses_its_rights(stage: &Stage) -> Result<()> {
    uses_its_rights(stage, CONTROLLER, &[CONTROLLER_ROLE, CONTROLLER_DEPLOYMENT], &CONTROLLER_ARGUED)
}

fn uses_its_rights(stage: &Stage, account: &str, manifests: &[&str], argued: &[(&str, &str)]) -> Result<()> {
    let rights = deploy::rights(manifests)?;
    let asked = asked_by(stage, account)?;
    let known: BTreeSet<String> = rights.iter().map(ToString::to_string).collect();
    for (right, why) in argued {
        ensure!(known.contains(*right), "{account} does not have {right} ({why})");
    }
    let idle: Vec<String> = rights
        .iter()
        .filter(|right| !asked.iter().any(|entry| right.was_used_by(entry)))
        .map(|right| format!("{right} {}", right.name))
        .filter(|right| !argued.iter().any(|(argued, _)| *argued == right.trim()))
        .collect();
    ensure!(idle.is_empty(), "{account} has rights that it does not use: {idle:#?}");
    Ok(())
}

/// Without the right to change claims: a volume is given its claim first, then a claim its node, which is refused.
pub async fn rg_1(stage: &Stage) -> Result<()> {
    let but = ["update persistentvolumeclaims"];
    let config =
        stage.user_with("plimsoll:scheduler", "no-claims", "plimsoll-scheduler-lease", SCHEDULER_ROLE, &but).await?;
    let scheduler = Component::start(&stage.server, IN_PLACE, &config, &[]).await?;
    stage.local_volume("disk-1").await?;
    // No controller is there to say so.
    stage.patch(&format!("{VOLUMES}/disk-1/status"), &json!({"status": {"phase": "Available"}})).await?;
    stage.claim("static-1", "local").await?;
    stage.claim("made-1", "fast").await?;
    stage.pod("rg-1", &["static-1", "made-1"], json!({})).await?;
    stage.until_refused("rg-1", "SchedulerError", "running PreBind plugin \"VolumeBinding\": binding volumes:").await?;
    stage.until_refused("rg-1", "SchedulerError", "cannot update resource \"persistentvolumeclaims\"").await?;
    // Tried again, and refused again.
    stage.until_event("rg-1", "FailedScheduling", 2).await?;
    let written = |volumes: &serde_json::Value| {
        let all = volumes["items"].as_array().into_iter().flatten();
        all.filter(|volume| volume["spec"]["claimRef"]["name"] == "static-1").count() == 1
    };
    ensure!(written(&stage.get(VOLUMES).await?), "what was written to the volume is gone");
    // With the right, it goes on from there.
    stage.grant("no-claims", SCHEDULER_ROLE, &[]).await?;
    stage.provision("made-1").await?;
    ensure!(stage.get(&format!("{PODS}/rg-1")).await?["spec"]["nodeName"].is_null(), "nobody bound its claims yet");
    drop(scheduler);
    Ok(())
}

/// Without the right to read capacities: nothing is placed, and the log and /readyz say so. With it, all goes on.
pub async fn rg_2(stage: &Stage) -> Result<()> {
    let but = ["list csistoragecapacities.storage.k8s.io"];
    let config =
        stage.user_with("plimsoll:viewer", "no-pools", "plimsoll-scheduler-lease", SCHEDULER_ROLE, &but).await?;
    let scheduler = Component::start(&stage.server, IN_PLACE, &config, &[]).await?;
    stage.pod("rg-2", &[], json!({})).await?;
    for _ in 0..100 {
        if scheduler.process.printed().contains("csistoragecapacities") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Everything else was listed long ago by now: two more tries of the one that is refused.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (code, page) = scheduler.page("/readyz?verbose").await?;
    ensure!(code == 500 && page.contains("[-]informer-sync failed"), "{code} {page}");
    let printed = scheduler.process.printed();
    ensure!(printed.contains("csistoragecapacities.storage.k8s.io is forbidden"), "{printed}");
    ensure!(printed.contains("not listed yet, so that no pod is placed (RG-2): csistoragecapacities"), "{printed}");
    ensure!(scheduler.page("/livez").await?.0 == 200, "it should not be restarted for that");
    let pod = stage.get(&format!("{PODS}/rg-2")).await?;
    ensure!(pod["spec"]["nodeName"].is_null() && pod["status"]["conditions"].is_null(), "{pod}");
    stage.grant("no-pools", SCHEDULER_ROLE, &[]).await?;
    stage.until_placed("rg-2").await?;
    ensure!(scheduler.page("/readyz").await?.0 == 200, "{}", scheduler.process.printed());
    Ok(())
}

/// Whoever may edit a namespace may write the annotation, and no volume. Nobody aggregates roles here, so that `edit` is empty; it
/// is made of the role that is bound.
pub async fn rg_4(stage: &Stage) -> Result<()> {
    let binding = json!({"metadata": {"name": "rg-4"}, "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-edit"}});
    stage.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", &binding).await?;
    stage.claim("rg-4", "fast").await?;
    stage.local_volume("rg-4").await?;
    let patch = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}});
    let client = &stage.server.client;
    let paths = [(format!("{CLAIMS}/rg-4"), 200), (format!("{VOLUMES}/rg-4"), 403)];
    for (path, expected) in paths {
        let kind = "application/merge-patch+json";
        let mut last = (0, serde_json::Value::Null);
        // The server takes a moment to notice a binding.
        for _ in 0..50 {
            last = client.ask(&token("nobody"), Method::PATCH, &path, kind, Some(&patch)).await?;
            if last.0 == expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        ensure!(last.0 == expected, "{path}: {last:?}");
    }
    stage.delete(&format!("{CLAIMS}/rg-4")).await?;
    stage.delete(&format!("{VOLUMES}/rg-4")).await
}

/// Ours replaces finalizers where the external provisioner patches them, so update is the right that it needs.
pub async fn rg_16(stage: &Stage) -> Result<()> {
    stage.local_volume("rg-16").await?;
    stage
        .patch(&format!("{VOLUMES}/rg-16"), &json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}}))
        .await?;
    stage.delete(&format!("{VOLUMES}/rg-16")).await?;
    let but = ["update persistentvolumes"];
    let config = stage
        .user_with("plimsoll:controller", "no-volumes", "plimsoll-controller-lease", CONTROLLER_ROLE, &but)
        .await?;
    let controller = Component::start(&stage.server, CONTROLLER_DEPLOYMENT, &config, &[]).await?;
    for _ in 0..100 {
        if controller.process.printed().contains("rg-16") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let printed = controller.process.printed();
    ensure!(printed.contains("cannot update resource"), "{printed}");
    let volume = stage.get(&format!("{VOLUMES}/rg-16")).await?;
    ensure!(volume["metadata"]["deletionTimestamp"].is_string(), "{volume}");
    stage.grant("no-volumes", CONTROLLER_ROLE, &[]).await?;
    stage.until("the volume goes", &format!("{VOLUMES}/rg-16"), |volume| volume["code"] == 404).await?;
    Ok(())
}

/// The server checks who may make a pod wait for a claim.
pub async fn rg_17(stage: &Stage) -> Result<()> {
    let but = ["update pods/finalizers"];
    let config = stage
        .user_with("plimsoll:provisioner", "no-owners", "plimsoll-controller-lease", CONTROLLER_ROLE, &but)
        .await?;
    let _controller = Component::start(&stage.server, CONTROLLER_DEPLOYMENT, &config, &[]).await?;
    let template = json!({"spec": claim_spec("fast")});
    let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]);
    stage.pod("rg-17", &[], json!({"volumes": volumes})).await?;
    stage.until_event("rg-17", "FailedBinding", 1).await?;
    let claim = stage.get(&format!("{CLAIMS}/rg-17-scratch")).await?;
    ensure!(claim["code"] == 404, "{claim}");
    stage.grant("no-owners", CONTROLLER_ROLE, &[]).await?;
    let there = |claim: &serde_json::Value| claim["metadata"]["uid"].is_string();
    stage.until("the claim is made", &format!("{CLAIMS}/rg-17-scratch"), there).await.map(drop)
}
