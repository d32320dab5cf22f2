//! pv-controller.md: what claims and volumes need next. The writing of it is tested where it is written.

use plimsoll_engine::Catalog;
use plimsoll_engine::binder::{
    ClaimStep, Deleter, Maker, Say, VolumeStep, deleter, deletion_finalizers, maker, migrated_to,
};
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::{Claim, ReclaimPolicy, StorageClass, Volume, VolumeMode};

use crate::common::*;

fn step(world: &World, claim: &Claim) -> ClaimStep {
    world.catalog.claim_step(claim, &[])
}

/// What is said about a claim that waits.
fn said(step: ClaimStep) -> (bool, &'static str, String) {
    match step {
        ClaimStep::Wait(waiting) => waiting.say.map(|s| (s.warning, s.reason, s.message)).unwrap_or_default(),
        ClaimStep::Refused(Say { warning, reason, message }) | ClaimStep::Lost(Say { warning, reason, message }) => {
            (warning, reason, message)
        }
        other => panic!("{other:?} says nothing"),
    }
}

fn bound(name: &str, volume: &str) -> Claim {
    claim(name).edit(|c| {
        c.volume = volume.into();
        c.bind_completed = true;
    })
}

fn default_class(name: &str, since: &str) -> StorageClass {
    StorageClass { default_since: Some(since.into()), ..class(name, "x").immediate() }
}

#[test]
fn a_volume_that_fits_is_bound() {
    let world = world().with(volume("v").class("fast")).with(class("fast", "x").immediate());
    assert_eq!(step(&world, &claim("c").class("fast")), ClaimStep::Bind("v".into()));
}

#[test]
fn delayed_claims_say_whom_they_wait_for() {
    let world = world().with(class("fast", "x"));
    let waiting = claim("c").class("fast");
    let (_, reason, message) = said(step(&world, &waiting));
    assert_eq!(
        (reason, &*message),
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    );
    let pods: Vec<Name> = vec!["a".into(), "b".into()];
    let (_, reason, message) = said(world.catalog.claim_step(&waiting, &pods[..1]));
    assert_eq!((reason, &*message), ("WaitForPodScheduled", "waiting for pod a to be scheduled"));
    let (_, _, message) = said(world.catalog.claim_step(&waiting, &pods));
    assert_eq!(message, "waiting for pods a,b to be scheduled");
}

#[test]
fn any_selected_node_asks_for_a_volume() {
    let world = world().with(class("fast", "x"));
    for node in ["n", ""] {
        let chosen = claim("c").class("fast").edit(|c| c.selected_node = Some(node.into()));
        assert_eq!(step(&world, &chosen), ClaimStep::Provision("fast".into()));
    }
}

#[test]
fn a_default_class_is_taken_only_by_claims_that_ask_for_one() {
    let world = world().with(default_class("old", "2026-01-01T00:00:00Z"));
    let world = world.with(default_class("new", "2026-02-01T00:00:00Z"));
    let unclassed = claim("c").edit(|c| c.has_class = false);
    assert_eq!(step(&world, &unclassed), ClaimStep::TakeClass("new".into()));
    let (warning, reason, _) = said(step(&world, &claim("c")));
    assert_eq!((warning, reason), (false, "FailedBinding"));
    let world = world.with(volume("v"));
    assert_eq!(step(&world, &unclassed), ClaimStep::Bind("v".into()), "a volume that fits goes first");
}

#[test]
fn a_named_volume_of_another_is_refused_by_who_pointed_there() {
    let world = world().with(volume("v").bound_to("other"));
    let by_user = claim("c").edit(|c| c.volume = "v".into());
    let (warning, reason, message) = said(step(&world, &by_user));
    assert_eq!(
        (warning, reason, &*message),
        (true, "FailedBinding", "volume \"v\" already bound to a different claim.")
    );
    let by_us = by_user.edit(|c| c.bound_by_controller = true);
    assert!(matches!(step(&world, &by_us), ClaimStep::Refused(_)));
}

#[test]
fn bound_claims_lose_volumes_that_are_gone_or_anothers() {
    let world = world().with(volume("mine").bound_to("c")).with(volume("free")).with(volume("theirs").bound_to("d"));
    let world = world.with(volume("by-name").reserved_for("c"));
    assert_eq!(step(&world, &bound("c", "mine")), ClaimStep::Bind("mine".into()));
    assert_eq!(step(&world, &bound("c", "free")), ClaimStep::Bind("free".into()));
    assert_eq!(said(step(&world, &bound("c", "theirs"))).1, "ClaimMisbound");
    assert_eq!(said(step(&world, &bound("c", "by-name"))).1, "ClaimMisbound", "an empty uid is not this claim's");
    assert_eq!(said(step(&world, &bound("c", "none"))).1, "ClaimLost");
    assert_eq!(said(step(&world, &bound("c", ""))).1, "ClaimLost");
}

