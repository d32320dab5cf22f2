//! The way of a write, shared by create, update, patch and apply:
//!
//! ```text
//!   body ─ decode ─ defaults ─ ownership ─ admission (change) ─ strategy ─ validation ─ admission (check) ─ store (compare-and-swap)
//!                                  ▲                                                                          │ changed meanwhile, and
//!                                  └──────────────────────────────────────────────────────────────────────────┘ the request names no version
//! ```

use std::sync::Arc;

use plimsoll_engine::collections::Set;
use serde_json::{Value, json};

use crate::apply::{self, Manager, Target, Versions};
use crate::codec;
use crate::field::FieldError;
use crate::registry::Served;
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::request::options::parse_version;
use crate::status::Status;
use crate::store::{Expect, Object};
use crate::value::{name, namespace};
use crate::verbs::Call;
use crate::{admission, convert, defaults, strategy, validation};

/// How often a write that names no version is tried again when the object changed under it.
const TRIES: usize = 32;

/// What an update leads to.
pub(super) enum Made {
    /// The new state of the object that is there.
    New(Value),
    /// Nothing changes.
    Same,
}

/// What came of a write.
pub(super) enum Outcome {
    /// The object as it is stored now.
    Stored(Arc<Object>),
    /// What a dry run would have stored.
    Imagined(Value),
}

impl Outcome {
    /// The answer to the request.
    pub(super) fn reply(self, code: u16) -> Reply {
        match self {
            Self::Stored(object) => Reply::Stored(code, object),
            Self::Imagined(value) => Reply::Object(code, value),
        }
    }
}

impl Call {
    /// The context in which strategies work.
    fn prepared<T>(&self, with: impl FnOnce(strategy::Context<'_>) -> T) -> T {
        let now = self.core.now_text();
        with(strategy::Context { now: &now, user: &self.user })
    }

    /// Defaults, and canonical form after them.
    pub(super) fn with_defaults(&self, mut object: Value) -> Result<Value, Status> {
        match &self.served.custom {
            Some(custom) => {
                custom.prune_and_default(&mut object);
                Ok(object)
            }
            None => {
                defaults::apply(self.served.kind(), &mut object, &self.core.now_text());
                codec::recanonical(&self.served, object)
            }
        }
    }

    /// Writes down who owns which fields.
    pub(crate) fn own(&self, old: Option<&Value>, new: &mut Value, manager: &str, subresource: &str) {
        self.with_target(subresource, |target| {
            apply::update(target, old, new, &Manager { name: manager, subresource }, self.core.clock.now());
        });
    }

    /// What ownership is reckoned on: the kind, its other versions, and what a write to this path leaves as it is.
    pub(super) fn with_target<T>(&self, subresource: &str, reckon: impl FnOnce(&Target<'_>) -> T) -> T {
        let reset = self.reset(subresource);
        let versions = OtherVersions::of(self);
        reckon(&Target {
            schema: self.served.schema(),
            kind: self.served.kind(),
            custom: self.served.custom.is_some(),
            reset: &reset,
            versions: &versions,
        })
    }

    /// What a write to this path leaves as it is.
    pub(super) fn reset(&self, subresource: &str) -> apply::Reset {
        match &self.served.custom {
            Some(custom) => apply::reset_custom(subresource, custom.has_status),
            None => apply::reset(self.served.kind(), subresource),
        }
    }

    /// A request to admission.
    pub(super) fn admission<'a>(
        &'a self,
        operation: admission::Operation,
        old: Option<&'a Value>,
        name: &'a str,
        dry_run: bool,
    ) -> admission::Request<'a> {
        admission::Request {
            operation,
            kind: self.served.kind(),
            resource: self.served.name(),
            subresource: &self.path.subresource,
            namespace: self.scope(),
            name,
            old,
            dry_run,
            suffix: &self.suffix,
            plugins: self.core.plugins,
        }
    }

