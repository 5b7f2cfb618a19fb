//! `lineside approvals`: the questions of hooks that wait in the daemon, and the answers of a person.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lineside::Client;
use lineside::client::{RequestError, Signals};
use lineside::json::{Map, Value, json};

use crate::control::{NO_DAEMON, ask, is_no_daemon};
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::page::fitting::wrapped;
use crate::painter::one_line;
use crate::person::types;
use crate::style::{COLUMNS, Styles, Tone, columns, print, print_json, print_unbroken, tell};

pub(crate) mod page;

/// Show the questions of hooks that wait for a person, and answer them.
///
/// A question waits where `approvals` of the user's config.yaml says so, for as long as the agent program waits for it. What
/// stands below an agent may look, and answers nothing.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ApprovalsArgs {
    /// What to do.
    #[arg(value_enum, default_value = "list", value_name = "WHAT")]
    what: What,

    /// The question, or so much of the beginning of its id that it is the only one.
    #[arg(value_name = "ID", required_if_eq_any = [("what", "allow"), ("what", "deny"), ("what", "forget")])]
    id: Option<String>,

    /// The answer is for this question alone; this is the default.
    #[arg(long, conflicts_with_all = ["session", "pattern"])]
    once: bool,

    /// The answer is for the same call, asked about by the same hook, as long as the session is open.
    #[arg(long, conflicts_with = "pattern")]
    session: bool,

    /// The answer is for all calls of the tool whose command, path or URL fits, asked about by the same hook in this project,
    /// until it is taken back; `*` stands for any text, of a command without what a shell gives a meaning to.
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<String>,

    /// Why, for the agent.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Do not ask whether the answer for a pattern is meant.
    #[arg(long)]
    yes: bool,

    /// Print JSON: of `list` one object, of `watch` one for each question.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    daemon: DaemonArgs,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  it was done
  1  no such question waits, or it was answered already
  2  nothing could be done
  3  there is no daemon";

/// What to do with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Show those that wait, and the answers for patterns.
    List,
    /// Show those that wait, and each that comes, until it is interrupted.
    Watch,
    /// Let the call pass.
    Allow,
    /// Refuse the call.
    Deny,
    /// Take back the answers for patterns that were given to a question.
    Forget,
}

/// How often a daemon is looked for where the last one has ended.
const AGAIN: Duration = Duration::from_millis(250);
/// What is typed.
const WORD: &str = "always";
const ELSEWHERE: &str = "an answer for a pattern is asked about at a terminal; without one, say --yes";

impl ApprovalsArgs {
    /// The daemon whose questions are answered, if they are.
    pub(crate) fn answers(&self) -> Option<&DaemonArgs> {
        (!matches!(self.what, What::List | What::Watch)).then_some(&self.daemon)
    }
}

/// Runs the command.
///
/// # Errors
/// The daemon refuses, or the output cannot be written.
pub(crate) async fn run(args: &ApprovalsArgs, styles: Styles) -> Result<ExitCode> {
    let paths = args.daemon.paths()?;
    let done = match args.what {
        What::List => list(args, &paths, styles).await,
        What::Watch => watch(args, &paths, styles).await,
        What::Allow | What::Deny => answer(args, &paths, styles).await,
        What::Forget => forget(args, &paths).await,
    };
    match done {
        Err(error) if is_no_daemon(&error) => {
            tell(&format!("lineside: {error:#}; where none runs, no question waits"));
            Ok(ExitCode::from(NO_DAEMON))
        }
        Err(error) => match error.downcast_ref::<RequestError>() {
            Some(RequestError::Refused { status: 404 | 409, detail, .. }) => {
                tell(&format!("lineside: {}", one_line(detail)));
                Ok(ExitCode::FAILURE)
            }
            _ => Err(error),
        },
        done => done,
    }
}

async fn found(paths: &DaemonPaths) -> Result<Map> {
    ask(paths, async |client| client.get::<Map>("/v1/approvals").await).await
}

fn items<'a>(found: &'a Map, field: &str) -> impl Iterator<Item = &'a Value> {
    found.get(field).and_then(Value::as_array).into_iter().flatten()
}

