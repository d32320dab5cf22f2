//! What every Plimsoll process needs, and nothing about volumes: a context (client, time, randomness, figures, gates),
//! mirrors of the API's objects, a work queue, events, a lease, and an orderly end.

mod answer;
pub mod context;
mod deeds;
pub mod error;
#[cfg(test)]
mod fake;
pub mod gate;
pub mod health;
pub mod lease;
mod lru;
pub mod metrics;
pub mod mirror;
pub mod objects;
pub mod outbound;
mod outline;
pub mod pace;
pub mod queue;
pub mod recorder;
pub mod reflector;
pub mod requests;
pub mod resource;
pub mod series;
pub mod spans;
pub mod tasks;
pub mod throttle;
pub mod transport;
pub mod treatment;
pub mod whole;
pub mod write;

pub use context::Context;
pub use error::Error;
pub use health::Health;
pub use lease::{Ended, Fenced, Leadership, LeaseConfig, run_as_leader};
pub use mirror::{Change, Mirror, Mirrored};
pub use objects::{Objects, Preconditions};
pub use pace::Pace;
pub use queue::{Backoff, Next, Queue};
pub use recorder::{About, Place, Recorder, Severity};
pub use reflector::{Selection, reflect};
pub use resource::Resource;
pub use series::{Saying, SeriesRecorder};
pub use spans::Spans;
pub use tasks::Tasks;
pub use treatment::Treatment;
pub use whole::Whole;
