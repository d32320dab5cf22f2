//! The JSONPath of printer columns: the dialect of kubectl, evaluated on an object.
//!
//! Missing keys give no result. What cannot be evaluated (an index beyond the end, a comparison of unlike values) gives none either,
//! since the column is then empty.

use std::borrow::Cow;

use serde_json::Value;

/// What cannot be parsed, or cannot be evaluated on an object. A table says no more about it than an empty cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Invalid;

/// Filters and unions hold paths of their own; deeper ones than this are refused, since parsing them would use up the stack.
const DEPTH: usize = 32;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path(Vec<Node>);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Literal(Value),
    Field(String),
    Slice { from: Option<i64>, to: Option<i64>, to_is_next: bool, step: Option<i64> },
    Filter { left: Vec<Node>, comparison: Option<(String, Vec<Node>)> },
    Wildcard,
    Descent,
    Union(Vec<Vec<Node>>),
}

type Found<'a> = Vec<Cow<'a, Value>>;

impl Path {
    /// Parses what stands between the braces.
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        Parser { text: text.chars().collect(), at: 0, depth: 0 }.action().map(Path)
    }

    /// The first value at the path.
    pub(super) fn first<'a>(&self, object: &'a Value) -> Option<Cow<'a, Value>> {
        walk(&self.0, vec![Cow::Borrowed(object)]).ok()?.into_iter().next()
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

impl Parser {
    fn nested(&self, text: &str) -> Result<Vec<Node>, Invalid> {
        if self.depth >= DEPTH {
            return Err(Invalid);
        }
        Parser { text: text.chars().collect(), at: 0, depth: self.depth + 1 }.action()
    }

    fn rest_starts_with(&self, prefix: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| {
            let mut rest = rest.iter();
            prefix.chars().all(|c| rest.next() == Some(&c))
        })
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// The characters up to one that ends it, which is not taken.
    fn take_while(&mut self, mut goes_on: impl FnMut(char) -> bool) -> String {
        let from = self.at;
        while self.text.get(self.at).is_some_and(|c| goes_on(*c)) {
            self.at += 1;
        }
        self.text.get(from..self.at).unwrap_or_default().iter().collect()
    }

    /// The text up to this character, which is taken and left out. Lines do not go on.
    fn until(&mut self, end: char) -> Result<String, Invalid> {
        let text = self.take_while(|c| c != end && c != '\n');
        if self.next() == Some(end) { Ok(text) } else { Err(Invalid) }
    }

