//! What the bus has to decide, stated as plainly as possible.

use std::collections::BTreeMap;

use lineside_core::hook::Mode;
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
    /// What the agent is given, in order.
    pub context: Vec<String>,
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
    // A hook in shadow counts for nothing: it is as if it were not there.
    let mut order: Vec<&ScriptedHook> = hooks.iter().filter(|hook| hook.mode == Mode::Enforced).collect();
    // Order is declared: greater priority first, then registration.
    order.sort_by_key(|hook| std::cmp::Reverse(hook.priority));

    let mut versions = vec![payload];
    let mut said: Vec<Option<Said>> = order.iter().map(|_| None).collect();
    let mut context: Vec<(usize, u8)> = Vec::new();
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
        if let Reaction::Tells(text) = hook.reaction(current) {
            context.push((place, *text));
        }
        ran.push(hook.name.clone());
        said[place] = Some(Said { verdict: verdict(hook, current), version: versions.len() });
    }

    // A gate judges the bytes that run: once more if they are others than it judged. Its later word is its word.
    let last = versions[versions.len() - 1];
    if !refused(&said) {
        for (place, hook) in order.iter().enumerate() {
            let judged_earlier = said[place].as_ref().is_some_and(|said| said.version < versions.len());
            if hook.part != Part::Gate || !judged_earlier {
                continue;
            }
            // Its later word takes the place of the earlier, with what came along; also where it has no word any more.
            context.retain(|(author, _)| *author != place);
            if refused(&said) {
                continue;
            }
            if let Reaction::Tells(text) = hook.reaction(last) {
                context.push((place, *text));
            }
            ran.push(hook.name.clone());
            said[place] = Some(Said { verdict: verdict(hook, last), version: versions.len() });
        }
    }

    // The greater verdict stands; of equals, that of the first. An approval of other bytes is none.
    let context = context.into_iter().map(|(_, text)| text.to_string()).collect();
    let mut decided = Decided { strength: Strength::Continue, author: None, payload: last, context, ran };
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

/// What each hook in shadow would say of the payload as it stands at its place, unless the event is refused before that.
#[must_use]
pub fn shadows(hooks: &[ScriptedHook], payload: u8) -> BTreeMap<String, Strength> {
    let mut order: Vec<&ScriptedHook> = hooks.iter().collect();
    order.sort_by_key(|hook| std::cmp::Reverse(hook.priority));
    let (mut current, mut would) = (payload, BTreeMap::new());
    for hook in order {
        let strength = verdict(hook, current).strength();
        if hook.mode == Mode::Shadow {
            would.insert(hook.name.clone(), strength);
            continue;
        }
        if strength >= Strength::Block {
            break;
        }
        if let Reaction::Makes(next) = hook.reaction(current)
            && hook.part == Part::Amender
        {
            current = *next;
        }
    }
    would
}

/// A block or a stop ends everything.
fn refused(said: &[Option<Said>]) -> bool {
    said.iter().flatten().any(|said| said.verdict.strength() >= Strength::Block)
}

/// What a hook says of a payload. Failing is not refusing: it counts as what the hook declares.
fn verdict(hook: &ScriptedHook, payload: u8) -> Verdict {
    match hook.reaction(payload) {
        Reaction::Says(verdict) => verdict.clone(),
        Reaction::Tells(_) => Verdict::Continue,
        Reaction::Makes(_) if hook.part == Part::Amender => Verdict::Continue,
        Reaction::Makes(_) | Reaction::Fails | Reaction::Panics => match hook.on_failure {
            OnFailure::Block => Verdict::block("failed"),
            OnFailure::Continue => Verdict::Continue,
        },
    }
}
