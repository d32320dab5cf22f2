//! What provisioners said about claims lately. No decision depends on it, but a claim that cannot be made keeps its pod waiting, though
//! a node fits: only its provisioner knows why.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::Request;
use kube::Client;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::reflector::escape;
use serde_json::Value;

/// The last complaint about each claim.
pub type Troubles = BTreeMap<ObjectKey, String>;

/// How long is waited for what is only good to know.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of so many namespaces events are read; with more, the others are left to `kubectl describe`.
const NAMESPACES: usize = 20;
/// Longer complaints are cut.
const LONGEST: usize = 400;

/// Reads what is said about claims of these namespaces. Whoever may not read events, or gets no answer, is told nothing about them.
pub async fn read(client: &Client, namespaces: &BTreeSet<String>) -> Troubles {
    let mut events = Vec::new();
    let all = async {
        for namespace in namespaces.iter().take(NAMESPACES) {
            list(client, namespace, &mut events).await;
        }
    };
    // What came in time counts.
    let _ = tokio::time::timeout(PATIENCE, all).await;
    newest(&events)
}

/// Events of provisioners that failed, those about claims only.
async fn list(client: &Client, namespace: &str, events: &mut Vec<Value>) {
    const SELECTED: &str = "fieldSelector=reason%3DProvisioningFailed%2CinvolvedObject.kind%3DPersistentVolumeClaim";
    let path = format!("/api/v1/namespaces/{}/events?limit=500&{SELECTED}", escape(namespace));
    let mut next = path.clone();
    loop {
        let Ok(request) = Request::get(&next).body(Vec::new()) else { return };
        let Ok(mut page) = client.request::<Value>(request).await else { return };
        if let Some(items) = page["items"].as_array_mut() {
            events.append(items);
        }
        match page["metadata"]["continue"].as_str() {
            Some(token) if !token.is_empty() => next = format!("{path}&continue={}", escape(token)),
            _ => return,
        }
    }
}

fn newest(events: &[Value]) -> Troubles {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: BTreeMap<ObjectKey, (String, String)> = BTreeMap::new();
    for event in events {
        let about = &event["involvedObject"];
        let key = ObjectKey::new(text(&about["namespace"]), text(&about["name"]));
        // All are written so that later ones sort behind.
        let times = [&event["lastTimestamp"], &event["eventTime"], &event["series"]["lastObservedTime"]];
        let at = times.map(text).into_iter().max().unwrap_or_default();
        let said = (at, harmless(event["message"].as_str().unwrap_or_default()));
        if found.get(&key).is_none_or(|before| *before < said) {
            found.insert(key, said);
        }
    }
    found.into_iter().map(|(key, (_, message))| (key, message)).collect()
}

/// Anybody may write events: what could steer a terminal is taken out, and what is too long is cut.
fn harmless(message: &str) -> String {
    let clean = message.chars().map(|c| if c.is_control() { ' ' } else { c });
    let cut: String = clean.clone().take(LONGEST).collect();
    if clean.count() > LONGEST { cut + "…" } else { cut }
}

#[cfg(test)]
mod tests {
    use super::{harmless, newest};
    use plimsoll_engine::labels::ObjectKey;
    use serde_json::json;

    #[test]
    fn the_last_word_counts() {
        let event = |at: &str, message: &str| json!({"involvedObject": {"namespace": "n", "name": "c"}, "lastTimestamp": at, "message": message});
        let events = [event("2026-01-02T00:00:00Z", "full"), event("2026-01-01T00:00:00Z", "slow"), json!(null)];
        assert_eq!(newest(&events).get(&ObjectKey::new("n", "c")).map(String::as_str), Some("full"));
    }

    #[test]
    fn a_message_cannot_steer_the_terminal() {
        assert_eq!(harmless("no\u{1b}[2Jroom\nleft"), "no [2Jroom left");
        assert_eq!(harmless(&"ä".repeat(500)).chars().count(), 401);
    }
}
