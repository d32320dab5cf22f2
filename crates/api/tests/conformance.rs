//! Every object of the conformance clusters decodes and converts.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use plimsoll_api::document::DocumentKind;
use plimsoll_api::{Cluster, Interner, Source};
use serde_json::Value;

fn clusters(file: &str) -> impl Iterator<Item = Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(file);
    let reader = BufReader::new(GzDecoder::new(std::fs::File::open(path).unwrap()));
    reader.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn decode_all(file: &str) -> usize {
    let mut names = Interner::new();
    let mut count = 0;
    for cluster in clusters(file) {
        for object in cluster["objects"].as_array().unwrap() {
            let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
            let kind = DocumentKind::find(version, kind).unwrap_or_else(|| panic!("{version} {kind}"));
            let document = kind.decode(object).unwrap_or_else(|e| panic!("{}: {e}: {object}", cluster["id"]));
            let converted = document.to_engine(&mut names).unwrap_or_else(|e| panic!("{}: {e}", cluster["id"]));
            let converted = converted.unwrap();
            assert_eq!(converted.kind().name(), kind.name());
            assert_eq!(&*converted.key().name, object["metadata"]["name"].as_str().unwrap());
            count += 1;
        }
    }
    count
}

#[test]
fn volumes() {
    assert_eq!(decode_all("volumes.jsonl.gz"), 14_134);
}

#[test]
fn general() {
    assert_eq!(decode_all("general.jsonl.gz"), 3_190);
}

#[test]
fn workloads() {
    assert_eq!(decode_all("workloads.jsonl.gz"), 9_851);
}

#[test]
fn scores() {
    assert_eq!(decode_all("scores.jsonl.gz"), 7_497);
}

/// Objects that went through an API server are read as they are: filling in what is absent changes nothing.
fn read_is_faithful(file: &str) {
    for cluster in clusters(file) {
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": cluster["objects"]}).to_string();
        let loaded = Cluster::read(&[Source { name: file, text: &list }]).unwrap_or_else(|e| panic!("{}", e[0]));
        assert_eq!(loaded.notes, vec![], "{}", cluster["id"]);
        let mut names = Interner::new();
        let objects = cluster["objects"].as_array().unwrap().iter();
        let direct: Vec<_> = objects
            .map(|object| {
                let kind = DocumentKind::find(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
                kind.unwrap().decode(object).unwrap().to_engine(&mut names).unwrap().unwrap()
            })
            .collect();
        for (read, direct) in loaded.objects.iter().zip(&direct) {
            assert_eq!(read, direct, "{}", cluster["id"]);
        }
        assert_eq!(loaded.objects.len(), direct.len(), "{}", cluster["id"]);
    }
}

#[test]
fn stored_volumes_are_read_as_they_are() {
    read_is_faithful("volumes.jsonl.gz");
}

#[test]
fn stored_resources_are_read_as_they_are() {
    read_is_faithful("general.jsonl.gz");
}

#[test]
fn stored_workloads_are_read_as_they_are() {
    read_is_faithful("workloads.jsonl.gz");
}

#[test]
fn stored_scores_are_read_as_they_are() {
    read_is_faithful("scores.jsonl.gz");
}

/// The same clusters as YAML: both ways of reading give the same objects.
#[test]
fn yaml_and_json_read_alike() {
    for cluster in clusters("workloads.jsonl.gz").chain(clusters("scores.jsonl.gz")).step_by(10) {
        let objects = cluster["objects"].as_array().unwrap();
        let json: Vec<String> = objects.iter().map(ToString::to_string).collect();
        // JSON between `---` lines is read as YAML.
        let (lines, yaml) = (json.join("\n"), format!("---\n{}", json.join("\n---\n")));
        let read = |text: &str| Cluster::read(&[Source { name: "f", text }]).unwrap_or_else(|e| panic!("{}", e[0]));
        assert_eq!(read(&lines).objects, read(&yaml).objects, "{}", cluster["id"]);
    }
}
