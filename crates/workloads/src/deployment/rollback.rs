//! A rollback that is asked for by annotation, as it once was by a field. `kubectl rollout undo` writes the old template
//! itself, and never comes here.

use plimsoll_runtime::write::Part;
use plimsoll_runtime::{Error, Next, Severity};

use super::annotations::{self, ROLLBACK_TO};
use super::round::Round;
use super::set::{Set, plain};

impl Round<'_> {
    /// The revision that is asked for; 0 for the one before the present one.
    pub(super) fn rollback_to(&self) -> Option<i64> {
        annotations::get(&self.object, ROLLBACK_TO).and_then(|text| text.parse().ok())
    }

    /// Gives the Deployment the template of a revision, and takes the wish for it away, also where it cannot be met.
    pub(super) async fn roll_back(&mut self, revision: i64) -> Result<Next, Error> {
        self.follow_new_set().await?;
        self.make_new_set().await?;
        let (severity, reason, message) = self.back_to(revision);
        if let Some(annotations) = self.object["metadata"]["annotations"].as_object_mut() {
            annotations.remove(ROLLBACK_TO);
        }
        // Told when it is done: a conflict brings it here again.
        self.seen = self.of.writer.replace(&self.seen, Part::Object, &self.object).await?;
        self.of.recorder.event(&self.about(), severity, reason, &message);
        Ok(Next::Done)
    }

    fn back_to(&mut self, revision: i64) -> (Severity, &'static str, String) {
        let not_found = "DeploymentRollbackRevisionNotFound";
        let revision = if revision == 0 { last_revision(&self.sets) } else { revision };
        if revision == 0 {
            return (Severity::Warning, not_found, "Unable to find last revision.".to_owned());
        }
        let Some(set) = self.sets.iter().find(|set| set.revision() == Some(revision)).cloned() else {
            return (Severity::Warning, not_found, "Unable to find the revision to rollback to.".to_owned());
        };
        let name = self.seen.slim.0.metadata.name.clone();
        if set.has_template(self.template()) {
            let message = format!("The rollback revision contains the same template as current deployment {name:?}");
            return (Severity::Warning, "DeploymentRollbackTemplateUnchanged", message);
        }
        self.object["spec"]["template"] = plain(&set.value["spec"]["template"]);
        annotations::roll_back(&mut self.object, &set.value);
        let message = format!("Rolled back deployment {name:?} to revision {revision}");
        (Severity::Normal, "DeploymentRollback", message)
    }
}

/// The second largest revision; 0 where there is none.
fn last_revision(sets: &[Set]) -> i64 {
    let mut revisions: Vec<i64> = sets.iter().filter_map(Set::revision).collect();
    revisions.sort_unstable();
    revisions.iter().rev().nth(1).copied().unwrap_or(0)
}
