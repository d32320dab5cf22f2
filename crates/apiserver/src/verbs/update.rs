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
        let exists = self.core.store.get(&self.served.key, self.scope(), &self.path.name).is_some();
        if !exists {
            return self.update_absent(object, &options).await;
        }
        let unversioned = matches!(object["metadata"]["resourceVersion"].as_str(), None | Some("" | "0"));
        if unversioned && !strategy::allow_unconditional_update(served.kind()) && served.custom.is_none() {
            let error = FieldError { value: "0".into(), ..FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update") };
            return Err(Status::invalid(&served.group, &served.resource.resource, &self.path.name, &[error]));
        }
        if unversioned && served.custom.is_some() {
            let error = FieldError { value: "0".into(), ..FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update") };
            return Err(Status::invalid(&served.group, &served.resource.resource, &self.path.name, &[error]));
        }
        let manager = self.manager(&options.field_manager);
        let subresource = self.path.subresource.clone();
        let written = self
            .change(&options, move |call, old| {
                let mut new: Value = object.clone();
                call.same_object(&new, old)?;
                call.own(Some(old), &mut new, &manager, &subresource);
                Ok(Made::New(new))
            })
            .await?;
        match written {
            Some(outcome) => Ok(outcome.reply(200)),
            None => Err(Status::not_found(self.served.name(), &self.path.name)),
        }
    }

    /// A whole object names the one it replaces by its uid; a patch that changes a uid is refused as any change of what is immutable.
    fn same_object(&self, new: &Value, old: &Value) -> Result<(), Status> {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (wanted, found) = (uid(new), uid(old));
        if wanted.is_empty() || wanted == found {
            return Ok(());
        }
        let folder = match (self.served.custom.is_some(), self.served.resource.resource.as_str()) {
            (true, resource) => format!("{}/{resource}", self.served.group),
            (false, "nodes") => "minions".into(),
            (false, resource @ ("services" | "endpoints")) => format!("services/{}", if resource == "services" { "specs" } else { resource }),
            (false, "ingresses") => "ingress".into(),
            (false, resource) => resource.to_owned(),
        };
        let place = if self.served.namespaced() { format!("{folder}/{}", self.scope()) } else { folder };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{place}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: {wanted}, UID in object meta: {found}",
            self.path.name
        );
        Err(Status::conflict(self.served.name(), &self.path.name, &why))
    }

    async fn update_absent(&mut self, mut object: Value, options: &WriteOptions) -> Result<Reply, Status> {
        let may = self.path.subresource.is_empty() && strategy::allow_create_on_update(self.served.kind()) && self.served.custom.is_none();
        if !may {
            return Err(Status::not_found(self.served.name(), &self.path.name));
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        Ok(self.insert(object, options, false).await?.reply(201))
    }
}
