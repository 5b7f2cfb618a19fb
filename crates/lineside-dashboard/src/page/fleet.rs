//! The fleet: what there is of agents, a cell for each, and which of them want a person.

use lineside_core::Strength;
use lineside_fleet::{Agent, Model, Sign, State};
use maud::{Markup, html};

use super::{decision_link, raw, session_link, verdict};
use crate::text::{ago, clock, line, number};

/// How many agents that want a person are listed, and how many decisions.
const LISTED: usize = 60;
const DECISIONS: usize = 40;

/// What stands beside the agents.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Live and dead jobs.
    pub jobs: (usize, usize),
    /// What the daemon has found wrong, each with how bad it is.
    pub findings: Vec<(String, String)>,
    /// Projects whose hooks do not hold, with why.
    pub projects: Vec<(String, String)>,
    /// Hooks that have failed of late, in words.
    pub failing: Vec<String>,
    /// Whether all hooks are switched off.
    pub is_off: bool,
    /// The machines of the cluster; none where there is no cluster.
    pub machines: Vec<Machine>,
}

/// A machine of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Whether it is this one.
    pub is_this: bool,
    /// For how long it is away, in milliseconds; none where it is there.
    pub away: Option<u64>,
}

/// The content. `fits` says of which agents something is listed.
#[must_use]
pub fn content(model: &Model, beside: &Beside, now: i64, fits: &dyn Fn(&str) -> bool) -> Markup {
    let counts = model.counts();
    let all: u32 = counts.states.iter().sum();
    html! {
        h1.sr { "Fleet" }
        @if beside.is_off { p.banner role="alert" { "Hooks are off: every event passes. " code { "lineside on" } " switches them on." } }
        section.tiles aria-label="Counters" {
            div.tile { span.label { "agents" } b data-count="agents" { (number(all.into())) } }
            @for state in State::ALL {
                div.tile.state.{ "s-" (state.as_str()) } {
                    span.label { (shape(state)) (state.as_str()) }
                    b data-count=(state.as_str()) { (number(counts.states.get(state as usize).copied().unwrap_or_default().into())) }
                }
            }
            div.tile { span.label { "jobs" } b { (number(beside.jobs.0 as u64)) } @if beside.jobs.1 > 0 { a.dead href={ (super::BASE) "/hooks" } { (beside.jobs.1) " dead" } } }
            div.tile.wide { span.label { "events, refused · last minute" } (spark(&model.rates(now))) }
        }
        div.fleet {
            section.grid-box aria-label="Agents" {
                canvas #grid tabindex="0" role="img" aria-label={ (all) " agents, one cell each; the list beside has those that want a look" } {}
                p.sr { "Use the list of agents that want a look, or the view Lineage, for the same without a picture." }
                div.legend aria-hidden="true" {
                    @for state in State::ALL { span.{ "s-" (state.as_str()) } { (shape(state)) (state.as_str()) } }
                    span { i.corner {} "wants a look" }
                }
                @if all == 0 { p.none { "No agent is open. " code { "lineside install" } " sets agent programs up; " code { "lineside demo --dashboard" } " shows recorded ones." } }
            }
            aside.side aria-label="What needs attention" {
                (attention(model, beside, now, fits))
                @if !beside.machines.is_empty() { (machines(&beside.machines)) }
            }
        }
        section aria-label="Latest refusals, questions and failures" {
            h2 { "Refused, asked and failed" }
            (notable(model, fits))
        }
    }
}

fn attention(model: &Model, beside: &Beside, now: i64, fits: &dyn Fn(&str) -> bool) -> Markup {
    let mut agents: Vec<&Agent> =
        model.agents().filter(|agent| agent.wants_a_look() && fits(agent.session.as_str())).collect();
    agents.sort_by_key(|agent| (agent.state, std::cmp::Reverse(agent.signs()), agent.last));
    let daemon = beside.findings.len() + beside.projects.len() + beside.failing.len();
    html! {
        h2 { "Needs attention" span.count { (number((agents.len() + daemon) as u64)) } }
        @if agents.is_empty() && daemon == 0 { p.none { "Nothing." } }
        ul.attention {
            @for (project, stands) in &beside.projects {
                li.warn { b { (line(project)) } " " span { "project " (stands) ": its hooks do not hold · " code { "lineside trust" } } }
            }
            @for text in &beside.failing { li.warn { span { (line(text)) } } }
            @for (severity, text) in &beside.findings {
                li.{ "f-" (severity) } { span { (line(text)) } }
            }
            @for agent in agents.iter().take(LISTED) {
                li.{ "s-" (agent.state.as_str()) } data-row {
                    b { (shape(agent.state)) (session_link(agent.session.as_str(), &agent.label)) }
                    span.when { (ago(agent.last, now)) }
                    span.why {
                        @if !agent.machine.is_empty() { "on " (agent.machine) " · " }
                        @if !agent.host.is_empty() { (agent.host) " · " }
                        @if !agent.project.is_empty() { (agent.project) " · " }
                        (why(agent))
                        @if !agent.doing().is_empty() { " · " (agent.doing()) }
                    }
                }
            }
        }
        @if agents.len() > LISTED { p.none { "and " (number((agents.len() - LISTED) as u64)) " more; the filter narrows them" } }
    }
}

