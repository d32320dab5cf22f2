//! A scheduler of one's own in a page: volumes decided, assumed and bound by the engine, I/O by a pretended API server.
//!
//! ```text
//! cargo run -p plimsoll-engine --example custom_scheduler
//! ```
//!
//! Two nodes have a local disk each. Two database pods ask for one; the second must not get the first one's disk,
//! although nothing has been written yet when it is decided.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example that prints what it does")]

use std::sync::Arc;

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::{Labels, Name, ObjectKey};
use plimsoll_engine::model::{
    AccessModes, BindingMode, Claim, ClaimPhase, ClaimRef, NO_PROVISIONER, Node, Pod, PodVolume, PodVolumeSource,
    StorageClass, Volume, VolumeMode, VolumePhase, VolumeSource,
};
use plimsoll_engine::placement::{Next, Placement, Write};
use plimsoll_engine::quantity::Quantity;
use plimsoll_engine::selector::{AllowedTopologies, NodeSelector, RawRequirement};
use plimsoll_engine::{Catalog, Event, Object};

const HOST: &str = "kubernetes.io/hostname";

fn main() {
    // 1. Tell the engine of the cluster: in real life, every watch event.
    let mut catalog = Catalog::new();
    for (name, gibibytes) in [("node-1", 100), ("node-2", 20)] {
        catalog.apply(Event::Set(Object::Node(node(name))));
        catalog.apply(Event::Set(Object::Volume(disk_on(name, gibibytes))));
    }
    catalog.apply(Event::Set(Object::Class(local_class())));
    for name in ["db-0", "db-1"] {
        catalog.apply(Event::Set(Object::Claim(claim(name, "10Gi"))));
        catalog.apply(Event::Set(Object::Pod(Box::new(pod(name)))));
    }

    // 2. Decide about the pods one after the other; assume each choice, so that the next pod sees it.
    let mut placements = Vec::new();
    for name in ["db-0", "db-1"] {
        let key = ObjectKey::new("default", name);
        let pod = Arc::clone(catalog.pod(&key).unwrap());
        match catalog.choose(&pod, Gates::default()) {
            Ok(Some(choice)) => {
                println!("{key}: {} of {} nodes fit, best is {}", choice.feasible, catalog.nodes().len(), choice.node);
                catalog.assume(&key, &choice.node, &choice.plan).unwrap();
                placements.push(Placement::begin(&catalog, &key, &choice.node, &choice.plan));
            }
            Ok(None) => println!("{key}: {}", catalog.decide(&pod, Gates::default()).summary(catalog.nodes().len())),
            Err(refusal) => println!("{key}: {} [{}]", refusal.reason, refusal.code),
        }
    }

    // 3. Carry the placements out. The engine says what to write and what to wait for.
    for placement in &mut placements {
        loop {
            match placement.next(&catalog) {
                Next::Write(write) => {
                    println!("  write {write:?}");
                    let version = pretend_to_write(&mut catalog, &write);
                    placement.written(version);
                }
                Next::Wait(wait) => {
                    println!("  wait for {:?}", wait.claims.iter().map(ToString::to_string).collect::<Vec<_>>());
                    pretend_to_bind(&mut catalog, &wait.claims);
                }
                Next::Done => break,
                Next::Failed(failure) => {
                    println!("  {failure}: the pod comes back later");
                    break;
                }
            }
        }
    }
}

/// What the API server would store, seen through the watch.
fn pretend_to_write(catalog: &mut Catalog, write: &Write) -> u64 {
    let Write::BindVolume { volume, version, claim, claim_uid, .. } = write else { return 0 };
    let mut stored = (**catalog.observed_volume(volume).unwrap()).clone();
    stored.version = version + 1;
    stored.claim_ref = Some(ClaimRef { claim: claim.clone(), uid: claim_uid.clone() });
    stored.phase = VolumePhase::Bound;
    catalog.apply(Event::Set(Object::Volume(stored)));
    version + 1
}

/// What the volume controller would do.
fn pretend_to_bind(catalog: &mut Catalog, claims: &[ObjectKey]) {
    for key in claims {
        let mut stored = (**catalog.observed_claim(key).unwrap()).clone();
        let names = ["node-1", "node-2"].map(|n| Name::from(format!("disk-on-{n}")));
        let of = |v: &Volume| v.claim_ref.as_ref().is_some_and(|r| r.claim == *key);
        stored.volume = names.into_iter().find(|n| catalog.observed_volume(n).is_some_and(|v| of(v))).unwrap();
        stored.bind_completed = true;
        stored.version += 1;
        catalog.apply(Event::Set(Object::Claim(stored)));
    }
}

fn node(name: &str) -> Node {
    let mut node =
        Node { name: name.into(), version: 1, labels: [(HOST, name)].into_iter().collect(), ..Node::default() };
    node.allocatable.pods = 110;
    node
}

fn disk_on(node: &str, gibibytes: i64) -> Volume {
    let affinity = NodeSelector::compile(&[(vec![RawRequirement::new(HOST, "In", &[node])], vec![])]);
    Volume {
        name: format!("disk-on-{node}").into(),
        version: 1,
        labels: Labels::default(),
        class: "local".into(),
        class_field: "local".into(),
        capacity: Quantity::from_bytes(gibibytes << 30),
        access_modes: AccessModes::READ_WRITE_ONCE,
        mode: VolumeMode::Filesystem,
        attributes_class: Name::default(),
        affinity: Some(Arc::new(affinity)),
        claim_ref: None,
        phase: VolumePhase::Available,
        deleting: false,
        bound_by_controller: false,
        reclaim: plimsoll_engine::model::ReclaimPolicy::default(),
        provisioned_by: None,
        source: VolumeSource::Other,
    }
}

fn local_class() -> StorageClass {
    StorageClass {
        name: "local".into(),
        version: 1,
        provisioner: NO_PROVISIONER.into(),
        binding_mode: Some(BindingMode::WaitForFirstConsumer),
        default_since: None,
        allowed_topologies: AllowedTopologies::default(),
    }
}

fn claim(name: &str, size: &str) -> Claim {
    Claim {
        key: ObjectKey::new("default", name),
        uid: format!("uid-of-{name}").into(),
        version: 1,
        class: "local".into(),
        class_field: "local".into(),
        request: Quantity::parse(size).ok(),
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

fn pod(name: &str) -> Pod {
    let volume = PodVolume { name: "data".into(), source: PodVolumeSource::Claim { name: name.into() } };
    Pod { uid: format!("uid-of-{name}").into(), version: 1, volumes: vec![volume], ..Pod::named("default", name) }
}
