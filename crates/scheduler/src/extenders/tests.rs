//! What is asked, and what is made of the answers. The network is in the last tests only.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use plimsoll_engine::model::{Container, Pod};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::config::extender::ManagedResource;

fn config(ignorable: bool) -> ExtenderConfig {
    ExtenderConfig {
        url_prefix: "http://e/root/".to_owned(),
        filter_verb: Some("filter".to_owned()),
        preempt_verb: Some("preempt".to_owned()),
        prioritize_verb: Some("prioritize".to_owned()),
        weight: 3,
        bind_verb: Some("bind".to_owned()),
        tls: None,
        timeout: Duration::from_secs(5),
        node_cache_capable: true,
        managed_resources: Vec::new(),
        ignorable,
    }
}

type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// One that answers every question with the same, and what it was asked.
fn extender(config: ExtenderConfig, code: u16, answer: Value) -> (Extender, Asked) {
    let asked: Asked = Arc::default();
    let seen = asked.clone();
    let transport: Transport = Arc::new(move |request| {
        let body = serde_json::from_slice(request.body()).unwrap();
        seen.lock().unwrap().push((request.uri().to_string(), body));
        let answer = (StatusCode::from_u16(code).unwrap(), Bytes::from(answer.to_string()));
        async move { Ok(answer) }.boxed()
    });
    (Extender::new(config, transport), asked)
}

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| Name::from(*name)).collect()
}

fn pod() -> Pod {
    Pod::named("default", "p")
}

fn whole(name: &Name) -> Option<Value> {
    Some(json!({"metadata": {"name": &**name}}))
}

fn case(pod: &Pod) -> Case<'_> {
    Case { pod, whole: json!({"metadata": {"name": "p"}}), node: &whole, calls: crate::traces::Calls::default() }
}

