//! What a configuration must not say, beside what its plugins' arguments must not: upstream's rules.

use plimsoll_engine::selector::is_label_key;

use super::document::{Document, Extender, Profile};
use super::plugins;
use super::schema::Findings;

/// Checks everything but the profiles' plugins, of a document that is complete.
pub fn document(document: &Document, found: &mut Findings) {
    lease(document, found);
    if document.client_connection.burst < 0 {
        found.wrong("clientConnection.burst", "must not be negative");
    }
    if document.parallelism.is_some_and(|parallelism| parallelism <= 0) {
        found.wrong("parallelism", "must be above 0");
    }
    percentage(document.percentage_of_nodes_to_score, "percentageOfNodesToScore", found);
    let first = document.pod_initial_backoff_seconds.unwrap_or(1);
    if first <= 0 {
        found.wrong("podInitialBackoffSeconds", format!("is {first}, and must be above 0"));
    }
    let most = document.pod_max_backoff_seconds.unwrap_or(10);
    if most < first {
        found.wrong(
            "podMaxBackoffSeconds",
            format!("is {most}, and must not be below podInitialBackoffSeconds, which is {first}"),
        );
    }
    for (index, profile) in document.profiles.iter().enumerate() {
        self::profile(profile, &document.profiles[..index], &format!("profiles[{index}]"), found);
    }
    extenders(&document.extenders, found);
}

fn percentage(value: Option<i32>, path: &str, found: &mut Findings) {
    if let Some(value) = value.filter(|value| !(0..=100).contains(value)) {
        found.wrong(path, format!("is {value}, and must be from 0 to 100"));
    }
}

fn lease(document: &Document, found: &mut Findings) {
    let lease = &document.leader_election;
    if lease.leader_elect == Some(false) {
        return;
    }
    if lease.lease_duration <= lease.renew_deadline {
        found.wrong("leaderElection.leaseDuration", "must be longer than renewDeadline");
    }
    if lease.renew_deadline <= lease.retry_period {
        found.wrong("leaderElection.renewDeadline", "must be longer than retryPeriod");
    }
    if lease.resource_lock != "leases" {
        found.wrong(
            "leaderElection.resourceLock",
            format!("is {}, and must be leases: there is no other kind", lease.resource_lock),
        );
    }
}

fn profile(profile: &Profile, before: &[Profile], path: &str, found: &mut Findings) {
    let name = profile.scheduler_name.as_deref().unwrap_or_default();
    if name.is_empty() {
        found.wrong(format!("{path}.schedulerName"), "must be given: pods choose a profile by it");
    } else if let Some(other) = before.iter().position(|other| other.scheduler_name.as_deref() == Some(name)) {
        found.wrong(format!("{path}.schedulerName"), format!("{name} is the name of profiles[{other}] already"));
    }
    percentage(profile.percentage_of_nodes_to_score, &format!("{path}.percentageOfNodesToScore"), found);
    for (index, config) in profile.plugin_config.iter().enumerate() {
        let path = format!("{path}.pluginConfig[{index}].name");
        let name = &config.name;
        if plugins::find(name).is_none() {
            found.wrong(path, plugins::unknown(name));
        } else if profile.plugin_config[..index].iter().any(|other| other.name == *name) {
            found.wrong(path, format!("the arguments of {name} are given already"));
        }
    }
}

fn extenders(extenders: &[Extender], found: &mut Findings) {
    let mut managed: Vec<&str> = Vec::new();
    let mut binder = None;
    for (index, extender) in extenders.iter().enumerate() {
        let path = format!("extenders[{index}]");
        url(&extender.url_prefix, &format!("{path}.urlPrefix"), found);
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            found.wrong(
                format!("{path}.weight"),
                format!("is {}, and must be above 0 where prioritizeVerb is given", extender.weight),
            );
        }
        if !extender.bind_verb.is_empty()
            && let Some(other) = binder.replace(index)
        {
            found.wrong(format!("{path}.bindVerb"), format!("extenders[{other}] binds already, and only one can"));
        }
        if let Some(tls) = &extender.tls_config {
            let given = |data: &[u8], file: &str| !data.is_empty() || !file.is_empty();
            if given(&tls.cert_data.0, &tls.cert_file) != given(&tls.key_data.0, &tls.key_file) {
                found.wrong(format!("{path}.tlsConfig"), "a certificate and its key must be given together");
            }
            if tls.insecure && given(&tls.ca_data.0, &tls.ca_file) {
                found.wrong(format!("{path}.tlsConfig.insecure"), "must not be true where an authority is given");
            }
        }
        for (number, resource) in extender.managed_resources.iter().enumerate() {
            let path = format!("{path}.managedResources[{number}].name");
            let name = resource.name.as_str();
            if !is_extended_resource(name) {
                found.wrong(path, format!("{name:?} is not an extended resource, such as example.com/device"));
            } else if managed.contains(&name) {
                found.wrong(path, format!("{name} is managed already"));
            }
            managed.push(name);
        }
    }
}

/// An extender that cannot be called is found at the start rather than with the first pod; upstream waits for the pod.
fn url(prefix: &str, path: &str, found: &mut Findings) {
    let uri = prefix.parse::<http::Uri>().ok();
    if !uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()) {
        found.wrong(path, format!("{prefix:?} is not an address, such as http://127.0.0.1:8888/scheduler"));
    }
}

/// Whether a resource is somebody's own: it has a domain, and that is not Kubernetes'.
fn is_extended_resource(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    // It must also do as a quota's name, with that prefix.
    is_label_key(name) && !native && !name.starts_with("requests.") && is_label_key(&format!("requests.{name}"))
}
