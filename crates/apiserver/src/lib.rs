//! The embedded Kubernetes API: one tower service that stores, watches, patches, admits and describes Kubernetes' kinds as a real
//! kube-apiserver does. It knows kinds through [`plimsoll_schema`]'s table and decides nothing about volumes.
//!
//! The way of a request: [`service`] (who, what, may they) → `verbs` (one file per verb; writes share `verbs/write.rs`) → [`store`].

pub mod admission;
mod allocate;
pub mod apply;
pub mod auth;
mod body;
pub mod bootstrap;
pub use plimsoll_clock as clock;
mod codec;
pub mod columns;
mod convert;
pub mod core;
mod custom;
pub mod defaults;
mod discovery;
pub mod field;
mod guard;
mod health;
pub mod housekeeping;
pub mod kind;
pub mod patch;
mod patience;
mod pem;
mod registry;
mod reply;
mod request;
mod reviews;
mod selectors;
pub mod server;
pub mod service;

pub mod start;
pub mod status;
pub mod store;
pub mod strategy;
pub mod validation;
pub mod value;
mod verbs;
