//! What a receipt tells of each hook, and how much it weighs.

use rpds::RedBlackTreeMapSync;

use super::*;
use crate::diagnostic::Origin;
use crate::failure::{Failure, FailureKind};
use crate::hook::{Part, Standby};
use crate::journal::Durability;
use crate::payload::Payload;
use crate::sample::{Note, noted};

const TOOK: Duration = Duration::from_micros(7);

/// A gate with its place in the order.
fn hook(name: &str, registration: u64) -> Hook {
    Hook { registration, ..Hook::native(name, Part::Gate) }
}

/// The receipt of an event for which these hooks were considered.
fn receipt(hooks: impl IntoIterator<Item = Hook>, runs: impl IntoIterator<Item = Run>) -> Receipt {
    let mut receipt = Receipt {
        event: noted("one"),
        hooks: hooks.into_iter().map(Arc::new).collect(),
        named: Vec::new(),
        runs: Runs::default(),
        verdict: Verdict::Continue,
        author: None,
        given: None,
        took: Duration::from_micros(1_500),
        coverage: None,
        approval: None,
    };
    runs.into_iter().for_each(|run| receipt.runs.push(run));
    receipt
}

/// Those of one place that name their tools.
fn named<const N: usize>(hooks: [Hook; N]) -> Named {
    let mut named = RedBlackTreeMapSync::new_sync();
    hooks.into_iter().for_each(|hook| named.insert_mut(hook.order(), Arc::new(hook)));
    Some(named)
}

fn run(hook: u32, outcome: Outcome) -> Run {
    Run::first(hook, TOOK, outcome)
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { failure: Box::new(failure), verdict: Verdict::block("failed") }
}

fn json_of(receipt: &Receipt) -> Value {
    Value::Object(receipt.to_json())
}

#[test]
fn a_run_says_its_outcome_and_its_time_if_it_had_one() {
    let late = Failure::new(FailureKind::Timeout, "late");
    let absent = Failure::not_started(FailureKind::Spawn, "absent");
    let earlier = json!([{"failed": "spawn", "detail": "absent"}, {"failed": "timeout", "detail": "late"}]);
    let again = Run { round: Round::Rejudge, ..run(0, Outcome::Answered(Verdict::allow())) };
    let retried =
        Run { earlier: vec![absent.clone(), late.clone()], ..run(0, Outcome::Answered(Verdict::Continue)) };
    let started = Acceptance::Started(Durability::Disk);
    let cases = [
        (run(0, Outcome::Answered(Verdict::ask("?"))), json!({"said": "ask", "took_us": 7})),
        (
            run(0, failed(late)),
            json!({"failed": "timeout", "detail": "late", "taken_as": "block", "took_us": 7}),
        ),
        (run(0, failed(absent)), json!({"failed": "spawn", "detail": "absent", "taken_as": "block"})),
        (run(0, Outcome::Skipped(SkipReason::NotLoaded)), json!({"skipped": "not_loaded"})),
        (run(0, Outcome::Detached), json!({"started": true, "took_us": 7})),
        (run(0, Outcome::Offered(started)), json!({"started": true, "durability": "disk"})),
        (run(0, Outcome::Offered(Acceptance::Refused("twice".into()))), json!({"refused": "twice"})),
        (again, json!({"said": "allow", "again": true, "took_us": 7})),
        (retried, json!({"said": "continue", "earlier_attempts": earlier, "took_us": 7})),
    ];
    for (run, expected) in cases {
        let shown = format!("{run:?}");
        let receipt = receipt([hook("h", 1)], [run]);
        let mut told = receipt.to_json()["hooks"][0].as_object().cloned().unwrap();
        assert_eq!(told.remove("hook"), Some(json!("h")), "{shown}");
        assert_eq!(Value::Object(told), expected, "{shown}");
    }
}

#[test]
fn a_receipt_leaves_out_what_did_not_happen() {
    let receipt = receipt([], []);
    let expected = json!({
        "id": "00000000-0000-0000-0000-000000000001", "session": "s", "seq": 1, "point": "x.test.before_note",
        "verdict": "continue", "took_us": 1_500, "payload_sha256": receipt.event.digest(),
        "hooks": [], "changes": [],
    });
    assert_eq!(json_of(&receipt), expected);
}

#[test]
fn a_receipt_tells_who_said_and_gave_what() {
    let guard = Hook { origin: Some(Origin::new("hooks.toml", 4)), ..hook("guard", 1) };
    let runs =
        [run(1, Outcome::Answered(Verdict::Continue)), run(0, Outcome::Answered(Verdict::block("no")))];
    let mut receipt = receipt([guard, hook("fmt", 2)], runs);
    (receipt.verdict, receipt.author) = (Verdict::block("no"), Some(0));
    let change = Change { field: "title".to_owned(), before: json!("one"), after: json!("two") };
    receipt.given = Some(Box::new(Given {
        changes: vec![FromHook { hook: 1, what: change }],
        remarks: vec![FromHook { hook: 1, what: "a field was refused".into() }],
        extra: Map::from([("x".to_owned(), json!(1))]),
        ..Given::default()
    }));
    receipt.coverage = Some(Box::new(CoverageMismatch { believed: "a".into(), in_force: "b".into() }));
    let json = receipt.to_json();
    let told = |key: &str| json.get(key).cloned().unwrap_or_default();
    assert_eq!(
        ["verdict", "reason", "by", "extra"].map(told),
        [json!("block"), json!("no"), json!("guard"), json!({"x": 1})]
    );
    assert_eq!(told("changes"), json!([{"by": "fmt", "field": "title", "before": "one", "after": "two"}]));
    assert_eq!(told("coverage_mismatch"), json!({"believed": "a", "in_force": "b"}));
    let runs = json!([
        {"hook": "fmt", "said": "continue", "took_us": 7, "remarks": ["a field was refused"]},
        {"hook": "guard", "origin": "hooks.toml:4", "said": "block", "took_us": 7},
    ]);
    assert_eq!(told("hooks"), runs);
    assert_eq!(receipt.author().map(|hook| &*hook.name), Some("guard"));
    assert_eq!([0, 1, 2].map(|hook| receipt.name(hook)), ["guard", "fmt", ""]);
}

