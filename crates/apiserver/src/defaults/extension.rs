//! Kinds that extend the API: webhooks and policies, definitions of custom resources, aggregated servers.

use serde_json::{Value, json};

use crate::value::{Fields, default_absent, default_zero, ensure_in, is_zero};

/// How long a webhook has to answer.
const WEBHOOK_SECONDS: i64 = 10;
const HTTPS: i64 = 443;

pub(super) fn apply(name: &str, it: &mut Fields) {
    match name {
        "api.admissionregistration.v1.ValidatingWebhook" => webhook(it),
        "api.admissionregistration.v1.MutatingWebhook" => {
            webhook(it);
            default_absent(it, "reinvocationPolicy", "Never");
        }
        // Inline, rules with operations and named rules are structs of their own in the document; all hold a rule.
        "api.admissionregistration.v1.RuleWithOperations" | "api.admissionregistration.v1.NamedRuleWithOperations" => {
            default_absent(it, "scope", "*");
        }
        "api.admissionregistration.v1.MatchResources" => {
            default_absent(it, "matchPolicy", "Equivalent");
            selectors(it);
        }
        "api.admissionregistration.v1.ValidatingAdmissionPolicySpec"
        | "api.admissionregistration.v1.MutatingAdmissionPolicySpec" => default_absent(it, "failurePolicy", "Fail"),
        "api.admissionregistration.v1.ServiceReference"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference"
        | "kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference" => default_absent(it, "port", HTTPS),
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => definition(it),
        _ => {}
    }
}

fn selectors(it: &mut Fields) {
    default_absent(it, "namespaceSelector", json!({}));
    default_absent(it, "objectSelector", json!({}));
}

fn webhook(it: &mut Fields) {
    default_absent(it, "failurePolicy", "Fail");
    default_absent(it, "matchPolicy", "Equivalent");
    selectors(it);
    default_absent(it, "timeoutSeconds", WEBHOOK_SECONDS);
}

fn definition(it: &mut Fields) {
    let spec = ensure_in(it, "spec");
    let names = ensure_in(spec, "names");
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !kind.is_empty() {
        default_zero(names, "singular", kind.to_lowercase());
        default_zero(names, "listKind", format!("{kind}List"));
    }
    default_absent(spec, "conversion", json!({"strategy": "None"}));
    let stored = spec
        .get("versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|v| v.get("storage").and_then(Value::as_bool).unwrap_or_default())
        .and_then(|v| v.get("name").cloned());
    let status = ensure_in(it, "status");
    if let Some(name) = stored
        && status.get("storedVersions").is_none_or(is_zero)
    {
        status.insert("storedVersions".into(), json!([name]));
    }
}
