use serde_json::json;

use super::*;

fn spec(more: Value) -> Spec {
    let mut set = json!({"metadata": {"name": "web", "namespace": "n", "uid": "set-uid", "generation": 4}, "spec": {
        "replicas": 3, "serviceName": "svc", "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}},
                     "spec": {"containers": [{"name": "c"}], "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": {"tier": "db", "app": "x"}}, "spec": {"a": 1}}]}});
    for (key, value) in more["spec"].as_object().into_iter().flatten() {
        set["spec"][key] = value.clone();
    }
    set["status"] = more["status"].clone();
    Spec::read(&Whole::read(&set.to_string()).unwrap())
}

fn pod(value: Value) -> Pod {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_pod_has_the_name_labels_and_claims_of_its_number() {
    let spec = spec(json!({}));
    let made = identity::pod(&spec, &spec.template, "web-abc", 2);
    assert_eq!(made["metadata"]["name"], "web-2");
    assert_eq!(
        made["metadata"]["labels"],
        json!({"app": "web", "statefulset.kubernetes.io/pod-name": "web-2", "apps.kubernetes.io/pod-index": "2",
               "controller-revision-hash": "web-abc"})
    );
    assert_eq!((&made["spec"]["hostname"], &made["spec"]["subdomain"]), (&json!("web-2"), &json!("svc")));
    // The claim takes the place of the template's volume of its name.
    let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-2"}}, {"name": "tmp"}]);
    assert_eq!(made["spec"]["volumes"], volumes);
    let made = pod(made);
    assert!(identity::has_identity(&spec, &made, 2) && identity::has_storage(&spec, &made, 2));
    assert!(!identity::has_storage(&spec, &pod(json!({"metadata": {"name": "web-2"}})), 2));
    assert!(!identity::has_identity(&spec, &pod(json!({"metadata": {"name": "web-2"}})), 2));
    let claims = claims::of(&spec, 2);
    let meta = json!({"name": "data-web-2", "namespace": "n", "labels": {"tier": "db", "app": "web"}});
    assert_eq!((&claims[0]["metadata"], &claims[0]["spec"]), (&meta, &json!({"a": 1})));
}

#[test]
fn names_are_told_apart() {
    assert_eq!(identity::parse("web-10"), Some(("web", 10)));
    assert_eq!(identity::parse("a-1-2"), Some(("a-1", 2)));
    for other in ["web", "web-", "web-x", "web-1x", "web-99999999999"] {
        assert_eq!(identity::parse(other), None, "{other}");
    }
    assert_eq!(sets_of_claim("data-my-web-3"), ["my-web", "web"]);
    assert!(sets_of_claim("data").is_empty() && sets_of_claim("data-3").is_empty());
}

#[test]
fn what_is_made_in_an_update_is_old_below_the_partition() {
    let before = |strategy: Value| {
        let spec = spec(
            json!({"spec": {"updateStrategy": strategy, "ordinals": {"start": 5}}, "status": {"currentReplicas": 1}}),
        );
        (5..8).map(|ordinal| spec.makes_as_before(ordinal)).collect::<Vec<bool>>()
    };
    assert_eq!(before(json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})), [true, true, false]);
    assert_eq!(before(json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})), [false; 3]);
    // Without details, as many as were of the old revision.
    assert_eq!(before(json!({"type": "RollingUpdate"})), [true, false, false]);
    assert_eq!(before(json!({"type": "OnDelete"})), [false; 3]);
}

#[test]
fn how_many_may_be_away_is_never_less_than_one() {
    let strategy = |max: Value| {
        spec(json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": max}}}}))
            .strategy
    };
    for (max, wanted) in [(json!("10%"), 1), (json!("70%"), 2), (json!(3), 3), (json!(null), 1)] {
        assert_eq!(strategy(max), Strategy::Rolling { partition: Some(0), max_unavailable: wanted });
    }
}

#[test]
fn the_status_counts_pods_by_readiness_and_revision() {
    let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
    let made = |phase: &str, ready: Option<&str>, revision: &str, deleting: bool| {
        let conditions = ready.map(|at| json!([{"type": "Ready", "status": "True", "lastTransitionTime": at}]));
        let gone = deleting.then_some("2026-01-01T00:00:00Z");
        pod(json!({"metadata": {"labels": {REVISION_HASH: revision}, "deletionTimestamp": gone},
                   "status": {"phase": phase, "conditions": conditions}}))
    };
    let (early, late) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-01T00:00:55Z"));
    let pods = [
        made("Running", early, "new", false),
        made("Running", late, "old", false),
        made("Pending", None, "new", false),
        made("Running", early, "old", true),
    ];
    let names = Names { current: "old", update: "new", collisions: 0 };
    let count = status::count(&pods, &names, 10, now);
    assert_eq!(count, status::Count { replicas: 4, ready: 3, available: 2, current: 1, updated: 2 });
    let spec = spec(json!({"status": {"conditions": [1]}}));
    let said = status::status(&spec, &names, count);
    let wanted = json!({"replicas": 4, "readyReplicas": 3, "availableReplicas": 2, "currentReplicas": 1, "updatedReplicas": 2,
        "currentRevision": "old", "updateRevision": "new", "collisionCount": 0, "observedGeneration": 4, "conditions": [1]});
    assert_eq!(said, wanted);
    // All are updated and ready: what was to be is what is.
    let done = status::Count { replicas: 3, ready: 3, available: 1, current: 0, updated: 3 };
    let said = status::status(&spec, &names, done);
    assert_eq!((&said["currentRevision"], &said["currentReplicas"]), (&json!("new"), &json!(3)));
    let none = status::status(&spec, &names, status::Count::default());
    assert!(none.get("readyReplicas").is_none() && none["availableReplicas"] == 0);
}
