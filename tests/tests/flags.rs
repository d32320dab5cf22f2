//! The tables of upstream's flags in docs/ are the binaries' own lists.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::collections::BTreeSet;
use std::process::Command;

use plimsoll_tests::upstream::binary;

/// Whether the table of a page has exactly the flags of a program's `--help`.
fn same_flags(program: &str, page: &str, at_least: usize) {
    let output = Command::new(binary(program).unwrap()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let flags: BTreeSet<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split("--").nth(1).filter(|_| line.trim_start().starts_with('-')))
        .filter_map(|rest| rest.split([' ', '[', '=']).next())
        .collect();
    let page = std::fs::read_to_string(format!("{}/../docs/{page}.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let rows: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split('`').next()).collect();
    assert!(flags.len() > at_least, "{help}");
    assert_eq!(rows, flags);
}

#[test]
fn every_flag_of_kube_controller_manager_has_its_row() {
    same_flags("kube-controller-manager", "controller", 100);
}

#[test]
fn every_flag_of_kube_scheduler_has_its_row() {
    same_flags("kube-scheduler", "scheduler", 50);
}
