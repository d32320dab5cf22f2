//! Resources: what is served under which path, and how it is called.

use serde::{Deserialize, Serialize};

/// A group and version with its resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupVersion {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// What is served in it.
    pub resources: Vec<Resource>,
}

/// Whether objects of a resource live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// In the cluster as a whole.
    Cluster,
    /// In a namespace.
    Namespaced,
}

/// The kind that a resource answers with; group and version are those of the resource where they are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRef {
    /// The group, where it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version, where it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The plural name in paths.
    pub resource: String,
    /// The kind of its objects.
    pub response_kind: KindRef,
    /// Where they live.
    pub scope: Scope,
    /// The singular name.
    pub singular_resource: String,
    /// The short names that kubectl takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// The groups of resources (`all`) it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// What can be done.
    pub verbs: Vec<String>,
    /// What stands under an object's path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subresources: Vec<Subresource>,
}

/// A part of an object with a path of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subresource {
    /// Its name.
    pub subresource: String,
    /// The kind of its body.
    pub response_kind: KindRef,
    /// What can be done.
    pub verbs: Vec<String>,
}
