//! The annotations by which a Deployment and its ReplicaSets remember: which revision a set is, which it was before, and how
//! large the Deployment was when the set was last scaled.

use serde_json::{Value, json};

/// Which of the Deployment's revisions a set is.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The revisions that it was before it was rolled back to.
pub(super) const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The replicas of the Deployment when the set was last scaled: another number means that the Deployment was scaled since.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The most replicas that the Deployment could have then, with its surge.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Asks for a rollback to a revision, in a form that is no longer a field.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// What `kubectl apply` remembers.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The annotations that stay where they are; all others of a Deployment are also its new set's.
const OWN: [&str; 6] = [LAST_APPLIED, REVISION, HISTORY, DESIRED, MAX, ROLLBACK_TO];

/// The longest history that is kept: about a hundred numbers.
const LONGEST_HISTORY: usize = 2000;

/// An annotation's value.
pub(super) fn get<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Sets an annotation.
pub(super) fn set(object: &mut Value, key: &str, value: &str) {
    // A map that is not there is made by naming a key in it.
    object["metadata"]["annotations"][key] = json!(value);
}

/// An object's revision: 0 where it says none, `None` where it says something else.
pub(super) fn revision(object: &Value) -> Option<i64> {
    get(object, REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// Gives a set what the Deployment's new one has: its annotations, and `revision` where it is not that far yet.
pub(super) fn follow(set: &mut Value, deployment: &Value, revision: i64) {
    let theirs = deployment["metadata"]["annotations"].as_object();
    let copied = theirs.into_iter().flatten().filter(|(key, _)| !OWN.contains(&key.as_str()));
    for (key, value) in copied {
        set["metadata"]["annotations"][key.as_str()] = value.clone();
    }
    let text = get(set, REVISION).map(str::to_owned);
    let number = match text.as_deref() {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            // Somebody else's hand: left alone.
            Err(_) => return,
        },
    };
    // Its own is larger where sets of between were deleted.
    if number >= revision {
        return;
    }
    self::set(set, REVISION, &revision.to_string());
    if let Some(old) = text {
        // It was rolled back to: what it was is remembered.
        let history = remembered(get(set, HISTORY).unwrap_or_default(), &old);
        self::set(set, HISTORY, &history);
    }
}

/// A history with one revision more; the oldest are forgotten where it becomes too long.
fn remembered(history: &str, revision: &str) -> String {
    if history.is_empty() || history.starts_with(',') {
        return revision.to_owned();
    }
    let mut all: Vec<&str> = history.split(',').chain([revision]).collect();
    while all.len() > 1 && all.iter().map(|one| one.len() + 1).sum::<usize>() > LONGEST_HISTORY + 1 {
        all.remove(0);
    }
    all.join(",")
}

/// Notes how large the Deployment is, and may be at most.
pub(super) fn note_size(set: &mut Value, desired: i64, most: i64) {
    self::set(set, DESIRED, &desired.to_string());
    self::set(set, MAX, &most.to_string());
}

/// Gives a Deployment the annotations of the set that it is rolled back to, and keeps what stays where it is.
pub(super) fn roll_back(deployment: &mut Value, set: &Value) {
    if let Some(annotations) = deployment["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| OWN.contains(&key.as_str()));
    }
    let theirs = set["metadata"]["annotations"].as_object().into_iter().flatten();
    for (key, value) in theirs.filter(|(key, _)| !OWN.contains(&key.as_str())) {
        deployment["metadata"]["annotations"][key.as_str()] = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn object(annotations: Value) -> Value {
        json!({"metadata": {"annotations": annotations}})
    }

    #[test]
    fn a_new_set_has_the_deployments_annotations_but_not_its_own_ones() {
        let deployment =
            object(json!({LAST_APPLIED: "{}", REVISION: "4", "kubernetes.io/change-cause": "why", "team": "a"}));
        let mut set = json!({"metadata": {"name": "s"}});
        follow(&mut set, &deployment, 5);
        let wanted = json!({REVISION: "5", "kubernetes.io/change-cause": "why", "team": "a"});
        assert_eq!(set["metadata"]["annotations"], wanted);
        // What the Deployment no longer has stays on the set.
        follow(&mut set, &object(json!({"team": "b"})), 5);
        assert_eq!(get(&set, "kubernetes.io/change-cause"), Some("why"));
        assert_eq!(get(&set, "team"), Some("b"));
    }

    #[test]
    fn a_revision_only_grows_and_is_remembered() {
        let none = json!({"metadata": {}});
        for (had, history, to, has, remembers) in [
            (None, None, 1, "1", None),
            (Some("1"), None, 3, "3", Some("1")),
            (Some("3"), Some("1"), 5, "5", Some("1,3")),
            (Some("7"), Some("1"), 5, "7", Some("1")),
            (Some("5"), None, 5, "5", None),
            (Some("five"), None, 6, "five", None),
        ] {
            let mut annotations = Map::new();
            had.into_iter().for_each(|text| drop(annotations.insert(REVISION.to_owned(), json!(text))));
            history.into_iter().for_each(|text| drop(annotations.insert(HISTORY.to_owned(), json!(text))));
            let mut set = object(Value::Object(annotations));
            follow(&mut set, &none, to);
            assert_eq!((get(&set, REVISION), get(&set, HISTORY)), (Some(has), remembers), "{had:?} {to}");
        }
    }

    #[test]
    fn a_long_history_forgets_its_beginning() {
        let history: Vec<String> = (100..700).map(|number| number.to_string()).collect();
        let history = history.join(",");
        assert_eq!(history.len(), 2399);
        let next = remembered(&history, "700");
        assert!(next.len() <= LONGEST_HISTORY && next.len() > LONGEST_HISTORY - 4, "{}", next.len());
        assert!(next.ends_with(",699,700"));
    }

    #[test]
    fn a_rollback_brings_the_sets_annotations_back() {
        let mut deployment = object(json!({REVISION: "4", "why": "new", "only": "new", ROLLBACK_TO: "1"}));
        roll_back(&mut deployment, &object(json!({REVISION: "1", DESIRED: "3", "why": "old"})));
        assert_eq!(deployment["metadata"]["annotations"], json!({REVISION: "4", "why": "old", ROLLBACK_TO: "1"}));
    }
}
