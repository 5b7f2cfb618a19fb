//! The timeline of a tree of sessions: a lane for each agent, bars for what its tools, hooks and background work took. The
//! script draws it; here are its frame and its data.

use std::collections::HashMap;

use lineside_core::EventId;
use lineside_core::json::{self, Value, json};
use lineside_log::{Decision, News};
use maud::{Markup, html};

use super::{BASE, decisions};
use crate::text::{encoded, line};

/// What a bar is.
const HOOKS: u8 = 0;
const TOOL: u8 = 1;
const WORK: u8 = 2;

/// The frame of the timeline of the tree that a session is in, with its questions that wait for a person.
#[must_use]
pub fn content(session: &str, root: &str, waiting: &[Decision], decisions: &[Decision]) -> Markup {
    html! {
        h1 { "Timeline" span.count { (line(root)) ", times in UTC" } }
        div.toolbar {
            button type="button" data-zoom="in" title="zoom in (+)" { "+" }
            button type="button" data-zoom="out" title="zoom out (−)" { "−" }
            button type="button" data-zoom="all" title="show all (0)" { "all" }
            button type="button" data-zoom="live" aria-pressed="true" title="follow what happens" { "live" }
            span.legend {
                span.t-hooks { i {} "interceptors" } span.t-tool { i {} "tool" } span.t-pending { i {} "pending" }
                span.t-work { i {} "background work" } span.t-refused { i {} "refused" }
            }
        }
        div.timeline {
            canvas #timeline tabindex="0" role="img" aria-label="Timeline; the table below has the same" data-source={ (BASE) "/sessions/" (encoded(session)) "/data" } {}
            p.tip #tip hidden {}
        }
        h2 { "Its decisions" }
        (decisions::table(waiting, decisions))
    }
}

/// The data of the timeline: `now`, `lanes` of session, name and depth, and `bars` of lane, kind, begin, end or null, text,
/// verdict and event. Hooks without an end are those whose question waits for a person. Times are in milliseconds since 1970.
#[must_use]
pub fn data(waiting: &[Decision], decisions: &[Decision], news: &[(EventId, News)], now: i64) -> String {
    let mut lanes: Vec<Value> = Vec::new();
    let mut lane_of: HashMap<&str, usize> = HashMap::new();
    let mut order: Vec<&Decision> = decisions.iter().chain(waiting).collect();
    order.sort_by_key(|decision| decision.depth);
    for decision in order {
        lane_of.entry(&decision.session).or_insert_with(|| {
            let label = decision.agent_type.as_deref().unwrap_or(&decision.agent);
            lanes.push(json!([decision.session, line(label), decision.depth]));
            lanes.len() - 1
        });
    }
    let mut bars: Vec<Value> = Vec::new();
    let mut running: HashMap<(&str, String), usize> = HashMap::new();
    let mut lane_of_event: HashMap<EventId, usize> = HashMap::new();
    let label = |decision: &Decision| {
        let tool = line(decision.tool.as_deref().unwrap_or_default()).into_owned();
        format!("{} {tool} {}", decision.point, decisions::about(decision))
    };
    for asked in waiting {
        let (lane, begin) = (lane_of.get(&*asked.session), asked.time.as_millisecond());
        bars.push(json!([lane, HOOKS, begin, null(), label(asked), asked.verdict, asked.id.to_string()]));
    }
    for decision in decisions {
        let lane = lane_of.get(&*decision.session).copied().unwrap_or_default();
        let begin = decision.time.as_millisecond();
        let end = micros(begin).saturating_add(i64::try_from(decision.took.as_micros()).unwrap_or_default());
        lane_of_event.insert(decision.id, lane);
        let tool = decision.tool.as_deref().unwrap_or_default();
        let id = decision.id.to_string();
        bars.push(json!([lane, HOOKS, begin, end as f64 / 1e3, label(decision), decision.verdict, id]));
        let call = || (&*decision.session, call_of(decision, tool));
        match &*decision.point {
            "before_tool" if !decision.verdict.is_final() => {
                // One that is called again without a word of its end is over.
                if let Some(bar) = running.insert(call(), bars.len()).and_then(|bar| bars.get_mut(bar)) {
                    bar[3] = json!(begin);
                }
                let label = format!("{} {}", line(tool), decisions::about(decision));
                bars.push(json!([lane, TOOL, end as f64 / 1e3, null(), label, decision.verdict, id]));
            }
            "after_tool" | "after_tool_error" => {
                if let Some(bar) = running.remove(&call()).and_then(|bar| bars.get_mut(bar)) {
                    bar[3] = json!(begin);
                }
            }
            _ => {}
        }
    }
    // What a batch or a further request to the model has left behind is over.
    let last: HashMap<&str, i64> =
        decisions.iter().map(|decision| (&*decision.session, decision.time.as_millisecond())).collect();
    for ((session, _), bar) in running {
        let begin = bars.get(bar).and_then(|bar| bar[2].as_f64()).unwrap_or_default();
        let heard = last.get(session).copied().unwrap_or_default();
        if let Some(bar) = bars.get_mut(bar).filter(|_| heard as f64 > begin + 1.0) {
            bar[3] = json!(heard);
        }
    }
    work(news, &lane_of_event, &mut bars);
    json!({"now": now, "lanes": lanes, "bars": bars}).to_string()
}

/// Bars for the runs of background work.
fn work(news: &[(EventId, News)], lanes: &HashMap<EventId, usize>, bars: &mut Vec<Value>) {
    let mut started: HashMap<u64, usize> = HashMap::new();
    for (event, news) in news {
        let Some(lane) = lanes.get(event) else { continue };
        let at = news.time.as_millisecond();
        let hook = line(news.hook.as_deref().unwrap_or_default());
        let what = news.what.strip_prefix("automation_").or_else(|| news.what.strip_prefix("job_"));
        match (what, news.job) {
            (Some("started"), Some(job)) => {
                started.insert(job, bars.len());
                bars.push(json!([
                    lane,
                    WORK,
                    at,
                    null(),
                    format!("{hook} · job {job}"),
                    "continue",
                    event.to_string()
                ]));
            }
            (Some(what @ ("finished" | "dead" | "cancelled" | "retried")), Some(job)) => {
                if let Some(bar) = started.remove(&job).and_then(|bar| bars.get_mut(bar)) {
                    bar[3] = json!(at);
                    if matches!(what, "dead" | "retried") {
                        bar[5] = json!("block");
                    }
                }
            }
            _ => {
                if let Some(took) = news.took {
                    let begin = at.saturating_sub(i64::try_from(took.as_millis()).unwrap_or_default());
                    bars.push(json!([lane, WORK, begin, at, hook, "continue", event.to_string()]));
                }
            }
        }
    }
}

fn null() -> Value {
    Value::Null
}

fn micros(millis: i64) -> i64 {
    millis.saturating_mul(1_000)
}

/// What an event before a call and the one after it have in common.
fn call_of(decision: &Decision, tool: &str) -> String {
    let payload = json::from_str::<Value>(&decision.payload).unwrap_or_default();
    payload.get("tool_call_id").and_then(Value::as_str).unwrap_or(tool).to_owned()
}
