//! The arguments of `plimsoll node`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  # What happens when node-2 can no longer be reached?
  plimsoll node cut node-2 --kubeconfig .plimsoll/kubeconfig
  kubectl --kubeconfig .plimsoll/kubeconfig get nodes,pods -o wide --watch
  # It is back
  plimsoll node restore node-2 --kubeconfig .plimsoll/kubeconfig";

/// `node`.
#[derive(Debug, Args)]
pub struct NodeArgs {
    #[command(subcommand)]
    pub verb: NodeVerb,
}

/// What is done to a node.
#[derive(Debug, Subcommand)]
pub enum NodeVerb {
    /// Cut a simulated node off from the API, as a broken network does: its pods go on, and nobody hears of it
    Cut(OneNode),
    /// Bring a node that was cut off back
    Restore(OneNode),
}

/// Which node of which cluster.
#[derive(Debug, Args)]
pub struct OneNode {
    /// The node
    #[arg(value_name = "NODE")]
    pub name: String,
    /// The kubeconfig of the cluster [default: as for kubectl]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context to use
    #[arg(long)]
    pub context: Option<String>,
}
