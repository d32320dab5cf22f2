//! `metadata`.

use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::Version;

use crate::interner::Interner;
use crate::lenient::{Annotations, Pairs, Present, slim};
use crate::names;

slim! {
    /// `metadata`, as far as it is read.
    pub struct ObjectMeta {
        /// The name.
        pub name: String,
        /// What the API server would begin a made-up name with.
        pub generate_name: String,
        /// The namespace; empty where unset.
        pub namespace: String,
        /// The uid.
        pub uid: String,
        /// The revision.
        pub resource_version: String,
        /// Which of its specs it is.
        pub generation: Option<i64>,
        /// When it was made, as written (RFC 3339 in UTC, so that text order is time order).
        pub creation_timestamp: String,
        /// Whether it is being deleted.
        pub deletion_timestamp: Present,
        /// How long it is given to end once it is being deleted.
        pub deletion_grace_period_seconds: Option<i64>,
        /// The labels.
        pub labels: Pairs,
        /// The annotations that are read; `None` where the object has no map of annotations.
        pub annotations: Option<Annotations>,
        /// What must happen before it is gone.
        pub finalizers: Vec<String>,
        /// The owners.
        pub owner_references: Vec<OwnerReference>,
    }

    /// An owner.
    pub struct OwnerReference {
        /// Group and version of the owner's kind.
        pub api_version: String,
        /// The owner's kind.
        pub kind: String,
        /// The owner's name.
        pub name: String,
        /// The owner's uid.
        pub uid: String,
        /// Whether it is the one that manages the object.
        pub controller: bool,
    }
}

impl ObjectMeta {
    /// The value of an annotation that is read.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key)
    }

    /// The namespace; `default` where unset.
    pub fn namespace_or_default(&self) -> &str {
        if self.namespace.is_empty() { names::DEFAULT_NAMESPACE } else { &self.namespace }
    }

    /// The key of a namespaced object.
    pub fn key(&self, names: &mut Interner) -> ObjectKey {
        ObjectKey { namespace: names.share(self.namespace_or_default()), name: Name::from(self.name.as_str()) }
    }

    /// The revision; 0 where there is none.
    pub fn version(&self) -> Version {
        self.resource_version.parse().unwrap_or(0)
    }

    /// The owner that manages the object.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|o| o.controller)
    }
}

impl OwnerReference {
    /// The kind as default spreading looks it up: a kind of another group that shares a built-in's name (there are
    /// several StatefulSets in the world) gets its group appended, so that the two are not taken for one another.
    pub fn qualified_kind(&self, names: &mut Interner) -> Name {
        let built_in = match self.kind.as_str() {
            "ReplicationController" => self.api_version == "v1",
            "ReplicaSet" | "StatefulSet" => self.api_version == "apps/v1",
            _ => true,
        };
        if built_in { names.share(&self.kind) } else { names.share(&format!("{}.{}", self.kind, self.api_version)) }
    }
}
