use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn object(name: &str, uid: &str) -> Value {
    json!({ "metadata": { "name": name, "uid": uid } })
}

fn claims() -> Claims {
    Claims {
        namespace: "ns".into(),
        account: Reference { name: "bot".into(), uid: "u1".into() },
        audiences: vec!["api".into(), "other".into()],
        seconds: 600,
        id: "id-1".into(),
        ..Claims::default()
    }
}

fn issuer() -> Issuer {
    Issuer::new("https://kubernetes.default.svc", &["api".to_owned()], b"secret")
}

fn wanted() -> Vec<String> {
    vec!["api".into()]
}

fn exists(resource: &str, _: &str, name: &str) -> Option<Value> {
    let uid = if resource == "serviceaccounts" { "u1" } else { "u2" };
    Some(object(name, uid))
}

#[test]
fn a_token_is_its_account() {
    let issuer = issuer();
    let pod = Some(Reference { name: "p".into(), uid: "u2".into() });
    let node = Some(Reference { name: "n".into(), uid: String::new() });
    let token = issuer.issue(&Claims { pod, node, ..claims() }, at(1000));
    let proof = issuer.authenticate(&token, &wanted(), at(1000), &exists).unwrap();
    assert_eq!(proof.audiences, ["api"]);
    let want = json!({
        "username": "system:serviceaccount:ns:bot", "uid": "u1",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        "extra": {
            "authentication.kubernetes.io/credential-id": ["JTI=id-1"],
            "authentication.kubernetes.io/pod-name": ["p"],
            "authentication.kubernetes.io/pod-uid": ["u2"],
            "authentication.kubernetes.io/node-name": ["n"],
        },
    });
    assert_eq!(proof.user.to_value(), want);
    assert!(!format!("{issuer:?}").contains("115"), "the secret is not shown");
}

#[test]
fn what_is_refused_and_how() {
    let issuer = issuer();
    let token = issuer.issue(&claims(), at(1000));
    let foreign = Issuer::new("https://kubernetes.default.svc", &[], b"other").issue(&claims(), at(1000));
    let stranger = Issuer::new("https://elsewhere", &[], b"secret").issue(&claims(), at(1000));
    let zzz = vec!["zzz".to_owned()];
    let cases: [(&str, &[String], i64, &str); 9] = [
        ("nope", &wanted(), 1000, "invalid bearer token"),
        ("", &wanted(), 1000, "invalid bearer token"),
        ("a.b.c", &wanted(), 1000, "invalid bearer token"),
        (&stranger, &wanted(), 1000, "invalid bearer token"),
        (&foreign, &wanted(), 1000, "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"),
        (
            &format!("{token}x"),
            &wanted(),
            1000,
            "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]",
        ),
        (
            &token,
            &zzz,
            1000,
            "[invalid bearer token, token audiences [\"api\" \"other\"] is invalid for the target audiences [\"zzz\"]]",
        ),
        (&token, &wanted(), 1661, "[invalid bearer token, service account token has expired]"),
        (&token, &wanted(), 900, "[invalid bearer token, service account token is not valid yet]"),
    ];
    for (token, audiences, second, want) in cases {
        assert_eq!(issuer.authenticate(token, audiences, at(second), &exists), Err(want.to_owned()));
    }
    assert!(issuer.authenticate(&token, &wanted(), at(1660), &exists).is_ok(), "within the leeway");
}

#[test]
fn a_token_goes_with_what_it_is_bound_to() {
    let issuer = issuer();
    let bound = Claims { secret: Some(Reference { name: "s".into(), uid: "u2".into() }), ..claims() };
    let token = issuer.issue(&bound, at(1000));
    let refused = |lookup: &Lookup<'_>| issuer.authenticate(&token, &wanted(), at(1000), lookup).unwrap_err();
    assert_eq!(refused(&|_, _, _| None), "[invalid bearer token, serviceaccounts \"bot\" not found]");
    assert_eq!(
        refused(&|_, _, name| Some(object(name, "u9"))),
        "[invalid bearer token, service account UID (u9) does not match claim (u1)]"
    );
    let no_secret = |resource: &str, _: &str, name: &str| (resource != "secrets").then(|| object(name, "u1"));
    assert_eq!(refused(&no_secret), "[invalid bearer token, service account token has been invalidated]");
    assert_eq!(
        refused(&|_, _, name| Some(object(name, "u1"))),
        "[invalid bearer token, secret UID (u1) does not match service account secret ref claim (u2)]"
    );
    let gone = |_: &str, _: &str, name: &str| {
        let mut account = object(name, "u1");
        account["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:10:00Z");
        Some(account)
    };
    assert_eq!(refused(&gone), "[invalid bearer token, service account ns/bot has been deleted]");
}

#[test]
fn user_names() {
    assert_eq!(split_username("system:serviceaccount:ns:bot.x"), Some(("ns", "bot.x")));
    for bad in [
        "system:serviceaccount:ns",
        "system:serviceaccount:n.s:bot",
        "system:serviceaccount:ns:a:b",
        "jane",
        "system:serviceaccount::x",
    ] {
        assert_eq!(split_username(bad), None, "{bad}");
    }
}
