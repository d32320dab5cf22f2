//! kube-controller-manager 1.37's flags, and what becomes of each here. A script that starts it must be able to start this,
//! or be told why not.

/// What becomes of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It means what it means upstream.
    Taken,
    /// It is accepted and changes nothing; why.
    Noted(&'static str),
    /// It is refused, unless it is turned off or empty; why.
    Refused(&'static str),
}

use Treatment::{Noted, Refused, Taken};

/// A flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Whether it takes a value even where none is joined to it by `=`.
    pub takes_value: bool,
    /// What becomes of it.
    pub treatment: Treatment,
}

const fn flag(name: &'static str, takes_value: bool, treatment: Treatment) -> Flag {
    Flag { name, takes_value, treatment }
}

/// The flag of that name.
pub fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}
const ELSEWHERE: Treatment = Noted("belongs to a controller that stays with kube-controller-manager");
const PLAIN: Treatment =
    Noted("health and metrics are served in plain text on --health-listen, which is loopback unless told otherwise");
const UNAUTHENTICATED: Treatment =
    Noted("health and metrics are served on --health-listen; nobody is authenticated there");
const UNAUTHORIZED: Treatment = Noted("health and metrics are served on --health-listen; nobody is authorized there");
const METRICS: Treatment = Noted("no metric is hidden or limited here");
const LOGS: Treatment = Noted("logs are written at once, line by line, to stderr");
const RECYCLER: Treatment = Noted("there is no recycler: volumes with the policy Recycle end as Failed, with an event");

