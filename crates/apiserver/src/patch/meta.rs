//! What a strategic merge patch needs to know of a field, asked and refused as upstream asks its Go types.

use plimsoll_schema::{Field, PatchStrategy, Schema, StructType, Table, Type};

use super::strategic::failed;
use crate::field::go_quoted;
use crate::status::Status;

/// A Go type: one of the table, or one that only shows in sentences.
#[derive(Clone, Copy)]
pub(super) struct Meta<'a> {
    table: &'a Table,
    /// None for the elements of a list of bytes.
    ty: Option<&'a Type>,
    pointer: bool,
}

/// A field that holds a list or a map, with what it holds.
pub(super) struct Of<'a> {
    /// The type of the value, or of the list's elements.
    pub(super) inner: Meta<'a>,
    pub(super) strategy: PatchStrategy,
    /// Empty where elements are told apart by value.
    pub(super) key: &'a str,
}

impl<'a> Meta<'a> {
    pub(super) fn new(schema: Schema<'a>) -> Self {
        Self { table: schema.table, ty: Some(schema.ty), pointer: false }
    }

    fn struct_type(self) -> Option<&'a StructType> {
        Schema::new(self.table, self.ty?).as_struct()
    }

    /// The name of Go's kind of type.
    pub(super) fn name(self) -> &'static str {
        if self.pointer { "ptr" } else { self.target_name() }
    }

    fn target_name(self) -> &'static str {
        match self.ty {
            None => "uint8",
            Some(Type::String) => "string",
            Some(Type::Bool) => "bool",
            Some(Type::Int32) => "int32",
            Some(Type::Int64) => "int64",
            Some(Type::Double) => "float64",
            Some(Type::Bytes | Type::List(_) | Type::Wrapped(_)) => "slice",
            Some(Type::Map(_)) => "map",
            Some(
                Type::Quantity
                | Type::IntOrString
                | Type::Time
                | Type::MicroTime
                | Type::Duration
                | Type::Raw
                | Type::Json
                | Type::Fields
                | Type::Struct(_),
            ) => "struct",
        }
    }

    /// The name of the struct in Go.
    fn struct_name(self) -> &'a str {
        match self.ty {
            Some(Type::Quantity) => "Quantity",
            Some(Type::IntOrString) => "IntOrString",
            Some(Type::Time) => "Time",
            Some(Type::MicroTime) => "MicroTime",
            Some(Type::Duration) => "Duration",
            Some(Type::Raw) => "RawExtension",
            Some(Type::Json) => "JSON",
            Some(Type::Fields) => "FieldsV1",
            _ => self.struct_type().map_or("", StructType::short_name),
        }
    }

    fn field(self, name: &str) -> Result<&'a Field, Status> {
        if self.target_name() != "struct" {
            return Err(failed(format!(
                "merging an object in json but data type is not struct, instead is: {}",
                self.target_name()
            )));
        }
        let found = self
            .struct_type()
            .and_then(|s| s.field(name).or_else(|| s.fields.iter().find(|f| f.name.eq_ignore_ascii_case(name))));
        found.ok_or_else(|| {
            failed(format!(
                "unable to find api field in struct {} for the json field {}",
                self.struct_name(),
                go_quoted(name)
            ))
        })
    }

    /// A field whose value is an object.
    pub(super) fn object(self, name: &str) -> Result<Of<'a>, Status> {
        let field = self.field(name)?;
        let inner = Meta { table: self.table, ty: Some(&field.ty), pointer: field.pointer };
        Ok(Of { inner, strategy: field.patch, key: &field.patch_key })
    }

    /// A field whose value is a list.
    pub(super) fn list(self, name: &str) -> Result<Of<'a>, Status> {
        let field = self.field(name)?;
        let element = match &field.ty {
            Type::List(of) | Type::Wrapped(of) => {
                let nested = matches!(**of, Type::List(_) | Type::Wrapped(_) | Type::Bytes);
                if nested && !field.pointer {
                    return Err(failed("unexpected slice of slice"));
                }
                Some(&**of)
            }
            Type::Bytes => None,
            other if field.pointer => Some(other),
            _ => return Err(failed(format!("expected slice or array type, but got: {}", self.name()))),
        };
        let inner = Meta { table: self.table, ty: element, pointer: false };
        Ok(Of { inner, strategy: field.patch, key: &field.patch_key })
    }
}
