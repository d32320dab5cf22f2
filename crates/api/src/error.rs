//! What is wrong with an object.

/// A field that cannot be read as what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{problem}", path, if path.is_empty() { "" } else { ": " })]
pub struct ConvertError {
    /// The field, such as `spec.capacity.storage`.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ConvertError {
    /// A problem whose place the callers add with [`ConvertError::at`].
    pub fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    /// A value that is none of those the field can have.
    pub fn unknown(value: &str) -> Self {
        Self::new(format!("unknown value {value:?}"))
    }

    /// The same, seen from the parent: `field` goes before the path.
    #[must_use]
    pub fn at(mut self, field: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{field}{dot}{}", self.path);
        self
    }

    /// The same, seen from the list it is in.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        self.at(&format!("[{index}]"))
    }
}

/// Converts each item of a list; an error names the item.
pub(crate) fn each<T, U>(
    items: &[T],
    field: &str,
    mut convert: impl FnMut(&T) -> Result<U, ConvertError>,
) -> Result<Vec<U>, ConvertError> {
    items.iter().enumerate().map(|(i, item)| convert(item).map_err(|e| e.at_index(i).at(field))).collect()
}
