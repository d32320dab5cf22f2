//! Where the fields of a struct stand in its message.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::table::{Field, FieldId, StructType, Table, TypeId};

/// The place of a field: the numbers of the messages around it, then its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    path: [u32; 3],
    /// How many of the path's numbers count.
    pub(super) depth: usize,
    pub(super) field: FieldId,
}

impl Slot {
    /// The number at a level.
    pub(super) fn number(&self, level: usize) -> u32 {
        self.path.get(level).copied().unwrap_or(0)
    }
}

static BUILTIN: LazyLock<Vec<Vec<Slot>>> =
    LazyLock::new(|| Table::builtin().types().map(|(_, ty)| slots_of(ty)).collect());

/// The fields of a struct in the order in which they are written.
pub(super) fn slots(table: &Table, id: TypeId) -> Cow<'static, [Slot]> {
    if std::ptr::eq(table, &*Table::builtin())
        && let Some(slots) = BUILTIN.get(id.0 as usize)
    {
        return Cow::Borrowed(slots);
    }
    Cow::Owned(slots_of(table.get(id)))
}

fn slots_of(ty: &StructType) -> Vec<Slot> {
    let envelope = kind_is_outside(ty);
    let mut out: Vec<Slot> = ty
        .fields
        .iter()
        .enumerate()
        .filter(|(i, field)| field.number > 0 && !(envelope && *i < 2))
        .map(|(i, field)| slot(ty, field, i))
        .collect();
    out.sort_unstable();
    out
}

fn slot(ty: &StructType, field: &Field, id: FieldId) -> Slot {
    // The one struct with an inline struct inside an inline struct: NamedRuleWithOperations > RuleWithOperations > Rule.
    if ty.short_name() == "NamedRuleWithOperations" && field.via == 2 && &*field.name != "operations" {
        return Slot { path: [2, 2, field.number], depth: 3, field: id };
    }
    match field.via {
        0 => Slot { path: [field.number, 0, 0], depth: 1, field: id },
        via => Slot { path: [via, field.number, 0], depth: 2, field: id },
    }
}

/// Whether `kind` and `apiVersion`, the first two fields, are those of the envelope and not in the message: then their numbers, which
/// are those of a struct of their own, are taken by other fields.
fn kind_is_outside(ty: &StructType) -> bool {
    let [kind, version, rest @ ..] = &ty.fields[..] else { return false };
    let named = &*kind.name == "kind" && &*version.name == "apiVersion";
    named && rest.iter().any(|f| if f.via == 0 { f.number == 1 } else { f.via == 1 })
}
