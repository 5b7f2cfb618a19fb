//! Law 8.

use std::sync::{Arc, Mutex};

use lineside::prelude::*;
use tokio::sync::{Notify, mpsc};

use crate::{session, shell};

#[tokio::test]
async fn observers_are_harmless() {
    let (bus, root) = session().await;
    let (started, mut has_started) = mpsc::channel(1);
    let release = Arc::new(Notify::new());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (into, until) = (Arc::clone(&heard), Arc::clone(&release));
    root.observe::<BeforeTool>("stuck")
        .capacity(2)
        .run(move |event| {
            let (into, until, started) = (Arc::clone(&into), Arc::clone(&until), started.clone());
            async move {
                started.try_send(()).ok();
                until.notified().await;
                until.notify_one();
                into.lock().unwrap().push((event.event().command().unwrap().into_owned(), event.lost().0));
            }
        })
        .unwrap();
    root.observe::<BeforeTool>("panics").run(async |_| panic!("a bug in the observer")).unwrap();

    assert!(!root.publish(shell("0")).await.unwrap().is_refused());
    has_started.recv().await.unwrap();
    // It is stuck in the first event; two more fit, and for each further one the oldest gives way.
    for number in 1..=5 {
        assert!(!root.publish(shell(&number.to_string())).await.unwrap().is_refused());
    }
    release.notify_one();
    let report = bus.drain(secs(5)).await;
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard, [("0".to_owned(), 0), ("4".to_owned(), 3), ("5".to_owned(), 0)]);
    assert_eq!((report.observers_lost, report.observers_behind), (3, 0));
}

#[tokio::test]
async fn an_observer_hears_the_outcome() {
    let (bus, root) = session().await;
    root.intercept::<BeforeTool>("blocks").gate(async |_, _| Verdict::block("no")).unwrap();
    let (sender, mut heard) = mpsc::channel(4);
    root.observe::<BeforeTool>("hears")
        .run(move |event| {
            let sender = sender.clone();
            async move { sender.send(event.verdict().clone()).await.unwrap() }
        })
        .unwrap();
    assert!(root.publish(shell("ls")).await.unwrap().is_refused());
    assert_eq!(heard.recv().await, Some(Verdict::block("no")));
    assert!(bus.drain(secs(5)).await.is_clean());
}
