//! create: a new object.

use bytes::Bytes;

use crate::codec::{self, Expected};
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::status::Status;
use crate::verbs::Call;

impl Call {
    pub(super) async fn create(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = WriteOptions::parse(&self.query, "CreateOptions")?;
        let served = self.served.clone();
        let decoded = codec::body(&body, self.body_format()?, Expected::from(&*served), options.field_validation)?;
        self.warnings.extend(decoded.warnings);
        if let Some(reply) = crate::reviews::answer(self, &decoded.object)? {
            return Ok(reply);
        }
        let object = self.with_defaults(decoded.object)?;
        if let Some(reply) = self.created_otherwise(&object, &options).await? {
            return Ok(reply);
        }
        Ok(self.insert(object, &options, false).await?.reply(201))
    }
}
