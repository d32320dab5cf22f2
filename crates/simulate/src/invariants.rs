//! What must hold after every change of the store, whoever made it, and what must hold when all is at rest.

pub mod pods;
pub mod volumes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::laboratory::{ADMIN, SERVER};

/// Objects by `namespace/name`, or by their name alone.
pub type Objects = BTreeMap<String, Arc<Value>>;

/// The objects as they are after a change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// PersistentVolumes.
    pub volumes: Objects,
    /// PersistentVolumeClaims.
    pub claims: Objects,
    /// Pods.
    pub pods: Objects,
    /// Nodes.
    pub nodes: Objects,
}

impl State {
    pub(crate) fn of_mut(&mut self, resource: &str) -> &mut Objects {
        match resource {
            "persistentvolumes" => &mut self.volumes,
            "persistentvolumeclaims" => &mut self.claims,
            "pods" => &mut self.pods,
            _ => &mut self.nodes,
        }
    }
}

/// One change of one object.
pub struct Change<'a> {
    /// When, from the beginning of the run.
    pub at: Duration,
    /// Whose request made it.
    pub by: &'a str,
    /// Its revision.
    pub revision: u64,
    /// The plural of the kind.
    pub resource: &'static str,
    /// `namespace/name`, or the name alone.
    pub key: &'a str,
    /// The object before; `None` where it was not there.
    pub before: Option<Arc<Value>>,
    /// The object after; `None` where it is gone.
    pub after: Option<Arc<Value>>,
}

impl Change<'_> {
    /// Whether a component made it: neither the test nor the server itself.
    pub fn by_component(&self) -> bool {
        self.by != ADMIN && self.by != SERVER
    }
}

/// What must hold.
pub trait Invariant: Send {
    /// What it is called in the account of a failure.
    fn name(&self) -> &'static str;

    /// Looks at one change. `state` is as it is after the change.
    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String>;

    /// Looks at the end, when all is at rest.
    fn at_the_end(&mut self, _state: &State) -> Result<(), String> {
        Ok(())
    }
}
