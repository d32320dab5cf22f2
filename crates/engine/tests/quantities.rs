//! Quantities against the answers of Kubernetes' own library (k8s.io/apimachinery v0.37.1), recorded in
//! `data/quantities.tsv`. `QUANTITY_CASES` names another file of the same shape to be checked instead.
//!
//! The lines of the file, split by tabs:
//! - text, `err`, message
//! - text, `ok`, notation, text echoed, canonical form, value, milli-value, sign
//! - left, right, `pair`, order, sum, its value, difference, its value, left negated

use plimsoll_engine::quantity::Quantity;

/// What differs in one line, if anything.
fn check(line: &str) -> Result<(), String> {
    let columns: Vec<&str> = line.split('\t').collect();
    match columns[..] {
        [text, "err", message] => match Quantity::parse(text) {
            Err(error) if error.to_string() == message => Ok(()),
            other => Err(format!("{other:?} instead of error {message}")),
        },
        [text, "ok", _, _, canonical, value, milli, sign] => {
            let q = Quantity::parse(text).map_err(|error| error.to_string())?;
            let ours = [q.to_string(), q.value().to_string(), q.milli_value().to_string(), q.sign().to_string()];
            same(&ours, &[canonical, value, milli, sign])
        }
        [left, right, "pair", order, sum, sum_value, difference, difference_value, negated] => {
            let parse = |text| Quantity::parse(text).map_err(|error| format!("{text}: {error}"));
            let (left, right) = (parse(left)?, parse(right)?);
            same(&[(left.cmp(&right) as i8).to_string(), (-left).to_string()], &[order, negated])?;
            // Upstream keeps any count of digits.
            if let Some(ours) = left.checked_add(right) {
                same(&[ours.to_string(), ours.value().to_string()], &[sum, sum_value])?;
            }
            if let Some(ours) = left.checked_sub(right) {
                same(&[ours.to_string(), ours.value().to_string()], &[difference, difference_value])?;
            }
            Ok(())
        }
        _ => Err("not a line of this file".to_owned()),
    }
}

fn same(ours: &[String], theirs: &[&str]) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{ours:?} instead of {theirs:?}")) }
}

#[test]
fn agrees_with_upstream() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/quantities.tsv");
    let path = std::env::var("QUANTITY_CASES").unwrap_or(default.to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let wrong: Vec<String> =
        text.lines().filter_map(|line| Some(format!("{line}\n    {}", check(line).err()?))).collect();
    assert!(text.lines().count() > 1000, "{path} is cut off");
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
