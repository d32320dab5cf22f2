//! The answers of a real kube-apiserver (`tests/data/patch`, one file per object, patched with `dryRun=All`), and the laws.

use plimsoll_schema::{Schema, Table, Type};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn type_of(table: &Table, kind: &str) -> Type {
    let parts: Vec<&str> = kind.split('/').collect();
    Type::Struct(table.kind(parts[0], parts[1], parts[2]).unwrap())
}

/// What decoding would leave of a value, roughly: nulls, empties, and fields that the type does not have are gone.
fn decoded(schema: Schema<'_>, value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter_map(|(key, value)| {
                let inner = match schema.as_struct() {
                    Some(_) => Some(schema.field(key)?.1),
                    None => schema.element(),
                };
                let value = inner.map_or_else(|| value.clone(), |s| decoded(s, value));
                let empty = value.is_null() || value == json!({}) || value == json!([]) || value == json!("");
                (!empty).then(|| (key.clone(), value))
            })
            .collect(),
        Value::Array(items) => match schema.element() {
            Some(element) => items.iter().map(|v| decoded(element, v)).collect(),
            None => value.clone(),
        },
        // Decoding takes a whole number in any spelling.
        Value::Number(n) if n.as_f64().is_some_and(|f| f.fract() == 0.0) => json!(n.as_f64().unwrap() as i64),
        scalar => scalar.clone(),
    }
}

/// All of `part` is in `whole`, which may have more fields.
fn within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(k, v)| whole.get(k).is_some_and(|w| within(v, w)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| within(p, w))
        }
        _ => part == whole,
    }
}

fn check(schema: Schema<'_>, original: &Value, case: &Value) -> Result<(), String> {
    let mut patch = case["patch"].clone();
    let ours = match case["type"].as_str().unwrap() {
        "strategic" => strategic_leaving(schema, original, &mut patch),
        "merge" => merge_request(original, &patch),
        _ if case["ignore"] == true => json(original, &patch),
        _ => json_strict(&patch).and_then(|_| json(original, &patch)),
    };
    match ours {
        Err(status) if case["later"] == true => Err(format!("refused too early: {}", status.message)),
        Err(status) => {
            let ours = match &case["status"] {
                Value::String(_) => json!(status.message + "\n"),
                _ => status.to_value(),
            };
            if ours == case["status"] { Ok(()) } else { Err(format!("{ours}\n     not {}", case["status"])) }
        }
        Ok(result) if case["later"] == true => {
            let message = case["status"]["message"].as_str().unwrap();
            let told = match (case["type"].as_str(), unconvertible(schema, &result)) {
                (Some("strategic"), Some(why)) => undecodable(&shown(&patch), &why).message,
                (Some("strategic"), None) if message.contains("patch: Invalid value") => "nothing".into(),
                (Some("strategic"), None) => return Ok(()),
                _ => {
                    let why = message.rsplit_once("\": ").map_or("", |(_, why)| why);
                    undecodable(&patched_text(Some(schema), &result, &patch), why).message
                }
            };
            if told == message { Ok(()) } else { Err(format!("{told}\n     not {message}")) }
        }
        Ok(_) if case.get("result").is_none() => Err(format!("not refused: {}", case["status"])),
        Ok(ours) => {
            let mut ours = decoded(schema, &ours);
            let theirs = decoded(schema, &case["result"]);
            for key in ["generation", "resourceVersion"] {
                ours["metadata"].as_object_mut().unwrap().remove(key);
            }
            let equal = if case["defaulted"] == true { within(&ours, &theirs) } else { ours == theirs };
            if equal { Ok(()) } else { Err(format!("{ours}\n     not {theirs}")) }
        }
    }
}

