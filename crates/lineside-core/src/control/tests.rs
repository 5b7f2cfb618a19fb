//! What can be declared, what cannot be meant, and what it comes to.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    AtEnd, Batch, Control, ControlError, Hold, KeyTemplate, LONGEST, MOST_ATTEMPTS, MOST_HELD, OnBusy, Pause,
    Place, Rate, Retry, Rules, Scope, TemplateError, Work, mix,
};
use crate::failure::FailureKind;
use crate::flow::{Debounce, RetryAfter};
use crate::hook::Join;
use crate::point::{PointInfo, Slot};
use crate::report::ResultRule;
use crate::sample::{BATCH, TOOL, point};

const SECOND: Duration = Duration::from_secs(1);
const NANOSECOND: Duration = Duration::from_nanos(1);

fn check(control: &Control) -> Result<Rules, ControlError> {
    control.check(&TOOL, &[])
}

fn keyed() -> Control {
    Control { concurrency: Some("k".to_owned()), ..Control::default() }
}

fn paused(pause: Pause) -> Control {
    Control { retry: Retry { attempts: 2, pause, after: RetryAfter::AnyFailure }, ..Control::default() }
}

fn ruled(result: ResultRule) -> Control {
    Control { result, ..Control::default() }
}

#[test]
fn a_time_is_more_than_zero_and_thirty_days_at_most() {
    type Set = fn(Duration) -> Control;
    let settings: [(&str, Set); 7] = [
        ("timeout", |timeout| Control { timeout, ..Control::default() }),
        ("rate.period", |period| Control { rate: Some(Rate::new(1, period)), ..Control::default() }),
        ("debounce.quiet", |quiet| {
            let debounce = Some(Debounce { quiet, at_most: LONGEST });
            Control { debounce, ..Control::default() }
        }),
        ("debounce.at_most", |at_most| {
            let debounce = Some(Debounce { quiet: NANOSECOND, at_most });
            Control { debounce, ..Control::default() }
        }),
        ("batch.within", |within| Control { batch: Some(Batch { count: 1, within }), ..Control::default() }),
        ("at_end.drain", |limit| Control { at_end: AtEnd::Drain(limit), ..Control::default() }),
        ("retry.exponential", |first| paused(Pause::Exponential { first, at_most: first })),
    ];
    for (setting, set) in settings {
        assert_eq!(check(&set(Duration::ZERO)), Err(ControlError::Zero { setting }));
        assert!(check(&set(NANOSECOND)).is_ok() && check(&set(LONGEST)).is_ok(), "{setting}");
        assert_eq!(check(&set(LONGEST + NANOSECOND)), Err(ControlError::TooLong { setting }));
    }
    // Attempts may follow one another at once.
    for pause in [Duration::ZERO, LONGEST] {
        assert!(check(&paused(Pause::Constant(pause))).is_ok(), "{pause:?}");
    }
    for (setting, pause) in [
        ("retry.constant", Pause::Constant(LONGEST + NANOSECOND)),
        ("retry.at_most", Pause::Exponential { first: SECOND, at_most: LONGEST + NANOSECOND }),
    ] {
        assert_eq!(check(&paused(pause)), Err(ControlError::TooLong { setting }));
    }
}

#[test]
fn a_bound_is_as_long_as_what_it_bounds_at_least() {
    let debounced = |at_most| {
        let debounce = Some(Debounce { quiet: SECOND, at_most });
        Control { debounce, ..Control::default() }
    };
    let retried = |at_most| paused(Pause::Exponential { first: SECOND, at_most });
    for control in [debounced(SECOND), debounced(2 * SECOND), retried(SECOND), retried(2 * SECOND)] {
        assert!(check(&control).is_ok(), "{control:?}");
    }
    let shorter = SECOND - NANOSECOND;
    assert_eq!(
        check(&debounced(shorter)).unwrap_err().to_string(),
        "`debounce.at_most` is shorter than `debounce.quiet`; it has to be as long at least"
    );
    assert_eq!(
        check(&retried(shorter)),
        Err(ControlError::Shorter { setting: "retry.at_most", than: "retry.exponential" })
    );
}

