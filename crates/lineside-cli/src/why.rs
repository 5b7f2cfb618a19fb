//! `lineside why`: one decision as a page, from the decision log; with or without a daemon.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::core::{EventId, Strength};
use lineside::hosts::{ChangeFate, Host, change_fate};
use lineside::json::{Map, Value, from_str, json};
use lineside::log::{Look, LookError, Query, Why};
use lineside_daemon::guarded::agent_above;

use crate::daemon_paths::DaemonPaths;
use crate::log::{StoreArgs, machines, query};
use crate::painter::one_line;
use crate::style::{COLUMNS, Style, Styles, Tone, columns, print_json, print_unbroken, tell};

pub(crate) mod page;

/// Say why an event was decided so; also `log`, stats, replay, enforce.
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

    /// Look for it on all machines of the cluster; the daemon asks them.
    #[arg(long, requires = "id", conflicts_with = "log")]
    cluster: bool,

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
pub(crate) async fn run(args: &WhyArgs, styles: Styles) -> Result<ExitCode> {
    if let Some(id) = args.id.as_deref().filter(|_| args.cluster) {
        return of_cluster(args, id, styles).await;
    }
    let look = args.store.open_written().await?;
    let asked = match (&args.id, &args.last, &args.refused) {
        (Some(id), ..) => Asked::Id(id),
        (None, Some(words), _) => Asked::Last(query(words)?),
        (None, None, Some(words)) if !words.is_empty() => Asked::Last(query(words)?.refused()),
        (None, None, _) => whose(&args.store.daemon().paths()?, false)?,
    };
    match the_one(&look, &asked)? {
        Err(why_not) => {
            tell(&format!("lineside: {why_not}"));
            return Ok(ExitCode::FAILURE);
        }
        Ok(why) if args.json => {
            let mut object = with_lost(why.to_json(), &why);
            if let Some(begun) = session_refused(&look, &why) {
                object.insert("session_refused".to_owned(), json!(begun.to_string()));
            }
            if asked.instead(&why).is_some() {
                object.insert("of_another_session".to_owned(), json!(true));
            }
            print_json(&object)?;
        }
        Ok(why) => {
            let mut lines = asked.page(&why, columns().unwrap_or(COLUMNS), styles.out);
            if let Some(begun) = session_refused(&look, &why) {
                lines.push(format!("  its session was refused when it began: `lineside why {begun}`"));
            }
            print_unbroken(lines)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The event whose refusal had refused the whole session, where this one was refused without a hook being asked.
fn session_refused(look: &Look, why: &Why) -> Option<EventId> {
    let decision = &why.decision;
    if !why.hooks.is_empty() || decision.verdict < Strength::Block || decision.by.is_some() {
        return None;
    }
    let asked = ["point:before_session", "verdict:refused", &format!("session:\"{}\"", decision.session)];
    let begun = look.why_last(&query(&asked.map(str::to_owned)).ok()?).ok()??;
    (begun.decision.session == decision.session).then_some(begun.decision.id)
}

/// The fields that hooks have changed and the agent program went on with as they were, each with a sentence that says so.
fn lost(why: &Why) -> Vec<(&str, String)> {
    let decision = &why.decision;
    let host = decision.host.as_deref().and_then(Host::named);
    let Some(host) = host.filter(|_| decision.verdict < Strength::Block) else { return Vec::new() };
    let Ok(Value::Object(payload)) = from_str(&decision.payload) else { return Vec::new() };
    let changes = why.given.iter().filter(|given| given.what == "change");
    let mut fields: Vec<&str> = changes.filter_map(|given| given.field.as_deref()).collect();
    fields.dedup();
    let is_lost =
        |field: &&str| change_fate(host, &decision.point, field, &payload) == Some(ChangeFate::Unchanged);
    let told = |field| {
        let title = host.title();
        (field, format!("{title} takes no changed {field} here, and went on with the value as it was"))
    };
    fields.into_iter().filter(is_lost).map(told).collect()
}

fn with_lost(mut object: Map, why: &Why) -> Map {
    let lost = lost(why).into_iter();
    let lost: Vec<Value> = lost.map(|(field, text)| json!({"field": field, "text": text})).collect();
    if !lost.is_empty() {
        object.insert("not_taken".to_owned(), Value::Array(lost));
    }
    object
}

/// Which event is asked about.
pub(crate) enum Asked<'a> {
    /// The one with an id that begins or ends so.
    Id(&'a str),
    /// The last one that a query finds.
    Last(Query),
    /// The last refused one, by the first of these that finds one; with the session at the root of the agent that asks, where
    /// that is known.
    LastRefused(Vec<Query>, Option<String>),
}

impl Asked<'_> {
    /// That what was found is not of the session that asks, for the agent whose own refusal it takes for this one otherwise.
    fn instead(&self, found: &Why) -> Option<&'static str> {
        match self {
            Asked::LastRefused(_, Some(own)) if *own != found.decision.tree => Some(
                "Nothing of this session was refused; this is the last refusal of another one in this project",
            ),
            Asked::LastRefused(all, None) if !all.contains(&Query::default()) => {
                Some("It is not known which session asks; this is the last refusal of any in this project")
            }
            _ => None,
        }
    }

    /// What was found as a page.
    pub(crate) fn page(&self, found: &Why, columns: usize, style: Style) -> Vec<String> {
        let instead = self.instead(found).map(|text| [style.paint(Tone::Warning, text), String::new()]);
        instead.into_iter().flatten().chain(page::lines(found, columns, style)).collect()
    }
}

/// Whose refusals are asked about where nothing is named: those of the session of the agent above this process, or else of the
/// project that it works in; all of them where a person asks.
///
/// # Errors
/// None is known; an agent's project is the folder of this process or one above it.
pub(crate) fn whose(paths: &DaemonPaths, is_agents: bool) -> Result<Asked<'static>> {
    let above = agent_above(std::process::id(), &[&paths.state]).map(|agent| agent.session);
    if above.is_none() && !is_agents {
        return Ok(Asked::LastRefused(vec![query(&[])?], None));
    }
    let here = std::env::current_dir()?;
    let folders = here.ancestors().map(|folder| query(&[format!("project:\"{}\"", folder.display())]));
    let all = above.iter().map(|own| Query::of_tree(own)).chain(folders.flatten()).collect();
    Ok(Asked::LastRefused(all, above))
}

