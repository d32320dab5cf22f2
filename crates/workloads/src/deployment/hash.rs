//! What tells the ReplicaSets of a Deployment apart: a hash of the pod template, in their names and on their pods.
//!
//! Upstream hashes a printout of Go's memory, which nobody else can make. Any hash will do: a set is found again by its
//! template, and two templates of one hash are told apart by the collision count.

use serde_json::Value;

/// The characters of generated names: no vowels, so that no words appear, and no look-alikes.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// The longest name that an object may have.
const LONGEST_NAME: usize = 253;

/// The hash of a template that met with `collisions` others of the same.
pub(super) fn pod_template_hash(template: &Value, collisions: Option<u64>) -> String {
    let mut hash = Fnv::default();
    hash.add(template.to_string().as_bytes());
    if let Some(collisions) = collisions {
        hash.add(&collisions.to_le_bytes());
    }
    let digits = hash.0.to_string();
    digits.bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

/// The name of the set with this hash; a Deployment's name that is too long is cut.
pub(super) fn set_name(deployment: &str, hash: &str) -> String {
    let room = LONGEST_NAME.saturating_sub(hash.len() + 1);
    // Names are ASCII, as the API server checks.
    let end = (0..=deployment.len().min(room)).rev().find(|i| deployment.is_char_boundary(*i)).unwrap_or(0);
    format!("{}-{hash}", &deployment[..end])
}

/// FNV-1a of 32 bits.
struct Fnv(u32);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            let mut fnv = Fnv::default();
            fnv.add(text.as_bytes());
            assert_eq!(fnv.0, hash, "{text}");
        }
    }

    #[test]
    fn a_template_has_one_hash_until_it_collides() {
        let template = |image: &str| json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let hash = pod_template_hash(&template("a"), None);
        assert_eq!(hash, pod_template_hash(&template("a"), None));
        assert_ne!(hash, pod_template_hash(&template("b"), None));
        assert_ne!(hash, pod_template_hash(&template("a"), Some(1)));
        assert_ne!(pod_template_hash(&template("a"), Some(2)), pod_template_hash(&template("a"), Some(1)));
        assert!((1..=10).contains(&hash.len()) && hash.bytes().all(|c| LETTERS.contains(&c)));
    }

    #[test]
    fn names_are_cut_to_fit() {
        assert_eq!(set_name("web", "5d4f"), "web-5d4f");
        let name = set_name(&"w".repeat(253), "5d4f");
        assert_eq!(name.len(), 253);
        assert!(name.ends_with("w-5d4f"));
    }
}
