//! How a value at a place of an object is merged and owned: as one value, key by key, or element by element.

use std::borrow::Cow;

use plimsoll_schema::{Field, ListKind, Schema, StructType, Table, Type};
use serde_json::{Map, Value, json};

use super::path::PathElement;

/// A place in an object: its type, and what its field says about ownership.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'s> {
    /// Nothing where the type is unknown and follows from the value.
    schema: Option<Schema<'s>>,
    list: ListKind,
    keys: &'s [Box<str>],
    atomic: bool,
    /// The struct's own mark that it is one value does not count here.
    granular: bool,
}

/// How the value at a place is taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'s> {
    /// A plain value.
    Scalar,
    /// A list, map or struct that is one value.
    Atomic,
    /// A list whose elements are told apart.
    List(ListShape<'s>),
    /// A map or struct.
    Map(MapShape<'s>),
}

/// A list whose elements are told apart, by keys or (without keys) by value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListShape<'s> {
    keys: &'s [Box<str>],
    pub(crate) element: Place<'s>,
}

/// A struct or map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapShape<'s> {
    declared: Option<(&'s Table, &'s StructType)>,
    others: Option<Place<'s>>,
}

/// What a key of a map leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Child<'s> {
    pub(crate) place: Place<'s>,
    /// It is a field of the struct, not a key of a map.
    pub(crate) declared: bool,
    /// The schema knows such a key.
    pub(crate) known: bool,
}

impl<'s> Place<'s> {
    /// The place of a whole object.
    pub(crate) fn root(schema: Schema<'s>) -> Self {
        Self { schema: Some(schema), ..Self::unknown() }
    }

    const fn unknown() -> Self {
        Self { schema: None, list: ListKind::Atomic, keys: &[], atomic: false, granular: false }
    }

    fn of_field(table: &'s Table, parent: &StructType, field: &'s Field) -> Self {
        let schema = Schema::new(table, &field.ty);
        Self {
            schema: Some(schema),
            list: field.list,
            keys: &field.list_keys,
            atomic: field.atomic,
            granular: schema.as_struct().is_some_and(|ty| ty.atomic) && is_granular(parent, field),
        }
    }

    fn element_of(schema: Schema<'s>) -> Self {
        Self { schema: schema.element(), ..Self::unknown() }
    }

    pub(crate) fn ty(&self) -> Option<&'s Type> {
        self.schema.map(|schema| schema.ty)
    }

    /// The type says nothing about the value's shape.
    pub(crate) fn is_deduced(&self) -> bool {
        matches!(self.ty(), None | Some(Type::Json | Type::Fields | Type::Raw))
    }

    /// How the value is taken apart. The value counts only where the type does not say.
    pub(crate) fn shape(self, value: Option<&Value>) -> Shape<'s> {
        let Some(schema) = self.schema else { return deduced(value) };
        match schema.ty {
            Type::Struct(id) => {
                let ty = schema.table.get(*id);
                if self.atomic || (ty.atomic && !self.granular) {
                    return Shape::Atomic;
                }
                let others = ty.preserve_unknown.then_some(Self::unknown());
                Shape::Map(MapShape { declared: Some((schema.table, ty)), others })
            }
            Type::Map(_) if self.atomic => Shape::Atomic,
            Type::Map(_) => Shape::Map(MapShape { declared: None, others: Some(Self::element_of(schema)) }),
            Type::List(_) | Type::Wrapped(_) => match self.list {
                ListKind::Atomic => Shape::Atomic,
                ListKind::Set => Shape::List(ListShape { keys: &[], element: Self::element_of(schema) }),
                ListKind::Map => Shape::List(ListShape { keys: self.keys, element: Self::element_of(schema) }),
            },
            Type::Raw => match value {
                Some(Value::Object(_) | Value::Array(_)) => Shape::Atomic,
                _ => Shape::Scalar,
            },
            Type::Json | Type::Fields if self.atomic => Shape::Atomic,
            Type::Json | Type::Fields => deduced(value),
            _ => Shape::Scalar,
        }
    }

    /// The element's place of a list that is one value, or of any other list.
    pub(crate) fn element(self) -> Self {
        self.schema.map_or(Self::unknown(), Self::element_of)
    }

    /// The shape without the mark that it is one value: what validation walks through.
    pub(crate) fn opened(self, value: &Value) -> Shape<'s> {
        let Some(schema) = self.schema else { return deduced(Some(value)) };
        match schema.ty {
            Type::Struct(id) => {
                let ty = schema.table.get(*id);
                let others = ty.preserve_unknown.then_some(Self::unknown());
                Shape::Map(MapShape { declared: Some((schema.table, ty)), others })
            }
            Type::Map(_) => Shape::Map(MapShape { declared: None, others: Some(Self::element_of(schema)) }),
            _ => self.shape(Some(value)),
        }
    }
}

