//! Types and their fields.

use std::sync::{Arc, LazyLock};

use plimsoll_engine::collections::Map;
use serde_json::Value;

use crate::resources::GroupVersion;

/// The place of a struct in its [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// The place of a field in its struct, in the order of its declaration.
pub type FieldId = usize;

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Text.
    String,
    /// True or false.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A floating-point number.
    Double,
    /// Bytes, base64 in JSON.
    Bytes,
    /// An amount such as `10Gi`; canonical in canonical form.
    Quantity,
    /// A port or a percentage: a number of 32 bits, or text.
    IntOrString,
    /// A time to the second.
    Time,
    /// A time to the microsecond.
    MicroTime,
    /// A duration as Go writes it.
    Duration,
    /// An object of any kind.
    Raw,
    /// Any JSON.
    Json,
    /// A set of fields, as field ownership keeps them.
    Fields,
    /// A struct of the same table.
    Struct(TypeId),
    /// A list.
    List(Box<Type>),
    /// A list that protobuf puts into a message of its own.
    Wrapped(Box<Type>),
    /// An object with any keys and values of one type.
    Map(Box<Type>),
}

/// How a list is merged by server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListKind {
    /// As a whole.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By the keys of its elements ([`Field::list_keys`]).
    Map,
}

/// How a field is merged by a strategic merge patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// Lists are merged, by [`Field::patch_key`] or, without one, by value; otherwise the patch's list takes the place of the old one.
    pub merge: bool,
    /// Of a union, only the keys that the patch names are kept (`$retainKeys`).
    pub retain_keys: bool,
    /// The patch's object takes the place of the old one, where objects are merged otherwise.
    pub replace: bool,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in JSON.
    pub name: Box<str>,
    /// What it holds.
    pub ty: Type,
    /// Its number in protobuf; 0 where protobuf has none.
    pub number: u32,
    /// The number of the message that holds it in protobuf, where JSON has it inline; 0 elsewhere.
    pub via: u32,
    /// It is optional in itself: absent is not the same as zero.
    pub pointer: bool,
    /// An absent or empty value is left out (`omitempty`); a struct that is no pointer is written all the same.
    pub omit_empty: bool,
    /// A zero value is left out, structs too (`omitzero`).
    pub omit_zero: bool,
    /// The OpenAPI document calls it required.
    pub required: bool,
    /// The default that the OpenAPI document names, where it is not the zero value.
    pub default: Option<Value>,
    /// How a strategic merge patch treats it.
    pub patch: PatchStrategy,
    /// The key by which a strategic merge patch tells the list's elements apart; empty for lists of plain values.
    pub patch_key: Box<str>,
    /// How server-side apply treats the list.
    pub list: ListKind,
    /// The keys by which server-side apply tells the list's elements apart.
    pub list_keys: Box<[Box<str>]>,
    /// Server-side apply treats the struct or map as one value.
    pub atomic: bool,
}

/// A struct: an object with known fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StructType {
    /// Its name in the OpenAPI documents, such as `io.k8s.api.core.v1.PodSpec`.
    pub name: Box<str>,
    /// Its fields, in the order of their declaration.
    pub fields: Vec<Field>,
    /// Server-side apply treats it as one value.
    pub atomic: bool,
    /// Unknown fields are kept, not dropped (custom resources only).
    pub preserve_unknown: bool,
    pub(crate) index: Map<Box<str>, FieldId>,
}

impl StructType {
    /// A struct of these fields.
    pub fn new(name: &str, fields: Vec<Field>) -> Self {
        let index = fields.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
        Self { name: name.into(), fields, index, ..Self::default() }
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.index.get(name).map(|i| &self.fields[*i])
    }

    /// The last part of the name: the name of the type in Go.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// All types and resources of a release, or those of a custom resource.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(crate) types: Vec<StructType>,
    pub(crate) by_name: Map<Box<str>, TypeId>,
    /// `group/version/Kind` to type.
    pub(crate) kinds: Map<Box<str>, TypeId>,
    pub(crate) groups: Vec<GroupVersion>,
}

static BUILTIN: LazyLock<Arc<Table>> = LazyLock::new(|| Arc::new(crate::load::builtin()));

impl Table {
    /// The stable kinds of the release that this version of the program speaks.
    pub fn builtin() -> Arc<Table> {
        BUILTIN.clone()
    }

    /// The struct at a place of this table.
    pub fn get(&self, id: TypeId) -> &StructType {
        &self.types[id.0 as usize]
    }

    /// The struct of this OpenAPI name.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// The type of a kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(format!("{group}/{version}/{kind}").as_str()).copied()
    }

    /// Every struct, with its place.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &StructType)> {
        (0u32..).map(TypeId).zip(&self.types)
    }

    /// Adds a struct, or takes the place of the one with the same name.
    pub fn add(&mut self, ty: StructType) -> TypeId {
        if let Some(id) = self.named(&ty.name) {
            self.types[id.0 as usize] = ty;
            return id;
        }
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.by_name.insert(ty.name.clone(), id);
        self.types.push(ty);
        id
    }

    /// The served groups and versions with their resources, in the order in which discovery lists them.
    pub fn groups(&self) -> &[GroupVersion] {
        &self.groups
    }
}

/// A type together with the table that its structs stand in: what the generic algorithms walk along.
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    /// Where the structs are.
    pub table: &'a Table,
    /// The type looked at.
    pub ty: &'a Type,
}

impl<'a> Schema<'a> {
    /// A type of a table.
    pub fn new(table: &'a Table, ty: &'a Type) -> Self {
        Self { table, ty }
    }

    /// The struct, if it is one.
    pub fn as_struct(self) -> Option<&'a StructType> {
        match self.ty {
            Type::Struct(id) => Some(self.table.get(*id)),
            _ => None,
        }
    }

    /// The type of the elements of a list or the values of a map.
    pub fn element(self) -> Option<Schema<'a>> {
        match self.ty {
            Type::List(t) | Type::Wrapped(t) | Type::Map(t) => Some(Schema { table: self.table, ty: t }),
            _ => None,
        }
    }

    /// A field of the struct, and its type.
    pub fn field(self, name: &str) -> Option<(&'a Field, Schema<'a>)> {
        let field = self.as_struct()?.field(name)?;
        Some((field, Schema { table: self.table, ty: &field.ty }))
    }
}
