//! Requests that no client should send, and the codes that kube-apiserver 1.37.1 answers them with.

const JSON: &str = "Content-Type: application/json";
const YAML: &str = "Content-Type: application/yaml";
const PROTOBUF: &str = "Content-Type: application/vnd.kubernetes.protobuf";
const JSON_PATCH: &str = "Content-Type: application/json-patch+json";
const MERGE: &str = "Content-Type: application/merge-patch+json";
const STRATEGIC: &str = "Content-Type: application/strategic-merge-patch+json";
const APPLY: &str = "Content-Type: application/apply-patch+yaml";

const MAPS: &str = "/api/v1/namespaces/abuse/configmaps";
const BASE: &str = "/api/v1/namespaces/abuse/configmaps/base";
const PODS: &str = "/api/v1/namespaces/abuse/pods?dryRun=All";

/// One request and the code of its answer.
pub struct Case {
    pub name: String,
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub code: u16,
}

struct Cases(Vec<Case>);

impl Cases {
    fn add(
        &mut self,
        code: u16,
        method: &'static str,
        path: impl Into<String>,
        headers: &[&str],
        body: impl Into<Vec<u8>>,
    ) {
        let (path, body) = (path.into(), body.into());
        let start: String = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let name = format!("{method} {} {headers:?} {start}", path.chars().take(120).collect::<String>());
        let headers = headers.iter().map(|h| (*h).to_owned()).collect();
        self.0.push(Case { name, method, path, headers, body, code });
    }

    fn list(&mut self, code: u16, query: impl AsRef<str>) {
        self.add(code, "GET", format!("{MAPS}?{}", query.as_ref()), &[], "");
    }
}

/// `depth` lists within each other.
pub fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn objects(depth: usize) -> String {
    "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)
}

/// A few lines of YAML that stand for a billion values.
pub fn bomb() -> String {
    let mut out = format!("a: &a [{}]\n", ["lol"; 9].join(","));
    for (from, to) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        out += &format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(","));
    }
    out
}

pub fn all() -> Vec<Case> {
    let mut cases = Cases(Vec::new());
    bodies(&mut cases);
    yaml(&mut cases);
    patches(&mut cases);
    writes(&mut cases);
    lists(&mut cases);
    paths(&mut cases);
    headers(&mut cases);
    pods(&mut cases);
    cases.0
}

