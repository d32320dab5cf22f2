//! scale: how many, of a resource that has replicas.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::codec::{self, Expected};
use crate::field::FieldError;
use crate::registry::Served;
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::status::{GroupResource, Status};
use crate::value::name;
use crate::verbs::patch::Change;
use crate::verbs::write::{Made, Outcome};
use crate::verbs::{Call, Verb};

/// Where a resource has its replicas.
struct Places {
    spec: Vec<String>,
    status: Vec<String>,
    selector: Option<Vec<String>>,
}

/// What a request says about the scale.
enum Sent {
    Whole(Value),
    Change(Change),
}

fn path(text: &str) -> Vec<String> {
    text.trim_start_matches('.').split('.').map(str::to_owned).collect()
}

fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, key| &value[key.as_str()])
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let mut here = value;
    for key in path {
        if !here.is_object() {
            *here = json!({});
        }
        here = &mut here[key.as_str()];
    }
    *here = new;
}

impl Call {
    fn places(&self) -> Places {
        match self.served.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
            Some(scale) => Places {
                spec: path(&scale.spec_replicas),
                status: path(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(path),
            },
            None => Places { spec: path("spec.replicas"), status: path("status.replicas"), selector: None },
        }
    }

    fn scale_of(&self, object: &Value) -> Value {
        let places = self.places();
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if !object["metadata"][field].is_null() {
                metadata[field] = object["metadata"][field].clone();
            }
        }
        let mut scale = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": {},
            "status": {"replicas": at(object, &places.status).as_i64().unwrap_or(0)},
        });
        if let Some(replicas) = at(object, &places.spec).as_i64().filter(|r| *r != 0) {
            scale["spec"]["replicas"] = replicas.into();
        }
        let selector = match &places.selector {
            Some(path) => at(object, path).as_str().unwrap_or_default().to_owned(),
            None if self.served.custom.is_some() => String::new(),
            None => selector_text(&object["spec"]["selector"]),
        };
        if !selector.is_empty() {
            scale["status"]["selector"] = selector.into();
        }
        scale
    }

    pub(super) fn get_scale(&mut self) -> Result<Reply, Status> {
        let object = self.core.store.get(&self.served.key, self.scope(), &self.path.name);
        let object = object.ok_or_else(|| Status::not_found(self.served.name(), &self.path.name))?;
        let value = self.core.value(&self.served, &object)?;
        Ok(Reply::Other(200, self.scale_of(&value)))
    }

    pub(super) async fn set_scale(&mut self, verb: Verb, body: Bytes) -> Result<Reply, Status> {
        let options =
            WriteOptions::parse(&self.query, if verb == Verb::Patch { "PatchOptions" } else { "UpdateOptions" })?;
        let table = plimsoll_schema::Table::builtin();
        let ty = codec::builtin_type("autoscaling", "v1", "Scale").ok_or_else(|| Status::internal("no Scale"))?;
        let schema = plimsoll_schema::Schema::new(&table, &ty);
        let expected = Expected { group: "autoscaling", version: "v1", kind: "Scale", schema, custom: None };
        let sent = match verb {
            Verb::Update => {
                let decoded = codec::body(&body, self.body_format()?, expected, options.field_validation)?;
                Sent::Whole(decoded.object)
            }
            _ => Sent::Change(Change::read(self.way()?, &body, &options)?),
        };
        let manager = self.manager(&options.field_manager);
        // The object itself is updated, through its main path's rules.
        self.path.subresource.clear();
        let written = self
            .change(&options, |call, old| {
                let mut scale = match &sent {
                    Sent::Whole(scale) => {
                        call.check_uid(scale, old, options.dry_run)?;
                        scale.clone()
                    }
                    Sent::Change(change) => {
                        let mut live = call.scale_of(old);
                        live["metadata"]["managedFields"] = owners(old, &call.places().spec);
                        let (scale, warnings) = change.on(&live, expected)?;
                        call.warnings = warnings;
                        scale
                    }
                };
                call.check_place(&mut scale)?;
                if matches!(sent, Sent::Change(_)) {
                    same_uid(&call.served, &scale, old)?;
                }
                let wanted = scale["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
                let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
                if replicas < 0 && call.served.custom.is_none() {
                    let error =
                        FieldError::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
                    return Err(Status::invalid("autoscaling", "Scale", &call.path.name, &[error]));
                }
                let mut new = old.clone();
                put(&mut new, &call.places().spec, replicas.into());
                new["metadata"]["resourceVersion"] = wanted.into();
                call.own(Some(old), &mut new, &manager, "scale");
                untimed(&mut new, &manager);
                Ok(Made::New(new))
            })
            .await?;
        match written {
            Some(Outcome::Stored(object)) => {
                let value = self.core.value(&self.served, &object)?;
                Ok(Reply::Other(200, self.scale_of(&value)))
            }
            Some(Outcome::Imagined(value)) => Ok(Reply::Other(200, self.scale_of(&value))),
            None => Err(Status::not_found(self.served.name(), &self.path.name)),
        }
    }
}

/// Who owns the replicas, as a scale shows them.
fn owners(object: &Value, replicas: &[String]) -> Value {
    let fields: Vec<String> = replicas.iter().map(|name| format!("f:{name}")).collect();
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owners = entries.filter(|entry| !at(&entry["fieldsV1"], &fields).is_null()).map(|entry| {
        let mut entry = entry.clone();
        entry["apiVersion"] = "autoscaling/v1".into();
        entry["fieldsV1"] = json!({"f:spec": {"f:replicas": {}}});
        entry
    });
    owners.collect()
}

/// Who names the object by its uid means that one and no other of its name.
fn same_uid(served: &Served, scale: &Value, object: &Value) -> Result<(), Status> {
    let uid = |of: &Value| of["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let (wanted, found) = (uid(scale), uid(object));
    if wanted.is_empty() || wanted == found || served.custom.is_some() {
        return Ok(());
    }
    let resource = format!("{}/scale", served.resource.resource);
    let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(Status::conflict(GroupResource { group: &served.group, resource: &resource }, name(object), &why))
}

/// Who scales owns the replicas from no certain time: such entries stand first, as upstream leaves them.
fn untimed(object: &mut Value, manager: &str) {
    let Some(entries) = object["metadata"]["managedFields"].as_array_mut() else { return };
    for entry in entries.iter_mut().filter(|e| e["subresource"] == "scale" && e["manager"] == manager) {
        if let Some(fields) = entry.as_object_mut() {
            fields.remove("time");
        }
    }
    entries.sort_by_key(|entry| entry["time"].is_string());
}

/// A label selector in the short form.
fn selector_text(selector: &Value) -> String {
    let mut parts = Vec::new();
    // A ReplicationController's selector is a plain map.
    let labels =
        selector.get("matchLabels").or(if selector.get("matchExpressions").is_none() { Some(selector) } else { None });
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str() {
            parts.push((key.clone(), format!("{key}={value}")));
        }
    }
    for requirement in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = requirement["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> =
            requirement["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let text = match requirement["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), text));
    }
    parts.sort();
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}
