//! What can be done: one file per verb, and the way of a write that they share.

mod collection;
mod connect;
mod create;
pub(crate) mod delete;
mod get;
mod list;
mod patch;
mod scale;
mod subresource;
mod update;
mod watch;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::auth::User;
use crate::core::Core;
use crate::registry::Served;
use crate::reply::Reply;
use crate::request::path::ResourcePath;
use crate::request::{Accept, Format, Query};
use crate::status::Status;

pub(crate) use delete::DeleteOptions;
pub(crate) use write::ended;

/// What a request wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// One object.
    Get,
    /// All of them.
    List,
    /// Their changes.
    Watch,
    /// A new one.
    Create,
    /// Another state.
    Update,
    /// Parts of another state.
    Patch,
    /// Gone.
    Delete,
    /// All of them gone.
    DeleteCollection,
}

impl Verb {
    /// The verb of a method on a path.
    pub fn of(method: &Method, path: &ResourcePath, query: &Query) -> Option<Self> {
        let one = !path.name.is_empty();
        Some(match *method {
            Method::GET if path.watch || (!one && query.flag("watch")) => Self::Watch,
            Method::GET if one => Self::Get,
            Method::GET => Self::List,
            _ if path.watch => return None,
            Method::POST => Self::Create,
            Method::PUT if one => Self::Update,
            Method::PATCH if one => Self::Patch,
            Method::DELETE if one => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => return None,
        })
    }

    /// As RBAC and discovery call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// One request on one resource.
pub struct Call {
    /// The server.
    pub core: Arc<Core>,
    /// The resource.
    pub served: Arc<Served>,
    /// The path.
    pub path: ResourcePath,
    /// The query.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// Who asks.
    pub user: Arc<User>,
    /// The form of the answer.
    pub accept: Accept,
    /// Five random letters, for names that admission makes up.
    pub suffix: String,
    /// What the answer warns of.
    pub warnings: Vec<String>,
}

impl Call {
    /// A call of the server itself.
    pub(crate) fn internal(core: Arc<Core>, served: Arc<Served>, namespace: &str, name: &str) -> Self {
        let path = ResourcePath {
            group: served.group.clone(),
            version: served.version.clone(),
            namespace: namespace.into(),
            resource: served.resource.resource.clone(),
            name: name.into(),
            ..ResourcePath::default()
        };
        Self {
            core,
            served,
            path,
            query: Query::default(),
            headers: HeaderMap::new(),
            user: Arc::new(User::in_groups("system:apiserver", &["system:masters"])),
            accept: Accept::default(),
            suffix: String::new(),
            warnings: Vec::new(),
        }
    }

    /// Does it.
    pub async fn run(&mut self, verb: Verb, body: Bytes) -> Result<Reply, Status> {
        if let Some(custom) = &self.served.custom {
            custom.convertible()?;
        }
        if !self.path.subresource.is_empty() {
            return self.part(verb, body).await;
        }
        let served = self.served.clone();
        if !served.allows(verb.word()) {
            return Err(Status::method_not_allowed());
        }
        match verb {
            Verb::Create if !self.path.name.is_empty() => Err(Status::method_not_allowed()),
            Verb::Get => self.get(),
            Verb::List => self.list(),
            Verb::Watch => self.watch(),
            Verb::Create => self.create(body).await,
            Verb::Update => self.update(body).await,
            Verb::Patch => self.patch(body).await,
            Verb::Delete => self.delete(body).await,
            Verb::DeleteCollection => self.delete_collection(body).await,
        }
    }

    /// The encoding of the body.
    pub(crate) fn body_format(&self) -> Result<Format, Status> {
        let header = self.headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let media = header.split(';').next().unwrap_or_default().trim();
        if header.is_empty() {
            return Ok(Format::Json);
        }
        Format::of(media).filter(|f| *f != Format::Protobuf || self.served.custom.is_none()).ok_or_else(|| {
            let mut types = "application/json, application/yaml".to_owned();
            if self.served.custom.is_none() {
                types.push_str(", application/vnd.kubernetes.protobuf");
            }
            Status::new(
                415,
                "UnsupportedMediaType",
                format!("the body of the request was in an unknown format - accepted media types include: {types}"),
            )
        })
    }

    /// Who owns the fields of this write: the parameter, or the first word of the client's name.
    pub(crate) fn manager(&self, parameter: &str) -> String {
        let agent = self.headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        crate::apply::manager_name(parameter, agent)
    }
}
