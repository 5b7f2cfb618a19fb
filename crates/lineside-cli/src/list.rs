//! `lineside list`: every hook that is found, point by point, in the order in which the hooks run there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::core::hook::{LAST, Mode};
use lineside::core::{Hook, Part, SkipReason};
use lineside::json::{Value, json};
use lineside::listing::{self, Listed, Listing, NoHook, WHEN_PUBLISHED};
use lineside::{Assembly, Bus, State};

use crate::automations;
use crate::control::{ask, tell_off};
use crate::daemon_paths::{AskArgs, DaemonPaths};
use crate::loading::{exit_status, finding, load, tell_all, untrusted_hooks};
use crate::painter::one_line;
use crate::places::LookArgs;
use crate::style::{Style, Styles, Tone, columns, count, print, print_json};
use crate::table::{Cell, Table};

/// List every hook that is found, with its place and whether it can run.
///
/// Findings about hooks that do not load, or will not do what their authors expect, go to standard error. No hook is
/// run; plugins of OpenClaw and Flyto that are trusted are loaded, because they alone know which hooks they register.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    look: LookArgs,

    #[command(flatten)]
    ask: AskArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    every hook that was found could be loaded
  1    something has an error
  2    nothing could be done";

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, there is no daemon to be asked, or the output cannot be written.
pub(crate) async fn run(args: &ListArgs, styles: Styles) -> Result<ExitCode> {
    let (listing, place) = match args.ask.paths()? {
        Some(paths) => (in_daemon(&paths).await?, "by the daemon".to_owned()),
        None => {
            let ground = args.look.places.ground()?;
            let (assembly, report) = load(&ground).await?;
            let names: Vec<_> = ground.dialects.iter().map(|dialect| dialect.name()).collect();
            let place = format!("for {} (looked for {})", one_line(&ground.project), names.join(", "));
            (of_session(&assembly, |session| listing::listing(session, &report)).await?, place)
        }
    };
    if args.look.json {
        let hooks = listing.hooks.iter().map(|listed| json!(listed));
        let hooks: Vec<Value> = hooks.chain(listing.inert.iter().map(|inert| json!(inert))).collect();
        let all = json!({"hooks": hooks, "diagnostics": listing.diagnostics});
        print_json(&all)?;
        return Ok(exit_status(&listing.diagnostics));
    }
    tell_off(args.ask.of_daemon(), styles.err);
    tell_all(&listing.diagnostics, untrusted_hooks(untrusted(&listing.hooks)), styles.err);
    print(page(&listing, columns(), styles.out))?;
    if listing.hooks.is_empty() && listing.inert.is_empty() {
        print([format!("no hook was found {place}")])?;
    }
    Ok(exit_status(&listing.diagnostics))
}

/// The hooks of the running daemon, with those of the project here.
///
/// # Errors
/// There is no daemon, or it does not answer.
async fn in_daemon(paths: &DaemonPaths) -> Result<Listing> {
    let here = std::env::current_dir().context("failed to read the working directory")?;
    let path = format!("/v1/hooks?cwd={}", in_query(&here.to_string_lossy()));
    ask(paths, async |client| client.get(&path).await).await
}

/// The hooks of the running daemon as people read them.
///
/// # Errors
/// As for [`run`].
pub(crate) async fn of_daemon(paths: &DaemonPaths, columns: usize) -> Result<Vec<String>> {
    let listing = in_daemon(paths).await?;
    let mut lines = page(&listing, Some(columns), Style::PLAIN);
    if lines.is_empty() {
        lines.push("no hook was found by the daemon".to_owned());
    }
    lines.extend(listing.diagnostics.iter().map(|found| finding(found, Style::PLAIN)));
    Ok(lines)
}

/// What is known of a session of a bus that was loaded: a session is what hooks are ordered for.
///
/// # Errors
/// The bus does not open a session.
async fn of_session<T>(assembly: &Assembly, look: impl FnOnce(&lineside::Session) -> T) -> Result<T> {
    let bus: &Bus = assembly.bus();
    let session = bus.session("list").open().await?;
    let seen = look(&session);
    session.close().await;
    Ok(seen)
}

/// A text as the value of a parameter.
fn in_query(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes().fold(String::new(), |text, byte| match plain(byte) {
        true => text + char::from(byte).encode_utf8(&mut [0]),
        false => text + &format!("%{byte:02X}"),
    })
}

/// How many hooks are not trusted.
pub(crate) fn untrusted(hooks: &[Listed]) -> usize {
    hooks.iter().filter(|listed| listed.state == SkipReason::Untrusted.as_str()).count()
}

/// How many hooks these are: one at several points counts once.
fn number_of(hooks: &[Listed]) -> usize {
    let mut at_points = HashMap::new();
    for listed in hooks {
        let Listed { dialect, hook, file, line, point, .. } = listed;
        let key = (dialect, hook, trigger(listed), file, line);
        let points = at_points.entry(key).or_insert_with(HashMap::new);
        *points.entry(point).or_insert(0) += 1;
    }
    // A format may have several of one name on one line, which are several at each of their points.
    at_points.values().filter_map(|points| points.values().max()).sum()
}

/// Where something is declared: below the current directory, else below `~`, else from the root.
pub(crate) fn origin(file: Option<&str>, line: Option<u32>) -> String {
    let Some(file) = file else { return String::new() };
    let here = std::env::current_dir().ok();
    let below =
        |folder: PathBuf| Path::new(file).strip_prefix(folder).ok().map(|path| path.display().to_string());
    let shown = here.and_then(below).or_else(|| Some(format!("~/{}", below(std::env::home_dir()?)?)));
    let file = shown.unwrap_or_else(|| file.to_owned());
    line.map_or(file.clone(), |line| format!("{file}:{line}"))
}

