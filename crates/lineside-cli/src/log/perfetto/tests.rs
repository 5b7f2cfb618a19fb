//! A trace as a strict reader of the Trace Event Format takes it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lineside::automation::{Automate as _, Report};
use lineside::json::{Value, json};
use lineside::log::{Follower, Log, Look, Options, Query};
use lineside::prelude::*;

use super::trace;

/// What is on a lane: begins, ends and names.
type Lanes = BTreeMap<(u64, u64), Vec<(i64, i64, String)>>;

/// The slices of a trace, by lane, and its flows as pairs of the names of slices.
///
/// # Panics
/// Where a viewer would leave something out: an event without its fields, a lane without a name, a slice that overlaps
/// another one of its lane without being within it, a flow that does not begin and end at a slice.
fn read(trace: &Value) -> (Lanes, Vec<(String, String)>) {
    let events = trace["traceEvents"].as_array().unwrap();
    let (mut lanes, mut names, mut flows) = (Lanes::new(), BTreeSet::new(), HashMap::new());
    for event in events {
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
        let lane = (number("pid"), number("tid"));
        let name = event["name"].as_str().unwrap().to_owned();
        match event["ph"].as_str().unwrap() {
            "M" => {
                assert!(event["args"]["name"].as_str().is_some_and(|name| !name.is_empty()), "{event}");
                names.insert((name, lane));
            }
            "X" => {
                let (begin, took) = (event["ts"].as_i64().unwrap(), event["dur"].as_i64().unwrap());
                assert!(begin > 0 && took >= 0 && event["cat"].is_string(), "{event}");
                lanes.entry(lane).or_default().push((begin, begin + took, name));
            }
            "s" => drop(flows.insert(number("id"), (lane, event["ts"].as_i64().unwrap(), None))),
            "f" => {
                assert_eq!(event["bp"], "e");
                let from = flows.get_mut(&number("id")).expect("it begins before it ends");
                let at = event["ts"].as_i64().unwrap();
                assert!(from.1 <= at && from.2.is_none(), "{event}");
                from.2 = Some((lane, at));
            }
            other => panic!("{other}"),
        }
    }
    for (lane, slices) in &mut lanes {
        assert!(names.contains(&("thread_name".to_owned(), *lane)), "{lane:?}");
        assert!(names.contains(&("process_name".to_owned(), (lane.0, 0))), "{lane:?}");
        slices.sort_by_key(|(begin, end, _)| (*begin, -end));
        let mut open: Vec<i64> = Vec::new();
        for (begin, end, name) in slices.iter() {
            open.retain(|above| above > begin);
            assert!(open.last().is_none_or(|above| end <= above), "{name} overlaps in {slices:?}");
            open.push(*end);
        }
    }
    let at = |lane: (u64, u64), ts: i64| {
        let fits = |(begin, end, _): &&(i64, i64, String)| (*begin..=*end).contains(&ts);
        // Of slices that touch there the one that begins, and of those the outermost.
        let found = lanes[&lane].iter().filter(fits).min_by_key(|(begin, end, _)| (-begin, -end));
        found.unwrap_or_else(|| panic!("nothing at {ts} of {lane:?}")).2.clone()
    };
    let flows = flows.into_values().map(|(lane, ts, to)| {
        let (to, end) = to.expect("a flow ends");
        (at(lane, ts), at(to, end))
    });
    let flows = flows.collect();
    (lanes, flows)
}

#[tokio::test]
async fn a_trace_has_lanes_of_agents_tools_hooks_and_work_with_what_caused_it_and_nothing_overlaps() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlite");
    let bus = lineside::Bus::new();
    let mut follower = Follower::new(&bus, Log::open(&file, Options::default()).unwrap());
    let session = bus.session("s-main").agent(Agent::main("main")).open().await.unwrap();
    session
        .intercept::<BeforeTool>("guard")
        .gate(async |call, _cx| match call.command().as_deref() {
            Some("rm x") => Verdict::block("no \"rm\" <here>"),
            _ => Verdict::Continue,
        })
        .unwrap();
    session.automate::<AfterTool>("lint").run(async |_call, _cx| Ok(Report::success("ok"))).unwrap();
    let call = |id: &str, command: &str| {
        let mut call = BeforeTool::new("Shell", json!({"command": command}));
        call.tool_call_id = Some(id.to_owned());
        call
    };
    // Two calls at the same time, one that is refused, and one of a subagent that never ends.
    for (id, command) in [("a", "ls"), ("b", "make"), ("c", "rm x")] {
        drop(session.publish(call(id, command)).await.unwrap());
    }
    let child = session.subagent("s-child").agent(Agent::subagent("reviewer")).open().await.unwrap();
    drop(child.publish(call("d", "grep x")).await.unwrap());
    for id in ["b", "a"] {
        let mut after = AfterTool::new("Shell", json!("done"));
        after.tool_call_id = Some(id.to_owned());
        drop(session.publish(after).await.unwrap());
    }
    session.close().await;
    follower.end();
    let look = Look::open(&file).unwrap();
    let query = Query::default();
    let found = look.decisions(&query, 100).unwrap();
    let decisions: Vec<_> = found.iter().flat_map(|found| look.why(&found.id.to_string()).unwrap()).collect();
    assert!(decisions.len() >= 6, "{decisions:?}");

    let (lanes, flows) = read(&trace(&decisions));
    let on = |tid: std::ops::Range<u64>| -> Vec<&str> {
        let lanes = lanes.iter().filter(|((_, lane), _)| tid.contains(lane));
        lanes.flat_map(|(_, slices)| slices.iter().map(|(.., name)| name.as_str())).collect()
    };
    let count = |names: &[&str], wanted: &str| names.iter().filter(|name| **name == wanted).count();
    let (decided, tools, work) = (on(0..100), on(100..200), on(200..300));
    assert_eq!(count(&decided, "guard"), 4, "{decided:?}");
    assert_eq!(count(&decided, "before_tool Shell"), 4, "{decided:?}");
    assert_eq!(tools, ["Shell"; 3], "the refused one has not run");
    assert_eq!(count(&work, "lint"), 2, "{work:?}");
    for caused in [
        ("before_tool Shell", "Shell"),
        ("Shell", "after_tool Shell"),
        ("after_tool Shell", "lint"),
        // The subagent comes of the call that ran last.
        ("Shell", "before_tool Shell"),
    ] {
        let caused = (caused.0.to_owned(), caused.1.to_owned());
        assert!(flows.contains(&caused), "{caused:?}: {flows:?}");
    }
}

#[test]
#[should_panic(expected = "overlaps")]
fn the_reader_refuses_slices_that_overlap() {
    let slice = |ts: u32, dur: u32| json!({"ph": "X", "name": "a", "cat": "c", "pid": 1, "tid": 1, "ts": ts, "dur": dur});
    let name =
        |what: &str, tid: u32| json!({"ph": "M", "name": what, "pid": 1, "tid": tid, "args": {"name": "n"}});
    let events = [name("process_name", 0), name("thread_name", 1), slice(1, 5), slice(3, 9)];
    read(&json!({"traceEvents": events}));
}
