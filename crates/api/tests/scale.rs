//! How reading grows: run with `cargo test -p plimsoll-api --release --test scale -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement, run by hand")]

use std::fmt::Write;
use std::time::Instant;

use plimsoll_api::{Cluster, Source};

#[test]
#[ignore = "a measurement"]
fn half_a_million_volumes() {
    let mut text = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    for i in 0..500_000 {
        let comma = if i == 0 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"pv-{i}","uid":"{i:032}","annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"{blank:500}"}},"labels":{{"topology.kubernetes.io/zone":"zone-{z}"}}}},"spec":{{"capacity":{{"storage":"10Gi"}},"accessModes":["ReadWriteOnce"],"storageClassName":"fast","csi":{{"driver":"d.example.com","volumeHandle":"h-{i}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"topology.kubernetes.io/zone","operator":"In","values":["zone-{z}"]}}]}}]}}}}}},"status":{{"phase":"Available"}}}}"#,
            z = i % 50,
            blank = "",
        )
        .unwrap();
    }
    text.push_str("]}");
    let begin = Instant::now();
    let loaded = Cluster::read(&[Source { name: "f", text: &text }]).unwrap();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = memory.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default();
    println!("{} objects from {} MB in {:?}; {peak}", loaded.objects.len(), text.len() >> 20, begin.elapsed());
}
