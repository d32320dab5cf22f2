//! What upstream fills in where an object leaves it open.
//!
//! Defaults belong to types, not to kinds: a container's are the same in a Pod and in the template of a Deployment. So an object is
//! walked along the table of types, each struct gets what `of_type` says about it, outer ones first (a Pod's requests follow from its
//! limits before either is rounded), and then each field the default that the OpenAPI document names. A struct that Go holds by value
//! is looked into even where it is absent. What a round trip through upstream's internal types changes stands in `conversion`.

mod autoscaling;
mod autoscaling_versions;
mod cluster;
mod conversion;
mod core;
mod extension;
mod image;
mod pod;
mod workloads;

use plimsoll_engine::quantity::Quantity;
use plimsoll_schema::{Table, Type};
use serde_json::Value;

use crate::kind::Kind;
use crate::value::{Fields, is_zero};

pub use autoscaling_versions::convert_autoscaler;
pub use conversion::{convert_event, inconvertible, round_trip, set_template_generation, template_generation};

/// What defaults may depend on besides the object.
#[derive(Debug, Clone, Copy)]
pub struct Clock<'a> {
    /// The time as RFC 3339 has it, to the second, in UTC.
    pub now: &'a str,
}

/// Fills in the defaults of a built-in kind. Objects of other kinds are left as they are.
pub fn apply(kind: Kind<'_>, object: &mut Value, now: &str) {
    let table = Table::builtin();
    let Some(id) = table.kind(kind.group, kind.version, kind.kind) else { return };
    walk_struct(&table, &table.get(id).name, table.get(id), object, Clock { now });
    conversion::round_trip(kind, object);
}

fn walk(table: &Table, ty: &Type, value: &mut Value, clock: Clock<'_>) {
    match (ty, value) {
        (Type::Struct(id), value @ Value::Object(_)) => {
            let ty = table.get(*id);
            walk_struct(table, &ty.name, ty, value, clock);
        }
        (Type::List(of) | Type::Wrapped(of), Value::Array(list)) if may_hold_structs(of) => {
            list.iter_mut().for_each(|v| walk(table, of, v, clock));
        }
        (Type::Map(of), Value::Object(map)) if may_hold_structs(of) => {
            map.values_mut().for_each(|v| walk(table, of, v, clock));
        }
        _ => {}
    }
}

fn may_hold_structs(ty: &Type) -> bool {
    match ty {
        Type::Struct(_) => true,
        Type::List(of) | Type::Wrapped(of) | Type::Map(of) => may_hold_structs(of),
        _ => false,
    }
}

fn walk_struct(table: &Table, name: &str, ty: &plimsoll_schema::StructType, value: &mut Value, clock: Clock<'_>) {
    let Value::Object(fields) = value else { return };
    of_type(name, fields, clock);
    for field in &ty.fields {
        match fields.get_mut(&*field.name) {
            Some(value) if !value.is_null() => {
                if rounds(name, &field.ty) {
                    round_up(value);
                }
                walk(table, &field.ty, value, clock);
            }
            _ if matches!(field.ty, Type::Struct(_)) && !field.pointer && !field.name.is_empty() => {
                let mut made = Value::Object(Fields::new());
                walk(table, &field.ty, &mut made, clock);
                if !is_zero(&made) {
                    fields.insert(field.name.to_string(), made);
                }
            }
            _ => {}
        }
        if let Some(default) = &field.default
            && fields.get(&*field.name).is_none_or(|v| if field.pointer { v.is_null() } else { is_zero(v) })
        {
            fields.insert(field.name.to_string(), default.clone());
        }
    }
}

/// Upstream rounds the amounts in core's resource lists; those of other groups are no resource lists to it.
fn rounds(owner: &str, ty: &Type) -> bool {
    matches!(ty, Type::Map(of) if **of == Type::Quantity) && owner.starts_with("io.k8s.api.core.")
}

/// Amounts below a thousandth are rounded up to the next one.
fn round_up(list: &mut Value) {
    let Value::Object(list) = list else { return };
    for value in list.values_mut() {
        let Some(quantity) = value.as_str().and_then(|text| Quantity::parse(text).ok()) else { continue };
        if let Ok(rounded) = Quantity::parse(&format!("{}m", quantity.milli_value()))
            && rounded > quantity
        {
            *value = rounded.to_string().into();
        }
    }
}

/// The defaults of one struct, by the name of its type.
fn of_type(name: &str, it: &mut Fields, clock: Clock<'_>) {
    let Some(path) = name.strip_prefix("io.k8s.") else { return };
    if let Some(name) = path.strip_prefix("api.core.v1.") {
        pod::apply(name, it);
        core::apply(name, it);
    } else if let Some(name) = path.strip_prefix("api.apps.v1.") {
        workloads::apps(name, it);
    } else if let Some(name) = path.strip_prefix("api.batch.v1.") {
        workloads::batch(name, it);
    } else if let Some(name) = path.strip_prefix("api.autoscaling.") {
        autoscaling::apply(name, it);
    } else {
        cluster::apply(path, it, clock);
        extension::apply(path, it);
    }
}

#[cfg(test)]
mod tests;
