//! KubeSchedulerConfigurations, read by kube-scheduler and by `plimsoll scheduler`: both accept the same, and understand it
//! the same, as far as `--write-config-to` shows.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::path::Path;
use std::process::Command;

use plimsoll_tests::upstream::binary;
use plimsoll_tests::volumes::cluster::program;
use serde::Deserialize;
use serde_json::Value;

const CASES: &str = include_str!("../configuration/cases.yaml");
const KUBECONFIG: &str =
    "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
  clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}]}";

#[derive(Deserialize)]
struct Case {
    name: String,
    config: String,
    #[serde(default)]
    gates: String,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    ours: String,
    #[serde(default)]
    because: String,
}

/// What a program writes of a configuration; `Err` where it refuses it, with what it said.
fn written(mut command: Command, config: &Path, gates: &str) -> Result<Value, String> {
    let out = config.with_extension("written");
    let _ = std::fs::remove_file(&out);
    command.arg("--config").arg(config).arg("--write-config-to").arg(&out);
    if !gates.is_empty() {
        command.arg("--feature-gates").arg(gates);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match (output.status.success(), std::fs::read_to_string(&out)) {
        (true, Ok(text)) => Ok(serde_saphyr::from_str(&text).unwrap()),
        _ => Err(said),
    }
}

/// Leaves out what this scheduler says otherwise on purpose where it was not told, and any order that means nothing.
fn comparable(mut value: Value, case: &Case) -> Value {
    let map = value.as_object_mut().unwrap();
    for field in ["percentageOfNodesToScore", "enableProfiling", "enableContentionProfiling"] {
        if !case.config.contains(field) || field == "enableContentionProfiling" {
            map.remove(field);
        }
    }
    let client = map["clientConnection"].as_object_mut().unwrap();
    client.remove("contentType");
    client.remove("qps");
    for profile in map["profiles"].as_array_mut().unwrap() {
        let configs = profile["pluginConfig"].as_array_mut().unwrap();
        configs.sort_by_key(|config| config["name"].to_string());
    }
    value
}

#[test]
fn configurations_are_read_as_kube_scheduler_reads_them() {
    let cases: Vec<Case> = serde_saphyr::from_str(CASES).unwrap();
    let (theirs, ours) = (binary("kube-scheduler").unwrap(), program().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let file = folder.path().join("config.yaml");
        let client = format!("clientConnection: {{kubeconfig: {}, ", kubeconfig.display());
        let mut config = case.config.trim_end().replace("clientConnection: {", &client);
        if !config.contains("clientConnection") {
            config = format!("{config}\n{client}}}");
        }
        let header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
        std::fs::write(&file, format!("{header}{config}\n")).unwrap();
        let mut upstream = Command::new(&theirs);
        upstream.arg("--secure-port=0");
        let mut own = Command::new(&ours);
        own.arg("scheduler");
        let theirs = written(upstream, &file, &case.gates).map(|value| comparable(value, case));
        let ours = written(own, &file, &case.gates).map(|value| comparable(value, case));
        let name = &case.name;
        if theirs.is_err() != (case.verdict == "refused") {
            wrong.push(format!("{name}: kube-scheduler: {theirs:?}"));
        }
        match (&theirs, &ours) {
            (Ok(_), Err(said)) if case.ours == "refused" => {
                assert!(!case.because.is_empty(), "{name}: a difference has its reason");
                assert!(said.contains("config.yaml: "), "{name}: {said}");
            }
            (Ok(theirs), Ok(ours)) if theirs == ours && case.ours.is_empty() => {}
            (Err(_), Err(said)) if case.ours.is_empty() => {
                assert!(said.starts_with("error: ") && said.contains("config.yaml: "), "{name}: {said}");
            }
            (theirs, ours) => wrong.push(format!("{name}:\n  upstream {theirs:?}\n  plimsoll {ours:?}")),
        }
    }
    assert!(cases.len() > 60);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