#[test]
fn hooks_that_were_not_considered_stand_in_their_places() {
    let runs = [0, 1].map(|place| run(place, Outcome::Answered(Verdict::Continue)));
    let mut receipt = receipt([hook("two", 2), hook("four", 4)], runs);
    let off = Hook { standby: Standby::Off(SkipReason::Untrusted), ..hook("three", 3) };
    receipt.named = vec![named([hook("five", 5), off, hook("two", 2)]), None, named([hook("one", 1)])];
    let left_out = receipt.left_out();
    let left_out: Vec<_> = left_out.iter().map(|(hook, why)| (&*hook.name, *why)).collect();
    let (filter, untrusted) = (SkipReason::Filter, SkipReason::Untrusted);
    assert_eq!(left_out, [("one", filter), ("three", untrusted), ("five", filter)]);
    let runs = json!([
        {"hook": "one", "skipped": "filter"},
        {"hook": "two", "said": "continue", "took_us": 7},
        {"hook": "three", "skipped": "untrusted"},
        {"hook": "four", "said": "continue", "took_us": 7},
        {"hook": "five", "skipped": "filter"},
    ]);
    assert_eq!(receipt.to_json()["hooks"], runs);
}

#[test]
fn hooks_that_keep_no_records_are_named_with_what_happened() {
    let full = Unavailable::because("no space");
    let runs = [
        run(0, Outcome::Offered(Acceptance::Started(Durability::Disk))),
        run(1, Outcome::Offered(Acceptance::Unavailable(full.clone()))),
        run(2, Outcome::Answered(Verdict::Continue)),
    ];
    let receipt = receipt([hook("a", 1), hook("b", 2), hook("c", 3)], runs);
    let unavailable: Vec<_> = receipt.unavailable().map(|(hook, why)| (&*hook.name, why)).collect();
    assert_eq!(unavailable, [("b", &full)]);
}

#[test]
fn a_receipt_weighs_more_by_what_is_added() {
    /// How much more the receipt weighs after something was added, of which there was some before.
    fn more(receipt: &mut Receipt, add: impl FnOnce(&mut Receipt, &mut Given)) -> usize {
        let before = receipt.weight();
        let mut given = receipt.given.take().unwrap_or_default();
        add(receipt, &mut given);
        receipt.given = Some(given);
        receipt.weight() - before
    }
    let change = |before: &str, after: &str| FromHook {
        hook: 0,
        what: Change { field: "title".to_owned(), before: json!(before), after: json!(after) },
    };
    let mut receipt = receipt([hook("h", 1)], []);
    assert!(receipt.weight() > receipt.event.weight());
    for round in 1..3 {
        let receipt = &mut receipt;
        let context = FromHook { hook: 0, what: Append::system("four") };
        assert_eq!(more(receipt, |_, given| given.context.push(context)), 4, "{round}");
        let notice = FromHook { hook: 0, what: Notice::info("seven..") };
        assert_eq!(more(receipt, |_, given| given.notices.push(notice)), 7, "{round}");
        assert_eq!(more(receipt, |_, given| given.changes.push(change("three", "to"))), 5 + 2, "{round}");
        let remark = FromHook { hook: 0, what: Cow::Borrowed("six...") };
        assert_eq!(more(receipt, |_, given| given.remarks.push(remark)), 6, "{round}");
        let blocked = run(0, Outcome::Answered(Verdict::block("nine bytes")));
        assert_eq!(more(receipt, |receipt, _| receipt.runs.push(blocked)), size_of::<Run>() + 10, "{round}");
        let failure = Box::new(Failure::new(FailureKind::Exit, "exit status 1"));
        let failed = run(0, Outcome::Failed { failure, verdict: Verdict::block("no") });
        assert_eq!(
            more(receipt, |receipt, _| receipt.runs.push(failed)),
            size_of::<Run>() + 13 + 2,
            "{round}"
        );
        let ran = run(0, Outcome::Answered(Verdict::Continue));
        assert_eq!(more(receipt, |receipt, _| receipt.runs.push(ran)), size_of::<Run>(), "{round}");
        let field = (format!("extra {round}"), json!("text"));
        let weight = fields_weight(&Map::from([field.clone()]));
        assert_eq!(more(receipt, |_, given| given.extra.extend([field])), weight, "{round}");
        let note: Arc<dyn Payload> = Arc::new(Note::titled(&"title ".repeat(round)));
        let event = receipt.event.amended(note);
        let heavier = event.weight() - receipt.event.weight();
        assert_eq!(more(receipt, |receipt, _| receipt.event = event), heavier, "{round}");
    }
}
