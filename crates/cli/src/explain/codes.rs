//! `plimsoll explain PL012`: what a code means and what to do.

use plimsoll_engine::reason::{Code, CodeInfo};
use serde::Serialize;

use crate::Found;
use crate::explain::report::API_VERSION;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::text::{Grid, Paragraph, Row, Span, style};

/// A code, as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meaning {
    api_version: &'static str,
    kind: &'static str,
    code: String,
    title: &'static str,
    meaning: &'static str,
    remedy: &'static str,
}

/// Every code.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MeaningList {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Meaning>,
}

impl Meaning {
    fn new(info: &CodeInfo) -> Self {
        let CodeInfo { code, title, meaning, remedy } = *info;
        Self { api_version: API_VERSION, kind: "Code", code: code.to_string(), title, meaning, remedy }
    }
}

/// Explains one code, written in any case and with or without leading zeros.
pub fn explain(text: &str, printer: &mut Printer) -> Result<Found, Failure> {
    let number: Option<u16> = text.get(2..).and_then(|digits| digits.parse().ok());
    let info = number.and_then(|n| Code(n).info()).ok_or_else(|| unknown(text, number))?;
    printer.data(&Meaning::new(info), table)?;
    Ok(Found::Placeable)
}

/// Lists every code.
pub fn explain_all(printer: &mut Printer) -> Result<Found, Failure> {
    let items = Code::ALL.iter().map(Meaning::new).collect();
    printer.data(&MeaningList { api_version: API_VERSION, kind: "CodeList", items }, list)?;
    Ok(Found::Placeable)
}

fn unknown(text: &str, number: Option<u16>) -> Failure {
    /// Enough to spot a slip of one digit.
    const SUGGESTED: usize = 3;
    let failure = Failure::new(format!("there is no code {}", text.to_ascii_uppercase()));
    let Some(number) = number else { return failure.help("`plimsoll explain --codes` lists all codes") };
    let mut near: Vec<&CodeInfo> = Code::ALL.iter().collect();
    near.sort_by_key(|info| (info.code.0.abs_diff(number), info.code));
    let near: Vec<String> = near.iter().take(SUGGESTED).map(|info| format!("{} ({})", info.code, info.title)).collect();
    failure.help(format!("near it are {}; `plimsoll explain --codes` lists all", near.join(", ")))
}

fn table(code: &Meaning, width: usize) -> String {
    let mut out = String::new();
    let title = vec![Span::new(code.code.as_str(), style::CODE), Span::new(code.title, style::TITLE)];
    Paragraph::new(title).render(&mut out, width);
    for (heading, text) in [("What it means", code.meaning), ("What to do", code.remedy)] {
        out.push('\n');
        Paragraph::from(Span::new(heading, style::TITLE)).render(&mut out, width);
        Paragraph::from(Span::plain(text)).indent(2).render(&mut out, width);
    }
    out
}

fn list(list: &MeaningList, width: usize) -> String {
    let mut grid = Grid::new(&["CODE", "MEANS"]);
    for code in &list.items {
        let cells = vec![Span::new(code.code.as_str(), style::CODE)];
        grid.push(Row { cells, tail: vec![Span::plain(code.title).into()] });
    }
    let mut out = String::new();
    grid.render(&mut out, width);
    out
}
