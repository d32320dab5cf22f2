//! Logs of the long-running processes: to stderr, a line each.

use tracing_subscriber::EnvFilter;

use crate::process::args::LoggingFormat;

/// Begins to log.
pub fn start(verbosity: u8, format: LoggingFormat) {
    let level = match verbosity {
        0 => "warn",
        1 => "info",
        2..=3 => "debug",
        _ => "trace",
    };
    // What libraries have to say is asked for by a higher level: it is about bytes, not about volumes.
    let others = if verbosity > 5 { "debug" } else { "warn" };
    // All of our crates begin with the name.
    // Who leads is always said: it is rare, and the first question when something was not done.
    let leading = if verbosity == 0 { "info" } else { level };
    let filter = format!("{others},plimsoll={level},plimsoll_runtime::lease={leading}");
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(EnvFilter::new(filter));
    // A second start in one process keeps the first one's way.
    let _ = match format {
        LoggingFormat::Text => builder.with_ansi(false).try_init(),
        LoggingFormat::Json => builder.json().try_init(),
    };
}
