use std::sync::Arc;

use super::{Limits, ManifestError, Read, Sink, Source, read};
use crate::document::Document;

#[derive(Default)]
struct Collected {
    objects: Vec<Read>,
    skipped: Vec<String>,
    errors: Vec<ManifestError>,
}

impl Sink for Collected {
    fn object(&mut self, read: Read) {
        self.objects.push(read);
    }
    fn skipped(&mut self, _: &Arc<str>, api_version: &str, kind: &str) {
        self.skipped.push(format!("{api_version} {kind}"));
    }
    fn error(&mut self, error: ManifestError) {
        self.errors.push(error);
    }
}

fn collect(text: &str) -> Collected {
    let mut sink = Collected::default();
    read(Source { name: "f", text }, Limits::default(), &mut sink);
    sink
}

/// Kind and name of everything that is read, in order.
#[track_caller]
fn check(text: &str, expected: &[&str]) -> Collected {
    let got = collect(text);
    assert_eq!(got.errors, vec![], "{text}");
    let names: Vec<String> =
        got.objects.iter().map(|r| format!("{} {}", r.document.kind().name(), r.document.meta().name)).collect();
    assert_eq!(names, expected, "{text}");
    got
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let got = collect(text);
    let errors: Vec<String> = got.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, [expected], "{text}");
}

#[test]
fn documents_are_separated_by_dashes() {
    let text = "# a comment\n---\napiVersion: v1\nkind: Node\nmetadata: {name: a}\n--- # next\napiVersion: v1\nkind: Node\nmetadata:\n  name: b\n---\n\n---\n";
    check(text, &["Node a", "Node b"]);
    check(&text.replace('\n', "\r\n"), &["Node a", "Node b"]);
    check("\u{feff}apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", &["Node a"]);
}

#[test]
fn json_in_all_its_forms() {
    let node = |name: &str| format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}"}}}}"#);
    check(&node("a"), &["Node a"]);
    check(&format!("{}\n{}\n", node("a"), node("b")), &["Node a", "Node b"]);
    check(&format!("[{}, {}]", node("a"), node("b")), &["Node a", "Node b"]);
    check(&format!("{}\n---\n{}", node("a"), node("b")), &["Node a", "Node b"]);
    check("{apiVersion: v1, kind: Node, metadata: {name: a}}", &["Node a"]);
    check("", &[]);
}

#[test]
fn lists_of_both_sorts() {
    let list =
        r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}"#;
    check(list, &["Pod p"]);
    // What an API server returns: the items have no kind of their own.
    check(r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}}]}"#, &["Pod p"]);
    check(r#"{"kind":"PodList","apiVersion":"v1","items":null}"#, &[]);
    // kubectl writes `kind` after `items`.
    check("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\nkind: List\n", &["Pod p"]);
    let typed = "apiVersion: storage.k8s.io/v1\nitems:\n- metadata: {name: c}\nkind: StorageClassList\n";
    check(typed, &["StorageClass c"]);
}

#[test]
fn kinds_that_are_not_read_are_skipped() {
    let got = check("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n", &[]);
    assert_eq!(got.skipped, ["v1 ConfigMap"]);
    // The same name in another group is another kind.
    let got = check("apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet\nmetadata: {name: c}\n", &[]);
    assert_eq!(got.skipped, ["apps.kruise.io/v1beta1 StatefulSet"]);
    check(
        "apiVersion: storage.k8s.io/v1beta1\nkind: CSIStorageCapacity\nmetadata: {name: c}\n",
        &["CSIStorageCapacity c"],
    );
}

#[test]
fn errors_name_the_place_and_do_not_hide_the_rest() {
    check_error(
        "kind: Node\nmetadata: {name: a}\nspec: {taints: 3}\napiVersion: v1\n",
        "f: document 1, line 1: Node a: spec.taints: invalid type: integer `3`, expected a sequence",
    );
    check_error(
        "apiVersion: v1\nkind: Node\n---\n- 1\n",
        "f: document 2, line 3: invalid type: sequence, expected a Kubernetes object",
    );
    check_error(
        "{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\n\"spec\":{\"priority\":\"high\"}}",
        "f: document 1, line 3: Pod p: spec.priority: invalid type: string \"high\", expected i32",
    );
    check_error(
        "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\"apiVersion\":\"v1\"},\n{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":7}]}",
        "f: document 1, item 2, line 3: invalid type: integer `7`, expected struct HeaderMeta",
    );
    check_error("{\"apiVersion\":\"v1\",\n\"kind\":", "f: document 1, line 2: EOF while parsing a value");
    check_error("metadata: {name: a}\n", "f: document 1, line 1: kind: is missing: not a Kubernetes object");
    let got = collect("apiVersion: v1\nkind: [\n---\napiVersion: v1\nkind: Node\nmetadata: {name: b}\n");
    assert_eq!((got.objects.len(), got.errors.len()), (1, 1));
}

#[test]
fn numbers_and_nulls_are_read_as_the_api_server_does() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: null, annotations: ~}\nspec:\n  nodeSelector:\n  containers:\n  - name: c\n    ports: null\n    resources: {requests: {cpu: 0.5, memory: 1e9, a.b/c: 3, ephemeral-storage: 1Gi}}\n";
    let got = check(text, &["Pod p"]);
    let Document::Pod(pod) = &got.objects[0].document else { panic!("not a pod") };
    let requests = pod.spec.containers[0].resources.requests.as_ref().unwrap();
    let written: Vec<&str> = requests.0.iter().map(|(_, q)| q.0.as_str()).collect();
    assert_eq!(written, ["3", "0.5", "1Gi", "1000000000"]);
}

#[test]
fn anchors_work_and_cannot_explode() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: &l {a: b}}\nspec:\n  nodeSelector: *l\n";
    let got = check(text, &["Pod p"]);
    let Document::Pod(pod) = &got.objects[0].document else { panic!("not a pod") };
    assert_eq!(pod.spec.node_selector.get("a"), Some("b"));

    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: &l {a: b, c: d}}\nspec: {nodeSelector: {<<: *l, a: x}}\n";
    let got = check(text, &["Pod p"]);
    let Document::Pod(pod) = &got.objects[0].document else { panic!("not a pod") };
    let selector = &pod.spec.node_selector;
    assert_eq!((selector.get("a"), selector.get("c"), selector.0.len()), (Some("x"), Some("d"), 2));

    let mut bomb = "apiVersion: v1\nkind: ConfigMap\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for i in 1..12 {
        let before = format!("*a{}", i - 1);
        bomb += &format!("a{i}: &a{i} [{}]\n", vec![before; 10].join(","));
    }
    assert_eq!(collect(&bomb).errors.len(), 1);
}

#[test]
fn input_is_limited() {
    let deep = format!("apiVersion: v1\nkind: ConfigMap\na: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(collect(&deep).errors.len(), 1);
    let deep = format!(r#"{{"apiVersion":"v1","kind":"Node","spec":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(collect(&deep).errors.len(), 1);
    let mut sink = Collected::default();
    let limits = Limits { max_bytes: 10, ..Limits::default() };
    read(Source { name: "f", text: "kind: Node # long" }, limits, &mut sink);
    assert_eq!(sink.errors[0].to_string(), "f: document 1: 17 bytes are more than the limit of 10");
}
