//! The direction of the crates (ARCHITECTURE.md): which crate may use which, held against `cargo metadata`.
//!
//! The table has every crate of the design, those that are not there yet too. A crate that is not in it is an error, so
//! that a new one is given its place on purpose.

#![allow(clippy::expect_used, reason = "a test: cargo not answering is a failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Each crate with the crates of ours that it may use. A crate stands after all that it may use.
const MAY_USE: [(&str, &[&str]); 19] = [
    ("clock", &[]),
    ("engine", &[]),
    ("api", &["engine"]),
    ("schema", &["engine"]),
    ("apiserver", &["clock", "engine", "schema"]),
    ("csi", &[]),
    ("csi-driver", &["csi"]),
    ("runtime", &["clock", "engine", "api"]),
    ("scheduler", &["clock", "engine", "api", "runtime"]),
    ("controllers", &["clock", "engine", "api", "runtime"]),
    ("workloads", &["clock", "engine", "api", "runtime"]),
    ("provisioner", &["clock", "engine", "api", "runtime", "csi"]),
    (
        "simulate",
        &[
            "clock",
            "engine",
            "api",
            "schema",
            "apiserver",
            "csi",
            "csi-driver",
            "runtime",
            "scheduler",
            "controllers",
            "workloads",
            "provisioner",
        ],
    ),
    // It shows what the others did; the API server it knows only as a client does.
    ("dashboard", &["clock", "engine", "api", "runtime", "scheduler", "controllers", "provisioner", "simulate"]),
    (
        "cli",
        &[
            "clock",
            "engine",
            "api",
            "schema",
            "apiserver",
            "csi",
            "csi-driver",
            "runtime",
            "scheduler",
            "controllers",
            "workloads",
            "provisioner",
            "simulate",
            "dashboard",
        ],
    ),
    // Black-box tests and their harness, in the folder tests/: they may see everything, and nothing sees them.
    (
        "tests",
        &[
            "clock",
            "engine",
            "api",
            "schema",
            "apiserver",
            "csi",
            "csi-driver",
            "runtime",
            "scheduler",
            "controllers",
            "workloads",
            "provisioner",
            "simulate",
            "dashboard",
        ],
    ),
    ("bench-apiserver", &["tests"]),
    ("bench-controller", &["tests"]),
    ("bench-scheduler", &["engine", "api", "runtime", "scheduler", "tests"]),
];

/// The only crates that see both the API server and a component that talks to it.
const SEE_BOTH: [&str; 3] = ["simulate", "cli", "tests"];
const COMPONENTS: [&str; 4] = ["scheduler", "controllers", "workloads", "provisioner"];

/// What decides must not know how it is fed: no Kubernetes client, no runtime, no JSON, no calendar.
const NOT_IN_ENGINE: [&str; 16] = [
    "kube",
    "k8s-openapi",
    "tokio",
    "futures",
    "futures-core",
    "async-trait",
    "hyper",
    "http",
    "axum",
    "tower",
    "tonic",
    "serde",
    "serde_json",
    "serde-saphyr",
    "chrono",
    "jiff",
];

/// Our packages are named after their folders.
const PREFIX: &str = "plimsoll-";

/// Each of our packages with everything it depends on directly.
type Edges = BTreeMap<String, Vec<Edge>>;

#[derive(Clone, Debug)]
struct Edge {
    to: String,
    /// A dependency of tests only. The direction holds for it too, but tests may read JSON.
    for_tests: bool,
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    // What cargo would fetch it has already: these tests were built with it.
    let output =
        Command::new(env!("CARGO")).args(arguments).arg("--offline").current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn packages() -> Vec<Value> {
    let printed = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_slice(&printed).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is missing in {value}"))
}

fn edges() -> Edges {
    let edge = |d: &Value| Edge { to: text(d, "name").to_owned(), for_tests: d["kind"] == "dev" };
    let edges_of = |p: &Value| p["dependencies"].as_array().expect("dependencies").iter().map(edge).collect();
    packages().iter().map(|p| (text(p, "name").to_owned(), edges_of(p))).collect()
}

/// Everything that is wrong with the edges, a sentence each.
fn violations(edges: &Edges) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    let mut wrong = Vec::new();
    for (package, dependencies) in edges {
        let Some((name, allowed)) = package.strip_prefix(PREFIX).and_then(|name| Some((name, table.get(name)?))) else {
            wrong.push(format!("{package} has no place in the direction of the crates: give it one"));
            continue;
        };
        for Edge { to, for_tests } in dependencies {
            match to.strip_prefix(PREFIX) {
                Some(ours) if !allowed.contains(&ours) => wrong.push(format!("{name} must not use {ours}")),
                None if name == "engine" && !for_tests && NOT_IN_ENGINE.contains(&to.as_str()) => {
                    wrong.push(format!("engine must not use {to}: it is pure"));
                }
                _ => {}
            }
        }
    }
    wrong
}

