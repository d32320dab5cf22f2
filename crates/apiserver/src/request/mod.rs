//! What a request asks for: its path, its options, the form of the answer.

pub mod accept;
pub mod options;
pub mod path;

pub use accept::{Accept, Format, Transform};
pub use options::{ListOptions, Query, WriteOptions};
pub use path::Target;
