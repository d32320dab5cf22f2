//! Addresses and ports of services, which the server hands out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use crate::admission::Cluster;
use crate::core::Core;
use crate::field::{FieldError, go_quoted};
use crate::kind::Kind;
use crate::status::Status;
use crate::{strategy, validation};

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
    strategy::name_address_twice(object);
    right(object, None)?;
    addresses(core, object, true)?;
    Ports::new(core, object, None).give(object)
}

/// Gives a service what a change of its type asks for.
pub fn on_update(core: &Core, kind: Kind<'_>, object: &mut Value, old: &Value) -> Result<(), Status> {
    if (kind.group, kind.kind) != ("", "Service") {
        return Ok(());
    }
    if !strategy::needs_cluster_ip(old) {
        strategy::name_address_twice(object);
    }
    right(object, Some(old))?;
    // An address stays; one that is changed is refused by validation.
    addresses(core, object, !strategy::needs_cluster_ip(old))?;
    Ports::new(core, object, Some(old)).give(object)
}

/// Refuses addresses that are wrong in themselves, before any is given: those that are given would hide it.
fn right(object: &Value, old: Option<&Value>) -> Result<(), Status> {
    let errors = validation::cluster::service_addresses(object, old);
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("", "Service", crate::value::name(object), &errors)) }
}

fn addresses(core: &Core, object: &mut Value, new: bool) -> Result<(), Status> {
    if !strategy::needs_cluster_ip(object) {
        return Ok(());
    }
    families(object, new)?;
    let asked = object["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
    if !asked.is_empty() && !new {
        strategy::complete_addresses(object);
        return Ok(());
    }
    if asked.is_empty() || asked != "None" {
        let taken = taken(core, object, |service| {
            service["spec"]["clusterIPs"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|ip| ip.as_str().map(str::to_owned))
                .collect()
        });
        if asked.is_empty() {
            let free =
                (ASKED_FOR..SIZE - 1).chain(1..ASKED_FOR).map(|i| Ipv4Addr::from(u32::from(FIRST) + i).to_string());
            let Some(free) = free.into_iter().find(|ip| !taken.contains(ip)) else {
                let name = go_quoted(crate::value::name(object));
                return Err(Status::internal(format!(
                    "failed to allocate a serviceIP for Service {name}: range is full"
                )));
            };
            object["spec"]["clusterIP"] = free.into();
        } else if let Some(why) = unusable(&asked, &taken) {
            strategy::complete_addresses(object);
            let value = &object["spec"]["clusterIPs"];
            let error = FieldError::invalid("spec.clusterIPs", value, format!("failed to allocate IP {asked}: {why}"));
            return Err(Status::invalid("", "Service", crate::value::name(object), &[error]));
        }
    }
    strategy::complete_addresses(object);
    Ok(())
}

/// Refuses what only a cluster with IPv6 services has. What is wrong in itself is left to validation.
fn families(object: &Value, new: bool) -> Result<(), Status> {
    let spec = &object["spec"];
    let texts =
        |field: &str| -> Vec<&str> { spec[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect() };
    let (asked, mut addresses, policy) = (texts("ipFamilies"), texts("clusterIPs"), spec["ipFamilyPolicy"].as_str());
    if addresses.is_empty() {
        addresses.extend(spec["clusterIP"].as_str().filter(|address| !address.is_empty()));
    }
    let of = |address: &str| match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => Some("IPv4"),
        Ok(IpAddr::V6(_)) => Some("IPv6"),
        Err(_) => None,
    };
    let known = |family: &&str| matches!(*family, "IPv4" | "IPv6");
    let fits = addresses.iter().zip(&asked).all(|(address, family)| *address == "None" || of(address) == Some(family));
    if !fits || !asked.iter().all(known) {
        return Ok(());
    }
    // Nobody knows the endpoints of a service without an address and without a selector: it may ask for anything, and who says no policy
    // means both families.
    let headless = spec["clusterIP"] == "None" && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty);
    let mut errors = Vec::new();
    if new && policy.map_or(!headless, |policy| policy == "SingleStack") {
        for (count, what) in [(addresses.len(), "cluster IPs"), (asked.len(), "IP families")] {
            if count == 2 {
                let said =
                    format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
                errors.push(FieldError::invalid("spec.ipFamilyPolicy", &json!("SingleStack"), said));
            }
        }
    }
    for (i, address) in addresses.iter().enumerate().skip(asked.len()) {
        if of(address) == Some("IPv6") {
            let field = format!("spec.clusterIPs[{i}]");
            errors.push(FieldError::invalid(field, &json!(addresses), "IPv6 is not configured on this cluster"));
        }
    }
    if errors.is_empty() && !headless {
        if policy == Some("RequireDualStack") {
            let said = "this cluster is not configured for dual-stack services";
            errors.push(FieldError::invalid("spec.ipFamilyPolicy", &spec["ipFamilyPolicy"], said));
        }
        for (i, family) in asked.iter().enumerate().filter(|(_, family)| **family != "IPv4") {
            let field = format!("spec.ipFamilies[{i}]");
            errors.push(FieldError::invalid(field, &json!(family), "not configured on this cluster"));
        }
    }
    let name = crate::value::name(object);
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("", "Service", name, &errors)) }
}

