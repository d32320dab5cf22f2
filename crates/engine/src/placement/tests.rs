//! The statements of scheduler-volume-binding.md about writing and waiting (3.8), one test each.

use std::sync::Arc;

use super::{Failure, Next, Placement, Write};
use crate::catalog::{Catalog, Event};
use crate::gates::Gates;
use crate::labels::{Labels, Name, ObjectKey};
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimPhase, ClaimRef, Node, Pod, PodVolume, PodVolumeSource, StorageClass,
    Version, Volume, VolumeMode, VolumePhase, VolumeSource,
};
use crate::object::{Kind, Object};
use crate::quantity::Quantity;
use crate::selector::{AllowedTopologies, NodeSelector, RawRequirement};
use crate::volumes::{AssumeError, VolumePlan};

const HOST: &str = "kubernetes.io/hostname";

fn node(name: &str, version: Version) -> Node {
    let labels: Labels = [(HOST, name)].into_iter().collect();
    let mut node = Node { name: name.into(), version, labels, ..Node::default() };
    node.allocatable.pods = 10;
    node
}

fn class(name: &str, provisioner: &str) -> StorageClass {
    StorageClass {
        name: name.into(),
        version: 1,
        provisioner: provisioner.into(),
        binding_mode: Some(BindingMode::WaitForFirstConsumer),
        default_since: None,
        allowed_topologies: AllowedTopologies::default(),
    }
}

fn claim(name: &str, class: &str, version: Version) -> Claim {
    Claim {
        key: ObjectKey::new("default", name),
        uid: format!("uid-{name}").into(),
        version,
        class: class.into(),
        class_field: class.into(),
        request: Some(Quantity::from_bytes(10)),
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::Filesystem,
        attributes_class: Name::default(),
        selector: None,
        volume: Name::default(),
        bind_completed: false,
        has_annotations: false,
        bound_by_controller: false,
        has_class: true,
        selected_node: None,
        phase: ClaimPhase::Pending,
        deleting: false,
        controller_uid: None,
    }
}

fn on(host: &str) -> Option<Arc<NodeSelector>> {
    Some(Arc::new(NodeSelector::compile(&[(vec![RawRequirement::new(HOST, "In", &[host])], vec![])])))
}

fn volume(name: &str, class: &str, host: &str, version: Version) -> Volume {
    Volume {
        name: name.into(),
        version,
        labels: Labels::default(),
        class: class.into(),
        class_field: class.into(),
        capacity: Quantity::from_bytes(10),
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::Filesystem,
        attributes_class: Name::default(),
        affinity: on(host),
        claim_ref: None,
        phase: VolumePhase::Available,
        deleting: false,
        bound_by_controller: false,
        reclaim: crate::model::ReclaimPolicy::default(),
        provisioned_by: None,
        source: VolumeSource::Other,
    }
}

fn pod(name: &str, claims: &[&str]) -> Pod {
    let volumes =
        claims.iter().map(|c| PodVolume { name: (*c).into(), source: PodVolumeSource::Claim { name: (*c).into() } });
    Pod { uid: format!("uid-{name}").into(), volumes: volumes.collect(), ..Pod::named("default", name) }
}

/// A cluster of two nodes, a class `local` of volumes made by hand and a class `made` of volumes made on demand; pod `p`
/// with one claim of each, planned and assumed on node `a`, where the only local volume is.
struct Lab {
    catalog: Catalog,
    pod: ObjectKey,
    plan: VolumePlan,
    version: Version,
}

impl Lab {
    fn new() -> Self {
        let mut catalog = Catalog::new();
        for object in [
            Object::Node(node("a", 1)),
            Object::Node(node("b", 1)),
            Object::Class(class("local", "kubernetes.io/no-provisioner")),
            Object::Class(class("made", "csi.example.com")),
            Object::Volume(volume("pv", "local", "a", 5)),
            Object::Claim(claim("disk", "local", 5)),
            Object::Claim(claim("data", "made", 5)),
            Object::Pod(Box::new(pod("p", &["disk", "data"]))),
        ] {
            assert!(catalog.apply(Event::Set(object)));
        }
        let key = ObjectKey::new("default", "p");
        let plan = {
            let pod = catalog.pod(&key).unwrap().clone();
            let choice = catalog.choose(&pod, Gates::AS_UPSTREAM).unwrap().unwrap();
            assert_eq!(&*choice.node, "a");
            choice.plan
        };
        Self { catalog, pod: key, plan, version: 100 }
    }

