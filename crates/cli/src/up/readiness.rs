//! Whether the nodes are ready, and what is to be said of those that are not.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_runtime::{Error, Objects, Resource};
use plimsoll_simulate::nodes::CUT_OFF;
use serde_json::Value;
use tokio::time::Instant;

use super::machines::Wanted;

/// How long nodes have to be ready before that is said instead.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How often they are looked at meanwhile.
pub const LOOK: Duration = Duration::from_millis(20);

/// The nodes that are not simply ready.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// Ours, and not ready yet.
    unready: Vec<String>,
    /// Ours, and cut off by somebody: nobody hears of them, so they are not waited for.
    cut_off: Vec<String>,
    /// Nobody's: an earlier run had them.
    strangers: Vec<String>,
}

impl Roll {
    /// Waits until the nodes are ready, but not for ever.
    pub async fn call(wanted: &[Wanted], objects: &Objects) -> Result<Self, Error> {
        let end = Instant::now() + PATIENCE;
        loop {
            let begun = Instant::now();
            let list: Value = objects.send(http::Method::GET, &Resource::NODES.collection(None), None).await?;
            let roll = Self::of(wanted, list["items"].as_array().map(Vec::as_slice).unwrap_or_default());
            if roll.unready.is_empty() || Instant::now() >= end {
                return Ok(roll);
            }
            // Thousands of nodes take a while to be listed; meanwhile they are to become ready.
            tokio::time::sleep(LOOK.max(begun.elapsed())).await;
        }
    }

    fn of(wanted: &[Wanted], nodes: &[Value]) -> Self {
        let mut unready: BTreeSet<&str> = wanted.iter().map(|node| node.name.as_str()).collect();
        let mut roll = Self::default();
        for node in nodes {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let cut_off = node["metadata"]["annotations"][CUT_OFF] == "true";
            if !unready.contains(name) {
                roll.strangers.push(name.to_owned());
            } else if cut_off {
                roll.cut_off.push(name.to_owned());
            }
            if cut_off || is_ready(node) {
                unready.remove(name);
            }
        }
        // In the order of their numbers.
        let unready = wanted.iter().filter(|node| unready.contains(node.name.as_str()));
        roll.unready = unready.map(|node| node.name.clone()).collect();
        roll
    }

    /// A sentence for each sort of them.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.unready.is_empty() {
            let (names, patience) = (shortened(&self.unready), PATIENCE.as_secs());
            notes.push(format!(
                "not ready after {patience} s: {names}; `kubectl get nodes --watch` shows when they are"
            ));
        }
        if !self.cut_off.is_empty() {
            let names = shortened(&self.cut_off);
            notes.push(format!(
                "cut off, and heard of by nobody: {names}; `plimsoll node restore NODE` brings one back"
            ));
        }
        if !self.strangers.is_empty() {
            let names = shortened(&self.strangers);
            notes.push(format!(
                "nobody runs {names} any more: they go NotReady as machines that were switched off do; \
                 start with more --nodes to have them back, or `kubectl delete node` them"
            ));
        }
        notes
    }
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// The first names, and how many more there are.
fn shortened(names: &[String]) -> String {
    const NAMED: usize = 5;
    match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
        None => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::machines::Zone;
    use super::*;

    #[test]
    fn each_node_is_told_of_once() {
        let wanted: Vec<Wanted> =
            (1..=4).map(|i| Wanted { name: format!("node-{i}"), zone: Zone("a".into()) }).collect();
        let node = |name: &str, ready: &str, cut: &str| {
            json!({"metadata": {"name": name, "annotations": {CUT_OFF: cut}},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}})
        };
        let nodes = [
            node("node-1", "True", ""),
            node("node-2", "Unknown", "true"),
            node("node-3", "False", ""),
            node("node-9", "Unknown", ""),
        ];
        let roll = Roll::of(&wanted, &nodes);
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let (unready, cut_off) = (names(&["node-3", "node-4"]), names(&["node-2"]));
        assert_eq!(roll, Roll { unready, cut_off, strangers: names(&["node-9"]) });
        assert_eq!(roll.notes().len(), 3);
        let all: Vec<Value> = wanted.iter().map(|wanted| node(&wanted.name, "True", "")).collect();
        assert!(Roll::of(&wanted, &all).notes().is_empty());
    }
}
