//! `lineside enforce`: has a hook count that was in shadow, after a person has seen what it would have done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use lineside::LoadedHook;
use lineside::core::Origin;
use lineside::core::nearest::suggestion;
use lineside::dialects::native::{Enforced, meant};
use lineside::log::{HookStats, Look, LookError, Query};

use crate::daemon_paths::DaemonArgs;
use crate::list::origin;
use crate::loading::load;
use crate::log::line::{Lines, Order};
use crate::log::{StoreArgs, now};
use crate::page::fitting::wrapped;
use crate::painter::one_line;
use crate::person::types;
use crate::places::PlaceArgs;
use crate::stats::{shadows, would_refuse};
use crate::style::{COLUMNS, Styles, Tone, columns, print, print_unbroken, tell};
use crate::trust::reload;

/// Have a hook count that is in shadow.
///
/// Shows what it would have refused, asked and changed, with the latest examples, and edits the one line of its file.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct EnforceArgs {
    /// The hook, by its name in `hooks.yaml`.
    #[arg(value_name = "HOOK")]
    hook: String,

    /// Do not ask.
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    places: PlaceArgs,

    #[command(flatten)]
    store: StoreArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    it counts
  1    it does not count
  2    nothing could be done";

/// How many examples are shown.
const EXAMPLES: usize = 5;

/// How many parts of time are counted apart, which are not shown.
const PARTS: usize = 1;

/// What is typed.
const WORD: &str = "enforce";
const ELSEWHERE: &str = "consent is asked for at a terminal; without one, say --yes";

impl EnforceArgs {
    pub(crate) fn daemon(&self) -> DaemonArgs {
        self.store.daemon()
    }
}

/// Runs the command.
///
/// # Errors
/// There is no such hook in shadow, its file cannot be edited, or consent cannot be asked for.
pub(crate) async fn run(args: &EnforceArgs, styles: Styles) -> Result<ExitCode> {
    let ground = args.places.ground()?;
    let (_assembly, report) = load(&ground).await?;
    let Origin { file, .. } = found(&args.hook, &report.hooks)?;
    let file = PathBuf::clone(&file);
    let edit = Enforced::of(&ground.places, &file, &args.hook)?;
    match args.store.open() {
        Ok(look) => show(&of_name(&args.hook, &report.hooks), &file, &look, styles)?,
        Err(error) if is_absence(&error) => {
            print(["there is no decision log, so what it would have done is not known"])?;
        }
        Err(error) => return Err(error),
    }
    let at = one_line(&origin(file.to_str(), Some(edit.line)));
    let mut lines = vec![String::new(), styles.out.paint(Tone::Bold, &at)];
    let old = edit.old.iter().map(|old| styles.out.paint(Tone::Bad, &format!("- {}", one_line(old))));
    lines.extend(old);
    lines.push(styles.out.paint(Tone::Good, &format!("+ {}", one_line(&edit.new))));
    print(lines)?;
    if !args.yes && !types(WORD, "have it count", &ELSEWHERE)? {
        tell("nothing was changed");
        return Ok(ExitCode::FAILURE);
    }
    edit.write(&file)?;
    let mut lines =
        vec![styles.out.paint(Tone::Good, &format!("{} counts from now on", one_line(&args.hook)))];
    let is_of_project = ground.found.as_ref().is_some_and(|found| file.starts_with(found.root()));
    if is_of_project {
        lines.push(
            "its project has changed, and nothing of it runs before it is trusted anew: lineside trust"
                .to_owned(),
        );
    }
    print(lines)?;
    reload(&args.daemon().paths()?).await;
    Ok(ExitCode::SUCCESS)
}

fn is_absence(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(LookError::NotThere(_))))
}

/// The names of the hooks that are meant: of a policy, all of its hooks.
fn of_name(name: &str, hooks: &[LoadedHook]) -> BTreeSet<String> {
    meant(name, hooks.iter().map(|found| &*found.hook.name))
}

/// Where the hook of this name is declared that is in shadow.
fn found(name: &str, hooks: &[LoadedHook]) -> Result<Origin> {
    let meant = of_name(name, hooks);
    let named = || hooks.iter().filter(|found| meant.contains(&*found.hook.name));
    let mut origins: Vec<Origin> = named()
        .filter(|found| found.hook.is_shadow())
        .filter_map(|found| found.hook.origin.clone())
        .collect();
    origins.dedup();
    match (&origins[..], named().next()) {
        ([one], _) => Ok(one.clone()),
        ([one, other, ..], _) => {
            bail!(
                "there are several hooks \"{name}\" in shadow, at {one} and at {other}; edit the one that is meant"
            )
        }
        ([], Some(_)) => bail!("hook \"{name}\" is not in shadow"),
        ([], None) => {
            let near = suggestion(name, hooks.iter().map(|found| &*found.hook.name));
            let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            bail!("there is no hook \"{name}\" here{near}")
        }
    }
}

/// What it would have done, and the latest that it would have refused.
fn show(names: &BTreeSet<String>, file: &Path, look: &Look, styles: Styles) -> Result<()> {
    let all = names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let of_hook = |shadow: &str| Query::parse(&format!("hook:\"{all}\" {shadow}"), now());
    let mut stats = look.stats(&of_hook("shadow:any")?, PARTS, 0)?;
    // Another file may have a hook of that name.
    let is_of_file = |stats: &HookStats| stats.file.as_deref().is_none_or(|other| Path::new(other) == file);
    stats.hooks.retain(|stats| names.contains(&stats.hook) && is_of_file(stats));
    let refused: u64 = stats.hooks.iter().map(would_refuse).sum();
    let width = columns().unwrap_or(COLUMNS);
    if stats.events == 0 {
        let nothing = "no event of the log came to it in shadow, so what it would have done is not known";
        return Ok(print_unbroken(wrapped(nothing, width, usize::MAX))?);
    }
    print_unbroken(shadows(&stats, width, styles.out))?;
    if refused > 0 {
        let found = look.decisions(&of_hook("shadow:refused")?, EXAMPLES)?;
        print([String::new(), "the latest that it would have refused:".to_owned()])?;
        print_unbroken(Lines::new(width, Order::ByTime, styles.out).of(&found))?;
    }
    Ok(())
}
