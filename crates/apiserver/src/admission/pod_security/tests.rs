//! Levels, versions and labels.

use serde_json::{Value, json};

use super::checks::violations;
use super::{Level, Policies, Policy, details, minor, significant};

fn said(level: Level, minor: Option<i64>, pod: &Value) -> Vec<&'static str> {
    violations(Policy { level, minor }, pod).into_iter().map(|violation| violation.reason).collect()
}

#[test]
fn each_level_asks_for_more() {
    let plain = json!({"spec": {"containers": [{"name": "c"}]}});
    assert_eq!(said(Level::Privileged, None, &plain), Vec::<&str>::new());
    assert_eq!(said(Level::Baseline, None, &plain), Vec::<&str>::new());
    assert_eq!(
        said(Level::Restricted, None, &plain),
        ["allowPrivilegeEscalation != false", "unrestricted capabilities", "runAsNonRoot != true", "seccompProfile"]
    );
    let best = json!({"spec": {
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
    }});
    assert_eq!(said(Level::Restricted, None, &best), Vec::<&str>::new());
}

#[test]
fn a_version_has_the_rules_of_its_time() {
    let probe =
        json!({"spec": {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h", "port": 1}}}]}});
    assert_eq!(said(Level::Baseline, Some(33), &probe), Vec::<&str>::new());
    assert_eq!(said(Level::Baseline, Some(34), &probe), ["probe or lifecycle host"]);
    let sysctl = json!({"spec": {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}});
    assert_eq!(said(Level::Baseline, Some(31), &sysctl), ["forbidden sysctls"]);
    assert_eq!(said(Level::Baseline, Some(32), &sysctl), Vec::<&str>::new());
    let root = json!({"spec": {"hostUsers": false, "securityContext": {"runAsUser": 0, "seccompProfile": {"type": "Localhost"}}}});
    assert_eq!(said(Level::Restricted, Some(34), &root), ["runAsUser=0"]);
    assert_eq!(said(Level::Restricted, None, &root), Vec::<&str>::new());
}

#[test]
fn what_is_wrong_names_who_did_it() {
    let pod = json!({"spec": {
        "hostNetwork": true, "hostPID": true,
        "containers": [
            {"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 81}], "securityContext": {"capabilities": {"add": ["NET_RAW"]}}},
            {"name": "b", "securityContext": {"privileged": true}},
        ],
        "volumes": [{"name": "h", "hostPath": {"path": "/"}}],
    }});
    assert_eq!(
        details(&violations(Policy { level: Level::Baseline, minor: None }, &pod)),
        "non-default capabilities (container \"a\" must not include \"NET_RAW\" in securityContext.capabilities.add), \
         host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume \"h\"), \
         hostPort (container \"a\" uses hostPorts 80, 81), \
         privileged (container \"b\" must not set securityContext.privileged=true)"
    );
}

#[test]
fn annotations_are_shown_in_gos_quotes() {
    let of = |minor, key: &str| {
        let pod = json!({"metadata": {"annotations": {key: "a\u{7}\u{1b}é\u{85}'"}}, "spec": {"containers": [{"name": "c"}]}});
        details(&violations(Policy { level: Level::Baseline, minor }, &pod))
    };
    let seccomp = "container.seccomp.security.alpha.kubernetes.io/c";
    let shown = r#""a\a\x1bé\u0085'""#;
    assert_eq!(of(Some(18), seccomp), format!("seccompProfile (forbidden annotation {seccomp}={shown})"));
    let armor = "container.apparmor.security.beta.kubernetes.io/c";
    let said = "annotation must not set AppArmor profile type to";
    assert_eq!(of(None, armor), format!("forbidden AppArmor profile ({said} \"{armor}={shown}\")"));
}

#[test]
fn labels_are_read_as_levels_and_versions() {
    let of = |labels: Value| Policies::of(&json!({"metadata": {"labels": labels}}));
    let enforced = of(
        json!({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.30"}),
    );
    assert_eq!(
        (enforced.enforce.to_string(), enforced.warn.to_string()),
        ("baseline:v1.30".into(), "baseline:v1.30".into())
    );
    let quiet = of(
        json!({"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "privileged"}),
    );
    assert_eq!((quiet.enforce.level, quiet.warn.level), (Level::Restricted, Level::Privileged));
    let wrong = of(json!({"pod-security.kubernetes.io/enforce": "odd", "pod-security.kubernetes.io/audit": "odd"}));
    assert_eq!((wrong.enforce.level, wrong.warn.level, wrong.errors.len()), (Level::Restricted, Level::Privileged, 2));
    assert_eq!([minor("v1.0"), minor("v1.07"), minor("v1."), minor("v2.1")], [Some(0), None, None, None]);
    let versions = [minor("v1.99999999999"), minor("v1.99999999999999999999")];
    assert_eq!(versions, [Some(99_999_999_999), None], "what fits Go's numbers");
    let port = json!({"spec": {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}});
    assert_eq!(said(Level::Baseline, versions[0], &port), ["hostPort"]);
}

#[test]
fn only_images_and_new_containers_are_looked_at_again() {
    let pod = |image: &str, label: &str| json!({"metadata": {"labels": {"a": label}}, "spec": {"containers": [{"name": "c", "image": image}]}});
    assert!(!significant(&pod("x", "1"), &pod("x", "2")));
    assert!(significant(&pod("y", "1"), &pod("x", "1")));
}