/// All of them, by name.
pub const FLAGS: [Flag; 148] = [
    flag("allocate-node-cidrs", false, ELSEWHERE),
    flag("allow-metric-labels", true, METRICS),
    flag("allow-metric-labels-manifest", true, METRICS),
    flag("attach-detach-reconcile-sync-period", true, ELSEWHERE),
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
    flag("cidr-allocator-type", true, ELSEWHERE),
    flag("client-ca-file", true, UNAUTHENTICATED),
    flag("cloud-config", true, Noted("no cloud is talked to")),
    flag("cloud-provider", true, Noted("no cloud is talked to")),
    flag("cluster-cidr", true, ELSEWHERE),
    flag("cluster-name", true, Noted("nothing here is named after the cluster")),
    flag("cluster-signing-cert-file", true, ELSEWHERE),
    flag("cluster-signing-duration", true, ELSEWHERE),
    flag("cluster-signing-key-file", true, ELSEWHERE),
    flag("cluster-signing-kube-apiserver-client-cert-file", true, ELSEWHERE),
    flag("cluster-signing-kube-apiserver-client-key-file", true, ELSEWHERE),
    flag("cluster-signing-kubelet-client-cert-file", true, ELSEWHERE),
    flag("cluster-signing-kubelet-client-key-file", true, ELSEWHERE),
    flag("cluster-signing-kubelet-serving-cert-file", true, ELSEWHERE),
    flag("cluster-signing-kubelet-serving-key-file", true, ELSEWHERE),
    flag("cluster-signing-legacy-unknown-cert-file", true, ELSEWHERE),
    flag("cluster-signing-legacy-unknown-key-file", true, ELSEWHERE),
    flag("concurrent-cron-job-syncs", true, ELSEWHERE),
    flag("concurrent-daemonset-syncs", true, ELSEWHERE),
    flag("concurrent-deployment-syncs", true, ELSEWHERE),
    flag("concurrent-device-taint-eviction-syncs", true, ELSEWHERE),
    flag("concurrent-disruption-syncs", true, ELSEWHERE),
    flag("concurrent-endpoint-syncs", true, ELSEWHERE),
    flag("concurrent-ephemeralvolume-syncs", true, Taken),
    flag("concurrent-gc-syncs", true, ELSEWHERE),
    flag("concurrent-horizontal-pod-autoscaler-syncs", true, ELSEWHERE),
    flag("concurrent-job-syncs", true, ELSEWHERE),
    flag("concurrent-namespace-syncs", true, ELSEWHERE),
    flag("concurrent-rc-syncs", true, ELSEWHERE),
    flag("concurrent-replicaset-syncs", true, ELSEWHERE),
    flag("concurrent-resource-quota-syncs", true, ELSEWHERE),
    flag("concurrent-resourceclaim-syncs", true, ELSEWHERE),
    flag("concurrent-service-endpoint-syncs", true, ELSEWHERE),
    flag("concurrent-serviceaccount-token-syncs", true, ELSEWHERE),
    flag("concurrent-statefulset-syncs", true, ELSEWHERE),
    flag("concurrent-ttl-after-finished-syncs", true, ELSEWHERE),
    flag("concurrent-validating-admission-policy-status-syncs", true, ELSEWHERE),
    flag("configure-cloud-routes", false, ELSEWHERE),
    flag("contention-profiling", false, Noted("there is no profiling endpoint")),
    flag("controller-shutdown-timeout", true, Taken),
    flag("controller-start-interval", true, Noted("the controllers start together: they share what they look at")),
    flag("controllers", true, Taken),
    flag("disable-attach-detach-reconcile-sync", false, ELSEWHERE),
    flag("disable-force-detach-on-timeout", false, ELSEWHERE),
    flag("disable-http2-serving", false, PLAIN),
    flag("disabled-metrics", true, METRICS),
    flag("emulated-version", true, Refused("only one version of the behaviour is built in")),
    flag("enable-dynamic-provisioning", false, Taken),
    flag("enable-garbage-collector", false, ELSEWHERE),
    flag(
        "enable-hostpath-provisioner",
        false,
        Refused(
            "directories of the machine that the controller happens to run on are no volumes; use a local or CSI driver",
        ),
    ),
    flag(
        "enable-leader-migration",
        false,
        Refused("the lease of this process is its own; nothing migrates to or from it"),
    ),
    flag("endpoint-updates-batch-period", true, ELSEWHERE),
    flag("endpointslice-updates-batch-period", true, ELSEWHERE),
    flag(
        "external-cloud-volume-plugin",
        true,
        Refused("in-tree volume plugins are handed to their CSI drivers, without exception"),
    ),
    flag("feature-gates", true, Taken),
    flag("flex-volume-plugin-dir", true, Noted("there are no flex volume plugins here")),
    flag("help", false, Taken),
    flag("horizontal-pod-autoscaler-cpu-initialization-period", true, ELSEWHERE),
    flag("horizontal-pod-autoscaler-downscale-stabilization", true, ELSEWHERE),
    flag("horizontal-pod-autoscaler-initial-readiness-delay", true, ELSEWHERE),
    flag("horizontal-pod-autoscaler-sync-period", true, ELSEWHERE),
    flag("horizontal-pod-autoscaler-tolerance", true, ELSEWHERE),
    flag("http2-max-streams-per-connection", true, PLAIN),
    flag("kube-api-burst", true, Taken),
    flag("kube-api-content-type", true, Noted("requests are JSON")),
    flag("kube-api-qps", true, Taken),
    flag("kubeconfig", true, Taken),
    flag("large-cluster-size-threshold", true, ELSEWHERE),
    flag("leader-elect", false, Taken),
    flag("leader-elect-lease-duration", true, Taken),
    flag("leader-elect-renew-deadline", true, Taken),
    flag("leader-elect-resource-lock", true, Taken),
    flag("leader-elect-resource-name", true, Taken),
    flag("leader-elect-resource-namespace", true, Taken),
    flag("leader-elect-retry-period", true, Taken),
    flag(
        "leader-migration-config",
        true,
        Refused("the lease of this process is its own; nothing migrates to or from it"),
    ),
    flag("legacy-service-account-token-clean-up-period", true, ELSEWHERE),
    flag("log-flush-frequency", true, LOGS),
    flag("log-json-info-buffer-size", true, LOGS),
    flag("log-json-split-stream", false, LOGS),
    flag("log-text-info-buffer-size", true, LOGS),
    flag("log-text-split-stream", false, LOGS),
    flag("logging-format", true, Taken),
    flag("master", true, Taken),
    flag("max-endpoints-per-slice", true, ELSEWHERE),
    flag("min-compatibility-version", true, Refused("only one version of the behaviour is built in")),
    flag("min-resync-period", true, Taken),
    flag("mirroring-concurrent-service-endpoint-syncs", true, ELSEWHERE),
    flag("mirroring-endpointslice-updates-batch-period", true, ELSEWHERE),
    flag("mirroring-max-endpoints-per-subset", true, ELSEWHERE),
    flag("namespace-sync-period", true, ELSEWHERE),
    flag("node-cidr-mask-size", true, ELSEWHERE),
    flag("node-cidr-mask-size-ipv4", true, ELSEWHERE),
    flag("node-cidr-mask-size-ipv6", true, ELSEWHERE),
    flag("node-eviction-rate", true, ELSEWHERE),
    flag("node-monitor-grace-period", true, ELSEWHERE),
    flag("node-monitor-period", true, ELSEWHERE),
    flag("node-startup-grace-period", true, ELSEWHERE),
    flag("permit-address-sharing", false, PLAIN),
    flag("permit-port-sharing", false, PLAIN),
    flag("profiling", false, Noted("there is no profiling endpoint")),
    flag("pv-recycler-increment-timeout-nfs", true, RECYCLER),
    flag("pv-recycler-minimum-timeout-hostpath", true, RECYCLER),
    flag("pv-recycler-minimum-timeout-nfs", true, RECYCLER),
    flag("pv-recycler-pod-template-filepath-hostpath", true, RECYCLER),
    flag("pv-recycler-pod-template-filepath-nfs", true, RECYCLER),
    flag("pv-recycler-timeout-increment-hostpath", true, RECYCLER),
    flag("pvclaimbinder-sync-period", true, Taken),
    flag("requestheader-allowed-names", true, UNAUTHENTICATED),
    flag("requestheader-client-ca-file", true, UNAUTHENTICATED),
    flag("requestheader-extra-headers-prefix", true, UNAUTHENTICATED),
    flag("requestheader-group-headers", true, UNAUTHENTICATED),
    flag("requestheader-uid-headers", true, UNAUTHENTICATED),
    flag("requestheader-username-headers", true, UNAUTHENTICATED),
    flag("resource-quota-sync-period", true, ELSEWHERE),
    flag("root-ca-file", true, ELSEWHERE),
    flag("route-reconciliation-period", true, ELSEWHERE),
    flag("secondary-node-eviction-rate", true, ELSEWHERE),
    flag("secure-port", true, PLAIN),
    flag("service-account-private-key-file", true, ELSEWHERE),
    flag("service-cluster-ip-range", true, ELSEWHERE),
    flag("show-hidden-metrics-for-version", true, METRICS),
    flag("terminated-pod-gc-threshold", true, ELSEWHERE),
    flag("tls-cert-file", true, PLAIN),
    flag("tls-cipher-suites", true, PLAIN),
    flag("tls-curve-preferences", true, PLAIN),
    flag("tls-min-version", true, PLAIN),
    flag("tls-private-key-file", true, PLAIN),
    flag("tls-sni-cert-key", true, PLAIN),
    flag("unhealthy-zone-threshold", true, ELSEWHERE),
    flag("use-service-account-credentials", false, Noted("the controllers of this process share one identity")),
    flag("v", true, Taken),
    flag("version", false, Taken),
    flag("vmodule", true, LOGS),
];

