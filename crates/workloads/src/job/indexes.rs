//! Sets of completion indexes, kept and written as intervals (`0,2-5`): a job of a million indexes has a short status.

use std::fmt;

/// A set of indexes: intervals in order, with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes(Vec<(i64, i64)>);

impl Indexes {
    /// What a status or a policy says. Indexes from `completions` on do not count, and neither does what cannot be read.
    pub fn parse(text: &str, completions: i64) -> Self {
        let mut out = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) else { continue };
            if first >= completions {
                break;
            }
            if first <= last {
                out.push(first, last.min(completions - 1));
            }
        }
        out
    }

    /// The same with these indexes, in any order.
    pub fn with(&self, indexes: impl IntoIterator<Item = i64>) -> Self {
        let mut all = self.0.clone();
        all.extend(indexes.into_iter().map(|i| (i, i)));
        all.sort_unstable();
        let mut out = Self::default();
        for (first, last) in all {
            out.push(first, last);
        }
        out
    }

    /// Both together.
    pub fn and(&self, other: &Self) -> Self {
        let mut all = [self.0.as_slice(), other.0.as_slice()].concat();
        all.sort_unstable();
        let mut out = Self::default();
        for (first, last) in all {
            out.push(first, last);
        }
        out
    }

    /// Takes in an interval that begins no earlier than the last one.
    fn push(&mut self, first: i64, last: i64) {
        match self.0.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => self.0.push((first, last)),
        }
    }

    /// Whether the index is among them.
    pub fn has(&self, index: i64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// How many there are.
    pub fn count(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// How many are in both.
    pub fn count_common(&self, other: &Self) -> i64 {
        let (mut common, mut i, mut j) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            common += (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
            if a.1 <= b.1 {
                i += 1;
            }
            if b.1 <= a.1 {
                j += 1;
            }
        }
        common
    }

    /// The first `count` indexes below `completions` that are not among them.
    pub fn first_missing(&self, count: usize, completions: i64) -> Vec<i64> {
        let mut out = Vec::new();
        let mut next = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            out.extend((next..first.min(completions)).take(count - out.len()));
            next = next.max(last + 1);
        }
        out
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_written_as_they_are_read() {
        for (text, completions, shown, count) in [
            ("", 5, "", 0),
            ("0", 5, "0", 1),
            ("0,1", 5, "0,1", 2),
            ("0,1,2", 5, "0-2", 3),
            ("1-3,5,8-9", 10, "1-3,5,8,9", 6),
            ("1-3,5,8-9", 9, "1-3,5,8", 5),
            ("1-3,7", 3, "1,2", 2),
            ("4-6", 4, "", 0),
            ("1,x,3-y,4", 9, "1,4", 2),
            ("0,3-2,5--9223372036854775808,7", 9, "0,7", 2),
        ] {
            let indexes = Indexes::parse(text, completions);
            assert_eq!((indexes.to_string().as_str(), indexes.count()), (shown, count), "{text} below {completions}");
        }
    }

    #[test]
    fn they_grow_and_are_compared() {
        let some = Indexes::parse("1-3,7", 10);
        assert_eq!(some.with([8, 5, 0]).to_string(), "0-3,5,7,8");
        assert_eq!(some.with([2]).to_string(), "1-3,7");
        assert_eq!(some.and(&Indexes::parse("4-6,9", 10)).to_string(), "1-7,9");
        for (index, has) in [(0, false), (1, true), (3, true), (4, false), (7, true), (8, false)] {
            assert_eq!(some.has(index), has, "{index}");
        }
        for (other, common) in [("", 0), ("0", 0), ("0-9", 4), ("2-7", 3), ("3,7", 2)] {
            assert_eq!(some.count_common(&Indexes::parse(other, 10)), common, "{other}");
        }
    }

    #[test]
    fn the_missing_ones_are_found_in_order() {
        for (text, count, completions, missing) in [
            ("", 2, 5, vec![0, 1]),
            ("", 9, 3, vec![0, 1, 2]),
            ("0,2", 2, 5, vec![1, 3]),
            ("0-3", 3, 5, vec![4]),
            ("0-4", 3, 5, vec![]),
            ("1", 0, 5, vec![]),
        ] {
            assert_eq!(Indexes::parse(text, 99).first_missing(count, completions), missing, "{text}");
        }
    }
}
