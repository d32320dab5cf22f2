//! What must hold of volumes and claims. Only what components do is judged while the run lasts: the administrator may do
//! everything, and components have to live with it.

use serde_json::Value;

use super::{Change, Invariant, State};

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// All of them.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(NotBoundTwice),
        Box::new(VolumeNameStays),
        Box::new(RetainedStays),
        Box::new(BoundStaysBound),
        Box::new(NothingHalfBound),
    ]
}

/// What is read of a volume and of a claim.
pub mod read {
    use serde_json::Value;

    /// The uid.
    pub fn uid(object: &Value) -> &str {
        object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// `status.phase`.
    pub fn phase(object: &Value) -> &str {
        object["status"]["phase"].as_str().unwrap_or_default()
    }

    /// The uid of the claim that a volume names; empty where it names none, or only by name.
    pub fn claim_uid(volume: &Value) -> &str {
        volume["spec"]["claimRef"]["uid"].as_str().unwrap_or_default()
    }

    /// The volume that a claim names; empty where it names none.
    pub fn volume_name(claim: &Value) -> &str {
        claim["spec"]["volumeName"].as_str().unwrap_or_default()
    }

    /// An annotation.
    pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
        object["metadata"]["annotations"][key].as_str()
    }

    /// A volume's reclaim policy.
    pub fn policy(volume: &Value) -> &str {
        volume["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or("Retain")
    }

    /// Whether it is being deleted.
    pub fn is_deleting(object: &Value) -> bool {
        object["metadata"]["deletionTimestamp"].is_string()
    }
}
use read::{annotation, claim_uid, is_deleting, phase, policy, uid, volume_name};

/// The claim of this uid.
fn claim_of<'a>(state: &'a State, wanted: &str) -> Option<(&'a str, &'a Value)> {
    if wanted.is_empty() {
        return None;
    }
    state.claims.iter().find(|(_, claim)| uid(claim) == wanted).map(|(key, claim)| (key.as_str(), &**claim))
}

/// The claim that has a volume of this name, for good: its binding is complete, and the volume says the same.
fn owner<'a>(state: &'a State, name: &str, volume: &Value) -> Option<(&'a str, &'a Value)> {
    let (key, claim) = claim_of(state, claim_uid(volume))?;
    let has = volume_name(claim) == name && annotation(claim, BIND_COMPLETED).is_some();
    has.then_some((key, claim))
}

/// No volume is given to a claim while another one has it.
pub struct NotBoundTwice;

impl Invariant for NotBoundTwice {
    fn name(&self) -> &'static str {
        "no volume is bound twice"
    }

    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String> {
        let Some(after) = &change.after else { return Ok(()) };
        if !change.by_component() {
            return Ok(());
        }
        match change.resource {
            "persistentvolumeclaims" => {
                let completed = |claim: &Value| annotation(claim, BIND_COMPLETED).is_some() && phase(claim) != "Lost";
                let newly = completed(after) && !change.before.as_ref().is_some_and(|b| completed(b));
                let name = volume_name(after);
                if newly
                    && let Some(volume) = state.volumes.get(name)
                    && let Some((other, _)) = owner(state, name, volume)
                    && other != change.key
                {
                    return Err(format!("the claim takes {name}, which {other} has"));
                }
            }
            "persistentvolumes" => {
                if let Some(before) = &change.before
                    && claim_uid(after) != claim_uid(before)
                    && !claim_uid(after).is_empty()
                    && let Some((other, _)) = owner(state, change.key, before)
                {
                    return Err(format!("the volume goes to {}, while {other} has it", claim_uid(after)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn at_the_end(&mut self, state: &State) -> Result<(), String> {
        let mut bound: Vec<(&str, &str)> = state
            .claims
            .iter()
            .filter(|(_, claim)| phase(claim) == "Bound")
            .map(|(key, claim)| (volume_name(claim), key.as_str()))
            .collect();
        bound.sort_unstable();
        match bound.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("{} is bound to {} and to {}", pair[0].0, pair[0].1, pair[1].1)),
            None => Ok(()),
        }
    }
}

/// A claim's volume is chosen once.
pub struct VolumeNameStays;

impl Invariant for VolumeNameStays {
    fn name(&self) -> &'static str {
        "a claim's volume never changes"
    }

    fn check(&mut self, _: &State, change: &Change<'_>) -> Result<(), String> {
        if change.resource != "persistentvolumeclaims" {
            return Ok(());
        }
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(()) };
        if uid(before) == uid(after) && !volume_name(before).is_empty() && volume_name(before) != volume_name(after) {
            return Err(format!("{} became {:?}", volume_name(before), volume_name(after)));
        }
        Ok(())
    }
}

/// A volume with the policy Retain is deleted by nobody but the administrator. Taking the last finalizer off one that the
/// administrator deleted is no deletion.
pub struct RetainedStays;

impl Invariant for RetainedStays {
    fn name(&self) -> &'static str {
        "no Retain volume is ever deleted"
    }

    fn check(&mut self, _: &State, change: &Change<'_>) -> Result<(), String> {
        if change.resource != "persistentvolumes" || !change.by_component() {
            return Ok(());
        }
        let Some(before) = &change.before else { return Ok(()) };
        if policy(before) != "Retain" || is_deleting(before) {
            return Ok(());
        }
        if change.after.as_ref().is_none_or(|after| is_deleting(after)) {
            return Err("deleted".to_owned());
        }
        Ok(())
    }
}

