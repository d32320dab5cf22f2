//! What is assumed is seen by the next pod, and forgetting it leaves no trace.

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Pod;
use plimsoll_engine::volumes::{Outcome, VolumePlan};
use plimsoll_engine::{Catalog, Event, Object};
use proptest::prelude::*;

use crate::common::set_version;
use crate::dice::{Dice, dice};
use crate::events::answers;
use crate::generate::{cluster, judged};

struct Scene {
    objects: Vec<Object>,
    pods: Vec<Pod>,
    gates: Gates,
    catalog: Catalog,
}

/// A cluster whose objects all have version 1, the judged pods known to it.
fn scene(dice: &mut Dice) -> Scene {
    let gates = dice.pick(&[Gates::all(), Gates::AS_UPSTREAM]);
    let pods = judged(dice);
    let mut objects = cluster(dice);
    objects.extend(pods.iter().map(|p| Object::Pod(Box::new(p.clone()))));
    let mut catalog = Catalog::new();
    for object in &mut objects {
        set_version(object, 1);
        catalog.apply(Event::Set(object.clone()));
    }
    Scene { objects, pods, gates, catalog }
}

/// Assumes a pod where it would be placed now. Forecast claims cannot be assumed: they are not there yet.
fn place(scene: &mut Scene, pod: &Pod) -> Option<(Name, VolumePlan)> {
    let choice = scene.catalog.choose(pod, scene.gates).ok()??;
    if choice.plan.claims.iter().any(|c| c.forecast) {
        return None;
    }
    scene.catalog.assume(&pod.key, &choice.node, &choice.plan).expect("a plan that was just made can be assumed");
    Some((choice.node, choice.plan))
}

proptest! {
    #![proptest_config(crate::cases(384))]

    #[test]
    fn forgetting_restores_every_answer_in_any_order(mut dice in dice(900)) {
        let mut scene = scene(&mut dice);
        let pods = scene.pods.clone();
        let mut placed = Vec::new();
        let mut before = vec![answers(&scene.catalog, &pods)];
        for pod in &pods {
            if let Some((_, plan)) = place(&mut scene, pod) {
                placed.push((pod.clone(), plan));
                before.push(answers(&scene.catalog, &pods));
            }
        }
        if dice.one_in(2) {
            // Last in, first out: each answer on the way comes back.
            while let Some((pod, plan)) = placed.pop() {
                prop_assert_eq!(answers(&scene.catalog, &pods), before.pop().expect("one more than placed"));
                scene.catalog.forget(&pod.key, &pod.uid, &plan);
            }
        } else {
            for (pod, plan) in &placed {
                scene.catalog.forget(&pod.key, &pod.uid, plan);
            }
        }
        prop_assert_eq!(answers(&scene.catalog, &pods), before.swap_remove(0));
    }

    #[test]
    fn a_failed_assumption_leaves_no_trace(mut dice in dice(900)) {
        let mut scene = scene(&mut dice);
        let pods = scene.pods.clone();
        let before = answers(&scene.catalog, &pods);
        for pod in &pods {
            if let Ok(Some(mut choice)) = scene.catalog.choose(pod, scene.gates)
                && let Some(last) = choice.plan.claims.iter_mut().rev().find(|c| c.outcome != Outcome::Bound)
            {
                last.version += 7;
                last.volume_version += 7;
                prop_assert!(scene.catalog.assume(&pod.key, &choice.node, &choice.plan).is_err());
                prop_assert_eq!(&answers(&scene.catalog, &pods), &before);
            }
        }
    }

    #[test]
    fn assumed_volumes_are_not_offered_to_others(mut dice in dice(900)) {
        let mut scene = scene(&mut dice);
        let pods = scene.pods.clone();
        let mut taken: Vec<(Name, plimsoll_engine::labels::ObjectKey)> = Vec::new();
        for pod in &pods {
            let Some((_, plan)) = place(&mut scene, pod) else { continue };
            for claim in plan.claims.iter().filter(|c| c.outcome == Outcome::Static) {
                taken.push((claim.volume.clone().expect("a static plan names its volume"), claim.claim.clone()));
            }
            for decision in answers(&scene.catalog, &pods) {
                for claim in decision.nodes.iter().flat_map(|n| &n.plan.claims) {
                    let stolen = taken.iter().any(|(volume, owner)| {
                        claim.outcome == Outcome::Static && claim.volume.as_ref() == Some(volume) && claim.claim != *owner
                    });
                    prop_assert!(!stolen, "{:?} of {:?}", claim, taken);
                }
            }
        }
    }

    #[test]
    fn newer_events_win_over_assumptions_and_repeats_do_not(mut dice in dice(900)) {
        let mut scene = scene(&mut dice);
        let pods = scene.pods.clone();
        let Some((node, plan)) = place(&mut scene, &pods[0]) else { return Ok(()) };
        let assumed = answers(&scene.catalog, &pods);
        for object in &scene.objects {
            prop_assert!(!scene.catalog.apply(Event::Set(object.clone())), "a repeat of {:?}", object.key());
        }
        prop_assert_eq!(answers(&scene.catalog, &pods), assumed);
        // A newer look at one object that was assumed says what the old one said: the assumption is gone.
        let at = dice.roll(plan.claims.len().max(1));
        let Some(claim) = plan.claims.get(at).cloned() else { return Ok(()) };
        let twice = plan.claims.iter().filter(|c| c.claim == claim.claim).count() > 1;
        let newer = scene.objects.iter().find(|o| match (claim.outcome, o) {
            (Outcome::Static, Object::Volume(v)) => Some(&v.name) == claim.volume.as_ref(),
            (Outcome::Provision, Object::Claim(c)) => c.key == claim.claim,
            _ => false,
        });
        let Some(mut newer) = newer.filter(|_| !twice).cloned() else { return Ok(()) };
        set_version(&mut newer, 2);
        let mut fresh = Catalog::new();
        for object in &scene.objects {
            fresh.apply(Event::Set(object.clone()));
        }
        fresh.apply(Event::Set(newer.clone()));
        let rest = VolumePlan { claims: plan.claims.iter().filter(|c| c.claim != claim.claim).cloned().collect() };
        prop_assert!(fresh.assume(&pods[0].key, &node, &rest).is_ok());
        scene.catalog.apply(Event::Set(newer));
        prop_assert_eq!(answers(&scene.catalog, &pods), answers(&fresh, &pods));
        // Forgetting the whole plan later does not undo the event.
        scene.catalog.forget(&pods[0].key, &pods[0].uid, &plan);
        fresh.forget(&pods[0].key, &pods[0].uid, &rest);
        prop_assert_eq!(answers(&scene.catalog, &pods), answers(&fresh, &pods));
    }

    #[test]
    fn a_pod_that_is_set_aside_and_put_back_leaves_no_trace(mut dice in dice(900)) {
        let mut scene = scene(&mut dice);
        let pods = scene.pods.clone();
        place(&mut scene, &pods[0]);
        let before = answers(&scene.catalog, &pods);
        let keys: Vec<_> = scene.catalog.pods().map(|p| p.key.clone()).collect();
        for key in keys {
            scene.catalog.set_aside(&key);
            answers(&scene.catalog, &pods);
            scene.catalog.put_back(&key);
        }
        prop_assert_eq!(answers(&scene.catalog, &pods), before);
    }
}
