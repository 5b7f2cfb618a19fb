//! The pages of the agent programs have the tables that the code has: each event, its point, and what can be said there.

use super::kimi;
use super::program::{Host, SERVED};
use super::table::{Amend, Context, How, Row, Say, Scope, Standing, When};

/// The page of a host.
fn page(host: Host) -> &'static str {
    match host {
        Host::Claude => include_str!("../../../../docs/dialects/claude.md"),
        Host::Codex => include_str!("../../../../docs/dialects/codex.md"),
        Host::Copilot => include_str!("../../../../docs/dialects/copilot.md"),
        Host::Cursor => include_str!("../../../../docs/dialects/cursor.md"),
        Host::Gemini => include_str!("../../../../docs/dialects/gemini.md"),
        Host::Kimi => include_str!("../../../../docs/dialects/kimi.md"),
        Host::Opencode => include_str!("../../../../docs/dialects/opencode.md"),
        Host::Qwen => include_str!("../../../../docs/dialects/qwen.md"),
    }
}

/// The tables of a host's page: each a list of rows, and whether they are those that get an entry unasked.
fn tables(host: Host) -> Vec<(&'static [Row], bool)> {
    if host == Host::Kimi {
        return vec![(kimi::CODE_ROWS, true)];
    }
    super::tables(host).iter().enumerate().map(|(at, rows)| (*rows, at == 0)).collect()
}

fn event(row: &Row) -> String {
    let event = row.event;
    match row.when {
        When::Always => format!("`{event}`"),
        When::Is(field, values) => {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            format!("`{event}`, `{field}` {}", values.join(" or "))
        }
        When::Has(field) => format!("`{event}` with `{field}`"),
        When::Empty(field) => format!("`{event}` without `{field}`"),
        When::InSubagent => format!("`{event}` in a subagent"),
        When::Own(_) => format!("`{event}`, as its document says"),
    }
}

fn block(say: Say) -> &'static str {
    let is_held = say.hold.is_some();
    let is_notice = |how| match how {
        How::Json(document) => {
            ["{\"systemMessage\"", "{\"user_message\""].iter().any(|one| document.starts_with(one))
        }
        how => matches!(how, How::Notice | How::Context | How::Beside(_)),
    };
    match (say.how, say.hold) {
        (How::Silent, Some(Scope::Session)) => "holds the session",
        (How::Silent, Some(Scope::Turn)) => "holds the turn",
        (How::Silent, Some(_)) => "holds the subagent",
        (How::Silent, None) => "",
        (how, _) if !is_held && is_notice(how) => "advises",
        (_, Some(_)) => "advises, and holds",
        _ => "refuses",
    }
}

fn context(context: Context) -> &'static str {
    match context {
        Context::Waits => "waits",
        Context::BesideBlock(_) => "beside a block",
        Context::Json(_) | Context::Plain => "yes",
    }
}

fn change((field, amend): &(&str, Amend)) -> String {
    let how = match amend {
        Amend::Refuse(_) => ", refused with the value",
        Amend::Withhold => ", as the reason of a refusal",
        _ => "",
    };
    format!("`{field}`{how}")
}

fn table(rows: &[Row], is_usual: bool) -> String {
    let mut table =
        "| event | point | a block | context | may be changed |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let mark = if is_usual && row.standing == Standing::OnRequest { " \\*" } else { "" };
        let changes: Vec<String> = row.words.amend.iter().map(change).collect();
        let cells = [
            format!("{}{mark}", event(row)),
            format!("`{}`", row.point),
            block(row.words.block).to_owned(),
            context(row.words.context).to_owned(),
            changes.join("; "),
        ];
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}

#[test]
fn the_page_of_each_host_has_its_events_as_they_are() {
    // HO-2, HO-6, KI-1
    for host in SERVED {
        for (rows, is_usual) in tables(host) {
            let expected = table(rows, is_usual);
            assert!(page(host).contains(&expected), "the page of {host} lacks:\n{expected}");
        }
    }
}

#[test]
fn a_hook_that_changes_results_is_named_where_a_program_shows_them_unchanged() {
    use lineside_core::{Hook, Origin, Part};

    let found = |host: Host, part, point: &'static str| {
        let hook = Hook::native("redact", part).origin(Some(Origin::new("/f/hooks.yaml", 3)));
        let findings = super::never_reported(&[host.name()], [(&hook, point)]);
        findings.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
    };
    for (host, which) in [
        (Host::Qwen, "Qwen Code shows its model every result unchanged"),
        (Host::Kimi, "Kimi shows its model every result unchanged"),
        (Host::Cursor, "Cursor shows its model the results of some tools unchanged"),
    ] {
        let said = found(host, Part::Amender, "after_tool");
        assert!(matches!(&said[..], [said] if said.contains(which)), "{host}: {said:?}");
        assert!(found(host, Part::Gate, "after_tool").is_empty(), "{host}");
        assert!(found(host, Part::Amender, "before_tool").is_empty(), "{host}");
    }
    for host in [Host::Claude, Host::Codex, Host::Copilot, Host::Gemini, Host::Opencode] {
        assert!(found(host, Part::Amender, "after_tool").is_empty(), "{host}");
    }
}

#[test]
fn what_no_program_takes_changed_is_named_once_by_the_tables() {
    use lineside_core::{Hook, Origin, Part};

    let found = |hosts: &[Host], point: &'static str, dialect| {
        let mut hook = Hook::native("h", Part::Amender).origin(Some(Origin::new("/f/hooks.yaml", 3)));
        hook.dialect = dialect;
        let names: Vec<&str> = hosts.iter().map(|host| host.name()).collect();
        let findings = super::never_reported(&names, [(&hook, point)]).into_iter();
        findings
            .map(|finding| finding.text)
            .filter(|text| !text.contains("never reports"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(&[Host::Qwen, Host::Claude, Host::Kimi, Host::Cursor], "after_tool", "native"),
        [
            "hook \"h\" may change tool_output, and Kimi and Qwen Code show their models every result unchanged, \
             Cursor shows its model the results of some tools unchanged: what must not be seen has to be refused at \
             before_tool"
        ]
    );
    assert_eq!(
        found(&[Host::Claude, Host::Gemini], "after_tool_error", "native"),
        ["hook \"h\" may change error, and Claude Code goes on with it unchanged"]
    );
    assert!(found(&[Host::Claude], "after_tool_error", "agenthooks").is_empty());
    // Each event of a host whose changes come to nothing is one of these.
    let mut lost = Vec::new();
    for host in SERVED {
        for point in lineside_points::CATALOGUE.iter().filter(|point| point.amendable().next().is_some()) {
            if !found(&[host], point.name, "native").is_empty() {
                lost.push(format!("{host} {}", point.name));
            }
        }
    }
    assert_eq!(
        lost,
        [
            "claude after_tool_error", "claude after_compact", "codex after_compact",
            "copilot after_tool_error", "cursor after_model", "cursor after_tool", "cursor after_tool_error",
            "cursor after_subagent", "kimi after_tool", "kimi after_tool_error", "kimi after_subagent",
            "kimi after_compact", "opencode after_subagent", "qwen after_tool", "qwen after_tool_error"
        ]
    );
}

#[test]
fn what_was_published_in_one_process_is_known_in_another_that_has_heard_no_program_yet() {
    super::declare_points();
    let of_prompts = ["copilot", "gemini", "qwen"].map(|host| format!("x.{host}.after_continuation"));
    for name in of_prompts.iter().map(String::as_str).chain(["x.claude.after_task_notification"]) {
        assert!(lineside_points::known(name).is_some(), "{name}");
    }
}
