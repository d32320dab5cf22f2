//! Feature gates: each deliberate difference from upstream's decisions, by name.
//!
//! What a gate does, why, and what it supersedes is told once, here; `docs/gates.md` is written from it.

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

    /// What it does, in one sentence.
    pub fn effect(self) -> &'static str {
        match self {
            Gate::MatchingSearch => {
                "Where giving each claim the smallest free volume leaves another claim without one, other assignments \
                 are tried before the node is refused."
            }
            Gate::JointClaimCapacity => {
                "The volumes to be made for one pod must fit into their pools together, not each by itself."
            }
            Gate::PromisedCapacity => {
                "Space of volumes that were decided on, but that no capacity object shows yet, counts as taken, and a \
                 volume must fit into what is free even where the pool's largest volume size is above that."
            }
            Gate::AttachAwarePlan => {
                "Attach limits count the volume that the plan would bind, by its own driver, and a volume of the pod \
                 that is attached already counts once."
            }
            Gate::ClosestFitScoring => {
                "Among the nodes that fit, one where free volumes fit the claims closely is best, and binding what \
                 exists comes before making something new."
            }
            Gate::ClaimOnce => "A claim that two volumes of a pod name counts as one claim.",
            Gate::EphemeralForecast => {
                "The claim of a generic ephemeral volume that is not there yet is judged as its controller will make it."
            }
        }
    }

    /// Why, in one sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Gate::MatchingSearch => {
                "A pod should not wait for volumes that are there, because of the order in which they were tried."
            }
            Gate::JointClaimCapacity => {
                "Two volumes that fit a pool only one at a time send the pod to a node where the second can never be made."
            }
            Gate::PromisedCapacity => {
                "Capacity objects lag behind by a minute or more, and pods placed in between would be promised the same space."
            }
            Gate::AttachAwarePlan => {
                "A volume of another driver takes no slot of the provisioner's, and one that is attached takes no further \
                 slot: counting them refuses nodes that would do, and accepts nodes that will not."
            }
            Gate::ClosestFitScoring => {
                "Large volumes stay for large claims, and volumes that lie idle are used before new ones are paid for."
            }
            Gate::ClaimOnce => "Otherwise a static class needs two volumes for one claim, or the node is refused.",
            Gate::EphemeralForecast => {
                "It can be said at once, and before the pod exists, whether and where it will fit."
            }
        }
    }

    /// The statements of `spec/` that no longer hold while the gate is on.
    pub fn supersedes(self) -> &'static [&'static str] {
        match self {
            Gate::MatchingSearch => &["pv-matching 2.6, step 4 (greedy, no backtracking)"],
            Gate::JointClaimCapacity => &[
                "SB-25 (two claims of 6Gi on a pool of 10Gi)",
                "scheduler-volume-binding 3.4.1 \"Each claim is checked alone\"",
            ],
            Gate::PromisedCapacity => &["scheduler-volume-binding 3.4.1 \"Nothing is subtracted\""],
            Gate::AttachAwarePlan => &[
                "other-volume-filters 7.3 \"VolumeBinding's static choice is not considered\"",
                "other-volume-filters 7.3, step 5 (an attached volume of the pod counts twice)",
            ],
            Gate::ClosestFitScoring => {
                &["UP-1 (emptier is better)", "SB-27 (the score of a pool)", "SB-28 (static hides dynamic)"]
            }
            Gate::ClaimOnce => &["PM-34 (twice)"],
            Gate::EphemeralForecast => &["SB-3 (the pod waits for the ephemeral volume controller)"],
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

/// `docs/gates.md`: every gate, what it does, why, and what it supersedes.
pub fn page() -> String {
    let mut page = String::from(
        "# Where Plimsoll differs from kube-scheduler\n\n\
         <!-- Written from crates/engine/src/gates.rs: UPDATE=1 cargo test -p plimsoll-engine --test gates_page -->\n\n\
         Each deliberate difference in a decision is a feature gate. All are on unless told otherwise: `--as-upstream` turns\n\
         all of them off, `--feature-gates NAME=false` a single one. With all of them off, every verdict, reason, plan and score\n\
         is kube-scheduler's. With them on, whatever a gate changed carries its name: `\"deviation\": \"NAME\"`.\n",
    );
    for gate in Gate::ALL {
        page.push_str(&format!(
            "\n## {}\n\n{}\n\n**Why:** {}\n\n**Supersedes:**\n\n",
            gate.name(),
            gate.effect(),
            gate.reason()
        ));
        for statement in gate.supersedes() {
            page.push_str(&format!("- {statement}\n"));
        }
    }
    page
}
