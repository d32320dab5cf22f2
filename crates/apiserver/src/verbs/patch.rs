//! patch: parts of another state, said in one of four ways.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use plimsoll_schema::decode;
use serde_json::Value;

use crate::apply::{self, Manager};
use crate::codec::{self, Expected};
use crate::patch;
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::request::options::FieldValidation;
use crate::status::Status;
use crate::verbs::Call;
use crate::verbs::write::Made;

/// How a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Json,
    Merge,
    Strategic,
    ApplyJson,
    ApplyYaml,
}

/// A patch that says what changes. Of a scale, where one number is all there is, also one that applies a configuration.
pub(super) struct Change {
    way: Way,
    patch: Value,
    /// What is said about the patch itself.
    notes: Vec<String>,
    validation: FieldValidation,
}

/// Who applies says as whom.
fn managed(options: &WriteOptions) -> Result<(), Status> {
    if options.field_manager.is_empty() {
        let error = crate::field::FieldError::required("fieldManager", "is required for apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
    }
    Ok(())
}

impl Change {
    /// Reads it.
    pub(super) fn read(way: Way, body: &Bytes, options: &WriteOptions) -> Result<Self, Status> {
        if matches!(way, Way::ApplyJson | Way::ApplyYaml) {
            managed(options)?;
        } else if options.force.is_some() {
            let error = crate::field::FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let (patch, mut notes) = match way {
            Way::ApplyYaml => (codec::yaml(body).map_err(Status::bad_request)?, Vec::new()),
            _ => decode::parse(body).map_err(|_| Status::bad_request("invalid JSON patch"))?,
        };
        if way == Way::Json && options.field_validation != FieldValidation::Ignore {
            notes.extend(patch::json_strict(&patch)?);
        }
        Ok(Self { way, patch, notes, validation: options.field_validation })
    }

    /// What an object becomes by it, and what is to be warned of.
    pub(super) fn on(&self, old: &Value, expected: Expected<'_>) -> Result<(Value, Vec<String>), Status> {
        let mut left = self.patch.clone();
        let mut patched = match self.way {
            Way::Json => patch::json(old, &self.patch)?,
            Way::Strategic => patch::strategic_leaving(expected.schema, old, &mut left)?,
            _ => patch::merge_request(old, &self.patch)?,
        };
        if self.way == Way::Strategic {
            if let Some(why) = patch::unconvertible(expected.schema, &patched) {
                return Err(patch::undecodable(&patch::shown(&left), &why));
            }
            patch::convert(expected.schema, &mut patched);
            // Upstream patches a struct, which is of its kind whatever the patch says.
            for name in ["apiVersion", "kind"] {
                patched[name] = old[name].clone();
            }
        }
        let undecodable = |why: &str| {
            let shown = match self.way {
                Way::Strategic => patch::shown(&left),
                _ => {
                    let declared = expected.custom.is_none().then_some(expected.schema);
                    patch::patched_text(declared, &patched, &self.patch)
                }
            };
            patch::undecodable(&shown, why)
        };
        let refused = |status: Status| {
            undecodable(status.message.split_once(": ").map_or(status.message.as_str(), |(_, why)| why))
        };
        codec::heading(&patched)
            .map_err(|why| undecodable(&format!("couldn't get version/kind; json parse error: {why}")))?;
        let mut problems = self.notes.clone();
        let new = codec::typed(patched.clone(), expected, &mut problems).map_err(refused)?;
        let warnings = codec::strict(problems, expected, self.validation).map_err(refused)?;
        Ok((new, warnings))
    }
}

impl Call {
    pub(super) fn way(&self) -> Result<Way, Status> {
        let header = self.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let custom = self.served.custom.is_some();
        match header.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Way::Json),
            "application/merge-patch+json" => Ok(Way::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Way::Strategic),
            "application/apply-patch+yaml" => Ok(Way::ApplyYaml),
            "application/apply-patch+json" => Ok(Way::ApplyJson),
            // Built-in resources are refused by upstream's router, which says less.
            _ if !custom => {
                let mut status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                status.details = Some(Box::default());
                Err(status)
            }
            _ => Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, \
                 application/merge-patch+json, application/apply-patch+yaml",
            )),
        }
    }

    pub(super) async fn patch(&mut self, body: Bytes) -> Result<Reply, Status> {
        let way = self.way()?;
        let options = WriteOptions::parse(&self.query, "PatchOptions")?;
        match way {
            Way::ApplyJson | Way::ApplyYaml => self.apply(way, body, options).await,
            _ => self.patch_plainly(way, body, options).await,
        }
    }

    async fn patch_plainly(&mut self, way: Way, body: Bytes, options: WriteOptions) -> Result<Reply, Status> {
        let change = Change::read(way, &body, &options)?;
        let manager = self.manager(&options.field_manager);
        let subresource = self.path.subresource.clone();
        let written = self
            .change(&options, move |call, old| {
                let served = call.served.clone();
                let (new, warnings) = change.on(old, Expected::from(&*served))?;
                call.warnings = warnings;
                let mut new = call.with_defaults(new)?;
                call.own(Some(old), &mut new, &manager, &subresource);
                Ok(Made::New(new))
            })
            .await?;
        match written {
            Some(outcome) => Ok(outcome.reply(200)),
            None => Err(Status::not_found(self.served.name(), &self.path.name)),
        }
    }

    async fn apply(&mut self, way: Way, body: Bytes, options: WriteOptions) -> Result<Reply, Status> {
        managed(&options)?;
        let mut problems = Vec::new();
        let config: Value = match way {
            Way::ApplyJson => {
                let (value, duplicates) =
                    decode::parse(&body).map_err(|e| Status::bad_request(format!("error decoding JSON: {e}")))?;
                problems.extend(duplicates);
                value
            }
            _ => codec::yaml(&body).map_err(|e| Status::bad_request(format!("error encoding patch: {e}")))?,
        };
        if !config.is_object() && !config.is_null() {
            let what = patch::json_kind(&config);
            return Err(Status::bad_request(format!(
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            )));
        }
        let manager = options.field_manager.clone();
        let subresource = self.path.subresource.clone();
        let force = options.force.unwrap_or(false);
        let absent = self.core.store.get(&self.served.key, self.scope(), &self.path.name).is_none();
        if absent && subresource.is_empty() {
            let merged = self.merged(None, &config, &manager, &subresource, force)?;
            let object = self.completed(merged.unwrap_or(config), &problems, options.field_validation)?;
            return Ok(self.insert(object, &options, true).await?.reply(201));
        }
        let validation = options.field_validation;
        let written = self
            .change(&options, move |call, old| {
                let Some(merged) = call.merged(Some(old), &config, &manager, &subresource, force)? else {
                    return Ok(Made::Same);
                };
                call.completed(merged, &problems, validation).map(Made::New)
            })
            .await?;
        match written {
            Some(outcome) => Ok(outcome.reply(200)),
            None => Err(Status::not_found(self.served.name(), &self.path.name)),
        }
    }

    /// The live object with a configuration applied to it; none where nothing changes.
    fn merged(
        &self,
        live: Option<&Value>,
        config: &Value,
        manager: &str,
        subresource: &str,
        force: bool,
    ) -> Result<Option<Value>, Status> {
        self.with_target(subresource, |target| {
            apply::apply(target, live, config, &Manager { name: manager, subresource }, force, self.core.clock.now())
        })
    }

    /// An applied object, decoded and with its defaults, as any object that a client sent.
    fn completed(
        &mut self,
        merged: Value,
        duplicates: &[String],
        validation: FieldValidation,
    ) -> Result<Value, Status> {
        let served = self.served.clone();
        let expected = Expected::from(&*served);
        let mut problems = duplicates.to_vec();
        let new = codec::typed(merged, expected, &mut problems).map_err(|status| {
            let why = status.message.split_once("cannot be handled as a ").and_then(|(_, rest)| rest.split_once(": "));
            let why = why.map_or(status.message.as_str(), |(_, why)| why);
            let (namespace, name, kind) = (self.scope(), &self.path.name, served.kind());
            Status::new(
                500,
                "",
                format!(
                    "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert unstructured object to {kind}: {why}"
                ),
            )
        })?;
        self.warnings = codec::strict(problems, expected, validation)?;
        self.with_defaults(new)
    }
}
