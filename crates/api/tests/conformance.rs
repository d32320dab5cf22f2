//! Every object of the conformance clusters decodes and converts.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use plimsoll_api::Interner;
use plimsoll_api::document::DocumentKind;
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
