//! A structural schema as the types that server-side apply walks along.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_schema::{Field, ListKind, PatchStrategy, StructType, Table, Type, TypeId};
use serde_json::Value;

use super::schema::{Additional, Node};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The table of one version, and the type of its objects.
pub(super) fn table(node: &Node, kind: &str) -> (Arc<Table>, Type) {
    let mut maker = Maker { table: Table::default(), copied: BTreeMap::new(), next: 0 };
    let metadata = maker.object_meta();
    let root = maker.object(node, kind, Some(&metadata), node.preserve);
    (Arc::new(maker.table), root)
}

struct Maker {
    table: Table,
    copied: BTreeMap<TypeId, TypeId>,
    next: usize,
}

impl Maker {
    /// The metadata of any object, from the built-in table.
    fn object_meta(&mut self) -> Type {
        let builtin = Table::builtin();
        match builtin.named(OBJECT_META) {
            Some(id) => Type::Struct(self.copy(&builtin, id)),
            None => Type::Json,
        }
    }

    fn copy(&mut self, from: &Table, id: TypeId) -> TypeId {
        if let Some(known) = self.copied.get(&id) {
            return *known;
        }
        let mut ty = from.get(id).clone();
        // Its place is taken first: a struct may hold itself.
        let place = self.table.add(StructType::new(&ty.name, Vec::new()));
        self.copied.insert(id, place);
        for field in &mut ty.fields {
            field.ty = self.copy_type(from, &field.ty);
        }
        self.table.add(ty)
    }

    fn copy_type(&mut self, from: &Table, ty: &Type) -> Type {
        match ty {
            Type::Struct(id) => Type::Struct(self.copy(from, *id)),
            Type::List(inner) => Type::List(Box::new(self.copy_type(from, inner))),
            Type::Wrapped(inner) => Type::Wrapped(Box::new(self.copy_type(from, inner))),
            Type::Map(inner) => Type::Map(Box::new(self.copy_type(from, inner))),
            plain => plain.clone(),
        }
    }

    /// The type of a place. `kept` says that a place further up keeps unknown fields, which holds for all below it.
    fn of(&mut self, node: &Node, kept: bool) -> Type {
        let kept = kept || node.preserve;
        if node.int_or_string {
            return Type::IntOrString;
        }
        match node.types.first().map(String::as_str) {
            Some("string") => Type::String,
            Some("boolean") => Type::Bool,
            Some("integer") => Type::Int64,
            Some("number") => Type::Double,
            Some("array") => {
                let inner = node.items.as_deref().map_or(Type::Json, |items| self.of(items, kept));
                Type::List(Box::new(inner))
            }
            Some("object") => {
                let metadata = if node.embedded { Some(self.object_meta()) } else { None };
                self.object(node, "", metadata.as_ref(), kept)
            }
            _ => Type::Json,
        }
    }

    fn object(&mut self, node: &Node, name: &str, metadata: Option<&Type>, kept: bool) -> Type {
        match &node.additional {
            Some(Additional::Schema(inner)) if metadata.is_none() => {
                return Type::Map(Box::new(self.of(inner, kept)));
            }
            Some(Additional::Any(true)) if metadata.is_none() => return Type::Map(Box::new(Type::Json)),
            _ => {}
        }
        let free = kept || (node.properties.is_empty() && metadata.is_none());
        let mut fields: Vec<Field> = Vec::new();
        if let Some(metadata) = metadata {
            fields.push(field("apiVersion", Type::String, None));
            fields.push(field("kind", Type::String, None));
            fields.push(field("metadata", metadata.clone(), None));
        }
        for (key, inner) in &node.properties {
            if metadata.is_some() && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                continue;
            }
            let ty = self.of(inner, kept);
            let mut field = field(key, ty, inner.default.clone());
            field.required = node.required.contains(key);
            field.list = inner.list;
            field.list_keys = inner.list_keys.iter().map(|k| k.as_str().into()).collect();
            field.atomic = inner.atomic;
            fields.push(field);
        }
        self.next += 1;
        let name = if name.is_empty() { format!("inlined.{}", self.next) } else { format!("custom.{name}") };
        let mut ty = StructType::new(&name, fields);
        ty.preserve_unknown = free;
        ty.atomic = node.atomic;
        Type::Struct(self.table.add(ty))
    }
}

/// A field that is written when it is set, and only then.
fn field(name: &str, ty: Type, default: Option<Value>) -> Field {
    Field {
        name: name.into(),
        ty,
        number: 0,
        via: 0,
        pointer: true,
        omit_empty: true,
        omit_zero: false,
        required: false,
        default,
        patch: PatchStrategy::default(),
        patch_key: "".into(),
        list: ListKind::Atomic,
        list_keys: Box::default(),
        atomic: false,
    }
}
