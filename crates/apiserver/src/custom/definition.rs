//! The life of a definition: its names are accepted or clash with others, it is established, and at its end it takes its objects along.
//!
//! Upstream's controllers do this a moment after the write; here it is done right after it, so the answer to the write shows the state
//! before, as upstream's does.

use jiff::Timestamp;
use plimsoll_schema::decode::whole_seconds;
use serde_json::{Map, Value, json};

use crate::admission::Cluster;
use crate::apply::{self, Manager, OneVersion, Target};
use crate::auth::User;
use crate::codec;
use crate::core::Core;
use crate::kind::Kind;
use crate::registry::Served;
use crate::store::{Expect, ListRequest};
use crate::verbs::ended;

const GROUP: &str = "apiextensions.k8s.io";
const RESOURCE: &str = "customresourcedefinitions";
const KEY: &str = "apiextensions.k8s.io/customresourcedefinitions";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const APPROVED: &str = "api-approved.kubernetes.io";
const MANAGER: &str = "kube-apiserver";
const TRIES: usize = 32;

/// Whether this is the resource of definitions.
fn is_definition(served: &Served) -> bool {
    &*served.key == KEY
}

/// A condition of a definition.
fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

/// Whether a condition holds.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|c| c["status"] == "True")
}

/// Whether it is going away.
pub(super) fn is_deleting(definition: &Value) -> bool {
    definition["metadata"]["deletionTimestamp"].is_string() || is_true(definition, "Terminating")
}

/// Sets a condition; its time changes with its status.
fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let since =
        list.iter().find(|c| c["type"] == kind && c["status"] == status).map(|c| c["lastTransitionTime"].clone());
    let since = since.filter(Value::is_string).unwrap_or_else(|| now.into());
    let new =
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
    match list.iter_mut().find(|c| c["type"] == kind) {
        Some(old) => *old = new,
        None => list.push(new),
    }
}

