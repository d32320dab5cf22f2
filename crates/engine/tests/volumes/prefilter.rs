//! scheduler-volume-binding.md 3.3: what refuses a pod before any node is looked at.

use plimsoll_engine::gates::Gate;
use plimsoll_engine::model::ClaimPhase;
use plimsoll_engine::reason::{Plugin, Status};

use crate::common::*;

fn cluster() -> World {
    world().with(node("n1", "")).with(class("fast", "driver")).with(class("now", "driver").immediate())
}

/// VolumeBinding's refusal of the pod as a whole.
fn told(world: &World, pod: &plimsoll_engine::model::Pod) -> Option<String> {
    let volumes = world.catalog.volumes_of(pod, world.gates);
    let own = volumes.pod_refusals().iter().find(|r| r.plugin == Plugin::VolumeBinding)?;
    assert_eq!(own.status, Status::UnschedulableAndUnresolvable);
    assert!(world.decide(pod).nodes.is_empty(), "no node is judged");
    Some(own.reason.to_string())
}

const IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

#[test]
fn sb_1_a_pod_without_claims_is_not_looked_at() {
    let pod = pod("p").inline_disk(gce("disk"), true);
    assert_eq!(told(&cluster(), &pod), None);
    assert!(cluster().plan(&pod, "n1").claims.is_empty());
}

#[test]
fn sb_2_a_missing_claim() {
    let pod = pod("p").uses("x");
    assert_eq!(told(&cluster(), &pod).as_deref(), Some("persistentvolumeclaim \"x\" not found"));
}

#[test]
fn sb_3_an_ephemeral_claim_that_is_not_there_yet() {
    let pod = pod("p").ephemeral("fast", "1Gi");
    let text = "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v0\"";
    assert_eq!(told(&cluster(), &pod).as_deref(), Some(text));
    let forecast = cluster().gate(Gate::EphemeralForecast);
    assert_eq!(forecast.planned(&pod, "n1"), ["new"]);
    assert!(forecast.plan(&pod, "n1").claims[0].forecast);
}

#[test]
fn sb_4_an_ephemeral_claim_of_somebody_else() {
    let world = cluster().with(claim("p-v0").class("fast").owned_by("q"));
    let text = "PVC default/p-v0 was not created for pod default/p (pod is not owner)";
    assert_eq!(told(&world, &pod("p").ephemeral("fast", "1Gi")).as_deref(), Some(text));
}

#[test]
fn sb_5_a_lost_claim() {
    let world = cluster().with(claim("c").bound_to("v").edit(|c| c.phase = ClaimPhase::Lost));
    let text = "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"";
    assert_eq!(told(&world.with(volume("v")), &pod("p").uses("c")).as_deref(), Some(text));
}

#[test]
fn sb_6_a_claim_being_deleted() {
    let world = cluster().with(claim("c").class("fast").edit(|c| c.deleting = true));
    assert_eq!(told(&world, &pod("p").uses("c")).as_deref(), Some("persistentvolumeclaim \"c\" is being deleted"));
}

#[test]
fn sb_7_an_unbound_claim_that_binds_immediately() {
    assert_eq!(told(&cluster().with(claim("c").class("now")), &pod("p").uses("c")).as_deref(), Some(IMMEDIATE));
}

#[test]
fn sb_8_a_claim_whose_binding_is_half_done() {
    let half = claim("c").class("fast").edit(|c| c.volume = "v".into());
    let world = cluster().with(half).with(volume("v").class("fast"));
    assert_eq!(told(&world, &pod("p").uses("c")).as_deref(), Some(IMMEDIATE));
}

#[test]
fn sb_9_a_claim_of_a_class_that_does_not_exist() {
    assert_eq!(told(&cluster().with(claim("c").class("none")), &pod("p").uses("c")).as_deref(), Some(IMMEDIATE));
}

#[test]
fn sb_49_a_class_that_goes_between_two_looks_refuses_the_pod() {
    // Upstream may see the class in one step and miss it in the next, which is an error there. Here one decision sees
    // one state, so the claim is as in SB-9.
    let mut world = cluster().with(claim("c").class("fast"));
    assert!(world.fits(&pod("p").uses("c"), "n1"));
    world.remove(plimsoll_engine::Kind::StorageClass, "fast");
    assert_eq!(told(&world, &pod("p").uses("c")).as_deref(), Some(IMMEDIATE));
}

#[test]
fn a_class_without_a_binding_mode_is_an_error() {
    let modeless = plimsoll_engine::model::StorageClass { binding_mode: None, ..class("odd", "driver") };
    let (_, status, reason) =
        cluster().with(modeless).with(claim("c").class("odd")).rejection(&pod("p").uses("c")).unwrap();
    assert_eq!(status, Status::Error);
    assert!(reason.ends_with("VolumeBindingMode not set for StorageClass \"odd\""), "{reason}");
}
