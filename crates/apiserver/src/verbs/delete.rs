//! delete: now, when its finalizers are gone, or when its time is up.
//!
//! ```text
//!   there ──(no grace, no finalizers)──────────────────────────────────► gone
//!     │                                                                   ▲
//!     └─► being deleted: deletionTimestamp is set ── last finalizer goes ─┘   (or, for pods, the kubelet deletes with grace 0)
//! ```

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use plimsoll_schema::{Schema, Table, Type};
use serde_json::{Value, json};

use crate::codec::{self, Expected};
use crate::field::FieldError;
use crate::kind::Kind;
use crate::registry::Served;
use crate::reply::Reply;
use crate::request::options::dry_run;
use crate::request::{Format, Query};
use crate::status::Status;
use crate::store::{Expect, Object};
use crate::strategy::Propagation;
use crate::verbs::Call;
use crate::verbs::write::ended;
use crate::{admission, strategy};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What a deletion asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How long the object has.
    pub grace: Option<i64>,
    /// The uid that it must have.
    pub uid: Option<String>,
    /// The version that it must have.
    pub version: Option<String>,
    /// What becomes of its dependents: `Orphan`, `Background`, `Foreground`.
    pub propagation: Option<String>,
    /// The older form of the same.
    pub orphan: Option<bool>,
    /// Nothing is deleted.
    pub dry_run: bool,
}

/// The kinds whose deletion answers with the object; the others answer with a Status.
pub(crate) const ANSWERED_WITH_OBJECT: [(&str, &str); 17] = [
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "ResourceQuota"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// What came of a deletion.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Object>),
    /// It will be.
    Waiting(Arc<Object>),
}

impl DeleteOptions {
    /// Reads the body, or the query where there is none.
    pub fn parse(call: &Call, body: &Bytes) -> Result<Self, Status> {
        let mut options = if body.is_empty() { Self::from_query(&call.query)? } else { Self::from_body(call, body)? };
        match dry_run(&call.query) {
            Ok(dry_run) => options.dry_run |= dry_run,
            Err(error) => return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error])),
        }
        options.check()?;
        Ok(options)
    }

    fn from_query(query: &Query) -> Result<Self, Status> {
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| {
                Status::bad_request(format!(
                    "strconv.ParseInt: parsing {}: invalid syntax",
                    crate::field::go_quoted(text)
                ))
            })
        };
        let grace = query.get("gracePeriodSeconds").map(number).transpose()?;
        let propagation = query.get("propagationPolicy").map(str::to_owned);
        let orphan = query.get("orphanDependents").map(|_| query.flag("orphanDependents"));
        Ok(Self { grace, propagation, orphan, ..Self::default() })
    }

    fn from_body(call: &Call, body: &Bytes) -> Result<Self, Status> {
        let table = Table::builtin();
        let Some(id) = table.named("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions") else {
            return Err(Status::internal("no DeleteOptions"));
        };
        let ty = Type::Struct(id);
        let expected = Expected {
            group: "",
            version: "v1",
            kind: "DeleteOptions",
            schema: Schema::new(&table, &ty),
            custom: None,
        };
        let mut value = match call.body_format()? {
            Format::Protobuf => codec::from_protobuf(body, expected).map_err(Status::bad_request)?,
            Format::Yaml => codec::yaml(body).map_err(Status::bad_request)?,
            Format::Json => {
                let unread =
                    |error| Status::bad_request(format!("couldn't get version/kind; json parse error: {error}"));
                plimsoll_schema::decode::parse(body).map_err(unread)?.0
            }
        };
        let kind = value["kind"].as_str().unwrap_or_default();
        if !matches!(kind, "" | "DeleteOptions") {
            let version = value["apiVersion"].as_str().unwrap_or_default();
            return Err(Status::bad_request(format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
            )));
        }
        // Clients send it as a core object, as one of the meta group, or of the group that they delete in.
        if let Some(fields) = value.as_object_mut() {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        let around = "DeleteOptions in version \"v1\" cannot be handled as a DeleteOptions: ";
        let value = codec::typed(value, expected, &mut Vec::new()).map_err(|status| Status {
            message: status.message.strip_prefix(around).unwrap_or(&status.message).to_owned(),
            ..status
        })?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut options = Self {
            grace: value["gracePeriodSeconds"].as_i64(),
            uid: text(&value["preconditions"]["uid"]),
            version: text(&value["preconditions"]["resourceVersion"]),
            propagation: text(&value["propagationPolicy"]),
            orphan: value["orphanDependents"].as_bool(),
            dry_run: false,
        };
        let words = value["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        options.dry_run = !words.is_empty();
        if words.iter().any(|word| word != "All") {
            let error = FieldError::not_supported("dryRun", &value["dryRun"], &["All"]);
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
        }
        Ok(options)
    }

    pub(super) fn check(&self) -> Result<(), Status> {
        let mut errors = Vec::new();
        if self.propagation.is_some() && self.orphan.is_some() {
            let shown = json!(self.propagation);
            errors.push(FieldError::invalid(
                "propagationPolicy",
                &shown,
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        if let Some(word) = &self.propagation
            && !matches!(word.as_str(), "Foreground" | "Background" | "Orphan")
        {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported("propagationPolicy", &json!(word), &known));
        }
        if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors)) }
    }
}

