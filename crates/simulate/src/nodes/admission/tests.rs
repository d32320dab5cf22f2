use serde_json::json;

use super::*;

fn node() -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "a", "labels": {"zone": "z"}},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3", "example.com/gpu": "1"}},
    }))
    .unwrap()
}

fn admit(seats: &mut Seats, uid: &str, spec: Value) -> Result<(), (String, String)> {
    let value = json!({"metadata": {"name": uid, "namespace": "n", "uid": uid}, "spec": spec});
    let pod: Pod = serde_json::from_value(value.clone()).unwrap();
    seats.admit(&pod, &value, &node()).map_err(|refusal| (refusal.reason, refusal.message))
}

fn asks(resource: &str, amount: &str) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": {resource: amount}}}]})
}

fn refused(reason: &str, message: &str) -> Result<(), (String, String)> {
    Err((reason.to_owned(), message.to_owned()))
}

#[test]
fn room_is_given_once() {
    let mut seats = Seats::default();
    assert_eq!(admit(&mut seats, "one", asks("cpu", "1500m")), Ok(()));
    let message = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
    assert_eq!(admit(&mut seats, "two", asks("cpu", "1")), refused("OutOfcpu", message));
    // Asked again, it has its seat.
    assert_eq!(admit(&mut seats, "one", asks("cpu", "1500m")), Ok(()));
    seats.free("one");
    assert_eq!(admit(&mut seats, "two", asks("cpu", "1")), Ok(()));
}

#[test]
fn pods_are_counted_and_strange_resources_are_not() {
    let mut seats = Seats::default();
    assert_eq!(admit(&mut seats, "1", asks("example.com/gpu", "1")), Ok(()));
    let message = "Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1";
    assert_eq!(admit(&mut seats, "2", asks("example.com/gpu", "1")), refused("OutOfexample.com/gpu", message));
    assert_eq!(admit(&mut seats, "2", asks("example.com/licence", "1")), Ok(()));
    assert_eq!(admit(&mut seats, "3", json!({})), Ok(()));
    let message = "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3";
    assert_eq!(admit(&mut seats, "4", json!({})), refused("OutOfpods", message));
}

#[test]
fn labels_ports_and_systems_are_asked_for() {
    let mut seats = Seats::default();
    let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    let spec = json!({"nodeSelector": {"zone": "y"}});
    assert_eq!(admit(&mut seats, "1", spec), refused("NodeAffinity", message));
    let port = json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]});
    assert_eq!(admit(&mut seats, "2", port.clone()), Ok(()));
    let message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    assert_eq!(admit(&mut seats, "3", port), refused("NodePorts", message));
    let message = "Failed to admit pod as the OS field doesn't match node OS";
    assert_eq!(admit(&mut seats, "4", json!({"os": {"name": "windows"}})), refused("PodOSNotSupported", message));
}

#[test]
fn addresses_go_round_and_are_kept() {
    let mut seats = Seats::default();
    for uid in ["1", "2"] {
        admit(&mut seats, uid, json!({})).unwrap();
    }
    assert_eq!(seats.address("1"), Some(2));
    assert_eq!(seats.address("2"), Some(3));
    assert_eq!(seats.address("1"), Some(2));
    seats.free("1");
    admit(&mut seats, "3", json!({})).unwrap();
    assert_eq!(seats.address("3"), Some(4), "not the one of a pod that just went");
    seats.given = LAST_ADDRESS;
    admit(&mut seats, "4", json!({})).unwrap();
    assert_eq!(seats.address("4"), Some(2));
    assert_eq!(seats.address("nobody"), None);
}

#[test]
fn amounts_are_compared_by_what_they_mean() {
    let wanted = BTreeMap::from([("memory".to_owned(), "1024Mi".to_owned()), ("cpu".to_owned(), "500m".to_owned())]);
    assert!(has_amounts(&json!({"memory": "1Gi", "cpu": "0.5", "other": "1"}), &wanted));
    assert!(!has_amounts(&json!({"memory": "1Gi"}), &wanted));
}
