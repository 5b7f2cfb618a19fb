//! Screens as people see them, and what keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use lineside::json::{Map, Value, json};
use lineside::log::Decision;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::ask::{Ask, Told};
use super::keys::Kind;
use super::screen::draw;
use super::state::{Link, Prompt, Top};
use crate::style::Style;

mod beside_others;
mod columns;
mod waiting;

/// 24 November 2026, 09:00.
const NOW: i64 = 1_795_510_800_000;

fn map(value: Value) -> Map {
    let Value::Object(map) = value else { panic!("{value}") };
    map
}

/// A screen under test.
struct Stage {
    top: Top,
    size: (u16, u16),
}

impl Stage {
    fn new(size: (u16, u16)) -> Self {
        Self { top: Top::new(Style::PLAIN, String::new(), NOW), size }
    }

    fn coloured(mut self) -> Self {
        self.top.style = Style::PAINTED;
        self
    }

    fn hear(&mut self, line: Value) {
        self.top.hear(&map(line), NOW);
    }

    /// So many trees of a session with a subagent.
    fn fleet(mut self, agents: usize) -> Self {
        let hosts = ["claude", "codex", "gemini", "opencode"];
        let projects = ["importer", "billing", "web"];
        for number in 0..agents {
            let (tree, is_child) = (number / 3, !number.is_multiple_of(3));
            let session = if is_child { format!("s{tree}/task-{number}") } else { format!("s{tree}") };
            let verdict = match number % 7 {
                3 => "block",
                5 => "ask",
                _ => "continue",
            };
            for call in 0..=number % 5 {
                let mut line =
                    decided(&session, verdict, NOW - 2_000 - i64::try_from(number % 40).unwrap() * 500);
                let own = map(json!({
                    "tree": format!("s{tree}"), "parent": is_child.then(|| format!("s{tree}")),
                    "depth": u32::from(is_child), "agent": if is_child { "reviewer" } else { "main" },
                    "host": hosts[tree % 4], "project": format!("/repo/{}", projects[tree % 3]),
                    "took_us": 700 + 90 * (number % 50) + call,
                }));
                if let Value::Object(fields) = &mut line {
                    fields.extend(own);
                }
                self.hear(line);
            }
        }
        self
    }

    fn shown(&mut self) -> Terminal<TestBackend> {
        self.top.fleet.settle(NOW);
        let lines = self.top.screen((self.size.0.into(), self.size.1.into()), NOW);
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| draw(frame, lines)).unwrap();
        terminal
    }

    fn text(&mut self) -> String {
        self.shown().backend().to_string()
    }

    fn press(&mut self, keys: &str) {
        for char in keys.chars() {
            let code = match char {
                '⏎' => KeyCode::Enter,
                '⎋' => KeyCode::Esc,
                char => KeyCode::Char(char),
            };
            self.top.press(KeyEvent::new(code, KeyModifiers::NONE));
        }
    }

    /// What is asked now.
    fn due(&mut self) -> Vec<Ask> {
        self.top.due(NOW)
    }

    fn told(&mut self, ask: &Ask, told: Told) {
        self.top.take(ask, told, NOW);
    }
}

fn decided(session: &str, verdict: &str, time: i64) -> Value {
    let time = lineside::core::Timestamp::from_millisecond(time).unwrap();
    let reason = (verdict != "continue")
        .then_some("rm would delete everything below ~; name the one directory that is meant");
    json!({
        "kind": "decided", "id": "01a20bf2-fc2c-79fc-b36d-448e0b4bfe58", "time": time.to_string(), "session": session,
        "tree": session, "parent": null, "depth": 0, "seq": 4, "agent": "main", "agent_type": null, "host": "claude",
        "project": "/repo/importer", "point": "before_tool", "tool": "Bash", "verdict": verdict,
        "by": reason.map(|_| "no-rm"), "origin": "/repo/importer/.lineside/hooks.yaml:3", "reason": reason,
        "took_us": 1200, "generation": 2, "changes": 0, "failures": 0, "failed": null, "runs": 2, "shadows": 0,
        "payload": {"tool_name": "Bash", "tool_input": {"command": "rm -rf ~/ .cache/importer"}},
    })
}

fn logged(session: &str, verdict: &str, time: i64) -> Decision {
    Decision::of_json(&map(decided(session, verdict, time))).unwrap()
}

fn status() -> Map {
    map(json!({"off": false, "live_jobs": 3, "dead_jobs": 1, "findings": [], "failing": [], "projects": [
        {"root": "/repo/billing", "stands": "untrusted", "hooks": 2, "sessions": 1}]}))
}

