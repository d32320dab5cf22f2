//! What `plimsoll up` and `plimsoll apiserver` have in common: where a server keeps its things and listens, and what keeps it from that.

pub mod args;
pub mod trouble;
