//! What a pod may not ask for, level by level. Each check knows the versions that changed it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Level, Policy};
use crate::field::go_quoted;
use crate::value::{get, int, is_true, list, text, texts};

/// The version that has every rule below.
const LATEST: u32 = 37;

/// Something that a pod asks for and may not have.
pub(super) struct Violation {
    pub(super) reason: &'static str,
    pub(super) detail: String,
}

/// What a check says of a pod: the reason, and what exactly.
type Found = Option<(&'static str, String)>;

/// Everything in which a pod violates a policy, in upstream's order: baseline by name, then restricted by name.
pub(super) fn violations(policy: Policy, pod: &Value) -> Vec<Violation> {
    if policy.level == Level::Privileged {
        return Vec::new();
    }
    let minor = policy.minor.and_then(|minor| u32::try_from(minor).ok()).map_or(LATEST, |minor| minor.min(LATEST));
    let restricted = policy.level == Level::Restricted;
    // Since 1.25 Windows is excused from what it does not have, since 1.35 users of their own are from being root.
    let windows = minor >= 25 && text(pod, &["spec", "os", "name"]) == "windows";
    let own_users = minor >= 35 && get(pod, &["spec", "hostUsers"]).and_then(Value::as_bool) == Some(false);
    // A stricter check of the restricted level stands for the one of the baseline.
    let all = [
        app_armor(pod),
        if restricted && minor >= 22 { None } else { added_capabilities(pod) },
        host_namespaces(pod),
        if restricted { None } else { host_paths(pod) },
        host_ports(pod),
        if minor >= 34 { hosts_of_probes(pod) } else { None },
        privileged(pod),
        if own_users || restricted && minor >= 35 { None } else { proc_mount(pod) },
        selinux(pod, minor),
        if restricted && minor >= 19 {
            None
        } else if minor >= 19 {
            seccomp(pod, false)
        } else {
            seccomp_annotations(pod)
        },
        sysctls(pod, minor),
        host_process(pod),
        if restricted && minor >= 8 && !windows { escalation(pod) } else { None },
        if restricted && minor >= 22 && !windows { capabilities(pod) } else { None },
        if restricted && minor >= 35 { proc_mount(pod) } else { None },
        if restricted { volumes(pod) } else { None },
        if restricted && !own_users { run_as_non_root(pod) } else { None },
        if restricted && minor >= 23 && !own_users { run_as_root(pod) } else { None },
        if restricted && minor >= 19 && !windows { seccomp(pod, true) } else { None },
    ];
    all.into_iter().flatten().map(|(reason, detail)| Violation { reason, detail }).collect()
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|key| list(pod, &["spec", key]))
}

/// The names of the containers of which something is true.
fn those<'a>(pod: &'a Value, bad: impl FnMut(&&'a Value) -> bool) -> Vec<&'a str> {
    containers(pod).filter(bad).map(|container| text(container, &["name"])).collect()
}

fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    items.into_iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ")
}

fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// `container "a"`, `containers "a", "b"`.
fn named(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names.iter().copied()))
}

/// Who set something: the pod itself, some of its containers.
fn setters(pod: bool, containers: &[&str]) -> Option<String> {
    let of_containers = (!containers.is_empty()).then(|| named(containers));
    let all: Vec<String> = pod.then(|| "pod".to_owned()).into_iter().chain(of_containers).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

fn app_armor(pod: &Value) -> Found {
    const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut values = BTreeSet::new();
    let mut bad = |of: &Value, path: &[&str]| {
        let profile = get(of, path).map(|profile| text(profile, &["type"]).to_owned());
        let profile = profile.filter(|kind| !matches!(kind.as_str(), "RuntimeDefault" | "Localhost"));
        profile.is_some_and(|kind| {
            values.insert(kind);
            true
        })
    };
    let of_pod = bad(pod, &["spec", "securityContext", "appArmorProfile"]);
    let of_containers = those(pod, |container| bad(container, &["securityContext", "appArmorProfile"]));
    let mut annotations: Vec<String> = texts(pod, &["metadata", "annotations"])
        .filter(|(key, value)| {
            key.starts_with(ANNOTATION)
                && !(value.is_empty() || *value == "runtime/default" || value.starts_with("localhost/"))
        })
        .map(|(key, value)| format!("{key}={}", go_quoted(value)))
        .collect();
    annotations.sort();
    let word = plural("annotation", "annotations", annotations.len());
    let who = setters(of_pod, &of_containers).into_iter().chain((!annotations.is_empty()).then(|| word.to_owned()));
    let who: Vec<String> = who.collect();
    if who.is_empty() {
        return None;
    }
    let values: Vec<String> = values.into_iter().chain(annotations).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    let shown = quoted(values.iter().map(String::as_str));
    Some((reason, format!("{} must not set AppArmor profile type to {shown}", who.join(" and "))))
}

fn added_capabilities(pod: &Value) -> Found {
    const DEFAULT: [&str; 13] = [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ];
    let (names, added) = adding(pod, &DEFAULT);
    (!names.is_empty()).then(|| ("non-default capabilities", must_not_add(&names, &added)))
}

/// The containers that add other capabilities than these, and which.
fn adding<'a>(pod: &'a Value, allowed: &[&str]) -> (Vec<&'a str>, BTreeSet<&'a str>) {
    let mut added = BTreeSet::new();
    let names = those(pod, |container| {
        let add = list(container, &["securityContext", "capabilities", "add"]).iter().filter_map(Value::as_str);
        let other: Vec<_> = add.filter(|capability| !allowed.contains(capability)).collect();
        added.extend(other.iter().copied());
        !other.is_empty()
    });
    (names, added)
}

