//! Each promise broken once in a log that is in order otherwise.

use super::judgement::Figures;
use super::*;
use crate::log::{How, Label, Published, Rest, Start};

fn label(publisher: &str, number: u32) -> Label {
    Label { publisher: publisher.to_owned(), life: 1, number }
}

fn id(label: &Label) -> String {
    format!("id of {label}")
}

fn start(run: u64, automation: &str, job: u64, labels: &[Label]) -> Start {
    let last = labels.last().unwrap().clone();
    Start {
        run,
        automation: automation.to_owned(),
        job,
        attempt: 1,
        fence: run,
        key: None,
        labels: labels.to_vec(),
        event: id(&last),
        last,
    }
}

fn started(run: u64, automation: &str, job: u64, labels: &[Label]) -> Line {
    Line::Started(start(run, automation, job, labels))
}

fn with(line: Line, change: impl FnOnce(&mut Start)) -> Line {
    let Line::Started(mut start) = line else { panic!("{line:?}") };
    change(&mut start);
    Line::Started(start)
}

fn well(run: u64) -> Line {
    Line::Ended { run, how: How::Well }
}

fn acknowledged(kind: &str, labels: &[Label]) -> Line {
    let published = |label: &Label| Published { label: label.clone(), id: id(label) };
    Line::Acknowledged { kind: kind.to_owned(), events: labels.iter().map(published).collect() }
}

fn rests(job: u64, automation: &str, label: &Label, how: Rest, attempts: u32) -> Line {
    Line::Rests { job, automation: automation.to_owned(), events: vec![id(label)], how, attempts }
}

fn handed(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|number| id(&label("s1", *number))).collect()
}

fn delivered(numbers: &[u32]) -> Line {
    Line::Delivered { session: "s1".to_owned(), messages: handed(numbers) }
}

fn accepted(numbers: &[u32]) -> Line {
    Line::Accepted { session: "s1".to_owned(), messages: handed(numbers) }
}

const BORN: [Line; 2] = [Line::Born { life: 1 }, Line::Opened { findings: Vec::new() }];

/// These lines between the beginning and the end of a life that is in order.
fn judge_with(lines: impl IntoIterator<Item = Line>, effects: &Effects) -> Vec<Violation> {
    let end = Line::Drained { up_to: 3, sequences: vec![4, 5] };
    let lines: Vec<Line> = BORN.into_iter().chain(lines).chain([end]).collect();
    check(&lines, Vec::new(), effects).violations
}

fn judge(lines: impl IntoIterator<Item = Line>) -> Vec<Violation> {
    judge_with(lines, &Effects::new())
}

/// What a judge says of these lines.
fn said(lines: impl IntoIterator<Item = Line>) -> String {
    let said: Vec<_> = judge(lines).iter().map(ToString::to_string).collect();
    said.join("\n")
}

#[test]
fn a_log_in_order_has_no_violation_and_is_counted() {
    let (one, two, note) = (label("s1", 1), label("s1", 2), label("s1", 3));
    let lines = [
        acknowledged("edit", &[one.clone(), two.clone()]),
        started(1, "format", 1, std::slice::from_ref(&one)),
        well(1),
        started(2, "format", 2, std::slice::from_ref(&two)),
        Line::Born { life: 2 },
        Line::Opened { findings: Vec::new() },
        with(started(1, "format", 2, std::slice::from_ref(&two)), |start| {
            (start.fence, start.attempt) = (3, 2);
        }),
        Line::Ended { run: 1, how: How::Badly },
        with(started(2, "notes", 3, std::slice::from_ref(&note)), |start| start.fence = 4),
        well(2),
        delivered(&[3]),
        delivered(&[3]),
        accepted(&[3]),
        rests(2, "format", &two, Rest::Dead, 2),
    ];
    let end = Line::Drained { up_to: 0, sequences: vec![1] };
    let lines: Vec<Line> = BORN.into_iter().chain(lines).chain([end]).collect();
    let judgement = check(&lines, Vec::new(), &Effects::new());
    assert_eq!(judgement.violations, []);
    let expected = Figures {
        lives: 2,
        opened: 2,
        acknowledged: 2,
        jobs: 3,
        runs: 4,
        killed: 1,
        dead: 1,
        accepted: 1,
        files: 0,
    };
    assert_eq!(judgement.figures, expected);
}

#[test]
fn an_acknowledged_event_that_never_ran_is_lost() {
    let one = label("s1", 1);
    assert_eq!(
        said([acknowledged("edit", std::slice::from_ref(&one))]),
        "format: event s1.1.1 was acknowledged, never ran to its end and is not dead"
    );
    let cut = [How::Badly, How::Cut].map(|how| {
        let lines = [
            acknowledged("edit", std::slice::from_ref(&one)),
            started(1, "format", 1, std::slice::from_ref(&one)),
            Line::Ended { run: 1, how },
        ];
        judge(lines).len()
    });
    assert_eq!(cut, [1, 1]);
}

