//! Whatever stands in a text, it is shown and nothing more.

use std::time::Duration;

use lineside_core::json::{Value, json};
use lineside_core::{Agent, Timestamp};
use lineside_log::{Happened, Query, Record, Stats};

use super::*;
use lineside_fleet::Model;

/// What stands in every field.
const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<svg/onload=alert(1)>",
    "</title></textarea></pre><iframe src=//evil.example>",
    "javascript:alert(1)",
    "\u{202e}gnp.exe\u{1b}[2J\u{0}\u{200b}\r\n&lt;b&gt;",
];

/// That a page has no markup but its own, and nothing that cannot be seen.
fn harmless(page: &str, what: &str) {
    let low = page.to_ascii_lowercase();
    for markup in ["<script>", "<img", "<iframe", "<svg/"] {
        assert!(!low.contains(markup), "{what}: {markup} in {page}");
    }
    assert!(!low.contains("href=\"javascript:"), "{what}: {page}");
    assert!(!page.contains(['\u{202e}', '\u{1b}', '\0', '\u{200b}', '\r']), "{what}");
    // Each quote within an attribute is written out: what is left of a tag without its attributes is plain.
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split_once('>').map(|(tag, _)| tag)) {
        assert_eq!(tag.matches('"').count() % 2, 0, "{what}: <{tag}>");
        let bare: String = tag.split('"').step_by(2).collect();
        assert!(!bare.contains("alert") && !bare.contains('\''), "{what}: <{tag}>");
    }
}

fn decision(text: &str) -> lineside_log::Why {
    // Made as the log makes it, in a file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let log = lineside_log::Log::open(&path, lineside_log::Options::default()).unwrap();
    let receipt = receipt(text);
    let event = receipt.event.envelope().id;
    let time = receipt.event.envelope().time.as_millisecond();
    log.offer(Record::Decided(receipt.into()));
    for (what, millis) in [("automation_started", 10), ("automation_dead", 30)] {
        let mut happened = Happened::new(Timestamp::from_millisecond(time + millis).unwrap(), what);
        (happened.event, happened.job, happened.hook) = (Some(event), Some(7), Some(text.into()));
        text.clone_into(&mut happened.detail);
        log.offer(Record::Happened(Box::new(happened)));
    }
    log.flush();
    let look = lineside_log::Look::open(&path).unwrap();
    assert_eq!(look.sessions_of(&Query::of_session(text)).unwrap(), [text.to_owned()].into());
    look.why_last(&Query::of_tree(text)).unwrap().unwrap()
}

fn receipt(text: &str) -> lineside_core::Receipt {
    use lineside_points::BeforeTool;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let bus = lineside_bus::Bus::new();
        let reason = text.to_owned();
        let gate = bus
            .intercept::<BeforeTool>(text)
            .gate(move |_, _| std::future::ready(lineside_core::Verdict::block(reason.clone())));
        gate.unwrap();
        let opening = bus.session(text).agent(Agent::subagent(text)).host(text).project_root(text).cwd(text);
        let opening = opening.connection(lineside_core::envelope::Source::connection_to(text));
        let session = opening.open().await.unwrap();
        let call = BeforeTool::new(text, json!({"command": text, (text): text}));
        let decision = session.any_event(std::sync::Arc::new(call)).publish_any().await.unwrap();
        lineside_core::Receipt::clone(&decision)
    })
}

