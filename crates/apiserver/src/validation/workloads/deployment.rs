//! Deployments.

use serde_json::Value;

use super::replication::{needed_selector, same_selector, selected_template};
use super::{at_most_all, metadata, number_or_percent, positive_or_percent};
use crate::field::FieldError;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, get, has, number, text};

/// A deployment.
pub fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::new();
    let out = &mut found;
    metadata(out, new, old, names::name_is_dns_subdomain);
    let (spec, path) = (get(new, "spec"), Path::new("spec"));
    out.non_negative(&path.child("replicas"), number(spec, "replicas"));
    needed_selector(out, spec, "deployment", &path);
    selected_template(out, spec, old, &path);
    strategy(out, get(spec, "strategy"), &path.child("strategy"));
    out.non_negative(&path.child("minReadySeconds"), number(spec, "minReadySeconds"));
    out.non_negative(&path.child("revisionHistoryLimit"), number(spec, "revisionHistoryLimit"));
    if let Some(deadline) = number(spec, "progressDeadlineSeconds") {
        let field = path.child("progressDeadlineSeconds");
        out.non_negative(&field, Some(deadline));
        if deadline <= number(spec, "minReadySeconds").unwrap_or_default() {
            out.invalid(&field, deadline, "must be greater than minReadySeconds");
        }
    }
    if let Some(old) = old {
        same_selector(out, new, old);
    }
    found.into_errors()
}

fn strategy(out: &mut Found, strategy: &Value, path: &Path) {
    let (rolling, field) = (get(strategy, "rollingUpdate"), path.child("rollingUpdate"));
    match text(strategy, "type") {
        "Recreate" => {
            if !rolling.is_null() {
                out.forbidden(&field, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" if rolling.is_null() => {
            out.required(&field, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (get(rolling, "maxUnavailable"), get(rolling, "maxSurge"));
            let unavailable_path = field.child("maxUnavailable");
            positive_or_percent(out, unavailable, &unavailable_path);
            positive_or_percent(out, surge, &field.child("maxSurge"));
            if number_or_percent(unavailable) == 0 && number_or_percent(surge) == 0 {
                let shown = if has(rolling, "maxUnavailable") { unavailable.clone() } else { Value::from(0) };
                out.invalid(&unavailable_path, shown, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(out, unavailable, &unavailable_path);
        }
        _ => {
            let mut error = crate::validation::shown::unsupported(path, &Value::Null, &["Recreate", "RollingUpdate"]);
            error.value = internal::shown("apps.DeploymentStrategy", strategy);
            out.push(error);
        }
    }
}
