//! What processes use, as /proc says.

use anyhow::{Context as _, Result};

/// Ticks of CPU time per second (`USER_HZ`, which Linux fixes for what it shows).
const TICKS: f64 = 100.0;

/// CPU seconds that these processes have used.
pub fn cpu_seconds(processes: &[u32]) -> Result<f64> {
    let mut ticks = 0.0;
    for id in processes {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).with_context(|| format!("process {id}"))?;
        // The name in brackets may hold blanks; what follows it does not.
        let (_, rest) = stat.rsplit_once(')').context("an odd /proc/stat")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        for at in [11, 12] {
            ticks += fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        }
    }
    Ok(ticks / TICKS)
}

/// Memory that these processes hold, in MiB.
pub fn resident_mebibytes(processes: &[u32]) -> Result<f64> {
    mebibytes(processes, "VmRSS:")
}

/// The most memory that these processes ever held, in MiB.
pub fn peak_mebibytes(processes: &[u32]) -> Result<f64> {
    mebibytes(processes, "VmHWM:")
}

fn mebibytes(processes: &[u32], field: &str) -> Result<f64> {
    let mut kibibytes = 0.0;
    for id in processes {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).with_context(|| format!("process {id}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)).context(format!("no {field}"))?;
        kibibytes += line.trim().trim_end_matches("kB").trim().parse::<f64>()?;
    }
    Ok(kibibytes / 1024.0)
}
