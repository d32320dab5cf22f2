//! Probes, and what is done when a container starts and stops.

use serde_json::Value;

use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, list, number, text};

/// A liveness or startup probe.
pub fn liveness(out: &mut Found, probe: &Value, grace: Option<i64>, path: &Path) {
    if probe.is_null() {
        return;
    }
    check(out, probe, grace, path);
    let threshold = number(probe, "successThreshold").unwrap_or_default();
    if threshold != 1 {
        out.invalid(&path.child("successThreshold"), threshold, "must be 1");
    }
}

/// A readiness probe.
pub fn readiness(out: &mut Found, probe: &Value, grace: Option<i64>, path: &Path) {
    if probe.is_null() {
        return;
    }
    check(out, probe, grace, path);
    if let Some(seconds) = number(probe, "terminationGracePeriodSeconds") {
        out.invalid(&path.child("terminationGracePeriodSeconds"), seconds, "must not be set for readinessProbes");
    }
}

fn check(out: &mut Found, probe: &Value, grace: Option<i64>, path: &Path) {
    handler(out, probe, &["exec", "httpGet", "tcpSocket", "grpc"], grace, path);
    for name in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        out.non_negative(&path.child(name), number(probe, name));
    }
    if let Some(seconds) = number(probe, "terminationGracePeriodSeconds").filter(|seconds| *seconds <= 0) {
        out.invalid(&path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0");
    }
}

/// What is done after the start and before the end.
pub fn lifecycle(out: &mut Found, lifecycle: &Value, grace: Option<i64>, os: Option<&str>, path: &Path) {
    for name in ["postStart", "preStop"] {
        if has(lifecycle, name) {
            let kinds = ["exec", "httpGet", "tcpSocket", "sleep"];
            handler(out, get(lifecycle, name), &kinds, grace, &path.child(name));
        }
    }
    if has(lifecycle, "stopSignal") {
        let path = path.child("stopSignal");
        let signal = text(lifecycle, "stopSignal");
        match os {
            None => out.forbidden(&path, "may not be set for containers with empty `spec.os.name`"),
            Some("windows") => out.one_of(&path, signal, &["SIGKILL", "SIGTERM"]),
            Some("linux") => {
                let signals = linux_signals();
                let signals: Vec<&str> = signals.iter().map(String::as_str).collect();
                out.one_of(&path, signal, &signals);
            }
            Some(_) => {}
        }
    }
}

/// The signals of Linux, sorted as text.
fn linux_signals() -> Vec<String> {
    const PLAIN: &[&str] = &[
        "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL",
        "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1",
        "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ", "RTMIN", "RTMAX",
    ];
    let mut out: Vec<String> = PLAIN.iter().map(|name| format!("SIG{name}")).collect();
    out.extend((1..=15).map(|i| format!("SIGRTMIN+{i}")));
    out.extend((1..=14).map(|i| format!("SIGRTMAX-{i}")));
    out.sort_unstable();
    out
}

fn handler(out: &mut Found, handler: &Value, kinds: &[&str], grace: Option<i64>, path: &Path) {
    let mut count = 0;
    for kind in kinds.iter().filter(|kind| has(handler, kind)) {
        let (action, field) = (get(handler, kind), path.child(kind));
        count += 1;
        if count > 1 {
            out.forbidden(&field, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" => {
                if list(action, "command").is_empty() {
                    out.required(&field.child("command"), "");
                }
            }
            "httpGet" => http_get(out, action, &field),
            "tcpSocket" => port(out, get(action, "port"), &field.child("port")),
            "grpc" => {
                port(out, get(action, "port"), &field.child("port"));
                if has(action, "mode") {
                    out.one_of(&field.child("mode"), text(action, "mode"), &["Plaintext", "TLS"]);
                }
            }
            _ => {
                let seconds = number(action, "seconds").unwrap_or_default();
                if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
                    let said = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    out.invalid(&field, seconds, said);
                }
            }
        }
    }
    if count == 0 {
        out.required(path, "must specify a handler type");
    }
}

fn http_get(out: &mut Found, action: &Value, path: &Path) {
    if text(action, "path").is_empty() {
        out.required(&path.child("path"), "");
    }
    port(out, get(action, "port"), &path.child("port"));
    let scheme = text(action, "scheme");
    out.one_of(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    for header in list(action, "httpHeaders") {
        let name = text(header, "name");
        out.said(&path.child("httpHeaders"), name, names::is_http_header_name(name));
    }
    if has(action, "protocol") {
        let (protocol, host) = (text(action, "protocol"), text(action, "host"));
        if !matches!(protocol, "HTTP1" | "HTTP2") {
            out.unsupported(&path.child("protocol"), protocol, &["HTTP1", "HTTP2"]);
        } else if protocol == "HTTP2" && scheme != "HTTP" {
            out.invalid(&path.child("protocol"), protocol, "is only supported with HTTP (H2C)");
        } else if protocol == "HTTP2" && !host.is_empty() {
            out.invalid(&path.child("host"), host, "must be empty when `protocol` is \"HTTP2\"");
        }
    }
}

/// A port by number or name.
fn port(out: &mut Found, port: &Value, path: &Path) {
    match port {
        Value::String(name) => out.said(path, name, names::is_port_name(name)),
        other => {
            let at = other.as_i64().unwrap_or_default();
            names::is_port_number(at).into_iter().for_each(|said| out.invalid(path, at, said));
        }
    }
}
