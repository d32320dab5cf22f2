//! Services: what goes with a type goes when the type changes.

use serde_json::Value;

use crate::value::{get, int, is_zero, list, list_mut, remove, text};

/// Whether a service gets an address of the cluster: of its own, or none on purpose (`None`).
pub fn needs_cluster_ip(service: &Value) -> bool {
    text(service, &["spec", "type"]) != "ExternalName"
}

fn is_type(service: &Value, kinds: &[&str]) -> bool {
    kinds.contains(&text(service, &["spec", "type"]))
}

fn needs_node_port(service: &Value) -> bool {
    is_type(service, &["NodePort", "LoadBalancer"])
}

fn needs_health_check_port(service: &Value) -> bool {
    is_type(service, &["LoadBalancer"]) && text(service, &["spec", "externalTrafficPolicy"]) == "Local"
}

fn reachable_from_outside(service: &Value) -> bool {
    is_type(service, &["NodePort", "LoadBalancer"])
        || (is_type(service, &["ClusterIP"]) && get(service, &["spec", "externalIPs"]).is_some_and(|ips| !is_zero(ips)))
}

/// Fields that the new type has no use for, and that the request did not touch.
pub(super) fn drop_type_dependent(new: &mut Value, old: &Value) {
    let same = |new: &Value, field: &str| get(new, &["spec", field]) == get(old, &["spec", field]);
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            remove(new, &["spec", "clusterIP"]);
            remove(new, &["spec", "clusterIPs"]);
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(new, field) {
                remove(new, &["spec", field]);
            }
        }
    }
    if needs_node_port(old) && !needs_node_port(new) {
        let ports = |s: &Value| -> Vec<i64> {
            list(s, &["spec", "ports"]).iter().filter_map(|p| int(p, &["nodePort"])).collect()
        };
        let had = ports(old);
        if ports(new).iter().all(|port| had.contains(port)) {
            list_mut(new, &["spec", "ports"]).iter_mut().for_each(|port| remove(port, &["nodePort"]));
        }
    }
    if needs_health_check_port(old) && !needs_health_check_port(new) && same(new, "healthCheckNodePort") {
        remove(new, &["spec", "healthCheckNodePort"]);
    }
    if is_type(old, &["LoadBalancer"]) && !is_type(new, &["LoadBalancer"]) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, field) {
                remove(new, &["spec", field]);
            }
        }
    }
    if reachable_from_outside(old) && !reachable_from_outside(new) && same(new, "externalTrafficPolicy") {
        remove(new, &["spec", "externalTrafficPolicy"]);
    }
    if !is_type(new, &["LoadBalancer"]) && get(new, &["status", "loadBalancer"]).is_some() {
        crate::value::ensure(new, &["status"]).insert("loadBalancer".into(), serde_json::json!({}));
    }
}
