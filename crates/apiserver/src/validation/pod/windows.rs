//! What differs on Windows.

use serde_json::Value;

use super::containers;
use super::security::{ALLOW_PRIVILEGED, pod_host_process};
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, at, flag, get, has, text};

/// Options of a security context for Windows.
pub fn options(out: &mut Found, options: &Value, path: &Path) {
    if options.is_null() {
        return;
    }
    if let Some(name) = get(options, "gmsaCredentialSpecName").as_str() {
        out.said(&path.child("gmsaCredentialSpecName"), name, names::is_dns1123_subdomain(name));
    }
    if let Some(spec) = get(options, "gmsaCredentialSpec").as_str() {
        let field = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            out.invalid(&field, spec, "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > 64 * 1024 {
            out.invalid(&field, spec, "gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    if let Some(name) = get(options, "runAsUserName").as_str() {
        for said in user_name(name) {
            out.invalid(&path.child("runAsUserName"), name, said);
        }
    }
}

/// `DOMAIN\user`.
fn user_name(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string".into()];
    }
    if name.bytes().any(|b| b.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters".into()];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, rest)) if rest.contains('\\') => {
            return vec!["runAsUserName cannot contain more than one backslash".into()];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut out = Vec::new();
    if domain.is_some_and(|domain| domain.len() >= 256) {
        out.push("runAsUserName's Domain length must be under 256 characters".into());
    }
    if domain.is_some_and(|domain| !is_netbios(domain) && !is_dns(domain)) {
        out.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".into());
    }
    if user.is_empty() {
        out.push("runAsUserName's User cannot be empty".into());
    } else if user.len() > 104 {
        out.push("runAsUserName's User length must not be longer than 104 characters".into());
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        out.push("runAsUserName's User cannot contain only periods or spaces".into());
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        out.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]".into());
    }
    out
}

fn is_netbios(domain: &str) -> bool {
    let count = domain.chars().count();
    (1..=15).contains(&count)
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
        label.len() <= 63
            && ends(label.bytes().next())
            && ends(label.bytes().last())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// Containers that are processes of the host: all or none.
pub fn host_process(out: &mut Found, spec: &Value, path: &Path) {
    let pod = pod_host_process(spec);
    let all = containers::all(spec, path);
    let mut count = 0;
    for (container, field) in &all {
        let own = at(container, &["securityContext", "windowsOptions", "hostProcess"]).as_bool();
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let field = field.children(&["securityContext", "windowsOptions", "hostProcess"]);
            let said = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            out.invalid(&field, own, said);
        }
        if own.or(pod).unwrap_or_default() {
            count += 1;
        }
    }
    if count == 0 {
        return;
    }
    if count != all.len() {
        let said = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        out.invalid(path, "", said);
    }
    if !flag(spec, "hostNetwork") {
        let said = "hostNetwork must be true if pod contains any hostProcess containers";
        out.invalid(&path.child("hostNetwork"), false, said);
    }
    if !ALLOW_PRIVILEGED {
        out.forbidden(path, "hostProcess containers are disallowed by cluster policy");
    }
}

/// The operating system, and that nothing is set that it does not have.
pub fn os(out: &mut Found, spec: &Value, path: &Path) {
    let field = path.child("os");
    match text(get(spec, "os"), "name") {
        "" => out.required(&field.child("name"), ""),
        "linux" => linux(out, spec, path),
        "windows" => windows(out, spec, path),
        other => out.unsupported(&field, other, &["linux", "windows"]),
    }
}

fn linux(out: &mut Found, spec: &Value, path: &Path) {
    let said = "windows options cannot be set for a linux pod";
    if has(get(spec, "securityContext"), "windowsOptions") {
        out.forbidden(&path.children(&["securityContext", "windowsOptions"]), said);
    }
    for (container, field) in containers::all(spec, path) {
        if has(get(container, "securityContext"), "windowsOptions") {
            out.forbidden(&field.children(&["securityContext", "windowsOptions"]), said);
        }
    }
}

fn windows(out: &mut Found, spec: &Value, path: &Path) {
    const POD: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    const CONTAINER: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let said = "cannot be set for a windows pod";
    for name in POD {
        if has(get(spec, "securityContext"), name) {
            out.forbidden(&path.child("securityContext").child(name), said);
        }
    }
    if has(spec, "hostUsers") {
        out.forbidden(&path.child("hostUsers"), said);
    }
    for name in ["hostPID", "hostIPC"] {
        if flag(spec, name) {
            out.forbidden(&path.child(name), said);
        }
    }
    if has(spec, "shareProcessNamespace") {
        out.forbidden(&path.child("shareProcessNamespace"), said);
    }
    for (container, field) in containers::all(spec, path) {
        for name in CONTAINER {
            if has(get(container, "securityContext"), name) {
                out.forbidden(&field.child("securityContext").child(name), said);
            }
        }
    }
}
