//! The manifests of `deploy/` on the real API server: each component runs under its own service account with the rights that its
//! roles give, does its work without being refused anything, and uses every right that it has. The API server's audit log is the
//! witness. Then what happens where a right is missing (rbac-and-gates.md).
//!
//! All of it is played once on one server, scene after scene; each test is about one of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

#[path = "deploy/scenes.rs"]
mod scenes;
#[path = "deploy/stage.rs"]
mod stage;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anyhow::Result;

use stage::Stage;

type Outcomes = BTreeMap<&'static str, Result<(), String>>;

fn played() -> &'static Outcomes {
    static PLAYED: OnceLock<Outcomes> = OnceLock::new();
    PLAYED.get_or_init(|| tokio::runtime::Runtime::new().unwrap().block_on(play()).unwrap())
}

async fn play() -> Result<Outcomes> {
    let stage = Stage::start().await?;
    let mut outcomes = Outcomes::new();
    let mut came = |scene: &'static str, outcome: Result<()>| {
        outcomes.insert(scene, outcome.map_err(|error| format!("{error:#}")));
    };
    came("dry_run", scenes::dry_run(&stage).await);
    came("work", scenes::work(&stage).await);
    came("no_refusals", scenes::no_refusals(&stage));
    came("scheduler_rights", scenes::scheduler_uses_its_rights(&stage));
    came("controller_rights", scenes::controller_uses_its_rights(&stage));
    came("rg_1", scenes::rg_1(&stage).await);
    came("rg_2", scenes::rg_2(&stage).await);
    came("rg_4", scenes::rg_4(&stage).await);
    came("rg_16", scenes::rg_16(&stage).await);
    came("rg_17", scenes::rg_17(&stage).await);
    Ok(outcomes)
}

fn hold(scene: &str) {
    if let Some(Err(why)) = played().get(scene) {
        panic!("{why}");
    }
    assert!(played().contains_key(scene), "{scene} was not played");
}

#[test]
fn both_servers_take_every_manifest() {
    hold("dry_run");
}

#[test]
fn components_work_under_their_own_identities() {
    hold("work");
}

#[test]
fn nothing_is_refused_to_them() {
    hold("no_refusals");
}

#[test]
fn the_scheduler_uses_each_right_that_it_has() {
    hold("scheduler_rights");
}

#[test]
fn the_controller_uses_each_right_that_it_has() {
    hold("controller_rights");
}

#[test]
fn rg_1_without_update_of_claims_prebind_fails_and_what_was_written_remains() {
    hold("rg_1");
}

#[test]
fn rg_2_without_reading_capacities_nothing_is_scheduled() {
    hold("rg_2");
}

#[test]
fn rg_4_a_user_may_select_a_node_but_not_change_a_volume() {
    hold("rg_4");
}

#[test]
fn rg_16_without_the_right_to_change_volumes_a_deleted_one_stays_until_there_is_one() {
    hold("rg_16");
}

#[test]
fn rg_17_without_pods_finalizers_no_ephemeral_claim_is_made_where_owners_are_checked() {
    hold("rg_17");
}
