//! Cases one by one.

use jiff::Timestamp;
use plimsoll_schema::{ListKind, Schema, StructType, Table, Type};
use serde_json::{Value, json};

use super::{decoded, field, manager, with_target};
use crate::apply::compare::compare;
use crate::apply::merge::merge;
use crate::apply::set::path_text;
use crate::apply::shape::Place;
use crate::apply::{
    FieldSet, OneVersion, Reset, Target, Versions, apply, keep_times, manager_name, reset, reset_custom, update,
};
use crate::kind::Kind;

fn paths(set: &FieldSet<'_>) -> Vec<String> {
    let mut out = Vec::new();
    set.for_each(&mut |path| out.push(path_text(path)));
    out
}

#[test]
fn fields_v1_is_read_and_printed() {
    let cases = [
        (json!({"f:a": {}}), vec![".a"]),
        (json!({"f:a": {".": {}, "f:b": {}}}), vec![".a", ".a.b"]),
        (json!({"f:a": {"f:b": {}}}), vec![".a.b"]),
        (
            json!({"f:p": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:x": {}}}}),
            vec![".p[containerPort=80,protocol=\"TCP\"]", ".p[containerPort=80,protocol=\"TCP\"].x"],
        ),
        (json!({"f:s": {"v:\"a\"": {}, "v:1": {}, "v:true": {}}}), vec![".s[=1]", ".s[=\"a\"]", ".s[=true]"]),
        (json!({"f:l": {"i:0": {}}}), vec![".l[0]"]),
        // Numbers come before text, and by what they are worth.
        (json!({"k:{\"p\":443}": {}, "k:{\"p\":80}": {}}), vec!["[p=80]", "[p=443]"]),
        (json!({"x:later": {}, "f:a": {}}), vec![".a"]),
        (json!({}), vec![]),
    ];
    for (fields, want) in cases {
        let set = decoded(&fields);
        assert_eq!(paths(&set), want, "{fields}");
        assert_eq!(decoded(&set.encode()), set, "{fields}");
    }
    let escaped = json!({"v:\"\\u003ca\\u0026\\u003e\"": {}});
    assert_eq!(decoded(&escaped).encode(), escaped);
}

#[test]
fn broken_fields_v1_is_an_error() {
    for fields in [
        json!({"f": {}}),
        json!({"fa": {}}),
        json!({"éa": {}}),
        json!({"v:x": {}}),
        json!({"k:1": {}}),
        json!({"k:{": {}}),
        json!({"i:x": {}}),
        json!({"f:a": 1}),
        json!([]),
        json!("f:a"),
    ] {
        assert!(FieldSet::decode(&fields).is_err(), "{fields}");
    }
}

#[test]
fn names_of_managers() {
    let long = "x".repeat(200);
    let cases = [
        ("given", "kubectl/v1", "given"),
        ("", "kubectl/v1.37.1 (linux/amd64)", "kubectl"),
        ("", "Mozilla 5\u{7}/x", "Mozilla 5"),
        ("", "", ""),
        ("", long.as_str(), &long[..128]),
    ];
    for (parameter, agent, want) in cases {
        assert_eq!(manager_name(parameter, agent), want);
    }
}

#[test]
fn reset_fields() {
    let all = json!({
        "f:metadata": {"f:labels": {"f:a": {}}, "f:ownerReferences": {}}, "f:spec": {".": {}, "f:x": {}},
        "f:status": {".": {}, "f:certificate": {}, "f:conditions": {}},
    });
    let pod = Kind::new("", "v1", "Pod");
    let signing = Kind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let cases = [
        (reset(pod, ""), vec![".metadata.ownerReferences", ".metadata.labels.a", ".spec", ".spec.x"]),
        (reset(pod, "status"), vec![".status", ".metadata.labels.a", ".status.certificate", ".status.conditions"]),
        (
            reset(signing, "approval"),
            vec![".status", ".metadata.ownerReferences", ".metadata.labels.a", ".status.conditions"],
        ),
        (
            reset(Kind::new("storage.k8s.io", "v1", "VolumeAttachment"), "status"),
            vec![".status", ".status.certificate", ".status.conditions"],
        ),
        (reset_custom("status", true), vec![".status", ".status.certificate", ".status.conditions"]),
        (reset_custom("", true), vec![".spec", ".metadata.ownerReferences", ".metadata.labels.a", ".spec.x"]),
    ];
    for (reset, want) in cases {
        let mut set = decoded(&all);
        reset.apply(&mut set);
        let (mut got, mut want) = (paths(&set), want);
        got.sort();
        want.sort();
        assert_eq!(got, want, "{reset:?}");
    }
    let mut set = decoded(&all);
    reset(Kind::new("", "v1", "ConfigMap"), "").apply(&mut set);
    assert_eq!(set, decoded(&all));
}

/// A custom resource: any JSON, a struct that keeps unknown fields, a set, a list by key, and a map that is one value.
fn custom() -> (Table, Type) {
    let mut table = Table::default();
    let mut open = StructType::new("Open", vec![field("known", Type::String)]);
    open.preserve_unknown = true;
    let open = table.add(open);
    let item = table.add(StructType::new("Item", vec![field("id", Type::Int64), field("v", Type::String)]));
    let mut set = field("set", Type::List(Box::new(Type::String)));
    set.list = ListKind::Set;
    let mut keyed = field("keyed", Type::List(Box::new(Type::Struct(item))));
    keyed.list = ListKind::Map;
    keyed.list_keys = ["id".into()].into();
    let mut whole = field("whole", Type::Map(Box::new(Type::String)));
    whole.atomic = true;
    let fields = vec![
        field("apiVersion", Type::String),
        field("kind", Type::String),
        field("metadata", Type::Json),
        field("any", Type::Json),
        field("raw", Type::Raw),
        field("open", Type::Struct(open)),
        set,
        keyed,
        whole,
    ];
    let root = table.add(StructType::new("Thing", fields));
    (table, Type::Struct(root))
}

#[test]
fn objects_without_a_type_are_compared_by_their_shape() {
    // old, new, changed, removed
    let cases = [
        (json!({"any": {"a": 1}}), json!({"any": {"a": 1.0}}), vec![], vec![]),
        (json!({"any": {"a": 1}}), json!({"any": {"a": 2, "b": [1]}}), vec![".any.a", ".any.b"], vec![]),
        (json!({"any": {"a": {"b": 1}}}), json!({"any": {"a": 1}}), vec![".any.a"], vec![".any.a.b"]),
        (json!({"any": 1}), json!({"any": {"a": {"b": 1}}}), vec![".any", ".any.a", ".any.a.b"], vec![]),
        (json!({"any": [1]}), json!({"any": [2]}), vec![".any"], vec![]),
        (json!({"any": {}}), json!({"any": {"a": 1}}), vec![".any.a"], vec![]),
        (json!({"raw": {"a": 1}}), json!({"raw": {"a": 2}}), vec![".raw"], vec![]),
        (
            json!({"open": {"known": "x"}}),
            json!({"open": {"other": {"x": 1}}}),
            vec![".open.other", ".open.other.x"],
            vec![".open.known"],
        ),
        (json!({"set": ["a", "b"]}), json!({"set": ["b", "c"]}), vec![".set[=\"c\"]"], vec![".set[=\"a\"]"]),
        (
            json!({"keyed": [{"id": 1, "v": "x"}]}),
            json!({"keyed": [{"id": 1, "v": "y"}]}),
            vec![".keyed[id=1].v"],
            vec![],
        ),
        (
            json!({"keyed": [{"id": 1}, {"id": 1}]}),
            json!({"keyed": [{"id": 1}]}),
            vec![".keyed[id=1]", ".keyed[id=1].id"],
            vec![".keyed[id=1]"],
        ),
        (
            json!({"keyed": [{"id": 1}]}),
            json!({"keyed": [{"id": 1}, {"id": 1}]}),
            vec![".keyed[id=1]"],
            vec![".keyed[id=1]", ".keyed[id=1].id"],
        ),
        (json!({"whole": {"a": "x"}}), json!({"whole": {"b": "x"}}), vec![".whole"], vec![]),
        (json!({}), json!({"whole": {"b": "x"}}), vec![".whole"], vec![]),
    ];
    let (table, ty) = custom();
    for (old, new, changed, removed) in cases {
        let diff = compare(Place::root(Schema::new(&table, &ty)), &old, &new);
        assert_eq!(paths(&diff.changed), changed, "{old} -> {new}");
        assert_eq!(paths(&diff.removed), removed, "{old} -> {new}");
    }
}

#[test]
fn lists_keep_the_order_of_the_configuration() {
    // live, config, merged: elements by their keys
    let cases: [(&[i64], &[i64], &[i64]); 8] = [
        (&[1, 2, 3], &[], &[1, 2, 3]),
        (&[], &[2, 1], &[2, 1]),
        (&[1, 2, 3], &[3, 1], &[2, 3, 1]),
        (&[1, 2, 3], &[2], &[1, 2, 3]),
        (&[1, 2], &[3], &[1, 2, 3]),
        (&[1, 2, 3], &[4, 2], &[1, 4, 2, 3]),
        (&[1, 1, 2], &[2, 1], &[2, 1]),
        (&[5, 1, 6, 2, 7], &[2, 8, 1], &[5, 6, 2, 7, 8, 1]),
    ];
    let (table, ty) = custom();
    let list = |ids: &[i64]| json!({"keyed": ids.iter().map(|id| json!({"id": id})).collect::<Vec<_>>()});
    for (live, config, want) in cases {
        let merged = merge(Place::root(Schema::new(&table, &ty)), Some(&list(live)), Some(&list(config)));
        assert_eq!(merged, Some(list(want)), "{live:?} + {config:?}");
    }
}

#[test]
fn a_custom_resource_is_applied() {
    let (table, ty) = custom();
    let reset = reset_custom("", false);
    let kind = Kind::new("example.com", "v1", "Thing");
    let target = Target { schema: Schema::new(&table, &ty), kind, custom: true, reset: &reset, versions: &OneVersion };
    let now = Timestamp::from_second(0).unwrap();
    let config = |rest: Value| {
        let mut out = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}});
        out.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        out
    };
    let one = apply(
        &target,
        None,
        &config(json!({"any": {"a": [1]}, "open": {"x": {"y": 1}}, "set": ["a"]})),
        &manager("one"),
        false,
        now,
    );
    let one = one.unwrap().unwrap();
    let owned = json!({"f:any": {"f:a": {}}, "f:open": {"f:x": {".": {}, "f:y": {}}}, "f:set": {"v:\"a\"": {}}});
    assert_eq!(one["metadata"]["managedFields"][0]["fieldsV1"], owned);
    let two = apply(
        &target,
        Some(&one),
        &config(json!({"any": {"a": [2]}, "open": {"x": {"y": 2}}})),
        &manager("two"),
        false,
        now,
    );
    let refused = two.unwrap_err();
    assert_eq!(refused.message, "Apply failed with 2 conflicts: conflicts with \"one\":\n- .any.a\n- .open.x.y");
    let unknown = apply(&target, Some(&one), &config(json!({"nope": 1})), &manager("two"), false, now).unwrap_err();
    assert_eq!(
        unknown.message,
        "failed to create typed patch object (/t; example.com/v1, Kind=Thing): .nope: field not declared in schema"
    );
}