fn question() -> Value {
    json!({
        "id": "1f3a9c07", "asked_at": "2026-11-24T08:59:11.000Z", "left_ms": 252_000, "point": "before_tool",
        "tool": "Bash", "agent": "main", "host": "codex", "process": 4242, "session": "s1", "project": "/repo",
        "cwd": "/repo", "payload": {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}},
        "hooks": [{"hook": "no-push", "origin": "/repo/.lineside/hooks.yaml:3", "reason": "a push needs a person"}],
        "event": "01a20bf2-fc2c-79fc-b36d-448e0b4bfe59", "root": "s1", "depth": 0, "about": "git push origin main",
    })
}

#[test]
fn a_screen_without_agents_says_what_to_do() {
    insta::assert_snapshot!(Stage::new((80, 24)).text());
}

#[test]
fn one_agent_fifty_and_two_thousand() {
    insta::assert_snapshot!("one", Stage::new((80, 24)).fleet(1).text());
    let mut fifty = Stage::new((120, 40)).fleet(50);
    fifty.told(&Ask::Status, Told::Status(status()));
    fifty.told(&Ask::Approvals, Told::Approvals(vec![question()]));
    insta::assert_snapshot!("fifty", fifty.text());
    let mut many = Stage::new((160, 50)).fleet(2_000);
    many.text();
    many.press("G");
    insta::assert_snapshot!("two_thousand", many.text());
}

#[test]
fn a_narrow_screen_has_the_columns_that_fit() {
    insta::assert_snapshot!(Stage::new((80, 24)).fleet(50).text());
}

#[test]
fn machines_and_the_machine_of_each_session_are_shown_where_there_is_a_cluster() {
    let mut status = json!({"cluster": {"cluster": "build", "machine": "a", "together": true, "since_ms": 60_000, "members": [
        {"machine": "a", "this": true, "there": true, "heard_ms": 10, "stand_ins": 0},
        {"machine": "b", "this": false, "there": true, "heard_ms": 900, "stand_ins": 1},
        {"machine": "c\u{1b}[31m", "this": false, "there": false, "heard_ms": 200_000, "stand_ins": 0},
    ]}});
    let sessions = [
        json!({"id": "p1", "agent": {"id": "main", "kind": "main"}, "machine": "b", "last_seq": 0}),
        json!({"id": "s1", "parent": "p1", "root": "p1", "depth": 1, "agent": {"id": "reviewer", "kind": "subagent"},
            "project_root": "/repo/billing", "host": "codex", "last_seq": 3}),
    ];
    for (columns, name) in [(80, "machines_narrow"), (160, "machines_wide")] {
        let mut stage = Stage::new((columns, 10));
        stage.told(&Ask::Sessions, Told::Sessions(sessions.clone().map(map).to_vec()));
        let without = stage.text();
        assert!(!without.contains("machine") && !without.contains("cluster"), "{without}");
        stage.told(&Ask::Status, Told::Status(map(status.clone())));
        insta::assert_snapshot!(name, stage.text());
    }
    // What there is no room for is counted, and all are apart from this one without the server.
    let cluster = &mut status["cluster"];
    cluster["together"] = json!(false);
    let many = (0..40)
        .map(|number| json!({"machine": format!("m{number}"), "there": number > 1, "heard_ms": 9_000}));
    cluster["members"] = many.collect();
    let line = crate::cluster::machines(cluster.as_object().unwrap(), 80, Style::PLAIN);
    assert_eq!(line, "cluster build  ✗ apart for 1 min  ✗ m0 away for 9 s  and 39 more");
}

#[test]
fn sessions_are_sorted_by_a_column_and_back_to_the_tree() {
    let mut stage = Stage::new((100, 14)).fleet(20);
    let tree = stage.text();
    // Past state, program and project.
    stage.press("ssss");
    insta::assert_snapshot!(stage.text());
    let shown = |stage: &mut Stage| stage.text().lines().nth(4).unwrap().to_owned();
    let first = shown(&mut stage);
    stage.press("S");
    assert_ne!(shown(&mut stage), first);
    for _ in 0..7 {
        stage.press("s");
    }
    assert_eq!(stage.text(), tree);
}