#[test]
fn every_automation_that_hears_an_event_owes_a_run() {
    let one = label("s1", 1);
    let lines = [
        acknowledged("shell", std::slice::from_ref(&one)),
        started(1, "migrate", 1, std::slice::from_ref(&one)),
        well(1),
    ];
    assert_eq!(judge(lines), [Violation::Lost { automation: "deploy".to_owned(), label: one }]);
}

#[test]
fn the_last_event_of_a_burst_is_owed_like_the_first() {
    let (one, two) = (label("s1", 1), label("s1", 2));
    let all = [one.clone(), two];
    let lines = ["lint", "gather", "index", "build"].into_iter().zip(1..).flat_map(|(automation, run)| {
        // Lint forgets the last one.
        let labels = if automation == "lint" { &all[..1] } else { &all[..] };
        [started(run, automation, run, labels), well(run)]
    });
    assert_eq!(
        said([acknowledged("batch", &all)].into_iter().chain(lines)),
        "lint: event s1.1.2 was acknowledged, never ran to its end and is not dead"
    );
}

#[test]
fn a_burst_has_the_fields_of_its_last_event() {
    let all = [label("s1", 1), label("s1", 2)];
    let line = with(started(1, "lint", 1, &all), |start| start.last = label("s1", 1));
    assert_eq!(said([line]), "life 1: run 1 of lint is for events up to s1.1.2 and has the fields of s1.1.1");
}

#[test]
fn no_job_is_started_more_often_than_its_attempts() {
    let one = [label("s1", 1)];
    let again = |number: u64| {
        with(started(number, "format", 1, &one), |start| {
            start.attempt = u32::try_from(number).unwrap();
        })
    };
    assert_eq!(judge([again(1), again(2)]), []);
    assert_eq!(
        said([again(1), again(2), again(3)]),
        "format: job 1 was started 3 times\nformat: runs for event s1.1.1 were started 3 times"
    );
}

#[test]
fn a_second_job_for_an_event_is_no_way_to_more_attempts() {
    let one = [label("s1", 1)];
    let lines = (1..=3).map(|job| started(job, "format", job, &one));
    assert_eq!(said(lines), "format: runs for event s1.1.1 were started 3 times");
    // What is replaced while it runs is started again as another job.
    let lines = (1..=5).map(|job| started(job, "build", job, &one));
    assert_eq!(judge(lines), []);
}

#[test]
fn an_attempt_is_counted_once() {
    let one = [label("s1", 1)];
    assert_eq!(
        said([
            started(1, "lint", 1, &one),
            Line::Ended { run: 1, how: How::Badly },
            started(2, "lint", 1, &one)
        ]),
        "lint: attempt 1 of job 1 comes after attempt 1"
    );
}

#[test]
fn a_job_that_came_to_its_end_runs_again_only_after_a_kill() {
    let one = [label("s1", 1)];
    let again = with(started(2, "lint", 1, &one), |start| start.attempt = 2);
    let lines = [started(1, "lint", 1, &one), well(1)];
    assert_eq!(
        said(lines.clone().into_iter().chain([again.clone()])),
        "lint: job 1 ran again after it had come to its end"
    );
    assert_eq!(judge(lines.into_iter().chain([Line::Born { life: 2 }, again])), []);
}

#[test]
fn a_key_is_one_at_a_time_and_free_when_its_life_ends() {
    let keyed = |run: u64, job: u64| {
        with(started(run, "deploy", job, &[label("s1", u32::try_from(job).unwrap())]), |start| {
            start.key = Some("tree:a".to_owned());
        })
    };
    assert_eq!(said([keyed(1, 1), keyed(2, 2)]), "life 1: runs 1 and 2 had the key `tree:a` at once");
    assert_eq!(judge([keyed(1, 1), well(1), keyed(2, 2)]).len(), 1, "the file of the first is missing");
    assert_eq!(judge([keyed(1, 1), Line::Born { life: 2 }, keyed(2, 2)]), []);
    assert_eq!(
        said([Line::Clash { key: "tree:a".to_owned(), run: 2 }]),
        "life 1: two runs worked in the place of `tree:a`"
    );
}

#[test]
fn fences_grow_from_life_to_life_and_are_given_once() {
    let fenced = |run: u64, fence: u64| {
        with(started(run, "format", run, &[label("s1", u32::try_from(run).unwrap())]), |start| {
            start.fence = fence;
        })
    };
    assert_eq!(judge([fenced(1, 8), fenced(2, 7), Line::Born { life: 2 }, fenced(3, 9)]), []);
    assert_eq!(
        said([fenced(1, 8), fenced(2, 7), Line::Born { life: 2 }, fenced(3, 8)]),
        "life 2: fence 8 is not greater than 8 of an earlier life"
    );
    assert_eq!(said([fenced(1, 8), fenced(2, 8)]), "life 1: fence 8 was given twice");
}

