//! What was decided on any machine is found from each of them.

use lineside::json::Value;
use lineside::log::Why;
use lineside::prelude::*;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::machine::{Machine, guard, reason};
use crate::nats::{LONG, Nats};

/// Waits until the logs of all machines, as one of them asks for these, are so: a log may lag.
async fn found(
    machine: &Machine,
    (query, event): (&str, Option<&str>),
    so: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let found = async {
        loop {
            let answer = machine.client().logs_of_cluster(query, 10, event).await.unwrap();
            let machines = answer["machines"].as_array().unwrap().clone();
            if so(&machines) {
                return machines;
            }
            yield_now().await;
        }
    };
    timeout(LONG, found).await.expect("the logs are so in time")
}

fn decisions(of: &Value) -> usize {
    of["decisions"].as_array().unwrap().len()
}

#[tokio::test]
async fn the_logs_of_all_machines_are_asked_and_one_that_does_not_answer_is_named() {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    assert!(reason(&parent, "rm of a").await.is_some());
    assert!(reason(&child, "rm of b").await.is_some());
    assert!(reason(&child, "ls").await.is_none());
    let both = |machines: &[Value]| machines.len() == 2 && machines.iter().all(|of| decisions(of) == 1);
    let machines = found(&a, ("verdict:refused", None), both).await;
    assert_eq!((&machines[0]["machine"], &machines[1]["machine"]), (&json!("a"), &json!("b")));
    let of_b = &machines[1]["decisions"][0];
    assert_eq!((&of_b["session"], &of_b["by"]), (&json!("s2"), &json!("no-rm")));
    // Why it was, from the machine where it was not decided.
    let id = of_b["id"].as_str().unwrap();
    let machines = found(&a, ("", Some(id)), |machines| machines.iter().any(|of| decisions(of) == 1)).await;
    assert_eq!(decisions(&machines[0]), 0);
    let why = Why::of_json(machines[1]["decisions"][0].as_object().unwrap()).unwrap();
    assert_eq!((&*why.decision.session, &*why.hooks[0].hook), ("s2", "no-rm"));
    // A query that is none is refused, and asks no machine.
    let refused = a.client().logs_of_cluster("verdict:what", 10, None).await.unwrap_err();
    assert!(refused.to_string().contains("what"), "{refused}");
    b.end().await;
    let gone = |machines: &[Value]| machines.iter().any(|of| of["unanswered"].is_string());
    let machines = found(&a, ("verdict:refused", None), gone).await;
    assert_eq!((decisions(&machines[0]), decisions(&machines[1])), (1, 0));
    assert!(machines[1]["unanswered"].as_str().unwrap().contains('b'), "{:?}", machines[1]);
}

#[tokio::test]
async fn a_machine_answers_with_as_much_of_its_log_as_one_message_takes() {
    let nats = Nats::with("max_payload: 32768").await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let session = b.client().session("s1").open().await.unwrap();
    for number in 0..10 {
        assert!(reason(&session, &format!("{number} {}", "x".repeat(5_000))).await.is_none());
    }
    let all = |machines: &[Value]| {
        decisions(&machines[1]) + usize::try_from(machines[1]["left_out"].as_u64().unwrap()).unwrap() == 10
    };
    let machines = found(&a, ("session:s1", None), all).await;
    assert!((1..=5).contains(&decisions(&machines[1])), "{}", decisions(&machines[1]));
    let last = machines[1]["decisions"].as_array().unwrap().last().unwrap().clone();
    assert!(last["payload"]["tool_input"]["command"].as_str().unwrap().starts_with("9 "), "{last}");
}