#[test]
fn a_real_server_gave_the_same_answers() {
    let table = Table::builtin();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/patch");
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let ty = type_of(&table, file["kind"].as_str().unwrap());
        let schema = Schema::new(&table, &ty);
        for case in file["cases"].as_array().unwrap() {
            count += 1;
            if let Err(why) = check(schema, &file["original"], case) {
                wrong.push(format!("{} {}:\n  got {why}", file["kind"], case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 150, "{count}");
}

#[test]
fn merge_follows_the_rfc() {
    // The table of RFC 7386, appendix A, where the target is an object; then the habits of upstream's library.
    for (original, patch, want) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (json!({}), json!({"a": [{"x": null, "y": 1}, null]}), json!({"a": [{"y": 1}, null]})),
        (json!({"a": {}}), json!({"a": [{"x": null}]}), json!({"a": [{"x": null}]})),
        (json!({"a": []}), json!({"a": [{"x": null}]}), json!({"a": [{}]})),
    ] {
        assert_eq!(merge(&original, &patch), want, "{original} + {patch}");
    }
}

#[test]
fn too_many_operations_are_too_large() {
    let test = json!({"op": "test", "path": "/a", "value": 1});
    assert!(json(&json!({"a": 1}), &Value::Array(vec![test.clone(); 10_000])).is_ok());
    let status = json(&json!({"a": 1}), &Value::Array(vec![test; 10_001])).unwrap_err();
    assert_eq!((status.code, status.reason), (413, "RequestEntityTooLarge"));
    assert_eq!(
        status.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn operations_cannot_build_what_nobody_can_hold() {
    let doubling = vec![json!({"op": "copy", "from": "", "path": "/a/-"}); 2];
    assert!(json(&json!({"a": []}), &Value::Array(doubling)).is_err());
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let text = json!({"a": ["x".repeat(1000)]});
    assert!(json(&text, &Value::Array(vec![copy.clone(); 10])).is_ok());
    assert!(json(&text, &Value::Array(vec![copy; 100])).is_err());
    let rounds = [
        json!({"op": "add", "path": "/c", "value": {}}),
        json!({"op": "move", "from": "/a", "path": "/c/a"}),
        json!({"op": "move", "from": "/c", "path": "/a"}),
    ];
    let deep: Vec<Value> = rounds.iter().cycle().take(9_999).cloned().collect();
    assert!(json(&json!({"a": 1}), &Value::Array(deep[..300].to_vec())).is_ok());
    assert!(json(&json!({"a": 1}), &Value::Array(deep)).is_err());
}

#[test]
fn operations_with_fields_of_their_own_are_told() {
    let patch = json!([{"op": "test", "path": "/a", "x": 1}, {"op": "test", "path": "/a", "from": "", "value": 1}]);
    assert_eq!(json_strict(&patch).unwrap(), ["json patch unknown field \"[0].x\""]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("containers"),
        Just("name"),
        Just("env"),
        Just("finalizers"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/containers"),
        Just("$setElementOrder/finalizers"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("volumes"),
        Just("labels"),
        Just("a"),
        Just("replace"),
        Just("delete"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        Just(json!(1.5)),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|m| m.into_iter().collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    any_json().prop_map(|v| json!({"metadata": v.clone(), "spec": v}))
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_patch_never_panics_and_an_empty_one_changes_nothing(original in any_object(), patch in any_json(), deep in any_object()) {
        let table = Table::builtin();
        let ty = type_of(&table, "/v1/Pod");
        let schema = Schema::new(&table, &ty);
        prop_assert_eq!(strategic(schema, &original, &json!({})).unwrap(), original.clone());
        prop_assert_eq!(merge(&original, &json!({})), original.clone());
        prop_assert_eq!(json(&original, &json!([])).unwrap(), original.clone());
        for patch in [&patch, &deep] {
            let _ = strategic(schema, &original, patch);
            let _ = json(&original, patch);
            let once = merge(&original, patch);
            let twice = merge(&once, patch);
            prop_assert_eq!(merge(&twice, patch), twice.clone());
            if !has_null(patch) && patch.is_object() {
                prop_assert_eq!(&twice, &once);
                prop_assert!(within(patch, &once), "{} in {}", patch, once);
            }
        }
    }

    #[test]
    fn json_patch_never_panics(original in any_object(), op in "add|remove|replace|test|move|copy|x", path in "(/(metadata|spec|a|-|-1|0|1|~1|~|))*", from in "(/(metadata|spec|0|a))*", value in any_json()) {
        let operation = json!({"op": op, "path": path, "from": from, "value": value});
        let _ = json(&original, &json!([operation.clone(), operation]));
    }
}

/// As kube-apiserver 1.37.1 answered.
#[test]
fn numbers_are_converted_as_go_converts_them() {
    let table = Table::builtin();
    let ty = type_of(&table, "apps/v1/Deployment");
    let schema = Schema::new(&table, &ty);
    for (sent, kept) in
        [(json!(3_000_000_000_i64), -1_294_967_296), (json!(5_000_000_000_i64), 705_032_704), (json!(2.0), 2)]
    {
        let mut object = json!({"spec": {"replicas": sent}});
        assert_eq!(unconvertible(schema, &object), None);
        convert(schema, &mut object);
        assert_eq!(object["spec"]["replicas"], kept);
    }
    let mut object = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1e20}}}});
    convert(schema, &mut object);
    assert_eq!(object["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], i64::MIN);
    let surge = json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 3_000_000_000_i64}}}});
    let why = "json: cannot unmarshal number 3000000000 into Go value of type int32";
    assert_eq!(unconvertible(schema, &surge).as_deref(), Some(why));
}

/// The path that nobody has looked at is as long as its sender likes.
#[test]
fn a_path_of_any_length_is_shown() {
    let deep = "/a".repeat(200_000);
    for op in ["replace", "copy"] {
        let patch = json!([{"op": op, "path": "/spec/replicas", "value": "x", "from": deep}]);
        assert_eq!(patched_text(None, &json!({"b": 1, "a": 2}), &patch), r#"{"a":2,"b":1}"#);
    }
}