#[test]
fn nothing_ends_that_has_not_begun_in_this_life() {
    let one = [label("s1", 1)];
    assert_eq!(
        said([started(1, "lint", 1, &one), Line::Born { life: 2 }, well(1)]),
        "life 2: run 1 ended and had not begun"
    );
}

#[test]
fn a_run_of_nobody_is_told() {
    assert_eq!(said([started(1, "other", 1, &[label("s1", 1)])]), "there is no automation `other`");
}

#[test]
fn the_dead_have_had_all_their_attempts() {
    let one = label("s1", 1);
    assert_eq!(
        said([acknowledged("edit", std::slice::from_ref(&one)), rests(1, "format", &one, Rest::Dead, 1)]),
        "format: job 1 is dead after 1 attempts and had more"
    );
}

#[test]
fn what_is_cancelled_is_not_dead() {
    let one = label("s1", 1);
    assert_eq!(
        said([
            acknowledged("edit", std::slice::from_ref(&one)),
            rests(1, "format", &one, Rest::Otherwise("cancelled: its session ended".to_owned()), 0)
        ]),
        "format: job 1 rests: cancelled: its session ended\n\
         format: event s1.1.1 was acknowledged, never ran to its end and is not dead"
    );
}

#[test]
fn the_files_say_what_the_log_says() {
    let one = label("s1", 1);
    let ran = || [started(1, "deploy", 1, std::slice::from_ref(&one)), well(1)];
    assert_eq!(judge_with(ran(), &Effects::from([(one.clone(), 1)])), []);
    assert_eq!(judge_with(ran(), &Effects::new()), [Violation::Effect { label: one.clone(), count: 0 }]);
    assert_eq!(
        judge_with(ran(), &Effects::from([(one.clone(), 5)])),
        [Violation::Effect { label: one, count: 5 }]
    );
}

/// Runs that tell something, one for each number.
fn told(numbers: impl IntoIterator<Item = u32>) -> Vec<Line> {
    let run = |number: u32| {
        let run = u64::from(number);
        [started(run, "notes", run, &[label("s1", number)]), well(run)]
    };
    numbers.into_iter().flat_map(run).collect()
}

#[test]
fn a_message_is_accepted_once() {
    let handed_over = [delivered(&[1]), accepted(&[1]), Line::Born { life: 2 }, delivered(&[1])];
    assert_eq!(
        said(told(1..=1).into_iter().chain(handed_over)),
        "the message about s1.1.1 was handed over after it had been accepted"
    );
    assert_eq!(
        said(told(1..=1).into_iter().chain([delivered(&[1, 1])])),
        "the message about s1.1.1 was handed over twice at once"
    );
}

#[test]
fn a_message_that_was_not_accepted_comes_again() {
    assert_eq!(judge(told(1..=2).into_iter().chain([delivered(&[1]), delivered(&[1, 2])])), []);
}

#[test]
fn a_mailbox_is_in_order_within_a_delivery_and_after_what_was_accepted() {
    let said_of = |lines: &[Line]| said(told(1..=2).into_iter().chain(lines.to_vec()));
    let out_of_order = "the message about s1.1.1 was handed over after the one about s1.1.2";
    assert_eq!(said_of(&[delivered(&[2, 1])]), out_of_order);
    assert_eq!(said_of(&[delivered(&[2]), accepted(&[2]), delivered(&[1])]), out_of_order);
}

#[test]
fn what_a_run_told_is_handed_over_and_to_its_own_session() {
    assert_eq!(said(told(1..=1)), "the message about s1.1.1 was never handed over");
    let other = Line::Delivered { session: "s2".to_owned(), messages: handed(&[1]) };
    assert_eq!(
        said(told(1..=1).into_iter().chain([other])),
        "s2 was handed a message about event id of s1.1.1, which is not its own\n\
         the message about s1.1.1 was never handed over"
    );
}

#[test]
fn records_are_in_sequence() {
    let judged = |end: Option<Line>| {
        let lines: Vec<Line> = BORN.into_iter().chain(end).collect();
        let said: Vec<_> =
            check(&lines, Vec::new(), &Effects::new()).violations.iter().map(ToString::to_string).collect();
        said
    };
    assert_eq!(judged(Some(Line::Drained { up_to: 7, sequences: vec![8, 9] })), [""; 0]);
    assert_eq!(
        judged(Some(Line::Drained { up_to: 7, sequences: vec![9] })),
        ["record 9 comes after record 7"]
    );
    assert_eq!(judged(None), ["the last life did not bring everything to rest"]);
}

#[test]
fn damage_and_noise_are_told() {
    let found = Line::Opened { findings: vec!["jobs/1.log: damaged".to_owned()] };
    assert_eq!(said([found]), "life 1 found: jobs/1.log: damaged");
    let lines = [Line::Drained { up_to: 0, sequences: vec![] }];
    let judged = check(&lines, vec!["noise".to_owned()], &Effects::new());
    assert_eq!(judged.violations, [Violation::Strange("noise".to_owned())]);
}