async fn list(args: &ApprovalsArgs, paths: &DaemonPaths, styles: Styles) -> Result<ExitCode> {
    let found = found(paths).await?;
    if args.json {
        print_json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = columns().unwrap_or(COLUMNS);
    let mut lines: Vec<String> = Vec::new();
    for question in items(&found, "waiting") {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(page::question(question, width, styles.out));
    }
    if lines.is_empty() {
        lines.push("no question waits".to_owned());
    }
    if found.get("waits").and_then(Value::as_bool) != Some(true) {
        let why = "no question will: the daemon was started without `approvals` in its config.yaml; write \
                   `approvals: {}` there, unless it is there by now, and start the daemon again";
        lines.extend(wrapped(why, width, usize::MAX).iter().map(|line| styles.out.paint(Tone::Dim, line)));
    }
    lines.extend(page::answers(items(&found, "answers"), width, styles.out));
    print_unbroken(lines)?;
    Ok(ExitCode::SUCCESS)
}

async fn watch(args: &ApprovalsArgs, paths: &DaemonPaths, styles: Styles) -> Result<ExitCode> {
    // Heard from before the list is made, so that none falls between the two.
    let client = Client::new(&paths.socket);
    let mut signals = client.signals().await?;
    let mut shown: Vec<String> = Vec::new();
    loop {
        let found = match found(paths).await {
            Err(error) if is_no_daemon(&error) => {
                signals = next(&client).await;
                continue;
            }
            found => found?,
        };
        let width = columns().unwrap_or(COLUMNS);
        let waiting: Vec<&Value> = items(&found, "waiting").collect();
        let id = |question: &Value| question["id"].as_str().unwrap_or_default().to_owned();
        shown.retain(|known| waiting.iter().any(|question| id(question) == *known));
        for question in waiting {
            if shown.contains(&id(question)) {
                continue;
            }
            shown.push(id(question));
            if args.json {
                print_json(question)?;
                continue;
            }
            print_unbroken(page::question(question, width, styles.out))?;
            print([""])?;
        }
        loop {
            let Some(signal) = signals.next().await else {
                tell("the daemon has ended; this goes on when there is one again");
                signals = next(&client).await;
                break;
            };
            match signal.get("kind").and_then(Value::as_str) {
                Some("approval_asked" | "lost") => break,
                Some("approval_answered") if !args.json => {
                    print_unbroken([page::answered(&signal, styles.out)])?;
                }
                Some("approval_answered") => print_json(&signal)?,
                _ => {}
            }
        }
    }
}

/// What the next daemon that answers tells: a question that waits for one is put to it again.
async fn next(client: &Client) -> Signals {
    loop {
        tokio::time::sleep(AGAIN).await;
        if let Ok(signals) = client.signals().await {
            return signals;
        }
    }
}

/// The question with this id, or the only one whose id begins so.
fn named<'a>(found: &'a Map, id: &str) -> Result<Option<&'a Value>> {
    let begins = |question: &&Value| question["id"].as_str().is_some_and(|known| known.starts_with(id));
    let matching: Vec<&Value> = items(found, "waiting").filter(begins).collect();
    match &matching[..] {
        [one] => Ok(Some(one)),
        [] => Ok(None),
        _ => bail!("several questions have an id that begins so; name more of it"),
    }
}

async fn answer(args: &ApprovalsArgs, paths: &DaemonPaths, styles: Styles) -> Result<ExitCode> {
    let given = args.id.as_deref().unwrap_or_default();
    let found = found(paths).await?;
    let question = named(&found, given)?;
    // One that does not wait is looked up by the daemon, which knows what became of it.
    let id = question.and_then(|question| question["id"].as_str()).unwrap_or(given).to_owned();
    let word = if args.what == What::Allow { "allow" } else { "deny" };
    if let (Some(pattern), Some(question)) = (&args.pattern, question) {
        if !args.json {
            print_unbroken(page::rule(question, word, pattern, columns().unwrap_or(COLUMNS), styles.out))?;
        }
        if !args.yes && !types(WORD, "answer all of these calls so", &ELSEWHERE)? {
            tell("nothing was answered");
            return Ok(ExitCode::FAILURE);
        }
    }
    let scope = match (&args.pattern, args.session) {
        (Some(_), _) => "pattern",
        (None, true) => "session",
        (None, false) => "once",
    };
    let mut body = Map::new();
    body.insert("answer".to_owned(), json!(word));
    body.insert("scope".to_owned(), json!(scope));
    body.extend(args.pattern.iter().map(|pattern| ("pattern".to_owned(), json!(pattern))));
    body.extend(args.reason.iter().map(|reason| ("reason".to_owned(), json!(reason))));
    let path = format!("/v1/approvals/{}", segment(&id));
    let answered = ask(paths, async |client| client.post::<Map>(&path, &body).await).await?;
    if args.json {
        print_json(&answered)?;
        return Ok(ExitCode::SUCCESS);
    }
    let tone = if args.what == What::Allow { Tone::Good } else { Tone::Bad };
    let told = match (args.what, scope) {
        (What::Allow, "session") => "allowed, for the same call of this session too",
        (What::Allow, "pattern") => "allowed, for all calls that fit the pattern too",
        (What::Allow, _) => "allowed, this once",
        (_, "session") => "denied, for the same call of this session too",
        (_, "pattern") => "denied, for all calls that fit the pattern too",
        _ => "denied, this once",
    };
    print([format!("{id}  {}", styles.out.paint(tone, told))])?;
    Ok(ExitCode::SUCCESS)
}

async fn forget(args: &ApprovalsArgs, paths: &DaemonPaths) -> Result<ExitCode> {
    let id = args.id.as_deref().unwrap_or_default();
    let path = format!("/v1/approvals/{}", segment(id));
    let forgotten = ask(paths, async |client| client.delete::<Map>(&path).await).await?;
    if args.json {
        print_json(&forgotten)?;
    } else {
        print([format!("{id}  the answers for its patterns are taken back")])?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An id as a part of a path.
fn segment(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(64).collect()
}
