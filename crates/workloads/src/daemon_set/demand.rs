//! On which nodes a DaemonSet wants its pods, and what these look like.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_api::interner::Interner;
use plimsoll_api::kinds::pod::PodSpec;
use plimsoll_api::kinds::{Node, Pod};
use plimsoll_api::names;
use plimsoll_engine::filters::{RequiredNodes, tolerated};
use plimsoll_engine::model::{self, TaintEffect};
use plimsoll_runtime::{Change, Whole};
use serde_json::{Value, json};

use crate::children::Owner;
use crate::pods::generated;
use crate::revisions::REVISION_HASH;
use crate::world;

/// Label on pods: the template's generation, from before there were revisions.
pub(super) const TEMPLATE_GENERATION: &str = "pod-template-generation";
/// The field by which a pod asks for one node.
const NODE_NAME: &str = "metadata.name";

/// What a node is to a DaemonSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// A pod belongs there.
    Runs,
    /// None is made there, but one that is there stays: its taints keep new pods away and do not drive out.
    Stays,
    /// No pod belongs there.
    Never,
}

/// What the template asks of a node.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    node: String,
    /// Only what is asked of nodes.
    pod: model::Pod,
}

impl Demand {
    /// Reads a template.
    pub(super) fn read(template: &Value) -> Self {
        let mut spec = template["spec"].clone();
        stand_trouble(&mut spec);
        let spec: PodSpec = serde_json::from_value(spec).unwrap_or_default();
        let node = spec.node_name.clone();
        let asked = PodSpec {
            node_selector: spec.node_selector,
            affinity: spec.affinity,
            tolerations: spec.tolerations,
            ..PodSpec::default()
        };
        // Nothing of what is left can fail to be read.
        let pod = Pod { spec: asked, ..Pod::default() }.to_engine(&mut Interner::new()).unwrap_or_default();
        Self { node, pod }
    }

    /// What a node is to the set.
    pub(super) fn fit(&self, node: &model::Node) -> Fit {
        let named = self.node.is_empty() || *self.node == *node.name;
        if !named || !RequiredNodes::of(&self.pod).include(node) {
            return Fit::Never;
        }
        let keeps_off = |effects: &[TaintEffect]| {
            let untolerated = |taint: &&model::Taint| !tolerated(&self.pod.tolerations, taint);
            node.taints.iter().filter(|taint| effects.contains(&taint.effect)).any(|taint| untolerated(&taint))
        };
        if !keeps_off(&[TaintEffect::NoSchedule, TaintEffect::NoExecute]) {
            Fit::Runs
        } else if keeps_off(&[TaintEffect::NoExecute]) {
            Fit::Never
        } else {
            Fit::Stays
        }
    }
}

/// The tolerations that every pod of a DaemonSet has: it stays on its node in trouble, and may be what ends it.
fn stand_trouble(spec: &mut Value) {
    let network = (names::TAINT_NETWORK_UNAVAILABLE, "NoSchedule");
    let added = [
        (names::TAINT_NOT_READY, "NoExecute"),
        (names::TAINT_UNREACHABLE, "NoExecute"),
        (names::TAINT_DISK_PRESSURE, "NoSchedule"),
        (names::TAINT_MEMORY_PRESSURE, "NoSchedule"),
        (names::TAINT_PID_PRESSURE, "NoSchedule"),
        (names::TAINT_UNSCHEDULABLE, "NoSchedule"),
    ];
    let host_network = spec["hostNetwork"] == true;
    let mut all = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for (key, effect) in added.into_iter().chain(host_network.then_some(network)) {
        let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
        let same = |t: &&mut Value| {
            let empty = t["value"].as_str().unwrap_or_default().is_empty();
            t["key"] == key && t["operator"] == "Exists" && t["effect"] == effect && empty
        };
        match all.iter_mut().find(same) {
            // One that is only for a while becomes one for good.
            Some(there) => *there = toleration,
            None => all.push(toleration),
        }
    }
    spec["tolerations"] = Value::Array(all);
}

/// A pod of the set for one node, to be placed there by the scheduler.
pub(super) fn pod(owner: &Owner, template: &Value, hash: &str, generation: Option<i64>, node: &str) -> Value {
    let mut pod = generated(owner, template);
    stand_trouble(&mut pod["spec"]);
    let labels = &mut pod["metadata"]["labels"];
    if let Some(generation) = generation {
        labels[TEMPLATE_GENERATION] = json!(generation.to_string());
    }
    labels[REVISION_HASH] = json!(hash);
    // Whatever the template requires of nodes was asked of this one.
    let term = json!({"matchFields": [{"key": NODE_NAME, "operator": "In", "values": [node]}]});
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [term]});
    pod
}

