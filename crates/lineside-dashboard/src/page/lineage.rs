//! The tree of agents over processes and programs, and the hooks that one of them is under, each with where it comes from.

use std::collections::HashMap;

use lineside_fleet::{Agent, Model, Sign};
use maud::{Markup, html};

use super::{BASE, fleet::shape, session_link};
use crate::text::{encoded, line, number};

/// With more agents than this, trees are shown folded.
const OPEN: usize = 120;

/// A hook in force.
#[derive(Debug, Clone, Default)]
pub struct InForce {
    /// Its name, its point, and what it is.
    pub name: String,
    /// See [`name`](Self::name).
    pub point: String,
    /// See [`name`](Self::name).
    pub part: String,
    /// Whose it is: `managed`, `user`, `project` or `session`.
    pub layer: String,
    /// Of a hook of a session, the depth of that in the tree.
    pub depth: u32,
    /// The file and line that declare it, or the program.
    pub origin: String,
    /// What its filter lets through.
    pub condition: String,
    /// `ready`, or why it does not run.
    pub state: String,
}

/// A session that was chosen, with its hooks.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// The session.
    pub session: String,
    /// The digest of its hooks.
    pub coverage: String,
    /// The hooks, point by point in their order.
    pub hooks: Vec<InForce>,
}

/// The content.
#[must_use]
pub fn content(model: &Model, chosen: Option<&Chosen>, fits: &dyn Fn(&str) -> bool) -> Markup {
    let mut below: HashMap<&str, Vec<&Agent>> = HashMap::new();
    let (mut tops, mut all) = (Vec::new(), 0);
    for agent in model.agents().filter(|agent| fits(agent.session.as_str())) {
        all += 1;
        let parent = agent
            .parent
            .as_ref()
            .filter(|parent| fits(parent.as_str()) && model.agent(parent.as_str()).is_some());
        match parent {
            Some(parent) => below.entry(parent.as_str()).or_default().push(agent),
            None => tops.push(agent),
        }
    }
    html! {
        h1 { "Lineage" span.count { (number(all)) @if all == 1 { " agent, " } @else { " agents, " } (number(tops.len() as u64)) " at the top" } }
        div.lineage {
            section aria-label="Tree of agents" {
                @if tops.is_empty() { p.none { "No agent is open." } }
                ul.tree { @for agent in &tops { (node(agent, &below, all <= OPEN as u64, chosen)) } }
            }
            aside aria-label="Hooks in force" { (hooks(chosen)) }
        }
    }
}

fn node(agent: &Agent, below: &HashMap<&str, Vec<&Agent>>, is_open: bool, chosen: Option<&Chosen>) -> Markup {
    let children = below.get(agent.session.as_str()).map(Vec::as_slice).unwrap_or_default();
    html! {
        li {
            div.node { (row(agent, chosen)) @if !children.is_empty() { span.count { (children.len()) " below" } } }
            @if !children.is_empty() {
                details data-key=(encoded(agent.session.as_str())) open[is_open || agent.depth == 0 && children.len() <= OPEN] {
                    summary aria-label={ (children.len()) " below " (agent.label) } {}
                    ul { @for child in children { (node(child, below, is_open, chosen)) } }
                }
            }
        }
    }
}

fn row(agent: &Agent, chosen: Option<&Chosen>) -> Markup {
    let session = agent.session.as_str();
    let is_chosen = chosen.is_some_and(|chosen| chosen.session == session);
    html! {
        span.{ "s-" (agent.state.as_str()) } title=(agent.state.as_str()) { (shape(agent.state)) }
        a.{ @if agent.has(Sign::Mismatch) { "mismatch" } } href={ (BASE) "/lineage?session=" (encoded(session)) } aria-current=[is_chosen.then_some("true")] { (agent.label) }
        @if agent.depth == 0 && !agent.project.is_empty() { span.project { (agent.project) } }
        span.dim {
            @if !agent.machine.is_empty() { "on " (agent.machine) " · " }
            @if !agent.host.is_empty() { (agent.host) " · " }
            @if let Some(process) = agent.process { "process " (process) " · " }
            @if let Some(by) = agent.attributed.filter(|by| *by != "nothing") { "by " (by) " · " }
            (number(agent.events())) @if agent.events() == 1 { " event" } @else { " events" }
            @if agent.refused() > 0 { ", " span.v-block { (number(agent.refused())) " refused" } }
        }
        @if agent.has(Sign::Mismatch) { span.mismatch { "coverage differs" } }
        @if agent.has(Sign::Untrusted) { span.v-ask { "project not trusted" } }
    }
}

fn hooks(chosen: Option<&Chosen>) -> Markup {
    let Some(chosen) = chosen else {
        return html! { h2 { "Hooks in force" } p.none { "Choose an agent to see what it is under, and where each hook comes from." } };
    };
    let mut point = "";
    let mut groups: Vec<(&str, Vec<&InForce>)> = Vec::new();
    for hook in &chosen.hooks {
        if hook.point != point || groups.is_empty() {
            point = &hook.point;
            groups.push((point, Vec::new()));
        }
        if let Some((_, group)) = groups.last_mut() {
            group.push(hook);
        }
    }
    html! {
        h2 { "Hooks in force" span.count { (chosen.hooks.len()) } }
        p { (session_link(&chosen.session, &chosen.session)) " · coverage " code { (line(&chosen.coverage.chars().take(12).collect::<String>())) } }
        @if chosen.hooks.is_empty() { p.none { "It is under no hook." } }
        @for (point, hooks) in groups {
            h3 { (point) }
            ol.in-force {
                @for hook in hooks {
                    li.{ "l-" (hook.layer) } {
                        b { (line(&hook.name)) } " " span.dim { (hook.part) }
                        @if hook.state != "ready" { " " span.v-ask { (hook.state) } }
                        p.dim {
                            span.layer { (hook.layer) @if hook.layer == "session" { " at depth " (hook.depth) } }
                            @if !hook.origin.is_empty() { " · " code { (line(&hook.origin)) } }
                            @if !hook.condition.is_empty() { " · if " (line(&hook.condition)) }
                        }
                    }
                }
            }
        }
    }
}