fn must_not_add(names: &[&str], added: &BTreeSet<&str>) -> String {
    format!("{} must not include {} in securityContext.capabilities.add", named(names), quoted(added.iter().copied()))
}

fn host_namespaces(pod: &Value) -> Found {
    let set = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|key| is_true(pod, &["spec", key]));
    let set: Vec<String> = set.map(|key| format!("{key}=true")).collect();
    (!set.is_empty()).then(|| ("host namespaces", set.join(", ")))
}

fn host_paths(pod: &Value) -> Found {
    let volumes = list(pod, &["spec", "volumes"]).iter().filter(|volume| get(volume, &["hostPath"]).is_some());
    let names: Vec<_> = volumes.map(|volume| text(volume, &["name"])).collect();
    let word = plural("volume", "volumes", names.len());
    (!names.is_empty()).then(|| ("hostPath volumes", format!("{word} {}", quoted(names))))
}

fn host_ports(pod: &Value) -> Found {
    let mut ports = BTreeSet::new();
    let names = those(pod, |container| {
        let used = list(container, &["ports"]).iter().filter_map(|port| int(port, &["hostPort"]));
        let used: Vec<String> = used.filter(|port| *port != 0).map(|port| port.to_string()).collect();
        let any = !used.is_empty();
        ports.extend(used);
        any
    });
    if names.is_empty() {
        return None;
    }
    let (uses, word) = (plural("uses", "use", names.len()), plural("hostPort", "hostPorts", ports.len()));
    let ports: Vec<String> = ports.into_iter().collect();
    Some(("hostPort", format!("{} {uses} {word} {}", named(&names), ports.join(", "))))
}

fn hosts_of_probes(pod: &Value) -> Found {
    const PLACES: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let mut hosts = BTreeSet::new();
    let names = those(pod, |container| {
        let handlers = PLACES.iter().filter_map(|path| get(container, path));
        let asked = handlers.flat_map(|handler| ["httpGet", "tcpSocket"].map(|key| text(handler, &[key, "host"])));
        let asked: Vec<_> = asked.filter(|host| !host.is_empty()).collect();
        hosts.extend(asked.iter().copied());
        !asked.is_empty()
    });
    let names: Vec<_> = names.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    if names.is_empty() {
        return None;
    }
    let uses = plural("uses", "use", names.len());
    let word = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    Some(("probe or lifecycle host", format!("{} {uses} {word} {}", named(&names), quoted(hosts))))
}

fn privileged(pod: &Value) -> Found {
    let names = those(pod, |container| is_true(container, &["securityContext", "privileged"]));
    (!names.is_empty())
        .then(|| ("privileged", format!("{} must not set securityContext.privileged=true", named(&names))))
}

fn proc_mount(pod: &Value) -> Found {
    let mut kinds = BTreeSet::new();
    let names = those(pod, |container| {
        let kind = get(container, &["securityContext", "procMount"]).and_then(Value::as_str);
        let kind = kind.filter(|kind| *kind != "Default");
        kinds.extend(kind);
        kind.is_some()
    });
    let detail = || format!("{} must not set securityContext.procMount to {}", named(&names), quoted(kinds));
    (!names.is_empty()).then(|| ("procMount", detail()))
}