/// What the log has of that event; in words why it is not one.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn the_one(look: &Look, asked: &Asked<'_>) -> Result<Result<Why, String>, LookError> {
    let found = match asked {
        Asked::Id(id) => look.why(id)?,
        Asked::Last(query) => look.why_last(query)?.into_iter().collect(),
        Asked::LastRefused(all, _) => {
            let mut found = all.iter().map(|query| look.why_last(&query.clone().refused()));
            found.find_map(Result::transpose).transpose()?.into_iter().collect()
        }
    };
    let (one, others) = match <[Why; 1]>::try_from(found) {
        Ok([why]) => return Ok(Ok(why)),
        Err(found) => (found.first().map(|why| why.decision.id), found.get(1).map(|why| why.decision.id)),
    };
    Ok(Err(match (one, others, asked) {
        (Some(one), Some(other), _) => several(one, other),
        (.., Asked::Id(id)) => {
            format!("no event `{}` is in the log; `lineside log` shows what is", one_line(id))
        }
        (.., Asked::Last(_)) => "no such event is in the log".to_owned(),
        (.., Asked::LastRefused(all, _)) => {
            let is_agents = !all.contains(&Query::default());
            let whose = if is_agents { "that is known to be yours" } else { "of the log" };
            format!(
                "no event {whose} was refused; `lineside why --last` tells of the last one, and \
                 `lineside why ID` of any that `lineside log` shows"
            )
        }
    }))
}

fn several(one: EventId, other: EventId) -> String {
    format!("several events have that id, such as {one} and {other}; name more of it")
}

/// The same of a machine of the cluster, which is named.
async fn of_cluster(args: &WhyArgs, id: &str, styles: Styles) -> Result<ExitCode> {
    let all = machines::of_all(&args.store.daemon().paths()?, "", 2, Some(id)).await?;
    let found = all.iter().flat_map(|of| {
        let read = |object| Some((&*of.machine, Why::of_json(object)?, object));
        of.decisions.iter().filter_map(read)
    });
    let found: Vec<_> = found.collect();
    match &found[..] {
        [] => {
            tell(&format!(
                "lineside: no event `{}` is in the log of any machine that has answered",
                one_line(id)
            ));
            machines::report(&all, styles.err);
            Ok(ExitCode::FAILURE)
        }
        [(machine, _, object)] if args.json => {
            print_json(&machines::with(object, machine))?;
            Ok(ExitCode::SUCCESS)
        }
        [(machine, why, _)] => {
            let page = page::lines(why, columns().unwrap_or(COLUMNS), styles.out);
            print_unbroken([format!("on machine {machine}"), String::new()].into_iter().chain(page))?;
            Ok(ExitCode::SUCCESS)
        }
        [(_, one, _), (_, other, _), ..] => {
            tell(&format!("lineside: {}", several(one.decision.id, other.decision.id)));
            Ok(ExitCode::FAILURE)
        }
    }
}
