//! The arithmetic of budgets, as tables.

use serde_json::json;

use super::*;

fn pod(name: &str, ready: bool, deleting: bool) -> Arc<Whole<Pod>> {
    let status = if ready { "True" } else { "False" };
    let mut pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}});
    if deleting {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let raw = serde_json::value::to_raw_value(&pod).unwrap();
    Arc::new(Whole::read(raw.get()).unwrap())
}

#[test]
fn shares_are_rounded_up() {
    for (amount, total, of) in [
        (json!(3), 10, Ok(3)),
        (json!("50%"), 10, Ok(5)),
        (json!("50%"), 3, Ok(2)),
        (json!("1%"), 1, Ok(1)),
        (json!("0%"), 9, Ok(0)),
        (json!("100%"), 7, Ok(7)),
        (json!("34%"), 3, Ok(2)),
        (json!("five"), 3, Err(())),
    ] {
        let parsed: Amount = serde_json::from_value(amount.clone()).unwrap();
        assert_eq!(parsed.of(total).map_err(|_| ()), of, "{amount} of {total}");
    }
}

#[test]
fn what_may_be_disrupted_is_what_is_healthy_beyond_what_must_be() {
    let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
    // Ready, not ready, being deleted; the budget; what there is to be: healthy, desired, allowed.
    for (ready, unready, deleting, spec, expected, wanted) in [
        (3, 0, 0, json!({"minAvailable": 2}), 3, (3, 2, 1)),
        (3, 0, 0, json!({"minAvailable": 3}), 3, (3, 3, 0)),
        (1, 2, 0, json!({"minAvailable": 2}), 3, (1, 2, 0)),
        (3, 0, 1, json!({"minAvailable": 2}), 4, (3, 2, 1)),
        (3, 0, 0, json!({"minAvailable": "50%"}), 3, (3, 2, 1)),
        (5, 0, 0, json!({"maxUnavailable": 2}), 5, (5, 3, 2)),
        (4, 1, 0, json!({"maxUnavailable": 2}), 5, (4, 3, 1)),
        (5, 0, 0, json!({"maxUnavailable": "30%"}), 5, (5, 3, 2)),
        (2, 0, 0, json!({"maxUnavailable": 5}), 2, (2, 0, 2)),
        (2, 0, 0, json!({"maxUnavailable": 0}), 2, (2, 2, 0)),
        (0, 0, 0, json!({"minAvailable": 0}), 0, (0, 0, 0)),
        (0, 0, 0, json!({}), 0, (0, 0, 0)),
    ] {
        let spec: Spec = serde_json::from_value(spec.clone()).unwrap();
        let all = (0..ready).map(|i| pod(&format!("r{i}"), true, false));
        let all = all.chain((0..unready).map(|i| pod(&format!("u{i}"), false, false)));
        let all: Vec<_> = all.chain((0..deleting).map(|i| pod(&format!("d{i}"), true, true))).collect();
        let desired = spec.desired(expected).unwrap();
        let status = Status::default().reckoned(&all, BTreeMap::new(), expected, desired, 4, now);
        let found = (status.current_healthy, status.desired_healthy, status.disruptions_allowed);
        assert_eq!(found, wanted, "{spec:?} of {ready}+{unready}+{deleting}");
        let reason = if wanted.2 > 0 { "SufficientPods" } else { "InsufficientPods" };
        assert_eq!((status.conditions[0].reason.as_str(), status.observed_generation), (reason, 4));
    }
}

#[test]
fn an_eviction_is_awaited_for_two_minutes() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let before = Status {
        disrupted_pods: [
            ("a", "2026-01-01T00:00:00Z"),
            ("gone", "2026-01-01T00:00:00Z"),
            ("b", "2026-01-01T00:01:00Z"),
        ]
        .map(|(name, since)| (name.to_owned(), since.to_owned()))
        .into(),
        ..Status::default()
    };
    let pods = [pod("a", true, false), pod("b", true, false), pod("c", true, false), pod("d", true, true)];
    for (now, awaited, late, healthy) in [
        ("2026-01-01T00:01:30Z", vec!["a", "b"], vec![], 1),
        ("2026-01-01T00:02:01Z", vec!["b"], vec!["a"], 2),
        ("2026-01-01T00:03:01Z", vec![], vec!["a", "b"], 3),
    ] {
        let (left, over) = before.still_disrupted(&pods, at(now));
        assert_eq!(left.keys().collect::<Vec<_>>(), awaited, "{now}");
        assert_eq!(over.iter().map(|p| p.meta().name.as_str()).collect::<Vec<_>>(), late, "{now}");
        assert_eq!(before.reckoned(&pods, left, 4, 1, 1, at(now)).current_healthy, healthy, "{now}");
    }
}

#[test]
fn what_is_not_known_of_a_status_stays_in_it() {
    let mut budget = json!({"status": {"new": 1, "disruptedPods": {"x": "2026-01-01T00:00:00Z"}}});
    let mut status = Status::read(&budget).unwrap();
    status.disrupted_pods.clear();
    status.fail("why", "2026-01-01T00:00:00Z".parse().unwrap());
    status.write_into(&mut budget);
    assert_eq!(
        budget["status"],
        json!({"new": 1, "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
               "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "why",
                               "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    );
}

/// The numbers are added and subtracted: none may be so large that this runs over.
#[test]
fn amounts_are_within_what_workloads_can_have() {
    for number in [i64::MIN, i64::MAX] {
        let amount = Some(Amount::Number(number));
        let most = Spec { max_unavailable: amount.clone(), ..Spec::default() };
        assert!(most.desired(3).unwrap() >= 0);
        let least = Spec { min_available: amount, ..Spec::default() };
        assert!(least.desired(3).unwrap().abs() <= 1 << 31);
    }
}
