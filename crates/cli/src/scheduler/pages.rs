//! The tables of `docs/scheduler.md` are the program's own.

use plimsoll_scheduler::config::fields::types;
use plimsoll_scheduler::config::gates::{GATES, GateTreatment};
use plimsoll_scheduler::config::plugins::PLUGINS;

use crate::process::upstream_flags::tests::shows;

#[test]
fn scheduler_page_shows_every_field() {
    let mut table = String::from("\n| type | field | | |\n| --- | --- | --- | --- |\n");
    for of in types() {
        for field in of.fields {
            let (word, why) = field.treatment.told();
            table.push_str(&format!("| {} | `{}` | {word} | {why} |\n", of.name, field.name));
        }
    }
    shows("scheduler", "<!-- fields: made by `UPDATE=1 cargo test -p plimsoll-cli scheduler_page` -->\n", &table);
}

#[test]
fn scheduler_page_shows_every_plugin() {
    let mut table = String::from("\n| plugin | weight | | |\n| --- | --- | --- | --- |\n");
    for known in PLUGINS {
        let (word, why) = known.treatment.told();
        let scores = known.points.contains(&plimsoll_scheduler::config::plugins::Point::Score);
        let weight = known.by_default.filter(|_| scores).map(|weight| weight.max(1).to_string()).unwrap_or_default();
        table.push_str(&format!("| {} | {weight} | {word} | {why} |\n", known.name));
    }
    shows("scheduler", "<!-- plugins: made by `UPDATE=1 cargo test -p plimsoll-cli scheduler_page` -->\n", &table);
}

#[test]
fn scheduler_page_shows_every_gate() {
    let mut table = String::from("\n| gate | | |\n| --- | --- | --- |\n");
    for (name, treatment) in GATES {
        let (word, why) = match treatment {
            GateTreatment::Honoured => ("on unless told otherwise", ""),
            GateTreatment::AlwaysOn(why) => ("always on", why),
            GateTreatment::NotBuilt(why) => ("not built", why),
            GateTreatment::Indifferent(why) => ("changes nothing", why),
        };
        table.push_str(&format!("| `{name}` | {word} | {why} |\n"));
    }
    shows("scheduler", "<!-- gates: made by `UPDATE=1 cargo test -p plimsoll-cli scheduler_page` -->\n", &table);
}
