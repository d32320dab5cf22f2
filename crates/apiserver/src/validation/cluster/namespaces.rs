//! Namespace.

use serde_json::Value;

use super::found::Found;
use crate::validation::meta;
use crate::validation::names::name_is_dns_label;
use crate::validation::path::{Path, get, has, text, texts};

/// A new namespace.
pub(super) fn create(found: &mut Found, new: &Value) {
    found.metadata(new, false, name_is_dns_label);
    for name in texts(get(new, "spec"), "finalizers") {
        finalizer(found, name, &Path::new("spec").child("finalizers"));
    }
}

fn finalizer(found: &mut Found, name: &str, path: &Path) {
    found.extend(meta::finalizer_name(name, path));
    found.kube_finalizer(name, path);
}

/// A namespace that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    create(found, new);
    found.metadata_update(new, old);
}

/// A namespace's status: its phase follows from whether it is being deleted.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    let phase = text(get(new, "status"), "phase");
    let (only, is) =
        if has(get(new, "metadata"), "deletionTimestamp") { ("Terminating", "not empty") } else { ("Active", "empty") };
    if phase != only {
        found.invalid("status.Phase", phase, format!("may only be '{only}' if `deletionTimestamp` is {is}"));
    }
}

/// A namespace's finalizers.
pub(super) fn update_finalize(found: &mut Found, new: &Value, old: &Value) {
    found.metadata_update(new, old);
    for (i, name) in texts(get(new, "spec"), "finalizers").into_iter().enumerate() {
        finalizer(found, name, &Path::new("spec").child("finalizers").index(i));
    }
}
