//! The look at all nodes, every five seconds.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use plimsoll_api::kinds::Pod;
use plimsoll_api::names;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::{Part, about};
use plimsoll_runtime::{About, Error, Mirrored, Resource, Severity, Whole};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::health::{Facts, Health, Moment, Renewal, forget};
use super::zones::Turn;
use super::{Lifecycle, WORKERS, taints};
use crate::times;

/// Where the nodes' leases are.
const LEASES: &str = "kube-node-lease";
/// How often a node is tried to be written at one look.
const TRIES: usize = 5;

/// What a look at a node found.
struct Seen {
    facts: Arc<Facts>,
    /// What it said about being ready before, and what is said now. Empty where nothing is.
    before: String,
    now: String,
}

impl Lifecycle {
    /// Looks at every node.
    pub(super) async fn look_at_all(&self) {
        let nodes = self.register();
        let looks: Vec<_> = nodes.iter().map(|facts| self.look_at(facts)).collect();
        let seen: Vec<Option<Seen>> = futures_util::stream::iter(looks).buffered(WORKERS).collect().await;
        let mut zones: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for seen in seen.iter().flatten().filter(|seen| !seen.facts.excluded) {
            let (all, silent) = zones.entry(seen.facts.zone.clone()).or_default();
            *all += 1;
            *silent += usize::from(seen.now != "True");
        }
        let turn = self.state().zones.assess(&zones);
        match turn {
            Turn::Nothing => {}
            Turn::AllSilent => {
                tracing::warn!("no node is ready: pods are left where they are");
                self.spare_all().await;
            }
            // Also later: a node may have been given its taint meanwhile, and what takes it back may have failed.
            Turn::StillSilent => self.spare_all().await,
            Turn::SomeAnswer => {
                tracing::info!("some node is ready again: the others are given their time");
                let now = Instant::now();
                self.state().health.values_mut().for_each(|health| health.probe = now);
            }
        }
        self.waiting.notify_one();
    }

    /// Takes the taints that have pods evicted from all nodes, as these are now.
    async fn spare_all(&self) {
        let nodes: Vec<Arc<Facts>> = self.state().facts.values().cloned().collect();
        for facts in &nodes {
            self.set_eviction(facts, None).await;
        }
    }

    /// The nodes that there are; says which are new, and which are gone.
    fn register(&self) -> Vec<Arc<Facts>> {
        let mut state = self.state();
        let nodes: Vec<Arc<Facts>> = state.facts.values().cloned().collect();
        let gone: Vec<(String, String)> = {
            let facts = &state.facts;
            let is_gone = |(name, _): &(&String, &String)| !facts.contains_key(*name);
            state.known.iter().filter(is_gone).map(|(name, uid)| (name.clone(), uid.clone())).collect()
        };
        for (name, uid) in gone {
            state.known.remove(&name);
            state.zones.remove(&name);
            let message = format!("Node {name} event: Removing Node {name} from Controller");
            self.recorder.event(&node(&name, &uid), Severity::Normal, "RemovingNode", &message);
        }
        for facts in &nodes {
            let (name, uid) = (&facts.name, &facts.uid);
            if state.known.insert(name.clone(), uid.clone()).is_none() {
                let message = format!("Node {name} event: Registered Node {name} in Controller");
                self.recorder.event(&node(name, uid), Severity::Normal, "RegisteredNode", &message);
            }
        }
        nodes
    }

    /// Looks at one node. `None` where nothing can be said of it now.
    async fn look_at(&self, facts: &Arc<Facts>) -> Option<Seen> {
        let seen = match self.assess(facts).await {
            Ok(seen) => seen?,
            Err(error) => {
                tracing::warn!(node = facts.name, %error, "its health cannot be told; looking again");
                return None;
            }
        };
        let facts = &seen.facts;
        match seen.now.as_str() {
            "" => {}
            "True" => {
                self.state().untold.remove(&facts.name);
                self.state().zones.remove(&facts.name);
                self.set_eviction(facts, None).await;
            }
            status => {
                let (own, opposite) = if status == "False" {
                    (names::TAINT_NOT_READY, names::TAINT_UNREACHABLE)
                } else {
                    (names::TAINT_UNREACHABLE, names::TAINT_NOT_READY)
                };
                if facts.has(opposite, taints::NO_EXECUTE) {
                    // Its pods are on notice already.
                    self.set_eviction(facts, Some(own)).await;
                } else if !facts.has(own, taints::NO_EXECUTE) {
                    self.state().zones.add(&facts.zone, &facts.name);
                }
                let fell_silent = seen.before == "True";
                if fell_silent {
                    let message = format!("Node {} status is now: NodeNotReady", facts.name);
                    self.recorder.event(&node(&facts.name, &facts.uid), Severity::Normal, "NodeNotReady", &message);
                }
                // A kubelet that says of itself that it is not ready says how its pods are, too: what it says of them stays.
                if fell_silent || self.state().untold.contains(&facts.name) {
                    self.mark_all(&facts.name).await;
                }
            }
        }
        Some(seen)
    }