/// While a claim has a volume, no component takes it away: the reference stays, and the volume becomes neither Available
/// nor Released.
pub struct BoundStaysBound;

impl Invariant for BoundStaysBound {
    fn name(&self) -> &'static str {
        "what is bound stays bound"
    }

    fn check(&mut self, state: &State, change: &Change<'_>) -> Result<(), String> {
        if change.resource != "persistentvolumes" || !change.by_component() {
            return Ok(());
        }
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(()) };
        let Some((claim, _)) = owner(state, change.key, before) else { return Ok(()) };
        if claim_uid(after) != claim_uid(before) {
            return Err(format!("its claimRef lost {claim}, which has it"));
        }
        if phase(after) != phase(before) && matches!(phase(after), "Available" | "Released") {
            return Err(format!("it became {} while {claim} has it", phase(after)));
        }
        Ok(())
    }
}

/// At rest, claims and volumes agree on who has whom.
pub struct NothingHalfBound;

impl Invariant for NothingHalfBound {
    fn name(&self) -> &'static str {
        "nothing is left half-bound"
    }

    fn check(&mut self, _: &State, _: &Change<'_>) -> Result<(), String> {
        Ok(())
    }

    fn at_the_end(&mut self, state: &State) -> Result<(), String> {
        for (name, volume) in &state.volumes {
            volume_at_rest(state, name, volume).map_err(|why| format!("volume {name}: {why}"))?;
        }
        for (key, claim) in &state.claims {
            claim_at_rest(state, claim).map_err(|why| format!("claim {key}: {why}"))?;
        }
        Ok(())
    }
}

fn volume_at_rest(state: &State, name: &str, volume: &Value) -> Result<(), String> {
    let now = phase(volume);
    if claim_uid(volume).is_empty() {
        return if now == "Available" { Ok(()) } else { Err(format!("nobody has it, and it is {now}")) };
    }
    let Some((key, claim)) = claim_of(state, claim_uid(volume)) else {
        let over = matches!(now, "Released" | "Failed");
        return if over { Ok(()) } else { Err(format!("its claim is gone, and it is {now}")) };
    };
    if volume_name(claim) != name {
        // A volume too many for the claim: it waits for whoever deletes it.
        let surplus = annotation(volume, PROVISIONED_BY).is_some() && policy(volume) == "Delete";
        let over = surplus && matches!(now, "Released" | "Failed") && !volume_name(claim).is_empty();
        return if over { Ok(()) } else { Err(format!("it is {now} for {key}, which names {:?}", volume_name(claim))) };
    }
    if now == "Bound" { Ok(()) } else { Err(format!("{key} has it, and it is {now}")) }
}

fn claim_at_rest(state: &State, claim: &Value) -> Result<(), String> {
    let (now, name) = (phase(claim), volume_name(claim));
    let volume = state.volumes.get(name).filter(|_| !name.is_empty());
    let agreed = volume.is_some_and(|volume| claim_uid(volume) == uid(claim));
    let completed = annotation(claim, BIND_COMPLETED).is_some();
    match (completed, agreed) {
        (true, true) if now == "Bound" => Ok(()),
        (true, false) if now == "Lost" => Ok(()),
        (false, false) if now == "Pending" => Ok(()),
        _ => Err(format!("it is {now}, complete: {completed}, and names {name:?}, which agrees: {agreed}")),
    }
}