    fn action(mut self) -> Result<Vec<Node>, Invalid> {
        let mut nodes = Vec::new();
        loop {
            if self.rest_starts_with("[?(") {
                self.at += 3;
                nodes.push(self.filter()?);
                continue;
            }
            if self.rest_starts_with("..") {
                if nodes.last() == Some(&Node::Descent) {
                    return Err(Invalid);
                }
                self.at += 2;
                nodes.push(Node::Descent);
                if self.text.get(self.at).is_some_and(|c| *c == '_' || c.is_alphanumeric()) {
                    nodes.push(self.field());
                }
                continue;
            }
            match self.next() {
                None | Some('}') => return Ok(nodes),
                // The object itself, at the top and in filters alike.
                Some(' ' | '@' | '$') => {}
                Some('[') => self.brackets(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
                Some('.') => nodes.push(self.field()),
                Some(c) if matches!(c, '+' | '-') || c.is_numeric() => nodes.push(self.number(c)?),
                Some(c) if c == '_' || c.is_alphabetic() => {
                    self.at -= 1;
                    let word = self.take_while(|c| !ends_word(c));
                    // Loops (`range`, `end`) make no sense in a column.
                    nodes.push(Node::Literal(Value::Bool(word.parse().map_err(|_| Invalid)?)));
                }
                Some(_) => return Err(Invalid),
            }
        }
    }

    fn field(&mut self) -> Node {
        let mut name = String::new();
        while let Some(c) = self.text.get(self.at).copied() {
            if c == '\\' {
                // A backslash takes the meaning from the character after it.
                self.at += 1;
                name.extend(self.next().filter(|c| *c != '\\'));
            } else if ends_word(c) {
                break;
            } else {
                name.push(c);
                self.at += 1;
            }
        }
        if name == "*" { Node::Wildcard } else { Node::Field(name) }
    }

    fn number(&mut self, first: char) -> Result<Node, Invalid> {
        let rest = self.take_while(|c| c == '.' || c.is_numeric());
        let text = format!("{first}{rest}");
        let number = match text.parse::<i64>() {
            Ok(whole) => Value::from(whole),
            Err(_) => text.parse::<f64>().map(Value::from).map_err(|_| Invalid)?,
        };
        Ok(Node::Literal(number))
    }

    fn quoted(&mut self, quote: char) -> Result<Node, Invalid> {
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(Invalid),
                Some('\\') => text.push(self.escape(quote)?),
                Some(c) if c == quote => return Ok(Node::Literal(Value::String(text))),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, quote: char) -> Result<char, Invalid> {
        let code = |parser: &mut Self, digits: usize, radix: u32, first: &str| {
            let text: String = first.chars().chain((0..digits).filter_map(|_| parser.next())).collect();
            u32::from_str_radix(&text, radix).ok().and_then(char::from_u32).ok_or(Invalid)
        };
        match self.next().ok_or(Invalid)? {
            'a' => Ok('\u{7}'),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            '\\' => Ok('\\'),
            'x' => code(self, 2, 16, ""),
            'u' => code(self, 4, 16, ""),
            'U' => code(self, 8, 16, ""),
            c @ '0'..='7' => code(self, 2, 8, &c.to_string()),
            c if c == quote => Ok(c),
            _ => Err(Invalid),
        }
    }

    fn brackets(&mut self, nodes: &mut Vec<Node>) -> Result<(), Invalid> {
        let text = self.until(']')?;
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 1 {
            let union = parts.iter().map(|part| self.nested(&format!("[{}]", part.trim_matches(' '))));
            nodes.push(Node::Union(union.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).filter(|t| !t.contains('\''));
        if let Some(key) = key {
            // A key in quotes is read like a field: dots in it separate unless a backslash stands before them.
            nodes.extend(self.nested(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(slice(if text == "*" { ":" } else { &text })?);
        Ok(())
    }

    fn filter(&mut self) -> Result<Node, Invalid> {
        // A closing parenthesis inside of quotes does not end the filter.
        let from = self.at;
        let (mut quote, mut closed) = (None, false);
        loop {
            match self.next() {
                None | Some('\n') => return Err(Invalid),
                Some(c @ ('"' | '\'')) => match quote {
                    None => quote = Some(c),
                    Some(q) => {
                        let escaped = self.at >= 2 && self.text.get(self.at - 2) == Some(&'\\');
                        closed |= q == c && !escaped;
                    }
                },
                Some(')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
        }
        let text: String = self.text.get(from..self.at.saturating_sub(1)).unwrap_or_default().iter().collect();
        if self.next() != Some(']') {
            return Err(Invalid);
        }
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let Some(start) = text.find(is_operator).filter(|start| *start > 0) else {
            return Ok(Node::Filter { left: self.nested(&text)?, comparison: None });
        };
        let (left, rest) = text.split_at(start);
        let right = rest.trim_start_matches(is_operator);
        let operator = rest.get(..rest.len() - right.len()).unwrap_or_default();
        if right.is_empty() {
            return Err(Invalid);
        }
        let comparison = Some((operator.to_owned(), self.nested(right)?));
        Ok(Node::Filter { left: self.nested(left)?, comparison })
    }
}

/// `2`, `1:3`, `:-1`, `0:10:2`.
fn slice(text: &str) -> Result<Node, Invalid> {
    let mut parts = text.split(':').map(|part| match part {
        "" => Ok(None),
        number if number.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) => {
            number.parse::<i64>().map(Some).map_err(|_| Invalid)
        }
        _ => Err(Invalid),
    });
    let from = parts.next().transpose()?.flatten();
    let to = parts.next().transpose()?;
    let step = parts.next().transpose()?.flatten();
    if parts.next().is_some() {
        return Err(Invalid);
    }
    Ok(match to {
        Some(to) => Node::Slice { from, to, to_is_next: false, step },
        None => Node::Slice { from, to: Some(from.unwrap_or(0).saturating_add(1)), to_is_next: true, step },
    })
}

fn walk<'a>(nodes: &[Node], start: Found<'a>) -> Result<Found<'a>, Invalid> {
    nodes.iter().try_fold(start, |found, node| step(node, found))
}

fn step<'a>(node: &Node, found: Found<'a>) -> Result<Found<'a>, Invalid> {
    let mut out = Vec::new();
    match node {
        Node::Literal(Value::String(text)) => out.push(Cow::Owned(Value::String(text.clone()))),
        Node::Literal(value) => out.extend(found.iter().map(|_| Cow::Owned(value.clone()))),
        Node::Union(paths) => {
            for path in paths {
                out.extend(walk(path, found.clone())?);
            }
        }
        Node::Field(name) => {
            let field = |value: &Cow<'a, Value>| match value {
                Cow::Borrowed(value) => value.get(name.as_str()).map(Cow::Borrowed),
                Cow::Owned(_) => None,
            };
            out.extend(found.iter().filter_map(field));
        }
        Node::Wildcard => found.iter().for_each(|value| out.extend(children(value))),
        Node::Descent => found.iter().for_each(|value| descend(value, &mut out)),
        Node::Slice { from, to, to_is_next, step } => {
            for value in found.iter().filter(|v| !v.is_null()) {
                let Cow::Borrowed(Value::Array(list)) = value else { return Err(Invalid) };
                let length = i64::try_from(list.len()).map_err(|_| Invalid)?;
                let mut from = from.unwrap_or(0);
                let mut to = to.unwrap_or(length);
                from += if from < 0 { length } else { 0 };
                to += if to < 0 || (to == 0 && *to_is_next) { length } else { 0 };
                if from == to {
                    return Ok(out);
                }
                let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) else { return Err(Invalid) };
                let step = step.unwrap_or(1);
                let step = usize::try_from(step).ok().filter(|s| *s > 0).ok_or(Invalid)?;
                out.extend(list.get(from..to).ok_or(Invalid)?.iter().step_by(step).map(Cow::Borrowed));
            }
        }
        Node::Filter { left, comparison } => {
            for value in &found {
                let Cow::Borrowed(Value::Array(list)) = value else { return Err(Invalid) };
                for element in list {
                    if passes(element, left, comparison.as_ref())? {
                        out.push(Cow::Borrowed(element));
                    }
                }
            }
        }
    }
    Ok(out)
}

fn children<'a>(value: &Cow<'a, Value>) -> Vec<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(list)) => list.iter().map(Cow::Borrowed).collect(),
        // A text is a list of bytes in Go.
        Cow::Borrowed(Value::String(text)) => text.bytes().map(|byte| Cow::Owned(Value::from(byte))).collect(),
        _ => Vec::new(),
    }
}

