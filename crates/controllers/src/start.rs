//! Which controllers there are, and starting them on one set of mirrors.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_runtime::{Context, reflector};

use crate::binder;
use crate::world::World;

/// A controller that can be turned off, because somebody else does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Binds claims and volumes.
    Binder,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Binder];

    /// The name that `--controllers` knows it by; upstream's where upstream has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binder => "persistentvolume-binder-controller",
        }
    }

    /// The controller of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// How the controllers work.
#[derive(Clone)]
pub struct Options {
    /// Those that run.
    pub run: BTreeSet<Controller>,
    /// How the binder works.
    pub binder: binder::Options,
    /// How long until everything is listed again, in case a watch skipped something.
    pub relist: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { run: Controller::ALL.into(), binder: binder::Options::default(), relist: reflector::RELIST }
    }
}

/// Starts the controllers as tasks of the context. Returns what they look at.
pub fn start(context: &Context, options: &Options) -> World {
    let world = World::new();
    for controller in &options.run {
        match controller {
            Controller::Binder => binder::start(context, &world, options.binder.clone()),
        }
    }
    world.start(context, options.relist);
    world
}
