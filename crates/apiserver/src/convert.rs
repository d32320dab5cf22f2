//! Between versions of a kind that share one store: core and events.k8s.io Events, autoscaling v1 and v2; custom resources change only
//! their `apiVersion`.

use plimsoll_schema::{Schema, Table, decode};
use serde_json::Value;

use crate::codec;
use crate::defaults::{convert_autoscaler, convert_event};
use crate::kind::Kind;
use crate::registry::Served;

/// From the stored version to the one that `served` speaks.
pub fn from_stored(served: &Served, object: &mut Value) {
    if let Some(custom) = &served.custom {
        custom.read(object);
    }
    if served.stored_as.is_some() {
        convert(served, object, &served.group, &served.version);
    }
}

/// From the version that `served` speaks to the stored one.
pub fn to_stored(served: &Served, object: &mut Value) {
    let Some(stored) = &served.stored_as else { return };
    if let Some(custom) = &served.custom {
        custom.store(object);
    }
    convert(served, object, &stored.group, &stored.version);
}

fn convert(served: &Served, object: &mut Value, group: &str, version: &str) {
    match (served.group.as_str(), served.kind.as_str()) {
        ("events.k8s.io", "Event") => convert_event(object, group),
        ("autoscaling", "HorizontalPodAutoscaler") => convert_autoscaler(object, version),
        _ => {}
    }
    object["apiVersion"] = Kind::new(group, version, "").api_version().into();
    // The versions differ in what they always write.
    if let Some(ty) = codec::builtin_type(group, version, &served.kind) {
        let table = Table::builtin();
        let value = std::mem::take(object);
        *object = match decode::canonical(Schema::new(&table, &ty), value.clone(), &mut decode::Report::default()) {
            Ok(canonical) => canonical,
            Err(_) => value,
        };
    }
}
