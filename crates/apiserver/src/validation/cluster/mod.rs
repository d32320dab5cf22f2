//! Kinds of the cluster itself: volumes, claims, storage, nodes, namespaces, services, rules.
//!
//! Each file holds upstream's rules of a few kinds, in upstream's order, for the order of the causes is part of an answer. Rules
//! that upstream generates from its types ("declarative") are said last, whatever their place: see `found::Found`.

mod addresses;
mod api_services;
mod certificates;
mod claims;
mod config;
mod csi;
mod definitions;
mod device_requests;
mod devices;
mod events;
mod flows;
mod found;
mod gojson;
mod gojson_error;
mod gotypes;
mod ingresses;
mod leases;
mod limits;
mod namespaces;
mod nodes;
mod policies;
mod rbac;
mod resources;
mod runtimes;
mod schemas;
mod service_cidrs;
mod service_ips;
mod services;
mod storage;
mod trust_bundles;
mod volume_sources;
mod volumes;
mod webhooks;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::field::FieldError;
use crate::kind::Kind;
use crate::validation::names::name_is_path_segment;
use found::Found;

type Create = fn(&mut Found, &Value);
type Update = fn(&mut Found, &Value, &Value);

/// What upstream checks of a kind.
struct Rules {
    namespaced: bool,
    create: Create,
    update: Update,
    /// The rules of the subresources that have their own.
    subresources: &'static [(&'static str, Update)],
    /// Whether the same thing is said once only. Upstream's way with the kinds that have declarative rules too.
    once: bool,
}

const fn cluster(create: Create, update: Update) -> Rules {
    Rules { namespaced: false, create, update, subresources: &[], once: true }
}

const fn namespaced(create: Create, update: Update) -> Rules {
    Rules { namespaced: true, create, update, subresources: &[], once: true }
}

impl Rules {
    const fn with(mut self, subresources: &'static [(&'static str, Update)]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn repeating(mut self) -> Self {
        self.once = false;
        self
    }

    fn finish(&self, found: Found) -> Vec<FieldError> {
        if self.once { found.finish() } else { found.finish_plainly() }
    }
}

