//! End states of workloads: the same stories on `plimsoll up` and on the real control plane with upstream's controllers.
//!
//! ```text
//!  tests/workloads/*.yaml ──► story ──► play ──► outcome (names) ──► compare with tests/workloads/recorded/*.json
//!                                        ▲                           (what upstream's controllers came to)
//!       ground: a control plane with three simulated nodes
//! ```
//! The nodes are the same on both: those of `plimsoll-simulate`, as clients of the server. So what a kubelet would do is no difference.
//!
//! Stories are played side by side on one ground, each in its own namespace. Those that do something to nodes are played alone: on the
//! real one after the others, each on nodes put in order again; on ours each on an `up` of its own, which costs a second.

pub mod drain;
pub mod ground;
pub mod machines;
pub mod names;
pub mod outcome;
pub mod play;
pub mod story;
pub mod suite;