/// The one field of the release that takes a struct apart which is one value elsewhere (`x-kubernetes-map-type: granular`).
fn is_granular(parent: &StructType, field: &Field) -> bool {
    &*field.name == "claimRef" && &*parent.name == "io.k8s.api.core.v1.PersistentVolumeSpec"
}

/// Maps are taken apart, lists are one value. Null can be a map.
fn deduced<'s>(value: Option<&Value>) -> Shape<'s> {
    match value {
        Some(Value::Array(_)) => Shape::Atomic,
        Some(Value::Object(_) | Value::Null) | None => {
            Shape::Map(MapShape { declared: None, others: Some(Place::unknown()) })
        }
        Some(_) => Shape::Scalar,
    }
}

impl<'s> MapShape<'s> {
    /// Where a key leads.
    pub(crate) fn child(&self, key: &str) -> Child<'s> {
        if let Some((table, ty, field)) = self.declared.and_then(|(table, ty)| Some((table, ty, ty.field(key)?))) {
            return Child { place: Place::of_field(table, ty, field), declared: true, known: true };
        }
        let place = self.others.unwrap_or(Place::unknown());
        Child { place, declared: false, known: self.others.is_some() }
    }

    /// Other keys are kept and have any type.
    pub(crate) fn keeps_unknown(&self) -> bool {
        self.declared.is_some() && self.others.is_some()
    }
}

impl<'s> ListShape<'s> {
    /// What tells an element apart, or why it cannot be told apart.
    pub(crate) fn step<'v>(&self, item: &'v Value) -> Result<PathElement<'v>, String>
    where
        's: 'v,
    {
        if self.keys.is_empty() {
            return match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
                scalar => Ok(PathElement::Value(Cow::Borrowed(scalar))),
            };
        }
        let map = match item {
            Value::Object(map) => map,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut keys: Vec<(Cow<'v, str>, Cow<'v, Value>)> = Vec::with_capacity(self.keys.len());
        for name in self.keys {
            let value = map.get(&**name).map(Cow::Borrowed).or_else(|| self.default_of(name));
            if let Some(value) = value {
                let at = keys.partition_point(|(other, _)| **other < **name);
                keys.insert(at, (Cow::Borrowed(&**name), value));
            }
        }
        if keys.is_empty() {
            let names: Vec<String> = self.keys.iter().map(|k| crate::field::go_quoted(k)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::Key(keys))
    }

    /// The default of a key: the one the OpenAPI document names, or the zero value of a field that is always written.
    fn default_of<'v>(&self, name: &str) -> Option<Cow<'v, Value>>
    where
        's: 'v,
    {
        let (field, _) = self.element.schema?.field(name)?;
        if let Some(value) = &field.default {
            return Some(Cow::Borrowed(value));
        }
        if field.pointer || field.omit_empty {
            return None;
        }
        match field.ty {
            Type::String => Some(Cow::Owned(json!(""))),
            Type::Int32 | Type::Int64 => Some(Cow::Owned(json!(0))),
            Type::Bool => Some(Cow::Owned(json!(false))),
            _ => None,
        }
    }
}

/// The object of a kind before anything is set: structs that are always written, and fields that are written when empty.
pub(crate) fn zero(schema: Schema<'_>) -> Value {
    let mut out = Map::new();
    for field in schema.as_struct().map(|ty| ty.fields.as_slice()).unwrap_or_default() {
        if field.pointer || field.omit_zero {
            // A pointer that is written when empty is written as null.
            if field.pointer && !field.omit_empty && !field.omit_zero {
                out.insert(field.name.to_string(), Value::Null);
            }
            continue;
        }
        let value = match &field.ty {
            Type::Struct(_) => zero(Schema::new(schema.table, &field.ty)),
            Type::Time | Type::MicroTime => Value::Null,
            _ if field.omit_empty => continue,
            Type::String | Type::Bytes | Type::Duration => json!(""),
            Type::Bool => json!(false),
            Type::Int32 | Type::Int64 | Type::Double | Type::IntOrString => json!(0),
            Type::Quantity => json!("0"),
            Type::Raw | Type::Json | Type::Fields | Type::List(_) | Type::Wrapped(_) | Type::Map(_) => Value::Null,
        };
        out.insert(field.name.to_string(), value);
    }
    Value::Object(out)
}

/// The map, where the value is one.
pub(crate) fn as_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// The elements, where the value is a list.
pub(crate) fn as_list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
