//! A service's cluster IPs and their families.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::Found;
use crate::validation::ip;
use crate::validation::path::{Path, get, list, text, texts};
use crate::validation::shown::{self, go_json};

/// Whether the service has no cluster IP by choice.
pub(super) fn is_headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

fn say(found: &mut Found, path: &Path, value: &Value, detail: &str) {
    found.push(shown::invalid(path, go_json(value), detail));
}

/// What is wrong with the addresses.
pub(super) fn check(found: &mut Found, spec: &Value, before: Option<&Value>) {
    const FAMILIES: &[&str] = &["IPv4", "IPv6"];
    const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let path = Path::new("spec");
    let (field, ips) = (path.child("clusterIPs"), texts(spec, "clusterIPs"));
    let all = get(spec, "clusterIPs");
    let first = text(spec, "clusterIP");
    match (first.is_empty(), ips.first()) {
        (false, None) => found.required(&field, ""),
        (false, Some(ip)) if *ip != first => say(found, &field, all, "first value must match `clusterIP`"),
        (true, Some(_)) => say(found, &field, all, "must be empty when `clusterIP` is not specified"),
        _ => {}
    }
    let families = texts(spec, "ipFamilies");
    let mut seen = BTreeSet::new();
    for (i, family) in families.iter().enumerate() {
        let path = path.child("ipFamilies").index(i);
        if !FAMILIES.contains(family) {
            found.unsupported(&path, *family, FAMILIES);
        }
        if !seen.insert(*family) {
            found.duplicate(&path, *family);
        }
    }
    if let Some(policy) = get(spec, "ipFamilyPolicy").as_str().filter(|policy| !POLICIES.contains(policy)) {
        found.unsupported(&path.child("ipFamilyPolicy"), policy, POLICIES);
    }
    let had = before.map(|before| texts(before, "clusterIPs")).unwrap_or_default();
    let mut broken = false;
    for (i, address) in ips.iter().enumerate() {
        if i == 0 && *address == "None" {
            if ips.len() > 1 {
                broken = true;
                say(found, &field, all, "'None' must be the first and only value");
            }
            continue;
        }
        let errors = ip::is_ip_legacy(&field.index(i), address, &had);
        broken |= !errors.is_empty();
        found.extend(errors);
    }
    if ips.len() > 2 {
        say(found, &field, all, "may only hold up to 2 values");
    }
    if broken {
        return;
    }
    if ips.len() > 1 && !(ips.iter().any(|ip| ip::is_ipv6(ip)) && ips.iter().any(|ip| ip::is_ipv4(ip))) {
        say(found, &field, all, "may specify no more than one IP for each IP family");
    }
    if is_headless(spec) {
        return;
    }
    for (i, (address, family)) in ips.iter().zip(&families).enumerate() {
        let wrong = match *family {
            "IPv4" => ip::is_ipv6(address),
            "IPv6" => !ip::is_ipv6(address),
            _ => false,
        };
        if wrong {
            let said = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            found.invalid(field.index(i), *address, said);
        }
    }
}

/// What of the addresses and families may not change.
pub(super) fn changed(found: &mut Found, spec: &Value, before: &Value) {
    let external = |spec| text(spec, "type") == "ExternalName";
    if external(spec) || external(before) {
        return;
    }
    match (is_headless(before), is_headless(spec)) {
        (true, true) => {}
        (false, false) => {
            ips(found, spec, before);
            families(found, spec, before);
        }
        // Families may follow when a service takes up addresses, or gives them up.
        _ => ips(found, spec, before),
    }
}

const CHANGED: &str = "may not change once set";

fn single_stack(found: &mut Found, spec: &Value, what: &str) {
    let policy = get(spec, "ipFamilyPolicy");
    if policy.as_str() != Some("SingleStack") {
        let said = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        say(found, &Path::new("spec").child("ipFamilyPolicy"), policy, &said);
    }
}

fn ips(found: &mut Found, spec: &Value, before: &Value) {
    let path = Path::new("spec").child("clusterIPs");
    let (new, old) = (list(spec, "clusterIPs"), list(before, "clusterIPs"));
    let all = get(spec, "clusterIPs");
    if old.len() == new.len() {
        for (i, _) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new) {
            say(found, &path.index(i), all, CHANGED);
        }
        return;
    }
    let primary_changed = !old.is_empty() && !new.is_empty() && old.first() != new.first();
    if old.len() > new.len() && new.is_empty() {
        say(found, &path.index(0), all, "primary clusterIP can not be unset");
    }
    if primary_changed {
        say(found, &path.index(0), all, CHANGED);
    }
    if old.len() > new.len() && new.len() == 1 {
        single_stack(found, spec, "clusterIP");
    }
}

fn families(found: &mut Found, spec: &Value, before: &Value) {
    let path = Path::new("spec").child("ipFamilies").index(0);
    let (new, old) = (list(spec, "ipFamilies"), list(before, "ipFamilies"));
    let all = get(spec, "ipFamilies");
    if old.len() == new.len() {
        for _ in old.iter().zip(new).filter(|(old, new)| old != new) {
            say(found, &path, all, CHANGED);
        }
        return;
    }
    if old.len() > new.len() && list(spec, "clusterIPs").is_empty() {
        say(found, &path, all, "primary ipFamily can not be unset");
    }
    // Upstream shows the addresses here, not the families.
    if !old.is_empty() && !new.is_empty() && old.first() != new.first() {
        say(found, &path, get(spec, "clusterIPs"), CHANGED);
    }
    if old.len() > new.len() && new.len() == 1 {
        single_stack(found, spec, "ipFamily");
    }
}
