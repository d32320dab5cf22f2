//! `plimsoll scheduler --config` as its users meet it: what goes before what, what is noted, what is refused and how.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod support;

use serde_json::{Value, json};

use support::{plimsoll, run};

const HEADER: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// Exit code, what was written to stderr, and the configuration that was written.
fn scheduler(config: &str, arguments: &[&str]) -> (i32, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.yaml"), format!("{HEADER}{config}\n")).unwrap();
    let mut command = plimsoll();
    command.current_dir(folder.path()).arg("scheduler").args(["--config", "c.yaml", "--write-config-to", "out"]);
    let output = run(command.args(arguments), b"");
    let written = std::fs::read_to_string(folder.path().join("out")).unwrap_or("null".to_owned());
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said, serde_saphyr::from_str(&written).unwrap())
}

#[test]
fn every_problem_is_an_error_that_names_file_and_field() {
    let config = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 11}]}}]}]\nparallelism: 0";
    let (code, said, written) = scheduler(config, &[]);
    assert_eq!((code, written), (1, Value::Null));
    assert_eq!(
        said,
        "error: c.yaml: parallelism: must be above 0\n\
         error: c.yaml: profiles[0].pluginConfig[0].args.shape[0].score: is 11, and must be from 0 to 10\n\
         help: docs/scheduler.md has every field, and what becomes of it\n"
    );
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let output = run(plimsoll().args(["scheduler", "--config", "/nonexistent/c.yaml"]), b"");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("error: /nonexistent/c.yaml cannot be read: ") && said.contains("\nhelp: "), "{said}");
}

#[test]
fn flags_of_the_lease_go_before_the_file_and_the_file_before_others() {
    let config = "leaderElection: {resourceName: file, resourceNamespace: file, leaderElect: false, leaseDuration: 30s}\n\
                  clientConnection: {kubeconfig: /file, qps: 5}";
    let flags = [
        "--leader-elect-resource-name=flag",
        "--leader-elect",
        "--leader-elect-retry-period=1s",
        "--kubeconfig=/flag",
        "--kube-api-qps=7",
        "--kube-api-burst=9",
    ];
    let (code, said, written) = scheduler(config, &flags);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        written["leaderElection"],
        json!({"leaderElect": true, "leaseDuration": "30s", "renewDeadline": "10s", "retryPeriod": "1s",
            "resourceLock": "leases", "resourceName": "flag", "resourceNamespace": "file"})
    );
    let client = &written["clientConnection"];
    assert_eq!((&client["kubeconfig"], &client["qps"], &client["burst"]), (&json!("/file"), &json!(5.0), &json!(9)));
    let overruled =
        |flag: &str, field: &str| format!("note: {flag} changes nothing: {field} of c.yaml goes before it\n");
    assert!(said.contains(&overruled("--kubeconfig", "clientConnection.kubeconfig")), "{said}");
    assert!(said.contains(&overruled("--kube-api-qps", "clientConnection.qps")), "{said}");
}

#[test]
fn what_changes_nothing_is_noted_and_what_cannot_be_had_is_refused() {
    let (code, said, _) = scheduler("percentageOfNodesToScore: 50", &["--secure-port=10259", "--profiling=false"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("note: c.yaml: percentageOfNodesToScore: changes nothing: every node"), "{said}");
    assert!(
        said.contains("note: --secure-port changes nothing: ") && said.contains("note: --profiling changes nothing"),
        "{said}"
    );
    let (code, said, _) = scheduler("", &["--emulated-version=1.36"]);
    assert!(code == 2 && said.contains("--emulated-version cannot be honoured: "), "{said}");
}

#[test]
fn a_burst_without_a_limit_is_noted() {
    let why = "changes nothing: there is no limit unless clientConnection.qps or --kube-api-qps sets one\n";
    let (_, said, _) = scheduler("clientConnection: {burst: 7}", &[]);
    assert!(said.contains(&format!("note: c.yaml: clientConnection.burst: {why}")), "{said}");
    let (_, said, _) = scheduler("", &["--kube-api-burst=7"]);
    assert!(said.contains(&format!("note: --kube-api-burst {why}")), "{said}");
    for limited in [
        scheduler("clientConnection: {burst: 7, qps: 5}", &[]),
        scheduler("", &["--kube-api-burst=7", "--kube-api-qps=5"]),
    ] {
        assert!(!limited.1.contains(why), "{}", limited.1);
    }
}

#[test]
fn a_collector_that_cannot_be_is_refused_with_an_example() {
    for wrong in ["localhost:4317", "grpc://collector"] {
        let (code, said, _) = scheduler("", &["--otlp-endpoint", wrong]);
        assert!(code == 2 && said.contains("such as http://127.0.0.1:4318"), "{said}");
    }
    let (code, said, _) = scheduler("", &["--otlp-sampling-rate-per-million=5"]);
    assert!(code == 2 && said.contains("--otlp-endpoint"), "{said}");
    let url = "--otlp-endpoint=http://127.0.0.1:4318";
    assert_eq!(scheduler("", &[url, "--otlp-sampling-rate-per-million=1000001"]).0, 2);
    assert_eq!(scheduler("", &[url, "--otlp-sampling-rate-per-million=10000"]).0, 0);
}

#[test]
fn rg_5_gates_of_upstreams_are_honoured_noted_or_refused() {
    let shape = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 1}]}}]}]";
    let off = "--feature-gates=kube:StorageCapacityScoring=false";
    assert_eq!(scheduler(shape, &[]).0, 0);
    let (code, said, _) = scheduler(shape, &[off]);
    assert_eq!(code, 1);
    assert!(said.contains("args.shape: means nothing while the feature gate StorageCapacityScoring is off"), "{said}");
    assert_eq!(scheduler("", &[off]).0, 0);
    let (code, said, _) = scheduler("", &["--feature-gates=SchedulerAsyncPreemption=false"]);
    assert!(code == 1 && said.contains("SchedulerAsyncPreemption is always on here"), "{said}");
    let (code, said, _) = scheduler("", &["--feature-gates=GenericWorkload=true"]);
    assert!(code == 1 && said.contains("GenericWorkload is not built"), "{said}");
    let (code, said, _) = scheduler("", &["--feature-gates=DRADeviceTaints=false,VolumeLimitScaling=false"]);
    assert!(code == 0 && said.contains("DRADeviceTaints changes nothing"), "{said}");
}
