//! One APIService for each served group and version.

use jiff::Timestamp;
use plimsoll_schema::Table;
use serde_json::{Value, json};

use crate::kind::Kind;

/// Group, version, the group's priority, the version's priority: upstream's numbers, by which discovery is sorted.
const PRIORITIES: [(&str, &str, u32, u32); 22] = [
    ("", "v1", 18000, 1),
    ("apps", "v1", 17800, 15),
    ("events.k8s.io", "v1", 17750, 15),
    ("authentication.k8s.io", "v1", 17700, 15),
    ("authorization.k8s.io", "v1", 17600, 15),
    ("autoscaling", "v1", 17500, 15),
    ("autoscaling", "v2", 17500, 30),
    ("batch", "v1", 17400, 15),
    ("certificates.k8s.io", "v1", 17300, 15),
    ("networking.k8s.io", "v1", 17200, 15),
    ("policy", "v1", 17100, 15),
    ("rbac.authorization.k8s.io", "v1", 17000, 15),
    ("storage.k8s.io", "v1", 16800, 15),
    ("admissionregistration.k8s.io", "v1", 16700, 15),
    ("apiextensions.k8s.io", "v1", 16700, 15),
    ("scheduling.k8s.io", "v1", 16600, 15),
    ("coordination.k8s.io", "v1", 16500, 15),
    ("node.k8s.io", "v1", 16300, 15),
    ("discovery.k8s.io", "v1", 16200, 15),
    ("resource.k8s.io", "v1", 16200, 21),
    ("flowcontrol.apiserver.k8s.io", "v1", 16100, 21),
    ("storagemigration.k8s.io", "v1", 15800, 15),
];
/// Of a custom resource's group and version.
const CUSTOM: (u32, u32) = (1000, 100);

/// The APIServices of the table's groups. The group of APIServices itself has none, as upstream.
pub fn objects(table: &Table, now: Timestamp) -> Vec<(Kind<'static>, Value)> {
    let groups = table.groups().iter();
    let known = groups.filter_map(|g| {
        let (group, version, minimum, priority) = *PRIORITIES.iter().find(|p| (p.0, p.1) == (&g.group, &g.version))?;
        Some(object(group, version, (minimum, priority), "onstart", now))
    });
    known.collect()
}

/// The APIService of a custom resource's group and version, which comes and goes with its definition.
pub fn custom(group: &str, version: &str, now: Timestamp) -> (Kind<'static>, Value) {
    object(group, version, CUSTOM, "true", now)
}

fn object(group: &str, version: &str, priority: (u32, u32), managed: &str, now: Timestamp) -> (Kind<'static>, Value) {
    let mut object = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {
            "name": format!("{version}.{group}"),
            "labels": { "kube-aggregator.kubernetes.io/automanaged": managed },
        },
        "spec": { "version": version, "groupPriorityMinimum": priority.0, "versionPriority": priority.1 },
        "status": { "conditions": [{
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": super::shown(now),
        }] },
    });
    if !group.is_empty() {
        object["spec"]["group"] = json!(group);
    }
    (Kind::new("apiregistration.k8s.io", "v1", "APIService"), object)
}