    fn begin(&mut self) -> Placement {
        let node: Name = "a".into();
        self.catalog.assume(&self.pod, &node, &self.plan).unwrap();
        Placement::begin(&self.catalog, &self.pod, &node, &self.plan)
    }

    /// Makes every volume write, and shows the results to the catalog, as the API server and the watch would.
    fn write_all(&mut self, placement: &mut Placement) {
        while let Next::Write(write) = placement.next(&self.catalog) {
            self.version += 1;
            let version = self.version;
            match &write {
                Write::BindVolume { volume, claim, claim_uid, mark, .. } => {
                    let reference = ClaimRef { claim: claim.clone(), uid: claim_uid.clone() };
                    self.volume(volume, |v| {
                        v.claim_ref = Some(reference);
                        v.bound_by_controller |= *mark;
                    });
                }
                Write::SelectNode { claim, node, .. } => self.claim(&claim.name, |c| {
                    c.selected_node = Some(node.clone());
                    c.has_annotations = true;
                }),
                Write::BindPod { .. } => return,
            }
            placement.written(version);
        }
    }

    fn volume(&mut self, name: &str, change: impl FnOnce(&mut Volume)) {
        let mut volume = (**self.catalog.observed_volume(name).unwrap()).clone();
        change(&mut volume);
        volume.version = self.version;
        assert!(self.catalog.apply(Event::Set(Object::Volume(volume))));
    }

    fn claim(&mut self, name: &str, change: impl FnOnce(&mut Claim)) {
        let key = ObjectKey::new("default", name);
        let mut claim = (**self.catalog.observed_claim(&key).unwrap()).clone();
        change(&mut claim);
        claim.version = self.version;
        assert!(self.catalog.apply(Event::Set(Object::Claim(claim))));
    }

    fn bind(&mut self, claim: &str, volume: &str) {
        self.version += 1;
        self.claim(claim, |c| {
            c.volume = volume.into();
            c.bind_completed = true;
            c.phase = ClaimPhase::Bound;
        });
    }

    fn gone(&mut self, kind: Kind, key: &ObjectKey) {
        assert!(self.catalog.apply(Event::Gone { kind, key: key.clone(), version: 0 }));
    }
}

