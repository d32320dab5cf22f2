//! Placements that are being written down, so that one can be called off.
//!
//! ```text
//!             the pod itself is written next            answered, either way
//!   writing volumes ────────────────────► committed ────────────────────────► (ended)
//!        │ called off                                                            ▲
//!        └──────────────────► called off ── seen by the placement ───────────────┘
//! ```
//!
//! Once the pod's own binding is sent, nobody knows whether it took place: such a pod is removed through the API like any
//! other.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Pod;
use tokio::sync::Notify;

#[derive(Debug, PartialEq, Eq)]
enum State {
    Writing,
    Committed,
    CalledOff(String),
}

#[derive(Debug)]
struct Running {
    uid: Name,
    state: State,
    told: Arc<Notify>,
}

/// The placements under way, by pod.
#[derive(Debug, Default)]
pub(crate) struct Placements(BTreeMap<ObjectKey, Running>);

impl Placements {
    /// A placement begins. `told` wakes it.
    pub(crate) fn begin(&mut self, pod: &Pod, told: &Arc<Notify>) {
        let running = Running { uid: pod.uid.clone(), state: State::Writing, told: told.clone() };
        self.0.insert(pod.key.clone(), running);
    }

    /// Why a placement was called off, if it was.
    pub(crate) fn called_off(&self, pod: &Pod) -> Option<&str> {
        match &self.0.get(&pod.key).filter(|running| running.uid == pod.uid)?.state {
            State::CalledOff(cause) => Some(cause),
            State::Writing | State::Committed => None,
        }
    }

    /// The pod itself is written next: from now on the placement cannot be called off.
    pub(crate) fn commit(&mut self, pod: &Pod) {
        if let Some(running) = self.0.get_mut(&pod.key).filter(|r| r.uid == pod.uid && r.state == State::Writing) {
            running.state = State::Committed;
        }
    }

    /// Calls a placement off. False where there is none to call off any more.
    pub(crate) fn call_off(&mut self, pod: &Pod, cause: &str) -> bool {
        let Some(running) = self.0.get_mut(&pod.key).filter(|running| running.uid == pod.uid) else { return false };
        match running.state {
            State::Committed => false,
            State::CalledOff(_) => true,
            State::Writing => {
                running.state = State::CalledOff(cause.to_owned());
                running.told.notify_one();
                true
            }
        }
    }

    /// A placement is over.
    pub(crate) fn end(&mut self, pod: &Pod) {
        if self.0.get(&pod.key).is_some_and(|running| running.uid == pod.uid) {
            self.0.remove(&pod.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_called_off_only_before_the_pod_is_written() {
        let pod = Pod { uid: Name::from("u1"), ..Pod::named("default", "p") };
        let anew = Pod { uid: Name::from("u2"), ..pod.clone() };
        let mut placements = Placements::default();
        let told = Arc::new(Notify::new());
        assert!(!placements.call_off(&pod, "why"));
        placements.begin(&pod, &told);
        assert!(!placements.call_off(&anew, "why"), "another pod of that name");
        assert!(placements.call_off(&pod, "why"));
        assert_eq!(placements.called_off(&pod), Some("why"));
        placements.end(&anew);
        assert!(placements.called_off(&pod).is_some());
        placements.end(&pod);
        placements.begin(&pod, &told);
        placements.commit(&pod);
        assert!(!placements.call_off(&pod, "why"));
        assert_eq!(placements.called_off(&pod), None);
    }
}
