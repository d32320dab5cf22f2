//! `plimsoll explain` as its users meet it. The cases are the transcripts in `tests/explain`; `UPDATE=1` accepts.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod support;

use std::fmt::Write;

use support::{cases, check_file, plimsoll, replay, run};

fn check(name: &str) {
    let path = cases().join(name).with_extension("txt");
    let transcript = std::fs::read_to_string(&path).unwrap();
    check_file(&path, &replay(&transcript));
}

macro_rules! transcripts {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() { check($name); })*

        /// No transcript is forgotten.
        #[test]
        fn every_transcript_is_checked() {
            let mut here: Vec<String> = vec!["folding".into(), $($name.into()),*];
            let mut there: Vec<String> = std::fs::read_dir(cases()).unwrap()
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "txt"))
                .map(|p| p.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            here.sort_unstable();
            there.sort_unstable();
            assert_eq!(here, there);
        }
    };
}

transcripts! {
    a_pod_that_fits = "placed";
    nothing_fits_and_what_would_help = "nothing-fits";
    pods_that_fail_as_a_whole = "rejected";
    every_pod_that_waits = "list";
    differences_from_upstream = "deviations";
    input_that_cannot_be_read = "broken";
    kinds_that_are_skipped = "unknown-kinds";
    a_pod_that_is_not_there = "missing-pod";
    what_codes_mean = "codes";
    pods_of_a_statefulset = "statefulset";
    a_dump_of_kubectl = "kubectl-list";
    claims_that_the_volume_controller_would_bind = "immediate";
}

/// Three hundred nodes: most are full, some tainted, some have numbers of their own.
#[test]
fn hundreds_of_nodes_fold() {
    let mut text = String::new();
    for i in 1..=300 {
        let spec = if i % 100 == 0 { "taints: [{key: special, effect: NoSchedule}]" } else { "" };
        let cpu = if (151..=170).contains(&i) { format!("{i}m") } else { "500m".to_owned() };
        let cpu = if i == 7 || (295..300).contains(&i) { "2".to_owned() } else { cpu };
        writeln!(
            text,
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: node-{i}}}, spec: {{{spec}}}, \
             status: {{allocatable: {{cpu: {cpu}, memory: 4Gi, pods: 110}}}}}}"
        )
        .unwrap();
    }
    let pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {requests: {cpu: SIZE}}}]}}\n";
    let mut out = String::new();
    for size in ["1", "3"] {
        let input = format!("{text}{}", pod.replace("SIZE", size));
        let done = run(plimsoll().args(["explain", "-f", "-", "p"]), input.as_bytes());
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        out.push_str(&String::from_utf8(done.stdout).unwrap());
        out.push('\n');
    }
    check_file(&cases().join("folding.txt"), &out);
}

/// The examples of the page about this command are what it prints.
#[test]
fn the_page_is_true() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explain.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut out = String::new();
    let mut example: Option<String> = None;
    for line in text.split_inclusive('\n') {
        match (&mut example, line.trim_end()) {
            (None, "```console") => {
                out.push_str(line);
                example = Some(String::new());
            }
            (Some(transcript), "```") => {
                out.push_str(&replay(transcript));
                out.push_str(line);
                example = None;
            }
            (Some(transcript), _) => transcript.push_str(line),
            (None, _) => out.push_str(line),
        }
    }
    assert!(out.matches("$ plimsoll ").count() >= 5);
    check_file(&page, &out);
}

/// What the README shows is what its command prints.
#[test]
fn the_readme_is_true() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains("cargo run --release --bin plimsoll -- explain -f examples/stuck.yaml db-0\n"));
    let done = run(plimsoll().current_dir(root).args(["explain", "-f", "examples/stuck.yaml", "db-0"]), b"");
    let shown = format!("```text\n{}```\n", String::from_utf8(done.stdout).unwrap());
    assert!(readme.contains(&shown), "the README must show:\n{shown}");
}

/// YAML is the same data as JSON.
#[test]
fn yaml_is_the_same_data_as_json() {
    for case in ["placed.yaml", "nothing-fits.yaml", "rejected.yaml", "deviations.yaml", "list.yaml"] {
        let answer = |form| run(plimsoll().args(["explain", "-f", case, "-o", form]), b"").stdout;
        let json: serde_json::Value = serde_json::from_slice(&answer("json")).unwrap();
        let yaml: serde_json::Value = serde_saphyr::from_str(std::str::from_utf8(&answer("yaml")).unwrap()).unwrap();
        assert_eq!(json, yaml, "{case}");
    }
}

/// A folder is read in order of names, hidden files and other endings aside.
#[test]
fn folders_are_read_in_order() {
    let folder = scratch("folder");
    std::fs::create_dir_all(folder.join("deeper")).unwrap();
    let node = |name: &str, cpu: &str| {
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}, status: {{allocatable: {{cpu: {cpu}, pods: 9}}}}}}"
        )
    };
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("b.yaml", &node("same", "1"));
    write("deeper/c.yml", &node("same", "2"));
    write(".hidden.yaml", "[");
    write("README.md", "[");
    write(
        "pods.jsonl",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}"#,
    );
    let done = run(plimsoll().args(["explain", "p", "-f"]).arg(&folder), b"");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stdout));
    let notes = String::from_utf8(done.stderr).unwrap();
    assert!(notes.contains("c.yml: document 1, line 1: Node same replaces one that was read before"), "{notes}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Under the name kubectl looks for, usage says what the user typed.
#[test]
fn the_command_is_a_kubectl_plugin() {
    let folder = scratch("plugin");
    let plugin = folder.join("kubectl-plimsoll");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plimsoll"), &plugin).unwrap();
    let done = run(std::process::Command::new(&plugin).args(["explain", "--help"]), b"");
    let help = String::from_utf8(done.stdout).unwrap();
    assert!(help.contains("Usage: kubectl plimsoll explain [OPTIONS] [POD]..."), "{help}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn colours_come_only_when_wanted() {
    let args = ["explain", "-f", "placed.yaml", "db-0"];
    let is_coloured = |vars: &[(&str, &str)]| {
        let done = run(plimsoll().args(args).envs(vars.iter().copied()), b"");
        String::from_utf8(done.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!is_coloured(&[]));
    assert!(is_coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[("NO_COLOR", "1")]));
}

/// An empty folder of this test's own.
fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("explain-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
