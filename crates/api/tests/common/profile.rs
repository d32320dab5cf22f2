//! The profile of a line, as a KubeSchedulerConfiguration has it, made into rules.
//!
//! Only what `e2e/oracle/profiles.py` writes is read here. Anything else fails the test, so that no argument passes unread.

use plimsoll_api::Interner;
use plimsoll_api::document::DocumentKind;
use plimsoll_engine::Object;
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::Name;
use plimsoll_engine::model::Pod;
use plimsoll_engine::reason::Plugin;
use plimsoll_engine::rules::{AddedAffinity, DefaultSpread, ResourceWeight, Rules, ScoringStrategy};
use plimsoll_engine::volumes::Shape;
use serde_json::{Value, json};

/// The rules by which a line is to be decided.
pub fn rules(line: &Value) -> Rules {
    let mut rules = Rules::new(Gates::AS_UPSTREAM);
    for (gate, on) in line["gates"].as_object().into_iter().flatten() {
        let on = on.as_bool().unwrap();
        rules = match gate.as_str() {
            "StorageCapacityScoring" => rules.storage_capacity_scoring(on),
            "VolumeLimitScaling" => rules.volume_limit_scaling(on),
            other => panic!("gate {other}"),
        };
    }
    for plugin in items(&line["profile"]["plugins"]["multiPoint"]["disabled"]) {
        rules = rules.filter(named(plugin), false).weigh(named(plugin), 0);
    }
    for plugin in items(&line["profile"]["plugins"]["multiPoint"]["enabled"]) {
        rules = rules.weigh(named(plugin), plugin["weight"].as_i64().unwrap());
    }
    items(&line["profile"]["pluginConfig"]).iter().fold(rules, with_arguments)
}

fn with_arguments(rules: Rules, config: &Value) -> Rules {
    let args = &config["args"];
    match config["name"].as_str().unwrap() {
        "NodeResourcesFit" => {
            let rules = rules.ignore_resources(names(&args["ignoredResources"]), names(&args["ignoredResourceGroups"]));
            if args["scoringStrategy"].is_null() { rules } else { with_strategy(rules, &args["scoringStrategy"]) }
        }
        "NodeResourcesBalancedAllocation" => {
            rules.balance(weights(&args["resources"]).into_iter().map(|r| r.resource).collect())
        }
        "NodeAffinity" => {
            let pod = pod(json!({"affinity": {"nodeAffinity": args["addedAffinity"]}}));
            let (required, preferred) = (pod.required_node_affinity, pod.preferred_node_affinity);
            rules.add_affinity(AddedAffinity { required, preferred })
        }
        "PodTopologySpread" => {
            assert_eq!(args["defaultingType"], "List");
            let pod = pod(json!({"topologySpreadConstraints": args["defaultConstraints"]}));
            rules.spread_by_default(DefaultSpread::List(pod.spread))
        }
        "InterPodAffinity" => {
            let weight = args["hardPodAffinityWeight"].as_i64().unwrap() as i32;
            let ignore = args["ignorePreferredTermsOfExistingPods"] == true;
            rules.hard_affinity_weight(weight).ignore_placed_preferences(ignore)
        }
        "VolumeBinding" => rules.volume_shape(shape(&args["shape"])),
        other => panic!("arguments of {other}"),
    }
}

fn with_strategy(rules: Rules, given: &Value) -> Rules {
    let strategy = match given["type"].as_str().unwrap() {
        "LeastAllocated" => ScoringStrategy::LeastAllocated,
        "MostAllocated" => ScoringStrategy::MostAllocated,
        "RequestedToCapacityRatio" => {
            ScoringStrategy::RequestedToCapacityRatio(shape(&given["requestedToCapacityRatio"]["shape"]))
        }
        other => panic!("strategy {other}"),
    };
    rules.score_resources(strategy, weights(&given["resources"]))
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn names(list: &Value) -> Vec<Name> {
    items(list).iter().map(|name| name.as_str().unwrap().into()).collect()
}

fn weights(list: &Value) -> Vec<ResourceWeight> {
    let of = |r: &Value| ResourceWeight {
        resource: r["name"].as_str().unwrap().into(),
        weight: r["weight"].as_i64().unwrap(),
    };
    items(list).iter().map(of).collect()
}

fn shape(points: &Value) -> Shape {
    let of = |p: &Value| (p["utilization"].as_i64().unwrap(), p["score"].as_i64().unwrap());
    Shape::new(&items(points).iter().map(of).collect::<Vec<_>>()).unwrap()
}

fn named(plugin: &Value) -> Plugin {
    Plugin::ALL.into_iter().find(|p| plugin["name"] == p.name()).unwrap()
}

/// A pod with parts of a profile in its spec: the two are written alike.
fn pod(spec: Value) -> Pod {
    let document =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec});
    let kind = DocumentKind::find("v1", "Pod").unwrap();
    match kind.decode(&document).unwrap().to_engine(&mut Interner::new()).unwrap() {
        Some(Object::Pod(pod)) => *pod,
        other => panic!("{other:?}"),
    }
}
