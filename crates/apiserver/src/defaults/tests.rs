//! Objects as the real server answers them (`tests/data/defaults`): what it made of them is what defaults, admission and strategy make.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_schema::decode::{Report, canonical};
use plimsoll_schema::{Schema, Table, Type};
use serde_json::{Value, json};

use crate::admission::{Cluster, Operation, Plugins, Request, mutate};
use crate::kind::Kind;
use crate::status::GroupResource;
use crate::strategy::{Context, User, prepare_create, prepare_update, warnings_on_create};
use crate::value::{copy_field, ensure, get, remove, text};

/// The cluster that a case was recorded in: a namespace, the system's priority classes, and what the case brings.
struct Recorded<'a>(&'a Value);

impl Cluster for Recorded<'_> {
    fn get(&self, _group: &str, resource: &str, _namespace: &str, name: &str) -> Option<Arc<Value>> {
        match (resource, name) {
            ("namespaces", _) => Some(Arc::new(json!({"status": {"phase": "Active"}}))),
            ("priorityclasses", "system-node-critical") => Some(Arc::new(
                json!({"metadata": {"name": name}, "value": 2_000_001_000, "preemptionPolicy": "PreemptLowerPriority"}),
            )),
            _ => None,
        }
    }

    fn list(&self, _group: &str, resource: &str, _namespace: Option<&str>) -> Vec<Arc<Value>> {
        crate::value::list(self.0, &["cluster", resource]).iter().cloned().map(Arc::new).collect()
    }
}

pub(crate) fn kind_of(object: &Value) -> Kind<'_> {
    let (group, version) = text(object, &["apiVersion"]).split_once('/').unwrap_or(("", text(object, &["apiVersion"])));
    Kind::new(group, version, text(object, &["kind"]))
}

pub(crate) fn canonical_form(object: Value) -> Value {
    let table = Table::builtin();
    let kind = kind_of(&object);
    let ty = Type::Struct(table.kind(kind.group, kind.version, kind.kind).unwrap());
    canonical(Schema::new(&table, &ty), object, &mut Report::default()).unwrap()
}

pub(crate) fn cases(folder: &str) -> BTreeMap<String, Value> {
    let folder = format!("{}/tests/data/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut out = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        for (i, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let name = format!("{}:{}", path.file_name().unwrap().to_str().unwrap(), i + 1);
            out.insert(name, serde_json::from_str(line).unwrap());
        }
    }
    out
}

/// Where two values differ, for people.
pub(crate) fn differences(path: &str, is: &Value, should: &Value, out: &mut Vec<String>) {
    match (is, should) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
                let null = Value::String("(absent)".into());
                differences(&format!("{path}.{key}"), a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| differences(&format!("{path}[{i}]"), a, b, out));
        }
        _ if is == should => {}
        _ => out.push(format!("  {path}: is {is}, should be {should}")),
    }
}

