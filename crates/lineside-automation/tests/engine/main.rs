//! Automations on a bus, in virtual time: what an agent sees of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod compaction;
mod drain;
mod adopted;
mod in_memory;
mod in_turn;
mod keys_at_end;
mod bytes;
mod closing;
mod let_go;
mod lives;
mod names;
mod recovery;
mod removed;
mod sharing;

use std::error::Error as _;
use std::iter::successors;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_automation::engine::OpenError;
use lineside_automation::jobs::{Which, WhichState};
use lineside_automation::machine::job::{Settled, Why};
use lineside_automation::machine::{Bounds, JobStatus};
use lineside_automation::{
    Automate, Automating, Automations, JobId, OnBusy, Report, ResultRule, ResultWhen, Retry, WhyNotAutomate,
};
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, JobNews, Session, Signal, Signals};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::matcher::MatcherDraft;
use lineside_core::{Failure, FailureKind};
use lineside_points::{AfterSession, AfterToolBatch, ChangedFile, OnIdle, OnPrompt};
use tokio::time::Instant;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn changed(path: &str) -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), vec![ChangedFile { path: path.to_owned(), ..ChangedFile::default() }])
}

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s1").project_root("/p").open().await.unwrap();
    (bus, session)
}

/// What was announced of automations up to now.
fn news(signals: &mut Signals) -> Vec<JobNews> {
    let mut news = Vec::new();
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::Automation { news: one, .. }) = watched {
            news.push(one);
        }
    }
    news
}