#[test]
fn a_count_is_more_than_zero_and_bounded() {
    type Set = fn(usize) -> Control;
    let limited: Set = |limit| Control { limit: u32::try_from(limit).unwrap(), ..keyed() };
    let tried: Set = |attempts| {
        let retry = Retry::constant(u32::try_from(attempts).unwrap(), SECOND);
        Control { retry, ..Control::default() }
    };
    let rated: Set = |starts| {
        let rate = Some(Rate::new(u32::try_from(starts).unwrap(), SECOND));
        Control { rate, ..Control::default() }
    };
    let settings: [(&str, usize, Set); 7] = [
        ("retry.attempts", MOST_ATTEMPTS as usize, tried),
        ("rate.starts", 100_000, rated),
        ("batch.count", MOST_HELD, |count| Control {
            batch: Some(Batch { count, within: SECOND }),
            ..Control::default()
        }),
        ("limit", u32::MAX as usize, limited),
        ("result.lines", usize::MAX, |lines| ruled(ResultRule { lines, ..ResultRule::default() })),
        ("result.bytes", usize::MAX, |bytes| ruled(ResultRule { bytes, ..ResultRule::default() })),
        ("result.tokens", usize::MAX, |tokens| ruled(ResultRule { tokens, ..ResultRule::default() })),
    ];
    for (setting, most, set) in settings {
        assert_eq!(check(&set(0)), Err(ControlError::Zero { setting }));
        assert!(check(&set(1)).is_ok() && check(&set(most)).is_ok(), "{setting}");
        if most < u32::MAX as usize {
            assert_eq!(check(&set(most + 1)), Err(ControlError::TooMany { setting, most }));
        }
    }
}

#[test]
fn what_happens_at_a_key_needs_a_key() {
    let busy = |on_busy, concurrency| Control { on_busy, concurrency, ..Control::default() };
    let limited = |limit, concurrency| Control { limit, concurrency, ..Control::default() };
    let key = || Some("k".to_owned());
    for on_busy in [OnBusy::Coalesce, OnBusy::Drop, OnBusy::Restart] {
        let error = check(&busy(on_busy, None)).unwrap_err();
        assert_eq!(error, ControlError::NeedsKey { setting: "on_busy" });
        assert_eq!(check(&busy(on_busy, key())).unwrap().on_busy, on_busy);
    }
    assert_eq!(check(&limited(2, None)), Err(ControlError::NeedsKey { setting: "limit" }));
    let shared = |limit, concurrency| Control { scope: Scope::Cluster, ..limited(limit, concurrency) };
    assert_eq!(check(&shared(1, None)), Err(ControlError::NeedsKey { setting: "scope" }));
    assert_eq!(check(&shared(2, key())), Err(ControlError::LimitOfCluster));
    assert_eq!(check(&shared(1, key())).unwrap().scope, Scope::Cluster);
    let held = |debounce| Control { hold_scope: Scope::Cluster, debounce, ..Control::default() };
    let needs = check(&held(None)).unwrap_err();
    assert_eq!((needs.setting(), &needs), ("debounce.scope", &ControlError::NeedsHold));
    let rules = check(&held(Some(Debounce::quiet(SECOND)))).unwrap();
    assert_eq!(rules.hold_key, KeyTemplate::of_text("*"), "sessions are of one machine");
    assert_eq!(rules.hold.map(|hold| hold.scope), Some(Scope::Cluster));
    let starts = |starts| {
        let rate = Some(Rate::new(starts, SECOND).across_cluster());
        check(&Control { rate, ..Control::default() })
    };
    assert!(starts(1_000).is_ok() && starts(1_001).is_err());
    for control in [busy(OnBusy::Queue, None), busy(OnBusy::Queue, key()), limited(1, None)] {
        assert!(check(&control).is_ok(), "{control:?}");
    }
}

#[test]
fn a_model_call_waits_only_where_there_is_one() {
    static AFTER_SESSION: PointInfo = point("after_session", Slot::Catalogue(2), &[]);
    static ON_SERVICE_STOP: PointInfo = point("on_service_stop", Slot::Catalogue(3), &[]);
    let joined = |join| Control { join, ..Control::default() };
    let waits = joined(Join::BeforeNextModel);
    assert!(waits.check(&TOOL, &[]).is_ok());
    for last in [&AFTER_SESSION, &ON_SERVICE_STOP] {
        let error = waits.check(last, &[]).unwrap_err();
        assert_eq!((error.setting(), &error), ("join", &ControlError::NoModelAfter { point: last.name }));
        assert!(joined(Join::Background).check(last, &[]).is_ok());
    }
}

