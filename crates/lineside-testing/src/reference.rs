//! What the bus has to decide, stated as plainly as possible.

use lineside_core::{OnFailure, Part, Strength, Verdict};

use crate::scripted::{Reaction, ScriptedHook};

/// What has to come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// How strong the verdict is.
    pub strength: Strength,
    /// Whose it is.
    pub author: Option<String>,
    /// The final payload.
    pub payload: u8,
    /// Who was started, in plan order within each round.
    pub ran: Vec<String>,
}

/// What one hook said, and about which version of the payload.
struct Said {
    verdict: Verdict,
    version: usize,
}

/// Decides about an event whose hooks were registered in this order.
#[must_use]
pub fn decide(hooks: &[ScriptedHook], payload: u8) -> Decided {
    // Order is declared: greater priority first, then registration.
    let mut order: Vec<&ScriptedHook> = hooks.iter().collect();
    order.sort_by_key(|hook| std::cmp::Reverse(hook.priority));

    let mut versions = vec![payload];
    let mut said: Vec<Option<Said>> = order.iter().map(|_| None).collect();
    let mut ran = Vec::new();

    for (place, hook) in order.iter().enumerate() {
        if refused(&said) {
            break;
        }
        let current = versions[versions.len() - 1];
        if let Reaction::Makes(next) = hook.reaction(current)
            && hook.part == Part::Amender
            && *next != current
        {
            versions.push(*next);
        }
        ran.push(hook.name.clone());
        said[place] = Some(Said { verdict: verdict(hook, current), version: versions.len() });
    }

    // A gate judges the bytes that run: once more if they are others than it judged. Its later word is its word.
    let last = versions[versions.len() - 1];
    if !refused(&said) {
        for (place, hook) in order.iter().enumerate() {
            let judged_earlier = said[place].as_ref().is_some_and(|said| said.version < versions.len());
            if hook.part != Part::Gate || !judged_earlier || refused(&said) {
                continue;
            }
            ran.push(hook.name.clone());
            said[place] = Some(Said { verdict: verdict(hook, last), version: versions.len() });
        }
    }

    // The greater verdict stands; of equals, that of the first. An approval of other bytes is none.
    let mut decided = Decided { strength: Strength::Continue, author: None, payload: last, ran };
    for (hook, said) in order.iter().zip(&said) {
        let Some(said) = said else { continue };
        let strength = said.verdict.strength();
        let of_other_bytes = strength == Strength::Allow && said.version < versions.len();
        if strength > decided.strength && !of_other_bytes {
            decided.strength = strength;
            decided.author = Some(hook.name.clone());
        }
    }
    decided
}

/// A block or a stop ends everything.
fn refused(said: &[Option<Said>]) -> bool {
    said.iter().flatten().any(|said| said.verdict.strength() >= Strength::Block)
}

/// What a hook says of a payload. Failing is not refusing: it counts as what the hook declares.
fn verdict(hook: &ScriptedHook, payload: u8) -> Verdict {
    match hook.reaction(payload) {
        Reaction::Says(verdict) => verdict.clone(),
        Reaction::Makes(_) if hook.part == Part::Amender => Verdict::Continue,
        Reaction::Makes(_) | Reaction::Fails | Reaction::Panics => match hook.on_failure {
            OnFailure::Block => Verdict::block("failed"),
            OnFailure::Continue => Verdict::Continue,
        },
    }
}
