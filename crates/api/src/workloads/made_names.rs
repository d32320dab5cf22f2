//! Made-up names: the same in every run, and in the alphabet that Kubernetes uses for its own.

use plimsoll_engine::collections::Set;

/// Neither vowels nor look-alikes, so that no word appears by accident.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// `length` characters that `parts` always give.
pub(crate) fn suffix(parts: &[&str], length: usize) -> String {
    // FNV-1a, with a separator that no name can contain.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // The low bits of the hash depend on the last bytes only; mix the high ones in.
    hash ^= hash >> 32;
    (0..length)
        .map(|_| {
            let index = usize::try_from(hash % 27).unwrap_or(0);
            hash /= 27;
            char::from(ALPHABET[index])
        })
        .collect()
}

/// The first name `<prefix>-<suffix>` that is not taken. It is then taken.
pub(super) fn unused(prefix: &str, parts: &[&str], taken: &mut Set<String>) -> String {
    for attempt in 0_u32.. {
        let attempt = attempt.to_string();
        let salted: Vec<&str> = parts.iter().copied().chain([attempt.as_str()]).collect();
        let name = format!("{prefix}-{}", suffix(&salted, 5));
        if taken.insert(name.clone()) {
            return name;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable_and_never_taken_twice() {
        let mut taken = Set::default();
        let first = unused("web", &["default", "0"], &mut taken);
        let second = unused("web", &["default", "0"], &mut taken);
        assert_ne!(first, second);
        assert_eq!(first, unused("web", &["default", "0"], &mut Set::default()));
        assert_eq!(first.len(), "web-".len() + 5);
    }
}
