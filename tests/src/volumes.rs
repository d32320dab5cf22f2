//! End states of claims, volumes and pods: the same scenarios under kube-controller-manager's controllers and under ours, and under
//! kube-scheduler and ours.
//!
//! ```text
//!  tests/volumes/*.yaml,    ──► scenario ──► play ──► outcome ──► compare with recorded/*.json beside them
//!  tests/scheduling/*.yaml                   ▲                    (what upstream's programs came to)
//!          cluster (server, controllers, scheduler) ── observe
//! ```
//! All scenarios are played side by side on one server, each in its own namespace and with names of its own, because most of the time of
//! each is spent on seeing that nothing more happens. Those about what a cluster has one of (the default class) are played one by one.

pub mod cluster;
pub mod conditions;
pub mod observe;
pub mod outcome;
pub mod play;
pub mod provisioner;
pub mod records;
pub mod scenario;
pub mod stage;
pub mod statements;
pub mod suite;
pub mod templates;
pub mod verdict;