#[test]
fn crates_use_only_what_stands_before_them() {
    let edges = edges();
    assert!(edges.contains_key("plimsoll-engine") && edges.contains_key("plimsoll-cli"), "{:?}", edges.keys());
    let wrong = violations(&edges);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Folders carry no prefix, packages do: `ls crates` reads as the architecture. The black-box tests stand beside it.
#[test]
fn packages_are_named_after_their_folders() {
    for package in packages() {
        let (name, path) = (text(&package, "name"), text(&package, "manifest_path").replace('\\', "/"));
        let folder = name.strip_prefix(PREFIX).unwrap_or("?");
        let place = match folder {
            "tests" => "/tests/Cargo.toml".to_owned(),
            "bench-apiserver" => "/bench/apiserver/Cargo.toml".to_owned(),
            "bench-controller" => "/bench/controller/Cargo.toml".to_owned(),
            "bench-scheduler" => "/bench/scheduler/Cargo.toml".to_owned(),
            folder => format!("/crates/{folder}/Cargo.toml"),
        };
        assert!(path.ends_with(&place), "{name} is at {path}");
    }
}

/// The engine's whole tree, not only what it names itself: nothing in it may bring a runtime along.
#[test]
fn engine_stays_pure_through_its_dependencies() {
    let printed = cargo(&["tree", "-p", "plimsoll-engine", "-e", "normal", "--prefix", "none", "-f", "{p}"]);
    let tree = String::from_utf8_lossy(&printed);
    let packages: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(packages.contains("plimsoll-engine") && packages.contains("hashbrown"), "{packages:?}");
    let found: Vec<&str> = NOT_IN_ENGINE.into_iter().filter(|banned| packages.contains(banned)).collect();
    assert!(found.is_empty(), "engine's dependencies bring in {found:?}");
}

/// The table itself has no circle, and keeps the API server apart from the components.
#[test]
fn the_table_is_sound() {
    let mut before = BTreeSet::new();
    for (name, allowed) in MAY_USE {
        for used in allowed {
            assert!(before.contains(used), "{name} may use {used}, which does not stand before it");
        }
        let sees_both = allowed.contains(&"apiserver") && COMPONENTS.iter().any(|c| allowed.contains(c));
        assert_eq!(sees_both, SEE_BOTH.contains(&name), "{name}");
        assert!(before.insert(name), "{name} stands in the table twice");
    }
    assert!(COMPONENTS.iter().chain(&SEE_BOTH).all(|name| before.contains(name)));
}

/// The test can fail: made-up wrong edges are reported, one by one, among those that are really there.
#[test]
fn a_wrong_edge_is_reported() {
    let wrong = [
        ("plimsoll-engine", "plimsoll-api", "engine must not use api"),
        ("plimsoll-engine", "tokio", "engine must not use tokio: it is pure"),
        ("plimsoll-api", "plimsoll-cli", "api must not use cli"),
        ("plimsoll-apiserver", "plimsoll-api", "apiserver must not use api"),
        ("plimsoll-scheduler", "plimsoll-apiserver", "scheduler must not use apiserver"),
        ("plimsoll-scheduler", "plimsoll-controllers", "scheduler must not use controllers"),
        ("plimsoll-controllers", "plimsoll-csi", "controllers must not use csi"),
        ("plimsoll-csi-driver", "plimsoll-api", "csi-driver must not use api"),
        ("plimsoll-dashboard", "plimsoll-apiserver", "dashboard must not use apiserver"),
    ];
    let real = edges();
    for (from, to, sentence) in wrong {
        let mut edges = real.clone();
        edges.entry(from.to_owned()).or_default().push(Edge { to: to.to_owned(), for_tests: false });
        assert_eq!(violations(&edges), [sentence]);
    }
    let mut edges = real;
    edges.insert("plimsoll-utilities".to_owned(), Vec::new());
    assert_eq!(violations(&edges).len(), 1, "a crate without a place is reported");
}
