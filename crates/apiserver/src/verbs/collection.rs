//! deletecollection: every object that a selector picks.

use bytes::Bytes;

use crate::reply::Reply;
use crate::request::ListOptions;
use crate::status::Status;
use crate::verbs::Call;
use crate::verbs::delete::DeleteOptions;
use crate::verbs::list::check;

impl Call {
    pub(super) async fn delete_collection(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = DeleteOptions::parse(self, &body)?;
        self.warn_of_children(&options);
        let list_options = ListOptions::parse(&self.query)?;
        check(&list_options, false)?;
        let filter = self.filter(&list_options)?;
        let list = self.find(&list_options, &filter)?;
        for object in &list.items {
            match self.delete_one(object.namespace(), object.name(), &options).await {
                Ok(_) => {}
                // Somebody else was first.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let metadata = serde_json::json!({"resourceVersion": list.revision.to_string()});
        // The answer is what was found, not what became of it.
        self.render(&list.items, metadata).map(Reply::Whole)
    }
}
