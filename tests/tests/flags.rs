//! The table of kube-controller-manager's flags in docs/controller.md is the binary's own list.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::collections::BTreeSet;
use std::process::Command;

use plimsoll_tests::upstream::binary;

#[test]
fn every_flag_of_kube_controller_manager_has_its_row() {
    let output = Command::new(binary("kube-controller-manager").unwrap()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let flags: BTreeSet<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split("--").nth(1).filter(|_| line.trim_start().starts_with('-')))
        .filter_map(|rest| rest.split([' ', '[', '=']).next())
        .collect();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/controller.md")).unwrap();
    let rows: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split('`').next()).collect();
    assert!(flags.len() > 100, "{help}");
    assert_eq!(rows, flags);
}