#[test]
fn an_error_names_its_setting() {
    let setting = "limit";
    for error in [
        ControlError::Zero { setting },
        ControlError::TooLong { setting },
        ControlError::TooMany { setting, most: 1 },
        ControlError::Shorter { setting, than: "timeout" },
        ControlError::NeedsKey { setting },
        ControlError::Key { setting, source: TemplateError::Blank },
    ] {
        assert_eq!(error.setting(), setting);
        assert!(error.to_string().starts_with("`limit` "), "{error}");
    }
}

#[test]
fn the_rules_are_what_was_declared_and_what_goes_without_saying() {
    let template = |text: &str| KeyTemplate::read(text, &[&TOOL]).unwrap();
    let unsaid = Rules {
        rate: None,
        hold: None,
        hold_key: KeyTemplate::of_agent(),
        priority: 0,
        concurrency: None,
        lane: None,
        on_busy: OnBusy::Queue,
        scope: Scope::default(),
        place: Place::default(),
        timeout: Duration::from_secs(120),
        retry: Retry::NONE,
        join: Join::Background,
        result: ResultRule::default(),
        at_end: AtEnd::Drain(Duration::from_secs(120)),
        cancellable: false,
        work: Work::Own,
    };
    assert_eq!(check(&Control::default()), Ok(unsaid.clone()));
    let cancelled = Control::default().check(&TOOL, &[&BATCH]).unwrap();
    assert_eq!(cancelled, Rules { cancellable: true, ..unsaid });

    let said = Control {
        rate: Some(Rate::new(5, SECOND).dropping()),
        debounce: Some(Debounce::quiet(SECOND)),
        batch: None,
        hold_key: Some("{payload.tool_name}".to_owned()),
        hold_scope: Scope::default(),
        priority: 7,
        concurrency: Some("{session}".to_owned()),
        limit: 3,
        on_busy: OnBusy::Restart,
        scope: Scope::default(),
        place: Place::default(),
        timeout: 4 * SECOND,
        retry: Retry::constant(2, SECOND),
        join: Join::BeforeNextModel,
        result: ResultRule { lines: 1, ..ResultRule::default() },
        at_end: AtEnd::LeaveRunning,
    };
    let rules = Rules {
        rate: said.rate.clone().map(|rate| (rate, template("*"))),
        hold: Some(Hold { pace: Debounce::quiet(SECOND), count: MOST_HELD, scope: Scope::Machine }),
        hold_key: template("{payload.tool_name}"),
        priority: 7,
        concurrency: Some((template("{session}"), 3)),
        lane: None,
        on_busy: OnBusy::Restart,
        scope: Scope::default(),
        place: Place::default(),
        timeout: 4 * SECOND,
        retry: said.retry,
        join: Join::BeforeNextModel,
        result: said.result,
        at_end: AtEnd::LeaveRunning,
        cancellable: false,
        work: Work::Own,
    };
    assert_eq!(check(&said), Ok(rules));
}

#[test]
fn the_work_of_a_session_is_adopted_and_has_a_record_unless_it_is_in_memory() {
    let rules = check(&Control::default()).unwrap();
    for (work, is_adopted, is_in_memory) in [
        (Work::Own, false, false),
        (Work::ExternalSlot, false, false),
        (Work::Adopted { restarts: 0 }, true, false),
        (Work::InMemory, true, true),
    ] {
        let rules = Rules { work, ..rules.clone() };
        assert_eq!((rules.is_adopted(), rules.is_in_memory()), (is_adopted, is_in_memory), "{work:?}");
    }
}

