//! What must hold for all sets and configurations.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{decoded, manager, with_target};
use crate::apply::{FieldSet, Reset, apply, update};
use crate::kind::Kind;

const CONFIG_MAP: Kind<'static> = Kind::new("", "v1", "ConfigMap");
const POD: Kind<'static> = Kind::new("", "v1", "Pod");

fn now() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap()
}

/// Some `fieldsV1`.
fn fields() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "f:a",
        "f:b",
        "f:c",
        "k:{\"name\":\"x\"}",
        "k:{\"port\":80,\"protocol\":\"TCP\"}",
        "k:{\"port\":443}",
        "v:\"s\"",
        "v:1",
        "i:0",
    ]);
    let leaf = Just(json!({}));
    leaf.prop_recursive(4, 24, 4, move |inner| {
        (prop::collection::btree_map(key.clone(), inner, 1..4), any::<bool>()).prop_map(|(below, own)| {
            let mut out = json!(below);
            if own {
                out["."] = json!({});
            }
            out
        })
    })
}

fn union<'a>(a: &FieldSet<'a>, b: &FieldSet<'a>) -> FieldSet<'a> {
    let mut out = a.clone();
    out.union(b.clone());
    out
}

fn difference<'a>(a: &FieldSet<'a>, b: &FieldSet<'_>) -> FieldSet<'a> {
    let mut out = a.clone();
    out.subtract(b);
    out
}

proptest! {
    #[test]
    fn sets_obey_the_laws_of_sets(a in fields(), b in fields(), c in fields()) {
        let (a, b, c) = (decoded(&a), decoded(&b), decoded(&c));
        prop_assert_eq!(union(&a, &b), union(&b, &a));
        prop_assert_eq!(union(&union(&a, &b), &c), union(&a, &union(&b, &c)));
        prop_assert_eq!(union(&a, &a), a.clone());
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(union(&difference(&a, &b), &a.intersection(&b)), a.clone());
        prop_assert!(difference(&a, &b).intersection(&b).is_empty());
        prop_assert_eq!(difference(&union(&a, &b), &b), difference(&a, &b));
        prop_assert!(difference(&a, &a).is_empty());
        let mut count = 0;
        union(&a, &b).for_each(&mut |path| {
            count += 1;
            assert!(a.has(path) || b.has(path));
        });
        prop_assert_eq!(count == 0, a.is_empty() && b.is_empty());
    }

    #[test]
    fn fields_v1_reads_back(a in fields()) {
        let set = decoded(&a);
        let text = set.encode();
        prop_assert_eq!(decoded(&text), set);
    }
}

fn labels() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", "[xyz]", 1..4).prop_map(|map| json!(map))
}

fn pod() -> impl Strategy<Value = Value> {
    let env = prop::collection::btree_map("[A-D]", "[xyz]", 1..4)
        .prop_map(|map| map.into_iter().map(|(k, v)| json!({"name": k, "value": v})).collect::<Vec<_>>())
        .prop_shuffle();
    let ports = prop::collection::btree_set(1u16..4, 1..3)
        .prop_map(|set| set.into_iter().map(|p| json!({"containerPort": p, "protocol": "TCP"})).collect::<Vec<_>>())
        .prop_shuffle();
    let container = ("[a-c]", env, ports)
        .prop_map(|(name, env, ports)| (name.clone(), json!({"name": name, "env": env, "ports": ports})));
    (labels(), prop::collection::btree_map("[a-c]", container, 1..3)).prop_map(|(labels, containers)| {
        let containers: Vec<Value> = containers
            .into_iter()
            .map(|(name, (_, mut container))| {
                container["name"] = json!(name);
                container
            })
            .collect();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels}, "spec": {"containers": containers}})
    })
}

fn applied(kind: Kind<'_>, live: Option<&Value>, config: &Value, by: &str, force: bool) -> Option<Value> {
    with_target(kind, &Reset::Nothing, |t| apply(t, live, config, &manager(by), force, now())).unwrap()
}

/// Without owners, and with lists in one order.
fn bare(mut object: Value) -> Value {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_key(Value::to_string);
            }
            Value::Object(map) => map.values_mut().for_each(sort),
            _ => {}
        }
    }
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    sort(&mut object);
    object
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(a in pod(), b in pod()) {
        let first = applied(POD, None, &a, "one", false).unwrap();
        prop_assert_eq!(bare(first.clone()), bare(a.clone()));
        prop_assert_eq!(applied(POD, Some(&first), &a, "one", false), None);
        let second = applied(POD, Some(&first), &b, "one", false).unwrap_or(first);
        prop_assert_eq!(bare(second.clone()), bare(b.clone()), "what is no longer named is gone");
        prop_assert_eq!(applied(POD, Some(&second), &b, "one", false), None);
    }

    #[test]
    fn force_always_gives_the_configuration(a in pod(), b in pod()) {
        let first = applied(POD, None, &a, "one", false).unwrap();
        let second = applied(POD, Some(&first), &b, "two", true).unwrap_or(first);
        prop_assert_eq!(applied(POD, Some(&second), &b, "two", false), None, "no conflict is left");
        for (key, value) in b["metadata"]["labels"].as_object().unwrap() {
            prop_assert_eq!(&second["metadata"]["labels"][key], value);
        }
    }

    #[test]
    fn the_order_of_appliers_without_conflicts_does_not_matter(a in labels(), b in labels()) {
        let config = |data: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
        let clash = a.as_object().unwrap().iter().any(|(k, v)| b.get(k).is_some_and(|w| w != v));
        prop_assume!(!clash);
        let both = |x: &Value, nx: &str, y: &Value, ny: &str| {
            let first = applied(CONFIG_MAP, None, &config(x), nx, false).unwrap();
            applied(CONFIG_MAP, Some(&first), &config(y), ny, false).unwrap_or(first)
        };
        let one = both(&a, "one", &b, "two");
        let two = both(&b, "two", &a, "one");
        prop_assert_eq!(bare(one.clone()), bare(two));
        // When both leave, nothing stays.
        let nothing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let left = applied(CONFIG_MAP, Some(&one), &nothing, "one", false).unwrap_or(one);
        let left = applied(CONFIG_MAP, Some(&left), &nothing, "two", false).unwrap_or(left);
        prop_assert_eq!(left, nothing);
    }

    #[test]
    fn an_updated_field_has_one_owner(steps in prop::collection::vec((labels(), "[m-p]"), 1..6)) {
        let mut live: Option<Value> = None;
        for (data, by) in steps {
            let mut new = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
            with_target(CONFIG_MAP, &Reset::Nothing, |t| update(t, live.as_ref(), &mut new, &manager(&by), now()));
            let owners = new["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            for key in data.as_object().unwrap().keys() {
                let count = owners.iter().filter(|o| o["fieldsV1"]["f:data"].get(format!("f:{key}")).is_some()).count();
                prop_assert_eq!(count, 1, "{} in {:?}", key, owners);
            }
            live = Some(new);
        }
    }
}
