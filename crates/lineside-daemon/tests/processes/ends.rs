//! When the session of an agent ends, and what it leaves to what its process starts from then on.

use std::time::Duration;

use lineside::Signal;
use lineside::bus::signal::Watched;
use lineside::core::AttributedBy;
use lineside::prelude::*;

use crate::ancestry::{Host, REASON, attributed, outer, parent};
use crate::{AGENT, House};

/// A program below an agent says in its name that its session has ended, which it then has.
fn end(house: &House, host: &mut Host, id: &str) {
    let mut signals = house.server.bus().signals();
    assert_eq!(host.calls(&format!("run {AGENT} end {id}")), "200");
    let closed = async {
        while let Some(watched) = signals.next().await {
            if matches!(watched, Watched::Signal(Signal::SessionClosed { session, .. }) if *session.as_str() == *id)
            {
                return;
            }
        }
    };
    let closed = async { tokio::time::timeout(Duration::from_secs(60), closed).await };
    house.runtime.block_on(closed).expect("it stays open");
}

#[test]
fn law_13_the_end_of_a_session_leads_nothing_out_that_its_living_process_has_started() {
    let house = House::new();
    let (mut outer, session) = outer(&house);
    let other = house.runtime.block_on(house.server.bus().session("other").open()).unwrap();
    end(&house, &mut outer, "outer");
    assert!(!session.is_open());
    assert!(outer.starts("", "inner", "rm x").contains(REASON));
    assert_eq!(
        (parent(&house, "inner").as_deref(), attributed(&house, "inner")),
        (Some("outer"), Some(AttributedBy::Ancestry))
    );
    let told = outer.calls(&format!("run {AGENT} publish client rm"));
    assert!(told.contains(REASON) && told.contains("\"parent\":\"outer\""), "{told}");
    // Nor is it the user who asks, or the agent itself.
    assert_eq!(outer.calls(&format!("run {AGENT} close other")), "refused");
    assert!(other.is_open());
    let own = format!("run {AGENT} publish outer rm 2>&1 >/dev/null | grep -o 'cannot be below itself'");
    assert!(outer.calls(&own).contains("cannot be below itself"));
    // What the agent itself goes on with is not below it, and what it starts then is under the hooks of both.
    assert_eq!(outer.calls(&format!("run {AGENT} hook second ls")), "200");
    assert_eq!(parent(&house, "second"), None);
    assert!(outer.starts("", "further", "rm x").contains(REASON));
    drop(outer);
    house.ends();
}

#[test]
fn what_an_agent_starts_in_a_session_after_another_is_below_that_where_the_first_has_no_further_hooks() {
    let house = House::new();
    let mut outer = Host::start(&house, "outer", None);
    assert_eq!([outer.calls("ls"), outer.calls("ls")], ["200", "200"]);
    end(&house, &mut outer, "outer");
    assert_eq!(outer.calls(&format!("run {AGENT} hook second ls")), "200");
    assert_eq!(outer.starts("", "inner", "ls"), "200");
    assert_eq!((parent(&house, "second"), parent(&house, "inner").as_deref()), (None, Some("second")));
    // The first one goes on in its own name.
    assert_eq!(outer.calls("ls"), "200");
    assert_eq!(parent(&house, "outer"), None);
    house.ends();
}

#[test]
fn what_a_session_leaves_goes_with_its_process() {
    let house = House::new();
    let (mut outer, session) = outer(&house);
    assert_eq!(outer.calls("ls"), "200");
    end(&house, &mut outer, "outer");
    assert!(session.has_heirs());
    let (released, is_released) = std::sync::mpsc::sync_channel(1);
    session.at_release(move || released.send(()).unwrap());
    drop(outer);
    is_released.recv_timeout(Duration::from_secs(60)).expect("it is kept");
    house.ends();
}

#[test]
fn a_session_ends_with_its_process_and_its_subagents_with_it() {
    let house = House::new();
    let mut signals = house.server.bus().signals();
    let mut host = Host::start(&house, "one", None);
    assert_eq!([host.calls("ls"), host.calls("ls")], ["200", "200"]);
    assert_eq!(host.calls(&format!("run {AGENT} hook one/a ls")), "200");
    assert!(house.server.bus().find("one/a").is_some());
    // A session that another program has opened below it goes on, under its hooks.
    let one = house.server.bus().find("one").unwrap();
    let other = house.runtime.block_on(one.subagent("other").open()).unwrap();
    drop(host);
    let closed = async {
        let mut closed = Vec::new();
        while closed.len() < 2 {
            if let Some(Watched::Signal(Signal::SessionClosed { session, .. })) = signals.next().await {
                closed.push(session.to_string());
            }
        }
        closed.sort();
        closed
    };
    let closed = async { tokio::time::timeout(Duration::from_secs(60), closed).await };
    assert_eq!(house.runtime.block_on(closed).expect("they stay open"), ["one", "one/a"]);
    assert!(other.is_open());
    house.ends();
}

#[test]
fn what_hooks_hold_is_held_after_a_restart_until_it_would_have_ended() {
    let mut house = House::new();
    let bus = house.server.bus().clone();
    bus.intercept::<BeforeSession>("starts").gate(async |_, _| Verdict::block("not here")).unwrap();
    bus.intercept::<BeforeSubagent>("subagents").gate(async |_, _| Verdict::block("alone")).unwrap();
    let tells = |agent: &mut Host, id: &str, event: &str| {
        agent.calls(&format!("run HOOK_EVENT={event} {AGENT} hook {id} ls"))
    };
    let works = |agent: &mut Host, id: &str| agent.calls(&format!("run {AGENT} hook {id} ls"));
    let (mut held, mut free) = (Host::start(&house, "held", None), Host::start(&house, "free", None));
    // It is the first call of its agent.
    tells(&mut held, "held", "SessionStart");
    assert_eq!(works(&mut free, "free"), "200");
    tells(&mut free, "free/a", "SubagentStart");
    assert!(works(&mut free, "free/a").contains("alone"));
    for _ in 0..3 {
        house = house.again();
        let told = works(&mut held, "held");
        assert!(told.contains("deny") && told.contains("not here"), "{told}");
        assert!(works(&mut held, "held/b").contains("not here"));
        assert!(works(&mut free, "free/a").contains("alone"));
        assert_eq!([works(&mut free, "free"), works(&mut free, "free/b")], ["200", "200"]);
    }
    // No hook of this daemon refuses the start, or keeps the subagent from its end.
    tells(&mut held, "held", "SessionStart");
    tells(&mut free, "free/a", "SubagentStop");
    for _ in 0..2 {
        assert_eq!([works(&mut held, "held"), works(&mut free, "free/a")], ["200", "200"]);
        house = house.again();
    }
    house.ends();
}
