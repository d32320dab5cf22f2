//! One copy of each repeated string.

use plimsoll_engine::collections::Set;
use plimsoll_engine::labels::Name;

/// Past this many different strings, new ones are no longer remembered: what repeats was seen long before, and a
/// label that is unique on each of a million pods must not be kept twice.
const MAX_SHARED: usize = 1 << 16;

/// Hands out one shared copy of strings that stand on many objects: label keys and values, class and driver names.
#[derive(Debug, Default)]
pub struct Interner {
    known: Set<Name>,
}

impl Interner {
    /// An interner that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shared copy of `text`.
    pub fn share(&mut self, text: &str) -> Name {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let name = Name::from(text);
        if self.known.len() < MAX_SHARED {
            self.known.insert(name.clone());
        }
        name
    }

    /// The shared copies of `texts`.
    pub fn share_all(&mut self, texts: &[String]) -> Vec<Name> {
        texts.iter().map(|t| self.share(t)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn equal_strings_are_one_allocation() {
        let mut names = Interner::new();
        let (a, b) = (names.share("zone-a"), names.share("zone-a"));
        assert!(Arc::ptr_eq(&a, &b));
        assert!(!Arc::ptr_eq(&a, &names.share("zone-b")));
    }
}
