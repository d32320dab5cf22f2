//! Label and field selectors of list and watch.

use std::sync::Arc;

use plimsoll_engine::selector::Requirement;

use crate::custom::CustomResource;
use crate::status::Status;
use crate::store::Object;

/// Which objects a list or watch is about.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    labels: Vec<Requirement>,
    /// Field, value, and whether it must be equal (or must not).
    fields: Vec<(String, String, bool)>,
    /// Whose fields they are, where a definition says so: it may have changed since an object was written.
    custom: Option<Arc<CustomResource>>,
}

impl Filter {
    /// The same, for objects of a custom resource.
    pub fn of_custom(self, custom: Option<Arc<CustomResource>>) -> Self {
        Self { custom, ..self }
    }

    /// Reads both selectors. `selectable` says which field of the resource a name means.
    pub fn parse(
        labels: &str,
        fields: &str,
        selectable: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Status> {
        let mut fields = parse_fields(fields)?;
        for (field, _, _) in &mut fields {
            *field = selectable(field).map_err(Status::bad_request)?;
        }
        Ok(Self { labels: Lexer::new(labels).requirements()?, fields, custom: None })
    }

    /// Everything passes.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that the selector asks for, if it asks for one.
    pub fn name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _, equal)| field == "metadata.name" && *equal)
            .map(|(_, value, _)| value.as_str())
    }

    /// Whether an object is among them.
    pub fn matches(&self, object: &Object) -> bool {
        let custom = self.custom_fields(object);
        self.labels.iter().all(|r| r.accepts(object.meta.label(r.key())))
            && self.fields.iter().all(|(field, value, equal)| {
                let found = match field.as_str() {
                    "metadata.name" => object.name(),
                    "metadata.namespace" => object.namespace(),
                    other => match &custom {
                        Some(fields) => fields.iter().find(|(name, _)| name == other).map_or("", |(_, value)| value),
                        None => object.meta.field(other).unwrap_or_default(),
                    },
                };
                (found == value) == *equal
            })
    }

    /// What a definition lets one select an object by.
    fn custom_fields(&self, object: &Object) -> Option<Vec<(String, String)>> {
        let custom = self.custom.as_ref()?;
        if !self.fields.iter().any(|(field, ..)| !field.starts_with("metadata.")) {
            return None;
        }
        Some(crate::codec::stored(&object.bytes).map(|value| custom.selectable_fields(&value)).unwrap_or_default())
    }
}

fn parse_fields(text: &str) -> Result<Vec<(String, String, bool)>, Status> {
    let mut out = Vec::new();
    for term in split_unescaped(text) {
        if term.is_empty() {
            continue;
        }
        let at = term.find(['=', '!']).unwrap_or(term.len());
        let (field, rest) = term.split_at(at);
        let (value, equal) = if let Some(value) = rest.strip_prefix("!=") {
            (value, false)
        } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            (value, true)
        } else {
            return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'")));
        };
        let value = unescaped(value).map_err(Status::bad_request)?;
        // A term without either side asks for nothing.
        if !(field.is_empty() && value.is_empty()) {
            out.push((field.to_owned(), value, equal));
        }
    }
    Ok(out)
}

/// A value without its backslashes. Only what would end it may be escaped, and must be.
fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(format!("invalid field selector: invalid escape sequence: \\{c}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c))),
            c => out.push(c),
        }
    }
    Ok(out)
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                out.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Sign(&'static str),
    End,
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) => text,
            Self::Sign(text) => text,
            Self::End => "",
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn take(&mut self) -> Token<'a> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        if rest.is_empty() {
            return Token::End;
        }
        for sign in ["!=", "==", "=", "!", "(", ")", ",", ">", "<"] {
            if rest.starts_with(sign) {
                self.at += sign.len();
                return Token::Sign(sign);
            }
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=!(),><".contains(c)).unwrap_or(rest.len());
        self.at += end;
        Token::Word(&rest[..end])
    }

    fn peek(&mut self) -> Token<'a> {
        let at = self.at;
        let token = self.take();
        self.at = at;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, Status> {
        let mut out = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(out),
                Token::Word(_) | Token::Sign("!") => {
                    out.push(
                        self.requirement()
                            .map_err(|e| Status::bad_request(format!("unable to parse requirement: {e}")))?,
                    );
                    match self.take() {
                        Token::End => return Ok(out),
                        Token::Sign(",") => {
                            if !matches!(self.peek(), Token::Word(_) | Token::Sign("!")) {
                                let found = self.peek();
                                return Err(Status::bad_request(format!(
                                    "found '{}', expected: identifier after ','",
                                    found.text()
                                )));
                            }
                        }
                        other => {
                            return Err(Status::bad_request(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.text()
                            )));
                        }
                    }
                }
                other => {
                    return Err(Status::bad_request(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    )));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let make = |key: &str, operator: &str, values: &[&str]| {
            // Upstream's parser has no path for the key, and says so.
            Requirement::new(key, operator, values).map_err(|error| match error.to_string() {
                text if text.starts_with("key: ") => text.replacen("key", "<nil>", 1),
                text => text,
            })
        };
        let negated = self.peek() == Token::Sign("!");
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if negated {
            return make(key, "DoesNotExist", &[]);
        }
        match self.peek() {
            Token::End | Token::Sign(",") => return make(key, "Exists", &[]),
            _ => {}
        }
        match self.take() {
            Token::Sign("=" | "==") => make(key, "In", &[self.value()?]),
            Token::Sign("!=") => make(key, "NotIn", &[self.value()?]),
            Token::Sign(">") => make(key, "Gt", &[self.value()?]),
            Token::Sign("<") => make(key, "Lt", &[self.value()?]),
            Token::Word("in") => make(key, "In", &self.values()?),
            Token::Word("notin") => make(key, "NotIn", &self.values()?),
            other => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        }
    }

    fn value(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(""),
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self) -> Result<Vec<&'a str>, String> {
        match self.take() {
            Token::Sign("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut out = Vec::new();
        loop {
            match self.take() {
                Token::Word(word) => {
                    out.push(word);
                    match self.take() {
                        Token::Sign(",") => {
                            if self.peek() == Token::Sign(")") {
                                out.push("");
                            }
                        }
                        Token::Sign(")") => return Ok(out),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Sign(",") => out.push(""),
                Token::Sign(")") => {
                    if out.is_empty() {
                        out.push("");
                    }
                    return Ok(out);
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_read_as_upstream_reads_them() {
        for (text, outcome) in [
            ("a=b,c!=d", Ok(2)),
            ("a in (x, y),b notin (z),c,!d", Ok(4)),
            ("a>5,b<7", Ok(2)),
            ("", Ok(0)),
            ("a=", Ok(1)),
            ("a===b", Err("unable to parse requirement: found '=', expected: identifier")),
            ("a,", Err("found '', expected: identifier after ','")),
        ] {
            let found = Lexer::new(text).requirements().map(|r| r.len()).map_err(|s| s.message);
            assert_eq!(found, outcome.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn field_selectors_are_read_as_upstream_reads_them() {
        let fields = parse_fields("metadata.name=a,spec.nodeName!=b\\,c").unwrap();
        assert_eq!(fields[1], ("spec.nodeName".into(), "b,c".into(), false));
        assert!(parse_fields("bogus").is_err());
    }
}