impl Call {
    pub(super) async fn delete(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = DeleteOptions::parse(self, &body)?;
        self.warn_of_children(&options);
        let name = self.path.name.clone();
        let namespace = self.scope().to_owned();
        let deleted = self.delete_one(&namespace, &name, &options).await?;
        let (object, gone) = match deleted {
            Deleted::Gone(object) => (object, true),
            Deleted::Waiting(object) => (object, false),
        };
        let code = if !gone && options.orphan == Some(false) { 202 } else { 200 };
        let with_object = self.served.custom.is_some() && !gone
            || ANSWERED_WITH_OBJECT.contains(&(self.served.group.as_str(), self.served.kind.as_str()));
        if !gone || with_object {
            return Ok(Reply::Stored(code, object));
        }
        let mut status = Status::new(200, "", "").to_value();
        let mut details = json!({"name": name, "kind": self.served.resource.resource, "uid": object.meta.uid()});
        if !self.served.group.is_empty() {
            details["group"] = self.served.group.clone().into();
        }
        status["details"] = details;
        if let Some(fields) = status.as_object_mut() {
            fields.remove("code");
        }
        Ok(Reply::Other(200, status))
    }

    /// A job's pods stay unless the request says what becomes of them, which surprises.
    pub(super) fn warn_of_children(&mut self, options: &DeleteOptions) {
        let job = (self.served.group.as_str(), self.served.kind.as_str()) == ("batch", "Job");
        if job && options.propagation.is_none() && options.orphan.is_none() {
            self.warnings.push(
                "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
                 propagationPolicy=Orphan to suppress this warning"
                    .to_owned(),
            );
        }
    }

    /// Deletes one object of this resource, or marks it.
    pub(crate) async fn delete_one(
        &mut self,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let served = self.served.clone();
        let missing = || Status::not_found(served.name(), name);
        let mut current = self.core.store.get(&served.key, namespace, name);
        for _ in 0..32 {
            let Some(object) = current else { return Err(missing()) };
            let old = self.core.value(&served, &object)?;
            let request = admission::Request {
                namespace,
                ..self.admission(admission::Operation::Delete, Some(&old), name, options.dry_run)
            };
            preconditions(&served, name, &old, options)?;
            admission::mutate(&request, &mut old.clone(), &*self.core)?;
            admission::validate(&request, &old, &*self.core)?;
            let Some(new) = marked(&served, &old, options, self.core.clock.now()) else {
                return Ok(Deleted::Waiting(object));
            };
            let gone = ended(&served, &new);
            if options.dry_run {
                return Ok(if gone { Deleted::Gone(object) } else { Deleted::Waiting(object) });
            }
            let expect = Expect::Revision(object.revision);
            let outcome = if gone && graceful(&served) && new != old {
                // A pod that goes at once is marked first all the same: watchers see both.
                self.core.mark_and_remove(&served, new, expect).await?
            } else if gone {
                // What goes at once is shown as it was: without the mark that only the waiting carry.
                let last = if old["metadata"]["deletionTimestamp"].is_string() { new } else { old };
                self.core.remove(&served, last, expect).await?
            } else if new == old {
                return Ok(Deleted::Waiting(object));
            } else {
                self.core.put(&served, new, expect).await?
            };
            match outcome {
                Ok(written) if gone => return Ok(Deleted::Gone(written)),
                Ok(written) => return Ok(Deleted::Waiting(written)),
                Err(now) => current = now,
            }
        }
        Err(Status::conflict(
            served.name(),
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ))
    }
}

