//! `plimsoll explain --decision-log FILE`: what the scheduler decided, from its own log (docs/scheduler-operations.md).

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use crate::Found;
use crate::explain::subject::Subject;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::text::{Grid, Paragraph, Row, Span, style};

/// Shows the lines about a pod, or about all, oldest first.
pub fn explain(file: &Path, subject: &Subject, printer: &mut Printer) -> Result<Found, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("{} cannot be read: {error}", file.display()));
    let mut items = Vec::new();
    for (number, line) in BufReader::new(File::open(file).map_err(unreadable)?).lines().enumerate() {
        let line = line.map_err(unreadable)?;
        match serde_json::from_str::<Value>(&line) {
            Ok(item) if is_about(&item, subject) => items.push(item),
            Ok(_) => {}
            // The scheduler may be in the middle of it, or have died there.
            Err(error) => printer.note(&format!("{}:{}: left out: {error}", file.display(), number + 1)),
        }
    }
    // What came of each pod in the end: earlier attempts were tried again.
    let mut last = std::collections::BTreeMap::new();
    for item in &items {
        last.insert(item["pod"]["uid"].to_string(), item["outcome"] == "scheduled");
    }
    let data = json!({"apiVersion": "plimsoll.dev/v1", "kind": "DecisionList", "items": items});
    printer.data(&data, table)?;
    Ok(if last.values().all(|placed| *placed) { Found::Placeable } else { Found::Unplaceable })
}

fn is_about(item: &Value, subject: &Subject) -> bool {
    let is = |field: &str, wanted: &str| item["pod"][field] == wanted;
    match subject {
        Subject::Pod { namespace, name } => {
            is("name", name) && namespace.as_deref().is_none_or(|namespace| is("namespace", namespace))
        }
        Subject::Waiting { namespace } => namespace.as_deref().is_none_or(|namespace| is("namespace", namespace)),
        // Every attempt that this code had a part in.
        Subject::Code(code) => {
            let mut verdicts = item["verdicts"].as_array().into_iter().flatten();
            verdicts.any(|verdict| verdict["code"].as_str().is_some_and(|known| known.eq_ignore_ascii_case(code)))
        }
    }
}

fn table(data: &Value, width: usize) -> String {
    let items = data["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        return "The log has nothing about that.\n".to_owned();
    }
    let mut grid = Grid::new(&["TIME", "NAMESPACE", "POD", "TRY", "OUTCOME", "NODE", "FIT", "TOOK", "WHY"]);
    for item in items {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
        let number = |pointer: &str| item.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let took = item.pointer("/latency/total").and_then(Value::as_f64).unwrap_or(0.0);
        let time = text("/time");
        let outcome = if item["outcome"] == "scheduled" { style::GOOD } else { style::BAD };
        let mut why: Vec<Span> = Vec::new();
        for verdict in item["verdicts"].as_array().into_iter().flatten() {
            why.push(Span::new(verdict["code"].as_str().unwrap_or_default(), style::CODE));
        }
        if let Some(message) = item["message"].as_str() {
            why.push(Span::plain(message));
        }
        grid.push(Row {
            cells: vec![
                Span::plain(time.split('.').next().unwrap_or_default().to_owned()),
                Span::plain(text("/pod/namespace")),
                Span::plain(text("/pod/name")),
                Span::plain(number("/attempt").to_string()),
                Span::new(text("/outcome"), outcome),
                Span::plain(text("/choice/node")),
                Span::plain(format!("{}/{}", number("/feasible"), number("/nodes"))),
                Span::plain(format!("{:.1} ms", took * 1000.0)),
            ],
            tail: if why.is_empty() { Vec::new() } else { vec![Paragraph::new(why)] },
        });
    }
    let mut out = String::new();
    grid.render(&mut out, width);
    out
}
