//! What happens on all machines is heard from each of them.

use lineside::client::Signals;
use lineside::json::Map;
use lineside::prelude::*;
use tokio::time::timeout;

use crate::machine::{Machine, guard, reason};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// The next signal that is so.
async fn next(signals: &mut Signals, so: impl Fn(&Map) -> bool) -> Map {
    let found = async {
        loop {
            let signal = signals.next().await.expect("the stream goes on");
            if so(&signal) {
                return signal;
            }
        }
    };
    timeout(LONG, found).await.expect("it is heard in time")
}

fn is(signal: &Map, kind: &str, machine: &str) -> bool {
    signal["kind"] == json!(kind) && signal["machine"] == json!(machine)
}

#[tokio::test]
async fn what_happens_on_any_machine_is_heard_from_each_and_one_that_is_cut_off_is_named() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&proxy.url(), "b").await);
    let client = a.client();
    let mut signals = client.signals_of_cluster("").await.unwrap();
    signals.begins().await;
    let of_b = b.client().session("of-b").open().await.unwrap();
    guard(&of_b, "no-rm", "rm").await;
    assert!(reason(&of_b, "rm 1").await.is_some());
    let refused = next(&mut signals, |signal| is(signal, "decided", "b")).await;
    assert_eq!((&refused["session"], &refused["by"]), (&json!("of-b"), &json!("no-rm")));
    let of_a = client.session("of-a").open().await.unwrap();
    assert!(reason(&of_a, "ls").await.is_none());
    let let_through = next(&mut signals, |signal| is(signal, "decided", "a")).await;
    assert_eq!(let_through["session"], json!("of-a"));

    proxy.cut();
    let away = next(&mut signals, |signal| is(signal, "machine_away", "b")).await;
    assert!(!away["detail"].as_str().unwrap().is_empty(), "{away:?}");
    assert!(reason(&of_b, "rm 2").await.is_some());
    assert!(reason(&of_a, "pwd").await.is_none());
    next(&mut signals, |signal| is(signal, "decided", "a")).await;
    proxy.heal();
    next(&mut signals, |signal| is(signal, "machine_back", "b")).await;
    // What it has kept meanwhile is there, once.
    let missed = next(&mut signals, |signal| is(signal, "decided", "b")).await;
    assert_eq!(missed["payload"]["tool_input"]["command"], json!("rm 2"));
    assert!(reason(&of_b, "rm 3").await.is_some());
    let after = next(&mut signals, |signal| is(signal, "decided", "b")).await;
    assert_eq!(after["payload"]["tool_input"]["command"], json!("rm 3"));
}

#[tokio::test]
async fn a_tap_gets_what_its_query_finds_and_is_told_how_much_a_machine_has_lost() {
    const KEPT: usize = 8;
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let a = Machine::new(&nats.url(), "a").await;
    let b = Machine::with_signals(&proxy.url(), "b", KEPT).await;
    let client = a.client();
    let refused = client.signals_of_cluster("verdict:what").await.unwrap_err();
    assert!(refused.to_string().contains("what"), "{refused}");
    let session = b.client().session("s1").open().await.unwrap();
    guard(&session, "no-rm", "rm").await;
    let mut signals = client.signals_of_cluster("verdict:refused").await.unwrap();
    signals.begins().await;
    assert!(reason(&session, "ls").await.is_none());
    assert!(reason(&session, "rm first").await.is_some());
    let first = next(&mut signals, |_| true).await;
    assert_eq!(first["payload"]["tool_input"]["command"], json!("rm first"), "{first:?}");

    proxy.cut();
    next(&mut signals, |signal| is(signal, "machine_away", "b")).await;
    for number in 0..100 {
        assert!(reason(&session, &format!("rm {number}")).await.is_some());
    }
    proxy.heal();
    next(&mut signals, |signal| is(signal, "machine_back", "b")).await;
    let lost = next(&mut signals, |_| true).await;
    assert!(is(&lost, "lost", "b") && lost["lost"].as_u64().unwrap() >= 100 - KEPT as u64, "{lost:?}");
    let mut heard = 0;
    while next(&mut signals, |signal| is(signal, "decided", "b")).await["payload"]["tool_input"]["command"]
        != json!("rm 99")
    {
        heard += 1;
    }
    assert!(heard < KEPT, "{heard} are heard besides the last, and {KEPT} are kept");
}
