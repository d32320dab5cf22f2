//! Simulated nodes: what a kubelet does as the API server sees it, and nothing else, so that a real one can take the place.
//!
//! A node registers itself, renews its lease and reports its status; it takes pods or refuses them, waits for their
//! volumes, and lets their containers live by a simple [`rule`] that annotations of the pod change. It speaks to the
//! Kubernetes API and to nothing else: the embedded server, the one in memory and a real kube-apiserver are the same to
//! it. Many machines of one process are a [`Fleet`], and share one watch of pods.
//!
//! The annotation [`CUT_OFF`] on a Node cuts its kubelet off, as a broken cable would, until it is taken away.
//!
//! What a kubelet does and these do not: run anything (there are no logs, and nothing to exec into), static pods, probes
//! (they count as passed), eviction under pressure, making room for critical pods, images, devices, attaching.

mod admission;
mod container;
mod fleet;
mod heartbeat;
mod kubelet;
mod lifecycle;
mod machine;
mod registration;
pub mod rule;
mod status;
mod time;
mod volumes;

use plimsoll_runtime::Context;

pub use fleet::Fleet;
pub use kubelet::CUT_OFF;
pub use machine::{Driver, Machine};

/// Lives as a node until the context's tasks end.
pub async fn live(machine: Machine, context: Context) {
    Fleet::of([machine]).live(context).await;
}
