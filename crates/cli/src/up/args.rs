//! The arguments of `plimsoll up`.

use std::path::PathBuf;

use clap::Args;

use crate::process::args::LoggingFormat;
use crate::server::args::ServerArgs;

use super::machines::Zone;

/// Examples for `--help`.
pub const EXAMPLES: &str = "\
Examples:
  # Three nodes in the zones a, b and c, kept in ./.plimsoll
  plimsoll up
  kubectl --kubeconfig .plimsoll/kubeconfig get nodes
  # Six nodes in two zones, with manifests to begin with
  plimsoll up --nodes 6 --zones a,b -f examples/database.yaml
  # For a test: any free port, nothing kept but the kubeconfig
  plimsoll up --in-memory --listen 127.0.0.1:0 --data-dir /tmp/cluster
  # With upstream's own StatefulSet controller instead of ours
  plimsoll up --controllers='*,-statefulset-controller'
  kube-controller-manager --kubeconfig .plimsoll/kubeconfig --controllers=statefulset-controller

docs/up.md has every flag, what the simulated nodes do, and which controllers there are.";

/// What is in the data folder.
const FOLDER: &str = "Where the store, the volumes, the certificates, the tokens and the kubeconfig are";

/// `up`.
#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |folder| folder.help(FOLDER)))]
pub struct UpArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// How many nodes are simulated: node-1, node-2, …
    #[arg(long, value_name = "NUMBER", default_value_t = 3, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=5000))]
    pub nodes: u32,
    /// The zones that nodes are dealt to in turn
    #[arg(long, value_name = "NAMES", default_value = "a,b,c", value_delimiter = ',', value_parser = super::machines::zone)]
    pub zones: Vec<Zone>,
    /// How many cores each node has
    #[arg(long, value_name = "QUANTITY", default_value = "8", value_parser = super::machines::quantity)]
    pub node_cpu: String,
    /// How much memory each node has
    #[arg(long, value_name = "QUANTITY", default_value = "32Gi", value_parser = super::machines::quantity)]
    pub node_memory: String,
    /// Manifests to begin with: a file, a folder, or - for stdin; repeatable
    #[arg(short, long, value_name = "PATH")]
    pub file: Vec<PathBuf>,
    /// Which controllers run: names, -names, or * for all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// Place pods
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub scheduler: bool,
    /// How much is logged: 0 warnings, 1 what was done, 2 and more every decision
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub verbosity: u8,
    /// How logs are written
    #[arg(long, value_enum, default_value_t = LoggingFormat::Text)]
    pub logging_format: LoggingFormat,
}