    /// Stores a new object that has its defaults. `name` is what the path says, where it says one.
    pub(super) async fn insert(
        &mut self,
        mut object: Value,
        options: &WriteOptions,
        owned: bool,
    ) -> Result<Outcome, Status> {
        if self.suffix.is_empty() {
            // Patches and updates make objects, too; that they do is known only now.
            self.suffix = self.core.entropy.name("");
        }
        self.check_place(&mut object)?;
        if self.served.custom.as_ref().is_some_and(|custom| custom.terminating) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(self.served.name(), name(&object), why));
        }
        // What is no version at all counts as none, as upstream has it.
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|text| parse_version(text).ok());
        if let Some(metadata) = object["metadata"].as_object_mut() {
            // What is only the server's to say is not the client's to own either.
            for gone in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
                metadata.remove(gone);
            }
        }
        if version.is_some_and(|version| version > 0) {
            return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        let generated =
            name(&object).is_empty() && object["metadata"]["generateName"].as_str().is_some_and(|g| !g.is_empty());
        self.forget_same_owners(&mut object, owned);
        if !owned {
            let manager = self.manager(&options.field_manager);
            self.own(None, &mut object, &manager, "");
        }
        let called = name(&object).to_owned();
        let request = self.admission(admission::Operation::Create, None, &called, options.dry_run);
        admission::mutate(&request, &mut object, &*self.core)?;
        let mut tries = if generated { 8 } else { 1 };
        loop {
            let mut new = object.clone();
            if generated {
                let base = new["metadata"]["generateName"].as_str().unwrap_or_default().to_owned();
                new["metadata"]["name"] = self.core.entropy.name(&base).into();
            }
            self.begin(&mut new);
            let new = self.finish_create(new, options.dry_run)?;
            tries -= 1;
            if options.dry_run {
                if self.core.store.get(&self.served.key, namespace(&new), name(&new)).is_some() {
                    return Err(Status::already_exists(self.served.name(), name(&new)));
                }
                return Ok(Outcome::Imagined(new));
            }
            let called = name(&new).to_owned();
            match self.core.put(&self.served, new, Expect::Absent).await? {
                Ok(object) => return Ok(Outcome::Stored(object)),
                Err(_) if tries > 0 => {}
                Err(_) if generated => {
                    return Err(Status::new(
                        409,
                        "AlreadyExists",
                        format!(
                            "{} \"{called}\" already exists, the server was not able to generate a unique name for the object",
                            self.served.name()
                        ),
                    ));
                }
                Err(_) => return Err(Status::already_exists(self.served.name(), &called)),
            }
        }
    }

    /// What the server writes into the metadata of a new object.
    fn begin(&self, object: &mut Value) {
        let uid = self.core.entropy.uid();
        let now = self.core.now_text();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.insert("uid".into(), uid.into());
            metadata.insert("creationTimestamp".into(), now.into());
        }
    }

    fn finish_create(&mut self, mut new: Value, dry_run: bool) -> Result<Value, Status> {
        let served = self.served.clone();
        let kind = served.kind();
        let (errors, warnings) = match self.served.custom.clone() {
            Some(custom) => {
                custom.prepare_create(&mut new);
                (custom.validate_create(&new), custom.warnings(&new, None))
            }
            None => {
                let warnings = self.prepared(|context| strategy::prepare_create(kind, &mut new, context));
                self.warnings.extend(warnings);
                crate::allocate::on_create(&self.core, kind, &mut new)?;
                new = codec::recanonical(&self.served, new)?;
                let mut errors = admission::admin_access_refused(kind, "", &new, None, &*self.core);
                errors.extend(validation::create(kind, &new));
                (errors, strategy::warnings_on_create(kind, &new))
            }
        };
        self.refuse(&new, &errors)?;
        self.warnings.extend(warnings);
        let request = self.admission(admission::Operation::Create, None, name(&new), dry_run);
        let warnings = admission::validate(&request, &new, &*self.core)?;
        self.warnings.extend(warnings);
        crate::guard::on_write(self, &new, None)?;
        Ok(new)
    }

    /// Owners that are there twice are there once, with a warning. Upstream looks at patched objects only after admission, and says so.
    pub(super) fn forget_same_owners(&mut self, object: &mut Value, patched: bool) {
        let Some(owners) = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) else {
            return;
        };
        let again = repeated(owners);
        if !again.is_empty() {
            let when = if patched { " after mutating admission happens" } else { "" };
            self.warnings.push(format!(
                ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
                 reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
                again.join(", ")
            ));
        }
    }

    /// 422 if there are errors.
    pub(super) fn refuse(&self, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        // Upstream's events of the newer group are core events inside, and refused as such.
        let group = if self.served.group == "events.k8s.io" { "" } else { &self.served.group };
        Err(Status::invalid(group, &self.served.kind, name(object), errors))
    }

    /// The object's namespace and name must be those of the path.
    pub(super) fn check_place(&self, object: &mut Value) -> Result<(), Status> {
        let scope = self.scope().to_owned();
        let found = namespace(object).to_owned();
        if !self.served.namespaced() {
            // A namespace on an object that can have none is forgotten.
            if !found.is_empty()
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("namespace");
            }
        } else if found.is_empty() {
            object["metadata"]["namespace"] = scope.into();
        } else if found != scope {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let (path, found) = (self.path.name.as_str(), name(object));
        if !path.is_empty() && found.is_empty() {
            return Err(Status::bad_request(format!(
                "the name of the object ({path} based on URL) was undeterminable: name must be provided"
            )));
        }
        if !path.is_empty() && !found.is_empty() && path != found {
            return Err(Status::bad_request(format!(
                "the name of the object ({found}) does not match the name on the URL ({path})"
            )));
        }
        Ok(())
    }

    /// Changes the object that is there. `make` is called again with the newer state when another write came first.
    pub(super) async fn change(
        &mut self,
        options: &WriteOptions,
        mut make: impl FnMut(&mut Self, &Value) -> Result<Made, Status> + Send,
    ) -> Result<Option<Outcome>, Status> {
        let mut current = self.core.store.get(&self.served.key, self.scope(), &self.path.name);
        for _ in 0..TRIES {
            let Some(object) = current else { return Ok(None) };
            let old = self.core.value(&self.served, &object)?;
            let mut new = match make(self, &old)? {
                Made::Same => return Ok(Some(Outcome::Stored(object))),
                Made::New(new) => new,
            };
            let asked = new["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            let asked =
                if asked.is_empty() { 0 } else { parse_version(&asked).map_err(|why| Status::new(500, "", why))? };
            // What is there when the request read it counts as named: only what a request does not know is retried.
            let named = asked > 0 && asked != object.revision;
            if named {
                return Err(self.changed());
            }
            // Who names no version means the one that is there.
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
            let mut new = self.finish_update(new, &old, options.dry_run)?;
            apply::keep_times(&old, &mut new);
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
            if new == old {
                return Ok(Some(Outcome::Stored(object)));
            }
            if options.dry_run {
                return Ok(Some(Outcome::Imagined(new)));
            }
            let expect = Expect::Revision(object.revision);
            if ended(&self.served, &new) {
                // The last finalizer went. The answer is what was asked for; only watchers learn the version of the end.
                match self.core.remove(&self.served, new.clone(), expect).await? {
                    Ok(_) => return Ok(Some(Outcome::Imagined(new))),
                    Err(now) => current = now,
                }
                continue;
            }
            match self.core.put(&self.served, new, expect).await? {
                Ok(written) => return Ok(Some(Outcome::Stored(written))),
                Err(now) => current = now,
            }
        }
        Err(self.changed())
    }

    /// 409: somebody else was first.
    pub(super) fn changed(&self) -> Status {
        Status::conflict(
            self.served.name(),
            &self.path.name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    fn finish_update(&mut self, mut new: Value, old: &Value, dry_run: bool) -> Result<Value, Status> {
        let served = self.served.clone();
        let kind = served.kind();
        let subresource = self.path.subresource.clone();
        self.check_place(&mut new)?;
        let request = self.admission(admission::Operation::Update, Some(old), name(old), dry_run);
        admission::mutate(&request, &mut new, &*self.core)?;
        self.forget_same_owners(&mut new, true);
        keep_metadata(&mut new, old);
        let (errors, warnings) = match self.served.custom.clone() {
            Some(custom) => {
                custom.prepare_update(&subresource, &mut new, old);
                let warnings = if subresource.is_empty() { custom.warnings(&new, Some(old)) } else { Vec::new() };
                (custom.validate_update(&subresource, &new, old), warnings)
            }
            None => {
                self.prepared(|context| strategy::prepare_update(kind, &subresource, &mut new, old, context));
                crate::allocate::on_update(&self.core, kind, &mut new, old)?;
                new = codec::recanonical(&self.served, new)?;
                let warnings = strategy::warnings_on_update(kind, &subresource, &new, old);
                let mut errors = admission::admin_access_refused(kind, &subresource, &new, Some(old), &*self.core);
                errors.extend(if subresource.is_empty() {
                    validation::update(kind, &new, old)
                } else {
                    validation::update_subresource(kind, &subresource, &new, old)
                });
                (errors, warnings)
            }
        };
        self.refuse(&new, &errors)?;
        self.warnings.extend(warnings);
        let request = self.admission(admission::Operation::Update, Some(old), name(old), dry_run);
        let warnings = admission::validate(&request, &new, &*self.core)?;
        self.warnings.extend(warnings);
        crate::guard::on_write(self, &new, Some(old))?;
        Ok(new)
    }
}

/// Takes owners that are there again, and returns their uids.
fn repeated(owners: &mut Vec<Value>) -> Vec<String> {
    let (mut seen, mut again) = (Set::default(), Vec::new());
    owners.retain(|owner| {
        let new = seen.insert(owner.clone());
        if !new {
            again.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        new
    });
    again
}

/// What a client cannot change in the metadata, whatever it sends.
fn keep_metadata(new: &mut Value, old: &Value) {
    if !new["metadata"].is_object() {
        new["metadata"] = json!({});
    }
    let Some(metadata) = new["metadata"].as_object_mut() else { return };
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if !metadata.contains_key(field)
            && let Some(value) = old["metadata"].get(field)
        {
            metadata.insert(field.into(), value.clone());
        }
    }
    for field in ["generation", "selfLink"] {
        match old["metadata"].get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(crate) fn ended(served: &Served, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let none = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let finalized = none(&metadata["finalizers"])
        && (served.kind != "Namespace" || !served.group.is_empty() || none(&object["spec"]["finalizers"]));
    metadata["deletionTimestamp"].is_string()
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && finalized
}

/// The other versions of the resource, for ownership that was written in them.
struct OtherVersions {
    all: Vec<Arc<Served>>,
}

impl OtherVersions {
    fn of(call: &Call) -> Self {
        Self { all: call.core.registry().versions(&call.served.key).to_vec() }
    }
}

impl Versions for OtherVersions {
    fn schema<'a>(&'a self, api_version: &str) -> Option<plimsoll_schema::Schema<'a>> {
        self.all.iter().find(|other| other.api_version() == api_version).map(|other| other.schema())
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let from = object["apiVersion"].as_str().unwrap_or_default();
        let of = |version: &str| self.all.iter().find(|other| other.api_version() == version);
        let (source, other) = (of(from)?, of(api_version)?);
        let mut value = object.clone();
        convert::to_stored(source, &mut value);
        convert::from_stored(other, &mut value);
        value["apiVersion"] = api_version.into();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_are_there_again_go() {
        let owner = |uid: &str, name: &str| json!({"uid": uid, "name": name});
        let mut owners = vec![owner("1", "a"), owner("1", "b"), owner("2", "a"), owner("1", "b"), owner("1", "a")];
        assert_eq!(repeated(&mut owners), ["1", "1"]);
        assert_eq!(owners, [owner("1", "a"), owner("1", "b"), owner("2", "a")]);
        // Many of one uid are told apart without a look at each pair.
        let mut many: Vec<Value> = (0..40_000).map(|i| owner("1", &i.to_string())).collect();
        assert!(repeated(&mut many).is_empty());
        assert_eq!(many.len(), 40_000);
    }
}