fn selinux(pod: &Value, minor: u32) -> Found {
    let (mut types, mut user, mut role) = (BTreeSet::new(), false, false);
    let mut bad = |options: Option<&Value>| {
        let Some(options) = options else { return false };
        let kind = text(options, &["type"]);
        let allowed = matches!(kind, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || minor >= 31 && kind == "container_engine_t";
        if !allowed {
            types.insert(kind.to_owned());
        }
        let (sets_user, sets_role) = (!text(options, &["user"]).is_empty(), !text(options, &["role"]).is_empty());
        user |= sets_user;
        role |= sets_role;
        !allowed || sets_user || sets_role
    };
    let of_pod = bad(get(pod, &["spec", "securityContext", "seLinuxOptions"]));
    let of_containers = those(pod, |container| bad(get(container, &["securityContext", "seLinuxOptions"])));
    let who = setters(of_pod, &of_containers)?;
    let word = plural("type", "types", types.len());
    let of_types = (!types.is_empty()).then(|| format!("{word} {}", quoted(types.iter().map(String::as_str))));
    let of_user = user.then(|| "user may not be set".to_owned());
    let of_role = role.then(|| "role may not be set".to_owned());
    let what: Vec<String> = [of_types, of_user, of_role].into_iter().flatten().collect();
    Some(("seLinuxOptions", format!("{who} set forbidden securityContext.seLinuxOptions: {}", what.join("; "))))
}

/// Before there was a field for it.
fn seccomp_annotations(pod: &Value) -> Found {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let keys = containers(pod).map(|container| format!("{CONTAINER}{}", text(container, &["name"])));
    let keys: BTreeSet<String> = keys.chain([POD.to_owned()]).collect();
    let bad = texts(pod, &["metadata", "annotations"]).filter(|(key, value)| {
        let allowed = matches!(*value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
        keys.contains(*key) && !allowed
    });
    let bad: BTreeSet<String> = bad.map(|(key, value)| format!("{key}={}", go_quoted(value))).collect();
    let word = plural("annotation", "annotations", bad.len());
    let shown = bad.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!bad.is_empty()).then(|| ("seccompProfile", format!("forbidden {word} {shown}")))
}

/// `required`: who sets none is wrong too.
fn seccomp(pod: &Value, required: bool) -> Found {
    let kind = |of: &Value, path: &[&str]| get(of, path).map(|profile| text(profile, &["type"]).to_owned());
    let allowed = |kind: &String| matches!(kind.as_str(), "RuntimeDefault" | "Localhost");
    let of_pod = kind(pod, &["spec", "securityContext", "seccompProfile"]);
    let of_container = |container: &Value| kind(container, &["securityContext", "seccompProfile"]);
    let mut values: BTreeSet<String> = of_pod.clone().into_iter().filter(|kind| !allowed(kind)).collect();
    let pod_is_bad = !values.is_empty();
    let bad = those(pod, |container| {
        let kind = of_container(container).filter(|kind| !allowed(kind));
        let bad = kind.is_some();
        values.extend(kind);
        bad
    });
    if let Some(who) = setters(pod_is_bad, &bad) {
        let shown = quoted(values.iter().map(String::as_str));
        return Some(("seccompProfile", format!("{who} must not set securityContext.seccompProfile.type to {shown}")));
    }
    let without = those(pod, |container| required && of_pod.is_none() && of_container(container).is_none());
    let detail = || {
        let must = r#"must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#;
        format!("pod or {} {must}", named(&without))
    };
    (!without.is_empty()).then(|| ("seccompProfile", detail()))
}

fn sysctls(pod: &Value, minor: u32) -> Found {
    // The version that allowed it first.
    const ALLOWED: [(&str, u32); 14] = [
        ("kernel.shm_rmid_forced", 0),
        ("net.ipv4.ip_local_port_range", 0),
        ("net.ipv4.tcp_syncookies", 0),
        ("net.ipv4.ping_group_range", 0),
        ("net.ipv4.ip_unprivileged_port_start", 0),
        ("net.ipv4.ip_local_reserved_ports", 27),
        ("net.ipv4.tcp_keepalive_time", 29),
        ("net.ipv4.tcp_fin_timeout", 29),
        ("net.ipv4.tcp_keepalive_intvl", 29),
        ("net.ipv4.tcp_keepalive_probes", 29),
        ("net.ipv4.tcp_rmem", 32),
        ("net.ipv4.tcp_wmem", 32),
        ("net.ipv4.tcp_slow_start_after_idle", 37),
        ("net.ipv4.tcp_notsent_lowat", 37),
    ];
    let names = list(pod, &["spec", "securityContext", "sysctls"]).iter().map(|sysctl| text(sysctl, &["name"]));
    let bad: Vec<_> =
        names.filter(|name| !ALLOWED.iter().any(|(allowed, since)| allowed == name && minor >= *since)).collect();
    (!bad.is_empty()).then(|| ("forbidden sysctls", bad.join(", ")))
}

fn host_process(pod: &Value) -> Found {
    const PATH: [&str; 3] = ["securityContext", "windowsOptions", "hostProcess"];
    let of_pod = get(pod, &["spec"]).is_some_and(|spec| is_true(spec, &PATH));
    let who = setters(of_pod, &those(pod, |container| is_true(container, &PATH)))?;
    Some(("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true")))
}