#[test]
fn volumes_follow_their_claims() {
    let mine = || volume("v").bound_to("c");
    let of = |volume: Volume, claim: Option<&Claim>| Catalog::volume_step(&volume, claim);
    assert_eq!(of(volume("v"), None), VolumeStep::Available);
    assert_eq!(of(volume("v").reserved_for("c"), None), VolumeStep::Available);
    assert_eq!(of(mine(), None), VolumeStep::Release);
    assert_eq!(of(mine(), Some(&claim("c").edit(|c| c.uid = "another".into()))), VolumeStep::Release);
    assert_eq!(of(mine(), Some(&claim("c"))), VolumeStep::AskClaim);
    assert_eq!(of(mine(), Some(&bound("c", "v"))), VolumeStep::Bound);
    assert!(matches!(of(mine(), Some(&claim("c").edit(|c| c.mode = VolumeMode::Block))), VolumeStep::Mismatch { .. }));
    assert_eq!(of(mine().edit(|v| v.deleting = true), Some(&claim("c"))), VolumeStep::LetGo);
    assert_eq!(of(mine().edit(|v| v.deleting = true), Some(&bound("c", "v"))), VolumeStep::Bound);
    let elsewhere = bound("c", "w");
    assert_eq!(of(mine(), Some(&elsewhere)), VolumeStep::Unbind { wholly: false });
    assert_eq!(
        of(mine().edit(|v| v.bound_by_controller = true), Some(&elsewhere)),
        VolumeStep::Unbind { wholly: true }
    );
    let made = mine().edit(|v| v.provisioned_by = Some("x".into()));
    assert_eq!(of(made.clone(), Some(&elsewhere)), VolumeStep::Unbind { wholly: false }, "Retain is never surplus");
    assert_eq!(of(made.edit(|v| v.reclaim = ReclaimPolicy::Delete), Some(&elsewhere)), VolumeStep::Surplus);
}

#[test]
fn makers_and_deleters_are_found_by_name() {
    assert_eq!(maker("kubernetes.io/no-provisioner", false), Maker::Nobody);
    assert_eq!(maker("kubernetes.io/gce-pd", false), Maker::Elsewhere("pd.csi.storage.gke.io".into()));
    assert_eq!(maker("kubernetes.io/gce-pd", true), Maker::Here);
    assert_eq!(maker("my.driver", false), Maker::Elsewhere("my.driver".into()));
    assert_eq!(migrated_to("kubernetes.io/gce-pd", true), None);
    let made_by = |by: &str| volume("v").edit(|v| v.provisioned_by = Some(by.into()));
    assert_eq!(deleter(&made_by("mine"), true, false), Deleter::Here);
    assert_eq!(deleter(&made_by("theirs"), false, false), Deleter::Elsewhere);
    assert!(matches!(deleter(&made_by("kubernetes.io/gone"), false, false), Deleter::Nobody(_)));
    assert_eq!(deleter(&volume("v").csi("d"), false, false), Deleter::Elsewhere);
    assert!(matches!(deleter(&volume("v"), false, false), Deleter::Nobody(_)));
}

#[test]
fn only_volumes_made_on_demand_get_deletion_finalizers() {
    let wanted = |by, served, policy: ReclaimPolicy| {
        let finalizers = deletion_finalizers(by, served, &policy);
        (finalizers.in_tree, finalizers.external)
    };
    assert_eq!(wanted(None, false, ReclaimPolicy::Delete), (None, None));
    assert_eq!(wanted(Some("my.driver"), false, ReclaimPolicy::Delete), (None, None));
    assert_eq!(wanted(Some("kubernetes.io/x"), false, ReclaimPolicy::Delete), (Some(true), Some(false)));
    assert_eq!(wanted(Some("kubernetes.io/x"), false, ReclaimPolicy::Retain), (Some(false), Some(false)));
    assert_eq!(wanted(Some("kubernetes.io/gce-pd"), false, ReclaimPolicy::Delete), (Some(false), None));
}

#[test]
fn a_promise_hides_a_volume_from_the_next_claim() {
    let mut world = world().with(class("fast", "x").immediate()).with(volume("v").class("fast"));
    let (first, second) = (claim("a").class("fast"), claim("b").class("fast"));
    world.set(first.clone());
    world.set(second.clone());
    let promise = world.catalog.promise(&first.key, &"v".into()).unwrap();
    assert_eq!(step(&world, &first), ClaimStep::Bind("v".into()), "the claim itself still finds it");
    assert_eq!(step(&world, &second), ClaimStep::Provision("fast".into()));
    assert!(world.catalog.promise(&second.key, &"v".into()).is_err());
    world.catalog.withdraw(promise);
    assert_eq!(step(&world, &second), ClaimStep::Bind("v".into()));
}
