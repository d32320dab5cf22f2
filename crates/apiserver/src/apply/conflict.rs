//! The answer when an applied configuration changes fields of others.

use crate::status::{Cause, Details, Status};

use super::managers::Entry;
use super::path::PathElement;
use super::set::{FieldSet, path_text};

/// Fields of one other manager that an apply would change.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    identifier: String,
    shown: String,
    paths: Vec<Vec<PathElement<'static>>>,
}

impl Conflict {
    pub(crate) fn new(with: &Entry<'_>, fields: &FieldSet<'_>) -> Self {
        let mut paths = Vec::new();
        fields.for_each(&mut |path| paths.push(path.iter().map(owned).collect()));
        Self { identifier: with.identifier(), shown: with.shown(), paths }
    }

    /// Without the paths of a set; nothing where none is left.
    pub(crate) fn without(mut self, allowed: &FieldSet<'_>) -> Option<Self> {
        self.paths.retain(|path| !allowed.has(path));
        (!self.paths.is_empty()).then_some(self)
    }
}

fn owned(step: &PathElement<'_>) -> PathElement<'static> {
    use std::borrow::Cow;
    match step {
        PathElement::Field(name) => PathElement::Field(Cow::Owned(name.to_string())),
        PathElement::Value(value) => PathElement::Value(Cow::Owned(value.clone().into_owned())),
        PathElement::Index(at) => PathElement::Index(*at),
        PathElement::Key(keys) => PathElement::Key(
            keys.iter().map(|(k, v)| (Cow::Owned(k.to_string()), Cow::Owned(v.clone().into_owned()))).collect(),
        ),
    }
}

/// 409 with one cause for each field.
pub(crate) fn status(mut conflicts: Vec<Conflict>) -> Status {
    conflicts.sort_by(|a, b| a.identifier.cmp(&b.identifier));
    let causes: Vec<Cause> = conflicts
        .iter()
        .flat_map(|conflict| conflict.paths.iter().map(move |path| (conflict, path)))
        .map(|(conflict, path)| Cause {
            reason: "FieldManagerConflict".into(),
            message: format!("conflict with {}", conflict.shown),
            field: path_text(path),
        })
        .collect();
    let message = match causes.as_slice() {
        [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
        many => {
            let mut lines = Vec::new();
            for conflict in &conflicts {
                lines.push(format!("conflicts with {}:", conflict.shown));
                lines.extend(conflict.paths.iter().map(|path| format!("- {}", path_text(path))));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let mut status = Status::new(409, "Conflict", message);
    status.details = Some(Box::new(Details { causes, ..Details::default() }));
    status
}
