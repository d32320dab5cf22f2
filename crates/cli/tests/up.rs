//! `plimsoll up` as its user meets it: the program is started, and everything goes over its API.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod cluster;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cluster::{CLAIMS, NODES, Objects, PODS, VOLUMES, claim, directories, end, pod};
use serde_json::{Value, json};
use server::Server;
use tempfile::tempdir;

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

/// Runs the program to its end.
fn plimsoll(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .env("KUBECONFIG", "/nonexistent/kubeconfig")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs `up` on a folder, and expects that it does not start: its exit code and what it says.
fn refused(folder: &Path, arguments: &[&str], input: &str) -> (i32, String) {
    let folder = folder.to_str().unwrap();
    let all = [&["up", "--data-dir", folder][..], arguments].concat();
    let done = plimsoll(&all, input);
    assert!(done.stdout.is_empty(), "{}", String::from_utf8_lossy(&done.stdout));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(!said.contains("did not end in time"), "what was started ends at once: {said}");
    (done.status.code().unwrap(), said)
}

const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// No part was told that it may not do its work: the roles are enough.
fn nothing_was_forbidden(server: &Server) {
    let said = server.said();
    for word in ["forbidden", "panicked", "ERROR"] {
        assert!(!said.contains(word), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_run_where_their_volumes_are() {
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &["--nodes", "4", "--zones", "a,b"]).await;
    let objects = Objects::of(&server).await;

    let nodes = objects.list(NODES).await;
    let zone = |node: &Value| text(node, "/metadata/labels/topology.kubernetes.io~1zone").to_owned();
    let zones: Vec<(String, String)> =
        nodes.iter().map(|node| (text(node, "/metadata/name").to_owned(), zone(node))).collect();
    let expected = [("node-1", "a"), ("node-2", "b"), ("node-3", "a"), ("node-4", "b")];
    assert_eq!(zones, expected.map(|(name, zone)| (name.to_owned(), zone.to_owned())));
    let class = objects.get(&format!("{CLASSES}/local")).await.unwrap();
    assert_eq!(class["provisioner"], "plimsoll.dev/local-directory");
    assert_eq!(class["volumeBindingMode"], "WaitForFirstConsumer");
    assert_eq!(class["reclaimPolicy"], "Delete");

    for i in 1..=3 {
        objects.made(CLAIMS, &claim(&format!("data-{i}"))).await;
        objects.made(PODS, &pod(&format!("web-{i}"), Some(&format!("data-{i}")))).await;
    }
    for i in 1..=3 {
        let pod = objects.phase(&format!("web-{i}"), "Running").await;
        let claim = objects.get(&format!("{CLAIMS}/data-{i}")).await.unwrap();
        assert_eq!(claim["spec"]["storageClassName"], "local");
        let volume = text(&claim, "/spec/volumeName");
        let on = directories(folder.path()).get(volume).cloned();
        assert_eq!(on.as_deref(), Some(text(&pod, "/spec/nodeName")), "the volume is where the pod is");
    }

    // The volume goes with its claim, and the directory with the volume.
    assert_eq!(objects.delete(&format!("{PODS}/web-1")).await.code, 200);
    assert_eq!(objects.delete(&format!("{CLAIMS}/data-1")).await.code, 200);
    objects.gone(&format!("{CLAIMS}/data-1")).await;
    objects
        .until("two volumes", async |objects| match objects.list(VOLUMES).await.len() {
            2 => Ok(()),
            count => Err(format!("{count} volumes")),
        })
        .await;
    assert_eq!(directories(folder.path()).len(), 2);
    nothing_was_forbidden(&server);
    end(&mut server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateful_set_has_a_volume_in_each_zone() {
    let folder = tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/database.yaml");
    let mut server = Server::up(folder.path(), &["-f", example]).await;
    let objects = Objects::of(&server).await;
    let mut nodes = BTreeSet::new();
    for i in 0..3 {
        let pod = objects.phase(&format!("db-{i}"), "Running").await;
        let claim = objects.get(&format!("{CLAIMS}/data-db-{i}")).await.unwrap();
        assert_eq!(claim["status"]["phase"], "Bound");
        let node = text(&pod, "/spec/nodeName").to_owned();
        assert_eq!(directories(folder.path()).get(text(&claim, "/spec/volumeName")), Some(&node));
        nodes.insert(node);
    }
    assert_eq!(nodes.len(), 3, "each zone has one node, and each node one replica");
    objects
        .until("three replicas are ready", async |objects| {
            let set = objects.get("/apis/apps/v1/namespaces/default/statefulsets/db").await.unwrap();
            if set["status"]["readyReplicas"] == 3 { Ok(()) } else { Err(set["status"].to_string()) }
        })
        .await;
    nothing_was_forbidden(&server);
    end(&mut server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_finds_everything_as_it_was() {
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &[]).await;
    let objects = Objects::of(&server).await;
    objects.made(CLAIMS, &claim("data")).await;
    objects.made(PODS, &pod("web", Some("data"))).await;
    // Somebody who looks on does not keep it from ending.
    let watching = objects.0.open("GET", &format!("{PODS}?watch=true"), "", "").await.unwrap();
    assert_eq!(watching.status(), 200);
    let before = objects.phase("web", "Running").await;
    let node_before = objects.get(&format!("{NODES}/node-1")).await.unwrap();
    let there = directories(folder.path());
    assert_eq!(objects.delete(&format!("{CLASSES}/local")).await.code, 200);
    end(&mut server).await;

    // Fewer nodes than before: the others are said.
    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    let after = objects.phase("web", "Running").await;
    for field in ["/metadata/uid", "/spec/nodeName", "/status/startTime"] {
        assert_eq!(text(&before, field), text(&after, field), "{field}");
    }
    let node = objects.get(&format!("{NODES}/node-1")).await.unwrap();
    assert_eq!(node["status"]["addresses"], node_before["status"]["addresses"], "a node that is alone now is the same");
    assert_eq!(directories(folder.path()), there);
    assert!(objects.get(&format!("{CLASSES}/local")).await.is_none(), "who deleted the class does not get it back");
    assert!(server.said().contains("nobody runs node-2, node-3 any more"), "{}", server.said());
    assert_eq!(objects.list(NODES).await.len(), 3);
    nothing_was_forbidden(&server);
    end(&mut server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory_nothing_is_kept() {
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &["--in-memory", "--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    objects.made(CLAIMS, &claim("data")).await;
    objects.made(PODS, &pod("web", Some("data"))).await;
    objects.phase("web", "Running").await;
    let volume = objects.list(VOLUMES).await.remove(0);
    let path = text(&volume, "/spec/local/path").to_owned();
    assert!(Path::new(&path).is_dir() && !Path::new(&path).starts_with(folder.path()), "{path}");
    // The folder is taken, though no store is in it: the kubeconfig there must stay this one's.
    let (code, said) = refused(folder.path(), &["--in-memory", "--listen", "127.0.0.1:0"], "");
    assert_eq!(code, 1);
    assert!(said.contains("is in use by another plimsoll process"), "{said}");
    end(&mut server).await;
    assert!(!Path::new(&path).exists());
    assert!(!folder.path().join("store.redb").exists() && !folder.path().join("volumes").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_and_a_taken_folder_are_said() {
    let (folder, other) = (tempdir().unwrap(), tempdir().unwrap());
    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    let (code, said) = refused(folder.path(), &ANY_PORT, "");
    assert_eq!(code, 1);
    let pid = server.pid();
    assert!(
        said.contains(&format!(
            "is in use by another plimsoll process (pid {pid}); stop it or choose another --data-dir"
        ))
    );

    let (code, said) = refused(other.path(), &["--listen", &server.address.to_string()], "");
    assert_eq!(code, 1);
    assert!(said.contains("cannot listen on") && said.contains("is taken: stop who has it, or take another"), "{said}");
    // Neither has hurt the one that runs.
    assert!(folder.path().join("kubeconfig").exists());
    server.check().await;
    end(&mut server).await;
}

#[test]
fn a_damaged_store_is_said() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("store.redb"), "not a store".repeat(1000)).unwrap();
    let (code, said) = refused(folder.path(), &ANY_PORT, "");
    assert_eq!(code, 1);
    assert!(said.contains("store.redb is damaged: "), "{said}");
    assert!(said.contains("restore it from a backup, or move it away to start with an empty cluster"), "{said}");
}

#[test]
fn a_folder_that_is_none_is_said() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let (code, said) = refused(&path, &ANY_PORT, "");
        assert_eq!(code, 1);
        assert!(
            said.contains("the data folder cannot be used: ") && said.contains("name another with --data-dir"),
            "{said}"
        );
    }
}

#[test]
fn arguments_that_make_no_sense_are_said() {
    let folder = tempdir().unwrap();
    for (arguments, code, expected) in [
        (["--zones", "a,b,a"], 1, "--zones: a is named twice"),
        (["--zones", "a,,b"], 2, "a zone has no name; write them as a,b,c"),
        (["--zones", "a/b"], 2, "\"a/b\" cannot be a zone: it must be a label's value"),
        (["--nodes", "many"], 2, "invalid value 'many'"),
        (["--nodes", "-1"], 2, "-1 is not in 0..=5000"),
        (["--listen", "localhost:0"], 2, "it must be an IP address and a port, such as 127.0.0.1:6443"),
        (["--node-cpu", "x"], 2, "is not a quantity such as 8 or 32Gi"),
        (["--controllers", "*,statefulset"], 1, "--controllers: there is no controller statefulset"),
        (["-f", "/nonexistent.yaml"], 1, "/nonexistent.yaml: No such file"),
    ] {
        let (got, said) = refused(folder.path(), &arguments, "");
        assert_eq!(got, code, "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(!folder.path().join("store.redb").exists(), "nothing was started");
}

#[test]
fn what_cannot_be_applied_is_said_with_its_place() {
    let folder = tempdir().unwrap();
    // Before anything is started.
    let (code, said) =
        refused(folder.path(), &["-f", "-"], "apiVersion: v1\nkind: Pod\n---\nkind: [\n---\nmetadata: {}\n");
    assert_eq!(code, 1);
    assert!(said.contains("stdin: document 2, line 4"), "{said}");
    assert!(said.contains("stdin: document 3, line 5: apiVersion: is missing"), "{said}");
    let storage = "apiVersion: plimsoll.dev/v1\nkind: SimulatedStorage\nmetadata: {name: sim.csi.plimsoll.dev}\n";
    let (code, said) = refused(folder.path(), &["-f", "-"], storage);
    assert_eq!(code, 1);
    assert!(
        said.contains(
            "document 1, line 1: SimulatedStorage sim.csi.plimsoll.dev: nothing here makes volumes of it yet"
        ),
        "{said}"
    );
    assert!(!folder.path().join("store.redb").exists(), "nothing was started");

    // By the API: all of it is said at once.
    let input = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: fine, namespace: later}
---
apiVersion: v1
kind: Namespace
metadata: {name: later}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 1, replica: 2}
---
apiVersion: example.com/v1
kind: Unknown
metadata: {name: x}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: []}
---
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: old}
";
    let arguments = [&ANY_PORT[..], &["--nodes", "0", "-f", "-"]].concat();
    let (code, said) = refused(folder.path(), &arguments, input);
    assert_eq!(code, 1);
    for expected in [
        "stdin: document 3, line 8: StatefulSet db: ",
        ".spec.replica: field not declared in schema",
        "stdin: document 4, line 13: Unknown x: this cluster knows no kind Unknown of example.com/v1; its CustomResourceDefinition is neither here nor in the input",
        "stdin: document 6, line 22: CronJob old: this cluster knows no kind CronJob of batch/v1beta1; there is one of batch/v1",
        "stdin: document 5, line 17: Pod p: Pod \"p\" is invalid: spec.containers: Required value",
        "the other 2 of 6 documents are in the cluster",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

/// The disk is full: the process says so and ends, and nothing that was acknowledged is lost. A file that may not grow stands for
/// a disk without room: what the store sees is a write that the system refuses, either way.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_and_loses_nothing() {
    let folder = tempdir().unwrap();
    // Made without a limit, so that only what is written later meets it.
    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    end(&mut server).await;
    let size = std::fs::metadata(folder.path().join("store.redb")).unwrap().len();
    let mut command = Command::new("bash");
    let limit = size / 1024 + 2048;
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["up", "--nodes", "1", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path());
    let mut server = Server::run(command, folder.path()).await;
    let objects = Objects::of(&server).await;
    let large = "x".repeat(900_000);
    let mut kept = Vec::new();
    for i in 0..200 {
        let name = format!("large-{i}");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": large}});
        let sent = objects.0.call("POST", "/api/v1/namespaces/default/configmaps", "application/json", map.to_string());
        match sent.await {
            Ok(answer) if answer.code == 201 => kept.push(name),
            _ => break,
        }
    }
    assert!(kept.len() < 200, "the limit was never met");
    assert_eq!(server.ended(Duration::from_secs(20)).await, Some(1));
    let said = server.said();
    assert!(said.contains("cannot be written") && said.contains("make room on the disk of"), "{said}");
    assert!(!said.contains("panicked"), "{said}");

    let mut server = Server::up(folder.path(), &["--nodes", "1"]).await;
    let objects = Objects::of(&server).await;
    for name in &kept {
        assert!(
            objects.get(&format!("/api/v1/namespaces/default/configmaps/{name}")).await.is_some(),
            "{name} is lost"
        );
    }
    end(&mut server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_can_be_left_out() {
    let folder = tempdir().unwrap();
    let arguments = ["--nodes", "1", "--scheduler=false", "--controllers=*,-persistentvolume-binder-controller"];
    let mut server = Server::up(folder.path(), &arguments).await;
    let objects = Objects::of(&server).await;
    objects.made(CLAIMS, &claim("data")).await;
    objects.made(PODS, &pod("web", Some("data"))).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let pod = objects.get(&format!("{PODS}/web")).await.unwrap();
    assert_eq!((text(&pod, "/status/phase"), text(&pod, "/spec/nodeName")), ("Pending", ""));
    assert!(pod["status"]["conditions"].as_array().is_none_or(Vec::is_empty), "{pod}");
    let claim = objects.get(&format!("{CLAIMS}/data")).await.unwrap();
    assert!(text(&claim, "/spec/volumeName").is_empty(), "{claim}");
    end(&mut server).await;
}

/// Pods of the input are made by a patch, and yet admission gives each the volume with its token.
#[tokio::test(flavor = "multi_thread")]
async fn pods_and_custom_resources_of_the_input_are_made() {
    const INPUT: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: small}
spec: {size: 3}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop}
  spec: {containers: [{name: c, image: i}]}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";
    let folder = tempdir().unwrap();
    let file = folder.path().join("input.yaml");
    std::fs::write(&file, INPUT).unwrap();
    let mut server = Server::up(folder.path(), &["--in-memory", "--nodes", "1", "-f", file.to_str().unwrap()]).await;
    let objects = Objects::of(&server).await;
    let path = "/apis/example.com/v1/namespaces/default/widgets/small";
    assert_eq!(objects.get(path).await.unwrap()["spec"], json!({"size": 3}));
    let pod = objects
        .until("the pod runs", async |objects| {
            let pod = objects.get("/api/v1/namespaces/shop/pods/web").await.unwrap();
            if pod["status"]["phase"] == "Running" { Ok(pod) } else { Err(pod["status"].to_string()) }
        })
        .await;
    let volume = text(&pod, "/spec/volumes/0/name");
    assert!(volume.strip_prefix("kube-api-access-").is_some_and(|end| end.len() == 5), "{volume}");
    assert_eq!(text(&pod, "/spec/containers/0/volumeMounts/0/name"), volume);
    nothing_was_forbidden(&server);
    end(&mut server).await;
}

/// `explain` live, `node cut`, and what only a real node could answer.
#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_can_be_looked_into() {
    let folder = tempdir().unwrap();
    let mut server = Server::up(folder.path(), &["--node-cpu", "2"]).await;
    let kubeconfig = folder.path().join("kubeconfig");
    let with = |arguments: &[&str]| {
        let all = [arguments, &["--kubeconfig", kubeconfig.to_str().unwrap()]].concat();
        let done = plimsoll(&all, "");
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap(),
        )
    };
    let objects = Objects::of(&server).await;
    let mut large = pod("large", None);
    large["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "4"}});
    objects.made(PODS, &large).await;
    objects.made(PODS, &pod("small", None)).await;
    let small = objects.phase("small", "Running").await;
    let (code, said) = with(&["explain", "large"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("Pod default/large fits on none of 3 nodes") && said.contains("needs 4 cpu"), "{said}");
    let waiting = objects
        .until("the scheduler says why", async |objects| {
            let pod = objects.get(&format!("{PODS}/large")).await.unwrap();
            let message = text(&pod, "/status/conditions/0/message").to_owned();
            if message.is_empty() { Err(pod["status"].to_string()) } else { Ok(message) }
        })
        .await;
    assert!(waiting.contains("0/3 nodes are available: 3 Insufficient cpu"), "{waiting}");

    let node = text(&small, "/spec/nodeName");
    for (part, expected) in [
        ("log", format!("pod small runs on the simulated node {node}: there is no process and no log")),
        (
            "exec?command=ls",
            format!(
                "pod small runs on the simulated node {node}: there is no process, and nothing to run a command in"
            ),
        ),
    ] {
        let answer = objects.try_get(&format!("{PODS}/small/{part}")).await.unwrap();
        assert_eq!((answer.code, text(&answer.json(), "/message")), (501, expected.as_str()));
    }

    // kubectl asks again for twenty seconds where following is refused, so it is answered.
    let followed = objects.try_get(&format!("{PODS}/small/log?follow=true")).await.unwrap();
    assert_eq!(followed.code, 200);

    let annotation = "/metadata/annotations/simulate.plimsoll.dev~1cut-off";
    let (code, said) = with(&["node", "cut", "node-2"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("Node node-2 is cut off: it no longer reports."), "{said}");
    let node = objects.get(&format!("{NODES}/node-2")).await.unwrap();
    assert_eq!(text(&node, annotation), "true");
    assert_eq!(with(&["node", "cut", "node-2"]).1, "Node node-2 is cut off already.\n");
    let (code, said) = with(&["node", "restore", "node-2"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("Node node-2 is back"), "{said}");
    let node = objects.get(&format!("{NODES}/node-2")).await.unwrap();
    assert!(node.pointer(annotation).is_none());
    let (code, said) = with(&["node", "cut", "node-9"]);
    assert_eq!(code, 1);
    assert!(said.contains("there is no node node-9") && said.contains("there are node-1, node-2, node-3"), "{said}");

    assert_eq!(with(&["node", "cut", "node-3"]).0, 0);
    end(&mut server).await;
    let mut server = Server::up(folder.path(), &["--node-cpu", "2"]).await;
    let expected = "cut off, and heard of by nobody: node-3; `plimsoll node restore NODE` brings one back";
    assert!(server.said().contains(expected), "{}", server.said());
    end(&mut server).await;
}
