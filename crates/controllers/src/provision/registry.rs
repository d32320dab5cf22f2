//! Which provisioners a controller has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Provisioner;

/// The provisioners of a controller, by the name that classes ask for them by. Who serves the other names is
/// `plimsoll_engine::binder::maker`'s to say; a name that is here is ours, even an in-tree one that has moved to a CSI
/// driver, which is how the embedded cluster serves those without a driver.
#[derive(Clone, Default)]
pub struct Provisioners {
    by_plugin: BTreeMap<String, Arc<dyn Provisioner>>,
}

impl Provisioners {
    /// None at all.
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
