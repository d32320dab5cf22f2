//! Time and randomness, handed in: a whole run repeats byte for byte when both are seeded.

pub mod duration;

use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A first moment, and from there on tokio's clock, which tests pause.
    Virtual {
        /// The time at `start`.
        epoch: Timestamp,
        /// Tokio's clock at that moment.
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// A clock that begins here and follows tokio's. Must be called inside a runtime.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self::Virtual { epoch, start: tokio::time::Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Virtual { epoch, start } => {
                let passed = SignedDuration::try_from(start.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.checked_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

/// The source of uids, generated names and tokens.
pub struct Entropy(Mutex<StdRng>);

/// What generated names end in: no vowels, so that no words appear, and no look-alikes.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Entropy {
    /// From the operating system.
    pub fn system() -> Self {
        Self(Mutex::new(StdRng::from_os_rng()))
    }

    /// From a seed: the same one gives the same ids.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Uses the generator.
    pub fn with<T>(&self, use_it: impl FnOnce(&mut StdRng) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// A random uid (version 4).
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        self.with(|rng| rng.fill_bytes(&mut bytes));
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut out = String::with_capacity(36);
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            out.push_str(&format!("{byte:02x}"));
        }
        out
    }

    /// A name that begins with `base`, as `generateName` asks for it.
    pub fn name(&self, base: &str) -> String {
        // The whole must stay a label: 63 characters, five of them random.
        const LONGEST_BASE: usize = 58;
        let end = (0..=base.len().min(LONGEST_BASE)).rev().find(|i| base.is_char_boundary(*i)).unwrap_or(0);
        let mut out = base[..end].to_owned();
        self.with(|rng| {
            for _ in 0..5 {
                out.push(char::from(NAME_LETTERS[rng.random_range(0..NAME_LETTERS.len())]));
            }
        });
        out
    }
}

impl std::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entropy")
    }
}
