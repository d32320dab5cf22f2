//! Containers of all three sorts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mounts::{self, Volumes};
use super::{Options, env, probes, security};
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};
use crate::validation::resources;

/// What the containers of a pod are checked against.
pub struct Around<'a> {
    /// The pod's spec.
    pub spec: &'a Value,
    /// The pod's sound volumes.
    pub volumes: &'a Volumes<'a>,
    /// The names of the pod's resource claims.
    pub claims: &'a BTreeSet<&'a str>,
    /// What is taken although it is wrong.
    pub options: &'a Options,
}

impl Around<'_> {
    fn grace(&self) -> Option<i64> {
        number(self.spec, "terminationGracePeriodSeconds")
    }

    fn os(&self) -> Option<&str> {
        has(self.spec, "os").then(|| text(get(self.spec, "os"), "name"))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Regular,
    Init,
}

/// All containers with their paths: init containers, containers, ephemeral ones.
pub fn all<'a>(spec: &'a Value, path: &Path) -> Vec<(&'a Value, Path)> {
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|kind| {
            let path = path.child(kind);
            list(spec, kind).iter().enumerate().map(move |(i, container)| (container, path.index(i)))
        })
        .collect()
}

/// Whether an init container that ends is to be restarted when it is resized, which makes no sense.
pub fn restarts_on_resize(container: &Value) -> bool {
    text(container, "restartPolicy") != "Always"
        && list(container, "resizePolicy").iter().any(|policy| text(policy, "restartPolicy") == "RestartContainer")
}

/// The containers of a pod.
pub fn regular(out: &mut Found, around: &Around<'_>, path: &Path) {
    let containers = list(around.spec, "containers");
    if containers.is_empty() {
        out.required(path, "");
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        common(out, container, around, &path);
        let name = text(container, "name");
        if !seen.insert(name) {
            out.duplicate(&path.child("name"), name);
        }
        long_running(out, container, around, &path);
        restart_policy(out, container, Sort::Regular, &path);
    }
    host_ports(out, containers, path);
}

/// The lifecycle and probes of a container that does not end by itself.
fn long_running(out: &mut Found, container: &Value, around: &Around<'_>, path: &Path) {
    let grace = around.grace();
    if has(container, "lifecycle") {
        probes::lifecycle(out, get(container, "lifecycle"), grace, around.os(), &path.child("lifecycle"));
    }
    probes::liveness(out, get(container, "livenessProbe"), grace, &path.child("livenessProbe"));
    probes::readiness(out, get(container, "readinessProbe"), grace, &path.child("readinessProbe"));
    probes::liveness(out, get(container, "startupProbe"), grace, &path.child("startupProbe"));
}

/// The containers that run before the others, or beside them.
pub fn init(out: &mut Found, around: &Around<'_>, path: &Path) {
    let mut seen: BTreeSet<&str> = list(around.spec, "containers").iter().map(|c| text(c, "name")).collect();
    for (i, container) in list(around.spec, "initContainers").iter().enumerate() {
        let field = path.index(i);
        common(out, container, around, &field);
        restart_policy(out, container, Sort::Init, &field);
        let name = text(container, "name");
        if seen.contains(name) {
            out.duplicate(&field.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        // Upstream checks each by itself, and so says [0] for all.
        host_ports(out, std::slice::from_ref(container), path);
        if text(container, "restartPolicy") == "Always" {
            long_running(out, container, around, &field);
        } else {
            for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if has(container, name) {
                    let said = "may not be set for init containers without restartPolicy=Always";
                    out.forbidden(&field.child(name), said);
                }
            }
            for (j, policy) in list(container, "resizePolicy").iter().enumerate() {
                if text(policy, "restartPolicy") == "RestartContainer" && !around.options.init_restart {
                    let said = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    let field = field.child("resizePolicy").index(j).child("restartPolicy");
                    out.invalid(&field, "RestartContainer", said);
                }
            }
        }
    }
}

/// The containers that are put into a running pod to look at it.
pub fn ephemeral(out: &mut Found, around: &Around<'_>, path: &Path) {
    const NOT_ALLOWED: &[&str] = &[
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let others: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|kind| list(around.spec, kind))
        .map(|container| text(container, "name"))
        .collect();
    let mut seen = others.clone();
    for (i, container) in list(around.spec, "ephemeralContainers").iter().enumerate() {
        let field = path.index(i);
        common(out, container, around, &field);
        image_without_blanks(out, container, &field);
        let name = text(container, "name");
        if !seen.insert(name) {
            out.duplicate(&field.child("name"), name);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            out.not_found(&field.child("targetContainerName"), target);
        }
        let said = "cannot be set for an Ephemeral Container";
        for name in NOT_ALLOWED {
            let value = get(container, name);
            if !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty() || *name != "resources") {
                out.forbidden(&field.child(name), said);
            }
        }
        for (j, mount) in list(container, "volumeMounts").iter().enumerate() {
            for name in ["subPath", "subPathExpr"] {
                if has(mount, name) {
                    out.forbidden(&field.child("volumeMounts").index(j).child(name), said);
                }
            }
        }
    }
}

