//! Kinds about the cluster itself: storage, networking, rights, scheduling, devices, flow control.

use serde_json::{Value, json};

use super::Clock;
use crate::value::{Fields, default_absent, default_zero, ensure_in, is_zero};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn apply(name: &str, it: &mut Fields, clock: Clock<'_>) {
    match name {
        "api.storage.v1.StorageClass" => {
            default_absent(it, "reclaimPolicy", "Delete");
            default_absent(it, "volumeBindingMode", "Immediate");
        }
        "api.storage.v1.CSIDriver" => csi_driver(ensure_in(it, "spec")),
        "api.networking.v1.NetworkPolicyPort" => default_absent(it, "protocol", "TCP"),
        "api.networking.v1.NetworkPolicy" => {
            let spec = ensure_in(it, "spec");
            let out = spec.get("egress").is_some_and(|e| !is_zero(e));
            default_zero(spec, "policyTypes", if out { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
        }
        "api.networking.v1.IngressClassParametersReference" => default_absent(it, "scope", "Cluster"),
        "api.rbac.v1.ClusterRoleBinding" | "api.rbac.v1.RoleBinding" => {
            default_zero(ensure_in(it, "roleRef"), "apiGroup", RBAC);
        }
        "api.rbac.v1.Subject" => {
            if matches!(it.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
                default_zero(it, "apiGroup", RBAC);
            }
        }
        "api.scheduling.v1.PriorityClass" => default_absent(it, "preemptionPolicy", "PreemptLowerPriority"),
        "api.discovery.v1.EndpointPort" => {
            default_absent(it, "name", "");
            default_absent(it, "protocol", "TCP");
        }
        "api.authentication.v1.TokenRequestSpec" => default_absent(it, "expirationSeconds", 3600),
        "api.resource.v1.ExactDeviceRequest" | "api.resource.v1.DeviceSubRequest" => {
            default_zero(it, "allocationMode", "ExactCount");
            if it.get("allocationMode").and_then(Value::as_str) == Some("ExactCount") {
                default_zero(it, "count", 1);
            }
        }
        "api.resource.v1.DeviceTaint" => default_absent(it, "timeAdded", clock.now),
        _ => flow_control(name, it),
    }
}

fn csi_driver(spec: &mut Fields) {
    default_absent(spec, "attachRequired", true);
    default_absent(spec, "podInfoOnMount", false);
    default_absent(spec, "storageCapacity", false);
    default_absent(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default_zero(spec, "volumeLifecycleModes", json!(["Persistent"]));
    default_absent(spec, "requiresRepublish", false);
    default_absent(spec, "seLinuxMount", false);
    default_absent(spec, "preventPodSchedulingIfMissing", false);
}

fn flow_control(name: &str, it: &mut Fields) {
    match name {
        "api.flowcontrol.v1.FlowSchemaSpec" => default_zero(it, "matchingPrecedence", 1000),
        "api.flowcontrol.v1.ExemptPriorityLevelConfiguration" => {
            default_absent(it, "nominalConcurrencyShares", 0);
            default_absent(it, "lendablePercent", 0);
        }
        "api.flowcontrol.v1.LimitedPriorityLevelConfiguration" => {
            default_absent(it, "nominalConcurrencyShares", 30);
            default_absent(it, "lendablePercent", 0);
        }
        "api.flowcontrol.v1.QueuingConfiguration" => {
            default_zero(it, "handSize", 8);
            default_zero(it, "queues", 64);
            default_zero(it, "queueLengthLimit", 50);
        }
        _ => {}
    }
}