/// A definition that is asked to go: it waits for its objects.
pub(crate) fn marked(old: &Value, now: Timestamp) -> Value {
    let mut new = old.clone();
    let now = whole_seconds(now);
    new["metadata"]["deletionTimestamp"] = now.clone().into();
    let finalizers = &mut new["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|f| f == CLEANUP)
    {
        list.push(CLEANUP.into());
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(&mut new, "Terminating", "True", "InstanceDeletionPending", message, &now);
    new
}

/// Follows a write: of a definition.
pub(crate) async fn written(core: &Core, served: &Served, value: &Value) {
    if is_definition(served) {
        settle(core, crate::value::name(value)).await;
    }
}

/// Follows a removal: of a definition, whose names are free now, or of an object that its definition waited for.
pub(crate) async fn removed(core: &Core, served: &Served, value: &Value) {
    if is_definition(served) {
        others(core, value["spec"]["group"].as_str().unwrap_or_default(), crate::value::name(value)).await;
    } else if served.custom.is_some() {
        let name = format!("{}.{}", served.resource.resource, served.group);
        if let Some((definition, _)) = current(core, &name)
            && definition["metadata"]["deletionTimestamp"].is_string()
        {
            finish(core, &name).await;
        }
    }
}

/// The definitions of our own kinds, as new objects are stored.
pub(crate) fn builtin_definitions(now: &str) -> Vec<(Kind<'static>, Value)> {
    let kind = Kind::new(GROUP, "v1", "CustomResourceDefinition");
    let texts = [include_str!("../../data/simulated-storage.json")];
    let read = |text: &str| {
        let mut object: Value = serde_json::from_str(text).ok()?;
        crate::defaults::apply(kind, &mut object, now);
        let user = User::in_groups("system:apiserver", &["system:masters"]);
        crate::strategy::prepare_create(kind, &mut object, crate::strategy::Context { now, user: &user });
        Some((kind, object))
    };
    texts.into_iter().filter_map(read).collect()
}

/// Takes up what a server that ended had not finished.
pub(crate) async fn resume(core: &Core) {
    for definition in core.list(GROUP, RESOURCE, None) {
        settle(core, crate::value::name(&definition)).await;
    }
}

fn current(core: &Core, name: &str) -> Option<(Value, u64)> {
    let registry = core.registry();
    let served = registry.of_group(GROUP, RESOURCE)?;
    let object = core.store.get(KEY, "", name)?;
    Some((core.value(served, &object).ok()?, object.revision))
}

/// Writes what `change` makes of a definition, again if it changed meanwhile. Whether something was written.
async fn rewrite(core: &Core, name: &str, change: impl Fn(&mut Value) + Send) -> bool {
    let registry = core.registry();
    let Some(served) = registry.of_group(GROUP, RESOURCE) else { return false };
    for _ in 0..TRIES {
        let Some((old, revision)) = current(core, name) else { return false };
        let mut new = old.clone();
        change(&mut new);
        let Ok(mut new) = codec::recanonical(served, new) else { return false };
        if new == old {
            return false;
        }
        own(core, served, &old, &mut new);
        let expect = Expect::Revision(revision);
        let outcome = if ended(served, &new) {
            core.remove_only(served, new, expect).await
        } else {
            core.put_only(served, new, expect).await
        };
        match outcome {
            Ok(Err(_)) => {}
            Ok(Ok(_)) => return true,
            Err(_) => return false,
        }
    }
    false
}

/// Writes down that the status is the server's own.
fn own(core: &Core, served: &Served, old: &Value, new: &mut Value) {
    let reset = apply::reset(served.kind(), "status");
    let target =
        Target { schema: served.schema(), kind: served.kind(), custom: false, reset: &reset, versions: &OneVersion };
    apply::update(&target, Some(old), new, &Manager { name: MANAGER, subresource: "status" }, core.clock.now());
}

/// Brings a definition's status up to date, and that of its group, whose names it may have taken or freed.
async fn settle(core: &Core, name: &str) {
    let Some((definition, _)) = current(core, name) else { return };
    let group = definition["spec"]["group"].as_str().unwrap_or_default().to_owned();
    if settle_one(core, name).await {
        others(core, &group, name).await;
    }
    let Some((definition, _)) = current(core, name) else { return };
    let waits = definition["metadata"]["finalizers"].as_array().into_iter().flatten().any(|f| f == CLEANUP);
    if definition["metadata"]["deletionTimestamp"].is_string() && waits {
        clean_up(core, name, &definition).await;
        others(core, &group, name).await;
    }
}

async fn others(core: &Core, group: &str, except: &str) {
    for other in core.list(GROUP, RESOURCE, None) {
        let name = crate::value::name(&other);
        if other["spec"]["group"] == group && name != except {
            settle_one(core, name).await;
        }
    }
}

async fn settle_one(core: &Core, name: &str) -> bool {
    let taken = |definition: &Value| {
        let group = definition["spec"]["group"].clone();
        let all = core.list(GROUP, RESOURCE, None);
        Taken::by(all.iter().map(|d| &**d).filter(|other| other["spec"]["group"] == group))
    };
    rewrite(core, name, |definition| {
        let now = core.now_text();
        let taken = taken(definition);
        accept_names(definition, &taken, &now);
        approve(definition, &now);
        let ready = is_true(definition, "NamesAccepted") && !is_true(definition, "Established");
        if ready {
            if definition["spec"].to_string().contains("\"x-kubernetes-validations\"") {
                tracing::warn!(definition = name, "its rules in CEL are kept, but not evaluated");
            }
            let message = "the initial names have been accepted";
            set_condition(definition, "Established", "True", "InitialNamesAccepted", message, &now);
        }
    })
    .await
}

/// The names that are accepted in a group.
struct Taken {
    resources: Vec<String>,
    kinds: Vec<String>,
}

impl Taken {
    fn by<'a>(definitions: impl Iterator<Item = &'a Value>) -> Self {
        let mut taken = Self { resources: Vec::new(), kinds: Vec::new() };
        for definition in definitions {
            let names = &definition["status"]["acceptedNames"];
            let text = |field: &str| names[field].as_str().unwrap_or_default().to_owned();
            taken.resources.extend([text("plural"), text("singular")]);
            let short = names["shortNames"].as_array().into_iter().flatten();
            taken.resources.extend(short.filter_map(Value::as_str).map(str::to_owned));
            taken.kinds.extend([text("kind"), text("listKind")]);
        }
        taken
    }
}

/// Accepts the names that nobody else of the group has.
fn accept_names(definition: &mut Value, taken: &Taken, now: &str) {
    let wanted = definition["spec"]["names"].clone();
    let accepted = definition["status"]["acceptedNames"].clone();
    if crate::validation::path::same(&wanted, &accepted) {
        return;
    }
    let mut new = accepted.as_object().cloned().unwrap_or_else(Map::new);
    let mut clash: Option<(&str, String)> = None;
    let in_use = |name: &str| format!("{} is already in use", crate::field::go_quoted(name));
    let mut plain = |field: &str, reason: &'static str, used: &[String], clash: &mut Option<(&str, String)>| {
        let name = wanted[field].as_str().unwrap_or_default();
        if name != accepted[field].as_str().unwrap_or_default() && used.iter().any(|u| u == name) {
            *clash = Some((reason, in_use(name)));
        } else {
            new.insert(field.into(), name.into());
        }
    };
    plain("plural", "PluralConflict", &taken.resources, &mut clash);
    plain("singular", "SingularConflict", &taken.resources, &mut clash);
    let list = |names: &Value| {
        let list = names["shortNames"].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let (short, had) = (list(&wanted), list(&accepted));
    let clashing: Vec<String> = short
        .iter()
        .filter(|name| !had.contains(name) && taken.resources.contains(name))
        .map(|name| in_use(name))
        .collect();
    let keeps_short = clashing.is_empty();
    if !keeps_short {
        let message = if clashing.len() == 1 { clashing.concat() } else { format!("[{}]", clashing.join(", ")) };
        clash = Some(("ShortNamesConflict", message));
    }
    plain("kind", "KindConflict", &taken.kinds, &mut clash);
    plain("listKind", "ListKindConflict", &taken.kinds, &mut clash);
    if keeps_short {
        new.insert("shortNames".into(), wanted["shortNames"].clone());
    }
    new.insert("categories".into(), wanted["categories"].clone());
    definition["status"]["acceptedNames"] = Value::Object(new);
    match clash {
        Some((reason, message)) => set_condition(definition, "NamesAccepted", "False", reason, &message, now),
        None => set_condition(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
    }
    if condition(definition, "Established").is_none() {
        set_condition(definition, "Established", "False", "NotAccepted", "not all names are accepted", now);
    }
}

/// Groups of the Kubernetes community say where they were approved.
fn approve(definition: &mut Value, now: &str) {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let community = ["k8s.io", "kubernetes.io"].iter().any(|d| group == *d || group.ends_with(&format!(".{d}")));
    if !community {
        return;
    }
    let approval = definition["metadata"]["annotations"][APPROVED].as_str().unwrap_or_default().to_owned();
    let is_url = approval.split_once("://").is_some_and(|(scheme, rest)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(plain)
            && !rest.is_empty()
            && !rest.starts_with('/')
    });
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let quoted = crate::field::go_quoted(&approval);
    let (status, reason, message) = if approval.is_empty() {
        ("False", "MissingAnnotation", format!("protected groups must have approval annotation \"{APPROVED}\", {see}"))
    } else if approval.starts_with("unapproved") {
        ("False", "UnapprovedAnnotation", format!("not approved: {quoted}"))
    } else if is_url {
        ("True", "ApprovedAnnotation", format!("approved in {approval}"))
    } else {
        let message = format!(
            "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting with \"unapproved\", {see}"
        );
        ("False", "InvalidAnnotation", message)
    };
    set_condition(definition, "KubernetesAPIApprovalPolicyConformant", status, reason, &message, now);
}

fn objects_of(definition: &Value) -> String {
    let spec = &definition["spec"];
    format!("{}/{}", spec["group"].as_str().unwrap_or_default(), spec["names"]["plural"].as_str().unwrap_or_default())
}

/// Deletes the objects of a definition that is going, and lets it go when none is left.
async fn clean_up(core: &Core, name: &str, definition: &Value) {
    rewrite(core, name, |definition| {
        let message = "CustomResource deletion is in progress";
        set_condition(definition, "Terminating", "True", "InstanceDeletionInProgress", message, &core.now_text());
    })
    .await;
    let key: crate::store::ResourceKey = objects_of(definition).as_str().into();
    let registry = core.registry();
    if let Some(served) = registry.versions(&key).first()
        && let Ok(list) = core.store.list(&key, &ListRequest::default())
    {
        for object in list.items {
            delete(core, served, object.namespace(), object.name()).await;
        }
    }
    finish(core, name).await;
}

/// Deletes an object, or marks it where it has finalizers.
async fn delete(core: &Core, served: &Served, namespace: &str, name: &str) {
    for _ in 0..TRIES {
        let Some(object) = core.store.get(&served.key, namespace, name) else { return };
        let Ok(mut value) = core.value(served, &object) else { return };
        let expect = Expect::Revision(object.revision);
        let held = value["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
        let outcome = if !held {
            core.remove_only(served, value, expect).await
        } else if value["metadata"]["deletionTimestamp"].is_string() {
            return;
        } else {
            value["metadata"]["deletionTimestamp"] = core.now_text().into();
            value["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            if let Some(generation) = value["metadata"]["generation"].as_i64() {
                value["metadata"]["generation"] = (generation + 1).into();
            }
            core.put_only(served, value, expect).await
        };
        if !matches!(outcome, Ok(Err(_))) {
            return;
        }
    }
}

/// Lets a definition go whose objects are gone.
async fn finish(core: &Core, name: &str) {
    let Some((definition, _)) = current(core, name) else { return };
    let key = objects_of(&definition);
    let left = core.store.list(&key, &ListRequest { limit: Some(1), ..ListRequest::default() });
    if left.is_ok_and(|list| !list.items.is_empty()) {
        return;
    }
    rewrite(core, name, |definition| {
        let (reason, message) = if is_true(definition, "Established") {
            ("InstanceDeletionCompleted", "removed all instances")
        } else {
            ("NeverEstablished", "resource was never established")
        };
        set_condition(definition, "Terminating", "False", reason, message, &core.now_text());
        if let Some(list) = definition["metadata"]["finalizers"].as_array_mut() {
            list.retain(|f| f != CLEANUP);
        }
    })
    .await;
}