    /// Tells a node's health, and writes it into its conditions where it has been silent too long.
    async fn assess(&self, facts: &Arc<Facts>) -> Result<Option<Seen>, Error> {
        let now = Moment::now(&self.clock);
        let lease = self.renewal(&facts.name);
        let health = {
            let mut state = self.state();
            let known = state.health.get(&facts.name);
            // Only this controller says so, and whoever did it may have died before it came to the pods.
            let inherited = known.is_none() && facts.ready().is_some_and(|ready| ready.status == "Unknown");
            let health = Health::after(known, facts, lease, now);
            if inherited {
                state.untold.insert(facts.name.clone());
            }
            state.health.insert(facts.name.clone(), health.clone());
            health
        };
        let status = |facts: &Facts| facts.ready().map(|c| c.status.clone()).unwrap_or_default();
        // One that never said anything has not been ready.
        let before = status(facts);
        let grace = if before.is_empty() { self.options.startup_grace } else { self.options.grace };
        if !health.is_silent(grace, now) || before == "Unknown" {
            return Ok(Some(Seen { facts: facts.clone(), now: before.clone(), before }));
        }
        // The mirror may be what is behind, not the node.
        let live = self.objects.get::<Value>(Resource::LEASES, LEASES, &facts.name).await?;
        let live = live.map(|lease| lease["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned());
        if live.is_some() && live != health.lease.map(|lease| lease.version) {
            return Ok(None);
        }
        let key = ObjectKey::new("", facts.name.as_str());
        for tries in 1.. {
            let Some(seen) = self.world.nodes.get(&key) else { return Ok(None) };
            match self.nodes.change(&seen, Part::Status, |node| forget(node, now.told)).await {
                Ok(written) => {
                    let facts = Arc::new(Facts::of(&written));
                    return Ok(Some(Seen { now: status(&facts), facts, before }));
                }
                Err(Error::NotFound(_)) => return Ok(None),
                Err(error) if error.is_conflict() && tries < TRIES => {
                    // The node may have spoken: the next look tells.
                    let current = self.state().facts.get(&facts.name).cloned();
                    if current.is_none_or(|current| current.ready() != facts.ready()) {
                        return Ok(None);
                    }
                }
                Err(error) => {
                    // It may have been done all the same, and then the next look finds it so.
                    if before == "True" {
                        self.state().untold.insert(facts.name.clone());
                    }
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    fn renewal(&self, node: &str) -> Option<Renewal> {
        let lease = self.world.leases.get(&ObjectKey::new(LEASES, node))?;
        let version = lease.meta().resource_version.clone();
        let known = self.state().health.get(node).and_then(|health| health.lease.clone());
        if let Some(known) = known.filter(|known| known.version == version) {
            return Some(known);
        }
        let time = lease.value()["spec"]["renewTime"].as_str().and_then(times::read);
        Some(Renewal { version, time })
    }

    /// Gives taints in turn, for ever.
    pub(super) async fn taint_in_turn(&self) {
        loop {
            let turn = self.state().zones.take(Instant::now());
            match turn {
                Ok(name) => {
                    let facts = self.state().facts.get(&name).cloned();
                    let key = facts.as_ref().and_then(|facts| facts.ready()).map(|ready| ready.status.as_str());
                    let key = match key {
                        Some("False") => names::TAINT_NOT_READY,
                        Some("Unknown") => names::TAINT_UNREACHABLE,
                        // Ready again, or gone.
                        _ => continue,
                    };
                    if let Some(facts) = facts {
                        self.set_eviction(&facts, Some(key)).await;
                    }
                }
                Err(Some(next)) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(next) => {}
                        () = self.waiting.notified() => {}
                    }
                }
                Err(None) => self.waiting.notified().await,
            }
        }
    }

    /// Gives or takes the taint that has pods evicted. Where that fails, the next look tries again.
    async fn set_eviction(&self, facts: &Facts, key: Option<&str>) {
        let there = [names::TAINT_NOT_READY, names::TAINT_UNREACHABLE].map(|k| facts.has(k, taints::NO_EXECUTE));
        if key.is_none() && there == [false, false] {
            return;
        }
        let Some(node) = self.world.nodes.get(&ObjectKey::new("", facts.name.as_str())) else { return };
        let now = self.clock.now();
        if let Err(error) = self.nodes.change(&node, Part::Object, |node| taints::evict(node, key, now)).await {
            tracing::debug!(node = facts.name, %error, "its taints cannot be changed; trying again");
        }
    }

    /// Says of all pods of a node that they are not ready. Where that fails, the next look tries again.
    async fn mark_all(&self, name: &str) {
        let mut well = true;
        for key in self.world.pods_on.pods(name) {
            let Some(pod) = self.world.pods.get(&key) else { continue };
            if let Err(error) = self.mark_not_ready(&pod).await {
                tracing::debug!(pod = %key, %error, "cannot say that it is not ready; trying again");
                well = false;
            }
        }
        let untold = &mut self.state().untold;
        if well {
            untold.remove(name)
        } else {
            untold.insert(name.to_owned())
        };
    }

    /// Says of a pod that it is not ready, since its node is not.
    pub(super) async fn mark_not_ready(&self, pod: &Arc<Whole<Pod>>) -> Result<(), Error> {
        if !pod.slim.status.conditions.iter().any(|c| c.kind == "Ready" && c.status != "False") {
            return Ok(());
        }
        let now = times::written(self.clock.now());
        let edit = |pod: &mut Value| {
            let conditions = pod["status"]["conditions"].as_array_mut().into_iter().flatten();
            for ready in conditions.filter(|c| c["type"] == "Ready") {
                ready["status"] = json!("False");
                ready["lastTransitionTime"] = json!(now);
            }
        };
        match self.pods.change(pod, Part::Status, edit).await {
            Ok(_) => {
                self.recorder.event(&about(&**pod), Severity::Warning, "NodeNotReady", "Node is not ready");
                Ok(())
            }
            Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn node(name: &str, uid: &str) -> About {
    let (name, uid) = (name.to_owned(), uid.to_owned());
    About { resource: Resource::NODES, namespace: String::new(), name, uid, version: String::new() }
}
