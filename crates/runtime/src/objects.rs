//! Single objects: read, made, replaced, deleted. Bodies are whole JSON objects, so that a field which this version does
//! not know survives a replacement.

use http::{Method, Request};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answer;
use crate::deeds::{Deed, tell_missing_right};
use crate::error::Error;
use crate::resource::Resource;

/// What must still hold of an object for it to be deleted.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// Its uid.
    pub uid: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// The API's objects, one at a time.
#[derive(Clone)]
pub struct Objects {
    client: Client,
}

impl Objects {
    /// Through this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The object as the API server has it now; `None` where there is none.
    pub async fn get<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<T>, Error> {
        match self.send(Method::GET, &resource.path(namespace, name), None).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an object.
    pub async fn create<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        object: &Value,
    ) -> Result<T, Error> {
        self.send(Method::POST, &resource.collection(Some(namespace)), Some(object)).await
    }

    /// Replaces an object, if its `metadata.resourceVersion` is still the one in `object`.
    pub async fn replace<T: DeserializeOwned>(&self, resource: Resource, object: &Value) -> Result<T, Error> {
        self.send(Method::PUT, &path_of(resource, object), Some(object)).await
    }

    /// Replaces an object's status, if its `metadata.resourceVersion` is still the one in `object`.
    pub async fn replace_status<T: DeserializeOwned>(&self, resource: Resource, object: &Value) -> Result<T, Error> {
        self.send(Method::PUT, &format!("{}/status", path_of(resource, object)), Some(object)).await
    }

    /// Changes the fields that `patch` names (RFC 7386). `subresource` is empty for the object itself.
    pub async fn merge<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<T, Error> {
        self.patch("application/merge-patch+json", resource.sub_path(namespace, name, subresource), patch).await
    }

    /// The same with the API's own rules for lists: an entry replaces the one with the same key, the others stay.
    pub async fn merge_lists<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<T, Error> {
        let path = resource.sub_path(namespace, name, subresource);
        self.patch("application/strategic-merge-patch+json", path, patch).await
    }

    async fn patch<T: DeserializeOwned>(&self, kind: &str, path: String, patch: &Value) -> Result<T, Error> {
        let body = serde_json::to_vec(patch).map_err(unreadable)?;
        let request = Request::patch(path).header("content-type", kind).body(body);
        self.answer(request.map_err(unreadable)?).await
    }

    /// Deletes an object. One that is not there is deleted already.
    pub async fn delete(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        only_if: &Preconditions,
    ) -> Result<(), Error> {
        let mut conditions = json!({});
        if let Some(uid) = &only_if.uid {
            conditions["uid"] = json!(uid);
        }
        if let Some(version) = &only_if.version {
            conditions["resourceVersion"] = json!(version);
        }
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions});
        match self.send::<Value>(Method::DELETE, &resource.path(namespace, name), Some(&options)).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Any other request.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, Error> {
        let bytes = body.map(serde_json::to_vec).transpose().map_err(unreadable)?.unwrap_or_default();
        let mut request = Request::builder().method(method).uri(path);
        if !bytes.is_empty() {
            request = request.header("content-type", "application/json");
        }
        self.answer(request.body(bytes).map_err(unreadable)?).await
    }

    async fn answer<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, Error> {
        let done = Deed::of(&request);
        let answer = answer::within(request, |request| self.client.request(request)).await;
        if let Some(done) = done {
            done.tell(answer.as_ref().err());
        }
        if let Err(error) = &answer
            && error.is_missing_right()
        {
            tell_missing_right(error);
        }
        answer
    }

    /// The client itself.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

fn path_of(resource: Resource, object: &Value) -> String {
    let meta = &object["metadata"];
    resource.path(meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str().unwrap_or_default())
}

/// A request that cannot even be written down is invalid by itself.
fn unreadable(error: impl std::error::Error) -> Error {
    Error::Invalid(error.to_string())
}
