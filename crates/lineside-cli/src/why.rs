//! `lineside why`: one decision as a page, from the decision log; with or without a daemon.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::json::{Value, json};
use lineside::log::{Considered, Why};

use crate::log::{StoreArgs, query};
use crate::painter::one_line;
use crate::style::{COLUMNS, Styles, columns, print_json, print_unbroken, tell};

pub(crate) mod page;

/// Say why an event was decided so; also log, stats, replay, enforce.
///
/// The page has the event, every hook that was considered, in order, with why it ran or not and what it said, what was changed,
/// what the agent received, and what became of background work.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// The id of an event, or so much of its beginning or its end that it is the only one.
    /// Without it, the last event that was refused.
    #[arg(value_name = "ID", conflicts_with_all = ["last", "refused"])]
    id: Option<String>,

    /// The last event; with a query behind it, the last one that it finds, as in `--last session:s1`.
    #[arg(long, num_args = 0.., value_name = "QUERY")]
    last: Option<Vec<String>>,

    /// The last event that was refused; with a query behind it, of those that it finds.
    #[arg(long, num_args = 0.., value_name = "QUERY", conflicts_with = "last")]
    refused: Option<Vec<String>>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  it was shown
  1  there is no such event, or several
  2  there is no log, or it cannot be read";

/// Runs the command.
///
/// # Errors
/// There is no log, it cannot be read, or the output cannot be written.
pub(crate) fn run(args: &WhyArgs, styles: Styles) -> Result<ExitCode> {
    let look = args.store.open()?;
    let found = match (&args.id, &args.last, &args.refused) {
        (Some(id), ..) => look.why(id)?,
        (None, Some(words), _) => look.why_last(&query(words)?)?.into_iter().collect(),
        (None, None, words) => {
            let words = words.as_deref().unwrap_or_default();
            look.why_last(&query(words)?.refused())?.into_iter().collect()
        }
    };
    match &found[..] {
        [] => {
            let asks = args.last.is_some() || args.refused.is_some();
            let what = args.id.as_ref().map_or_else(
                || match asks {
                    true => "no such event is in the log".to_owned(),
                    false => {
                        "no event of the log was refused; `lineside why --last` tells of the last one, and \
                              `lineside why ID` of any that `lineside log` shows"
                            .to_owned()
                    }
                },
                |id| format!("no event `{}` is in the log; `lineside log` shows what is", one_line(id)),
            );
            tell(&format!("lineside: {what}"));
            return Ok(ExitCode::FAILURE);
        }
        [why] if args.json => print_json(&of(why))?,
        [why] => print_unbroken(page::lines(why, columns().unwrap_or(COLUMNS), styles.out))?,
        [one, other, ..] => {
            let (one, other) = (one.decision.id, other.decision.id);
            tell(&format!(
                "lineside: several events have that id, such as {one} and {other}; name more of it"
            ));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The page as programs read it.
fn of(why: &Why) -> Value {
    let mut decision = Value::Object(why.decision.to_json());
    let hook = |hook: &Considered| {
        json!({
            "hook": hook.hook, "origin": hook.origin, "dialect": hook.dialect, "layer": hook.layer, "part": hook.part,
            "mode": if hook.is_shadow { "shadow" } else { "enforced" },
            "priority": hook.priority, "what": hook.what, "ran": !hook.is_skipped, "verdict": hook.verdict,
            "failed": hook.failed, "detail": hook.detail,
            "took_us": hook.took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        })
    };
    let hooks: Vec<Value> = why.hooks.iter().map(hook).collect();
    let given = why.given.iter().map(|given| {
        json!({
            "hook": given.hook, "what": given.what, "field": given.field, "before": given.before, "text": given.text,
        })
    });
    let since = why.since.iter().map(|news| {
        json!({
            "time": news.time.to_string(), "what": news.what, "hook": news.hook, "job": news.job, "detail": news.detail,
        })
    });
    if let Some(fields) = decision.as_object_mut() {
        fields.insert("hooks".to_owned(), Value::Array(hooks));
        fields.insert("given".to_owned(), Value::Array(given.collect()));
        fields.insert("since".to_owned(), Value::Array(since.collect()));
    }
    decision
}