/// Waits until no job is under way.
async fn rest(automations: &Automations) {
    let live = Which { state: WhichState::Live, ..Which::default() };
    while !automations.jobs().list(&live).is_empty() {
        tokio::time::sleep(millis(1)).await;
    }
    automations.kept().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_one_run_and_the_next_model_call_has_what_it_found() {
    let (_bus, session) = session().await;
    session
        .automate::<AfterToolBatch>("lint")
        .debounce(Debounce::quiet(millis(300)).at_most(Duration::from_secs(5)))
        .concurrency("lint:{project_root}")
        .retry(Retry::exponential(3, millis(200)))
        .join(Join::BeforeNextModel)
        .run(async |batch, _cx| {
            let paths: Vec<_> = batch.changed_files.iter().map(|file| file.path.clone()).collect();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Report::failure("2 errors").body(paths.join("\n")))
        })
        .unwrap();
    let began = Instant::now();
    for path in ["a.rs", "b.rs", "a.rs"] {
        drop(session.publish(changed(path)).await.unwrap());
    }
    let delivery = session.collect().before_next_model().await;
    let texts: Vec<_> = delivery.messages().iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["2 errors\nb.rs\na.rs"]);
    assert_eq!(&*delivery.messages()[0].hook, "lint");
    assert_eq!(began.elapsed(), Duration::from_secs(1), "what is held is not waited for, what runs is");
    delivery.accept();
    assert!(session.collect().before_next_model().await.messages().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_runs_in_the_background_is_not_waited_for() {
    let (_bus, session) = session().await;
    let tests = session
        .automate::<AfterToolBatch>("tests")
        .run(async |_batch, _cx| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(Report::failure("1 failed"))
        })
        .unwrap();
    drop(session.publish(changed("a.rs")).await.unwrap());
    assert!(session.collect().before_next_model().await.messages().is_empty());
    rest(tests.automations()).await;
    assert_eq!(session.collect().ready().messages().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn law_10_a_key_is_one_at_a_time_across_automations_and_sessions() {
    let bus = Bus::new();
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let mut automations = None;
    for name in ["one", "other"] {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        let automation = bus
            .automate::<AfterToolBatch>(name)
            .concurrency("{project_root}")
            .run(move |_batch, _cx| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                async move {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(millis(10)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(Report::success("ok"))
                }
            })
            .unwrap();
        automations = Some(automation.automations().clone());
    }
    let began = Instant::now();
    for number in 0..3 {
        let session = bus.session(format!("s{number}")).project_root("/p").open().await.unwrap();
        drop(session.publish(changed("a")).await.unwrap());
    }
    rest(&automations.unwrap()).await;
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert!(began.elapsed() >= millis(60));
}

#[tokio::test(start_paused = true)]
async fn a_failure_a_panic_and_a_timeout_are_tried_again_and_rest_in_the_dead_letters() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let automation = session
        .automate::<AfterToolBatch>("flaky")
        .retry(Retry::constant(3, millis(200)))
        .timeout(millis(500))
        .run(move |_batch, _cx| {
            let attempt = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match attempt {
                    0 => Err(Failure::new(FailureKind::Error, "no luck")),
                    1 => panic!("worse"),
                    _ => {
                        std::future::pending::<()>().await;
                        Ok(Report::success("never"))
                    }
                }
            }
        })
        .unwrap();
    let began = Instant::now();
    drop(session.publish(changed("a.rs")).await.unwrap());
    rest(automation.automations()).await;
    assert!(began.elapsed() >= millis(900));
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
    let dead = "it failed 3 times, at last (timeout): timed out after 0.5 s".to_owned();
    assert_eq!(
        news(&mut signals),
        [
            JobNews::Queued,
            JobNews::Started { attempt: 1 },
            JobNews::Retried { failed: "no luck".to_owned(), pause: millis(200) },
            JobNews::Started { attempt: 2 },
            JobNews::Retried { failed: "panicked: worse".to_owned(), pause: millis(200) },
            JobNews::Started { attempt: 3 },
            JobNews::Dead(dead.clone()),
        ]
    );
    let delivery = session.collect().ready();
    let told = format!("automation `flaky`: {dead}");
    assert_eq!(delivery.messages()[0].text, told, "that it could not be done is for the context too");

    // A person takes it up again; it has all its attempts before it, and its history.
    let jobs = automation.automations().jobs();
    assert!(jobs.retry(JobId(1)));
    assert!(!jobs.retry(JobId(1)), "it is not dead now");
    rest(automation.automations()).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 6);
    assert_eq!(jobs.show(JobId(1)).unwrap().attempts.len(), 6);
    assert!(jobs.drop(JobId(1)));
    assert_eq!(jobs.show(JobId(1)), None);
    assert!(!jobs.drop(JobId(1)));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_closes_waits_for_what_it_drains_and_cuts_what_has_no_time() {
    let (bus, session) = session().await;
    let automation = bus
        .automate::<AfterToolBatch>("slow")
        .debounce(Debounce::quiet(Duration::from_secs(3600)).at_most(Duration::from_secs(3600)))
        .run(async |_batch, _cx| {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(Report::success("ok"))
        })
        .unwrap();
    let began = Instant::now();
    drop(session.publish(changed("a.rs")).await.unwrap());
    session.close().await;
    assert_eq!(began.elapsed(), Duration::from_secs(10), "what is held runs at once");

    let session = bus.session("s2").open().await.unwrap();
    drop(session.publish(changed("a.rs")).await.unwrap());
    let began = Instant::now();
    session.close_within(Duration::from_secs(2)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    let shown = automation.automations().jobs().show(JobId(2)).unwrap();
    let cut = Settled::Cancelled(Why::SessionEnded);
    assert!(matches!(shown.standing, JobStatus::Settled { settled, .. } if settled == cut));
}

#[tokio::test(start_paused = true)]
async fn a_new_event_restarts_the_run_with_the_files_of_both() {
    let (_bus, session) = session().await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let files = Arc::clone(&seen);
    let automation = session
        .automate::<AfterToolBatch>("build")
        .concurrency("build")
        .on_busy(OnBusy::Restart)
        .run(move |batch, _cx| {
            let files = Arc::clone(&files);
            async move {
                tokio::time::sleep(millis(100)).await;
                files.lock().unwrap().extend(batch.changed_files.iter().map(|file| file.path.clone()));
                Ok(Report::success("ok"))
            }
        })
        .unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    tokio::time::sleep(millis(50)).await;
    drop(session.publish(changed("b")).await.unwrap());
    rest(automation.automations()).await;
    assert_eq!(*seen.lock().unwrap(), ["a", "b"]);
    let why = automation.automations().jobs().why(JobId(1)).unwrap();
    assert_eq!(why.to_string(), "cancelled: job 2 took its place, with its events");
}

#[tokio::test(start_paused = true)]
async fn an_event_cancels_what_is_held() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    session
        .automate::<AfterToolBatch>("remind")
        .debounce(Debounce::quiet(millis(300)))
        .cancelled_by::<OnPrompt>(MatcherDraft::default())
        .run(async |_batch, _cx| Ok(Report::failure("you have forgotten something")))
        .unwrap();
    drop(session.publish(changed("a")).await.unwrap());
    drop(session.publish(OnPrompt::new("go on")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(session.collect().ready().messages().is_empty());
    let news = news(&mut signals);
    assert!(
        matches!(&news[..], [JobNews::Held, JobNews::Cancelled(why)] if why.starts_with("event ")),
        "{news:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_user_is_told_instead_of_the_agent() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let automation = session
        .automate::<OnIdle>("tell")
        .result(ResultRule { when: ResultWhen::Notify, ..ResultRule::default() })
        .try_run(async |_idle, _cx| Ok::<_, std::io::Error>(Report::success("all quiet")))
        .unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    rest(automation.automations()).await;
    assert!(session.collect().ready().messages().is_empty());
    let mut told = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        if let Signal::Notified { notice, .. } = signal {
            told.push(notice.text);
        }
    }
    assert_eq!(told, ["all quiet"]);
}

#[tokio::test(start_paused = true)]
async fn an_automation_that_starts_itself_is_stopped_by_the_depth_of_causes() {
    let (_bus, session) = session().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let automation = session
        .automate::<OnIdle>("again")
        .try_run(move |_idle, cx| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { cx.session().publish(OnIdle::new()).await.map(|_| Report::success("ok")) }
        })
        .unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    rest(automation.automations()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 9);
}

#[tokio::test]
async fn settings_that_cannot_be_meant_name_the_caller_what_is_wrong_and_what_would_be_right() {
    type Settings = fn(Automating<AfterSession>) -> Automating<AfterSession>;
    let (_bus, session) = session().await;
    let run = async |_event: lineside_core::Event<AfterSession>, _cx| Ok(Report::success("ok"));
    let settings: [(Settings, &str); 10] = [
        (
            |it| it.join(Join::BeforeNextModel),
            "`join` is before_next_model, and no model is called after after_session; it has to be background",
        ),
        (
            |it| it.concurrency("{payload.raeson}"),
            "`concurrency` is not a template of keys: \
             there is no field `payload.raeson`; the nearest is `payload.reason`",
        ),
        (
            |it| it.concurrency("lint:{session"),
            "`concurrency` is not a template of keys: the brace at 5 has no other one",
        ),
        (
            |it| it.retry(Retry::constant(0, millis(1))),
            "`retry.attempts` is zero; it has to be more than that",
        ),
        (|it| it.timeout(Duration::ZERO), "`timeout` is zero; it has to be more than that"),
        (
            |it| it.debounce(Debounce::quiet(Duration::from_secs(300_000_000))),
            "`debounce.quiet` is longer than 30 days, which is the longest there may be; is it another unit?",
        ),
        (
            |it| it.retry(Retry::exponential(2_000, millis(1))),
            "`retry.attempts` is more than 1000, which is the most there may be",
        ),
        (
            |it| it.debounce(Debounce { quiet: millis(300), at_most: millis(100) }),
            "`debounce.at_most` is shorter than `debounce.quiet`; it has to be as long at least",
        ),
        (
            |it| it.on_busy(OnBusy::Drop),
            "`on_busy` says what happens to runs of one key; it needs a `concurrency` that says what the key is",
        ),
        (
            |it| it.limit(2),
            "`limit` says what happens to runs of one key; it needs a `concurrency` that says what the key is",
        ),
    ];
    for (set, wrong) in settings {
        let (line, error) = (line!(), set(session.automate::<AfterSession>("late")).run(run).unwrap_err());
        let place = format!("{}:{line}: automation `late` at after_session could not be registered", file!());
        assert_eq!(error.to_string(), place);
        let chain = successors(error.source(), |&cause| cause.source()).map(ToString::to_string);
        assert_eq!(chain.collect::<Vec<_>>().join(": "), wrong);
    }
    session.automate::<AfterSession>("late").run(run).unwrap();
    let error = session.automate::<AfterSession>("late").run(run).unwrap_err();
    assert!(matches!(error.why, WhyNotAutomate::Taken), "{error}");
    let error = session.automate::<AfterSession>(" ").run(run).unwrap_err();
    assert!(matches!(error.why, WhyNotAutomate::Hook(_)), "{error}");
}

#[tokio::test]
async fn automations_are_opened_once_and_first() {
    let (bus, session) = session().await;
    session.automate::<OnIdle>("x").run(async |_idle, _cx| Ok(Report::success("ok"))).unwrap();
    let opened = Automations::open(&bus, Bounds::default(), Arc::new(lives::Disk::default()), Vec::new());
    assert!(matches!(opened.err(), Some(OpenError::Already)));
}
