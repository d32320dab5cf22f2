//! Who a pod and its containers run as, and what confines them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Options;
use super::volume_sources::local_descending;
use super::windows;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, at, flag, get, has, list, number, text, texts};

/// Kernel settings that belong to the network, and to shared memory and semaphores.
const NET_SYSCTLS: &str = "net.";
const IPC_QUEUES: &str = "fs.mqueue.";
const IPC_SYSCTLS: &[&str] = &[
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];
const SYSCTL: &str = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Whether containers may be privileged: kube-apiserver's `--allow-privileged`, which clusters set and which is off by default.
pub const ALLOW_PRIVILEGED: bool = true;

fn id(out: &mut Found, context: &Value, name: &str, path: &Path) {
    if let Some(id) = number(context, name) {
        names::is_user_id(id).into_iter().for_each(|said| out.invalid(&path.child(name), id, said));
    }
}

/// A container's own security context.
pub fn container(out: &mut Found, context: &Value, path: &Path, host_users: bool, sys_admin: bool) {
    if context.is_null() {
        return;
    }
    if flag(context, "privileged") && !ALLOW_PRIVILEGED {
        out.forbidden(&path.child("privileged"), "disallowed by cluster policy");
    }
    id(out, context, "runAsUser", path);
    id(out, context, "runAsGroup", path);
    if has(context, "procMount") {
        let (field, mount) = (path.child("procMount"), text(context, "procMount"));
        out.one_of(&field, mount, &["Default", "Unmasked"]);
        if host_users && mount == "Unmasked" {
            out.invalid(&field, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(out, get(context, "seccompProfile"), &path.child("seccompProfile"));
    if get(context, "allowPrivilegeEscalation").as_bool() == Some(false) {
        let shown = || internal::shown("core.SecurityContext", context);
        if flag(context, "privileged") {
            let said = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            out.invalid_shown(path, shown(), said);
        }
        if !sys_admin {
            for _ in admin_capabilities(context) {
                let said = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
                out.invalid_shown(path, shown(), said);
            }
        }
    }
    windows::options(out, get(context, "windowsOptions"), &path.child("windowsOptions"));
    app_armor(out, get(context, "appArmorProfile"), &path.child("appArmorProfile"));
}

fn admin_capabilities(context: &Value) -> impl Iterator<Item = &str> {
    texts(get(context, "capabilities"), "add").into_iter().filter(|capability| *capability == "CAP_SYS_ADMIN")
}

/// Whether a container has the strongest capability and may not gain any.
pub fn is_admin_without_gain(context: &Value) -> bool {
    get(context, "allowPrivilegeEscalation").as_bool() == Some(false) && admin_capabilities(context).next().is_some()
}

/// The security context of a pod.
pub fn pod(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    let context = get(spec, "securityContext");
    if context.is_null() {
        return;
    }
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(out, context, name, path);
    }
    for (i, group) in list(context, "supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        let field = path.child("supplementalGroups").index(i);
        names::is_group_id(group).into_iter().for_each(|said| out.invalid(&field, group, said));
    }
    sysctls(out, spec, &path.child("sysctls"), options);
    for (name, words) in [("fsGroupChangePolicy", ["Always", "OnRootMismatch"])] {
        if has(context, name) {
            out.one_of(&path.child(name), text(context, name), &words);
        }
    }
    seccomp(out, get(context, "seccompProfile"), &path.child("seccompProfile"));
    windows::options(out, get(context, "windowsOptions"), &path.child("windowsOptions"));
    app_armor(out, get(context, "appArmorProfile"), &path.child("appArmorProfile"));
    for (name, words) in
        [("supplementalGroupsPolicy", ["Merge", "Strict"]), ("seLinuxChangePolicy", ["MountOption", "Recursive"])]
    {
        if has(context, name) {
            out.one_of(&path.child(name), text(context, name), &words);
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let segment = |part: &str| {
        let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        ends(part.bytes().next()) && ends(part.bytes().last()) && part.bytes().all(inside)
    };
    name.len() <= 253 && name.split(['.', '/']).all(segment)
}

/// What a kernel setting shares with the host, where it does.
fn shared_with_host(name: &str, spec: &Value) -> Option<&'static str> {
    // With slashes, dots and slashes change places: `net/ipv4/ip_forward`.
    let slash_first = name.find('/').is_some_and(|slash| name.find('.').is_none_or(|dot| slash < dot));
    let name: String = if slash_first {
        name.chars()
            .map(|c| {
                if c == '/' {
                    '.'
                } else if c == '.' {
                    '/'
                } else {
                    c
                }
            })
            .collect()
    } else {
        name.to_owned()
    };
    let name = name.split_once('*').map_or(name.as_str(), |(before, _)| before);
    if flag(spec, "hostNetwork") && name.starts_with(NET_SYSCTLS) {
        Some("may not be specified when 'hostNetwork' is true")
    } else if flag(spec, "hostIPC") && (name.starts_with(IPC_QUEUES) || IPC_SYSCTLS.contains(&name)) {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

/// Whether the pod sets something in a namespace that it shares with the host.
pub fn has_host_sysctl(spec: &Value) -> bool {
    list(get(spec, "securityContext"), "sysctls").iter().any(|set| shared_with_host(text(set, "name"), spec).is_some())
}

fn sysctls(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    let mut seen = BTreeSet::new();
    for (i, set) in list(get(spec, "securityContext"), "sysctls").iter().enumerate() {
        let (name, field) = (text(set, "name"), path.index(i).child("name"));
        if name.is_empty() {
            out.required(&field, "");
        } else if !is_sysctl(name) {
            out.invalid(&field, name, format!("must have at most 253 characters and match regex {SYSCTL}"));
        } else if seen.contains(name) {
            out.duplicate(&field, name);
        }
        if let Some(said) = shared_with_host(name, spec).filter(|_| !options.host_sysctls) {
            out.invalid(&field, name, said);
        }
        seen.insert(name);
    }
}

fn seccomp(out: &mut Found, profile: &Value, path: &Path) {
    if profile.is_null() {
        return;
    }
    let (kind, local) = (text(profile, "type"), path.child("localhostProfile"));
    if kind.is_empty() {
        out.required(&path.child("type"), "type is required when seccompProfile is set");
    } else {
        out.one_of(&path.child("type"), kind, &["Localhost", "RuntimeDefault", "Unconfined"]);
    }
    match (kind == "Localhost", get(profile, "localhostProfile").as_str()) {
        (true, None) => out.required(&local, "must be set when seccomp type is Localhost"),
        (true, Some(target)) => local_descending(out, target, &local),
        (false, Some(_)) => {
            let said = "can only be set when seccomp type is Localhost";
            out.invalid_shown(&local, internal::shown("core.SeccompProfile", profile), said);
        }
        (false, None) => {}
    }
}

fn app_armor(out: &mut Found, profile: &Value, path: &Path) {
    if profile.is_null() {
        return;
    }
    let local = path.child("localhostProfile");
    let target = get(profile, "localhostProfile").as_str();
    match text(profile, "type") {
        "Localhost" => {
            let needed = "must be set when AppArmor type is Localhost";
            let Some(target) = target else {
                out.required(&local, needed);
                return;
            };
            if target.trim() != target {
                out.invalid(&local, target, "must not be padded with whitespace");
            } else if target.is_empty() {
                out.required(&local, needed);
            }
            if target.len() > 4095 {
                out.too_long(&local, 4095);
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if let Some(target) = target {
                out.invalid(&local, target, "can only be set when AppArmor type is Localhost");
            }
        }
        "" => out.required(&path.child("type"), "type is required when appArmorProfile is set"),
        other => out.unsupported(&path.child("type"), other, &["Localhost", "RuntimeDefault", "Unconfined"]),
    }
}

/// A pod with users of its own does not share the host's other namespaces.
pub fn host_users(out: &mut Found, spec: &Value, path: &Path, options: &Options) {
    if get(spec, "hostUsers").as_bool().unwrap_or(true) {
        return;
    }
    let said = "when `hostUsers` is false";
    if flag(spec, "hostNetwork") && !options.userns_network {
        out.forbidden(&path.child("hostNetwork"), said);
    }
    for (name, shown) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(spec, name) {
            out.forbidden(&path.child(shown), said);
        }
    }
    if !options.userns_devices {
        for (container, field) in super::containers::all(spec, path) {
            if has(container, "volumeDevices") {
                out.forbidden(&field.child("volumeDevices"), said);
            }
        }
    }
}

/// A shared process namespace is not the host's.
pub fn shared_processes(out: &mut Found, spec: &Value, path: &Path) {
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let said = "ShareProcessNamespace and HostPID cannot both be enabled";
        out.invalid(&path.child("shareProcessNamespace"), true, said);
    }
}

/// Whether the pod's security context says that it runs on the host as a process.
pub fn pod_host_process(spec: &Value) -> Option<bool> {
    at(spec, &["securityContext", "windowsOptions", "hostProcess"]).as_bool()
}
