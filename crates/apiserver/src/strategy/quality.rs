//! A pod's quality of service: what it is promised follows from what it asks for.

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use crate::value::{fields, get, list, text};

const BEST_EFFORT: &str = "BestEffort";
const BURSTABLE: &str = "Burstable";
const GUARANTEED: &str = "Guaranteed";

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub fn quality_of_service(pod: &Value) -> &'static str {
    if let Some(resources) = get(pod, &["spec", "resources"])
        && ["requests", "limits"].iter().any(|kind| {
            fields(resources, &[kind]).is_some_and(|amounts| amounts.keys().any(|name| super::resources::of_pods(name)))
        })
    {
        return of(resources);
    }
    let containers = list(pod, &["spec", "initContainers"]).iter().chain(list(pod, &["spec", "containers"]));
    combined(containers.map(|container| container.get("resources").map_or(BEST_EFFORT, of)))
}

/// All the same, or burstable.
fn combined(mut classes: impl Iterator<Item = &'static str>) -> &'static str {
    let Some(first) = classes.next() else { return BEST_EFFORT };
    if classes.all(|class| class == first) { first } else { BURSTABLE }
}

fn of(resources: &Value) -> &'static str {
    combined(["cpu", "memory"].into_iter().map(|name| {
        let amount = |kind| Quantity::parse(text(resources, &[kind, name])).unwrap_or(Quantity::ZERO);
        let (request, limit) = (amount("requests"), amount("limits"));
        if request != limit {
            BURSTABLE
        } else if request.is_zero() {
            BEST_EFFORT
        } else {
            GUARANTEED
        }
    }))
}
