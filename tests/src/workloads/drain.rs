//! What `kubectl cordon` and `kubectl drain` do, as requests.
//!
//! ```text
//!  cordon ─► evict each pod, but no DaemonSet's ──► until they are gone ─► done
//!                 ▲                  │ 429: a budget does not allow it now
//!                 └──── next look ───┘                └─ blocked: that was what was wanted
//! ```

use anyhow::{Result, bail};
use http::Method;
use serde_json::{Value, json};

use crate::volumes::stage::Stage;

/// How often refused evictions are asked for again: once a look, for as long as one waits for anything.
const TRIES: usize = 300;

/// Whether a node takes new pods.
pub async fn cordon(stage: &mut Stage, node: &str, cordoned: bool) -> Result<()> {
    let patch = json!({"spec": {"unschedulable": if cordoned { json!(true) } else { Value::Null }}});
    stage.write(&Method::PATCH, &format!("/api/v1/nodes/{node}"), Some(&patch)).await?;
    Ok(())
}

/// Asks for a pod to go. Returns whether it may, or is gone already; a budget may refuse.
pub async fn evict(stage: &mut Stage, pod: &str) -> Result<bool> {
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", stage.id);
    let metadata = json!({"name": pod, "namespace": stage.id});
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata});
    let (code, answer) = stage.ask(&Method::POST, &path, Some(&eviction)).await?;
    stage.wrote();
    match code {
        0..300 | 404 => Ok(true),
        429 => Ok(false),
        _ => bail!("POST {path}: {code} {answer}"),
    }
}

/// Cordons a node and has its pods evicted. Where it is to be blocked, one eviction at least must be refused.
pub async fn drain(stage: &mut Stage, node: &str, blocked: bool) -> Result<()> {
    cordon(stage, node, true).await?;
    for _ in 0..TRIES {
        let (_, seen) = stage.look().await?;
        let pods: Vec<(String, bool)> = seen
            .objects
            .iter()
            .filter(|(reference, pod)| reference.starts_with("pod/") && is_to_go(pod, node))
            .filter_map(|(_, pod)| {
                let leaving = pod.pointer("/metadata/deletionTimestamp").is_some();
                Some((pod.pointer("/metadata/name")?.as_str()?.to_owned(), leaving))
            })
            .collect();
        if pods.is_empty() {
            if blocked {
                bail!("nothing kept {node} from being drained");
            }
            return Ok(());
        }
        let mut refused = 0;
        for (pod, _) in pods.iter().filter(|(_, leaving)| !leaving) {
            if !evict(stage, pod).await? {
                refused += 1;
            }
        }
        if blocked && refused > 0 {
            return Ok(());
        }
        stage.wrote();
    }
    bail!("{node} does not get empty")
}

/// Whether a pod is on the node and is not a DaemonSet's, which would be there again at once.
fn is_to_go(pod: &Value, node: &str) -> bool {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let of_daemons = owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet");
    pod.pointer("/spec/nodeName").and_then(Value::as_str) == Some(node) && !of_daemons
}
