//! Volumes, claims, classes and CSI's kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, time};
use super::view::View;

fn name(object: View<'_>) -> Value {
    json!(object.at("metadata.name").text())
}

/// The modes of access in one fixed order.
fn access_modes(modes: View<'_>) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = |mode: &str| modes.items().any(|m| m.text() == mode);
    SHORT.into_iter().filter(|(mode, _)| given(mode)).map(|(_, short)| short).collect::<Vec<_>>().join(",")
}

/// The class of a volume or claim; the annotation of old goes before the field.
fn class<'a>(object: View<'a>) -> &'a str {
    let annotation = object.at("metadata.annotations").key("volume.beta.kubernetes.io/storage-class");
    if annotation.exists() { annotation.text() } else { object.at("spec.storageClassName").text() }
}

fn phase<'a>(object: View<'a>) -> &'a str {
    if object.at("metadata.deletionTimestamp").exists() { "Terminating" } else { object.at("status.phase").text() }
}

/// A persistent volume.
pub(super) fn volume(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let claim = spec
        .at("claimRef")
        .some()
        .map_or_else(String::new, |claim| format!("{}/{}", claim.at("namespace").text(), claim.at("name").text()));
    vec![
        name(object),
        json!(spec.at("capacity.storage").quantity()),
        json!(access_modes(spec.at("accessModes"))),
        json!(spec.at("persistentVolumeReclaimPolicy").text()),
        json!(phase(object)),
        json!(claim),
        json!(class(object)),
        json!(spec.at("volumeAttributesClassName").text_unless_absent("<unset>")),
        json!(object.at("status.reason").text()),
        json!(age(object, now)),
        json!(spec.at("volumeMode").text_unless_absent("<unset>")),
    ]
}

/// A claim. Its capacity and modes are shown once it names a volume.
pub(super) fn claim(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let volume = spec.at("volumeName").text();
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (status.at("capacity.storage").quantity(), access_modes(status.at("accessModes")))
    };
    vec![
        name(object),
        json!(phase(object)),
        json!(volume),
        json!(capacity),
        json!(modes),
        json!(class(object)),
        json!(spec.at("volumeAttributesClassName").text_unless_absent("<unset>")),
        json!(age(object, now)),
        json!(spec.at("volumeMode").text_unless_absent("<unset>")),
    ]
}

/// A storage class; in a list, the one that claims get by default is marked.
pub(super) fn storage_class(object: View<'_>, is_default: bool, now: Timestamp) -> Vec<Value> {
    let title = object.at("metadata.name").text();
    vec![
        json!(if is_default { format!("{title} (default)") } else { title.to_owned() }),
        json!(object.at("provisioner").text()),
        json!(object.at("reclaimPolicy").text_unless_absent("Delete")),
        json!(object.at("volumeBindingMode").text_unless_absent("Immediate")),
        json!(object.at("allowVolumeExpansion").flag()),
        json!(age(object, now)),
    ]
}

/// The class that claims get by default: of those that say so the youngest, of equally old ones the first by name.
pub(super) fn default_class<'a>(classes: impl Iterator<Item = View<'a>>) -> Option<&'a str> {
    const ANNOTATIONS: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    classes
        .filter(|class| {
            let annotations = class.at("metadata.annotations");
            ANNOTATIONS.iter().any(|name| annotations.key(name).text() == "true")
        })
        .map(|class| {
            let created = time(class.at("metadata.creationTimestamp"));
            (std::cmp::Reverse(created), class.at("metadata.name").text())
        })
        .min()
        .map(|(_, name)| name)
}

/// A volume attributes class.
pub(super) fn attributes_class(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("driverName").text()), json!(age(object, now))]
}

/// The attachment of a volume to a node.
pub(super) fn attachment(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    vec![
        name(object),
        json!(spec.at("attacher").text()),
        json!(spec.at("source.persistentVolumeName").text()),
        json!(spec.at("nodeName").text()),
        json!(object.at("status.attached").flag()),
        json!(age(object, now)),
    ]
}

/// The drivers of a node.
pub(super) fn csi_node(object: View<'_>, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(object.at("spec.drivers").len()), json!(age(object, now))]
}

/// A CSI driver.
pub(super) fn csi_driver(object: View<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let tokens = spec.at("tokenRequests").some().map_or_else(
        || "<unset>".to_owned(),
        |requests| requests.items().map(|t| t.at("audience").text()).collect::<Vec<_>>().join(","),
    );
    let modes = spec.at("volumeLifecycleModes").join(",");
    vec![
        name(object),
        json!(spec.at("attachRequired").flag_if_given().unwrap_or(true)),
        json!(spec.at("podInfoOnMount").flag()),
        json!(spec.at("storageCapacity").flag()),
        json!(tokens),
        json!(spec.at("requiresRepublish").flag()),
        json!(if modes.is_empty() { "<none>" } else { &modes }),
        json!(age(object, now)),
    ]
}