#[test]
fn created_as_upstream_creates() {
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], ..User::default() };
    let mut wrong = Vec::new();
    let cases = cases("defaults");
    assert!(cases.len() >= 150);
    for (name, case) in &cases {
        let expected = case["output"].clone();
        let now = text(&expected, &["metadata", "creationTimestamp"]).to_owned();
        let mut object = canonical_form(case["input"].clone());
        let kind_owned = object.clone();
        let kind = kind_of(&kind_owned);
        super::apply(kind, &mut object, &now);
        let resource = Table::builtin()
            .groups()
            .iter()
            .filter(|g| g.group == kind.group && g.version == kind.version)
            .flat_map(|g| &g.resources)
            .find(|r| r.response_kind.kind == kind.kind)
            .map(|r| r.resource.clone())
            .unwrap();
        let namespace = text(&expected, &["metadata", "namespace"]).to_owned();
        for field in ["uid", "creationTimestamp", "namespace"] {
            copy_field(&mut object, &expected, &["metadata", field]);
        }
        let request = Request {
            operation: Operation::Create,
            kind,
            resource: GroupResource { group: kind.group, resource: &resource },
            subresource: "",
            namespace: &namespace,
            name: "",
            old: None,
            dry_run: true,
            suffix: "abcde",
            plugins: Plugins::default(),
        };
        mutate(&request, &mut object, &Recorded(case)).unwrap();
        let mut warnings = prepare_create(kind, &mut object, Context { now: &now, user: &user });
        warnings.extend(warnings_on_create(kind, &object));
        let mut object = canonical_form(object);
        if kind.kind == "Service" {
            copy_field(&mut object, &expected, &["spec", "clusterIP"]);
            crate::strategy::complete_addresses(&mut object);
        }
        let mut found = Vec::new();
        differences("", &object, &expected, &mut found);
        let mut expected_warnings: Vec<&str> =
            crate::value::list(case, &["warnings"]).iter().filter_map(Value::as_str).collect();
        expected_warnings.retain(|w| Some(*w) != crate::strategy::deprecated_api(kind));
        if warnings != expected_warnings {
            found.push(format!("  warnings: are {warnings:?}, should be {expected_warnings:?}"));
        }
        if !found.is_empty() {
            wrong.push(format!("{name} {}: {}\n{}", kind.kind, case["input"], found.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn applying_defaults_again_changes_nothing() {
    for (name, case) in cases("defaults") {
        let mut object = canonical_form(case["output"].clone());
        let kind_owned = object.clone();
        super::apply(kind_of(&kind_owned), &mut object, "2026-11-16T00:00:00Z");
        assert_eq!(canonical_form(object), kind_owned, "{name}");
    }
}

#[test]
fn updated_as_upstream_updates() {
    let user = User::default();
    let mut wrong = Vec::new();
    for (name, case) in cases("updates") {
        let (old, expected) = (canonical_form(case["old"].clone()), case["output"].clone());
        let kind = kind_of(&old);
        let mut object = canonical_form(case["input"].clone());
        super::apply(kind, &mut object, text(&case, &["now"]));
        prepare_update(
            kind,
            text(&case, &["subresource"]),
            &mut object,
            &old,
            Context { now: text(&case, &["now"]), user: &user },
        );
        let mut object = canonical_form(object);
        {
            let (to, from) = (&mut object, &expected);
            copy_field(to, from, &["metadata", "resourceVersion"]);
            if get(from, &["metadata", "managedFields"]).is_none() {
                remove(to, &["metadata", "managedFields"]);
            }
            ensure(to, &["metadata"]);
        }
        let mut found = Vec::new();
        differences("", &object, &expected, &mut found);
        if !found.is_empty() {
            wrong.push(format!(
                "{name} {} {}: {}\n{}",
                kind.kind,
                case["subresource"],
                case["input"],
                found.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn versions_say_the_same() {
    let mut wrong = Vec::new();
    for (name, case) in cases("versions") {
        for (from, to) in [("core", "other"), ("other", "core")] {
            let mut object = canonical_form(case[from].clone());
            if name.starts_with("events") {
                super::convert_event(&mut object, if to == "core" { "" } else { "events.k8s.io" });
            } else {
                super::convert_autoscaler(&mut object, if to == "core" { "v1" } else { "v2" });
            }
            // Annotations hold JSON, whose order of keys is not ours, and lose the place of the metric that has a field.
            let parsed = |mut object: Value| {
                if let Some(Value::Array(metrics)) = object.pointer_mut("/spec/metrics") {
                    metrics.sort_by_key(Value::to_string);
                }
                if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
                    for value in annotations.values_mut() {
                        *value = value.as_str().and_then(|t| serde_json::from_str(t).ok()).unwrap_or(value.clone());
                    }
                }
                object
            };
            let mut found = Vec::new();
            differences("", &parsed(canonical_form(object)), &parsed(canonical_form(case[to].clone())), &mut found);
            if !found.is_empty() {
                wrong.push(format!("{name} to {to}:\n{}", found.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
