//! Pods, and the pod specs that stand in other kinds.
//!
//! [`create`], [`update`] and [`subresource`] are for pods; [`template`] is for the templates in workloads.

mod annotations;
mod containers;
mod env;
mod mounts;
mod probes;
mod projected;
mod resize;
mod scheduling;
mod security;
mod spec;
mod status;
mod update;
mod volume_sources;
mod volumes;
mod windows;

use serde_json::Value;

use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::meta;
use crate::validation::names;
use crate::validation::path::{Path, at, get, has, list, number, text};
use crate::validation::resources;
use crate::validation::selectors;

pub use scheduling::preemption_policy;

/// What is taken although it is wrong, because it was there before; and whether a spec is a pod's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The spec is a pod's, not a template's.
    pub is_pod: bool,
    /// Values in affinity selectors that are no label values.
    pub selector_values: bool,
    /// Values in the required node affinity that are no label values.
    pub node_affinity_values: bool,
    /// Selectors in spread constraints that are none.
    pub spread_selectors: bool,
    /// Amounts of huge pages that are no multiple of a page.
    pub huge_pages: bool,
    /// A cost of deletion that is no number.
    pub deletion_cost: bool,
    /// Paths of tokens that lead out of the volume.
    pub token_paths: bool,
    /// Kernel settings of a namespace that is shared with the host.
    pub host_sysctls: bool,
    /// Block devices in a pod with users of its own.
    pub userns_devices: bool,
    /// Image volumes without an image.
    pub empty_images: bool,
    /// The strongest capability in a container that may not gain any.
    pub sys_admin: bool,
    /// Init containers that are to be restarted when resized.
    pub init_restart: bool,
    /// Operators that compare numbers, in tolerations.
    pub comparisons: bool,
    /// Containers of a pod with users of its own on the host's network.
    pub userns_network: bool,
    /// Spread constraints whose keys do not go with their selectors: the older rule is applied then.
    pub spread_keys: bool,
}

impl Options {
    /// What follows from the pod (or template) that was there before: `metadata` and `spec`.
    pub fn after(old_metadata: &Value, old_spec: &Value) -> Self {
        let here = Path::new("");
        let affinity = get(old_spec, "affinity");
        let terms =
            ["podAffinity", "podAntiAffinity"].iter().flat_map(|kind| scheduling::pod_terms(get(affinity, kind)));
        let selector_values = terms.into_iter().any(|term| {
            selectors::has_invalid_value(get(term, "labelSelector"))
                || selectors::has_invalid_value(get(term, "namespaceSelector"))
        });
        let required = at(affinity, &["nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"]);
        let node_affinity_values = list(required, "nodeSelectorTerms").iter().any(selectors::has_invalid_value);
        let spread = list(old_spec, "topologySpreadConstraints");
        let all: Vec<&Value> = containers::all(old_spec, &here).into_iter().map(|(container, _)| container).collect();
        let host_users = get(old_spec, "hostUsers").as_bool().unwrap_or(true);
        Self {
            is_pod: false,
            selector_values,
            node_affinity_values,
            spread_selectors: spread
                .iter()
                .any(|rule| !selectors::label_selector(get(rule, "labelSelector"), false, &here).is_empty()),
            huge_pages: all.iter().any(|container| resources::has_odd_huge_pages(get(container, "resources"))),
            deletion_cost: annotations::deletion_cost(old_metadata).is_err(),
            token_paths: volumes::has_outside_token(old_spec),
            host_sysctls: security::has_host_sysctl(old_spec),
            userns_devices: !host_users && all.iter().any(|container| has(container, "volumeDevices")),
            empty_images: list(old_spec, "volumes")
                .iter()
                .any(|volume| has(volume, "image") && text(get(volume, "image"), "reference").is_empty()),
            sys_admin: all.iter().any(|container| security::is_admin_without_gain(get(container, "securityContext"))),
            init_restart: list(old_spec, "initContainers").iter().any(containers::restarts_on_resize),
            comparisons: list(old_spec, "tolerations")
                .iter()
                .any(|toleration| matches!(text(toleration, "operator"), "Lt" | "Gt")),
            userns_network: !host_users && get(old_spec, "hostNetwork").as_bool().unwrap_or_default(),
            spread_keys: spread.iter().any(|rule| !scheduling::spread_keys(rule, &here).is_empty()),
        }
    }
}

