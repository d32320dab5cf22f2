//! Finalizers, added and removed.

use plimsoll_api::kinds::ObjectMeta;
use serde_json::{Value, json};

/// What protection has to do with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing.
    None,
    /// The finalizer must be put on.
    Add,
    /// The finalizer must be taken off once nothing uses the object.
    Release,
}

/// What protection by `finalizer` has to do with an object. One that is being deleted gets no finalizer any more: the
/// API server refuses that.
pub(super) fn duty(meta: &ObjectMeta, finalizer: &str) -> Duty {
    let held = meta.finalizers.iter().any(|f| f == finalizer);
    match (meta.deletion_timestamp.0, held) {
        (true, true) => Duty::Release,
        (false, false) => Duty::Add,
        (true, false) | (false, true) => Duty::None,
    }
}

/// Puts a finalizer on.
pub(super) fn add(object: &mut Value, finalizer: &str) {
    let list = &mut object["metadata"]["finalizers"];
    match list.as_array_mut() {
        Some(list) if list.iter().any(|f| f == finalizer) => {}
        Some(list) => list.push(json!(finalizer)),
        None => *list = json!([finalizer]),
    }
}

/// Takes a finalizer off.
pub(super) fn remove(object: &mut Value, finalizer: &str) {
    if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
        list.retain(|f| f != finalizer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_to_be_done_follows_from_deletion_and_finalizer() {
        assert_eq!(duty(&meta(json!({})), "f"), Duty::Add);
        assert_eq!(duty(&meta(json!({"finalizers": ["f"]})), "f"), Duty::None);
        assert_eq!(duty(&meta(json!({"finalizers": ["g"], "deletionTimestamp": "now"})), "f"), Duty::None);
        assert_eq!(duty(&meta(json!({"finalizers": ["g", "f"], "deletionTimestamp": "now"})), "f"), Duty::Release);
    }

    #[test]
    fn others_finalizers_stay() {
        let mut object = json!({"metadata": {"finalizers": ["g"]}});
        add(&mut object, "f");
        add(&mut object, "f");
        assert_eq!(object["metadata"]["finalizers"], json!(["g", "f"]));
        remove(&mut object, "f");
        assert_eq!(object["metadata"]["finalizers"], json!(["g"]));
        let mut bare = json!({"metadata": {}});
        add(&mut bare, "f");
        assert_eq!(bare["metadata"]["finalizers"], json!(["f"]));
    }
}
