//! Custom resources: the same rules for all of them.

use serde_json::Value;

use super::rules::StatusMetadata;
use super::update::{bump, keep_metadata, system_metadata};
use crate::value::{as_fields, copy_field, ensure, remove};

/// Prepares a new custom resource. `has_status` says whether its status is written through a path of its own.
pub fn prepare_custom_create(object: &mut Value, has_status: bool) {
    if has_status {
        remove(object, &["status"]);
    }
    ensure(object, &["metadata"]).insert("generation".into(), 1.into());
}

/// Prepares what is to take the place of a custom resource.
pub fn prepare_custom_update(subresource: &str, new: &mut Value, old: &Value, has_status: bool) {
    copy_field(new, old, &["metadata", "generation"]);
    if subresource == "status" {
        let mut out = old.clone();
        copy_field(&mut out, new, &["status"]);
        copy_field(&mut out, new, &["metadata"]);
        keep_metadata(StatusMetadata::Kept, &mut out, old);
        // The version that was read is still the one to be replaced.
        copy_field(&mut out, new, &["metadata", "resourceVersion"]);
        *new = out;
    } else {
        if has_status {
            copy_field(new, old, &["status"]);
        }
        let content = |object: &Value| {
            let mut content = object.clone();
            let fields = as_fields(&mut content);
            fields.remove("metadata");
            if has_status {
                fields.remove("status");
            }
            content
        };
        if content(new) != content(old) {
            bump(new, old);
        }
    }
    system_metadata(new, old);
}
