//! The served resources: those of the built-in table, and those that CustomResourceDefinitions add.

use std::sync::{Arc, OnceLock};

use plimsoll_engine::collections::Map;
use plimsoll_schema::{GroupVersion, Resource, Schema, Scope, Subresource, Table, Type};

use crate::custom::CustomResource;
use crate::discovery::Documents;
use crate::kind::Kind;
use crate::status::GroupResource;
use crate::store::ResourceKey;

/// One resource in one version.
#[derive(Debug)]
pub struct Served {
    /// The group; empty for core.
    pub group: String,
    /// The version.
    pub version: String,
    /// What discovery says of it.
    pub resource: Resource,
    /// Its objects' kind.
    pub kind: String,
    /// Where its objects are stored: several versions share one place.
    pub key: ResourceKey,
    /// The version that is stored, where it is another one.
    pub stored_as: Option<StoredAs>,
    /// `{"kind":"Pod","apiVersion":"v1",`: what stored objects begin with.
    pub head: String,
    /// Where its type is.
    pub table: Arc<Table>,
    /// Its type.
    pub ty: Type,
    /// What a CustomResourceDefinition says of it.
    pub custom: Option<Arc<CustomResource>>,
}

/// The group and version that objects are stored in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAs {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
}

/// The version in which a resource of several is stored, and under which key.
const SHARED: [(&str, &str, &str, &str, &str, &str); 2] = [
    // group, version, resource, key, stored group, stored version
    ("events.k8s.io", "v1", "events", "events", "", "v1"),
    ("autoscaling", "v1", "horizontalpodautoscalers", "autoscaling/horizontalpodautoscalers", "autoscaling", "v2"),
];

impl Served {
    /// A resource of the built-in table; none for those without a type.
    fn builtin(table: &Arc<Table>, group: &GroupVersion, resource: &Resource) -> Option<Self> {
        let kind = &resource.response_kind;
        let of_group = if kind.group.is_empty() { &group.group } else { &kind.group };
        let of_version = if kind.version.is_empty() { &group.version } else { &kind.version };
        let ty = Type::Struct(table.kind(of_group, of_version, &kind.kind)?);
        let shared = SHARED.iter().find(|s| s.0 == group.group && s.1 == group.version && s.2 == resource.resource);
        let key = match shared {
            Some(shared) => shared.3.into(),
            None if group.group.is_empty() => resource.resource.as_str().into(),
            None => format!("{}/{}", group.group, resource.resource).into(),
        };
        let stored_as = shared.map(|s| StoredAs { group: s.4.into(), version: s.5.into() });
        Some(Self::new(&group.group, &group.version, resource.clone(), key, stored_as, table.clone(), ty, None))
    }

    /// A resource of all its parts.
    #[expect(clippy::too_many_arguments, reason = "two callers, each with all of it at hand")]
    pub fn new(
        group: &str,
        version: &str,
        resource: Resource,
        key: ResourceKey,
        stored_as: Option<StoredAs>,
        table: Arc<Table>,
        ty: Type,
        custom: Option<Arc<CustomResource>>,
    ) -> Self {
        let kind = resource.response_kind.kind.clone();
        let stored = stored_as.as_ref().map_or((group, version), |s| (s.group.as_str(), s.version.as_str()));
        let head =
            format!(r#"{{"kind":"{kind}","apiVersion":"{}","#, Kind::new(stored.0, stored.1, &kind).api_version());
        Self { group: group.into(), version: version.into(), resource, kind, key, stored_as, head, table, ty, custom }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind<'_> {
        Kind::new(&self.group, &self.version, &self.kind)
    }

    /// Its kind's `apiVersion`.
    pub fn api_version(&self) -> String {
        self.kind().api_version()
    }

    /// As errors name it.
    pub fn name(&self) -> GroupResource<'_> {
        GroupResource { group: &self.group, resource: &self.resource.resource }
    }

    /// The kind of its lists.
    pub fn list_kind(&self) -> String {
        match &self.custom {
            Some(custom) => custom.list_kind.clone(),
            None => format!("{}List", self.kind),
        }
    }

