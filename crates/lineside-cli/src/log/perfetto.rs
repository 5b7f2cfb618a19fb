//! Decisions as a trace for Perfetto: a group of lanes for each agent, with the decisions and the hooks in them, the tools,
//! and the background work, and arrows from what has caused it.
//!
//! The trace is JSON in the Trace Event Format, of complete slices (`X`), flows (`s`, `f`) and names (`M`); times are in
//! microseconds. The log has the times of decisions in milliseconds and no begin of a hook: what falls within the same
//! millisecond stands in its order, and hooks that have run one after another stand so.

use std::collections::{BTreeMap, HashMap};

use lineside::core::EventId;
use lineside::json::{self, Value, json};
use lineside::log::{Considered, Decision, News, Why};

use super::line::about;

/// The lanes of an agent, by the first of each kind; further ones of a kind follow where things overlap.
const DECISIONS: usize = 1;
const TOOLS: usize = 100;
const WORK: usize = 200;

/// A bar.
struct Slice {
    agent: usize,
    lane: usize,
    begin: i64,
    /// Behind the begin; the same for what took less than a microsecond.
    end: i64,
    name: String,
    args: Value,
}

/// What is gathered of decisions in the order in which they were made.
#[derive(Default)]
struct Gathered {
    slices: Vec<Slice>,
    /// Pairs of slices of which the first has caused the second.
    flows: Vec<(usize, usize)>,
    /// By session: its number, and the label of its agent.
    agents: HashMap<String, usize>,
    labels: Vec<String>,
    /// By agent, up to when its lane of decisions is full.
    full: HashMap<usize, i64>,
    /// By session and call, the slices of tools that run.
    running: HashMap<(String, String), usize>,
    /// By session, the last slice that a subagent can have come of.
    last: HashMap<String, usize>,
    /// The slices of events.
    events: HashMap<EventId, usize>,
}

/// The whole trace of these decisions, which are in the order in which they were made.
pub(crate) fn trace(decisions: &[Why]) -> Value {
    let mut all = Gathered::default();
    for why in decisions {
        all.decided(why);
    }
    let mut ends: HashMap<usize, i64> = HashMap::new();
    for slice in &all.slices {
        let end = ends.entry(slice.agent).or_default();
        *end = slice.end.max(*end);
    }
    // What has not ended goes on until the last that is known of its agent.
    for (_, running) in std::mem::take(&mut all.running) {
        all.end(running, None, &ends);
    }
    for why in decisions {
        all.work(why, &ends);
    }
    all.spread();
    all.written()
}

impl Gathered {
    fn agent(&mut self, decision: &Decision) -> usize {
        if let Some(known) = self.agents.get(&decision.session) {
            return *known;
        }
        let number = self.labels.len() + 1;
        let label = decision.agent_type.as_deref().unwrap_or(&decision.agent);
        self.labels.push(format!("{label} · {}", decision.session));
        self.agents.insert(decision.session.clone(), number);
        number
    }

    fn begin(&self, slice: usize) -> i64 {
        self.slices.get(slice).map_or(i64::MIN, |slice| slice.begin)
    }

    fn add(&mut self, slice: Slice) -> usize {
        self.slices.push(slice);
        self.slices.len() - 1
    }

