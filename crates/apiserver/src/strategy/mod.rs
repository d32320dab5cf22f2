//! What upstream does to an object between its arrival and its storage, kind by kind: which parts a request may write, what is
//! computed, how it is deleted and selected.
//!
//! ```text
//!   decode → defaults → admission (change) → prepare_create / prepare_update → validation → admission (check) → store
//! ```

mod create;
mod custom;
mod deletion;
mod fields;
mod gates;
mod pod;
mod quality;
mod resources;
mod rules;
mod service;
mod update;
mod warnings;

pub use crate::auth::User;
pub use create::prepare_create;
pub use custom::{prepare_custom_create, prepare_custom_update};
pub use deletion::{Propagation, default_propagation, graceful_delete};
pub use fields::{field_label, is_selectable, selectable_fields};
pub use pod::set_condition;
pub use quality::quality_of_service;
pub(crate) use resources::{Amounts, aggregate, amounts};
pub use rules::{allow_create_on_update, allow_unconditional_update};
pub use service::{allocates_node_ports, complete_addresses, name_address_twice, needs_cluster_ip};
pub use update::prepare_update;
pub use warnings::{deprecated_api, on_create as warnings_on_create, on_update as warnings_on_update};

/// What a strategy may depend on besides the objects.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The time as RFC 3339 has it, to the second, in UTC.
    pub now: &'a str,
    /// Who asks.
    pub user: &'a User,
}

#[cfg(test)]
mod tests;
