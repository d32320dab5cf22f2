//! OpenAPI v3 documents, made from the table.

use http::Response;
use http::request::Parts;

use crate::body::Body;
use crate::core::Core;
use crate::registry::Registry;

/// Answers `/openapi/v3` and the documents under it.
pub(super) fn answer(_core: &Core, _registry: &Registry, _parts: &Parts) -> Option<Response<Body>> {
    None
}