#[test]
fn a_filter_is_a_query_and_shows_the_sessions_that_it_finds() {
    let mut stage = Stage::new((80, 14)).fleet(20);
    stage.press("/verdikt:block⏎");
    assert!(stage.text().contains("did you mean `verdict`?"), "{}", stage.text());
    for _ in 0.."verdikt:block".len() {
        stage.top.press(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    }
    stage.press("verdict:block⏎");
    let asked = Ask::Only("verdict:block".to_owned());
    assert!(stage.due().contains(&asked));
    stage
        .told(&asked, Told::Only(["s1".to_owned(), "s3/task-10".to_owned(), "s5/task-17".to_owned()].into()));
    insta::assert_snapshot!(stage.text());
    stage.press("⎋");
    assert_eq!(stage.text().matches("reviewer").count(), 6, "{}", stage.text());
}

#[test]
fn a_session_opens_into_its_timeline_and_that_into_a_decision() {
    let mut stage = Stage::new((100, 24)).fleet(4);
    stage.text();
    stage.press("⏎");
    let asked = Ask::Timeline { session: "s0".to_owned(), is_tree: false, query: String::new() };
    assert!(stage.due().contains(&asked));
    let decisions = vec![logged("s0", "continue", NOW - 9_000), logged("s0", "block", NOW - 4_000)];
    stage.told(&asked, Told::Timeline(decisions));
    insta::assert_snapshot!("timeline", stage.text());
    stage.press("⏎");
    let asked = Ask::Why("01a20bf2-fc2c-79fc-b36d-448e0b4bfe58".to_owned());
    assert!(stage.due().contains(&asked));
    assert!(!stage.top.view().has_come && !stage.text().contains("not in the decision log"));
    stage.told(&asked, Told::Why(None));
    insta::assert_snapshot!("decision_that_is_not_there", stage.text());
    stage.press("⎋⎋");
    assert!(stage.text().contains("task-1"));
    assert_eq!(stage.top.view().kind, Kind::Sessions);
}

#[test]
fn a_question_is_answered_on_its_page_alone() {
    let mut stage = Stage::new((90, 26));
    stage.press("2");
    stage.told(&Ask::Approvals, Told::Approvals(vec![question()]));
    stage.press("y");
    assert!(!stage.due().iter().any(Ask::is_change));
    insta::assert_snapshot!("approvals", stage.text());
    stage.press("⏎");
    insta::assert_snapshot!("question", stage.text());
    stage.press("y");
    let answer = Ask::Answer { id: "1f3a9c07".to_owned(), answer: "allow", scope: "once" };
    assert!(stage.due().contains(&answer));
    // Below an agent it comes back with what a person may do.
    stage.told(&answer, Told::Failed("this stands below an agent".to_owned()));
    assert!(stage.text().contains("this stands below an agent"));
    assert_eq!(stage.top.view().kind, Kind::Question);
    stage.told(&answer, Told::Done("question 1f3a9c07: allow, this once".to_owned()));
    assert_eq!(stage.top.view().kind, Kind::Approvals);
}

#[test]
fn a_dead_job_is_taken_up_again_when_a_person_says_yes() {
    let jobs = || {
        vec![
            map(json!({"job": 12, "state": "dead", "hook": "lint", "session": "s1", "events": ["01a2"],
                "attempts": [{}, {}, {}], "why": "exit status 1: cargo clippy", "key": null})),
            map(
                json!({"job": 13, "state": "running", "hook": "test", "session": "s1", "events": [], "attempts": [{}],
                "about": "runs for 3 s", "key": "test:/repo"}),
            ),
            map(
                json!({"job": 14, "state": "waiting", "hook": "test", "session": "s2", "events": [], "attempts": [],
                "about": "waits for its key", "key": "test:/repo"}),
            ),
        ]
    };
    let mut stage = Stage::new((90, 14));
    stage.press("3");
    stage.told(&Ask::Jobs, Told::Jobs(jobs()));
    insta::assert_snapshot!("jobs", stage.text());
    stage.press("xn");
    assert!(!stage.due().iter().any(Ask::is_change), "only y is yes");
    stage.press("r");
    assert!(matches!(stage.top.prompt, Prompt::Sure(..)));
    assert!(stage.text().contains("retry job 12? y for yes"));
    stage.press("y");
    assert!(stage.due().contains(&Ask::Retry(12)));
    // Of a key there is nothing to drop.
    stage.press("Gx");
    assert_eq!(stage.top.prompt, Prompt::None);
}

#[test]
fn the_help_names_every_key() {
    let mut stage = Stage::new((100, 60));
    stage.press("?");
    insta::assert_snapshot!(stage.text());
    stage.press("q");
    assert!(stage.top.is_over);
}

#[test]
fn colours_are_asked_for_and_a_chosen_row_is_seen_without_them() {
    let colours = |stage: &mut Stage| {
        let terminal = stage.shown();
        let cells = terminal.backend().buffer().content.clone();
        let has = |modifier| cells.iter().any(|cell| cell.modifier.contains(modifier));
        (
            cells.iter().any(|cell| cell.fg != Color::Reset),
            has(Modifier::REVERSED),
            cells.iter().any(|cell| cell.bg != Color::Reset),
        )
    };
    assert_eq!(colours(&mut Stage::new((80, 24)).fleet(9)), (false, true, false));
    assert_eq!(colours(&mut Stage::new((80, 24)).fleet(9).coloured()), (true, true, false));
}

#[test]
fn no_text_from_outside_moves_the_cursor_or_hides() {
    let evil = "e\u{1b}[2J\u{1b}]0;t\u{7}\u{202e}x\r\n\u{9b}31m";
    let mut stage = Stage::new((160, 30)).coloured();
    let mut line = decided(evil, "block", NOW);
    if let Value::Object(fields) = &mut line {
        for field in ["agent", "agent_type", "host", "project", "tool", "by", "reason", "tree"] {
            fields.insert(field.to_owned(), json!(evil));
        }
    }
    stage.hear(line.clone());
    let mut findings = status();
    findings.insert("findings".to_owned(), json!([{"severity": "error", "text": evil}]));
    stage.told(&Ask::Status, Told::Status(findings));
    let mut asked = question();
    asked["tool"] = json!(evil);
    asked["hooks"][0]["reason"] = json!(evil);
    asked["id"] = json!(evil);
    let job = map(
        json!({"job": 1, "state": evil, "hook": evil, "session": evil, "events": [evil], "why": evil, "key": evil}),
    );
    let check = |stage: &mut Stage, what: &str| {
        let lines = stage.top.screen((160, 30), NOW);
        let text: String = lines.iter().flat_map(|line| line.iter()).map(|span| &*span.content).collect();
        let is_bad = |char: char| char.is_control() || lineside::core::context::is_unseen(char);
        assert!(!text.contains(is_bad), "{what}: {text:?}");
        assert!(text.contains('e'), "{what}");
    };
    check(&mut stage, "sessions");
    stage.press("⏎");
    stage.told(
        &Ask::Timeline { session: evil.to_owned(), is_tree: false, query: String::new() },
        Told::Timeline(Decision::of_json(&map(line)).into_iter().collect()),
    );
    check(&mut stage, "timeline");
    stage.press("2");
    stage.told(&Ask::Approvals, Told::Approvals(vec![asked]));
    check(&mut stage, "approvals");
    stage.press("⏎");
    check(&mut stage, "question");
    stage.press("3");
    stage.told(&Ask::Jobs, Told::Jobs(vec![job]));
    check(&mut stage, "jobs");
    stage.top.filter = evil.to_owned();
    stage.told(&Ask::Retry(1), Told::Failed(evil.to_owned()));
    check(&mut stage, "message");
    stage.press(":e\u{1b}");
    check(&mut stage, "prompt");
}

#[test]
fn a_screen_is_the_same_when_nothing_has_happened() {
    let mut stage = Stage::new((120, 40)).fleet(50);
    let first = stage.top.screen((120, 40), NOW);
    assert_eq!(stage.top.screen((120, 40), NOW), first);
    stage.hear(decided("s0", "block", NOW));
    stage.top.fleet.settle(NOW);
    assert_ne!(stage.top.screen((120, 40), NOW), first);
}

#[test]
fn a_click_chooses_and_a_second_one_opens() {
    let mut stage = Stage::new((80, 24)).fleet(9);
    stage.text();
    let click = |row| MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 5,
        row,
        modifiers: KeyModifiers::NONE,
    };
    stage.top.point(click(6));
    assert_eq!((stage.top.view().at, stage.top.view().kind), (2, Kind::Sessions));
    stage.top.point(click(6));
    assert_eq!((&*stage.top.view().about, stage.top.view().kind), ("s0/task-2", Kind::Timeline));
    stage.top.point(click(0));
    assert_eq!(stage.top.view().kind, Kind::Timeline);
}

#[test]
fn what_the_daemon_has_is_asked_for_once_at_a_time_and_not_while_it_is_away() {
    let mut stage = Stage::new((80, 24));
    let first = stage.due();
    assert!([Ask::Sessions, Ask::Status, Ask::Approvals].iter().all(|ask| first.contains(ask)), "{first:?}");
    assert_eq!(stage.due(), []);
    stage.told(&Ask::Sessions, Told::Sessions(Vec::new()));
    stage.hear(json!({"kind": "session_opened", "session": "s1", "detail": ""}));
    assert_eq!(stage.top.due(NOW + 500), []);
    assert_eq!(stage.top.due(NOW + 1_000), [Ask::Sessions]);
    stage.told(
        &Ask::Sessions,
        Told::Sessions(vec![map(
            json!({"id": "s1", "root": "s1", "depth": 0, "agent": {"id": "main"}, "host": "kimi"}),
        )]),
    );
    assert!(stage.text().contains("kimi"));
    stage.top.links(Link::Down);
    assert_eq!(stage.top.due(NOW + 90_000), []);
    assert!(stage.text().contains("the daemon has ended"));
}