fn escalation(pod: &Value) -> Found {
    let allowed = |container: &Value| {
        get(container, &["securityContext", "allowPrivilegeEscalation"]).and_then(Value::as_bool) != Some(false)
    };
    let names = those(pod, |container| allowed(container));
    let detail = || format!("{} must set securityContext.allowPrivilegeEscalation=false", named(&names));
    (!names.is_empty()).then(|| ("allowPrivilegeEscalation != false", detail()))
}

fn capabilities(pod: &Value) -> Found {
    let keeping = those(pod, |container| {
        !list(container, &["securityContext", "capabilities", "drop"]).iter().any(|capability| capability == "ALL")
    });
    let (adding, added) = adding(pod, &["NET_BIND_SERVICE"]);
    let of_keeping = (!keeping.is_empty())
        .then(|| format!(r#"{} must set securityContext.capabilities.drop=["ALL"]"#, named(&keeping)));
    let of_adding = (!adding.is_empty()).then(|| must_not_add(&adding, &added));
    let all: Vec<String> = of_keeping.into_iter().chain(of_adding).collect();
    (!all.is_empty()).then(|| ("unrestricted capabilities", all.join("; ")))
}

fn volumes(pod: &Value) -> Found {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let mut kinds = BTreeSet::new();
    let volumes = list(pod, &["spec", "volumes"]).iter();
    let bad = volumes.filter(|volume| !ALLOWED.iter().any(|kind| get(volume, &[kind]).is_some()));
    let names: Vec<&str> = bad
        .map(|volume| {
            let sources = volume.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            kinds.insert(sources.into_iter().find(|key| *key != "name").unwrap_or("unknown"));
            text(volume, &["name"])
        })
        .collect();
    if names.is_empty() {
        return None;
    }
    let (word, uses) = (plural("volume", "volumes", names.len()), plural("uses", "use", names.len()));
    let of = plural("restricted volume type", "restricted volume types", kinds.len());
    Some(("restricted volume types", format!("{word} {} {uses} {of} {}", quoted(names), quoted(kinds))))
}

fn run_as_non_root(pod: &Value) -> Found {
    const PATH: [&str; 2] = ["securityContext", "runAsNonRoot"];
    const REASON: &str = "runAsNonRoot != true";
    let said = |of: Option<&Value>| of.and_then(|of| get(of, &PATH)).and_then(Value::as_bool);
    let of_pod = said(get(pod, &["spec"]));
    let bad = those(pod, |container| said(Some(container)) == Some(false));
    if let Some(who) = setters(of_pod == Some(false), &bad) {
        return Some((REASON, format!("{who} must not set securityContext.runAsNonRoot=false")));
    }
    let without = those(pod, |container| of_pod.is_none() && said(Some(container)).is_none());
    let detail = || format!("pod or {} must set securityContext.runAsNonRoot=true", named(&without));
    (!without.is_empty()).then(|| (REASON, detail()))
}

fn run_as_root(pod: &Value) -> Found {
    const PATH: [&str; 2] = ["securityContext", "runAsUser"];
    let of_pod = get(pod, &["spec"]).is_some_and(|spec| int(spec, &PATH) == Some(0));
    let who = setters(of_pod, &those(pod, |container| int(container, &PATH) == Some(0)))?;
    Some(("runAsUser=0", format!("{who} must not set runAsUser=0")))
}
