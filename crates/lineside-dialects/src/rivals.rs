//! What a trusted project does to the hooks of the user that is allowed and that the user should know: its hooks run
//! before theirs, and its files may be written by others.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use lineside_core::hook::{Part, Standby};
use lineside_core::{Diagnostic, Hook, Layer, Origin};
use lineside_files::exposure;

use crate::find;

/// A note for each hook of the project that by its priority runs before a hook of the user that may refuse the same
/// events.
///
/// Formats whose hooks have different priorities where none is given are compared only if the project has raised its own.
pub fn outrun<'a>(hooks: impl IntoIterator<Item = (&'a Hook, &'static str)>) -> Vec<Diagnostic> {
    let judges = |(hook, _): &(&Hook, &str)| {
        hook.standby == Standby::Ready && (hook.part.is_gate() || hook.part == Part::Amender)
    };
    let (of_project, of_user): (Vec<_>, Vec<_>) = hooks
        .into_iter()
        .filter(judges)
        .filter(|(hook, _)| matches!(hook.layer, Layer::Managed | Layer::User | Layer::Project))
        .partition(|(hook, _)| hook.layer == Layer::Project);
    let mut least: HashMap<&str, i32> = HashMap::new();
    for (guard, at) in &of_user {
        let least = least.entry(at).or_insert(guard.priority);
        *least = guard.priority.min(*least);
    }
    let mut told = BTreeSet::new();
    let finding = |(hook, point): (&Hook, &'static str)| {
        // Most hooks outrun none.
        least.get(point).filter(|least| hook.priority > **least)?;
        let usual = usual_priority(hook.dialect)?;
        let is_outrun = |(guard, at): &&(&Hook, &str)| {
            let is_raised = hook.dialect == guard.dialect || hook.priority > usual;
            *at == point && is_raised && hook.priority > guard.priority
        };
        let (guard, _) = of_user.iter().find(is_outrun)?;
        let origin = hook.origin.clone()?;
        told.insert((origin.clone(), hook.name.clone())).then(|| {
            Diagnostic::note(
                origin,
                format!(
                    "hook \"{}\" of the project runs before \"{}\" of the user at {point}, by priority {} over {}: \
                     the user's judges what it leaves, in the time that it leaves",
                    hook.name, guard.name, hook.priority, guard.priority
                ),
            )
        })
    };
    of_project.into_iter().filter_map(finding).collect()
}

/// The priority of hooks of a format that give none, if they can give one.
fn usual_priority(dialect: &str) -> Option<i32> {
    find(dialect).map_or(Some(0), crate::Dialect::usual_priority)
}

/// A finding for each of these files of a project that others may write: a user who trusts the project trusts them, too.
pub fn exposed<'a>(files: impl IntoIterator<Item = &'a Path>) -> Vec<Diagnostic> {
    let files: BTreeSet<&Path> = files.into_iter().collect();
    let finding = |file: &Path| {
        let exposure = exposure(file)?;
        Some(Diagnostic::warning(
            Origin::new(file, 1),
            format!("what is trusted here can be changed: {exposure}"),
        ))
    };
    files.into_iter().filter_map(finding).collect()
}