/// What holds something, and all such below it.
#[expect(clippy::ptr_arg, reason = "what is borrowed for long is found as borrowed, what is owned as owned")]
fn descend<'a>(value: &Cow<'a, Value>, out: &mut Found<'a>) {
    let below = children(value);
    if !below.is_empty() {
        out.push(value.clone());
        below.iter().for_each(|child| descend(child, out));
    }
}

fn passes(element: &Value, left: &[Node], comparison: Option<&(String, Vec<Node>)>) -> Result<bool, Invalid> {
    let left = walk(left, vec![Cow::Borrowed(element)]);
    let Some((operator, right)) = comparison else {
        // As upstream has it, what fails to evaluate exists.
        return Ok(left.map_or(true, |found| !found.is_empty()));
    };
    let right = walk(right, vec![Cow::Borrowed(element)]);
    match (left?.as_slice(), right?.as_slice()) {
        ([], _) | (_, []) => Ok(false),
        ([left], [right]) => compare(left, operator, right),
        _ => Err(Invalid),
    }
}

/// Only values of one type compare: a whole number and a fraction do not.
fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Invalid> {
    let order = match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) if matches!(operator, "==" | "!=") => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (None, None) => Some(a.as_f64().partial_cmp(&b.as_f64()).ok_or(Invalid)?),
            _ => None,
        },
        _ => None,
    };
    let order = order.ok_or(Invalid)?;
    match operator {
        "==" => Ok(order.is_eq()),
        "!=" => Ok(order.is_ne()),
        "<" => Ok(order.is_lt()),
        "<=" => Ok(order.is_le()),
        ">" => Ok(order.is_gt()),
        ">=" => Ok(order.is_ge()),
        _ => Err(Invalid),
    }
}
