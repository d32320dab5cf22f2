//! The harness of the black-box tests: two API servers, ours and upstream's, and scenarios that are played on both.
//!
//! [`upstream`] starts the real control plane, [`embedded`] ours; [`scenario`] reads what is asked, [`play`] asks it, [`normal`] takes out
//! of the answers what differs from run to run, and [`compare`] tells what is left. [`volumes`] plays what controllers make of claims and
//! volumes, [`workloads`] what they make of workloads; [`takes`] plays again what upstream's caches were late for. [`deploy`] runs components as the manifests of `deploy/` say, and [`audit`] tells what they asked for.

pub mod audit;
pub mod client;
pub mod compare;
pub mod deploy;
pub mod embedded;
pub mod files;
pub mod identities;
pub mod load;
pub mod machine;
pub mod normal;
pub mod play;
pub mod process;
pub mod scenario;
pub mod scheduling;
pub mod session;
pub mod suite;
pub mod takes;
pub mod trouble;
pub mod upstream;
pub mod volumes;
pub mod workloads;
