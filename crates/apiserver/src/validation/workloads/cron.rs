//! Jobs that are made by the clock.

use serde_json::Value;

use super::{job, metadata, options, schedule};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::names;
use crate::validation::path::{Path, get, has, number, text};
use crate::validation::selectors::LABEL_SELECTOR;
use crate::validation::shown;

/// The names of time zones, one on a line, sorted.
static ZONES: &str = include_str!("../../../data/timezones.txt");

/// A cron job.
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_subdomain);
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    let before = old.map(|old| get(old, "spec"));
    let when = text(spec, "schedule");
    if !when.is_empty() {
        let field = path.child("schedule");
        if let Some(said) = schedule::complaint(when) {
            out.invalid(&field, when, said);
        }
        let tolerated = before.is_some_and(|before| text(before, "schedule").contains("TZ"));
        if tolerated && when.contains("TZ") && has(spec, "timeZone") {
            out.invalid(&field, when, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
        } else if !tolerated && when.contains("TZ") {
            out.invalid(&field, when, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
        }
    }
    out.non_negative(&path.child("startingDeadlineSeconds"), number(spec, "startingDeadlineSeconds"));
    if before.is_none_or(|before| get(before, "timeZone") != get(spec, "timeZone")) {
        time_zone(out, spec, &path.child("timeZone"));
    }
    match text(spec, "concurrencyPolicy") {
        "" => out.required(&path.child("concurrencyPolicy"), ""),
        policy => out.one_of(&path.child("concurrencyPolicy"), policy, &["Allow", "Forbid", "Replace"]),
    }
    let (template, field) = (get(get(spec, "jobTemplate"), "spec"), path.children(&["jobTemplate", "spec"]));
    job::spec(out, template, &field, &options(old, &["spec", "jobTemplate", "spec", "template"]));
    if has(template, "selector") {
        let shown = shown::published(LABEL_SELECTOR, get(template, "selector"));
        out.invalid_shown(&field.child("selector"), shown, "`selector` will be auto-generated");
    }
    if get(template, "manualSelector").as_bool() == Some(true) {
        out.unsupported(&field.child("manualSelector"), true, &["nil", "false"]);
    }
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        out.non_negative(&path.child(name), number(spec, name));
    }
    let name = text(get(new, "metadata"), "name");
    if old.is_none() && name.len() > 52 {
        out.invalid(&Path::new("metadata").child("name"), name, "must be no more than 52 characters");
    }
    if when.is_empty() {
        // A generated rule, and so told last.
        out.required(&path.child("schedule"), "");
    }
    found.into_errors()
}

/// Whether there is a time zone of this name.
pub fn is_time_zone(name: &str) -> bool {
    matches!(name, "" | "UTC" | "Local") || ZONES.lines().any(|zone| zone == name)
}

fn time_zone(out: &mut Found, spec: &Value, path: &Path) {
    let Some(zone) = get(spec, "timeZone").as_str() else { return };
    if zone.is_empty() {
        out.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let part_fits = |part: &str| {
        let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+');
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(inside)
    };
    let unknown = format!("unknown time zone {zone}");
    if !zone.split('/').all(part_fits) {
        out.invalid(path, zone, unknown);
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        let said = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        out.invalid(path, zone, said);
    }
    if !is_time_zone(zone) {
        out.invalid(path, zone, unknown);
    }
}