    /// Its type, to walk along.
    pub fn schema(&self) -> Schema<'_> {
        Schema::new(&self.table, &self.ty)
    }

    /// Whether stored objects are shown byte by byte as they are.
    pub fn shown_as_stored(&self) -> bool {
        self.stored_as.is_none() && self.custom.is_none()
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        self.resource.scope == Scope::Namespaced
    }

    /// A part of its objects.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.resource.subresources.iter().find(|s| s.subresource == name)
    }

    /// Whether something can be done with its objects.
    pub fn allows(&self, verb: &str) -> bool {
        self.resource.verbs.iter().any(|v| v == verb)
    }

    /// Whether its objects, or this part of them, can be shown as a table. Some parts cannot, and are shown as they are.
    pub fn has_tables(&self, subresource: &str) -> bool {
        !matches!(
            (self.group.as_str(), self.resource.resource.as_str(), subresource),
            ("", "pods", "ephemeralcontainers" | "resize")
                | ("certificates.k8s.io", "certificatesigningrequests", "approval")
                | ("resource.k8s.io", "resourceclaims", "status")
                | ("apiextensions.k8s.io", "customresourcedefinitions", "status")
                | ("apiregistration.k8s.io", "apiservices", "status")
        )
    }

    /// Whether its objects have paths. What can only be created, such as a review, is never asked for by name.
    pub fn is_named(&self) -> bool {
        ["get", "update", "patch", "delete"].iter().any(|verb| self.allows(verb))
    }
}

/// All that is served now. Replaced as a whole when a definition comes or goes.
#[derive(Debug, Default)]
pub struct Registry {
    served: Map<(String, String, String), Arc<Served>>,
    /// The versions of what is stored under one key.
    versions: Map<ResourceKey, Vec<Arc<Served>>>,
    groups: Vec<GroupVersion>,
    /// Made when they are first asked for.
    documents: OnceLock<Documents>,
}

impl Registry {
    /// The built-in resources and these further ones.
    pub fn new(custom: Vec<Arc<Served>>) -> Self {
        let table = Table::builtin();
        let mut registry = Self { groups: table.groups().to_vec(), ..Self::default() };
        for group in table.groups() {
            for resource in &group.resources {
                if let Some(served) = Served::builtin(&table, group, resource) {
                    registry.insert(Arc::new(served));
                }
            }
        }
        for served in custom {
            let at = registry.groups.iter().position(|g| g.group == served.group && g.version == served.version);
            match at {
                Some(at) => registry.groups[at].resources.push(served.resource.clone()),
                None => registry.groups.push(GroupVersion {
                    group: served.group.clone(),
                    version: served.version.clone(),
                    resources: vec![served.resource.clone()],
                }),
            }
            registry.insert(served);
        }
        registry
    }

    fn insert(&mut self, served: Arc<Served>) {
        let key = (served.group.clone(), served.version.clone(), served.resource.resource.clone());
        self.versions.entry(served.key.clone()).or_default().push(served.clone());
        self.served.insert(key, served);
    }

    /// All versions of what is stored under a key.
    pub fn versions(&self, key: &ResourceKey) -> &[Arc<Served>] {
        self.versions.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The resource under this path.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<Served>> {
        self.served.get(&(group.to_owned(), version.to_owned(), resource.to_owned()))
    }

    /// The resource of a kind.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        self.served.values().find(|s| s.group == group && s.version == version && s.kind == kind && s.allows("get"))
    }

    /// The resource of a group in whatever version it is stored.
    pub fn of_group(&self, group: &str, resource: &str) -> Option<&Arc<Served>> {
        self.served
            .values()
            .filter(|s| s.group == group && s.resource.resource == resource)
            .min_by_key(|s| (s.stored_as.is_some(), s.version.clone()))
    }

    /// Everything that is stored: one entry per key, in the stored version. Sorted, so that walks repeat.
    pub fn stored(&self) -> Vec<Arc<Served>> {
        let mut all: Vec<_> = self.served.values().filter(|s| s.allows("list")).cloned().collect();
        // The stored version of a custom resource need not be served itself; another one stands for it then.
        all.sort_by(|a, b| {
            (&a.key, a.stored_as.is_some(), &a.version).cmp(&(&b.key, b.stored_as.is_some(), &b.version))
        });
        all.dedup_by(|later, first| later.key == first.key);
        all
    }

    /// The OpenAPI documents of all that is served.
    pub(crate) fn documents(&self) -> &Documents {
        self.documents.get_or_init(|| Documents::new(self))
    }

    /// Groups and versions in the order in which discovery lists them.
    pub fn groups(&self) -> &[GroupVersion] {
        &self.groups
    }
}