#[test]
fn a_write_without_effect_keeps_its_times() {
    let entry = |time: &str| json!({"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1", "fieldsV1": {}});
    let object = |time: &str, data: &str| json!({"metadata": {"name": "x", "managedFields": [entry(time)]}, "data": {"a": data}});
    let old = object("1", "x");
    let cases = [(object("2", "x"), "1"), (object("2", "y"), "2"), (object("1", "y"), "1")];
    for (mut new, want) in cases {
        keep_times(&old, &mut new);
        assert_eq!(new["metadata"]["managedFields"][0]["time"], want);
    }
}

#[test]
fn bad_objects_are_no_reason_to_panic() {
    let now = Timestamp::from_second(0).unwrap();
    let kind = Kind::new("", "v1", "Pod");
    let values = [
        json!(null),
        json!(1),
        json!([]),
        json!({}),
        json!({"metadata": 1}),
        json!({"metadata": {"managedFields": 1}}),
        json!({"metadata": {"managedFields": [1, {}, {"operation": "Apply"}]}}),
        json!({"spec": {"containers": [1, null, {}]}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": null, "spec": null}),
    ];
    for old in &values {
        for new in &values {
            with_target(kind, &Reset::Nothing, |t| {
                let mut written = new.clone();
                update(t, Some(old), &mut written, &manager("m"), now);
                update(t, None, &mut new.clone(), &manager(""), now);
                let _ = apply(t, Some(old), new, &manager("kubectl"), true, now);
                keep_times(old, &mut written);
            });
        }
    }
}

/// `v1` and `v2` of one kind, which call a field by different names.
struct TwoVersions(Table, Type, Type);

impl TwoVersions {
    fn new() -> Self {
        let mut table = Table::default();
        let mut version = |name: &str, word: &str| {
            let fields = ["apiVersion", "kind", word].map(|name| field(name, Type::String)).into_iter();
            let fields = fields.chain([field("metadata", Type::Json), field("keep", Type::String)]).collect();
            Type::Struct(table.add(StructType::new(name, fields)))
        };
        let (one, two) = (version("One", "old"), version("Two", "new"));
        Self(table, one, two)
    }
}

impl Versions for TwoVersions {
    fn schema<'a>(&'a self, api_version: &str) -> Option<Schema<'a>> {
        match api_version {
            "x/v1" => Some(Schema::new(&self.0, &self.1)),
            "x/v2" => Some(Schema::new(&self.0, &self.2)),
            _ => None,
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let mut out = object.clone();
        let map = out.as_object_mut()?;
        let (from, to) = if api_version == "x/v1" { ("new", "old") } else { ("old", "new") };
        if let Some(value) = map.remove(from) {
            map.insert(to.into(), value);
        }
        map.insert("apiVersion".into(), json!(api_version));
        Some(out)
    }
}

#[test]
fn ownership_holds_across_versions() {
    let versions = TwoVersions::new();
    let now = Timestamp::from_second(0).unwrap();
    let reset = Reset::Nothing;
    let run = |version: &'static str, live: Option<&Value>, rest: Value, by: &str, force: bool| {
        let api_version = format!("x/{version}");
        let kind = Kind::new("x", version, "Thing");
        let schema = versions.schema(&api_version).unwrap();
        let target = Target { schema, kind, custom: true, reset: &reset, versions: &versions };
        let mut config = json!({"apiVersion": api_version, "kind": "Thing", "metadata": {"name": "t"}});
        config.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let live = live.map(|live| versions.convert(live, &api_version).unwrap());
        apply(&target, live.as_ref(), &config, &manager(by), force, now)
    };
    let live = run("v1", None, json!({"old": "a", "keep": "k"}), "one", false).unwrap().unwrap();
    // Another version's name for the field is the same field.
    let refused = run("v2", Some(&live), json!({"new": "b"}), "two", false).unwrap_err();
    assert_eq!(refused.message, "Apply failed with 1 conflict: conflict with \"one\": .old");
    let forced = run("v2", Some(&live), json!({"new": "b"}), "two", true).unwrap().unwrap();
    let owned: Vec<&Value> =
        forced["metadata"]["managedFields"].as_array().unwrap().iter().map(|e| &e["fieldsV1"]).collect();
    assert_eq!(owned, [&json!({"f:keep": {}}), &json!({"f:new": {}})]);
    // What an applier named in one version goes when it names nothing in another.
    let gone = run("v2", Some(&live), json!({}), "one", false).unwrap().unwrap();
    assert_eq!(gone, json!({"apiVersion": "x/v2", "kind": "Thing", "metadata": {"name": "t"}}));
    let half = run("v2", Some(&live), json!({"new": "a"}), "one", false).unwrap().unwrap();
    assert_eq!((&half["new"], half.get("keep")), (&json!("a"), None));
}