fn is_namespace(served: &Served) -> bool {
    (served.group.as_str(), served.kind.as_str()) == ("", "Namespace")
}

fn graceful(served: &Served) -> bool {
    (served.group.as_str(), served.kind.as_str()) == ("", "Pod")
}

pub(super) fn preconditions(served: &Served, name: &str, old: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let metadata = &old["metadata"];
    for (what, wanted, found, perhaps) in [
        ("UID", &options.uid, metadata["uid"].as_str(), "deleted and then recreated"),
        ("ResourceVersion", &options.version, metadata["resourceVersion"].as_str(), "modified"),
    ] {
        let found = found.unwrap_or_default();
        if let Some(wanted) = wanted
            && wanted != found
        {
            // Namespaces have a deletion of their own upstream, and its words.
            if is_namespace(served) {
                let why =
                    format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
                return Err(Status::conflict(served.name(), name, &why));
            }
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {perhaps}"
            );
            let kind = crate::status::GroupResource { group: &served.group, resource: &served.kind };
            return Err(Status::conflict(kind, name, &why));
        }
    }
    Ok(())
}

/// The object with the marks of its deletion. None where a deletion that has begun stays as it is.
fn marked(served: &Served, old: &Value, options: &DeleteOptions, now: Timestamp) -> Option<Value> {
    if &*served.key == "apiextensions.k8s.io/customresourcedefinitions"
        && !old["metadata"]["deletionTimestamp"].is_string()
    {
        return Some(crate::custom::marked(old, now));
    }
    let mut new = old.clone();
    let finalizers = finalizers(served, old, options);
    if finalizers.is_empty() {
        if let Some(metadata) = new["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
    } else {
        new["metadata"]["finalizers"] = json!(finalizers);
    }
    let grace =
        if served.custom.is_some() { None } else { strategy::graceful_delete(served.kind(), old, options.grace) };
    let grace = grace.unwrap_or(0);
    let deleting = old["metadata"]["deletionTimestamp"].is_string();
    if deleting {
        let running = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        // A later deletion may only shorten the time that is left.
        if grace < running {
            let begun =
                old["metadata"]["deletionTimestamp"].as_str().and_then(|t| t.parse::<Timestamp>().ok()).unwrap_or(now);
            let started = begun.checked_sub(SignedDuration::from_secs(running)).unwrap_or(begun);
            stamp(&mut new, started.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now), grace);
        } else if new == *old {
            return None;
        }
    } else {
        stamp(&mut new, now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now), grace);
        if let Some(generation) = new["metadata"]["generation"].as_i64().filter(|g| *g > 0) {
            new["metadata"]["generation"] = (generation + 1).into();
        }
        if is_namespace(served) {
            new["status"]["phase"] = "Terminating".into();
            if let Some(metadata) = new["metadata"].as_object_mut() {
                metadata.remove("deletionGracePeriodSeconds");
            }
        }
    }
    Some(new)
}

fn stamp(object: &mut Value, at: Timestamp, grace: i64) {
    object["metadata"]["deletionTimestamp"] = plimsoll_schema::decode::whole_seconds(at).into();
    object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
}

/// The finalizers that the object keeps or gets: those that stand for what becomes of its dependents are the server's to set.
fn finalizers(served: &Served, old: &Value, options: &DeleteOptions) -> Vec<String> {
    let list = old["metadata"]["finalizers"].as_array();
    let had: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
    let default = if served.custom.is_some() {
        Propagation::Background
    } else {
        strategy::default_propagation(Kind::new(&served.group, &served.version, &served.kind))
    };
    if default == Propagation::Unsupported {
        return had.into_iter().map(str::to_owned).collect();
    }
    let (orphan, foreground) = match (options.orphan, options.propagation.as_deref()) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(word)) => (word == "Orphan", word == "Foreground"),
        // What the object says already counts where the request says nothing.
        (None, None) if had.contains(&ORPHAN) => (true, false),
        (None, None) if had.contains(&FOREGROUND) => (false, true),
        (None, None) => (default == Propagation::Orphan, false),
    };
    let mut out: Vec<String> =
        had.into_iter().filter(|f| !matches!(*f, ORPHAN | FOREGROUND)).map(str::to_owned).collect();
    if orphan {
        out.push(ORPHAN.into());
    }
    if foreground {
        out.push(FOREGROUND.into());
    }
    out
}
