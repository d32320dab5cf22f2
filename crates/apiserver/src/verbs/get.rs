//! get: one object.

use crate::reply::Reply;
use crate::request::ListOptions;
use crate::status::Status;
use crate::verbs::Call;
use crate::verbs::list::too_large;

impl Call {
    /// The object as it is now, which no resource version is newer than.
    pub(super) fn get(&mut self) -> Result<Reply, Status> {
        let options = ListOptions::parse(&self.query)?;
        if let Some(version) = options.version()? {
            let current = self.core.store.revision();
            if version > current {
                return Err(too_large(version, current));
            }
        }
        let object = self.core.store.get(&self.served.key, self.scope(), &self.path.name);
        object
            .map(|object| Reply::Stored(200, object))
            .ok_or_else(|| Status::not_found(self.served.name(), &self.path.name))
    }

    /// The namespace under which the objects of this request are stored.
    pub(super) fn scope(&self) -> &str {
        if self.served.namespaced() { &self.path.namespace } else { "" }
    }
}
