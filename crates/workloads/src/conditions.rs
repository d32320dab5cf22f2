//! Conditions of pods, set as upstream sets them: the time of the last transition changes with the status and with nothing else.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::times;

/// What is to be said about a pod.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The type.
    pub kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// The reason; empty is none.
    pub reason: &'a str,
    /// The reason in full; empty is none.
    pub message: &'a str,
}

impl<'a> Said<'a> {
    /// That something other than the pod ends it, and who that is.
    pub fn disrupted(reason: &'a str, message: &'a str) -> Self {
        Self { kind: "DisruptionTarget", status: "True", reason, message }
    }
}

/// Sets a condition of a pod. One that says the same already stays as it is, to the letter.
pub fn set(pod: &mut Value, said: Said<'_>, now: Timestamp) {
    let generation = pod["metadata"]["generation"].as_i64();
    let status = &mut pod["status"];
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(all) = status["conditions"].as_array_mut() else { return };
    let old = all.iter_mut().find(|c| c["type"] == said.kind);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let since = match &old {
        Some(old) if old["status"] == said.status => {
            if text(&old["reason"]) == said.reason && text(&old["message"]) == said.message {
                return;
            }
            text(&old["lastTransitionTime"])
        }
        _ => times::written(now),
    };
    let mut new = json!({"type": said.kind, "status": said.status, "lastProbeTime": null, "lastTransitionTime": since});
    if let Some(generation) = generation {
        new["observedGeneration"] = json!(generation);
    }
    for (field, value) in [("reason", said.reason), ("message", said.message)] {
        if !value.is_empty() {
            new[field] = json!(value);
        }
    }
    match old {
        Some(old) => *old = new,
        None => all.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_is_a_change_of_status() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut pod = json!({"metadata": {"generation": 2}, "status": {"phase": "Running"}});
        set(&mut pod, Said::disrupted("A", "a"), at(1));
        let first = pod.clone();
        assert_eq!(first["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        assert_eq!(first["status"]["conditions"][0]["observedGeneration"], 2);
        set(&mut pod, Said::disrupted("A", "a"), at(2));
        assert_eq!(pod, first);
        set(&mut pod, Said::disrupted("B", "b"), at(3));
        assert_eq!(pod["status"]["conditions"][0]["reason"], "B");
        assert_eq!(pod["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        set(&mut pod, Said { kind: "DisruptionTarget", status: "False", reason: "", message: "" }, at(4));
        assert_eq!(pod["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:04Z");
        assert!(pod["status"]["conditions"][0].get("reason").is_none());
    }
}
