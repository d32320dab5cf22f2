//! Words and edits that several families use.

use crate::explain::Patch;
use crate::labels::{Labels, Name, ObjectKey};
use crate::model::Pod;
use crate::object::Kind;
use crate::quantity::Quantity;
use crate::selector::LabelSelector;
use crate::volumes::{ZONE, ZONE_BETA};

/// The label that tells single nodes apart.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// Bytes in binary units.
pub(super) fn bytes(amount: i64) -> String {
    Quantity::from_bytes(amount).to_string()
}

/// An amount of a compute resource with its unit, as the scheduler counts it.
pub(super) fn amount(resource: &str, amount: i64) -> Quantity {
    match resource {
        "cpu" => Quantity::from_millis(amount),
        "memory" | "ephemeral-storage" => Quantity::from_bytes(amount),
        name if name.starts_with("hugepages-") => Quantity::from_bytes(amount),
        _ => Quantity::from_units(amount),
    }
}

/// Where a pool's space is, from its topology: ` in zone a`, ` on node-1`, ` where rack=7`; nothing where it is everywhere.
pub(super) fn place(topology: &LabelSelector) -> String {
    let parts = topology.requirements().iter().map(|r| {
        let values = r.in_values().map(|values| values.join(" or "));
        match (&**r.key(), values) {
            (ZONE | ZONE_BETA, Some(values)) => format!("in zone {values}"),
            (HOSTNAME, Some(values)) => format!("on {values}"),
            (key, Some(values)) => format!("where {key}={values}"),
            (key, None) => format!("where {key} {}", r.operator()),
        }
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { String::new() } else { format!(" {}", parts.join(" and ")) }
}

/// The labels with one more, or with another value.
pub(super) fn with_label(labels: &Labels, key: &Name, value: &Name) -> Labels {
    let others = labels.iter().filter(|(k, _)| *k != key);
    others.chain([(key, value)]).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// The labels without one.
pub(super) fn without_label(labels: &Labels, key: &Name) -> Labels {
    labels.iter().filter(|(k, _)| *k != key).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// An edit of a field of an object that lives in no namespace.
pub(super) fn edit(kind: Kind, name: &Name, field: impl Into<String>, value: Option<String>) -> Patch {
    Patch { kind: kind.name(), namespace: None, name: name.clone(), field: field.into(), value }
}

/// An edit of a field of an object in a namespace.
pub(super) fn edit_in(kind: Kind, key: &ObjectKey, field: impl Into<String>, value: Option<String>) -> Patch {
    Patch {
        kind: kind.name(),
        namespace: Some(key.namespace.clone()),
        name: key.name.clone(),
        field: field.into(),
        value,
    }
}

/// An edit of a field of the pod.
pub(super) fn edit_pod(pod: &Pod, field: impl Into<String>, value: Option<String>) -> Patch {
    edit_in(Kind::Pod, &pod.key, field, value)
}
