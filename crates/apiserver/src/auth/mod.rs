//! Who is asking, and whether they may.
//!
//! A request passes three doors: [`identity`] (a bearer token to a [`User`]), [`impersonation`] (`--as`), and [`rbac`] (the rules that
//! roles and bindings spell out). Everything here is pure or about files; nothing reads the clock, and secrets are hashed or kept
//! out of every `Debug`.

pub mod aggregation;
pub mod attributes;
pub mod escalation;
pub mod files;
pub mod hmac;
pub mod identity;
pub mod impersonation;
pub mod kubeconfig;
pub mod rbac;
pub mod reviews;
pub mod rules;
pub mod selectors;
pub mod service_account;
pub mod setup;
pub mod signers;
pub mod tls;
pub mod token_file;
pub mod token_request;

pub use attributes::Attributes;
pub use identity::{Authenticator, Tokens, User};
pub use rbac::{Decision, Rbac};
pub use setup::Setup;