fn bodies(cases: &mut Cases) {
    let deep = format!(r#"{{"metadata":{{"name":"deep"}},"x":{}}}"#, nested(10_001));
    for (code, body) in [
        (400, ""),
        (400, "   "),
        (400, r#"{"a":"#),
        (400, r#"{"metadata":{"name":"x"}}x"#),
        (400, r#"{"metadata":{"name":"x"}}{"metadata":{"name":"y"}}"#),
        (400, "[]"),
        (400, r#""x""#),
        (400, "12"),
        (400, "nul"),
        (400, "{'a': 1}"),
        (400, r#"{"a" 1}"#),
        (400, r#"{"a":1,}"#),
        (422, "null"),
        (422, "{}"),
        (400, r#"{"metadata":"x"}"#),
        (400, r#"{"metadata":[]}"#),
        (400, r#"{"metadata":{"name":5}}"#),
        (400, r#"{"metadata":{"name":"x","labels":{"a":5}}}"#),
        (400, r#"{"metadata":{"name":"x"},"data":[1]}"#),
        (400, r#"{"metadata":{"name":"x"},"immutable":1}"#),
        (400, r#"{"kind":5,"metadata":{"name":"x"}}"#),
        (400, r#"{"apiVersion":{},"metadata":{"name":"x"}}"#),
        (400, r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}"#),
        (400, r#"{"kind":"Foo","apiVersion":"v1","metadata":{"name":"x"}}"#),
        (400, r#"{"kind":"ConfigMap","apiVersion":"v9","metadata":{"name":"x"}}"#),
        (400, r#"{"kind":"ConfigMap","apiVersion":"a/b/c","metadata":{"name":"x"}}"#),
        (422, r#"{"metadata":{"name":"a\u0000b"}}"#),
        (400, "{\"metadata\":{\"name\":\"a\0b\"}}"),
        (422, r#"{"metadata":{"name":"a\r\nX-Evil: 1"}}"#),
        (422, r#"{"metadata":{"name":"a/b"}}"#),
        (422, r#"{"metadata":{"name":".."}}"#),
        (422, r#"{"metadata":{"name":"."}}"#),
        (422, r#"{"metadata":{"name":"a%2fb"}}"#),
        (422, r#"{"metadata":{"name":""}}"#),
        (400, r#"{"metadata":{"name":"x","generation":99999999999999999999999}}"#),
        (400, r#"{"metadata":{"name":"x","generation":1e400}}"#),
        (400, r#"{"metadata":{"name":"x","generation":1.5}}"#),
        (400, r#"{"metadata":{"name":"x","creationTimestamp":"x"}}"#),
        (400, r#"{"metadata":{"name":"x","namespace":"default"}}"#),
        (500, r#"{"metadata":{"name":"x","resourceVersion":"5"}}"#),
        (400, "\u{feff}{\"metadata\":{\"name\":\"x\"}}"),
        (400, &deep),
        (400, &"{\"a\":".repeat(100_000)),
        (201, r#"{"metadata":{"name":"unknown"},"foo":1,"a\r\nX-Evil: 1":1}"#),
        (201, r#"{"metadata":{"name":"double"},"data":{"a":"1","a":"2"}}"#),
    ] {
        cases.add(code, "POST", MAPS, &[JSON], body);
    }
    let named = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    cases.add(422, "POST", MAPS, &[JSON], named(&"a".repeat(300)));
    cases.add(
        422,
        "POST",
        MAPS,
        &[JSON],
        format!(r#"{{"metadata":{{"name":"big"}},"data":{{"a":"{}"}}}}"#, "x".repeat(1_048_577)),
    );
    cases.add(201, "POST", MAPS, &[JSON], *b"{\"metadata\":{\"name\":\"octets\"},\"data\":{\"a\":\"\xff\xfe\"}}");
    cases.add(422, "POST", MAPS, &[JSON], *b"{\"metadata\":{\"name\":\"\xff\"}}");
    cases.add(201, "POST", MAPS, &[JSON], *br#"{"metadata":{"name":"surrogate"},"data":{"a":"\ud800"}}"#);
    for (code, query) in [
        (422, "fieldValidation=Foo"),
        (422, "dryRun=Foo"),
        (422, "fieldManager=a%01b"),
        (422, &format!("fieldManager={}", "a".repeat(129))),
    ] {
        cases.add(code, "POST", format!("{MAPS}?{query}"), &[JSON], named("x"));
    }
    cases.add(400, "POST", format!("{MAPS}?fieldValidation=Strict"), &[JSON], r#"{"metadata":{"name":"x"},"foo":1}"#);
    cases.add(
        400,
        "POST",
        format!("{MAPS}?fieldValidation=Strict"),
        &[JSON],
        r#"{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}"#,
    );
    cases.add(415, "POST", MAPS, &["Content-Type: text/plain"], named("x"));
    cases.add(415, "POST", MAPS, &["Content-Type: ;;;"], named("x"));
    cases.add(415, "POST", MAPS, &["Content-Type: application/cbor"], *b"\xa0");
    for bytes in
        [&b"abc"[..], b"", b"k8s\0", b"k8s\0\xff\xff\xff", b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x7f"]
    {
        cases.add(400, "POST", MAPS, &[PROTOBUF], bytes);
    }
}

fn yaml(cases: &mut Cases) {
    let (deep, bomb) = (format!("x: {}", nested(10_001)), bomb());
    for (code, body) in [
        (400, "a: [\n"),
        (400, "foo"),
        (400, &deep),
        (400, &"[".repeat(100_000)),
        (400, &bomb),
        (400, "a: &a [*a]\n"),
        (400, "a: \"\0\"\n"),
        (400, "metadata: {name: 123}\n"),
        (201, "metadata: {name: yaml}\n"),
        (201, "metadata: {name: yaml-double}\ndata: {a: \"1\", a: \"2\"}\n"),
    ] {
        cases.add(code, "POST", MAPS, &[YAML], body);
    }
    cases.add(400, "POST", MAPS, &[YAML], *b"a: \"\xff\"\n");
}

fn patches(cases: &mut Cases) {
    let many = |count: usize| {
        let one = r#"{"op":"add","path":"/data/k","value":"v"}"#;
        format!("[{}]", vec![one; count].join(","))
    };
    let (most, more) = (many(10_000), many(10_001));
    let copies: Vec<String> =
        (0..30).map(|i| format!(r#"{{"op":"copy","from":"/data","path":"/data/c{i}"}}"#)).collect();
    let copies = format!("[{}]", copies.join(","));
    let long = format!(r#"[{{"op":"add","path":"{}","value":1}}]"#, "/a".repeat(100_000));
    let deep = format!(r#"[{{"op":"add","path":"/x","value":{}}}]"#, nested(10_001));
    for (code, body) in [
        (400, ""),
        (400, "{}"),
        (400, r#"["x"]"#),
        (422, r#"[{"op":"zap","path":"/a"}]"#),
        (422, r#"[{"op":"add"}]"#),
        (422, r#"[{"op":"remove","path":"/data/zz"}]"#),
        (422, r#"[{"op":"test","path":"/data/a","value":"no"}]"#),
        (200, &most),
        (413, &more),
        (422, &copies),
        (422, &long),
        (400, &deep),
        (422, r#"[{"op":"add","path":"/metadata/finalizers/99999999999999999999","value":"x"}]"#),
        (400, r#"[{"op":"replace","path":"","value":{}}]"#),
        (422, r#"[{"op":"replace","path":"/metadata","value":"x"}]"#),
        (422, r#"[{"op":"replace","path":"/metadata","value":[]}]"#),
        (400, r#"[{"op":"replace","path":"/metadata","value":null}]"#),
        (400, r#"[{"op":"remove","path":"/metadata/name"}]"#),
        (400, r#"[{"op":"replace","path":"/metadata/name","value":"zz"}]"#),
        (422, r#"[{"op":"add","path":"/data","value":5}]"#),
    ] {
        cases.add(code, "PATCH", BASE, &[JSON_PATCH], body);
    }
    let deep = objects(10_001);
    for (code, body) in [
        (400, ""),
        (400, "{"),
        (400, "[]"),
        (400, "\"x\""),
        (200, "{}"),
        (422, r#"{"data":5}"#),
        (422, r#"{"metadata":"x"}"#),
        (400, r#"{"metadata":null}"#),
        (400, r#"{"metadata":{"name":"zz"}}"#),
        (409, r#"{"metadata":{"resourceVersion":"1"}}"#),
        (500, r#"{"metadata":{"resourceVersion":"abc"}}"#),
        (500, r#"{"metadata":{"resourceVersion":"99999999999999999999999"}}"#),
        (400, &deep),
    ] {
        cases.add(code, "PATCH", BASE, &[MERGE], body);
    }
    for (code, body) in [(400, ""), (400, "{"), (400, "[]"), (200, "{}"), (400, &deep), (400, r#"{"metadata":null}"#)] {
        cases.add(code, "PATCH", BASE, &[STRATEGIC], body);
    }
    let bomb = bomb();
    for (code, body) in [
        (400, "x"),
        (400, "[]"),
        (400, "a: ["),
        (400, &"[".repeat(10_000)),
        (400, &bomb),
        (200, "{apiVersion: v1, kind: ConfigMap, metadata: {name: base}}"),
    ] {
        cases.add(code, "PATCH", format!("{BASE}?fieldManager=q"), &[APPLY], body);
    }
    cases.add(422, "PATCH", BASE, &[APPLY], "{}");
    cases.add(400, "PATCH", format!("{MAPS}/BAD_name?fieldManager=q"), &[APPLY], "{apiVersion: v1, kind: ConfigMap}");
    cases.add(415, "PATCH", BASE, &[JSON], "{}");
}

fn writes(cases: &mut Cases) {
    for (code, body) in [
        (400, ""),
        (400, "{}"),
        (400, r#"{"metadata":{"name":"zz"}}"#),
        (500, r#"{"metadata":{"name":"base","resourceVersion":"abc"}}"#),
        (500, r#"{"metadata":{"name":"base","resourceVersion":"99999999999999999999"}}"#),
        (500, r#"{"metadata":{"name":"base","resourceVersion":"-1"}}"#),
        (409, r#"{"metadata":{"name":"base","resourceVersion":"1"}}"#),
        (409, r#"{"metadata":{"name":"base","uid":"nope"}}"#),
        (200, r#"{"metadata":{"name":"base"},"data":{"a":"kept"}}"#),
        (200, r#"{"metadata":{"name":"base","resourceVersion":"0"},"data":{"a":"kept"}}"#),
    ] {
        cases.add(code, "PUT", BASE, &[JSON], body);
    }
    let nope = format!("{MAPS}/nope");
    cases.add(404, "PUT", &nope, &[JSON], r#"{"metadata":{"name":"nope"}}"#);
    cases.add(405, "PUT", MAPS, &[JSON], "{}");
    cases.add(405, "POST", BASE, &[JSON], "{}");
    cases.add(405, "PATCH", MAPS, &[MERGE], "{}");
    for (code, body) in [
        (400, "{"),
        (400, "[]"),
        (400, r#"{"kind":"Pod","apiVersion":"v1"}"#),
        (400, r#"{"gracePeriodSeconds":"x"}"#),
        (422, r#"{"propagationPolicy":"Zap"}"#),
        (404, "null"),
        (404, r#"{"gracePeriodSeconds":-5}"#),
    ] {
        cases.add(code, "DELETE", &nope, &[JSON], body);
    }
    for (code, body) in [
        (409, r#"{"preconditions":{"uid":"nope"}}"#),
        (409, r#"{"preconditions":{"resourceVersion":"nope"}}"#),
        (400, r#"{"preconditions":5}"#),
    ] {
        cases.add(code, "DELETE", BASE, &[JSON], body);
    }
    for (code, query) in [(400, "gracePeriodSeconds=abc"), (422, "propagationPolicy=abc"), (422, "dryRun=abc")] {
        cases.add(code, "DELETE", format!("{nope}?{query}"), &[], "");
    }
    for (code, query) in [(400, "labelSelector=%21%21"), (422, "dryRun=zz")] {
        cases.add(code, "DELETE", format!("{MAPS}?{query}"), &[], "");
    }
}

fn lists(cases: &mut Cases) {
    for (code, query) in [
        (400, "limit=abc"),
        (200, "limit=-1"),
        (400, "limit=99999999999999999999"),
        (400, "limit="),
        (200, "limit=%zz"),
        (400, "resourceVersion=abc"),
        (400, "resourceVersion=-1"),
        (400, "resourceVersion=%2B1"),
        (400, "resourceVersion=99999999999999999999"),
        (504, "resourceVersion=18446744073709551615"),
        (400, "continue=abc"),
        (400, "continue=%21%21"),
        (400, "continue=bnVsbA"),
        (400, "continue=e30"),
        (400, "continue=W10"),
        (422, "resourceVersionMatch=Foo"),
        (422, "resourceVersionMatch=Exact"),
        (422, "resourceVersionMatch=Exact&resourceVersion=0"),
        (422, "sendInitialEvents=true"),
        (400, "labelSelector=%21%21"),
        (400, "labelSelector=a%3D%3D%3Db"),
        (400, "labelSelector=a+in+%28"),
        (400, "labelSelector=%FF"),
        (400, "labelSelector=a/b/c"),
        (400, "labelSelector=%28"),
        (400, "fieldSelector=zap%3D1"),
        (400, "fieldSelector=metadata.name"),
        (400, "fieldSelector=metadata.name%3D%5C"),
        (400, "fieldSelector=metadata.name%3D%5Cx"),
        (400, "fieldSelector=metadata.name%3D%3D%3D"),
        (500, "watch=true&resourceVersion=abc"),
        (500, "watch=true&resourceVersion=-1"),
        (500, "watch=true&resourceVersion=99999999999999999999"),
        (400, "watch=true&timeoutSeconds=abc"),
        (400, "watch=1&timeoutSeconds=1&labelSelector=%21%21"),
        (400, "watch=1&timeoutSeconds=1&fieldSelector=zap%3D1"),
        (422, "watch=1&timeoutSeconds=1&resourceVersionMatch=Exact"),
        (422, "watch=1&timeoutSeconds=1&sendInitialEvents=true"),
        (422, "watch=1&timeoutSeconds=1&continue=abc"),
        (200, "watch=1&timeoutSeconds=1&limit=-1"),
        (200, "watch=1&timeoutSeconds=1&resourceVersion=9223372036854775807"),
        (200, "%zz=1&a=b;c=d&=&&&"),
    ] {
        cases.list(code, query);
    }
    let terms: Vec<String> = (0..6000).map(|i| format!("a{i}")).collect();
    cases.list(200, format!("labelSelector={}", terms.join(",")));
    cases.list(400, format!("labelSelector={}", "a".repeat(60_000)));
    // Upstream has room for a megabyte before the body; the URI type that ours is made with, for 64 KiB.
    cases.list(414, format!("labelSelector={}", "a,".repeat(250_000)));
    cases.list(431, format!("labelSelector={}", "a,".repeat(750_000)));
}

fn paths(cases: &mut Cases) {
    for (code, path) in [
        (404, format!("{MAPS}/a%2fb")),
        (404, "/api/v1/namespaces/a%2fb/configmaps".into()),
        (400, format!("{MAPS}/%2e%2e")),
        (400, format!("{MAPS}/.")),
        (404, "/api/v1/../../etc/passwd".into()),
        (404, format!("{MAPS}/a%00b")),
        (400, format!("{MAPS}/%zz")),
        (400, format!("{MAPS}/%")),
        (404, format!("{MAPS}/%ff%fe")),
        (404, format!("{MAPS}/{}", "a".repeat(5000))),
        (404, format!("{BASE}/zap")),
        (404, "/api/v1/namespaces/abuse/zaps".into()),
        (404, "/apis/zap/v1/x".into()),
        (404, "/api/v9/pods".into()),
        (404, "//api//v1//pods".into()),
        (404, "/zap".into()),
        (404, "/api/v1/configmaps/base".into()),
        (404, "/api/v1/namespaces/abuse/nodes".into()),
        (404, format!("/{}", "a".repeat(60_000))),
        (200, format!("{MAPS}/")),
    ] {
        cases.add(code, "GET", path, &[], "");
    }
    for (code, method, path) in [
        (405, "HEAD", MAPS),
        (405, "HEAD", BASE),
        (405, "OPTIONS", MAPS),
        (405, "TRACE", MAPS),
        (405, "ZAP", MAPS),
        (405, "get", MAPS),
        (405, "PROPFIND", "/api"),
        (405, "POST", "/api"),
        (405, "POST", "/version"),
        (405, "DELETE", "/api/v1/pods"),
        (405, "POST", "/api/v1/configmaps"),
        (405, "POST", "/api/v1/watch/namespaces/abuse/configmaps"),
    ] {
        cases.add(code, method, path, &[], "");
    }
}

fn headers(cases: &mut Cases) {
    let long = format!("X-A: {}", "a".repeat(900_000));
    let longer = format!("X-A: {}", "a".repeat(1_300_000));
    let many: Vec<String> = (0..900).map(|i| format!("X-{i}: a")).collect();
    for (code, header) in [
        (406, "Accept: text/html"),
        (200, "Accept: application/json;q=0"),
        (400, "zap"),
        (400, "X A: b"),
        (400, "X-A: a\0b"),
        (200, "Expect: 100-continue"),
        (200, "Upgrade: zap"),
        (200, &long),
        (431, &longer),
        (200, &many.join("\r\n")),
        (400, "Impersonate-Group: x"),
        (403, "Impersonate-User: zap"),
        (401, "Authorization: Bearer zap"),
        (401, "Authorization: Bearer a.b.c"),
        (401, "Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."),
        (403, "Authorization: Basic YTpi"),
        (403, "Authorization: zap zap zap"),
    ] {
        cases.add(code, "GET", BASE, &[header], "");
    }
}

fn pods(cases: &mut Cases) {
    let one = |rest: &str| format!(r#"{{"containers":[{{"name":"c","image":"i"{rest}}}]}}"#);
    let cpu = |quantity: &str| one(&format!(r#","resources":{{"requests":{{"cpu":{quantity}}}}}"#));
    for (code, spec) in [
        (422, "null".to_owned()),
        (400, r#""x""#.into()),
        (422, "{}".into()),
        (400, r#"{"containers":{}}"#.into()),
        (422, r#"{"containers":[null]}"#.into()),
        (400, r#"{"containers":["x"]}"#.into()),
        (422, cpu(r#""-1""#)),
        (400, cpu(r#""zap""#)),
        (400, one(r#","ports":[{"containerPort":99999999999}]"#)),
        (400, one(r#","ports":[{"containerPort":1.5}]"#)),
        (400, one(r#","livenessProbe":{"httpGet":{"port":{}}}"#)),
    ] {
        cases.add(code, "POST", PODS, &[JSON], format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#));
    }
}
