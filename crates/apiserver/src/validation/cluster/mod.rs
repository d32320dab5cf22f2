//! Kinds of the cluster itself: volumes, claims, storage, nodes, namespaces, services, rules.
//!
//! Each file holds upstream's rules of a few kinds, in upstream's order, for the order of the causes is part of an answer. Rules
//! that upstream generates from its types ("declarative") are said last, whatever their place: see [`found::Found`].

mod addresses;
mod claims;
mod config;
mod csi;
mod events;
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
mod select;
mod service_ips;
mod services;
mod storage;
mod unified;
mod volume_sources;
mod volumes;

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
}

const fn cluster(create: Create, update: Update) -> Rules {
    Rules { namespaced: false, create, update, subresources: &[] }
}

const fn namespaced(create: Create, update: Update) -> Rules {
    Rules { namespaced: true, create, update, subresources: &[] }
}

impl Rules {
    const fn with(mut self, subresources: &'static [(&'static str, Update)]) -> Self {
        self.subresources = subresources;
        self
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
        _ => return None,
    })
}

/// What is wrong with a new object; nothing said about kinds that are not known here.
pub fn create(kind: Kind<'_>, new: &Value) -> Option<Vec<FieldError>> {
    let rules = rules(kind)?;
    let mut found = Found::default();
    (rules.create)(&mut found, new);
    if found.is_empty() {
        found.metadata(new, rules.namespaced, name_is_path_segment);
    }
    Some(found.finish())
}

/// What is wrong with an object that replaces another.
pub fn update(kind: Kind<'_>, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    let rules = rules(kind)?;
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
    found.metadata(new, rules.namespaced, name_is_path_segment);
    found.metadata_update(new, old);
    if let Some(own) = own {
        own(&mut found, new, old);
    }
    found.finish()
}