fn rules(kind: Kind<'_>) -> Option<Rules> {
    Some(match (kind.group, kind.kind) {
        ("", "PersistentVolumeClaim") => {
            namespaced(claims::create, claims::update).with(&[("status", claims::update_status)])
        }
        ("", "PersistentVolume") => {
            cluster(volumes::create, volumes::update).with(&[("status", volumes::update_status)])
        }
        ("", "Node") => cluster(nodes::create, nodes::update).with(&[("status", nodes::update_status)]),
        ("", "Namespace") => cluster(namespaces::create, namespaces::update)
            .with(&[("status", namespaces::update_status), ("finalize", namespaces::update_finalize)]),
        ("", "Service") => namespaced(services::create, services::update).with(&[("status", services::update_status)]),
        ("", "ServiceAccount") => namespaced(config::create_service_account, config::update_service_account),
        ("", "Secret") => namespaced(config::create_secret, config::update_secret),
        ("", "ConfigMap") => namespaced(config::create_config_map, config::update_config_map),
        ("", "Event") => namespaced(events::create_core, events::update_core),
        ("events.k8s.io", "Event") => namespaced(events::create_events, events::update_events),
        ("", "LimitRange") => namespaced(limits::limit_range, |found, new, _| limits::limit_range(found, new)),
        ("", "ResourceQuota") => {
            namespaced(limits::create_quota, limits::update_quota).with(&[("status", limits::update_quota_status)])
        }
        ("", "Endpoints") => namespaced(addresses::create_endpoints, addresses::update_endpoints),
        ("discovery.k8s.io", "EndpointSlice") => namespaced(addresses::create_slice, addresses::update_slice),
        ("storage.k8s.io", "StorageClass") => cluster(storage::create_class, storage::update_class),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            cluster(storage::create_attributes_class, storage::update_attributes_class)
        }
        ("storage.k8s.io", "VolumeAttachment") => cluster(storage::create_attachment, storage::update_attachment)
            .with(&[("status", storage::update_attachment)]),
        ("storage.k8s.io", "CSIStorageCapacity") => namespaced(storage::create_capacity, storage::update_capacity),
        ("storage.k8s.io", "CSIDriver") => cluster(csi::create_driver, csi::update_driver),
        ("storage.k8s.io", "CSINode") => {
            cluster(csi::create_node, csi::update_node).with(&[("status", csi::update_node_status)])
        }
        ("coordination.k8s.io", "Lease") => namespaced(leases::create, leases::update),
        ("rbac.authorization.k8s.io", "Role") => namespaced(rbac::create_role, rbac::update_role),
        ("rbac.authorization.k8s.io", "ClusterRole") => cluster(rbac::create_cluster_role, rbac::update_cluster_role),
        ("rbac.authorization.k8s.io", "RoleBinding") => namespaced(rbac::create_binding, rbac::update_binding),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => {
            cluster(rbac::create_cluster_binding, rbac::update_cluster_binding)
        }
        ("networking.k8s.io", "NetworkPolicy") => namespaced(policies::create, policies::update),
        ("networking.k8s.io", "Ingress") => {
            namespaced(ingresses::create, ingresses::update).with(&[("status", ingresses::update_status)])
        }
        ("networking.k8s.io", "IngressClass") => cluster(ingresses::create_class, ingresses::update_class),
        ("networking.k8s.io", "ServiceCIDR") => cluster(service_cidrs::create, service_cidrs::update),
        ("networking.k8s.io", "IPAddress") => cluster(service_cidrs::create_address, service_cidrs::update_address),
        ("node.k8s.io", "RuntimeClass") => cluster(runtimes::create, runtimes::update),
        ("certificates.k8s.io", "CertificateSigningRequest") => cluster(certificates::create, certificates::update)
            .with(&[("status", certificates::update_status), ("approval", certificates::update_approval)]),
        ("certificates.k8s.io", "ClusterTrustBundle") => cluster(trust_bundles::create, trust_bundles::update),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            cluster(flows::create_schema, |found, new, _| flows::create_schema(found, new))
                .with(&[("status", flows::update_status)])
        }
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            cluster(flows::create_level, flows::update_level).with(&[("status", flows::update_status)])
        }
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            cluster(webhooks::create_validating, webhooks::update_validating)
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            cluster(webhooks::create_mutating, webhooks::update_mutating)
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => cluster(definitions::create, definitions::update)
            .with(&[("status", definitions::update_status)])
            .repeating(),
        ("apiregistration.k8s.io", "APIService") => cluster(api_services::create, api_services::update)
            .with(&[("status", api_services::update_status)])
            .repeating(),
        ("resource.k8s.io", "ResourceClaim") => namespaced(devices::create_claim, devices::update_claim),
        ("resource.k8s.io", "ResourceClaimTemplate") => namespaced(devices::create_template, devices::update_template),
        ("resource.k8s.io", "DeviceClass") => cluster(devices::create_class, devices::update_class),
        ("resource.k8s.io", "ResourceSlice") => cluster(devices::create, devices::update),
        _ => return None,
    })
}

/// What upstream finds before its validation proper: if there is something, the answer is that alone.
fn first(kind: Kind<'_>, new: &Value, old: Option<&Value>) -> Found {
    let mut found = Found::default();
    if (kind.group, kind.kind) == ("", "Service") {
        services::first(&mut found, new, old);
    }
    found
}

/// What is wrong with the addresses that a service asks for: looked at before it is given any.
pub fn service_addresses(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::default();
    services::first(&mut found, new, old);
    found.finish()
}

/// What is wrong with a new object; nothing said about kinds that are not known here.
pub fn create(kind: Kind<'_>, new: &Value) -> Option<Vec<FieldError>> {
    let rules = rules(kind)?;
    let mut found = first(kind, new, None);
    if !found.is_empty() {
        return Some(rules.finish(found));
    }
    (rules.create)(&mut found, new);
    if found.is_empty() {
        found.plain_metadata(new, rules.namespaced, name_is_path_segment);
    }
    Some(rules.finish(found))
}

/// What is wrong with an object that replaces another.
pub fn update(kind: Kind<'_>, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    let rules = rules(kind)?;
    let found = first(kind, new, Some(old));
    if !found.is_empty() {
        return Some(rules.finish(found));
    }
    Some(replaced(&rules, Some(rules.update), new, old))
}

/// What is wrong with an object written through a subresource.
pub fn update_subresource(kind: Kind<'_>, subresource: &str, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    let rules = rules(kind)?;
    let own = rules.subresources.iter().find(|(name, _)| *name == subresource).map(|(_, update)| *update);
    Some(replaced(&rules, own, new, old))
}

/// What holds for every object that replaces another, and then what holds for its kind.
fn replaced(rules: &Rules, own: Option<Update>, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut found = Found::default();
    found.plain_metadata(new, rules.namespaced, name_is_path_segment);
    found.plain_metadata_update(new, old);
    if let Some(own) = own {
        own(&mut found, new, old);
    }
    rules.finish(found)
}