#[tokio::test]
async fn filters_ask_one_after_the_other_what_the_last_left() {
    let (first, asked_first) =
        extender(config(false), 200, json!({"NodeNames": ["a", "b"], "FailedNodes": {"c": "full"}}));
    let whole = ExtenderConfig { node_cache_capable: false, ..config(false) };
    let answer = json!({"nodes": {"items": [{"metadata": {"name": "b"}}]}, "failedAndUnresolvableNodes": {"a": "never"},
        "failedNodes": {"a": "not now"}, "error": ""});
    let (second, asked_second) = extender(whole, 200, answer);
    let extenders = Extenders::from(vec![first, second]);
    let left = extenders.filter(&case(&pod()), names(&["a", "b", "c", "d"])).await.unwrap();
    assert_eq!(left.nodes, names(&["b"]));
    let refused = |why: &str, helps| (why.to_owned(), helps);
    let expected = [("a", refused("never", false)), ("c", refused("full", true)), ("d", refused("", true))];
    assert_eq!(left.refused, expected.into_iter().map(|(node, why)| (Name::from(node), why)).collect());
    let pod = json!({"metadata": {"name": "p"}});
    let args = json!({"Pod": pod, "Nodes": null, "NodeNames": ["a", "b", "c", "d"]});
    assert_eq!(*asked_first.lock().unwrap(), [("http://e/root/filter".to_owned(), args)]);
    let items = json!([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]);
    let args = json!({"Pod": pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": null});
    assert_eq!(asked_second.lock().unwrap()[0].1, args);
}

#[tokio::test]
async fn a_failure_is_the_pods_unless_the_extender_may_be_ignored() {
    let pod = pod();
    let wrong = [
        (500, json!({}), "failed filter with extender at URL http://e/root/filter, code 500"),
        (200, json!({"Error": "no idea"}), "no idea"),
        (
            200,
            json!({"NodeNames": ["x"]}),
            "extender \"http://e/root/\" claims a filtered node \"x\" which is not found in the input node list",
        ),
    ];
    for (code, answer, expected) in wrong {
        let (extender, _) = extender(config(false), code, answer.clone());
        let error = Extenders::from(vec![extender]).filter(&case(&pod), names(&["a"])).await.unwrap_err();
        assert_eq!(error, expected);
        let (extender, _) = self::extender(config(true), code, answer);
        let left = Extenders::from(vec![extender]).filter(&case(&pod), names(&["a"])).await.unwrap();
        assert_eq!(left, Left { nodes: names(&["a"]), refused: BTreeMap::new() });
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_not_waited_for_longer_than_configured() {
    let silent: Transport = Arc::new(|_| std::future::pending().boxed());
    let extenders = Extenders::from(vec![Extender::new(config(false), silent)]);
    let began = tokio::time::Instant::now();
    let error = extenders.filter(&case(&pod()), names(&["a"])).await.unwrap_err();
    assert_eq!(error, "Post \"http://e/root/filter\": no answer within 5000 ms");
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}

#[tokio::test]
async fn scores_are_weighed_scaled_and_added() {
    let (first, _) = extender(config(false), 200, json!([{"Host": "a", "Score": 7}, {"host": "b", "score": 10}]));
    let (second, _) = extender(ExtenderConfig { weight: 1, ..config(false) }, 200, json!([{"Host": "a", "Score": 1}]));
    // A failure is never the pod's here.
    let (third, _) = extender(config(false), 500, json!([]));
    let extenders = Extenders::from(vec![first, second, third]);
    let added = extenders.prioritize(&case(&pod()), &names(&["a", "b"])).await;
    assert_eq!(added, BTreeMap::from([("a".to_owned(), 7 * 3 * 10 + 10), ("b".to_owned(), 300)]));
}

#[tokio::test]
async fn the_first_that_binds_does() {
    let silent = ExtenderConfig { bind_verb: None, ..config(false) };
    let (first, asked_first) = extender(silent, 200, json!({}));
    let (second, asked) = extender(config(false), 200, json!({"Error": "taken"}));
    let extenders = Extenders::from(vec![first, second]);
    let mut pod = pod();
    pod.uid = Name::from("u");
    assert_eq!(extenders.bound(&pod, "a").await, Some(Err("taken".to_owned())));
    assert!(asked_first.lock().unwrap().is_empty());
    let args = json!({"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "a"});
    assert_eq!(*asked.lock().unwrap(), [("http://e/root/bind".to_owned(), args)]);
    // One that may be ignored leaves it to us.
    let (ignorable, _) = extender(config(true), 503, json!({}));
    assert_eq!(Extenders::from(vec![ignorable]).bound(&pod, "a").await, None);
}

#[tokio::test]
async fn victims_are_sent_by_uid_or_whole_and_come_back_by_uid() {
    let victims = |uids: &[&str]| Victims { uids: uids.iter().map(|uid| (*uid).to_owned()).collect(), violations: 1 };
    let candidates = BTreeMap::from([(Name::from("a"), victims(&["1", "2"])), (Name::from("b"), victims(&["3"]))]);
    let answer = json!({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "2"}], "NumPDBViolations": 1}}});
    let (by_uid, asked) = extender(config(false), 200, answer.clone());
    let (by_object, asked_whole) = extender(ExtenderConfig { node_cache_capable: false, ..config(false) }, 200, answer);
    let extenders = Extenders::from(vec![by_uid, by_object]);
    let whole = BTreeMap::from([("2".to_owned(), json!({"metadata": {"uid": "2"}}))]);
    let pod = pod();
    let left = extenders.preempted(&case(&pod), candidates.clone(), &whole).await.unwrap();
    assert_eq!(left, BTreeMap::from([(Name::from("a"), victims(&["2"]))]));
    let sent = json!({"a": {"Pods": [{"UID": "1"}, {"UID": "2"}], "NumPDBViolations": 1},
        "b": {"Pods": [{"UID": "3"}], "NumPDBViolations": 1}});
    let args = json!({"Pod": {"metadata": {"name": "p"}}, "NodeNameToVictims": null, "NodeNameToMetaVictims": sent});
    assert_eq!(*asked.lock().unwrap(), [("http://e/root/preempt".to_owned(), args)]);
    let sent = json!({"a": {"Pods": [{"metadata": {"uid": "2"}}], "NumPDBViolations": 1}});
    assert_eq!(asked_whole.lock().unwrap()[0].1["NodeNameToVictims"], sent);
    // A node without victims is a mistake, or left out where that does not matter.
    let answer = json!({"NodeNameToMetaVictims": {"a": {"Pods": null}}});
    let (strict, _) = extender(config(false), 200, answer.clone());
    let error = Extenders::from(vec![strict]).preempted(&case(&pod), candidates.clone(), &whole).await.unwrap_err();
    assert_eq!(error, "expected at least one victim pod on node \"a\"");
    let (lenient, _) = extender(config(true), 200, answer);
    let left = Extenders::from(vec![lenient]).preempted(&case(&pod), candidates, &whole).await.unwrap();
    assert!(left.is_empty());
}

#[test]
fn managed_resources_say_which_pods_an_extender_is_asked_about() {
    let managed = vec![ManagedResource { name: "example.com/device".to_owned(), ignored_by_scheduler: true }];
    let (extender, _) = extender(ExtenderConfig { managed_resources: managed, ..config(false) }, 200, json!({}));
    let extenders = Extenders::from(vec![extender]);
    let mut pod = pod();
    assert!(!extenders.concern(&pod));
    let mut container = Container::default();
    container.requests.insert(Name::from("example.com/device"), "1".parse().unwrap());
    pod.demand.init_containers.push(container);
    assert!(extenders.concern(&pod));
    assert!(!Extenders::default().concern(&pod));
}

/// A server of one answer, on a real socket and so in real time.
#[tokio::test]
async fn an_extender_is_reached_over_the_network() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).await.unwrap();
            request.extend_from_slice(&part[..read]);
        }
        let body = "{\"NodeNames\":[\"a\"]}";
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    let configs = [ExtenderConfig { url_prefix: format!("http://{address}"), ..config(false) }];
    let extenders = Extenders::new(&configs).unwrap();
    let left = extenders.filter(&case(&pod()), names(&["a", "b"])).await.unwrap();
    assert_eq!(left.nodes, names(&["a"]));
    let request = server.await.unwrap();
    assert!(request.starts_with("POST /filter HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/json"), "{request}");
    // Nobody answers there any more.
    let error = extenders.filter(&case(&pod()), names(&["a"])).await.unwrap_err();
    assert!(error.starts_with(&format!("Post \"http://{address}/filter\": ")), "{error}");
}

#[test]
fn a_wrong_certificate_is_found_at_the_start() {
    use crate::config::extender::{ExtenderTls, Pem};
    let tls = ExtenderTls { ca: Some(Pem::Data(b"nothing".to_vec())), ..ExtenderTls::default() };
    let error = Extenders::new(&[ExtenderConfig { tls: Some(tls), ..config(false) }]).unwrap_err();
    assert_eq!(error, "extender http://e/root/: 7 bytes holds no certificate");
    let tls = ExtenderTls { ca: Some(Pem::File("/not/there".into())), ..ExtenderTls::default() };
    let error = Extenders::new(&[ExtenderConfig { tls: Some(tls), ..config(false) }]).unwrap_err();
    assert!(error.starts_with("extender http://e/root/: /not/there: "), "{error}");
    let insecure =
        ExtenderTls { insecure: true, server_name: Some("e.example.com".to_owned()), ..ExtenderTls::default() };
    assert!(Extenders::new(&[ExtenderConfig { tls: Some(insecure), ..config(false) }]).is_ok());
}
