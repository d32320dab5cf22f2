//! Where a server is.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use plimsoll_apiserver::admission::Plugins;
use plimsoll_apiserver::housekeeping::Housekeeping;
use plimsoll_apiserver::start::Options;

/// The arguments of every command that serves the API. What is in the folder differs, and so does its help.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Where the store, the certificates, the tokens and the kubeconfig are
    #[arg(long, value_name = "DIR", default_value = ".plimsoll")]
    pub data_dir: PathBuf,
    /// Keep nothing but the kubeconfig and what it needs
    #[arg(long)]
    pub in_memory: bool,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443", value_parser = address)]
    pub listen: SocketAddr,
}

/// Reads `--listen`.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "it must be an IP address and a port, such as 127.0.0.1:6443 or [::1]:0".to_owned())
}

impl ServerArgs {
    /// How the API server is started there.
    pub fn options(&self, housekeeping: Housekeeping, plugins: Plugins) -> Options {
        Options {
            data_dir: self.data_dir.clone(),
            in_memory: self.in_memory,
            listen: self.listen,
            housekeeping,
            plugins,
        }
    }
}
