//! The form of the answer: JSON, YAML or protobuf; the object, its metadata or a table.

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

use crate::request::Query;
use crate::status::Status;

/// An encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `application/json`.
    #[default]
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl Format {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The encoding of a media type without its parameters.
    pub fn of(media_type: &str) -> Option<Self> {
        match media_type {
            "application/json" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }
}

/// What is made of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transform {
    /// Nothing.
    #[default]
    None,
    /// A `Table`.
    Table,
    /// A `PartialObjectMetadata`, or a list of them.
    Metadata,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accept {
    /// The encoding.
    pub format: Format,
    /// What is made of the object.
    pub transform: Transform,
    /// JSON for people.
    pub pretty: bool,
}

/// What the endpoint can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offer {
    /// Metadata alone.
    pub metadata: bool,
    /// Tables.
    pub tables: bool,
    /// Protobuf.
    pub protobuf: bool,
}

impl Accept {
    /// Chooses among what the client accepts and the endpoint offers.
    pub fn negotiate(headers: &HeaderMap, query: &Query, offer: Offer) -> Result<Self, Status> {
        let header = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let pretty = pretty(headers, query);
        if header.trim().is_empty() {
            return Ok(Self { pretty, ..Self::default() });
        }
        let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(Clause::parse).collect();
        // Stable: of two that weigh the same, the first one named wins.
        clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        for clause in &clauses {
            if let Some(found) = clause.accept(offer) {
                return Ok(Self { pretty, ..found });
            }
        }
        Err(not_acceptable(offer))
    }
}

fn not_acceptable(offer: Offer) -> Status {
    let mut types = vec!["application/json", "application/yaml"];
    if offer.protobuf {
        types.push("application/vnd.kubernetes.protobuf");
    }
    Status::new(406, "NotAcceptable", format!("only the following media types are accepted: {}", types.join(", ")))
}

/// People and their tools get line breaks, as upstream gives them.
fn pretty(headers: &HeaderMap, query: &Query) -> bool {
    match query.get("pretty") {
        Some(_) => query.flag("pretty"),
        None => headers
            .get(USER_AGENT)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|agent| ["curl", "Wget", "Mozilla/5.0"].iter().any(|person| agent.starts_with(person))),
    }
}

struct Clause<'a> {
    media: &'a str,
    weight: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().filter(|m| !m.is_empty())?;
        let parameters: Vec<_> = parts.filter_map(|p| p.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
        let weight = parameters.iter().find(|(k, _)| *k == "q").and_then(|(_, q)| q.parse().ok()).unwrap_or(1.0);
        Some(Self { media, weight, parameters })
    }

    fn parameter(&self, name: &str) -> &'a str {
        self.parameters.iter().find(|(k, _)| *k == name).map(|(_, v)| *v).unwrap_or_default()
    }

    fn accept(&self, offer: Offer) -> Option<Accept> {
        let format = match self.media {
            "*/*" | "application/*" => Format::Json,
            media => Format::of(media).filter(|f| *f != Format::Protobuf || offer.protobuf)?,
        };
        let transform = match self.parameter("as") {
            "" => Transform::None,
            _ if self.parameter("g") != "meta.k8s.io" || self.parameter("v") != "v1" => return None,
            "Table" if offer.tables && format != Format::Protobuf => Transform::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" if offer.metadata => Transform::Metadata,
            _ => return None,
        };
        Some(Accept { format, transform, pretty: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectls_header_means_a_table() {
        let mut headers = HeaderMap::new();
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        headers.insert(ACCEPT, kubectl.parse().unwrap());
        let offer = Offer { metadata: true, tables: true, protobuf: true };
        let accept = Accept::negotiate(&headers, &Query::default(), offer).unwrap();
        assert_eq!((accept.format, accept.transform), (Format::Json, Transform::Table));
        let offer = Offer { protobuf: true, ..Offer::default() };
        let accept = Accept::negotiate(&headers, &Query::default(), offer).unwrap();
        assert_eq!(accept.transform, Transform::None);
        headers.insert(ACCEPT, "text/html".parse().unwrap());
        assert_eq!(Accept::negotiate(&headers, &Query::default(), offer).unwrap_err().code, 406);
    }
}
