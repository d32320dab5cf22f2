//! kube-scheduler 1.37's flags, and what becomes of each here.

use plimsoll_runtime::Treatment::{self, Noted, Taken};

use crate::process::upstream_flags::{
    Flag, JSON, LOGS, METRICS, ONE_VERSION, PLAIN, PROFILING, UNAUTHENTICATED, UNAUTHORIZED, flag,
};

const STAY: Treatment =
    Noted("a pod that fits nowhere is tried when something changes that could help, and every 5 minutes");

/// All of them, by name.
pub static FLAGS: [Flag; 62] = [
    flag("allow-metric-labels", true, METRICS),
    flag("allow-metric-labels-manifest", true, METRICS),
    flag("authentication-kubeconfig", true, UNAUTHENTICATED),
    flag("authentication-skip-lookup", false, UNAUTHENTICATED),
    flag("authentication-token-webhook-cache-ttl", true, UNAUTHENTICATED),
    flag("authentication-tolerate-lookup-failure", false, UNAUTHENTICATED),
    flag("authorization-always-allow-paths", true, UNAUTHORIZED),
    flag("authorization-kubeconfig", true, UNAUTHORIZED),
    flag("authorization-webhook-cache-authorized-ttl", true, UNAUTHORIZED),
    flag("authorization-webhook-cache-unauthorized-ttl", true, UNAUTHORIZED),
    flag("bind-address", true, PLAIN),
    flag("cert-dir", true, PLAIN),
    flag("client-ca-file", true, UNAUTHENTICATED),
    flag("config", true, Taken),
    flag("contention-profiling", false, PROFILING),
    flag("disable-http2-serving", false, PLAIN),
    flag("disabled-metrics", true, METRICS),
    flag("emulated-version", true, ONE_VERSION),
    flag("feature-gates", true, Taken),
    flag("help", false, Taken),
    flag("http2-max-streams-per-connection", true, PLAIN),
    flag("kube-api-burst", true, Taken),
    flag("kube-api-content-type", true, JSON),
    flag("kube-api-qps", true, Taken),
    flag("kubeconfig", true, Taken),
    flag("leader-elect", false, Taken),
    flag("leader-elect-lease-duration", true, Taken),
    flag("leader-elect-renew-deadline", true, Taken),
    flag("leader-elect-resource-lock", true, Taken),
    flag("leader-elect-resource-name", true, Taken),
    flag("leader-elect-resource-namespace", true, Taken),
    flag("leader-elect-retry-period", true, Taken),
    flag("log-flush-frequency", true, LOGS),
    flag("log-json-info-buffer-size", true, LOGS),
    flag("log-json-split-stream", false, LOGS),
    flag("log-text-info-buffer-size", true, LOGS),
    flag("log-text-split-stream", false, LOGS),
    flag("logging-format", true, Taken),
    flag("master", true, Taken),
    flag("min-compatibility-version", true, ONE_VERSION),
    flag("permit-address-sharing", false, PLAIN),
    flag("permit-port-sharing", false, PLAIN),
    flag("pod-max-in-unschedulable-pods-duration", true, STAY),
    flag("profiling", false, PROFILING),
    flag("requestheader-allowed-names", true, UNAUTHENTICATED),
    flag("requestheader-client-ca-file", true, UNAUTHENTICATED),
    flag("requestheader-extra-headers-prefix", true, UNAUTHENTICATED),
    flag("requestheader-group-headers", true, UNAUTHENTICATED),
    flag("requestheader-uid-headers", true, UNAUTHENTICATED),
    flag("requestheader-username-headers", true, UNAUTHENTICATED),
    flag("secure-port", true, PLAIN),
    flag("show-hidden-metrics-for-version", true, METRICS),
    flag("tls-cert-file", true, PLAIN),
    flag("tls-cipher-suites", true, PLAIN),
    flag("tls-curve-preferences", true, PLAIN),
    flag("tls-min-version", true, PLAIN),
    flag("tls-private-key-file", true, PLAIN),
    flag("tls-sni-cert-key", true, PLAIN),
    flag("v", true, Taken),
    flag("version", false, Taken),
    flag("vmodule", true, LOGS),
    flag("write-config-to", true, Taken),
];

#[cfg(test)]
mod tests {
    use super::FLAGS;
    use crate::process::upstream_flags::tests::page_shows;

    #[test]
    fn flags_page_shows_every_flag() {
        page_shows("scheduler", &FLAGS);
    }
}