#[test]
fn whatever_stands_in_a_field_is_shown_and_nothing_more() {
    for text in HOSTILE {
        let shell = Shell { query: Some(text), wrong: Some(text), title: text, ..Shell::default() };
        let whole = |content: &Markup| page(&shell, content);
        let receipt = receipt(text);
        let mut model = Model::default();
        for _ in 0..4 {
            model.decided(&receipt, 1);
        }
        model.settle(2);
        let beside = fleet::Beside {
            findings: vec![("warning".to_owned(), text.to_owned())],
            projects: vec![(text.to_owned(), "untrusted".to_owned())],
            failing: vec![text.to_owned()],
            machines: vec![fleet::Machine { name: text.to_owned(), ..fleet::Machine::default() }],
            ..fleet::Beside::default()
        };
        harmless(&whole(&fleet::content(&model, &beside, 2, &|_| true)), "fleet");
        let in_force = lineage::InForce {
            name: text.to_owned(),
            point: "before_tool".to_owned(),
            layer: "session".to_owned(),
            origin: text.to_owned(),
            condition: text.to_owned(),
            ..lineage::InForce::default()
        };
        let chosen =
            lineage::Chosen { session: text.to_owned(), coverage: text.to_owned(), hooks: vec![in_force] };
        harmless(&whole(&lineage::content(&model, Some(&chosen), &|_| true)), "lineage");
        let why = decision(text);
        let decided = std::slice::from_ref(&why.decision);
        harmless(&whole(&decision::content(&why)), "decision");
        harmless(&whole(&decisions::content(std::slice::from_ref(&why.decision), 1, 9)), "decisions");
        harmless(&whole(&timeline::content(text, text, decided, decided)), "timeline");
        let job = hooks::JobRow {
            state: "dead".to_owned(),
            about: text.to_owned(),
            hook: text.to_owned(),
            session: text.to_owned(),
            key: Some(text.to_owned()),
            event: Some(text.to_owned()),
            ..hooks::JobRow::default()
        };
        harmless(&whole(&hooks::content(Some(&Stats::default()), &[job], 0, true)), "hooks");
        let question = json!({
            "id": text, "tool": text, "point": text, "agent": text, "host": text, "session": text, "project": text,
            "event": text, "payload": {"tool_input": {"command": text}},
            "hooks": [{"hook": text, "origin": text, "reason": text}],
        });
        let answer =
            json!({"answer": text, "tool": text, "pattern": text, "hook": text, "project": text, "by": text});
        harmless(&whole(&approvals::content(&[question], &[answer], true, true)), "approvals");
        let explanation = json!({
            "event": {"point": text},
            "hooks": [{"hook": text, "runs": false, "skipped": text, "misfit": text, "layer": text, "part": text, "file": text}],
            "elsewhere": {(text): [text]},
        });
        harmless(&whole(&lab::content(text, Some(&Ok(explanation)))), "lab");
        harmless(&whole(&lab::content(text, Some(&Err(text.to_owned())))), "lab, wrong");
        let events = format!("{text} {text}@1");
        let flows = [
            crate::flow::Flow { events, ..Default::default() },
            crate::flow::Flow {
                events: format!("{}@1", text.replace([' ', '\t', '\r', '\n'], "")),
                ..Default::default()
            },
            crate::flow::Flow { on_busy: text.to_owned(), ..Default::default() },
        ];
        for tried in flows {
            harmless(&whole(&flow::content(&tried)), "flow control");
        }
        harmless(&notice(text, text), "notice");
    }
}

#[test]
fn an_id_that_looks_like_a_glob_is_the_id_of_one_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let log = lineside_log::Log::open(&path, lineside_log::Options::default()).unwrap();
    for id in ["a*", "ab", "a[b]", "a?"] {
        log.offer(Record::Decided(receipt(id).into()));
    }
    log.flush();
    let look = lineside_log::Look::open(&path).unwrap();
    for id in ["a*", "ab", "a[b]", "a?"] {
        for query in [Query::of_session(id), Query::of_tree(id)] {
            assert_eq!(look.sessions_of(&query).unwrap(), [id.to_owned()].into(), "{id}");
        }
    }
    assert_eq!(look.sessions_of(&Query::default()).unwrap().len(), 4);
}

#[test]
fn each_filter_that_is_proposed_is_a_query() {
    let page = page(&Shell { query: Some(""), ..Shell::default() }, &html! {});
    let proposed: Vec<_> =
        page.split("<option value=\"").skip(1).map(|part| &part[..part.find('"').unwrap()]).collect();
    assert_eq!(proposed.len(), 6, "{page}");
    assert!(page.contains("list=\"filters\"") && page.contains("<datalist id=\"filters\">"), "{page}");
    for query in proposed {
        let read = Query::parse(&query.replace("&gt;", ">"), Timestamp::from_millisecond(1).unwrap());
        assert!(read.is_ok(), "{query}: {read:?}");
    }
}