fn failed(next: Next) -> Failure {
    match next {
        Next::Failed(failure) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

#[test]
fn sb_29_assuming_a_plan_made_from_an_older_version_fails_and_undoes_itself() {
    let mut lab = Lab::new();
    lab.version = 6;
    lab.claim("data", |c| c.has_annotations = true);
    let error = lab.catalog.assume(&lab.pod, &"a".into(), &lab.plan).unwrap_err();
    assert_eq!(error, AssumeError::OutOfSync { key: "default/data".into(), stored: 6, planned: 5 });
    assert_eq!(error.to_string(), "\"default/data\" is out of sync (stored: 6, assume: 5)");
    let again = lab.catalog.decide(&pod("q", &["disk"]), Gates::AS_UPSTREAM);
    assert_eq!(again.chosen.as_deref(), Some("a"), "the volume assumed before the failure is free again");
}

#[test]
fn sb_32_volumes_get_the_whole_claim_ref_and_claims_only_the_selected_node() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    let first = placement.next(&lab.catalog);
    assert_eq!(
        first,
        Next::Write(Write::BindVolume {
            volume: "pv".into(),
            version: 5,
            claim: ObjectKey::new("default", "disk"),
            claim_uid: "uid-disk".into(),
            claim_version: 5,
            mark: true,
        })
    );
    assert_eq!(placement.next(&lab.catalog), first, "asking does not write");
    placement.written(101);
    assert_eq!(
        placement.next(&lab.catalog),
        Next::Write(Write::SelectNode { claim: ObjectKey::new("default", "data"), version: 5, node: "a".into() })
    );
}

#[test]
fn pm_30_a_volume_reserved_by_name_gets_the_uid_but_not_the_mark() {
    let mut lab = Lab::new();
    lab.version = 6;
    let reference = ClaimRef { claim: ObjectKey::new("default", "disk"), uid: Name::default() };
    lab.volume("pv", |v| v.claim_ref = Some(reference));
    let judged = lab.catalog.pod(&lab.pod).unwrap().clone();
    lab.plan = lab.catalog.choose(&judged, Gates::AS_UPSTREAM).unwrap().unwrap().plan;
    let mut placement = lab.begin();
    let Next::Write(Write::BindVolume { claim_uid, mark, .. }) = placement.next(&lab.catalog) else { panic!() };
    assert_eq!((&*claim_uid, mark), ("uid-disk", false));
}

#[test]
fn sb_33_a_refused_volume_write_ends_it_before_any_claim_is_written() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    assert!(matches!(placement.next(&lab.catalog), Next::Write(Write::BindVolume { .. })));
    placement.refused("Operation cannot be fulfilled on persistentvolumes \"pv\"");
    let failure = failed(placement.next(&lab.catalog));
    assert_eq!(failure.to_string(), "Operation cannot be fulfilled on persistentvolumes \"pv\"");
    placement.written(7);
    assert_eq!(failed(placement.next(&lab.catalog)), failure, "a late answer does not revive it");
}

#[test]
fn the_whole_way_ends_with_the_pod_bound() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    let Next::Wait(wait) = placement.next(&lab.catalog) else { panic!() };
    assert_eq!(wait.claims.len(), 2);
    lab.bind("disk", "pv");
    lab.catalog.apply(Event::Set(Object::Volume(volume("pv-made", "made", "a", 1))));
    lab.bind("data", "pv-made");
    let bind = Write::BindPod { pod: lab.pod.clone(), uid: "uid-p".into(), node: "a".into() };
    assert_eq!(placement.next(&lab.catalog), Next::Write(bind));
    placement.written(0);
    assert_eq!(placement.next(&lab.catalog), Next::Done);
}

#[test]
fn sb_34_a_provisioner_that_clears_the_node_fails_it_and_any_node_is_possible_next() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.version += 1;
    lab.claim("data", |c| c.selected_node = None);
    let failure = failed(placement.next(&lab.catalog));
    assert_eq!(failure.to_string(), "binding volumes: provisioning failed for PVC \"data\"");
    lab.catalog.forget(&lab.pod, "uid-p", &lab.plan);
    let next = lab.catalog.decide(&pod("p2", &["data"]), Gates::AS_UPSTREAM);
    assert!(next.nodes.iter().all(|n| n.is_feasible()));
}

#[test]
fn sb_35_a_claim_without_any_annotation_was_reset() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.version += 1;
    lab.claim("data", |c| {
        c.selected_node = None;
        c.has_annotations = false;
    });
    let failure = failed(placement.next(&lab.catalog));
    assert_eq!(failure.to_string(), "binding volumes: selectedNode annotation reset for PVC \"data\"");
}

#[test]
fn sb_36_a_bound_claim_whose_volume_is_not_seen_yet_is_waited_for() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.bind("disk", "pv");
    lab.bind("data", "pv-made");
    let Next::Wait(wait) = placement.next(&lab.catalog) else { panic!() };
    assert_eq!(wait.volumes, vec![Name::from("pv-made")]);
}

#[test]
fn sb_37_a_volume_made_where_the_node_cannot_reach_it_fails() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.catalog.apply(Event::Set(Object::Volume(volume("pv-made", "made", "b", 1))));
    lab.bind("data", "pv-made");
    let failure = failed(placement.next(&lab.catalog)).to_string();
    assert!(failure.starts_with("binding volumes: pv \"pv-made\" node affinity doesn't match node \"a\""), "{failure}");
}

