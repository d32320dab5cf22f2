//! Which provisioners there are, and who else may make a class's volumes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Provisioner;

/// What names of in-tree plugins begin with; nobody outside may serve one.
const IN_TREE: &str = "kubernetes.io/";

/// Who makes the volumes of a provisioner's name.
#[derive(Clone)]
pub enum Server {
    /// One of ours.
    Internal(Arc<dyn Provisioner>),
    /// Somebody who watches the claims' annotations.
    External,
    /// Nobody: an in-tree name that is not served here, `kubernetes.io/no-provisioner` among them.
    Nobody,
}

/// The provisioners of a controller, by the name that classes ask for them by.
#[derive(Clone, Default)]
pub struct Provisioners {
    by_plugin: BTreeMap<String, Arc<dyn Provisioner>>,
}

impl Provisioners {
    /// None at all: every in-tree name is nobody's, every other one somebody else's.
    pub fn none() -> Self {
        Self::default()
    }

    /// These and one more; a later one takes the place of an earlier one of the same name.
    #[must_use]
    pub fn with(mut self, provisioner: impl Provisioner + 'static) -> Self {
        self.add(Arc::new(provisioner));
        self
    }

    /// Adds one that is shared already.
    pub fn add(&mut self, provisioner: Arc<dyn Provisioner>) {
        self.by_plugin.insert(provisioner.plugin().to_owned(), provisioner);
    }

    /// The provisioner of this name, where it is one of ours.
    pub fn internal(&self, name: &str) -> Option<Arc<dyn Provisioner>> {
        self.by_plugin.get(name).cloned()
    }

    /// Who serves a name. An in-tree name that has moved to a CSI driver is the caller's to translate first; one that is
    /// registered here is ours even then, which is how the embedded cluster serves it without a driver.
    pub fn server(&self, name: &str) -> Server {
        match self.internal(name) {
            Some(provisioner) => Server::Internal(provisioner),
            None if name.starts_with(IN_TREE) => Server::Nobody,
            None => Server::External,
        }
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_plugin.keys().map(String::as_str)
    }
}

impl std::fmt::Debug for Provisioners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.by_plugin.keys()).finish()
    }
}
