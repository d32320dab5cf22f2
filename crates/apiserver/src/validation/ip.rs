//! IP addresses and ranges, as Kubernetes' fields have them.
//!
//! Old fields take any spelling except leading zeros and IPv4 inside of IPv6; new fields take the canonical one only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field::{FieldError, go_quoted};
use crate::validation::path::{Path, str_value};

/// An address, and whether it could be read without mending leading zeros.
fn parse_sloppy(text: &str) -> Option<(IpAddr, bool)> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some((ip, true));
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':')) {
        return None;
    }
    let mut mended = String::with_capacity(text.len());
    let mut group = String::new();
    for c in text.chars().chain(std::iter::once('\n')) {
        if matches!(c, '.' | ':' | '\n') {
            let digits = group.trim_start_matches('0');
            mended.push_str(if digits.is_empty() && !group.is_empty() { "0" } else { digits });
            group.clear();
            if c != '\n' {
                mended.push(c);
            }
        } else {
            group.push(c);
        }
    }
    mended.parse::<IpAddr>().ok().map(|ip| (ip, false))
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

fn parse_strict(path: &Path, text: &str) -> (Option<IpAddr>, Vec<FieldError>) {
    let Some((ip, clean)) = parse_sloppy(text) else {
        let said = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return (None, vec![FieldError::invalid(path, &str_value(text), said)]);
    };
    let mut out = Vec::new();
    if !clean {
        out.push(FieldError::invalid(path, &str_value(text), "must not have leading 0s"));
    } else if is_mapped(ip) {
        out.push(FieldError::invalid(path, &str_value(text), "must not be an IPv4-mapped IPv6 address"));
    }
    (Some(ip), out)
}

/// Whether the text is an IPv6 address.
pub fn is_ipv6(text: &str) -> bool {
    matches!(parse_sloppy(text), Some((IpAddr::V6(_), _)))
}

/// Whether the text is an IPv4 address.
pub fn is_ipv4(text: &str) -> bool {
    matches!(parse_sloppy(text), Some((IpAddr::V4(_), _)))
}

/// Reads an address as old fields do (leading zeros are forgiven).
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    parse_sloppy(text).map(|(ip, _)| ip)
}

/// An address in an old field. Those in `before` were there already and stay accepted.
pub fn is_ip_legacy(path: &Path, text: &str, before: &[&str]) -> Vec<FieldError> {
    if before.contains(&text) { Vec::new() } else { parse_strict(path, text).1 }
}

/// An address in a new field.
pub fn is_ip(path: &Path, text: &str) -> Vec<FieldError> {
    let (ip, out) = parse_strict(path, text);
    match ip {
        Some(ip) if out.is_empty() && ip.to_string() != text => {
            let said = format!("must be in canonical form ({})", go_quoted(&ip.to_string()));
            vec![FieldError::invalid(path, &str_value(text), said)]
        }
        _ => out,
    }
}

/// A range: the address as written, the length of its prefix, and whether no leading zeros had to be mended.
fn parse_range(text: &str) -> Option<(IpAddr, u8, bool)> {
    let (ip, bits) = text.split_once('/')?;
    let (ip, clean) = parse_sloppy(ip)?;
    if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = bits.trim_start_matches('0');
    let length: u8 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let most = if ip.is_ipv4() { 32 } else { 128 };
    (length <= most).then_some((ip, length, clean && (bits.len() == 1 || !bits.starts_with('0'))))
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}

fn range_strict(path: &Path, text: &str) -> (Option<String>, Vec<FieldError>) {
    let Some((ip, bits, clean)) = parse_range(text) else {
        let said = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        return (None, vec![FieldError::invalid(path, &str_value(text), said)]);
    };
    let said = if !clean {
        Some("must not have leading 0s in IP or prefix length")
    } else if is_mapped(ip) {
        Some("must not have an IPv4-mapped IPv6 address")
    } else if masked(ip, bits) != ip {
        Some("must not have bits set beyond the prefix length")
    } else {
        None
    };
    let out = said.map(|said| FieldError::invalid(path, &str_value(text), said)).into_iter().collect();
    (Some(format!("{}/{bits}", masked(ip, bits))), out)
}

/// A range in an old field. Those in `before` were there already and stay accepted.
pub fn is_cidr_legacy(path: &Path, text: &str, before: &[&str]) -> Vec<FieldError> {
    if before.contains(&text) { Vec::new() } else { range_strict(path, text).1 }
}

/// A range in a new field.
pub fn is_cidr(path: &Path, text: &str) -> Vec<FieldError> {
    let (canonical, out) = range_strict(path, text);
    match canonical {
        Some(canonical) if out.is_empty() && canonical != text => {
            let said = format!("must be in canonical form ({})", go_quoted(&canonical));
            vec![FieldError::invalid(path, &str_value(text), said)]
        }
        _ => out,
    }
}

/// Whether a range is one of IPv6, where it is a range at all, however it is written.
pub fn is_ipv6_range(text: &str) -> Option<bool> {
    let (address, ..) = parse_range(text)?;
    Some(matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_none()))
}

/// An address with the length of its network's prefix.
pub fn is_interface_address(path: &Path, text: &str) -> Vec<FieldError> {
    let Some((ip, bits, _)) = parse_range(text) else {
        let said = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        return vec![FieldError::invalid(path, &str_value(text), said)];
    };
    let canonical = match ip {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) if bits > 32 => format!("{v4}/{}", bits.saturating_sub(96)),
            Some(v4) => format!("{v4}/{bits}"),
            None => format!("{ip}/{bits}"),
        },
        IpAddr::V4(_) => format!("{ip}/{bits}"),
    };
    if canonical == text {
        return Vec::new();
    }
    let said = format!("must be in canonical form ({})", go_quoted(&canonical));
    vec![FieldError::invalid(path, &str_value(text), said)]
}
