//! The priority levels and flow schemas that upstream starts with. Nothing acts on them here; clients find them all the same.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kind::Kind;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// Name, shares, lendable percent, and how requests wait: queues and hand size (none: they do not).
type Level = (&'static str, u32, u32, Option<(u32, u32)>);

const LEVELS: [Level; 7] = [
    ("catch-all", 5, 0, None),
    ("system", 30, 33, Some((64, 6))),
    ("node-high", 40, 25, Some((64, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
    ("global-default", 20, 50, Some((128, 6))),
];

/// Who a schema is for.
enum Who {
    Group(&'static str),
    User(&'static str),
    /// Every service account of `kube-system`.
    SystemAccounts,
}

/// What a schema is about.
enum What {
    Everything,
    Probes,
    Leases,
    Nodes,
}

const EVERYONE: &[Who] = &[Who::Group("system:unauthenticated"), Who::Group("system:authenticated")];
const KCM: Who = Who::User("system:kube-controller-manager");
const SCHEDULER: Who = Who::User("system:kube-scheduler");

/// Name, level, precedence, how flows are told apart, who, what.
type Schema = (&'static str, &'static str, u32, &'static str, &'static [Who], What);

const SCHEMAS: [Schema; 11] = [
    ("exempt", "exempt", 1, "", &[Who::Group("system:masters")], What::Everything),
    ("probes", "exempt", 2, "", EVERYONE, What::Probes),
    ("system-leader-election", "leader-election", 100, "ByUser", &[KCM, SCHEDULER, Who::SystemAccounts], What::Leases),
    ("system-node-high", "node-high", 400, "ByUser", &[Who::Group("system:nodes")], What::Nodes),
    ("system-nodes", "system", 500, "ByUser", &[Who::Group("system:nodes")], What::Everything),
    ("kube-controller-manager", "workload-high", 800, "ByNamespace", &[KCM], What::Everything),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", &[SCHEDULER], What::Everything),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", &[Who::SystemAccounts], What::Everything),
    ("service-accounts", "workload-low", 9000, "ByUser", &[Who::Group("system:serviceaccounts")], What::Everything),
    ("global-default", "global-default", 9900, "ByUser", EVERYONE, What::Everything),
    ("catch-all", "catch-all", 10000, "ByUser", EVERYONE, What::Everything),
];

/// All of them, as they are stored.
pub fn objects(now: Timestamp) -> Vec<(Kind<'static>, Value)> {
    let level = Kind::new(GROUP, "v1", "PriorityLevelConfiguration");
    let exempt = json!({ "type": "Exempt", "exempt": { "nominalConcurrencyShares": 0, "lendablePercent": 0 } });
    let mut out = vec![(level, object(level, "exempt", exempt, json!({})))];
    for (name, shares, lendable, queues) in LEVELS {
        let response = match queues {
            None => json!({ "type": "Reject" }),
            Some((queues, hand)) => json!({
                "type": "Queue", "queuing": { "queues": queues, "handSize": hand, "queueLengthLimit": 50 },
            }),
        };
        let limited =
            json!({ "nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response });
        out.push((level, object(level, name, json!({ "type": "Limited", "limited": limited }), json!({}))));
    }
    let schema = Kind::new(GROUP, "v1", "FlowSchema");
    for (name, level, precedence, distinguisher, who, what) in &SCHEMAS {
        let mut rule = what.rules();
        rule["subjects"] = who.iter().map(Who::subject).collect();
        let mut spec = json!({
            "priorityLevelConfiguration": { "name": level }, "matchingPrecedence": precedence, "rules": [rule],
        });
        if !distinguisher.is_empty() {
            spec["distinguisherMethod"] = json!({ "type": distinguisher });
        }
        let message =
            format!("This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" and it exists");
        let status = json!({ "conditions": [{
            "type": "Dangling", "status": "False", "reason": "Found", "message": message,
            "lastTransitionTime": super::shown(now),
        }] });
        out.push((schema, object(schema, name, spec, status)));
    }
    out
}

fn object(kind: Kind<'_>, name: &str, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {
            "name": name, "generation": 1, "annotations": { "apf.kubernetes.io/autoupdate-spec": "true" },
        },
        "spec": spec, "status": status,
    })
}

impl Who {
    fn subject(&self) -> Value {
        match self {
            Self::Group(name) => json!({ "kind": "Group", "group": { "name": name } }),
            Self::User(name) => json!({ "kind": "User", "user": { "name": name } }),
            Self::SystemAccounts => {
                json!({ "kind": "ServiceAccount", "serviceAccount": { "namespace": "kube-system", "name": "*" } })
            }
        }
    }
}

impl What {
    fn rules(&self) -> Value {
        let leases = |verbs: Value| json!({ "verbs": verbs, "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "namespaces": ["*"] });
        match self {
            Self::Everything => json!({
                "resourceRules": [{
                    "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
                }],
                "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
            }),
            Self::Probes => json!({
                "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"] }],
            }),
            Self::Leases => json!({ "resourceRules": [leases(json!(["get", "create", "update"]))] }),
            Self::Nodes => json!({
                "resourceRules": [
                    {
                        "verbs": ["*"], "apiGroups": [""], "resources": ["nodes", "nodes/status"],
                        "clusterScope": true, "namespaces": ["*"],
                    },
                    leases(json!(["*"])),
                ],
            }),
        }
    }
}
