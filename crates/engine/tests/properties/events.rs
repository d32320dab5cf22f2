//! Whatever the order in which events come, and however often, the answers are those of the newest objects.

use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::{Pod, Version};
use plimsoll_engine::{Catalog, Decision, Event, Kind, Object};
use proptest::prelude::*;

use crate::common::set_version;
use crate::dice::{Dice, dice};
use crate::generate::{Focus, focus, inventory, judged, object};

/// What happened to one object, oldest first.
type History = Vec<(Version, Option<Object>)>;

fn history(focus: Focus, kind: Kind, key: &ObjectKey, dice: &mut Dice) -> History {
    let mut versions = Vec::new();
    let moves = matches!(kind, Kind::Node | Kind::PersistentVolume);
    let longest = if focus == Focus::Volumes && moves { 10 } else { 3 };
    for step in 1..=1 + dice.roll(longest) {
        let version = step as Version * 10;
        let mut made = if dice.one_in(6) { None } else { object(focus, kind, key, dice) };
        if let Some(made) = &mut made {
            set_version(made, version);
        }
        versions.push((version, made));
    }
    versions
}

fn event(kind: Kind, key: &ObjectKey, (version, object): &(Version, Option<Object>)) -> Event {
    match object {
        Some(object) => Event::Set(object.clone()),
        None => Event::Gone { kind, key: key.clone(), version: *version },
    }
}

/// The events in any order; `in_order` leaves those of one object in theirs, so that each of them counts.
fn mixed(events: Vec<(usize, Event)>, in_order: bool, dice: &mut Dice) -> Vec<Event> {
    let mut mixed = events.clone();
    dice.shuffle(&mut mixed);
    if in_order {
        let mut rest = events;
        for (at, event) in &mut mixed {
            let first = rest.iter().position(|(other, _)| other == at).expect("as many as there were");
            *event = rest.remove(first).1;
        }
    }
    mixed.into_iter().map(|(_, event)| event).collect()
}

pub fn answers(catalog: &Catalog, pods: &[Pod]) -> Vec<Decision> {
    let gates = [Gates::AS_UPSTREAM, Gates::all()];
    pods.iter().flat_map(|pod| gates.map(|gates| catalog.decide(pod, gates))).collect()
}

proptest! {
    #![proptest_config(crate::cases(384))]

    #[test]
    fn any_order_of_events_gives_the_answers_of_the_final_objects(mut dice in dice(3000)) {
        let pods = judged(&mut dice);
        let focus = focus(&mut dice);
        let mut events: Vec<(usize, Event)> = Vec::new();
        let mut rebuilt = Catalog::new();
        for (at, (kind, key)) in inventory().into_iter().enumerate() {
            let history = history(focus, kind, &key, &mut dice);
            if let Some((_, Some(last))) = history.last() {
                rebuilt.apply(Event::Set(last.clone()));
            }
            for step in &history {
                events.push((at, event(kind, &key, step)));
                if dice.one_in(5) {
                    events.push((at, event(kind, &key, step)));
                }
            }
        }
        let in_order = !dice.one_in(3);
        let events = mixed(events, in_order, &mut dice);
        let mut catalog = Catalog::new();
        for event in events {
            catalog.apply(event);
            // What is asked on the way is remembered: later events must correct it.
            if dice.one_in(4) {
                answers(&catalog, &pods);
            }
        }
        prop_assert_eq!(answers(&catalog, &pods), answers(&rebuilt, &pods));
    }

    #[test]
    fn a_choice_is_what_a_full_decision_chooses(mut dice in dice(900)) {
        let pods = judged(&mut dice);
        let objects = crate::generate::cluster(&mut dice);
        let mut catalog = Catalog::new();
        for object in objects {
            catalog.apply(Event::Set(object));
        }
        for pod in pods {
            for gates in [Gates::AS_UPSTREAM, Gates::all()] {
                let decision = catalog.decide(&pod, gates);
                match catalog.choose(&pod, gates) {
                    Err(refusal) => prop_assert_eq!(Some(refusal), decision.rejection),
                    Ok(choice) => {
                        prop_assert_eq!(decision.rejection, None);
                        let feasible = decision.nodes.iter().filter(|n| n.is_feasible()).count();
                        prop_assert_eq!(choice.as_ref().map_or(0, |c| c.feasible), feasible);
                        let chosen = decision.nodes.iter().find(|n| Some(&n.node) == decision.chosen.as_ref());
                        let chosen = chosen.map(|n| (n.node.clone(), n.plan.clone()));
                        prop_assert_eq!(choice.map(|c| (c.node, c.plan)), chosen);
                    }
                }
            }
        }
    }
}