/// Images have no blanks around them in pods; templates may.
pub fn image_without_blanks(out: &mut Found, container: &Value, path: &Path) {
    let image = text(container, "image");
    if image.trim() != image {
        out.invalid(&path.child("image"), image, "must not have leading or trailing whitespace");
    }
}

fn common(out: &mut Found, container: &Value, around: &Around<'_>, path: &Path) {
    let name = text(container, "name");
    if name.is_empty() {
        out.required(&path.child("name"), "");
    } else {
        out.said(&path.child("name"), name, names::is_dns1123_label(name));
    }
    if text(container, "image").is_empty() {
        out.required(&path.child("image"), "");
    }
    required_one_of(out, container, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"], path);
    ports(out, list(container, "ports"), &path.child("ports"));
    env::vars(out, list(container, "env"), &path.child("env"));
    env::from(out, list(container, "envFrom"), &path.child("envFrom"));
    mounts::mounts(out, container, around.volumes, &path.child("volumeMounts"));
    mounts::devices(out, container, around.volumes, &path.child("volumeDevices"));
    pull_policy(out, container, "imagePullPolicy", path);
    out.extend(resources::requirements(
        get(container, "resources"),
        resources::container_resource_name,
        around.claims,
        around.options.huge_pages,
        &path.child("resources"),
    ));
    resize_policy(out, container, text(around.spec, "restartPolicy"), &path.child("resizePolicy"));
    let host_users = get(around.spec, "hostUsers").as_bool().unwrap_or(true);
    let context = get(container, "securityContext");
    security::container(out, context, &path.child("securityContext"), host_users, around.options.sys_admin);
}

fn required_one_of(out: &mut Found, object: &Value, name: &str, words: &[&str], path: &Path) {
    match text(object, name) {
        "" => out.required(&path.child(name), ""),
        word => out.one_of(&path.child(name), word, words),
    }
}

/// When an image is fetched.
pub fn pull_policy(out: &mut Found, object: &Value, name: &str, path: &Path) {
    required_one_of(out, object, name, &["Always", "IfNotPresent", "Never"], path);
}

fn ports(out: &mut Found, ports: &[Value], path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(port, "name");
        if !name.is_empty() {
            let said = names::is_port_name(name);
            if !said.is_empty() {
                out.said(&path.child("name"), name, said);
            } else if !seen.insert(name) {
                out.duplicate(&path.child("name"), name);
            }
        }
        match number(port, "containerPort").unwrap_or_default() {
            0 => out.required(&path.child("containerPort"), ""),
            at => names::is_port_number(at)
                .into_iter()
                .for_each(|said| out.invalid(&path.child("containerPort"), at, said)),
        }
        if let Some(at) = number(port, "hostPort").filter(|at| *at != 0) {
            names::is_port_number(at).into_iter().for_each(|said| out.invalid(&path.child("hostPort"), at, said));
        }
        required_one_of(out, port, "protocol", &["SCTP", "TCP", "UDP"], &path);
    }
}

/// Ports of the host are taken once.
fn host_ports(out: &mut Found, containers: &[Value], path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let at = number(port, "hostPort").unwrap_or_default();
            if at == 0 {
                continue;
            }
            let key = format!("{}/{}/{at}", text(port, "protocol"), text(port, "hostIP"));
            if !seen.insert(key.clone()) {
                out.duplicate(&path.index(i).child("ports").index(j).child("hostPort"), key);
            }
        }
    }
}

fn resize_policy(out: &mut Found, container: &Value, restart: &str, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, policy) in list(container, "resizePolicy").iter().enumerate() {
        let (name, then) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if !seen.insert(name) {
            out.duplicate(&path.index(i), name);
        }
        for (word, words) in [(name, ["cpu", "memory"]), (then, ["NotRequired", "RestartContainer"])] {
            if word.is_empty() {
                out.required(path, "");
            } else {
                out.one_of(path, word, &words);
            }
        }
        if restart == "Never" && then != "NotRequired" {
            out.invalid(path, then, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// A restart policy of a container's own, and its rules.
fn restart_policy(out: &mut Found, container: &Value, sort: Sort, path: &Path) {
    const OPERATORS: &[&str] = &["In", "NotIn"];
    let field = path.child("restartPolicy");
    let rules = list(container, "restartPolicyRules");
    if !has(container, "restartPolicy") {
        if rules.is_empty() {
            return;
        }
        out.required(&field, "must specify restartPolicy when restart rules are used");
        if sort == Sort::Init {
            return;
        }
    } else {
        out.one_of(&field, text(container, "restartPolicy"), &["Always", "Never", "OnFailure"]);
    }
    let field = path.child("restartPolicyRules");
    if rules.len() > 20 {
        out.too_many(&field, rules.len(), 20);
    }
    for (i, rule) in rules.iter().enumerate() {
        let field = field.index(i);
        out.one_of(&field.child("action"), text(rule, "action"), &["Restart", "RestartAllContainers"]);
        if has(rule, "exitCodes") {
            let codes = get(rule, "exitCodes");
            let field = field.child("exitCodes");
            out.one_of(&field.child("operator"), text(codes, "operator"), OPERATORS);
            let values = list(codes, "values");
            if values.len() > 255 {
                out.too_many(&field.child("values"), values.len(), 255);
            }
        } else {
            out.required(&field.child("exitCodes"), "must be specified");
        }
    }
}
