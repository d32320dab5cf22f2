//! What a round trip through upstream's internal types leaves different: fields that exist twice, annotations that stand for fields.

use std::num::IntErrorKind;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::field::go_quoted;
use crate::kind::Kind;
use crate::value::{default_absent, ensure, ensure_in, get, is_zero, list_mut, text};

/// Counts the changes of a DaemonSet's template; a field of its own in the internal type.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
/// Asks for an earlier version of a Deployment's template.
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Makes the fields of an object say what they would say after the round trip.
pub fn round_trip(kind: Kind<'_>, object: &mut Value) {
    match (kind.group, kind.kind) {
        ("", "Secret") => string_data(object),
        ("", "Node") => pod_ranges(object),
        ("apps", "StatefulSet") => {
            for template in list_mut(object, &["spec", "volumeClaimTemplates"]) {
                let template = crate::value::as_fields(template);
                template.insert("apiVersion".into(), "v1".into());
                template.insert("kind".into(), "PersistentVolumeClaim".into());
            }
        }
        ("apps", "DaemonSet") => {
            let count = template_generation(object);
            set_template_generation(object, count);
            // Inside, these are no pointers: who names the struct has both.
            if let Some(Value::Object(rolling)) = object.pointer_mut("/spec/updateStrategy/rollingUpdate") {
                default_absent(rolling, "maxUnavailable", 0);
                default_absent(rolling, "maxSurge", 0);
            }
        }
        ("apps", "Deployment") => rollback(object),
        _ => {}
    }
}

/// How often a DaemonSet's template has changed.
pub fn template_generation(object: &Value) -> i64 {
    text(object, &["metadata", "annotations", TEMPLATE_GENERATION]).parse().unwrap_or_default()
}

/// Why an object cannot be made one of the internal type: an annotation that stands for a number is none.
pub fn inconvertible(kind: Kind<'_>, object: &Value) -> Option<String> {
    if (kind.group, kind.kind) != ("apps", "DaemonSet") {
        return None;
    }
    let count = get(object, &["metadata", "annotations", TEMPLATE_GENERATION])?.as_str()?;
    let error = count.parse::<i64>().err()?;
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    Some(format!("strconv.ParseInt: parsing {}: {why}", go_quoted(count)))
}

/// Writes down how often a DaemonSet's template has changed.
pub fn set_template_generation(object: &mut Value, count: i64) {
    ensure(object, &["metadata", "annotations"]).insert(TEMPLATE_GENERATION.into(), count.to_string().into());
}

/// Text given in the clear is written into the data, over what stands there.
fn string_data(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(clear)) = fields.remove("stringData") else { return };
    if clear.is_empty() {
        return;
    }
    let data = ensure_in(fields, "data");
    for (key, value) in clear {
        let text = value.as_str().unwrap_or_default();
        data.insert(key, base64::engine::general_purpose::STANDARD.encode(text).into());
    }
}

/// A node's range and the first of its ranges are the same; where they differ, the single one wins.
fn pod_ranges(object: &mut Value) {
    let single = text(object, &["spec", "podCIDR"]).to_owned();
    let first = get(object, &["spec", "podCIDRs"]).and_then(|l| l.get(0)).and_then(Value::as_str).map(str::to_owned);
    match first {
        Some(first) if single.is_empty() => {
            ensure(object, &["spec"]).insert("podCIDR".into(), first.into());
        }
        Some(first) if first == single => {}
        _ if !single.is_empty() => {
            ensure(object, &["spec"]).insert("podCIDRs".into(), json!([single]));
        }
        _ => {}
    }
}

/// The annotation is a number, or it is not there.
fn rollback(object: &mut Value) {
    let wanted = text(object, &["metadata", "annotations", ROLLBACK_TO]).to_owned();
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    match wanted.parse::<i64>() {
        Ok(revision) => {
            annotations.insert(ROLLBACK_TO.into(), revision.to_string().into());
        }
        Err(_) => {
            annotations.remove(ROLLBACK_TO);
        }
    }
}

/// The same event in the other group: `v1` and `events.k8s.io/v1` are two views of one object, and name some fields differently.
/// `to` is the group to write it in.
pub fn convert_event(object: &mut Value, to: &str) {
    const NAMES: [(&str, &str); 7] = [
        ("involvedObject", "regarding"),
        ("source", "deprecatedSource"),
        ("message", "note"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("reportingComponent", "reportingController"),
    ];
    let Some(fields) = object.as_object_mut() else { return };
    for (core, events) in NAMES {
        let (from, into) = if to.is_empty() { (events, core) } else { (core, events) };
        if let Some(value) = fields.remove(from) {
            fields.entry(into).or_insert(value);
        }
    }
    // Core writes these even where they are empty; the other group leaves them out.
    if !to.is_empty() {
        fields.retain(|key, value| {
            !matches!(key.as_str(), "reportingController" | "reportingInstance") || !is_zero(value)
        });
    }
    fields.insert("apiVersion".into(), if to.is_empty() { "v1".into() } else { format!("{to}/v1").into() });
}
