//! Services: what goes with a type goes when the type changes.

use serde_json::{Value, json};

use crate::value::{
    as_fields, copy_field, default_absent, default_zero, ensure, ensure_list, get, int, is_zero, list, list_mut,
    remove, text,
};

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

/// Addresses and ports that a service already has, where the request leaves them out.
pub(super) fn keep_allocated(new: &mut Value, old: &Value) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        if text(new, &["spec", "clusterIP"]).is_empty() {
            copy_field(new, old, &["spec", "clusterIP"]);
        }
        if list(new, &["spec", "clusterIPs"]).is_empty() {
            copy_field(new, old, &["spec", "clusterIPs"]);
        }
        // Who changes the single address only means both.
        let changed = text(new, &["spec", "clusterIP"]) != text(old, &["spec", "clusterIP"]);
        if changed && list(new, &["spec", "clusterIPs"]) == list(old, &["spec", "clusterIPs"]) {
            let single = text(new, &["spec", "clusterIP"]).to_owned();
            ensure(new, &["spec"]).insert("clusterIPs".into(), json!([single]));
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if get(new, &["spec", field]).is_none() {
                copy_field(new, old, &["spec", field]);
            }
        }
    }
    if allocates_node_ports(old) && allocates_node_ports(new) {
        let ports = |s: &Value| -> Vec<i64> {
            list(s, &["spec", "ports"]).iter().filter_map(|p| int(p, &["nodePort"])).collect()
        };
        let (had, asked) = (ports(old), ports(new));
        for port in list_mut(new, &["spec", "ports"]) {
            if int(port, &["nodePort"]).unwrap_or_default() != 0 {
                continue;
            }
            let before = list(old, &["spec", "ports"]).iter().rfind(|p| text(p, &["name"]) == text(port, &["name"]));
            let number = before.and_then(|p| int(p, &["nodePort"])).unwrap_or_default();
            if number != 0 && !(had.contains(&number) && asked.contains(&number)) {
                as_fields(port).insert("nodePort".into(), number.into());
            }
        }
    }
    if needs_health_check_port(old)
        && needs_health_check_port(new)
        && get(new, &["spec", "healthCheckNodePort"]).is_none()
    {
        copy_field(new, old, &["spec", "healthCheckNodePort"]);
    }
}

/// Whether the ports of a service get ports on every node.
pub fn allocates_node_ports(service: &Value) -> bool {
    is_type(service, &["NodePort"])
        || (is_type(service, &["LoadBalancer"])
            && get(service, &["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool).unwrap_or(true))
}

/// Who asks for an address in the older field asks for it in the newer one, whatever the type: validation looks at that.
pub fn name_address_twice(service: &mut Value) {
    let address = text(service, &["spec", "clusterIP"]).to_owned();
    if !address.is_empty() && list(service, &["spec", "clusterIPs"]).is_empty() {
        ensure(service, &["spec"]).insert("clusterIPs".into(), json!([address]));
    }
}

/// Fills in the fields that go with a service's address, once it has one (`spec.clusterIP`; `None` for a service without), in a
/// cluster whose services have IPv4 addresses.
pub fn complete_addresses(service: &mut Value) {
    if !needs_cluster_ip(service) {
        return;
    }
    let address = text(service, &["spec", "clusterIP"]).to_owned();
    if address.is_empty() {
        return;
    }
    let selects = get(service, &["spec", "selector"]).is_some_and(|s| !is_zero(s));
    let spec = ensure(service, &["spec"]);
    // Nobody knows which addresses the endpoints of such a service will have: it gets both families.
    let unknown = address == "None" && !selects;
    default_zero(spec, "clusterIPs", json!([address]));
    default_absent(spec, "ipFamilyPolicy", if unknown { "RequireDualStack" } else { "SingleStack" });
    if unknown && spec.get("ipFamilyPolicy").is_some_and(|p| p != "SingleStack") {
        let families = ensure_list(spec, "ipFamilies");
        for family in ["IPv4", "IPv6"] {
            if families.len() < 2 && !families.iter().any(|f| f == family) {
                families.push(family.into());
            }
        }
    } else {
        default_zero(spec, "ipFamilies", json!(["IPv4"]));
    }
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
        ensure(new, &["status"]).insert("loadBalancer".into(), json!({}));
    }
    // Upstream keeps it, but never shows it.
    if !needs_cluster_ip(new) {
        remove(new, &["spec", "internalTrafficPolicy"]);
    }
}