#[test]
fn a_key_has_fields_of_the_events_that_are_compared_by_it() {
    let tool = || Some("{payload.tool_name}".to_owned());
    let rate = Rate::new(1, SECOND).per("{payload.tool_name}");
    let of = |concurrency, hold_key, rate| Control { concurrency, hold_key, rate, ..Control::default() };
    // Events that cancel have the concurrency key, or what is held together where there is none.
    for (control, setting) in [
        (of(tool(), None, None), Some("concurrency")),
        (of(None, tool(), None), Some("hold_key")),
        (of(Some("k".to_owned()), tool(), None), None),
        (of(None, None, Some(rate)), None),
    ] {
        assert!(check(&control).is_ok(), "{control:?}");
        let error = control.check(&TOOL, &[&BATCH]).err();
        assert_eq!(error.as_ref().map(ControlError::setting), setting, "{error:?}");
    }
    let rate = Rate::new(1, SECOND).per(" ");
    let error = ControlError::Key { setting: "rate.key", source: TemplateError::Blank };
    assert_eq!(check(&of(None, None, Some(rate))), Err(error));
}

#[test]
fn debounce_and_batch_go_together_and_the_first_of_them_counts() {
    let pace = |at_most| Debounce { quiet: SECOND, at_most: at_most * SECOND };
    let batch = |within| Batch { count: 7, within: within * SECOND };
    for (debounce, batch, hold) in [
        (Some(pace(60)), None, Hold { pace: pace(60), count: MOST_HELD, scope: Scope::Machine }),
        (None, Some(batch(1)), Hold { pace: pace(1), count: 7, scope: Scope::Machine }),
        (Some(pace(60)), Some(batch(10)), Hold { pace: pace(10), count: 7, scope: Scope::Machine }),
        (Some(pace(10)), Some(batch(60)), Hold { pace: pace(10), count: 7, scope: Scope::Machine }),
    ] {
        let control = Control { debounce, batch, ..Control::default() };
        assert_eq!(check(&control).unwrap().hold, Some(hold));
    }
}

#[test]
fn the_longest_pause_is_that_of_the_declaration() {
    let minute = 60 * SECOND;
    for (retry, longest) in [
        (Retry::NONE, Duration::ZERO),
        (Retry::constant(3, minute), minute),
        (Retry::constant(3, minute).at_most(SECOND), minute),
        (Retry::exponential(3, SECOND), 5 * minute),
        (Retry::exponential(3, SECOND).at_most(minute), minute),
    ] {
        assert_eq!(retry.longest(), longest, "{retry:?}");
    }
}

#[test]
fn there_is_no_pause_after_the_last_attempt_nor_after_what_is_not_tried_again() {
    let retry = Retry::constant(3, SECOND).after(RetryAfter::AnyButOutput);
    for (attempts, failed, pause) in [
        (1, FailureKind::Exit, Some(SECOND)),
        (2, FailureKind::Exit, Some(SECOND)),
        (3, FailureKind::Exit, None),
        (4, FailureKind::Exit, None),
        (1, FailureKind::Output, None),
        (3, FailureKind::Output, None),
    ] {
        assert_eq!(retry.pause(attempts, failed, 0), pause, "{attempts} {failed}");
    }
    assert_eq!(Retry::NONE.pause(1, FailureKind::Exit, 0), None);
    assert_eq!(Retry::constant(2, SECOND).pause(1, FailureKind::Output, 0), Some(SECOND));
}

/// The first numbers of SplitMix64 from these seeds, by its reference implementation.
#[test]
fn a_number_is_mixed_as_by_splitmix64() {
    assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
}

#[test]
fn the_pauses_of_one_bound_are_spread_evenly_below_it() {
    let retry = Retry::exponential(10, SECOND).at_most(4 * SECOND);
    for (attempts, whole) in [(1, SECOND), (2, 2 * SECOND), (3, 4 * SECOND), (9, 4 * SECOND)] {
        let mut tenths = [0; 10];
        for draw in 0..1000 {
            let pause = retry.pause(attempts, FailureKind::Exit, draw).unwrap();
            assert!(pause < whole, "{attempts} {pause:?}");
            tenths[(pause.as_nanos() * 10 / whole.as_nanos()) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (50..150).contains(count)), "{attempts} {tenths:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pause_is_at_most_the_doubled_first_and_the_bound(
        first in any::<Duration>(),
        at_most in any::<Duration>(),
        attempts in 0_u32..100,
        draw in any::<u64>(),
    ) {
        let pause = Retry::exponential(1000, first).at_most(at_most).pause(attempts, FailureKind::Exit, draw);
        let doubled = (1..attempts).fold(first, |pause, _| pause.saturating_mul(2));
        prop_assert!(pause.is_some_and(|pause| pause <= doubled.min(at_most)));
    }
}
