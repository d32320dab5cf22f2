//! Selecting and deleting.

use serde_json::json;

use super::*;
use crate::kind::Kind;

#[test]
fn field_labels() {
    for (kind, label, answer) in [
        (Kind::new("", "v1", "Pod"), "spec.host", Ok("spec.nodeName")),
        (Kind::new("", "v1", "Pod"), "status.phase", Ok("status.phase")),
        (Kind::new("", "v1", "Pod"), "x", Err("field label not supported: x")),
        (Kind::new("", "v1", "Node"), "metadata.namespace", Err("field label not supported: metadata.namespace")),
        (Kind::new("apps", "v1", "Deployment"), "metadata.namespace", Ok("metadata.namespace")),
        (
            Kind::new("apps", "v1", "Deployment"),
            "x",
            Err("\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ),
        (Kind::new("batch", "v1", "Job"), "x", Err("field label \"x\" not supported for Job")),
        (
            Kind::new("resource.k8s.io", "v1", "ResourceSlice"),
            "x",
            Err("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x"),
        ),
    ] {
        assert_eq!(field_label(kind, label), answer.map_err(str::to_owned));
    }
}

#[test]
fn fields_of_objects() {
    let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "w"}, "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]}});
    let fields = selectable_fields(Kind::new("", "v1", "Pod"), &pod);
    for (field, value) in [
        ("metadata.name", "p"),
        ("spec.nodeName", "w"),
        ("spec.hostNetwork", "false"),
        ("status.podIP", "1.2.3.4"),
        ("status.podIPs", ""),
    ] {
        assert!(fields.contains(&(field, value.to_owned())), "{field} {fields:?}");
    }
    let event = json!({"metadata": {"name": "e"}, "reportingComponent": "c", "involvedObject": {"kind": "Pod"}});
    let fields = selectable_fields(Kind::new("", "v1", "Event"), &event);
    assert!(fields.contains(&("source", "c".into())) && fields.contains(&("involvedObject.kind", "Pod".into())));
}

#[test]
fn grace() {
    let kind = Kind::new("", "v1", "Pod");
    let pod = |node: &str, phase: &str| json!({"spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}, "status": {"phase": phase}});
    for (pod, asked, period) in [
        (pod("", "Pending"), None, 0),
        (pod("n", "Running"), None, 30),
        (pod("n", "Running"), Some(5), 5),
        (pod("n", "Running"), Some(-1), 1),
        (pod("n", "Failed"), Some(5), 0),
    ] {
        assert_eq!(graceful_delete(kind, &pod, asked), Some(period));
    }
    assert_eq!(graceful_delete(Kind::new("apps", "v1", "Deployment"), &json!({}), Some(5)), None);
}

#[test]
fn custom_resources() {
    let mut new = json!({"metadata": {"name": "x"}, "spec": {"a": 1}, "status": {"b": 2}});
    prepare_custom_create(&mut new, true);
    assert_eq!(new, json!({"metadata": {"name": "x", "generation": 1}, "spec": {"a": 1}}));
    let old =
        json!({"metadata": {"name": "x", "generation": 1, "labels": {"l": "m"}}, "spec": {"a": 1}, "status": {"b": 2}});
    for (subresource, input, output) in [
        (
            "",
            json!({"metadata": {"name": "x"}, "spec": {"a": 1}}),
            json!({"metadata": {"name": "x", "generation": 1}, "spec": {"a": 1}, "status": {"b": 2}}),
        ),
        (
            "",
            json!({"metadata": {"name": "x"}, "spec": {"a": 2}}),
            json!({"metadata": {"name": "x", "generation": 2}, "spec": {"a": 2}, "status": {"b": 2}}),
        ),
        (
            "status",
            json!({"metadata": {"name": "x", "labels": {"n": "o"}}, "spec": {"a": 2}, "status": {"b": 3}}),
            json!({"metadata": {"name": "x", "generation": 1, "labels": {"l": "m"}}, "spec": {"a": 1}, "status": {"b": 3}}),
        ),
    ] {
        let mut new = input;
        prepare_custom_update(subresource, &mut new, &old, true);
        assert_eq!(new, output);
    }
}