    fn decided(&mut self, why: &Why) {
        let decision = &why.decision;
        let is_new = !self.agents.contains_key(&decision.session);
        let agent = self.agent(decision);
        let published = decision.time.as_microsecond();
        let full = self.full.get(&agent).copied().unwrap_or(i64::MIN);
        let parent = decision.parent.as_ref().filter(|_| is_new).and_then(|parent| self.last.get(parent));
        let parent = parent.copied();
        // Nothing begins before what has caused it, though the log has both in one millisecond.
        let begin = published.max(full).max(parent.map_or(i64::MIN, |parent| self.begin(parent)));
        let end = begin + micros(decision.took);
        self.full.insert(agent, end);
        let tool = decision.tool.as_deref().unwrap_or_default();
        let name =
            if tool.is_empty() { decision.point.clone() } else { format!("{} {tool}", decision.point) };
        let args = json!({
            "event": decision.id, "seq": decision.seq, "verdict": decision.verdict, "by": decision.by,
            "reason": decision.reason, "about": about(decision),
        });
        let slice = self.add(Slice { agent, lane: DECISIONS, begin, end, name, args });
        self.hooks(&why.hooks, (agent, begin, end));
        if let Some(parent) = parent {
            self.flows.push((parent, slice));
        }
        self.events.insert(decision.id, slice);
        // Nothing comes of a call that was refused.
        if !decision.verdict.is_final() {
            self.last.insert(decision.session.clone(), slice);
        }
        let call = (decision.session.clone(), call_of(decision, tool));
        match &*decision.point {
            "before_tool" if !decision.verdict.is_final() => {
                if let Some(before) = self.running.remove(&call) {
                    self.end(before, Some(begin), &HashMap::new());
                }
                let args = json!({"event": decision.id, "about": about(decision)});
                let name = tool.to_owned();
                let running = self.add(Slice { agent, lane: TOOLS, begin: end, end, name, args });
                self.flows.push((slice, running));
                self.last.insert(call.0.clone(), running);
                self.running.insert(call, running);
            }
            "after_tool" | "after_tool_error" => {
                if let Some(running) = self.running.remove(&call) {
                    self.end(running, Some(begin), &HashMap::new());
                    self.flows.push((running, slice));
                }
            }
            _ => {}
        }
    }

    /// Hooks stand within their decision: one after another where that fits, else each in its share of the time.
    fn hooks(&mut self, hooks: &[Considered], (agent, begin, end): (usize, i64, i64)) {
        let ran: Vec<_> = hooks
            .iter()
            .filter(|hook| !hook.is_skipped && matches!(&*hook.what, "answered" | "failed"))
            .filter_map(|hook| Some((hook, micros(hook.took?))))
            .collect();
        let all: i64 = ran.iter().map(|(_, took)| took).sum();
        let mut from = begin;
        for (hook, took) in ran {
            let share = if all <= end - begin { took } else { took * (end - begin) / all };
            let args = json!({
                "verdict": hook.verdict, "failed": hook.failed, "detail": hook.detail, "origin": hook.origin,
                "took_us": took,
            });
            let name = hook.hook.clone();
            self.add(Slice { agent, lane: DECISIONS, begin: from, end: from + share, name, args });
            from += share;
        }
    }

    /// A slice ends then, or with the last of its agent.
    fn end(&mut self, slice: usize, at: Option<i64>, ends: &HashMap<usize, i64>) {
        let Some(slice) = self.slices.get_mut(slice) else { return };
        if at.is_none()
            && let Value::Object(args) = &mut slice.args
        {
            args.insert("end".to_owned(), json!("not known"));
        }
        let end = at.or_else(|| ends.get(&slice.agent).copied()).unwrap_or(slice.begin);
        slice.end = end.max(slice.begin);
    }

    /// Background work, each attempt of a job for itself.
    fn work(&mut self, why: &Why, ends: &HashMap<usize, i64>) {
        let Some(cause) = self.events.get(&why.decision.id).copied() else { return };
        let (agent, earliest) = (self.agent(&why.decision), self.begin(cause));
        let mut started: BTreeMap<u64, usize> = BTreeMap::new();
        for News { time, what, hook, job, took, detail, .. } in &why.since {
            let at = time.as_microsecond().max(earliest);
            let name = hook.clone().unwrap_or_default();
            let args = json!({"event": why.decision.id, "job": job, "detail": detail});
            match (what.strip_prefix("job_"), job) {
                (Some("started"), Some(job)) => {
                    let slice = self.add(Slice { agent, lane: WORK, begin: at, end: at, name, args });
                    self.flows.push((cause, slice));
                    started.insert(*job, slice);
                }
                (Some(how @ ("finished" | "dead" | "cancelled" | "retried")), Some(job)) => {
                    let Some(slice) = started.remove(job) else { continue };
                    self.end(slice, Some(at), ends);
                    if let Some(Value::Object(args)) = self.slices.get_mut(slice).map(|slice| &mut slice.args)
                    {
                        args.insert("end".to_owned(), json!(how));
                        args.insert("detail".to_owned(), json!(detail));
                    }
                }
                _ => {
                    let Some(took) = took.filter(|_| what.starts_with("detached_")) else { continue };
                    let begin = (at - micros(took)).max(earliest);
                    let slice = self.add(Slice { agent, lane: WORK, begin, end: at, name, args });
                    self.flows.push((cause, slice));
                }
            }
        }
        for slice in started.into_values() {
            self.end(slice, None, ends);
        }
    }