#[test]
fn sb_38_a_pod_that_went_ends_the_wait() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.gone(Kind::Pod, &lab.pod.clone());
    let failure = failed(placement.next(&lab.catalog)).to_string();
    assert!(failure.contains("pod does not exist any more"), "{failure}");
}

#[test]
fn a_pod_made_anew_under_the_same_name_is_another() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    let mut other = pod("p", &["disk", "data"]);
    other.uid = "another".into();
    lab.catalog.apply(Event::Set(Object::Pod(Box::new(other))));
    assert_eq!(failed(placement.next(&lab.catalog)), Failure::PodGone("p".into()));
}

#[test]
fn sb_39_a_node_that_went_ends_the_wait() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.gone(Kind::Node, &ObjectKey::new("", "a"));
    let failure = failed(placement.next(&lab.catalog)).to_string();
    assert!(failure.contains("failed to get node \"a\""), "{failure}");
}

#[test]
fn sb_40_time_can_run_out_right_after_the_writes() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    placement.timed_out();
    assert_eq!(failed(placement.next(&lab.catalog)).to_string(), "binding volumes: context deadline exceeded");
}

#[test]
fn sb_41_after_a_timeout_only_the_same_node_is_possible() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    placement.timed_out();
    lab.catalog.forget(&lab.pod, "uid-p", &lab.plan);
    let next = lab.catalog.decide(&pod("p2", &["data"]), Gates::AS_UPSTREAM);
    let feasible: Vec<&str> = next.nodes.iter().filter(|n| n.is_feasible()).map(|n| &*n.node).collect();
    assert_eq!(feasible, ["a"]);
}

/// SB-42 says that upstream notices a failed provisioning only after all static bindings are complete. Ours does not
/// wait for that: the pod comes back at once.
#[test]
fn sb_42_a_failed_provisioning_is_noticed_while_a_static_binding_is_incomplete() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    lab.version += 1;
    lab.claim("data", |c| c.selected_node = None);
    assert!(!lab.catalog.observed_claim(&ObjectKey::new("default", "disk")).unwrap().is_fully_bound());
    assert_eq!(failed(placement.next(&lab.catalog)), Failure::ProvisioningFailed("data".into()));
}

#[test]
fn a_claim_ref_that_was_cleared_or_given_to_another_fails() {
    for other in [None, Some(ClaimRef { claim: ObjectKey::new("default", "thief"), uid: "u".into() })] {
        let mut lab = Lab::new();
        let mut placement = lab.begin();
        lab.write_all(&mut placement);
        lab.version += 1;
        lab.volume("pv", |v| v.claim_ref = other);
        assert_eq!(failed(placement.next(&lab.catalog)), Failure::ClaimRefReset("pv".into()));
    }
}

#[test]
fn sb_45_claims_that_became_bound_meanwhile_need_no_write() {
    let mut lab = Lab::new();
    lab.version = 6;
    lab.catalog.apply(Event::Set(Object::Volume(volume("pv-made", "made", "a", 1))));
    lab.bind("disk", "pv");
    lab.bind("data", "pv-made");
    let judged = lab.catalog.pod(&lab.pod).unwrap().clone();
    let choice = lab.catalog.choose(&judged, Gates::AS_UPSTREAM).unwrap().unwrap();
    assert!(choice.plan.is_bound());
    lab.plan = choice.plan;
    let mut placement = lab.begin();
    assert!(matches!(placement.next(&lab.catalog), Next::Write(Write::BindPod { .. })));
}

#[test]
fn sb_50_a_cancelled_placement_says_why_and_leaves_what_was_written() {
    let mut lab = Lab::new();
    let mut placement = lab.begin();
    lab.write_all(&mut placement);
    placement.cancel("preempted by DefaultPreemption");
    assert_eq!(failed(placement.next(&lab.catalog)).to_string(), "preempted by DefaultPreemption");
    lab.catalog.forget(&lab.pod, "uid-p", &lab.plan);
    let data = lab.catalog.observed_claim(&ObjectKey::new("default", "data")).unwrap();
    assert_eq!(data.selected_node.as_deref(), Some("a"));
}
