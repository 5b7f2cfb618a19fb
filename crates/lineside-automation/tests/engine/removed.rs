//! Automations that are taken away: what they have accepted comes to its end all the same, and nothing waits for them.

use std::sync::Arc;
use std::time::Duration;

use lineside_automation::control::Control;
use lineside_automation::{Automate, Automation, Automations, Declaration, Report};
use lineside_bus::{Registration, Session};
use lineside_core::flow::Debounce;
use lineside_core::hook::{Hook, Standby};
use lineside_core::payload::Point;
use lineside_core::{Part, SkipReason};
use lineside_points::AfterToolBatch;
use tokio::time::Instant;

use crate::{changed, millis, rest, session};

/// An automation that runs one batch at a time, each for 50 ms, and finds the path of its first file.
fn one_at_a_time(session: &Session, finds: &'static str) -> Automation {
    let lint = session.automate::<AfterToolBatch>("lint").concurrency("one");
    lint.run(move |batch, _cx| async move {
        tokio::time::sleep(millis(50)).await;
        Ok(Report::failure(format!("{finds} {}", batch.changed_files[0].path)))
    })
    .unwrap()
}

fn found(session: &Session) -> Vec<String> {
    session.collect().ready().accept().into_iter().map(|message| message.text).collect()
}

#[tokio::test(start_paused = true)]
async fn law_9_what_an_automation_has_accepted_runs_although_it_is_taken_away() {
    let (_bus, session) = session().await;
    let automation = one_at_a_time(&session, "by the first");
    for path in ["a", "b"] {
        drop(session.publish(changed(path)).await.unwrap());
    }
    assert!(automation.remove());
    drop(session.publish(changed("c")).await.unwrap());
    rest(automation.automations()).await;
    assert_eq!(found(&session), ["by the first a", "by the first b"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_takes_its_name_has_what_had_not_begun() {
    let (_bus, session) = session().await;
    let automation = one_at_a_time(&session, "by the first");
    for path in ["a", "b"] {
        drop(session.publish(changed(path)).await.unwrap());
    }
    tokio::time::sleep(millis(10)).await;
    assert!(automation.remove());
    one_at_a_time(&session, "by the second");
    drop(session.publish(changed("c")).await.unwrap());
    rest(automation.automations()).await;
    assert_eq!(found(&session), ["by the first a", "by the second b", "by the second c"]);
}

#[tokio::test(start_paused = true)]
async fn law_9_the_end_of_a_session_waits_no_longer_for_a_burst_whose_automation_was_taken_away() {
    let (_bus, session) = session().await;
    let (ran, mut runs) = tokio::sync::mpsc::channel(1);
    let automation = session
        .automate::<AfterToolBatch>("lint")
        .debounce(Debounce::quiet(Duration::from_secs(30)).at_most(Duration::from_secs(60)))
        .run(move |batch, _cx| {
            ran.try_send(batch.changed_files.len()).unwrap();
            async { Ok(Report::success("ok")) }
        })
        .unwrap();
    for path in ["a", "b"] {
        drop(session.publish(changed(path)).await.unwrap());
    }
    assert!(automation.remove());
    let closing = Instant::now();
    session.close().await;
    assert_eq!(closing.elapsed(), Duration::ZERO);
    assert_eq!(runs.try_recv(), Ok(2));
}

/// An automation of a file that holds its events for a minute, and its hooks in force on a session.
fn load(session: &Session, automations: &Automations, standby: Standby) -> Vec<Registration> {
    let (id, points) = (Arc::from("file:lint"), AfterToolBatch::INFO);
    let is_on = standby == Standby::Ready;
    let mut hook = Hook::native("lint", Part::PostDecision);
    hook.standby = standby;
    let minute = Some(Debounce::quiet(Duration::from_secs(60)));
    let rules = Control { debounce: minute, ..Control::default() }.check(points, &[]).unwrap();
    let declaration = Declaration {
        id: Arc::clone(&id),
        hook,
        point: points,
        rules: Arc::new(rules),
        cancelled_by: Vec::new(),
        everywhere: None,
        run: Arc::new(|_, _, _, turn| {
            Box::pin(async move {
                turn.begins().await;
                Ok(Report::failure("found"))
            })
        }),
    };
    let installed = automations.declare(declaration);
    automations.declared("file", &is_on.then_some(id).into_iter().collect());
    installed.into_iter().map(|hook| session.attach(hook).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn law_9_what_an_automation_of_a_file_holds_runs_when_a_reload_takes_it_away() {
    let (bus, session) = session().await;
    let automations = Automations::of(&bus).unwrap();
    let hooks = load(&session, &automations, Standby::Ready);
    drop(session.publish(changed("a")).await.unwrap());
    assert!(hooks.iter().all(Registration::remove));
    automations.declared("file", &Default::default());
    let closing = Instant::now();
    session.close().await;
    assert_eq!(closing.elapsed(), Duration::ZERO);
    let jobs = automations.jobs().list(&Default::default());
    assert_eq!(jobs[0].standing.to_string(), "done");
}

#[tokio::test(start_paused = true)]
async fn what_an_automation_of_a_file_holds_is_a_dead_letter_when_it_is_switched_off() {
    let (bus, session) = session().await;
    let automations = Automations::of(&bus).unwrap();
    let hooks = load(&session, &automations, Standby::Ready);
    drop(session.publish(changed("a")).await.unwrap());
    assert!(hooks.iter().all(Registration::remove));
    load(&session, &automations, Standby::Off(SkipReason::Untrusted));
    rest(&automations).await;
    let jobs = automations.jobs().list(&Default::default());
    assert_eq!(jobs[0].standing.to_string(), "dead: its hook was removed, or is not what it was");
    assert_eq!(
        found(&session),
        ["automation `lint`: its hook was removed, or is not what it was"],
        "the agent hears of it"
    );
    let closing = Instant::now();
    session.close().await;
    assert_eq!(closing.elapsed(), Duration::ZERO);
}
