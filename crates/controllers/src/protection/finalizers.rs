//! What protection has to do with an object, by its finalizers.

use plimsoll_api::kinds::ObjectMeta;

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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
}
