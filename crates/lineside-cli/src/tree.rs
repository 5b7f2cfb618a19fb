//! `lineside sessions`: the open sessions of the daemon as the tree that they form.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lineside::Bus;
use lineside::core::Timestamp;
use lineside::json::{Map, Value};

use crate::control::{ask, span};
use crate::daemon_paths::DaemonArgs;
use crate::painter::one_line;
use crate::style::{Style, Styles, Tone, columns, count, print, print_json};
use crate::table::{Cell, Table};

/// Show the open sessions: which program each is of, and below which other one it stands.
///
/// `found by` says how its place was found: by a grant, by the ancestors of its process, or that none of these has a
/// session.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    daemon: DaemonArgs,

    /// Only this session, and what is below it.
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// Print one JSON object a line, one for each session, parents before their children.
    #[arg(long)]
    json: bool,
}

/// The longest id that is shown, in characters; ids of agent programs have 36.
const LONGEST: usize = 40;

/// `lineside sessions`.
///
/// # Errors
/// There is no daemon, or it has no such session.
pub(crate) async fn run(args: &SessionsArgs, styles: Styles) -> Result<ExitCode> {
    let paths = args.daemon.paths()?;
    let answer: Map = ask(&paths, async |client| client.get("/v1/sessions").await).await?;
    let sessions: Vec<&Map> =
        answer["sessions"].as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let tree = tree(&sessions, args.session.as_deref());
    if let (Some(id), []) = (&args.session, &tree[..]) {
        anyhow::bail!("session `{}` is not open", one_line(id));
    }
    if args.json {
        for (_, session) in &tree {
            print_json(session)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    print(page(&tree, Bus::new().wall_clock(), columns(), styles.out))?;
    Ok(ExitCode::SUCCESS)
}

/// The sessions with how deep each is shown: parents before their children, those of one parent in the order in which
/// they were opened.
fn tree<'a>(sessions: &[&'a Map], top: Option<&str>) -> Vec<(usize, &'a Map)> {
    let mut below: BTreeMap<&str, Vec<&Map>> = BTreeMap::new();
    let mut tops = Vec::new();
    let is_there = |id: &str| sessions.iter().any(|session| text(session, "id") == id);
    for session in sessions {
        match text(session, "parent") {
            _ if top.is_some_and(|top| top == text(session, "id")) => tops.push(*session),
            // The parent may have ended.
            parent if is_there(parent) => below.entry(parent).or_default().push(session),
            _ if top.is_none() => tops.push(session),
            _ => {}
        }
    }
    let since = |session: &&Map| std::cmp::Reverse(text(session, "since").to_owned());
    let mut tree = Vec::new();
    tops.sort_by_key(since);
    let mut waiting: Vec<_> = tops.into_iter().map(|session| (0, session)).collect();
    while let Some((depth, session)) = waiting.pop() {
        tree.push((depth, session));
        let mut children = below.remove(text(session, "id")).unwrap_or_default();
        children.sort_by_key(since);
        waiting.extend(children.into_iter().map(|child| (depth + 1, child)));
    }
    tree
}

fn text<'a>(session: &'a Map, field: &str) -> &'a str {
    session.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Where a session is: its directory, or the machine that it is on where that is another one.
fn place(session: &Map) -> String {
    match text(session, "machine") {
        "" => text(session, "cwd").to_owned(),
        machine => format!("on machine {machine}"),
    }
}

/// The tree as people read it.
fn page(tree: &[(usize, &Map)], now: Timestamp, columns: Option<usize>, style: Style) -> Vec<String> {
    if tree.is_empty() {
        return vec!["no session is open".to_owned()];
    }
    let row = |(depth, session): &(usize, &Map)| {
        let number = |field: &str| {
            session.get(field).and_then(Value::as_u64).map_or_else(String::new, |n| n.to_string())
        };
        let id: String = text(session, "id").chars().take(LONGEST).collect();
        let branch = if *depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depth - 1)) };
        let since: Option<Timestamp> = text(session, "since").parse().ok();
        let age = since.map(|since| now.as_millisecond().saturating_sub(since.as_millisecond()));
        let age = age.map(|age| span(Duration::from_millis(u64::try_from(age).unwrap_or_default())));
        vec![
            Cell::new(format!("{branch}{id}")),
            Cell::new(text(session, "host")),
            Cell::new(number("process")),
            Cell::new(age.unwrap_or_default()),
            Cell::new(number("last_seq")),
            Cell::toned(text(session, "attributed"), Tone::Dim),
            Cell::toned(place(session), Tone::Dim),
        ]
    };
    let heading = ["session", "program", "process", "open for", "events", "found by", "directory"];
    let rows = tree.iter().map(row).collect();
    let mut lines = Table { heading: &heading, rows, stacked: &[6, 5] }.lines(columns, style);
    lines.extend([String::new(), count(tree.len(), "session")]);
    lines
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    #[test]
    fn the_tree_has_each_program_below_the_one_that_started_it() {
        let sessions = [
            json!({"id": "b", "parent": "a/x", "host": "gemini", "process": 71, "last_seq": 2, "attributed": "ancestry",
                "since": "2026-03-02T09:14:50.000Z", "cwd": "/p/src"}),
            json!({"id": "a", "host": "claude", "process": 70, "last_seq": 12, "attributed": "nothing",
                "since": "2026-03-02T09:14:00.000Z", "cwd": "/p"}),
            json!({"id": "a/x", "parent": "a", "host": "claude", "process": 70, "last_seq": 3, "attributed": "nothing",
                "since": "2026-03-02T09:14:30.000Z", "cwd": "/p"}),
            json!({"id": "late", "parent": "gone", "last_seq": 0}),
        ];
        let sessions: Vec<&Map> = sessions.iter().filter_map(Value::as_object).collect();
        let now = "2026-03-02T09:15:00.000Z".parse().unwrap();
        let page = |top| page(&tree(&sessions, top), now, Some(100), Style::PLAIN).join("\n");
        insta::assert_snapshot!(page(None));
        assert_eq!(tree(&sessions, Some("a/x")).len(), 2);
        assert_eq!(page(Some("none")), "no session is open");
    }

    #[test]
    fn a_session_of_another_machine_names_that() {
        let session = json!({"id": "s1", "machine": "build-2\u{1b}", "last_seq": 0, "cwd": "/p"});
        let lines =
            page(&[(0, session.as_object().unwrap())], Timestamp::UNIX_EPOCH, Some(100), Style::PLAIN);
        assert!(lines.iter().any(|line| line.contains("on machine build-2")), "{lines:?}");
    }
}
