//! deletecollection: every object that a selector picks.

use bytes::Bytes;

use crate::reply::Reply;
use crate::request::ListOptions;
use crate::status::Status;
use crate::verbs::Call;
use crate::verbs::delete::{DeleteOptions, Deleted};
use crate::verbs::list::check;

impl Call {
    pub(super) async fn delete_collection(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = DeleteOptions::parse(self, &body)?;
        let list_options = ListOptions::parse(&self.query)?;
        check(&list_options, false)?;
        let filter = self.filter(&list_options)?;
        let list = self.find(&list_options, &filter)?;
        let mut deleted = Vec::with_capacity(list.items.len());
        for object in list.items {
            match self.delete_one(object.namespace(), object.name(), &options).await {
                Ok(Deleted::Gone(object) | Deleted::Waiting(object)) => deleted.push(object),
                // Somebody else was first.
                Err(status) if status.code == 404 => deleted.push(object),
                Err(status) => return Err(status),
            }
        }
        let metadata = serde_json::json!({"resourceVersion": list.revision.to_string()});
        self.render(&deleted, metadata).map(Reply::Whole)
    }
}
