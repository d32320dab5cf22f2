//! `--feature-gates` of a long-running process: our own differences, and those of upstream's gates that these parts know.

use plimsoll_engine::gates::{Gate, Gates};

use crate::failure::Failure;
use crate::printer::Printer;

/// Upstream's gates that concern volumes, with what they are here.
const UPSTREAM: [(&str, bool); 11] = [
    ("AnyVolumeDataSource", true),
    ("CSIMigration", true),
    ("CSIStorageCapacity", true),
    ("CrossNamespaceVolumeDataSource", false),
    ("GenericEphemeralVolume", true),
    ("HonorPVReclaimPolicy", true),
    ("MutablePVNodeAffinity", false),
    ("ReadWriteOncePod", true),
    ("RecoverVolumeExpansionFailure", true),
    ("RetroactiveDefaultStorageClass", true),
    ("VolumeAttributesClass", true),
];

/// Upstream's gate for the condition `Unused` of claims, on since 1.37. It can be had both ways.
const UNUSED: &str = "PersistentVolumeClaimUnusedSinceTime";

/// The gates of the process.
pub struct Read {
    /// Our own.
    pub gates: Gates,
    /// Whether claims get the condition `Unused`.
    pub unused: bool,
}

/// What a process makes of a gate that only it knows: `None` where it does not, otherwise a note, or why it cannot be had.
pub type Own = Option<Result<Option<String>, String>>;

/// Reads the gates as asked for: `NAME=true`, or `kube:NAME=true` as upstream's components also write it. `own` is asked
/// about those that are not known here.
pub fn read(asked: &[String], printer: &mut Printer, mut own: impl FnMut(&str, bool) -> Own) -> Result<Read, Failure> {
    let mut gates = Gates::all();
    let mut unused = true;
    for text in asked.iter().filter(|text| !text.is_empty()) {
        let wrong = || Failure::new(format!("--feature-gates: {text} is not NAME=true or NAME=false"));
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let name = name.strip_prefix("kube:").unwrap_or(name);
        let on: bool = value.trim().to_lowercase().parse().map_err(|_| wrong())?;
        if let Some(gate) = Gate::from_name(name) {
            gates = gates.with(gate, on);
        } else if name == UNUSED {
            unused = on;
        } else if let Some((_, ours)) = UPSTREAM.iter().find(|(known, _)| *known == name) {
            if on != *ours {
                let state = if *ours { "always on" } else { "not built" };
                return Err(Failure::new(format!(
                    "--feature-gates: {name} is {state} here, so that {text} cannot be had"
                )));
            }
        } else if let Some(answer) = own(name, on) {
            let note = answer.map_err(|why| Failure::new(format!("--feature-gates: {why}")))?;
            note.iter().for_each(|note| printer.note(&format!("--feature-gates: {note}")));
        } else if name == "AllAlpha" || name == "AllBeta" {
            printer.note(&format!("--feature-gates: {name} changes nothing here; name single gates"));
        } else {
            printer.note(&format!("--feature-gates: {name} concerns nothing here"));
        }
    }
    Ok(Read { gates, unused })
}