/// The columns that go first where there is no room: where, what the file calls it, whose format, which layer, what it
/// may do, its priority.
const STACKED: [usize; 6] = [9, 6, 5, 4, 7, 3];

fn page(listing: &Listing, columns: Option<usize>, style: Style) -> Vec<String> {
    let Listing { hooks, inert, .. } = listing;
    let automations = automations::lines(hooks.iter());
    if hooks.is_empty() && inert.is_empty() {
        return Vec::new();
    }
    let heading =
        ["point", "#", "hook", "priority", "layer", "dialect", "trigger", "part", "state", "declared at"];
    let mut last = "";
    let rows = hooks.iter().map(|listed| {
        let point =
            if std::mem::replace(&mut last, &listed.point) == listed.point { "" } else { &listed.point };
        let tone = if state(listed) == State::Ready.as_str() { Tone::Good } else { Tone::Warning };
        vec![
            Cell::toned(point, Tone::Bold),
            Cell::new(listed.order.to_string()),
            Cell::new(&listed.hook),
            Cell::new(shown_priority(listed.priority)),
            Cell::new(&listed.layer),
            Cell::new(&listed.dialect),
            Cell::new(trigger(listed)),
            Cell::new(part(listed)),
            Cell::toned(state(listed), tone),
            Cell::toned(origin(listed.file.as_deref(), listed.line), Tone::Dim),
        ]
    });
    let mut last = None;
    let others = inert.iter().map(|inert: &NoHook| {
        let point = inert.point.as_deref().unwrap_or("-");
        let shown = if last.replace(point) == Some(point) { "" } else { point };
        let tone = if inert.state == "error" { Tone::Bad } else { Tone::Warning };
        vec![
            Cell::toned(shown, Tone::Bold),
            Cell::new("-"),
            Cell::new(&inert.hook),
            Cell::new(""),
            Cell::new(&inert.layer),
            Cell::new(&inert.dialect),
            Cell::new(&inert.trigger),
            Cell::new(""),
            Cell::toned(&inert.state, tone),
            Cell::toned(origin(inert.file.as_deref(), inert.line), Tone::Dim),
        ]
    });
    let rows = rows.chain(others).collect();
    let mut lines = Table { heading: &heading, rows, stacked: &STACKED }.lines(columns, style);
    if !automations.is_empty() {
        lines.push(String::new());
        lines.extend(automations);
    }
    lines.push(String::new());
    let apart = inert.iter().filter(|inert| inert.state == WHEN_PUBLISHED).count();
    let counted = [(apart, "when published"), (inert.len() - apart, "that cannot run")];
    let others = counted.into_iter().filter(|(number, _)| *number > 0);
    let others: String = others.map(|(number, which)| format!(", {number} {which}")).collect();
    lines.push(format!("{}{others}", count(number_of(hooks), "hook")));
    lines
}

/// Its priority; the least one is a word.
pub(crate) fn priority(hook: &Hook) -> String {
    shown_priority(hook.priority)
}

pub(crate) fn shown_priority(priority: i32) -> String {
    match priority {
        LAST => "last".to_owned(),
        // The room of agent programs, whose hooks have no priorities of their own.
        ..LAST => "after all".to_owned(),
        _ => priority.to_string(),
    }
}

/// What the file calls the point, where it has another name for it.
pub(crate) fn trigger(listed: &Listed) -> &str {
    if listed.trigger == listed.point { "" } else { &listed.trigger }
}

/// Whether it runs; of one that does and does not count, that.
pub(crate) fn state(listed: &Listed) -> &str {
    let is_ready = listed.state == State::Ready.as_str();
    if is_ready && listed.mode == Mode::Shadow { listed.mode.as_str() } else { &listed.state }
}

/// What a hook takes part in.
pub(crate) fn part(listed: &Listed) -> &str {
    match &*listed.part {
        _ if listed.declared.is_some() => "automation",
        part if part == Part::Detached.as_str() => "in background",
        part if part == Part::PostDecision.as_str() => "post-decision",
        // Its file need not say whether it does.
        part if part == Part::Amender.as_str() => "may amend",
        part => part,
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::{from_value, json};

    use super::*;

    fn listed(hook: &str, point: &str, line: u32) -> Listed {
        from_value(&json!({
            "hook": hook, "point": point, "order": 1, "priority": 0, "layer": "user", "dialect": "openclaw",
            "trigger": "message", "part": "detached", "on_failure": "continue", "timeout_ms": 1_000,
            "condition": null, "file": "HOOK.md", "line": line, "state": "ready", "automate": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_hook_at_two_points_is_one_and_two_hooks_of_one_line_are_two() {
        assert_eq!(number_of(&[]), 0);
        assert_eq!(number_of(&[listed("a", "before_tool", 1), listed("a", "after_tool", 1)]), 1);
        assert_eq!(number_of(&[listed("a", "before_tool", 1), listed("a", "before_tool", 1)]), 2);
        assert_eq!(number_of(&[listed("a", "before_tool", 1), listed("a", "before_tool", 2)]), 2);
        assert_eq!(number_of(&[listed("a", "before_tool", 1), listed("b", "after_tool", 1)]), 2);
        // A format without names of its own for the points is no other.
        let native = |point: &str| {
            let mut listed = listed("a", point, 1);
            point.clone_into(&mut listed.trigger);
            listed
        };
        assert_eq!(number_of(&[native("before_tool"), native("after_tool")]), 1);
    }
}