/// Those that are away first.
fn machines(all: &[Machine]) -> Markup {
    let (away, there): (Vec<_>, Vec<_>) = all.iter().partition(|machine| machine.away.is_some());
    html! {
        h2 { "Machines" span.count { (number(there.len() as u64)) " of " (number(all.len() as u64)) " are there" } }
        ul.attention {
            @for machine in away.into_iter().chain(there).take(LISTED) {
                @match machine.away {
                    Some(away) => li.s-blocked {
                        b { (shape(State::Blocked)) (line(&machine.name)) }
                        span.when { "away for " (ago(0, i64::try_from(away).unwrap_or(i64::MAX))) }
                    },
                    None => li.s-running {
                        b { (shape(State::Running)) (line(&machine.name)) }
                        @if machine.is_this { span.when { "this machine" } }
                    },
                }
            }
        }
        @if all.len() > LISTED { p.none { "and " (number((all.len() - LISTED) as u64)) " more; " code { "lineside cluster" } " has all of them" } }
    }
}

fn why(agent: &Agent) -> String {
    let of_state = match agent.state {
        State::Waiting => Some("waits for a person"),
        State::Stuck => Some("a tool runs, and nothing is heard of it"),
        _ => None,
    };
    let signs = Sign::ALL.into_iter().filter(|sign| agent.has(*sign)).map(Sign::as_str);
    of_state.into_iter().chain(signs).collect::<Vec<_>>().join(" · ")
}

fn notable(model: &Model, fits: &dyn Fn(&str) -> bool) -> Markup {
    let rows: Vec<_> = model.notable().filter(|one| fits(one.session.as_str())).take(DECISIONS).collect();
    html! {
        @if rows.is_empty() { p.none { "Nothing of what the daemon remembers was refused, asked or failed." } }
        @else {
            div.scroll { table.rows.fold {
                thead { tr { th { "time, UTC" } th { "verdict" } th { "agent" } th { "point" } th { "tool" } th { "by" } th { "reason" } } }
                tbody {
                    @for one in rows {
                        tr {
                            td.num { (decision_link(&one.event.to_string(), &lineside_core::Timestamp::from_millisecond(one.time).map(clock).unwrap_or_default())) }
                            td { @if one.has_failed && one.verdict <= Strength::Allow { span.verdict.v-failed { "! failed" } } @else { (verdict(one.verdict.as_str())) } }
                            td { (session_link(one.session.as_str(), &one.agent)) " " small { (one.host) @if !one.host.is_empty() { " · " } (one.project) } }
                            td.dim { (one.point) }
                            td data-of="tool" { (one.tool.as_deref().unwrap_or_default()) }
                            td.dim data-of="by" { (one.by.as_deref().unwrap_or_default()) }
                            td.text { (one.reason) }
                        }
                    }
                }
            } }
        }
    }
}

/// The shape of a state, which tells it from others without its colour.
pub(super) fn shape(state: State) -> Markup {
    let path = match state {
        State::Running => "M2 2h8v8H2z",
        State::Waiting => "M6 .8 11.2 6 6 11.2.8 6z",
        State::Blocked => "M2 2l8 8M10 2l-8 8",
        State::Stuck => "M6 1.2 11 10.5H1z",
        State::Idle => "M4 4h4v4H4z",
    };
    let is_line = state == State::Blocked;
    html! {
        svg.shape viewBox="0 0 12 12" width="10" height="10" aria-hidden="true" {
            path d=(path) fill=(if is_line { "none" } else { "currentColor" }) stroke="currentColor" stroke-width=(if is_line { "2.4" } else { "0" }) {}
        }
    }
}

/// Events and refusals of the last seconds, as bars.
fn spark(rates: &[(u32, u32)]) -> Markup {
    let most = rates.iter().map(|(events, _)| *events).max().unwrap_or_default().max(1);
    let bars = |of: &dyn Fn(&(u32, u32)) -> u32, class: &str| {
        let mut path = String::new();
        for (at, rate) in rates.iter().enumerate() {
            let height = f64::from(of(rate)) / f64::from(most) * 26.0;
            if height > 0.0 {
                path.push_str(&format!("M{}.5 28v-{:.1}", at * 3 + 1, height.max(1.0)));
            }
        }
        format!("<path class=\"{class}\" d=\"{path}\"/>")
    };
    let last = rates.get(rates.len().saturating_sub(2)).copied().unwrap_or_default();
    html! {
        span.spark {
            svg viewBox="0 0 180 28" preserveAspectRatio="none" role="img" aria-label={ (last.0) " events a second, " (last.1) " refused" } {
                (raw(bars(&|rate| rate.0, "all"))) (raw(bars(&|rate| rate.1, "refused")))
            }
            b { (number(last.0.into())) small { "/s" } }
        }
    }
}
