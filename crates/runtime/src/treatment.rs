//! What becomes of a setting of the component whose place is taken: each has one, so that none is passed over in silence.

/// What becomes of a flag or a field of upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It means what it means upstream.
    Taken,
    /// It is accepted and changes nothing; why.
    Noted(&'static str),
    /// It is refused, unless it is turned off or empty; why.
    Refused(&'static str),
}

impl Treatment {
    /// What becomes of it in a word, and why, for tables.
    pub fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Taken => ("taken", ""),
            Self::Noted(why) => ("noted", why),
            Self::Refused(why) => ("refused", why),
        }
    }
}