#[cfg(test)]
mod tests {
    use super::{FLAGS, Treatment, find};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/controller.md");
    const MARK: &str = "<!-- flags: made by `UPDATE=1 cargo test -p plimsoll-cli flags_page` -->\n";

    #[test]
    fn flags_page_shows_every_flag() {
        let mut table = String::from("\n| flag | | |\n| --- | --- | --- |\n");
        for flag in FLAGS {
            let (word, why) = match flag.treatment {
                Treatment::Taken => ("taken", ""),
                Treatment::Noted(why) => ("noted", why),
                Treatment::Refused(why) => ("refused", why),
            };
            table.push_str(&format!("| `--{}` | {word} | {why} |\n", flag.name));
        }
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (head, shown) = page.split_once(MARK).expect("the page has its mark");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(PAGE, format!("{head}{MARK}{table}")).unwrap();
        } else {
            assert_eq!(shown, table, "UPDATE=1 makes the table anew");
        }
    }

    #[test]
    fn flags_are_found_by_name() {
        assert!(FLAGS.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(find("leader-elect").map(|f| f.treatment), Some(Treatment::Taken));
        assert!(matches!(find("enable-hostpath-provisioner").map(|f| f.treatment), Some(Treatment::Refused(_))));
        assert!(find("made-up").is_none());
    }
}
