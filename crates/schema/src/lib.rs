//! The table of Kubernetes' kinds, and what follows from it alone.
//!
//! [`Table::builtin`] is generated from the OpenAPI and discovery documents of the release (`e2e/kubernetes/facts`): each type with its
//! fields, protobuf numbers, defaults, merge and list keys; each resource with its verbs, subresources and short names. Everything that
//! treats objects generically (decoding, patches, apply, protobuf, discovery) reads this table, so that no fact stands twice. Custom
//! resources bring a table of their own, made from their structural schema.
//!
//! Objects are `serde_json::Value`s in *canonical form*: what a round trip through Kubernetes' own types would leave ([`mod@decode`]).

pub mod decode;
mod load;
pub mod protobuf;
mod resources;
mod table;

pub use resources::{GroupVersion, KindRef, Resource, Scope, Subresource};
pub use table::{Field, FieldId, ListKind, PatchStrategy, Schema, StructType, Table, Type, TypeId};
