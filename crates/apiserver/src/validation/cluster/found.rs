//! The errors found so far, in upstream's order.

use std::collections::BTreeSet;

use plimsoll_engine::quantity::Quantity;
use serde_json::Value;

use super::gojson::{self, Type};
use crate::field::{FieldError, Wrong};
use crate::validation::names::NameRule;
use crate::validation::path::{Path, get, str_value};
use crate::validation::{meta, names, shown};

/// Errors, the ones of upstream's declarative rules apart: these come last, wherever in the rules they are found.
#[derive(Debug, Default)]
pub(super) struct Found {
    list: Vec<FieldError>,
    late: Vec<FieldError>,
}

impl Found {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.late.is_empty()
    }

    /// All of them. Upstream says the same thing once, but does not look for it among what its declarative rules say.
    pub fn finish(self) -> Vec<FieldError> {
        let mut said: BTreeSet<String> = BTreeSet::new();
        let mut out: Vec<FieldError> = Vec::with_capacity(self.list.len() + self.late.len());
        out.extend(self.list.into_iter().filter(|error| said.insert(error.to_string())));
        out.extend(self.late);
        out
    }

    /// All of them, as often as they were found: for the kinds that upstream has no declarative rules for.
    pub fn finish_plainly(mut self) -> Vec<FieldError> {
        self.list.append(&mut self.late);
        self.list
    }

    /// Adds one that another rule made.
    pub fn push(&mut self, error: FieldError) {
        self.list.push(error);
    }

    /// Adds those that another rule made.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        self.list.extend(errors);
    }

    /// Adds one of a declarative rule.
    pub fn late(&mut self, error: FieldError) {
        self.late.push(error);
    }

    /// `Required value`.
    pub fn required(&mut self, path: impl Into<String>, detail: &str) {
        self.push(FieldError::required(path, detail));
    }

    /// `Required value`, where the text is empty; says whether it is there.
    pub fn need(&mut self, object: &Value, name: &str, path: &Path) -> bool {
        let there = !crate::validation::path::text(object, name).is_empty();
        if !there {
            self.required(path.child(name), "");
        }
        there
    }

    /// `Forbidden`.
    pub fn forbidden(&mut self, path: impl Into<String>, detail: &str) {
        self.push(FieldError::forbidden(path, detail));
    }

    /// `Invalid value`.
    pub fn invalid(&mut self, path: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) {
        let value = value.into();
        let mut error = FieldError::invalid(path, &value, detail);
        if !value.is_string() {
            error.value = shown::go_json(&value);
        }
        self.push(error);
    }

    /// `Invalid value` with a struct of upstream's internal types.
    pub fn invalid_struct(&mut self, path: &Path, ty: Type, value: &Value, detail: &str) {
        self.push(shown::invalid(path, gojson::compact(ty, value), detail));
    }

    /// `Invalid value` once per complaint about a text.
    pub fn complain(&mut self, path: &Path, value: &str, complaints: Vec<String>) {
        for complaint in complaints {
            self.invalid(path, value, complaint);
        }
    }

    /// `Duplicate value`.
    pub fn duplicate(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        self.push(FieldError::duplicate(path, &value.into()));
    }

    /// `Duplicate value` with a struct of upstream's internal types.
    pub fn duplicate_struct(&mut self, path: &Path, ty: Type, value: &Value) {
        self.push(shown::duplicate(path, gojson::compact(ty, value)));
    }

    /// `Unsupported value`; the words in upstream's order.
    pub fn unsupported(&mut self, path: &Path, value: impl Into<Value>, words: &[&str]) {
        self.push(shown::unsupported(path, &value.into(), words));
    }

    /// `Too long`.
    pub fn too_long(&mut self, path: &Path, max: usize) {
        self.push(meta::too_long(path, max));
    }

    /// `Too many`, with how many there are.
    pub fn too_many(&mut self, path: &Path, there: usize, max: usize) {
        self.push(too_many(path, there, max));
    }

    /// Metadata of a new object, and of one that replaces another where upstream checks it like a new one.
    pub fn metadata(&mut self, object: &Value, namespaced: bool, rule: NameRule) {
        self.plain_metadata(object, namespaced, rule);
        self.finalizers(object);
    }

    /// Metadata of an object that replaces another.
    pub fn metadata_update(&mut self, new: &Value, old: &Value) {
        self.plain_metadata_update(new, old);
        self.finalizers(new);
    }

    /// The same, for kinds whose finalizers are not looked at closely.
    pub fn plain_metadata(&mut self, object: &Value, namespaced: bool, rule: NameRule) {
        self.extend(meta::object_meta(get(object, "metadata"), namespaced, rule, &Path::new("metadata")));
    }

    /// The same, for kinds whose finalizers are not looked at closely.
    pub fn plain_metadata_update(&mut self, new: &Value, old: &Value) {
        self.extend(meta::object_meta_update(get(new, "metadata"), get(old, "metadata"), &Path::new("metadata")));
    }

    fn finalizers(&mut self, object: &Value) {
        let path = Path::new("metadata").child("finalizers");
        for (i, name) in crate::validation::path::texts(get(object, "metadata"), "finalizers").into_iter().enumerate() {
            self.kube_finalizer(name, &path.index(i));
        }
    }

    /// A finalizer that belongs to somebody: a domain's, or one of Kubernetes' own.
    pub fn kube_finalizer(&mut self, name: &str, path: &Path) {
        if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            self.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }

    /// A text that must be a DNS label.
    pub fn label(&mut self, path: &Path, value: &str) {
        self.complain(path, value, names::is_dns1123_label(value));
    }

    /// A text that must be a DNS subdomain.
    pub fn subdomain(&mut self, path: &Path, value: &str) {
        self.complain(path, value, names::is_dns1123_subdomain(value));
    }

    /// A text that must be a qualified name.
    pub fn qualified(&mut self, path: &Path, value: &str) {
        self.complain(path, value, names::is_qualified_name(value));
    }

    /// A port's number.
    pub fn port(&mut self, path: &Path, port: i64) {
        for complaint in names::is_port_number(port) {
            self.invalid(path, port, complaint);
        }
    }

    /// `field is immutable`, with a text.
    pub fn unchanged_text(&mut self, path: &Path, new: &str, old: &str) {
        if new != old {
            self.invalid(path, new, IMMUTABLE);
        }
    }

    /// `field is immutable`, with a value of plain JSON.
    pub fn unchanged(&mut self, path: &Path, new: &Value, old: &Value) {
        if !crate::validation::path::same(new, old) {
            self.invalid(path, new.clone(), IMMUTABLE);
        }
    }

    /// `field is immutable`, with a struct of upstream's internal types.
    pub fn unchanged_struct(&mut self, path: &Path, ty: Type, new: &Value, old: &Value) {
        if !crate::validation::path::same(new, old) {
            self.invalid_struct(path, ty, new, IMMUTABLE);
        }
    }

    /// `field is immutable`, as declarative rules say it: without the value, and last.
    pub fn unchanged_late(&mut self, path: &Path, new: &Value, old: &Value) {
        if !crate::validation::path::same(new, old) {
            self.late(FieldError::invalid(path, &Value::Null, IMMUTABLE));
        }
    }

    /// An amount that may not be negative.
    pub fn non_negative_quantity(&mut self, path: &Path, value: &Value) {
        if quantity(value) < Quantity::ZERO {
            self.invalid(path, value.clone(), NEGATIVE);
        }
    }

    /// An amount that must be more than nothing.
    pub fn positive_quantity(&mut self, path: &Path, value: &Value) {
        if quantity(value) <= Quantity::ZERO {
            self.invalid(path, value.clone(), "must be greater than zero");
        }
    }

    /// An amount whose whole part may not be negative.
    pub fn basic_quantity(&mut self, path: &Path, value: &Value) {
        let whole = quantity(value).value();
        if whole < 0 {
            self.invalid(path, whole, "must be a valid resource quantity");
        }
    }
}

/// What cannot be changed.
pub(super) const IMMUTABLE: &str = "field is immutable";
/// What cannot be negative.
pub(super) const NEGATIVE: &str = "must be greater than or equal to 0";

/// An amount. Objects are canonical, so that there is no other text here; anything else counts as nothing.
pub(super) fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => Quantity::parse(text).unwrap_or_default(),
        Value::Number(number) => Quantity::parse(&number.to_string()).unwrap_or_default(),
        _ => Quantity::ZERO,
    }
}

/// `Too many`, with how many there are.
pub(super) fn too_many(path: &Path, there: usize, max: usize) -> FieldError {
    let items = if max == 1 { "item" } else { "items" };
    // The sentence shows the number, though this error is of those whose value is not printed.
    FieldError::new(Wrong::TooMany, path, &str_value(""), format!("{there}: must have at most {max} {items}"))
}
