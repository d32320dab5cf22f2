//! A whole cluster in one process, in virtual time, with seeded faults and invariants.
//!
//! ```text
//!   component ── kube::Client ── faults::layer ──┐
//!   component ── kube::Client ── faults::layer ──┼── the embedded API server ── store
//!   the test  ── kube::Client ───────────────────┘              │
//!                                                 laboratory: sees every change, asks the invariants
//! ```
//! Everything runs on one thread whose clock is tokio's, paused: waiting costs nothing, and the same seed gives the same
//! run, request for request and byte for byte. [`bed::run`] makes one run, [`seeds::Seeds`] many.

pub mod bed;
pub mod component;
pub mod faults;
pub mod invariants;
mod laboratory;
pub mod nodes;
pub mod seeds;

pub use bed::{Bed, Options, Report};
pub use component::Component;
pub use faults::{Faults, Kind, When};
pub use invariants::{Change, Invariant, State};
pub use nodes::{Fleet, Machine};
pub use seeds::Seeds;
