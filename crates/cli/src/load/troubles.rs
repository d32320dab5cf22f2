//! What provisioners said about claims lately. No decision depends on it, but a claim that cannot be made keeps its pod waiting, though
//! a node fits: only its provisioner knows why.

use std::collections::BTreeMap;

use http::Request;
use kube::Client;
use plimsoll_engine::labels::ObjectKey;
use serde_json::Value;

/// The last complaint about each claim.
pub type Troubles = BTreeMap<ObjectKey, String>;

/// Events of provisioners that failed, those about claims only. Not more than a page: old ones are gone after an hour anyway.
const EVENTS: &str =
    "/api/v1/events?limit=500&fieldSelector=reason%3DProvisioningFailed%2CinvolvedObject.kind%3DPersistentVolumeClaim";

/// Reads them. Whoever may not read events is told nothing about them.
pub async fn read(client: &Client) -> Troubles {
    let Ok(request) = Request::get(EVENTS).body(Vec::new()) else { return Troubles::new() };
    let Ok(list) = client.request::<Value>(request).await else { return Troubles::new() };
    newest(list["items"].as_array().map(Vec::as_slice).unwrap_or_default())
}

fn newest(events: &[Value]) -> Troubles {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: BTreeMap<ObjectKey, (String, String)> = BTreeMap::new();
    for event in events {
        let about = &event["involvedObject"];
        let key = ObjectKey::new(text(&about["namespace"]), text(&about["name"]));
        // Both are written so that later ones sort behind.
        let at = text(&event["lastTimestamp"]).max(text(&event["eventTime"]));
        let said = (at, text(&event["message"]));
        if found.get(&key).is_none_or(|before| *before < said) {
            found.insert(key, said);
        }
    }
    found.into_iter().map(|(key, (_, message))| (key, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::newest;
    use plimsoll_engine::labels::ObjectKey;
    use serde_json::json;

    #[test]
    fn the_last_word_counts() {
        let event = |at: &str, message: &str| json!({"involvedObject": {"namespace": "n", "name": "c"}, "lastTimestamp": at, "message": message});
        let events = [event("2026-01-02T00:00:00Z", "full"), event("2026-01-01T00:00:00Z", "slow"), json!(null)];
        assert_eq!(newest(&events).get(&ObjectKey::new("n", "c")).map(String::as_str), Some("full"));
    }
}