#[test]
fn long_lists_do_not_take_long() {
    let now = Timestamp::from_second(0).unwrap();
    let kind = Kind::new("", "v1", "ConfigMap");
    let list = |prefix: &str| (0..50_000).rev().map(|i| format!("{prefix}.io/{i}")).collect::<Vec<_>>();
    let object = |list: Vec<String>| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": list}});
    with_target(kind, &Reset::Nothing, |t| {
        let one = apply(t, None, &object(list("a")), &manager("one"), false, now).unwrap().unwrap();
        let two = apply(t, Some(&one), &object(list("b")), &manager("two"), false, now).unwrap().unwrap();
        assert_eq!(two["metadata"]["finalizers"].as_array().unwrap().len(), 100_000);
        let mut new = object(list("c"));
        update(t, Some(&two), &mut new, &manager("three"), now);
        assert_eq!(new["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    });
}

/// Not a test of correctness: prints what an ordinary update of a pod costs.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_methods, reason = "a measurement, run by hand")]
fn cost_of_a_pod_update() {
    let container = |name: &str| {
        json!({"name": name, "image": "i", "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "1"}}, "terminationMessagePath": "/dev/x",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "volumeMounts": [{"mountPath": "/a", "name": "v"}]})
    };
    let kind = Kind::new("", "v1", "Pod");
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [container("a"), container("b")], "nodeName": "n", "restartPolicy": "Always", "volumes": [{"name": "v", "emptyDir": {}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null}]}});
    let now = Timestamp::from_second(0).unwrap();
    with_target(kind, &Reset::Nothing, |t| {
        update(t, None, &mut pod, &manager("creator"), now);
        let mut next = pod.clone();
        next["status"]["conditions"][0]["status"] = json!("False");
        update(t, Some(&pod), &mut next, &manager("kubelet"), now);
        let rounds = 2000;
        let start = std::time::Instant::now();
        for i in 0..rounds {
            let mut new = next.clone();
            new["status"]["conditions"][0]["status"] = json!(i.to_string());
            update(t, Some(&next), &mut new, &manager("kubelet"), now);
        }
        println!("update {:?}", start.elapsed() / rounds);
        let start = std::time::Instant::now();
        for i in 0..rounds {
            let mut config = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container("a")]}});
            config["spec"]["containers"][0]["image"] = json!(i.to_string());
            let _ = apply(t, Some(&next), &config, &manager("one"), true, now);
        }
        println!("apply {:?}", start.elapsed() / rounds);
    });
}
