//! A question as a person reads it: what is about to happen, which hook asks and why, how long it waits, how it is answered.

use std::time::Duration;

use lineside::json::{Map, Value};

use crate::page::fitting::cut;
use crate::painter::{in_passing, one_line};
use crate::style::{Style, Tone};
use crate::why::page::Page;

/// The lines of a question, with the commands that answer it.
pub(crate) fn question(question: &Value, columns: usize, style: Style) -> Vec<String> {
    let mut lines = asked(question, columns, style);
    lines.push(String::new());
    let id = in_passing(question["id"].as_str().unwrap_or_default());
    for (words, what) in [
        (format!("allow {id}"), "this once"),
        (format!("allow {id} --session"), "the same, session-wide"),
        (format!("allow {id} --pattern PATTERN"), "what fits, project-wide"),
        (format!("deny {id} --reason TEXT"), "the agent reads why"),
    ] {
        let command = format!("lineside approvals {words}");
        lines.push(format!("  {command:<51}  {}", style.paint(Tone::Dim, what)).trim_end().to_owned());
    }
    lines
}

/// What is asked.
pub(crate) fn asked(question: &Value, columns: usize, style: Style) -> Vec<String> {
    let text = |field: &str| in_passing(question[field].as_str().unwrap_or_default());
    let page = Page::new(columns, style, question["project"].as_str()).whole();
    let left = format!("{} left", left(question["left_ms"].as_u64().unwrap_or_default()));
    let head = format!("? {}  {}", text("point"), text("tool"));
    let gap = page.width().saturating_sub(head.trim_end().chars().count() + left.chars().count()).max(2);
    let mut lines = vec![format!(
        "{} {}  {}{:gap$}{}",
        style.paint(Tone::Asked, "?"),
        text("point"),
        style.paint(Tone::Bold, &text("tool")),
        "",
        style.paint(Tone::Warning, &left),
    )];
    for hook in question["hooks"].as_array().into_iter().flatten() {
        let of = |field: &str| hook[field].as_str();
        lines.extend(page.text(Tone::Plain, of("reason").unwrap_or_default()));
        let by = of("hook").unwrap_or_default();
        let at = page.place(of("origin"));
        let by = if at.is_empty() { format!("asked by {by}") } else { format!("asked by {by}, {at}") };
        lines.extend(page.text(Tone::Dim, &by));
    }
    lines.push(String::new());
    let asked = text("asked_at");
    lines.extend(page.field(
        "question",
        &format!("{}, asked at {} UTC", text("id"), asked.get(11..19).unwrap_or_default()),
    ));
    let host = question["host"].as_str().map(|host| format!(" of {host}")).unwrap_or_default();
    let process =
        question["process"].as_u64().map(|process| format!(", process {process}")).unwrap_or_default();
    lines.extend(page.field("agent", &format!("{}{host}{process}", text("agent"))));
    lines.extend(page.field("session", &text("session")));
    for field in ["project", "cwd"] {
        let other = field == "cwd" && question["cwd"] == question["project"];
        lines.extend(
            question[field].as_str().filter(|_| !other).iter().flat_map(|path| page.field(field, path)),
        );
    }
    match &question["payload"] {
        Value::Object(payload) => lines.extend(page.payload(payload)),
        payload => {
            let shown = payload.as_str().unwrap_or_default();
            lines.extend(page.field("payload", &format!("(only the beginning of it is shown) {shown}")));
        }
    }
    lines
}

/// The answers for patterns.
pub(super) fn answers<'a>(
    answers: impl Iterator<Item = &'a Value>,
    columns: usize,
    style: Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    for answer in answers {
        if lines.is_empty() {
            lines.extend([String::new(), style.paint(Tone::Bold, "Answers for patterns")]);
        }
        let text = |field: &str| in_passing(answer[field].as_str().unwrap_or_default());
        let (sign, tone) = if text("answer") == "allow" { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        let project = answer["project"].as_str().map(|project| format!(", in {project}")).unwrap_or_default();
        let rest = format!(
            "{} {}  when {} asks{}; by {} at {}",
            text("tool"),
            text("pattern"),
            text("hook"),
            one_line(&project),
            text("by"),
            text("at")
        );
        let room = columns.saturating_sub(14);
        lines.push(format!("  {} {}  {}", style.paint(tone, sign), text("id"), cut(&rest, room.max(40))));
    }
    lines
}

/// What would be answered from now on, as a line that is added.
pub(super) fn rule(question: &Value, word: &str, pattern: &str, columns: usize, style: Style) -> Vec<String> {
    let page = Page::new(columns, style, None);
    let text = |field: &str| in_passing(question[field].as_str().unwrap_or_default());
    let mut lines = vec![style.paint(Tone::Bold, "This answer is added, and counts until it is taken back:")];
    for hook in question["hooks"].as_array().into_iter().flatten() {
        let by = in_passing(hook["hook"].as_str().unwrap_or_default());
        let added = format!("+ {word} {} {}  when {by} asks", text("tool"), in_passing(pattern));
        lines.extend(page.text(Tone::Good, &added));
    }
    if let Some(project) = question["project"].as_str() {
        lines.extend(page.text(Tone::Dim, &format!("in {project}")));
    }
    lines
}

/// That a question was answered.
pub(super) fn answered(signal: &Map, style: Style) -> String {
    let approval = signal.get("approval").cloned().unwrap_or_default();
    let text = |field: &str| in_passing(approval[field].as_str().unwrap_or_default());
    let (sign, tone) = match &*text("verdict") {
        "allow" => ("✓", Tone::Good),
        "ask" => ("?", Tone::Asked),
        _ => ("✗", Tone::Bad),
    };
    format!("{} {}  {}, by {}", style.paint(tone, sign), text("id"), text("verdict"), text("by"))
}

/// A time that is left, in whole seconds.
pub(crate) fn left(milliseconds: u64) -> String {
    let seconds = Duration::from_millis(milliseconds).as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    #[test]
    fn a_question_is_a_page() {
        let asked = json!({
            "id": "1f3a9c07", "asked_at": "2026-11-24T14:03:11.000Z", "left_ms": 252_000, "point": "before_tool",
            "tool": "Bash", "agent": "main", "host": "codex", "process": 4242, "session": "s1", "project": "/repo",
            "cwd": "/repo", "payload": {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}},
            "hooks": [{"hook": "no-push", "origin": "/repo/.lineside/hooks.yaml:3", "reason": "a push needs a person"}],
        });
        insta::assert_snapshot!(question(&asked, 80, Style::PLAIN).join("\n"));
        insta::assert_snapshot!(rule(&asked, "allow", "git push *", 80, Style::PLAIN).join("\n"));
        let answer = json!({"id": "1f3a9c07", "answer": "allow", "tool": "Bash", "pattern": "git push *", "hook": "no-push",
            "project": "/repo", "by": "a person (lineside, process 7)", "at": "2026-11-24T14:04:00.000Z"});
        insta::assert_snapshot!(answers([&answer].into_iter(), 120, Style::PLAIN).join("\n"));
    }

    #[test]
    fn what_a_question_says_moves_no_cursor() {
        let asked = json!({"id": "a", "tool": "B\u{1b}[2J", "payload": {"tool_input": {"command": "x\u{1b}[1A\r\u{202e}y"}},
            "hooks": [{"hook": "h\u{7}", "reason": "r\u{1b}]0;t"}]});
        let shown = question(&asked, 80, Style::PLAIN).join("");
        assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}', '\u{7}']), "{shown:?}");
    }
}