/// What is wrong with a new pod.
pub fn create(pod: &Value) -> Vec<FieldError> {
    let options = Options { is_pod: true, ..Options::default() };
    let mut out = Found::new();
    metadata_and_spec(&mut out, pod, &options);
    let path = Path::new("spec");
    let spec = get(pod, "spec");
    if has(spec, "ephemeralContainers") {
        out.forbidden(&path.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(spec, "nodeName").is_empty() && has(spec, "schedulingGates") {
        out.forbidden(&path.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    annotations::seccomp_fields(&mut out, get(pod, "metadata"), spec, &path);
    annotations::app_armor_fields(&mut out, get(pod, "metadata"), spec, &path);
    out.into_errors()
}

/// What is wrong with a pod that replaces another.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let options = Options { is_pod: true, ..Options::after(get(old, "metadata"), get(old, "spec")) };
    update::pod(new, old, &options)
}

/// What is wrong with a pod that was written through a subresource; nothing where the subresource is not known.
pub fn subresource(name: &str, new: &Value, old: &Value) -> Option<Vec<FieldError>> {
    let options = Options { is_pod: true, ..Options::after(get(old, "metadata"), get(old, "spec")) };
    match name {
        "status" => Some(status::update(new, old, &options)),
        "ephemeralcontainers" => Some(update::ephemeral_containers(new, old, &options)),
        "resize" => Some(resize::update(new, old, &options)),
        "binding" => Some(binding(new)),
        _ => None,
    }
}

/// What is wrong with a binding.
pub fn binding(binding: &Value) -> Vec<FieldError> {
    let mut out = Found::new();
    let target = get(binding, "target");
    let (kind, name) = (text(target, "kind"), text(target, "name"));
    let path = Path::new("target");
    if !kind.is_empty() && kind != "Node" {
        out.unsupported(&path.child("kind"), kind, &["Node", "<empty>"]);
    }
    if name.is_empty() {
        out.required(&path.child("name"), "");
    } else if kind.is_empty() || kind == "Node" {
        out.said(&path.child("name"), name, names::is_dns1123_subdomain(name));
    }
    out.into_errors()
}

/// What is wrong with a pod template: a struct with `metadata` and `spec`.
pub fn template(template: &Value, path: &Path, options: &Options) -> Vec<FieldError> {
    let mut out = Found::new();
    let (metadata, spec) = (get(template, "metadata"), get(template, "spec"));
    let spec_path = path.child("spec");
    out.extend(meta::labels(metadata, "labels", &path.child("labels")));
    out.extend(meta::annotations(metadata, &path.child("annotations")));
    annotations::check(&mut out, metadata, spec, &path.child("annotations"), options);
    out.extend(spec::check(spec, &crate::validation::path::NOTHING, &spec_path, options));
    annotations::seccomp_fields(&mut out, metadata, spec, &spec_path);
    annotations::app_armor_fields(&mut out, metadata, spec, &spec_path);
    if has(spec, "ephemeralContainers") {
        out.forbidden(&spec_path.child("ephemeralContainers"), "ephemeral containers not allowed in pod template");
    }
    out.into_errors()
}

/// What a new pod and a changed one have in common.
fn metadata_and_spec(out: &mut Found, pod: &Value, options: &Options) {
    let (metadata, spec) = (get(pod, "metadata"), get(pod, "spec"));
    let (meta_path, path) = (Path::new("metadata"), Path::new("spec"));
    out.extend(meta::builtin_meta(metadata, true, names::name_is_dns_subdomain, &meta_path));
    annotations::check(out, metadata, spec, &meta_path.child("annotations"), options);
    out.extend(spec::check(spec, metadata, &path, options));
    if text(spec, "serviceAccountName").is_empty() {
        for (i, volume) in list(spec, "volumes").iter().enumerate() {
            for (j, source) in list(get(volume, "projected"), "sources").iter().enumerate() {
                if has(source, "serviceAccountToken") {
                    let field = path.child("volumes").index(i).children(&["projected", "sources"]).index(j);
                    let said = "must not be specified when serviceAccountName is not set";
                    out.forbidden(&field.child("serviceAccountToken"), said);
                }
            }
        }
    }
    let grace = number(spec, "terminationGracePeriodSeconds");
    out.non_negative(&path.child("terminationGracePeriodSeconds"), grace);
    for kind in ["containers", "initContainers"] {
        for (i, container) in list(spec, kind).iter().enumerate() {
            containers::image_without_blanks(out, container, &path.child(kind).index(i));
        }
    }
}

/// The annotations of a template, once more.
pub fn template_annotations(out: &mut Found, template: &Value, path: &Path, options: &Options) {
    annotations::check(out, get(template, "metadata"), get(template, "spec"), path, options);
}
