//! Hooks of the user, and of the machine, that would run a file of whatever project an event is about, to which the
//! user has not agreed: they are refused, in every format.

use std::collections::BTreeSet;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use lineside_commands::{Shell, Surroundings, analyse};
use lineside_core::hook::Standby;
use lineside_core::invocation::Program;
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
        let may_stay = ground.declares(&found.hook)
            || found.closed
            || found.hook.standby != Standby::Ready
            || found.handler.starts_its_own();
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
    if one == other {
        return None;
    }
    let below = program.below_working_directory().map(|below| below.to_string_lossy().into_owned());
    below.or_else(|| run_by(&program, one.to_str()?))
}

/// The file below a folder that a program runs by other words than its own name: `exec ./x`, `env A=b ./x`, `sh -e x`.
fn run_by(program: &Program, folder: &str) -> Option<String> {
    let words: Vec<&str> = program.argv.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let of_shell = |shell: &str| Shell::named(shell.rsplit('/').next().unwrap_or_default());
    let (line, shell) = match words[..] {
        [shell, "-c" | "-lc", line] if of_shell(shell) != Shell::Other => (line.to_owned(), of_shell(shell)),
        _ => {
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            (quoted.collect::<Vec<_>>().join(" "), Shell::Sh)
        }
    };
    let analysis = analyse(&line, shell, &Surroundings::new(folder, "/"));
    let below = |path: &String| Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
    analysis.scripts.iter().find_map(below)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_folder_is_one_by_whatever_words_it_is_run() {
        for line in [
            "\"./guard.sh\"", "exec ./g", "sh -c ./g", "env A=b ./g", "bash -e g", "A=b ./g",
            "[ -x ./g ] && ./g", ". ./g", "timeout 5 ./g", "if true; then ./g; fi", "cd sub && ../g",
            "nice python3 g.py",
        ] {
            assert!(run_by(&Program::shell("/bin/sh", line), "/one").is_some(), "{line}");
        }
        for line in
            ["jq .", "/opt/g", "echo ./g", "\"$DIR\"/g", "cat < g", "python3 -c 'print(1)'", "~/g", "exec g"]
        {
            assert_eq!(run_by(&Program::shell("/bin/sh", line), "/one"), None, "{line}");
        }
        let argv = Program::argv(["env", "A=b", "./g"]);
        assert_eq!(run_by(&argv, "/one").as_deref(), Some("g"));
        assert_eq!(run_by(&Program::argv(["jq", "./g"]), "/one"), None);
    }
}
