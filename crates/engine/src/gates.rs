//! Feature gates: each deliberate difference from upstream's decisions, by name.

/// A deliberate difference from upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gate {
    /// Search for an assignment of volumes where smallest-first matching fails.
    MatchingSearch,
    /// Claims of one pod that share a pool are counted together.
    JointClaimCapacity,
    /// Space of volumes decided on, but not yet seen in a capacity object, is taken.
    PromisedCapacity,
    /// Attach limits count the volumes that the plan would bind, not the class's provisioner.
    AttachAwarePlan,
    /// Nodes score by closest static fit, static before dynamic.
    ClosestFitScoring,
    /// A claim that two volumes of a pod name counts once.
    ClaimOnce,
    /// The claim of a generic ephemeral volume that is not there yet is taken as it will be made.
    EphemeralForecast,
}

/// Which gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates(u32);

impl Gate {
    /// Every gate.
    pub const ALL: [Gate; 7] = [
        Gate::MatchingSearch,
        Gate::JointClaimCapacity,
        Gate::PromisedCapacity,
        Gate::AttachAwarePlan,
        Gate::ClosestFitScoring,
        Gate::ClaimOnce,
        Gate::EphemeralForecast,
    ];

    /// The gate's name, as flags and output write it.
    pub fn name(self) -> &'static str {
        match self {
            Gate::MatchingSearch => "MatchingSearch",
            Gate::JointClaimCapacity => "JointClaimCapacity",
            Gate::PromisedCapacity => "PromisedCapacity",
            Gate::AttachAwarePlan => "AttachAwarePlan",
            Gate::ClosestFitScoring => "ClosestFitScoring",
            Gate::ClaimOnce => "ClaimOnce",
            Gate::EphemeralForecast => "EphemeralForecast",
        }
    }

    /// The gate of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|g| g.name() == name)
    }
}

impl Gates {
    /// All off: upstream's decisions.
    pub const AS_UPSTREAM: Self = Self(0);

    /// All on.
    pub fn all() -> Self {
        Gate::ALL.into_iter().fold(Self::AS_UPSTREAM, |g, gate| g.with(gate, true))
    }

    /// Whether the gate is on.
    pub fn on(self, gate: Gate) -> bool {
        self.0 & (1 << gate as u32) != 0
    }

    /// The same with one gate set.
    #[must_use]
    pub fn with(self, gate: Gate, on: bool) -> Self {
        let bit = 1 << gate as u32;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl Default for Gates {
    fn default() -> Self {
        Self::all()
    }
}