/// The node that a pod is on, or is meant for.
pub(super) fn target(pod: &Pod) -> Option<&str> {
    if !pod.spec.node_name.is_empty() {
        return Some(&pod.spec.node_name);
    }
    let required = pod.spec.affinity.node_affinity.required.as_ref()?;
    let mut fields = required.node_selector_terms.iter().flat_map(|term| &term.match_fields);
    let name = fields.find(|field| field.key == NODE_NAME && field.operator == "In")?;
    match name.values.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The nodes as decisions see them: read when their labels or taints change, which heartbeats do not.
#[derive(Clone, Default)]
pub(super) struct Nodes(Arc<Mutex<BTreeMap<String, Arc<model::Node>>>>);

impl Nodes {
    /// Follows the mirror; `changed` is told when a node comes, goes, or becomes another to some DaemonSet. Must be made before the
    /// mirror is fed.
    pub(super) fn of(nodes: &world::Objects<Node>, changed: impl Fn() + Send + Sync + 'static) -> Self {
        let known = Self::default();
        let all = known.clone();
        nodes.listen(move |change| {
            if all.apply(change) {
                changed();
            }
        });
        known
    }

    fn apply(&self, change: &Change<Whole<Node>>) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match change {
            Change::Gone { old } => all.remove(&old.slim.metadata.name).is_some(),
            Change::Set { new, .. } => {
                let Some(node) = asked_of(&new.slim) else { return false };
                let name = new.slim.metadata.name.clone();
                if all.get(&name).is_some_and(|known| known.labels == node.labels && known.taints == node.taints) {
                    return false;
                }
                all.insert(name, Arc::new(node));
                true
            }
        }
    }

    /// All of them, in order of their names.
    pub(super) fn all(&self) -> Vec<Arc<model::Node>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// A node without what no DaemonSet asks for: its amounts change, and may be written so that they cannot be read.
fn asked_of(node: &Node) -> Option<model::Node> {
    let bare = Node { metadata: node.metadata.clone(), spec: node.spec.clone(), ..Node::default() };
    bare.to_engine(&mut Interner::new()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, labels: Value, taints: Value) -> model::Node {
        let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}});
        asked_of(&serde_json::from_value(node).unwrap()).unwrap()
    }

    fn fit(spec: Value, labels: Value, taints: Value) -> Fit {
        Demand::read(&json!({"spec": spec})).fit(&node("n1", labels, taints))
    }

    #[test]
    fn a_node_is_chosen_by_its_name_labels_and_taints() {
        let affinity = |operator: &str| {
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": operator, "values": ["ssd"]}]}]}}}})
        };
        let ssd = json!({"disk": "ssd"});
        let taint = |key: &str, effect: &str| json!([{"key": key, "value": "v", "effect": effect}]);
        let tolerant = json!({"tolerations": [{"key": "x", "operator": "Exists"}]});
        let cases = [
            ("plain", json!({}), json!({}), json!([]), Fit::Runs),
            ("named", json!({"nodeName": "n1"}), json!({}), json!([]), Fit::Runs),
            ("another is named", json!({"nodeName": "n2"}), json!({}), json!([]), Fit::Never),
            ("selected", json!({"nodeSelector": ssd}), ssd.clone(), json!([]), Fit::Runs),
            ("not selected", json!({"nodeSelector": ssd}), json!({}), json!([]), Fit::Never),
            ("by affinity", affinity("In"), ssd.clone(), json!([]), Fit::Runs),
            ("not by affinity", affinity("NotIn"), ssd.clone(), json!([]), Fit::Never),
            ("kept off", json!({}), json!({}), taint("x", "NoSchedule"), Fit::Stays),
            ("driven out", json!({}), json!({}), taint("x", "NoExecute"), Fit::Never),
            ("tolerated", tolerant, json!({}), taint("x", "NoExecute"), Fit::Runs),
            ("unwelcome", json!({}), json!({}), taint("x", "PreferNoSchedule"), Fit::Runs),
            ("in trouble", json!({}), json!({}), taint(names::TAINT_UNREACHABLE, "NoExecute"), Fit::Runs),
            ("cordoned", json!({}), json!({}), taint(names::TAINT_UNSCHEDULABLE, "NoSchedule"), Fit::Runs),
            ("no network", json!({}), json!({}), taint(names::TAINT_NETWORK_UNAVAILABLE, "NoSchedule"), Fit::Stays),
            (
                "no network of its own",
                json!({"hostNetwork": true}),
                json!({}),
                taint(names::TAINT_NETWORK_UNAVAILABLE, "NoSchedule"),
                Fit::Runs,
            ),
        ];
        for (name, spec, labels, taints, wanted) in cases {
            assert_eq!(fit(spec, labels, taints), wanted, "{name}");
        }
    }

    #[test]
    fn a_pod_is_for_its_node_and_stands_trouble() {
        let owner = Owner {
            resource: plimsoll_runtime::Resource::DAEMON_SETS,
            namespace: "n".into(),
            name: "logs".into(),
            uid: "u".into(),
            deleting: false,
        };
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let while_only =
            json!({"key": names::TAINT_NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let template = json!({"metadata": {"labels": {"app": "logs"}}, "spec": {
            "tolerations": [while_only],
            "affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": []}]}, "preferred": 1}}}});
        let made = pod(&owner, &template, "abc", Some(3), "n1");
        let labels = json!({"app": "logs", "controller-revision-hash": "abc", "pod-template-generation": "3"});
        assert_eq!(made["metadata"]["labels"], labels);
        assert_eq!(made["metadata"]["generateName"], "logs-");
        let affinity = &made["spec"]["affinity"]["nodeAffinity"];
        assert_eq!(affinity["preferred"], 1);
        let term = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]);
        assert_eq!(affinity[required]["nodeSelectorTerms"], term);
        let tolerations = made["spec"]["tolerations"].as_array().unwrap();
        assert_eq!(tolerations.len(), 6, "each once: {tolerations:?}");
        assert!(tolerations.iter().all(|t| t.get("tolerationSeconds").is_none()));
        let read: Pod = serde_json::from_value(made).unwrap();
        assert_eq!(target(&read), Some("n1"));
        let placed: Pod = serde_json::from_value(json!({"spec": {"nodeName": "n2"}})).unwrap();
        assert_eq!(target(&placed), Some("n2"));
        assert_eq!(target(&Pod::default()), None);
    }
}
