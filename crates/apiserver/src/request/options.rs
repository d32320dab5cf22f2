//! The options in a request's query.

use crate::request::path::{unescape, well_escaped};
use crate::status::Status;

/// A query, taken apart. The first value of a name counts, as upstream's conversion has it.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query string. Pairs that Go cannot read are left out, as upstream leaves them out.
    pub fn parse(query: Option<&str>) -> Self {
        let pairs =
            query.unwrap_or_default().split('&').filter(|p| !p.is_empty() && !p.contains(';') && well_escaped(p));
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (unescape(&name.replace('+', " ")), unescape(&value.replace('+', " ")))
                })
                .collect(),
        )
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Every value of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A flag: absent is no; a name alone, or any word but `false` and `0`, is yes.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|v| !matches!(v.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Status::bad_request(not_a_number("ParseInt", text)))
    }
}

/// The options of get, list and watch.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// Which labels.
    pub label_selector: String,
    /// Which fields.
    pub field_selector: String,
    /// Bookmarks are understood.
    pub bookmarks: bool,
    /// The version asked for; empty for the newest.
    pub resource_version: String,
    /// How that version is meant.
    pub version_match: String,
    /// When a watch ends.
    pub timeout_seconds: Option<i64>,
    /// How many at most; 0 for all.
    pub limit: i64,
    /// Where the last list stopped.
    pub continue_token: String,
    /// A watch begins with what is there.
    pub send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads the options of a query.
    pub fn parse(query: &Query) -> Result<Self, Status> {
        Ok(Self {
            label_selector: query.text("labelSelector"),
            field_selector: query.text("fieldSelector"),
            bookmarks: query.flag("allowWatchBookmarks"),
            resource_version: query.text("resourceVersion"),
            version_match: query.text("resourceVersionMatch"),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: query.number("limit")?.unwrap_or(0),
            continue_token: query.text("continue"),
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
        })
    }

    /// The version asked for as a number; none for the newest.
    pub fn version(&self) -> Result<Option<u64>, Status> {
        if self.resource_version.is_empty() {
            return Ok(None);
        }
        parse_version(&self.resource_version).map(Some).map_err(|why| {
            let quoted = crate::field::go_quoted(&self.resource_version);
            // Upstream finds out deep inside, and only lists say whose fault it is.
            Status::new(500, "", format!("resourceVersion: Invalid value: {quoted}: {why}"))
        })
    }
}

/// A version as Go's parser takes it: digits and nothing else.
pub fn parse_version(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| not_a_number("ParseUint", text))
}

/// Go's words for a text that is no number, or too large a one.
fn not_a_number(function: &str, text: &str) -> String {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let unsigned = function == "ParseUint" && digits.len() < text.len();
    let number = !unsigned && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let why = if number { "value out of range" } else { "invalid syntax" };
    format!("strconv.{function}: parsing {}: {why}", crate::field::go_quoted(text))
}

/// What happens with fields that the kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the answer says so.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// The options of create, update, patch and apply.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Everything happens but the write.
    pub dry_run: bool,
    /// Who owns the fields that are written.
    pub field_manager: String,
    /// What happens with unknown fields.
    pub field_validation: FieldValidation,
    /// Apply takes fields from other owners.
    pub force: Option<bool>,
}

/// Whether nothing is to be written: `dryRun=All`, and no other word.
pub fn dry_run(query: &Query) -> Result<bool, crate::field::FieldError> {
    let words: Vec<&str> = query.all("dryRun").collect();
    match words.iter().all(|word| *word == "All") {
        true => Ok(!words.is_empty()),
        false => Err(crate::field::FieldError::not_supported("dryRun", &words.into(), &["All"])),
    }
}

impl WriteOptions {
    /// Reads the options of a query. `what` is the kind of options, as upstream names it in errors.
    pub fn parse(query: &Query, what: &str) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let mut options = Self { field_manager: query.text("fieldManager"), ..Self::default() };
        match dry_run(query) {
            Ok(dry_run) => options.dry_run = dry_run,
            Err(error) => errors.push(error),
        }
        match query.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => {}
            "Ignore" => options.field_validation = FieldValidation::Ignore,
            "Strict" => options.field_validation = FieldValidation::Strict,
            other => errors.push(crate::field::FieldError::not_supported(
                "fieldValidation",
                &other.into(),
                &["", "Ignore", "Strict", "Warn"],
            )),
        }
        if options.field_manager.len() > 128 {
            errors.push(crate::field::FieldError {
                wrong: crate::field::Wrong::TooLong,
                field: "fieldManager".into(),
                value: String::new(),
                detail: "may not be more than 128 bytes".into(),
            });
        } else if let Some(c) = options.field_manager.chars().find(|c| c.is_control()) {
            let value = options.field_manager.clone().into();
            errors.push(crate::field::FieldError::invalid(
                "fieldManager",
                &value,
                format!(
                    "invalid character U+{:04X} (at position {})",
                    u32::from(c),
                    options.field_manager.find(c).unwrap_or(0)
                ),
            ));
        }
        if query.get("force").is_some() {
            options.force = Some(query.flag("force"));
        }
        if errors.is_empty() { Ok(options) } else { Err(Status::invalid("meta.k8s.io", what, "", &errors)) }
    }
}
