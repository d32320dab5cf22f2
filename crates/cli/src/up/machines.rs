//! The nodes to be simulated: their names, zones and amounts.

use std::collections::BTreeMap;

use plimsoll_engine::quantity::Quantity;
use plimsoll_simulate::nodes::Machine;

use crate::failure::Failure;

use super::args::UpArgs;

/// A zone's name, which is a label's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone(pub String);

/// Reads one of `--zones`.
pub fn zone(text: &str) -> Result<Zone, String> {
    const LONGEST: usize = 63;
    let name = text.trim();
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() {
        return Err("a zone has no name; write them as a,b,c".to_owned());
    }
    if name.len() > LONGEST || !edge(name.chars().next()) || !edge(name.chars().last()) || !name.chars().all(inner) {
        return Err(format!(
            "{name:?} cannot be a zone: it must be a label's value, at most {LONGEST} letters, digits, -, _ or ., \
             beginning and ending with a letter or digit"
        ));
    }
    Ok(Zone(name.to_owned()))
}

/// Reads `--node-cpu` and `--node-memory`.
pub fn quantity(text: &str) -> Result<String, String> {
    let quantity =
        Quantity::parse(text).map_err(|error| format!("{text:?} is not a quantity such as 8 or 32Gi: {error}"))?;
    if quantity <= Quantity::ZERO {
        return Err(format!("{text:?} is not more than nothing"));
    }
    Ok(text.to_owned())
}

/// A node as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub zone: Zone,
}

/// The nodes as asked for; zones are dealt in turn.
pub fn wanted(args: &UpArgs) -> Result<Vec<Wanted>, Failure> {
    let mut seen = args.zones.clone();
    seen.sort_unstable();
    if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::new(format!("--zones: {} is named twice", twice[0].0))
            .help("nodes are dealt to the zones in turn, so that each is named once: --zones a,b,c"));
    }
    let zones = args.zones.iter().cycle();
    Ok((1..=args.nodes).zip(zones).map(|(i, zone)| Wanted { name: format!("node-{i}"), zone: zone.clone() }).collect())
}

/// The machines that the nodes are.
pub fn machines(args: &UpArgs, wanted: &[Wanted]) -> Vec<Machine> {
    // By number and not as a fleet deals them: node-1 keeps its addresses when it is alone for once, or no longer.
    let machine = |(number, node): (u16, &Wanted)| {
        Machine::new(&node.name)
            .place(number)
            .zone(&node.zone.0)
            .allocatable("cpu", &args.node_cpu)
            .allocatable("memory", &args.node_memory)
    };
    (0..).zip(wanted).map(machine).collect()
}

/// The nodes in words, by zone: `a: node-1, node-4; b: node-2`.
pub fn by_zone(wanted: &[Wanted]) -> String {
    /// More names than these are counted.
    const NAMED: usize = 4;
    let mut zones: BTreeMap<&Zone, Vec<&str>> = BTreeMap::new();
    for node in wanted {
        zones.entry(&node.zone).or_default().push(&node.name);
    }
    let part = |(zone, names): (&Zone, Vec<&str>)| {
        let named = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
            Some(more) => format!("{named} and {more} more in zone {}", zone.0),
            None => format!("{named} in zone {}", zone.0),
        }
    };
    zones.into_iter().map(part).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_label_values() {
        assert_eq!(zone("eu-west-1a"), Ok(Zone("eu-west-1a".into())));
        assert_eq!(zone(" b"), Ok(Zone("b".into())));
        for bad in ["", "-a", "a-", "ä", "a/b", &"a".repeat(64)] {
            assert!(zone(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nodes_in_words() {
        let node = |i: u32, zone: &str| Wanted { name: format!("node-{i}"), zone: Zone(zone.into()) };
        let nodes: Vec<Wanted> = (1..=7).map(|i| node(i, if i == 2 { "b" } else { "a" })).collect();
        assert_eq!(by_zone(&nodes), "node-1, node-3, node-4, node-5 and 2 more in zone a; node-2 in zone b");
    }
}
