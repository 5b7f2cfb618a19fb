//! `lineside update`: how this command was installed, what is newer as far as its installer knows, and the command that
//! brings it. Nothing is downloaded here.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lineside::json::json;

use crate::child::{End, Question};
use crate::control::ANOTHER;
use crate::installation::{Installation, Newest, own_installation};
use crate::on_path::find;
use crate::painter::one_line;
use crate::style::{Styles, Tone, count, print, print_json};

/// How long an installer has for its answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// This version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Say how lineside was installed, what is newer, and the command that brings it.
///
/// Asks the installer's own program (pip, npm, apt-cache, cargo, git), and downloads nothing.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Ask nothing.
    #[arg(long)]
    offline: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// It is not known where this program is, or the output cannot be written.
pub(crate) async fn run(args: &UpdateArgs, styles: Styles) -> Result<ExitCode> {
    let installation = own_installation()?;
    let newest = match args.offline {
        true => Err("nothing was asked".to_owned()),
        false => asked(&installation).await,
    };
    let Installation { from, place, update, .. } = &installation;
    if args.json {
        let (newer, known) = match &newest {
            Ok(newest) => (json!(is_newer(newest)), json!(shown(newest))),
            Err(_) => (json!(null), json!(null)),
        };
        let why = newest.err();
        print_json(&json!({
            "version": VERSION, "from": from, "place": place, "newest": known, "newer": newer,
            "not_known": why, "update": update,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_current = newest.as_ref().is_ok_and(|newest| !is_newer(newest));
    let said = match &newest {
        Ok(newest) if is_current => {
            styles.out.paint(Tone::Good, &format!("{}, which this is", shown(newest)))
        }
        Ok(newest) => styles.out.paint(Tone::Warning, &shown(newest)),
        Err(why) => format!("not known: {why}"),
    };
    let by = |from: &str| if installation.is_copy() { "a copy".to_owned() } else { format!("of {from}") };
    let mut lines = vec![
        format!("lineside {VERSION}, {}, in {}", by(from), one_line(&place.display().to_string())),
        format!("  newest  {said}"),
    ];
    if installation.is_copy() {
        lines.push("  update  this copy cannot be updated".to_owned());
        lines.push(format!("          {}", one_line(update)));
    } else if !is_current {
        lines.push(format!("  update  {}", one_line(update)));
        lines.push(format!("          {ANOTHER}"));
    }
    lines.push("nothing was downloaded".to_owned());
    print(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// What the installer knows; or why it does not.
async fn asked(installation: &Installation) -> Result<Newest, String> {
    if installation.is_copy() {
        return Err("no installer has put this copy here, so none can be asked".to_owned());
    }
    let Some(question) = &installation.question else {
        return Err(format!("{} has nothing that could be asked", installation.from));
    };
    let mut argv = question.argv.clone();
    let line = argv.join(" ");
    let Some(program) = argv.first_mut() else { return Err("there is no question".to_owned()) };
    if !Path::new(program).is_absolute() {
        *program = match find(program) {
            Some(found) => found.display().to_string(),
            None => return Err(format!("`{program}` is not on the PATH")),
        };
    }
    // Elsewhere it might answer about a project that lies there.
    let cwd = Path::new("/");
    let answered = Question { argv: &argv, stdin: b"", set: Vec::new(), cwd, limit: PATIENCE }.ask().await;
    let last =
        answered.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it has no answer");
    match answered.end {
        End::Code(0) => {
            question.answer.read(&answered.stdout).ok_or_else(|| format!("`{line}` says nothing of it"))
        }
        End::Late => Err(format!("`{line}` has not answered within {} s", PATIENCE.as_secs())),
        End::NotStarted(why) => Err(format!("`{line}` did not start: {why}")),
        End::Code(_) | End::Signal(_) => Err(format!("`{line}` failed: {}", one_line(last))),
    }
}

fn shown(newest: &Newest) -> String {
    match newest {
        Newest::Version(version) => one_line(version),
        Newest::Commits(0) => "what was last fetched".to_owned(),
        Newest::Commits(number) => {
            format!(
                "{} more, as last fetched",
                count(usize::try_from(*number).unwrap_or(usize::MAX), "commit")
            )
        }
    }
}

fn is_newer(newest: &Newest) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    match newest {
        Newest::Version(version) => numbers(version) > numbers(VERSION),
        Newest::Commits(number) => *number > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installation::{Answer, Removal, VersionQuestion};

    fn installation(argv: &[&str]) -> Installation {
        let answer = Answer::Version { after: "", until: '\n' };
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let (update, removal) = (String::new(), Removal::None);
        let question = Some(VersionQuestion { argv, answer });
        Installation { from: "test", place: "/".into(), question, update, removal }
    }

    #[tokio::test]
    async fn an_installer_is_asked_and_why_it_has_no_answer_is_said() {
        let newest = asked(&installation(&["/bin/sh", "-c", "echo 99.0.0"])).await.unwrap();
        assert_eq!(newest, Newest::Version("99.0.0".to_owned()));
        assert!(is_newer(&newest) && !is_newer(&Newest::Version(VERSION.to_owned())));
        assert!(!is_newer(&Newest::Version("0.0.9".to_owned())));
        let said = asked(&installation(&["sh", "-c", "echo first; echo no network >&2; exit 1"])).await;
        assert_eq!(said.unwrap_err(), "`sh -c echo first; echo no network >&2; exit 1` failed: no network");
        let said = asked(&installation(&["no-such-installer"])).await.unwrap_err();
        assert_eq!(said, "`no-such-installer` is not on the PATH");
        let none = Installation { question: None, ..installation(&[]) };
        assert_eq!(asked(&none).await.unwrap_err(), "test has nothing that could be asked");
    }
}
