//! update: another state of an object, or a new object where its kind allows that.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::codec::{self, Expected};
use crate::field::FieldError;
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::status::Status;
use crate::strategy;
use crate::verbs::Call;
use crate::verbs::write::Made;

impl Call {
    pub(super) async fn update(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = WriteOptions::parse(&self.query, "UpdateOptions")?;
        let served = self.served.clone();
        let decoded = codec::body(&body, self.body_format()?, Expected::from(&*served), options.field_validation)?;
        self.warnings.extend(decoded.warnings);
        let mut object = self.with_defaults(decoded.object)?;
        self.check_place(&mut object)?;
        self.forget_same_owners(&mut object, false);
        let exists = self.core.store.get(&self.served.key, self.scope(), &self.path.name).is_some();
        if !exists {
            return self.update_absent(object, &options).await;
        }
        let unversioned = matches!(object["metadata"]["resourceVersion"].as_str(), None | Some("" | "0"));
        if unversioned && !strategy::allow_unconditional_update(served.kind()) && served.custom.is_none() {
            let error = FieldError {
                value: "0".into(),
                ..FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update")
            };
            return Err(Status::invalid(&served.group, &served.resource.resource, &self.path.name, &[error]));
        }
        if unversioned && served.custom.is_some() {
            let error = FieldError {
                value: "0".into(),
                ..FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update")
            };
            return Err(Status::invalid(&served.group, &served.resource.resource, &self.path.name, &[error]));
        }
        let manager = self.manager(&options.field_manager);
        let subresource = self.path.subresource.clone();
        let dry_run = options.dry_run;
        let written = self
            .change(&options, move |call, old| {
                let mut new: Value = object.clone();
                call.check_uid(&new, old, dry_run)?;
                call.own(Some(old), &mut new, &manager, &subresource);
                Ok(Made::New(new))
            })
            .await?;
        match written {
            Some(outcome) => Ok(outcome.reply(200)),
            None => Err(Status::not_found(self.served.name(), &self.path.name)),
        }
    }

    /// An update that names a uid is meant for that object only.
    pub(super) fn check_uid(&self, new: &Value, old: &Value, dry_run: bool) -> Result<(), Status> {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (wanted, found) = (uid(new), uid(old));
        if wanted.is_empty() || wanted == found {
            return Ok(());
        }
        // Upstream tells the place in its store, so it is part of the sentence. A dry run does not get as far as the store.
        let store = if dry_run { "" } else { "/registry" };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {store}{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
            self.storage_key()
        );
        Err(Status::conflict(self.served.name(), &self.path.name, &why))
    }

    fn storage_key(&self) -> String {
        let resource = self.served.resource.resource.as_str();
        let folder = match (self.served.group.as_str(), resource) {
            ("", "nodes") => "minions".to_owned(),
            ("", "services") => "services/specs".to_owned(),
            ("", "endpoints") => "services/endpoints".to_owned(),
            ("", "replicationcontrollers") => "controllers".to_owned(),
            ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
            (group @ ("apiextensions.k8s.io" | "apiregistration.k8s.io"), _) => format!("{group}/{resource}"),
            (group, _) if self.served.custom.is_some() => format!("{group}/{resource}"),
            _ => resource.to_owned(),
        };
        let namespace = self.scope();
        let within = if namespace.is_empty() { String::new() } else { format!("/{namespace}") };
        format!("/{folder}{within}/{}", self.path.name)
    }

    async fn update_absent(&mut self, mut object: Value, options: &WriteOptions) -> Result<Reply, Status> {
        let may = self.path.subresource.is_empty()
            && strategy::allow_create_on_update(self.served.kind())
            && self.served.custom.is_none();
        if !may {
            return Err(Status::not_found(self.served.name(), &self.path.name));
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        Ok(self.insert(object, options, false).await?.reply(201))
    }
}
