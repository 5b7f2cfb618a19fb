//! Hooks of the user, and of the machine, that would run a file of whatever project an event is about, to which the
//! user has not agreed: they are refused, in every format.

use std::collections::BTreeSet;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use lineside_core::hook::Standby;
use lineside_core::{Diagnostic, OnFailure, Origin};

use crate::broken::{Broken, Owner, Repair};
use crate::dialect::{ForeignHook, Loaded, Trust};
use crate::ground::Ground;
use crate::handler::Start;

/// Takes such hooks out of what is loaded, with a finding each; one whose failure blocks stands closed in its place.
/// Hooks of a trusted project's own files are not among them.
pub fn refuse_programs_of_projects(ground: &Ground, loaded: &mut Loaded) {
    let mut reported = BTreeSet::new();
    for found in mem::take(&mut loaded.hooks) {
        let may_stay = ground.declares(&found.hook) || found.closed || found.hook.standby != Standby::Ready;
        // It may look files up.
        let program = if may_stay { None } else { program(&found) };
        match program {
            Some(program) => refuse(found, &program, loaded, &mut reported),
            None => loaded.hooks.push(found),
        }
    }
}

/// The program of a hook whose working directory follows the event, where it is a file below that.
fn program(found: &ForeignHook) -> Option<String> {
    let start = |folder| found.handler.start(Path::new(folder));
    // Two projects that are none tell whether the directory is that of the project.
    let (
        Start::Program { program, working_directory: one, .. },
        Start::Program { working_directory: other, .. },
    ) = (start("/one")?, start("/other")?)
    else {
        return None;
    };
    let below = program.below_working_directory().filter(|_| one != other)?;
    Some(below.to_string_lossy().into_owned())
}

fn refuse(
    found: ForeignHook,
    program: &str,
    loaded: &mut Loaded,
    reported: &mut BTreeSet<(Origin, Arc<str>)>,
) {
    let ForeignHook { hook, trigger, points, .. } = found;
    let what = format!(
        "it starts `{program}`, which for a hook of the user would be a program of whatever project an event is about: \
         an absolute path is needed, or a name that is found in PATH"
    );
    let origin = hook.origin.clone().unwrap_or_else(|| Origin::new("", 1));
    // A hook of several points is found once for each of them.
    if reported.insert((origin.clone(), Arc::clone(&hook.name))) {
        let text = format!("hook \"{}\": {what}", hook.name);
        loaded.diagnostics.push(Diagnostic::error(origin.clone(), text));
    }
    let broken = Broken {
        name: hook.name.to_string(),
        line: origin.line,
        error: Repair::at(origin.clone(), what),
        points: points.into_iter().map(|point| (point, trigger.clone())).collect(),
        is_guard: hook.on_failure == OnFailure::Block,
        select: hook.select,
    };
    let owner =
        Owner { dialect: hook.dialect, layer: hook.layer, trust: Trust::Granted, priority: hook.priority };
    broken.stand_in(&owner, &origin, loaded);
}
