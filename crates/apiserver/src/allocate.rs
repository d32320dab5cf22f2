//! Addresses and ports of services, which the server hands out.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::admission::Cluster;
use crate::core::Core;
use crate::field::FieldError;
use crate::kind::Kind;
use crate::status::Status;
use crate::strategy;

/// The first address of the range of services, and how many there are (`10.0.0.0/24`).
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const SIZE: u32 = 256;
/// The lower part of the range is left to those who ask for an address, as upstream leaves it.
const ASKED_FOR: u32 = 16;
/// The range of node ports.
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Gives a new service its address and ports.
pub fn on_create(core: &Core, kind: Kind<'_>, object: &mut Value) -> Result<(), Status> {
    if (kind.group, kind.kind) != ("", "Service") {
        return Ok(());
    }
    addresses(core, object)?;
    ports(core, object)
}

/// Gives a service what a change of its type asks for.
pub fn on_update(core: &Core, kind: Kind<'_>, object: &mut Value) -> Result<(), Status> {
    if (kind.group, kind.kind) != ("", "Service") {
        return Ok(());
    }
    addresses(core, object)?;
    ports(core, object)
}

fn addresses(core: &Core, object: &mut Value) -> Result<(), Status> {
    if !strategy::needs_cluster_ip(object) {
        return Ok(());
    }
    let asked = object["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
    if asked.is_empty() {
        let taken = taken(core, object, |service| {
            service["spec"]["clusterIPs"].as_array().into_iter().flatten().filter_map(|ip| ip.as_str().map(str::to_owned)).collect()
        });
        let free = (ASKED_FOR..SIZE - 1).chain(1..ASKED_FOR).map(|i| Ipv4Addr::from(u32::from(FIRST) + i).to_string());
        let Some(free) = free.into_iter().find(|ip| !taken.contains(ip)) else {
            let error = FieldError::invalid("spec.clusterIPs", &json!([]), "failed to allocate an IP: range is full");
            return Err(Status::invalid("", "Service", crate::value::name(object), &[error]));
        };
        object["spec"]["clusterIP"] = free.into();
    }
    strategy::complete_addresses(object);
    Ok(())
}

fn ports(core: &Core, object: &mut Value) -> Result<(), Status> {
    if !strategy::allocates_node_ports(object) {
        return Ok(());
    }
    let mut taken: BTreeSet<i64> = taken(core, object, |service| {
        service["spec"]["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_i64()).collect()
    });
    let name = crate::value::name(object).to_owned();
    let Some(list) = object["spec"]["ports"].as_array_mut() else { return Ok(()) };
    taken.extend(list.iter().filter_map(|port| port["nodePort"].as_i64()));
    for port in list {
        if port["nodePort"].as_i64().unwrap_or(0) != 0 {
            continue;
        }
        let Some(free) = PORTS.into_iter().find(|p| !taken.contains(p)) else {
            let error = FieldError::invalid("spec.ports", &json!([]), "failed to allocate a nodePort: range is full");
            return Err(Status::invalid("", "Service", &name, &[error]));
        };
        port["nodePort"] = free.into();
        taken.insert(free);
    }
    Ok(())
}

/// What the other services have.
fn taken<T: Ord>(core: &Core, object: &Value, of: impl Fn(&Value) -> Vec<T>) -> BTreeSet<T> {
    let itself = |service: &Value| service["metadata"]["uid"] == object["metadata"]["uid"];
    core.list("", "services", None).iter().filter(|service| !itself(service)).flat_map(|service| of(service)).collect()
}
