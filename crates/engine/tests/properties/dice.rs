//! Choices drawn from a list of numbers: what proptest shrinks is the list, and zero is always the plainest choice.

use proptest::prelude::{Strategy, any};

/// A source of choices; when it is used up, every choice is the plainest.
#[derive(Clone)]
pub struct Dice {
    rolls: Vec<u16>,
    next: usize,
}

/// Dice with up to so many rolls.
pub fn dice(rolls: usize) -> impl Strategy<Value = Dice> {
    proptest::collection::vec(any::<u16>(), rolls * 9 / 10..rolls).prop_map(|rolls| Dice { rolls, next: 0 })
}

impl std::fmt::Debug for Dice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = self.rolls.iter().rposition(|r| *r != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.rolls[..used])
    }
}

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        let roll = self.rolls.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(roll) % sides.max(1)
    }

    /// Yes in one of `odds` cases.
    pub fn one_in(&mut self, odds: usize) -> bool {
        self.roll(odds) == odds - 1
    }

    /// One of several; the first is the plainest.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// Any order of the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = at - self.roll(at + 1);
            items.swap(at, other);
        }
    }
}
