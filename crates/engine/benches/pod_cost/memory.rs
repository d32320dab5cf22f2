//! What the process takes in memory, as Linux counts it.

/// Resident bytes; 0 where the system does not say.
pub fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kibibytes: usize = line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    kibibytes * 1024
}
