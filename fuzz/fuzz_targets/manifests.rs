//! Any text is either a cluster or a list of errors, and any pod of any cluster gets an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_api::{Cluster, Source};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::{Catalog, Event, Object};

/// More pods than this say nothing new and only make a round slow: a workload may ask for a hundred thousand.
const PODS: usize = 12;
/// Explaining decides again for every remedy that it tries.
const EXPLAINED: usize = 3;
/// More objects than this are left out, for the same reason.
const OBJECTS: usize = 400;

fuzz_target!(|text: &str| {
    let source = Source { name: "fuzz", text };
    let objects = match Cluster::read(&[source]) {
        Ok(loaded) => {
            loaded.notes.iter().for_each(|note| drop(note.to_string()));
            loaded.objects
        }
        Err(errors) => {
            errors.iter().for_each(|error| drop(error.to_string()));
            return;
        }
    };
    let objects: Vec<Object> = objects.into_iter().take(OBJECTS).collect();
    let gone: Vec<Event> =
        objects.iter().map(|o| Event::Gone { kind: o.kind(), key: o.key(), version: o.version() }).collect();

    let mut catalog = Catalog::new();
    for object in &objects {
        catalog.apply(Event::Set(object.clone()));
    }
    decide_all(&mut catalog);
    explain_some(&mut catalog, EXPLAINED);
    // Repeats, and then everything again in the other order: what stands in the catalog is replaced.
    for object in objects.into_iter().rev() {
        catalog.apply(Event::Set(object));
    }
    decide_all(&mut catalog);
    // One by one everything goes, with pods still being asked for.
    for (i, event) in gone.into_iter().enumerate() {
        catalog.apply(event);
        if i % 16 == 0 {
            decide_some(&mut catalog, 1);
        }
    }
    assert_eq!(catalog.pods().count(), 0, "a pod is left in an empty cluster");
    assert_eq!(catalog.nodes().iter_by_name().count(), 0, "a node is left in an empty cluster");
});

/// Explains the first `count` pods: what is said beside a decision must be as sure as the decision.
fn explain_some(catalog: &mut Catalog, count: usize) {
    let keys: Vec<ObjectKey> = catalog.pods().take(count).map(|pod| pod.key.clone()).collect();
    for key in keys {
        for gates in [Gates::all(), Gates::AS_UPSTREAM] {
            drop(catalog.explain(&key, gates));
        }
    }
}

fn decide_all(catalog: &mut Catalog) {
    decide_some(catalog, PODS);
}

/// Decides about the first `count` pods, with every gate and without any, and assumes what was chosen.
fn decide_some(catalog: &mut Catalog, count: usize) {
    let nodes = catalog.nodes().iter_by_name().count();
    let keys: Vec<ObjectKey> = catalog.pods().take(count).map(|pod| pod.key.clone()).collect();
    let mut assumed = Vec::new();
    for key in keys {
        let Some(pod) = catalog.set_aside(&key) else { continue };
        for gates in [Gates::all(), Gates::AS_UPSTREAM] {
            let decision = catalog.decide(&pod, gates);
            drop(decision.summary(nodes));
            let choice = catalog.choose(&pod, gates);
            let chosen = choice.as_ref().ok().and_then(Option::as_ref).map(|choice| &choice.node);
            assert_eq!(decision.chosen.as_ref(), chosen, "deciding and choosing differ");
        }
        let choice = catalog.choose(&pod, Gates::all());
        catalog.put_back(&key);
        if let Ok(Some(choice)) = choice
            && pod.node.is_none()
            && catalog.assume(&key, &choice.node, &choice.plan).is_ok()
        {
            assumed.push((key, pod.uid.clone(), choice.plan));
        }
    }
    catalog.settle(u64::MAX);
    for (key, uid, plan) in assumed {
        catalog.forget(&key, &uid, &plan);
    }
}
