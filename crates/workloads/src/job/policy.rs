//! What a pod's failure means for its job, and which successes are enough.

use serde::{Deserialize, Deserializer};

use super::indexes::Indexes;
use super::member::{ContainerState, Member};

/// Reads a list; Go writes null for one that is empty.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// `podFailurePolicy`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FailurePolicy {
    /// The first rule that fits counts.
    #[serde(deserialize_with = "or_none")]
    pub rules: Vec<FailureRule>,
}

/// A rule of a failure policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FailureRule {
    /// `FailJob`, `FailIndex`, `Ignore` or `Count`.
    pub action: String,
    /// By how a container ended.
    pub on_exit_codes: Option<ExitCodes>,
    /// By what is said about the pod.
    pub on_pod_conditions: Option<Vec<ConditionPattern>>,
}

/// Ends of containers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExitCodes {
    /// Of this container; `None` is any.
    pub container_name: Option<String>,
    /// `In`, or `NotIn`.
    pub operator: String,
    /// The exit codes.
    #[serde(deserialize_with = "or_none")]
    pub values: Vec<i64>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConditionPattern {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status.
    pub status: String,
}

/// What a failure means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is counted.
    Count,
    /// It is not counted.
    Ignore,
    /// Its index has failed.
    FailIndex,
    /// The job has failed, because of this.
    FailJob(String),
}

impl FailurePolicy {
    /// What the failure of a pod means.
    pub fn judge(&self, member: &Member) -> Verdict {
        for (at, rule) in self.rules.iter().enumerate() {
            let Some(why) = rule.fits(member) else { continue };
            match rule.action.as_str() {
                "Ignore" => return Verdict::Ignore,
                "FailIndex" => return Verdict::FailIndex,
                "Count" => return Verdict::Count,
                "FailJob" => return Verdict::FailJob(format!("{why} matching FailJob rule at index {at}")),
                // Not known to this version: the next rule may be.
                _ => {}
            }
        }
        Verdict::Count
    }
}

impl FailureRule {
    /// Why the rule is about this pod; `None` where it is not.
    fn fits(&self, member: &Member) -> Option<String> {
        let meta = member.meta();
        if let Some(codes) = &self.on_exit_codes {
            let detail = member.detail();
            let states = detail.status.container_statuses.iter().chain(&detail.status.init_container_statuses);
            let (name, code) = states.filter_map(ContainerState::ended).find(|(name, code)| codes.fit(name, *code))?;
            return Some(format!(
                "Container {name} for pod {}/{} failed with exit code {code}",
                meta.namespace, meta.name
            ));
        }
        let patterns = self.on_pod_conditions.as_ref()?;
        let found = member
            .pod
            .slim
            .status
            .conditions
            .iter()
            .find(|c| patterns.iter().any(|p| p.kind == c.kind && p.status == c.status))?;
        Some(format!("Pod {}/{} has condition {}", meta.namespace, meta.name, found.kind))
    }
}

impl ExitCodes {
    fn fit(&self, container: &str, code: i64) -> bool {
        let named = self.container_name.as_deref().is_none_or(|name| name == container);
        let matches = match self.operator.as_str() {
            "In" => self.values.contains(&code),
            "NotIn" => !self.values.contains(&code),
            _ => false,
        };
        named && code != 0 && matches
    }
}

/// `successPolicy`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SuccessPolicy {
    /// Any of them is enough.
    #[serde(deserialize_with = "or_none")]
    pub rules: Vec<SuccessRule>,
}

/// A rule of a success policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SuccessRule {
    /// These indexes.
    pub succeeded_indexes: Option<String>,
    /// So many indexes.
    pub succeeded_count: Option<i64>,
}

impl SuccessPolicy {
    /// The rule that these successes fulfil, in words.
    pub fn met(&self, succeeded: &Indexes, completions: i64) -> Option<String> {
        if succeeded.count() == 0 {
            return None;
        }
        let at = self.rules.iter().position(|rule| {
            let Some(wanted) = &rule.succeeded_indexes else {
                return rule.succeeded_count.is_some_and(|count| succeeded.count() >= count);
            };
            let wanted = Indexes::parse(wanted, completions);
            let common = wanted.count_common(succeeded);
            wanted.count() > 0 && (common == wanted.count() || rule.succeeded_count.is_some_and(|c| common >= c))
        })?;
        Some(format!("Matched rules at index {at}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_without_rules_is_one_that_says_nothing() {
        for written in [json!({}), json!({"rules": null}), json!({"rules": []})] {
            assert!(FailurePolicy::deserialize(&written).unwrap().rules.is_empty(), "{written}");
            assert!(SuccessPolicy::deserialize(&written).unwrap().rules.is_empty(), "{written}");
        }
    }
}
