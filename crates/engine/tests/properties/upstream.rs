//! As upstream, the indexed answers are those of the plain reference.

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::reason::{Plugin, Refusal, Status};
use plimsoll_engine::volumes::Outcome;
use plimsoll_engine::{Catalog, Event, NodeDecision};
use proptest::prelude::*;

use crate::dice::dice;
use crate::generate::{cluster, judged};
use crate::reference::{Cluster, No, Planned};

/// A refusal as far as the reference tells it.
fn told(refusal: &Refusal) -> No {
    let missing = "CSI driver is not installed on the node";
    let reason = match refusal.status {
        Status::Error => "error",
        _ if refusal.reason.ends_with(missing) => missing,
        _ => &refusal.reason,
    };
    (refusal.plugin, reason.to_owned())
}

fn planned(node: &NodeDecision) -> Vec<(ObjectKey, Planned)> {
    let plans = node.plan.claims.iter().filter_map(|c| match c.outcome {
        Outcome::Static => Some((c.claim.clone(), Planned::Volume(c.volume.clone()?))),
        Outcome::Provision => Some((c.claim.clone(), Planned::New(c.pool.clone()))),
        Outcome::Bound | Outcome::Unsatisfied => None,
    });
    let mut plans: Vec<_> = plans.collect();
    plans.sort_by_key(|(key, planned)| (key.clone(), format!("{planned:?}")));
    plans
}

proptest! {
    #![proptest_config(crate::cases(512))]

    #[test]
    fn verdicts_plans_and_scores_are_those_of_the_reference(mut dice in dice(900)) {
        let pods = judged(&mut dice);
        let objects = cluster(&mut dice);
        let reference = Cluster::of(&objects);
        let mut catalog = Catalog::new();
        for object in objects {
            catalog.apply(Event::Set(object));
        }
        for pod in pods {
            let decision = catalog.decide(&pod, Gates::AS_UPSTREAM);
            prop_assert_eq!(decision.rejection.as_ref().map(told), reference.pod_refusal(&pod));
            for node in &decision.nodes {
                let plain = &reference.nodes[&node.node];
                let mut nos: Vec<No> = node.refusals.iter().map(told).collect();
                let mut expected = reference.refusals(&pod, plain);
                nos.sort();
                expected.sort();
                prop_assert_eq!(nos, expected, "on {} of {:?}", node.node, pod.volumes);
                let binding = reference.binding(&pod, plain);
                if binding.reasons.is_empty() {
                    let mut expected = binding.plan.clone();
                    expected.sort_by_key(|(key, planned)| (key.clone(), format!("{planned:?}")));
                    prop_assert_eq!(planned(node), expected, "on {}", node.node);
                }
                if let Some(scores) = &node.scores {
                    let score = scores.iter().find(|(p, _)| *p == Plugin::VolumeBinding).map_or(0, |(_, s)| *s);
                    prop_assert_eq!(score, reference.score(&binding.plan), "on {}", node.node);
                }
            }
        }
    }
}