/// Why an address that is asked for cannot be given. What is no IPv4 address is left to validation.
fn unusable(asked: &str, taken: &BTreeSet<String>) -> Option<String> {
    let Ok(IpAddr::V4(address)) = asked.parse::<IpAddr>() else { return None };
    let offset = u32::from(address).checked_sub(u32::from(FIRST)).filter(|offset| *offset < SIZE);
    match offset {
        None => Some("the provided network does not match the current range".into()),
        Some(offset) if offset == 0 || offset == SIZE - 1 => Some(format!(
            "the provided IP ({asked}) is not in the valid range. The range of valid IPs is {FIRST}/{}",
            SIZE.leading_zeros() + 1
        )),
        Some(_) => taken.contains(asked).then(|| "provided IP is already allocated".into()),
    }
}

/// The node ports of one service.
struct Ports {
    /// Those of the other services.
    taken: BTreeSet<i64>,
    /// Those that the service had: it may keep them.
    had: BTreeSet<i64>,
    update: bool,
}

impl Ports {
    fn new(core: &Core, object: &Value, old: Option<&Value>) -> Self {
        let taken = taken(core, object, numbers);
        let had = old.map(numbers).unwrap_or_default().into_iter().collect();
        Self { taken, had, update: old.is_some() }
    }

    fn give(mut self, object: &mut Value) -> Result<(), Status> {
        let kind = object["spec"]["type"].as_str().unwrap_or_default().to_owned();
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
            self.give_ports(object)?;
        }
        let health = kind == "LoadBalancer" && object["spec"]["externalTrafficPolicy"] == "Local";
        let port = object["spec"]["healthCheckNodePort"].as_i64().unwrap_or(0);
        if health && port == 0 {
            let port = self.next()?;
            object["spec"]["healthCheckNodePort"] = port.into();
        } else if health && let Err(why) = self.take(port) {
            return Err(Status::internal(format!("failed to allocate requested HealthCheck NodePort {port}: {why}")));
        }
        Ok(())
    }

    fn give_ports(&mut self, object: &mut Value) -> Result<(), Status> {
        let allocates = strategy::allocates_node_ports(object);
        let name = crate::value::name(object).to_owned();
        let Some(list) = object["spec"]["ports"].as_array_mut() else { return Ok(()) };
        let asked: Vec<(i64, i64)> = list.iter().map(|p| (number(p, "port"), number(p, "nodePort"))).collect();
        // Two protocols on one port share a node port.
        let mut given: BTreeMap<i64, i64> = BTreeMap::new();
        for (i, entry) in list.iter_mut().enumerate() {
            let (port, wanted) = (number(entry, "port"), number(entry, "nodePort"));
            if wanted == 0 && !allocates {
                continue;
            }
            let known = given.get(&port).copied().filter(|_| !self.update);
            let later = asked.iter().skip(i).find(|a| a.0 == port && a.1 != 0).map_or(0, |a| a.1);
            let wanted = match known {
                Some(known) if wanted == 0 || wanted == known => {
                    entry["nodePort"] = known.into();
                    continue;
                }
                Some(_) => wanted,
                None if self.update => wanted,
                None => later,
            };
            let got = if wanted == 0 {
                self.next()?
            } else {
                self.take(wanted).map_err(|why| {
                    let error = FieldError::invalid(format!("spec.ports[{i}].nodePort"), &json!(wanted), why);
                    Status::invalid("", "Service", &name, &[error])
                })?;
                wanted
            };
            entry["nodePort"] = got.into();
            given.entry(port).or_insert(got);
        }
        Ok(())
    }

    /// Takes a port that is asked for.
    fn take(&mut self, port: i64) -> Result<(), String> {
        if self.had.contains(&port) {
            return Ok(());
        }
        if !PORTS.contains(&port) {
            let (first, last) = (PORTS.start(), PORTS.end());
            return Err(format!("provided port is not in the valid range. The range of valid ports is {first}-{last}"));
        }
        // On an update, two protocols may ask for one port.
        if !self.taken.insert(port) {
            return Err("provided port is already allocated".into());
        }
        if self.update {
            self.had.insert(port);
        }
        Ok(())
    }

    /// Takes any free port.
    fn next(&mut self) -> Result<i64, Status> {
        let free = PORTS.into_iter().find(|port| !self.taken.contains(port) && !self.had.contains(port));
        let free = free.ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?;
        self.taken.insert(free);
        Ok(free)
    }
}

fn number(port: &Value, field: &str) -> i64 {
    port[field].as_i64().unwrap_or(0)
}

fn numbers(service: &Value) -> Vec<i64> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten().map(|port| number(port, "nodePort"));
    ports.chain([number(&service["spec"], "healthCheckNodePort")]).filter(|port| *port != 0).collect()
}

/// What the other services have.
fn taken<T: Ord>(core: &Core, object: &Value, of: impl Fn(&Value) -> Vec<T>) -> BTreeSet<T> {
    let itself = |service: &Value| service["metadata"]["uid"] == object["metadata"]["uid"];
    core.list("", "services", None).iter().filter(|service| !itself(service)).flat_map(|service| of(service)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_of_two_families_needs_a_policy_unless_it_has_no_address_and_no_selector() {
        let both = |more: Value| {
            let mut spec = json!({"ipFamilies": ["IPv4", "IPv6"]});
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            families(&json!({"metadata": {"name": "s"}, "spec": spec}), true).err().map(|status| status.message)
        };
        let headless = json!({"clusterIP": "None"});
        assert_eq!(both(headless), None);
        let asked = json!({"clusterIP": "None", "ipFamilyPolicy": "PreferDualStack"});
        assert_eq!(both(asked), None);
        for refused in [
            json!({}),
            json!({"clusterIP": "None", "selector": {"a": "b"}}),
            json!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}),
        ] {
            let said = both(refused.clone()).unwrap_or_default();
            assert!(said.contains("when multiple IP families are specified"), "{refused}: {said}");
        }
    }
}