#[test]
fn machines_of_a_cluster_are_listed_and_those_that_are_away_first() {
    let mut model = Model::default();
    for _ in 0..4 {
        model.decided(&receipt("b"), 1);
    }
    model.settle(2);
    let shown = |beside: &fleet::Beside| fleet::content(&model, beside, 2, &|_| true).into_string();
    assert!(!shown(&fleet::Beside::default()).contains("Machines"));
    let machine = |name: &str, away| fleet::Machine { name: name.to_owned(), is_this: name == "a", away };
    let machines = vec![machine("a", None), machine("c", Some(200_000))];
    let page = shown(&fleet::Beside { machines, ..fleet::Beside::default() });
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(at("1 of 2 are there") < at("away for 3 min") && at("away for 3 min") < at("this machine"));
    assert!(page.contains("on b · "), "{page}");
    let tree = lineage::content(&model, None, &|_| true).into_string();
    assert!(tree.contains("on b · "), "{tree}");
}

#[test]
fn no_page_has_a_script_or_a_style_within_it() {
    let page = page(
        &Shell { query: Some(""), ..Shell::default() },
        &fleet::content(&Model::default(), &fleet::Beside::default(), 0, &|_| true),
    );
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick="), "{page}");
    for script in page.split("<script").skip(1) {
        assert!(script.contains(" src=\"/dashboard/assets/") && script.contains("></script>"), "{script}");
    }
}

#[test]
fn a_tool_is_a_bar_from_its_decision_to_its_end() {
    let why = decision("ls");
    let mut before = why.decision;
    before.verdict = lineside_core::Strength::Continue;
    before.took = Duration::from_millis(2);
    let mut after = before.clone();
    after.point = "after_tool".to_owned();
    after.time = Timestamp::from_millisecond(before.time.as_millisecond() + 500).unwrap();
    let data = |all: &[_]| lineside_core::json::from_str::<Value>(&timeline::data(&[], all, &[], 0)).unwrap();
    let begin = before.time.as_millisecond();
    let pending = data(std::slice::from_ref(&before));
    assert_eq!((&pending["bars"][1][3], &pending["lanes"][0][0]), (&Value::Null, &json!("ls")), "{pending}");
    let done = data(&[before, after]);
    assert_eq!(
        (done["bars"][1][2].as_f64(), &done["bars"][1][3]),
        (Some(begin as f64 + 2.0), &json!(begin + 500)),
        "{done}"
    );
}

#[test]
fn a_hook_behind_all_others_has_no_priority_that_is_shown() {
    let mut why = decision("ls");
    assert!(decision::content(&why).into_string().contains("priority 0"));
    why.hooks.iter_mut().for_each(|hook| hook.priority = i32::MIN);
    assert!(!decision::content(&why).into_string().contains("priority"));
}

#[test]
fn background_work_is_a_bar_in_the_lane_of_its_event() {
    let why = decision("ls");
    let (id, begin) = (why.decision.id, why.decision.time.as_millisecond());
    let news: Vec<_> = why.since.into_iter().map(|news| (id, news)).collect();
    let data = timeline::data(&[], &[why.decision], &news, 99);
    let data = lineside_core::json::from_str::<Value>(&data).unwrap();
    let bar = &data["bars"][1];
    assert_eq!(
        (&bar[1], &bar[2], &bar[3], &bar[5]),
        (&json!(2), &json!(begin + 10), &json!(begin + 30), &json!("block")),
        "{data}"
    );
}

#[test]
fn what_only_readers_hear_of_a_table_makes_no_page_wider() {
    let css = include_str!("../../assets/style.css");
    let rule = |name: &str| css.split(&format!("\n{name} {{")).nth(1).unwrap().split('}').next().unwrap();
    assert!(rule(".sr").contains("position: absolute") && rule(".scroll").contains("position: relative"));
}
