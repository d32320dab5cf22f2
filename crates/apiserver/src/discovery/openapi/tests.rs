use super::*;

/// Hashes of the documents of kube-apiserver 1.37.1, taken after the texts were left out as below.
const PUBLISHED: &str = include_str!("../../../tests/data/openapi/digests.json");

/// Takes out the texts: descriptions and titles.
fn without_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| !(matches!(key.as_str(), "description" | "title") && value.is_string()));
            fields.values_mut().for_each(without_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(without_texts),
        _ => {}
    }
}

#[test]
fn documents_say_what_the_published_ones_say() {
    let published: BTreeMap<String, String> = serde_json::from_str(PUBLISHED).expect("digests");
    let documents = Documents::new(&Registry::new(Vec::new()));
    let places: Vec<&String> = documents.all.keys().collect();
    assert_eq!(places, published.keys().collect::<Vec<_>>());
    let mut others = Vec::new();
    for (place, document) in &documents.all {
        let mut value: Value = serde_json::from_slice(&document.bytes).expect(place);
        without_texts(&mut value);
        let bytes = serde_json::to_vec(&value).expect(place);
        let hash: String = sha2::Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        if published.get(place) != Some(&hash) {
            others.push(place);
        }
    }
    assert!(others.is_empty(), "other than published: {others:?}");
}

#[test]
fn every_reference_leads_somewhere() {
    for (place, document) in &Documents::new(&Registry::new(Vec::new())).all {
        let value: Value = serde_json::from_slice(&document.bytes).expect(place);
        let mut names = Vec::new();
        components::references(&value, &mut names);
        for name in names {
            assert!(value["components"]["schemas"].get(&name).is_some(), "{place}: {name}");
        }
    }
}

#[test]
fn the_index_names_each_document_under_its_hash() {
    let documents = Documents::new(&Registry::new(Vec::new()));
    let index: Value = serde_json::from_slice(&documents.index).expect("index");
    let paths = index["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), documents.all.len());
    let apps = documents.all.get("apis/apps/v1").expect("apps");
    assert_eq!(paths["apis/apps/v1"]["serverRelativeURL"], format!("/openapi/v3/apis/apps/v1?hash={}", apps.hash));
}

fn request(uri: &str, headers: &[(http::HeaderName, &str)]) -> Parts {
    let mut request = http::Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(()).expect("request").into_parts().0
}

#[test]
fn a_document_is_sent_once_and_known_by_its_hash() {
    let document = Document { bytes: Bytes::from_static(b"{}"), hash: "AB".into() };
    let cases = [
        // asked hash, known tag, code, whether it may be kept
        (None, "", 200, false),
        (Some("AB"), "", 200, true),
        (Some("CD"), "", 301, false),
        (None, "\"AB\"", 304, false),
        (Some("AB"), "\"AB\"", 304, true),
        (None, "\"CD\"", 200, false),
    ];
    for (asked, known, code, kept) in cases {
        let parts = request("/openapi/v3/api/v1", &[(IF_NONE_MATCH, known)]);
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().expect("time");
        let response = sent(&document, "api/v1", asked, &parts, now);
        assert_eq!(response.status(), code, "{asked:?} {known}");
        assert_eq!(response.headers()[ETAG], "\"AB\"");
        let expires = response.headers().get(EXPIRES).map(|v| v.to_str().expect("text"));
        assert_eq!(expires, kept.then_some("Tue, 16 Nov 2027 02:00:00 UTC"));
        if code == 301 {
            assert_eq!(response.headers()[LOCATION], "/openapi/v3/api/v1?hash=AB");
        }
    }
}

#[test]
fn json_is_the_one_form() {
    let cases = [
        ("", true),
        ("application/json", true),
        ("application/json, */*", true),
        ("application/*", true),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", false),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf, application/json;q=0.5", true),
        ("text/html", false),
    ];
    for (accept, taken) in cases {
        assert_eq!(takes_json(&request("/", &[(ACCEPT, accept)]).headers), taken, "{accept}");
    }
    assert!(takes_json(&HeaderMap::new()));
}

#[test]
fn operations_are_spelt_as_upstream_spells_them() {
    for (group, expected) in [
        ("", "Core"),
        ("apps", "Apps"),
        ("rbac.authorization.k8s.io", "RbacAuthorization"),
        ("flowcontrol.apiserver.k8s.io", "FlowcontrolApiserver"),
        ("openapi-task.example.com", "OpenapiTaskExampleCom"),
    ] {
        assert_eq!(paths::word(paths::group_name(group), true), expected);
    }
}
