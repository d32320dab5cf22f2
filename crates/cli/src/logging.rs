//! Logs of the long-running processes: to stderr, a line each.

use tracing_subscriber::filter::LevelFilter;

use crate::controller::args::LoggingFormat;

/// Begins to log.
pub fn start(verbosity: u8, format: LoggingFormat) {
    let level = match verbosity {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2..=3 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level);
    // A second start in one process keeps the first one's way.
    let _ = match format {
        LoggingFormat::Text => builder.with_ansi(false).try_init(),
        LoggingFormat::Json => builder.json().try_init(),
    };
}