    /// What overlaps, but for decisions and the hooks in them, gets a lane of its own.
    fn spread(&mut self) {
        let mut order: Vec<usize> = (0..self.slices.len()).collect();
        order.sort_by_key(|slice| self.slices.get(*slice).map(|slice| slice.begin));
        let mut free: HashMap<(usize, usize), Vec<i64>> = HashMap::new();
        for slice in order {
            let Some(slice) = self.slices.get_mut(slice).filter(|slice| slice.lane != DECISIONS) else {
                continue;
            };
            let lanes = free.entry((slice.agent, slice.lane)).or_default();
            let place = lanes.iter().position(|free| *free <= slice.begin).unwrap_or(lanes.len());
            match lanes.get_mut(place) {
                Some(free) => *free = slice.end,
                None => lanes.push(slice.end),
            }
            slice.lane += place.min(TOOLS - 1);
        }
    }

    fn written(&self) -> Value {
        let mut events = Vec::with_capacity(2 * self.slices.len());
        let mut name = |what: &str, pid: usize, tid: usize, name: &str| {
            events.push(json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}));
        };
        for (place, label) in self.labels.iter().enumerate() {
            name("process_name", place + 1, 0, label);
        }
        let mut lanes: Vec<(usize, usize)> =
            self.slices.iter().map(|slice| (slice.agent, slice.lane)).collect();
        lanes.sort_unstable();
        lanes.dedup();
        for (agent, lane) in lanes {
            let kind = match lane {
                ..TOOLS => "decisions and hooks",
                TOOLS..WORK => "tools",
                _ => "background work",
            };
            name("thread_name", agent, lane, kind);
        }
        for Slice { agent, lane, begin, end, name, args } in &self.slices {
            let kind = if *lane < TOOLS {
                "decision"
            } else if *lane < WORK {
                "tool"
            } else {
                "work"
            };
            events.push(json!({"ph": "X", "name": name, "cat": kind, "pid": agent, "tid": lane, "ts": begin,
                "dur": end - begin, "args": args}));
        }
        for (id, (from, to)) in (1..).zip(&self.flows) {
            let (Some(from), Some(to)) = (self.slices.get(*from), self.slices.get(*to)) else { continue };
            let flow = |ph: &str, slice: &Slice, ts: i64| {
                json!({"ph": ph, "bp": "e", "id": id, "name": "causes", "cat": "cause", "pid": slice.agent,
                    "tid": slice.lane, "ts": ts})
            };
            events.push(flow("s", from, from.begin));
            events.push(flow("f", to, to.begin.max(from.begin)));
        }
        json!({"displayTimeUnit": "ms", "traceEvents": events})
    }
}

fn micros(took: std::time::Duration) -> i64 {
    i64::try_from(took.as_micros()).unwrap_or(i64::MAX / 4)
}

/// What an event before a call and the one after it have in common.
fn call_of(decision: &Decision, tool: &str) -> String {
    let payload = json::from_str::<Value>(&decision.payload).unwrap_or_default();
    payload.get("tool_call_id").and_then(Value::as_str).unwrap_or(tool).to_owned()
}

#[cfg(test)]
mod tests;
