//! Input that is cut off, garbled or made up is an error or an object, never a panic.

use plimsoll_api::{Cluster, Source};
use proptest::prelude::*;

const GOOD: &str = r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: x, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
      tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
---
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"capacity": {"storage": "5Gi"}}},
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4, "pods": "110"}}}]}
"#;

fn read(text: &str) {
    if let Err(errors) = Cluster::read(&[Source { name: "f", text }]) {
        assert!(!errors.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn garbled(at in 0..GOOD.len(), len in 0usize..20, with in "[-{}\\[\\]:,\"'&*|>#%@!?a-z0-9 \n\t\u{e9}]{0,8}") {
        let end = (at + len).min(GOOD.len());
        read(&format!("{}{with}{}", &GOOD[..at], &GOOD[end..]));
    }

    #[test]
    fn cut_off(at in 0..GOOD.len()) {
        read(&GOOD[..at]);
        read(&GOOD[at..]);
    }

    #[test]
    fn made_up(text in "[-{}\\[\\]:,\"'&*|>#%@!?a-z0-9 \n]{0,200}") {
        read(&text);
    }

    #[test]
    fn odd_values(value in prop_oneof!["-?[0-9]{1,40}", "[0-9]{1,5}e[0-9]{1,5}", "null", "\\[\\]", "\\{\\}", "true", "\"\"", "1.5", "~"],
                  field in prop::sample::select(vec!["replicas: 2", "cpu: 500m", "storage: 10Gi", "name: db", "app: db", "kind: StatefulSet", "apps/v1"])) {
        let (key, _) = field.split_once(": ").unwrap_or(("", field));
        let replacement = if key.is_empty() { value } else { format!("{key}: {value}") };
        read(&GOOD.replace(field, &replacement));
    }
}
