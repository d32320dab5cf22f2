//! What a real kube-apiserver sent (`tests/data/protobuf`): the same objects as JSON and as protobuf.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::table::{Schema, Table, Type};

fn data(name: &str) -> Value {
    let path = format!("{}/tests/data/protobuf/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn type_of(table: &Table, api_version: &str, kind: &str) -> Option<Type> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    table
        .kind(group, version, kind)
        .or_else(|| table.named(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")))
        .map(Type::Struct)
}

#[test]
fn a_real_server_writes_and_means_the_same() {
    let table = Table::builtin();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for sample in data("objects.json").as_array().unwrap() {
        count += 1;
        let path = &sample["path"];
        let bytes = STANDARD.decode(sample["protobuf"].as_str().unwrap()).unwrap();
        let envelope = decode(&bytes).unwrap();
        assert_eq!(encode(&envelope.api_version, &envelope.kind, envelope.raw), bytes, "{path}");
        let json = &sample["json"];
        if envelope.kind.starts_with("PartialObjectMetadata") {
            if encode_partial_metadata(&table, json) != envelope.raw {
                wrong.push(format!("{path}: partial metadata"));
            }
            continue;
        }
        let Some(ty) = type_of(&table, &envelope.api_version, &envelope.kind) else {
            wrong.push(format!("{path}: no type {} {}", envelope.api_version, envelope.kind));
            continue;
        };
        let schema = Schema::new(&table, &ty);
        let mut ours = decode_message(schema, envelope.raw).unwrap();
        ours["kind"] = json!(envelope.kind);
        ours["apiVersion"] = json!(envelope.api_version);
        for difference in differences("", &ours, json) {
            // A kind inside a kind is not on the wire; upstream's defaults put it back.
            if difference.starts_with(".spec.volumeClaimTemplates[0].") && envelope.kind == "StatefulSet" {
                continue;
            }
            wrong.push(format!("{path} {difference}"));
        }
        let encoded = encode_message(schema, json);
        if encoded != envelope.raw {
            let again = decode_message(schema, &encoded);
            let at = encoded.iter().zip(envelope.raw).position(|(a, b)| a != b);
            let first = decode_message(schema, envelope.raw);
            wrong.push(format!(
                "{path} bytes differ at {at:?} of {}: {:?}",
                encoded.len(),
                again.ok().zip(first.ok()).map(|(a, b)| differences("", &a, &b))
            ));
        }
    }
    assert!(wrong.is_empty(), "of {count}:\n{}", wrong.join("\n"));
}

fn differences(at: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let none = &Value::Null;
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter()
                .flat_map(|k| differences(&format!("{at}.{k}"), a.get(k).unwrap_or(none), b.get(k).unwrap_or(none)))
                .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().flat_map(|(i, (a, b))| differences(&format!("{at}[{i}]"), a, b)).collect()
        }
        (a, b) if a == b => Vec::new(),
        // A list of nothing is nothing on the wire.
        (Value::Null, Value::Array(b)) if b.is_empty() => Vec::new(),
        (a, b) => vec![format!("{at}: {a} not {b}")],
    }
}

#[test]
fn a_watch_is_framed_as_a_real_server_frames_it() {
    let sample = data("watch.json");
    let bytes = |name: &str| STANDARD.decode(sample[name].as_str().unwrap()).unwrap();
    assert_eq!(encode_watch_event("ADDED", &bytes("object")), bytes("stream"));
}

#[test]
fn bodies_that_are_none_are_told_in_upstreams_words() {
    for (bytes, why) in [
        (&b""[..], "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x05a", "unexpected EOF"),
        (b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
    ] {
        assert_eq!(decode(bytes).unwrap_err().to_string(), why);
    }
}

#[test]
fn durations_are_written_as_go_writes_them() {
    for (nanos, text) in [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (2_000_000, "2ms"),
        (1_000_000_000, "1s"),
        (90_500_000_000, "1m30.5s"),
        (3_600_000_000_000, "1h0m0s"),
        (-5_000_000_000, "-5s"),
    ] {
        assert_eq!(leaf::duration(nanos), text);
        assert_eq!(leaf::nanos(text), nanos, "{text}");
    }
    assert_eq!(leaf::nanos("no"), 0);
}

#[test]
fn packed_numbers_split_messages_and_unknown_fields_are_read() {
    let table = Table::builtin();
    let ty = |name: &str| Type::Struct(table.named(name).unwrap());
    let security = ty("io.k8s.api.core.v1.PodSecurityContext");
    let mut bytes = Vec::new();
    wire::put_bytes(&mut bytes, 4, &[1, 2, 0x80, 1]);
    wire::put_number(&mut bytes, 4, 7);
    wire::put_bytes(&mut bytes, 4000, b"unknown");
    bytes.extend([0xfb, 0x7d, 0x08, 0x01, 0xfc, 0x7d]);
    let value = decode_message(Schema::new(&table, &security), &bytes).unwrap();
    assert_eq!(value, json!({"supplementalGroups": [1, 2, 128, 7]}));
    let pod = ty("io.k8s.api.core.v1.Pod");
    let mut bytes = Vec::new();
    wire::put_message(&mut bytes, 1, |out| wire::put_bytes(out, 1, b"name"));
    wire::put_message(&mut bytes, 1, |out| wire::put_bytes(out, 3, b"space"));
    let value = decode_message(Schema::new(&table, &pod), &bytes).unwrap();
    assert_eq!(value, json!({"metadata": {"name": "name", "namespace": "space"}}));
}

#[test]
fn nesting_has_an_end() {
    let table = Table::builtin();
    let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    let ty = Type::Struct(table.named(name).unwrap());
    let mut deep = Vec::new();
    for _ in 0..2_000 {
        let inner = std::mem::take(&mut deep);
        wire::put_bytes(&mut deep, 28, &inner);
    }
    assert!(decode_message(Schema::new(&table, &ty), &deep).is_err());
}

/// A generator of its own, so that every run is the same.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn no_bytes_panic() {
    let table = Table::builtin();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let types: Vec<Type> = table.types().map(|(id, _)| Type::Struct(id)).collect();
    for _ in 0..20_000 {
        let length = random(&mut state) % 64;
        let bytes: Vec<u8> = (0..length).map(|_| random(&mut state) as u8).collect();
        let _ = decode(&bytes);
        let ty = &types[random(&mut state) as usize % types.len()];
        if let Ok(value) = decode_message(Schema::new(&table, ty), &bytes) {
            encode_message(Schema::new(&table, ty), &value);
        }
    }
    // Real messages, damaged: these go deeper.
    for sample in data("objects.json").as_array().unwrap() {
        let bytes = STANDARD.decode(sample["protobuf"].as_str().unwrap()).unwrap();
        let envelope = decode(&bytes).unwrap();
        let Some(ty) = type_of(&table, &envelope.api_version, &envelope.kind) else { continue };
        for _ in 0..200 {
            let mut raw = envelope.raw.to_vec();
            for _ in 0..=random(&mut state) % 4 {
                let at = random(&mut state) as usize % raw.len();
                raw[at] = random(&mut state) as u8;
            }
            raw.truncate(raw.len() - random(&mut state) as usize % 8);
            if let Ok(value) = decode_message(Schema::new(&table, &ty), &raw) {
                let again = encode_message(Schema::new(&table, &ty), &value);
                assert!(decode_message(Schema::new(&table, &ty), &again).is_ok());
            }
        }
    }
}

#[test]
fn any_json_can_be_encoded() {
    let table = Table::builtin();
    let odd = [json!(null), json!(1.5), json!("x"), json!([[1]]), json!({"a": {"b": [null]}}), json!(true), json!(-1)];
    for (id, ty) in table.types() {
        let schema_type = Type::Struct(id);
        for value in &odd {
            let object: Value = ty.fields.iter().map(|f| (f.name.to_string(), value.clone())).collect();
            let bytes = encode_message(Schema::new(&table, &schema_type), &object);
            assert!(decode_message(Schema::new(&table, &schema_type), &bytes).is_ok(), "{} {value}", ty.name);
        }
    }
}
