//! Which controllers there are, and starting them on one set of mirrors.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_runtime::{Context, reflector};

use crate::world::World;
use crate::{binder, ephemeral, figures, protection, rescue, stale, zone_upgrade};

/// A controller that can be turned off, because somebody else does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Binds claims and volumes.
    Binder,
    /// Keeps claims that pods use.
    ClaimProtection,
    /// Keeps volumes that claims have.
    VolumeProtection,
    /// Makes the claims of generic ephemeral volumes.
    Ephemeral,
    /// Says zone labels of volumes as affinity.
    ZoneUpgrade,
    /// Meets the claims of pods that bypass the scheduler.
    Rescue,
    /// Releases claims whose selected node cannot serve them.
    StaleSelection,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Binder,
        Self::ClaimProtection,
        Self::VolumeProtection,
        Self::Ephemeral,
        Self::ZoneUpgrade,
        Self::Rescue,
        Self::StaleSelection,
    ];

    /// The name that `--controllers` knows it by; upstream's where upstream has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binder => "persistentvolume-binder-controller",
            Self::ClaimProtection => "persistentvolumeclaim-protection-controller",
            Self::VolumeProtection => "persistentvolume-protection-controller",
            Self::Ephemeral => "ephemeral-volume-controller",
            Self::ZoneUpgrade => "zone-label-upgrade-controller",
            Self::Rescue => "volume-rescue-controller",
            Self::StaleSelection => "stale-selected-node-controller",
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
    /// How protection works.
    pub protection: protection::Options,
    /// How ephemeral claims are made.
    pub ephemeral: ephemeral::Options,
    /// How zone labels are upgraded.
    pub zone_upgrade: zone_upgrade::Options,
    /// How pods are rescued.
    pub rescue: rescue::Options,
    /// When a selected node is stale.
    pub stale: stale::Options,
    /// How long until everything is listed again, in case a watch skipped something.
    pub relist: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            run: Controller::ALL.into(),
            binder: binder::Options::default(),
            protection: protection::Options::default(),
            ephemeral: ephemeral::Options::default(),
            zone_upgrade: zone_upgrade::Options::default(),
            rescue: rescue::Options::default(),
            stale: stale::Options::default(),
            relist: reflector::RELIST,
        }
    }
}

/// Starts the controllers as tasks of the context. Returns what they look at.
pub fn start(context: &Context, options: &Options) -> World {
    let world = World::new();
    for controller in &options.run {
        match controller {
            Controller::Binder => binder::start(context, &world, options.binder.clone()),
            Controller::ClaimProtection => protection::start_claims(context, &world, options.protection),
            Controller::VolumeProtection => protection::start_volumes(context, &world, options.protection),
            Controller::Ephemeral => ephemeral::start(context, &world, options.ephemeral),
            Controller::Rescue => rescue::start(context, &world, options.rescue.clone()),
            Controller::StaleSelection => {
                // Plugins of this process need no driver on a node.
                let provisioners = options.binder.provisioners.clone();
                stale::start(context, &world, stale::Options { provisioners, ..options.stale.clone() });
            }
            Controller::ZoneUpgrade => drop(zone_upgrade::start(context, &world, options.zone_upgrade)),
        }
    }
    figures::start(context, &world);
    world.start(context, options.relist);
    world
}
