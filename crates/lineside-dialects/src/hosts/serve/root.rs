//! What is known of one session and its subagents: holds, counts, names (HO-8, HO-29 to HO-33, HO-64).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lineside_core::envelope::AgentKind;
use lineside_core::json::{Map, Value};
use lineside_core::{Agent, Verdict};

use super::call::Arrival;
use super::calls::Calls;
use super::incoming::Incoming;
use super::outcome::Outcome;
use super::sessions::Publishing;
use super::words::{Put, Telling, put};
use crate::hosts::program::Host;
use crate::hosts::table::{Context, Scope, Words, point_named};
use crate::hosts::{claude, kimi};

/// What is known of a session and its subagents.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) last: u64,
    pub(super) first_cwd: Option<String>,
    pub(super) session_hold: Option<String>,
    pub(super) turn_hold: Option<String>,
    /// By the session of the subagent.
    pub(super) child_holds: HashMap<String, ChildHold>,
    /// Consecutive blocks that were printed, by session.
    pub(super) blocks: HashMap<String, u32>,
    /// The reason of the last block that was printed, until the next prompt, by session.
    pub(super) printed: HashMap<String, String>,
    pub(super) tasks: HashSet<String>,
    /// How many subagents of a name were started.
    pub(super) counted: HashMap<String, u32>,
    /// Subagents that were started and have not stopped: name and session.
    pub(super) open: Vec<(String, String)>,
    pub(super) calls: Calls,
    /// Whether the first prompt since the start is still to come.
    pub(super) is_started: bool,
    /// Starts of the session that are not decided yet.
    pub(super) starting: u32,
}

#[derive(Debug)]
pub(super) struct ChildHold {
    pub(super) reason: String,
    pub(super) at_large: bool,
}

pub(super) fn set(incoming: &mut Incoming, field: &str, value: Value) {
    let fields = Map::from_iter([(field.to_owned(), value)]);
    if let Ok(payload) = incoming.payload.with_fields(&fields) {
        incoming.payload = payload;
    }
}

impl Root {
    /// Events that a host does not mark belong to the subagent that was opened last (KI-21).
    pub(super) fn attribute(&self, arrival: &Arrival, incoming: &mut Incoming) {
        let is_its_own = match incoming.point.name {
            "before_stop" => true,
            "before_prompt" => !kimi::is_code(&arrival.document),
            _ => false,
        };
        if arrival.host != Host::Kimi || !is_its_own {
            return;
        }
        if let Some((name, session)) = self.open.last() {
            let below = session.strip_prefix(incoming.root.as_str()).and_then(|id| id.strip_prefix('/'));
            let id = below.unwrap_or(session);
            let role = Some(Arc::from(name.as_str()));
            incoming.agent = Some(Agent { id: id.into(), kind: AgentKind::Subagent, role });
        }
    }

    /// A prompt, or what looks like one.
    pub(super) fn prompted(
        &mut self,
        arrival: &Arrival,
        incoming: &mut Incoming,
        session: &str,
        words: &mut Words,
    ) {
        let host = arrival.host;
        let mut prompt = incoming.payload.text("prompt").unwrap_or_default().to_owned();
        if host == Host::Gemini
            && std::mem::take(&mut self.is_started)
            && let Some((_, rest)) =
                prompt.strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>\n\n"))
        {
            let rest = rest.to_owned();
            incoming.extra.insert("prompt".to_owned(), prompt.into());
            set(incoming, "prompt", rest.as_str().into());
            prompt = rest;
        }
        let printed = self.printed.remove(session);
        let may_continue = matches!(host, Host::Gemini | Host::Copilot | Host::Qwen);
        let other = if may_continue && printed.as_deref() == Some(&*prompt) {
            Some(format!("x.{host}.after_continuation"))
        } else if host == Host::Claude && self.is_report(&prompt) {
            Some("x.claude.after_task_notification".to_owned())
        } else {
            None
        };
        if let Some(point) = other.as_deref().and_then(|name| point_named(name, &[])) {
            let fields = Map::from_iter([("prompt".to_owned(), prompt.into())]);
            if let Ok(payload) = (point.decode)(point, fields) {
                (incoming.point, incoming.payload) = (point, payload);
            }
            let context = match words.context {
                Context::BesideBlock(_) => Context::Waits,
                context => context,
            };
            *words = Words { context, notices: words.notices, quiet: words.quiet, ..claude::REPORTED };
            return;
        }
        self.blocks.remove(session);
        if incoming.agent.is_none() {
            self.turn_hold = None;
        }
    }

    /// CL-33
    pub(super) fn is_report(&self, prompt: &str) -> bool {
        let rest = prompt.strip_prefix("<task-notification>").map(str::trim_start);
        let rest = rest.and_then(|rest| rest.strip_prefix("<task-id>"));
        let id = rest.and_then(|rest| Some(rest.split_once("</task-id>")?.0));
        id.is_some_and(|id| self.tasks.contains(id.trim()))
    }

    /// The session of the subagent that an event is about (HO-8).
    pub(super) fn subagent(&mut self, root: &str, incoming: &mut Incoming) -> Option<String> {
        let starts = match incoming.point.name {
            "before_subagent" => true,
            "after_subagent" => false,
            _ => return None,
        };
        let name = incoming.child_name.clone().unwrap_or_else(|| "subagent".to_owned());
        let open = self.open.iter().rposition(|(known, _)| *known == name);
        let session = match (&incoming.child, open) {
            (Some(id), _) => format!("{root}/{id}"),
            (None, Some(open)) if !starts => self.open[open].1.clone(),
            (None, _) => {
                let count = self.counted.entry(name.clone()).or_default();
                *count += 1;
                format!("{root}/{name}#{count}")
            }
        };
        if starts {
            self.open.push((name, session.clone()));
        }
        set(incoming, "child_session", session.as_str().into());
        Some(session)
    }

    /// Whether an earlier block keeps the agent working (HO-9, HO-32).
    pub(super) fn stop_active(&mut self, arrival: &Arrival, incoming: &Incoming, counted: &str) -> bool {
        let is_stop = incoming.point.name == "before_stop";
        let own = self.blocks.get(counted).copied().unwrap_or_default() > 0;
        match (incoming.stop_flag, incoming.loops, arrival.host) {
            (_, Some(loops), _) => loops > 0,
            (_, None, Host::Qwen) if is_stop => own,
            (Some(true), None, _) => true,
            (Some(false), None, Host::Gemini) => own,
            (Some(false), None, _) => {
                self.blocks.remove(counted);
                false
            }
            (None, None, _) => own,
        }
    }

    /// What a hold decides (HO-29, HO-30).
    pub(super) fn held(&self, point: &str, session: &str) -> Option<Verdict> {
        let of_child = || {
            let own = self.child_holds.get(session);
            own.or_else(|| self.child_holds.values().find(|hold| hold.at_large)).map(|hold| &hold.reason)
        };
        let all = self.session_hold.as_ref();
        let turn = || all.or(self.turn_hold.as_ref());
        let reason = match point {
            "before_prompt" => all,
            "before_subagent" => turn(),
            "before_tool" | "before_permission" => turn().or_else(of_child),
            "before_stop" => return turn().or_else(of_child).map(|_| Verdict::Continue),
            _ => None,
        };
        reason.map(|reason| Verdict::block(reason.clone()))
    }

    /// Counts a block that keeps an agent working, and takes one too many back (HO-32, HO-33).
    pub(super) fn count(
        &mut self,
        publishing: &Publishing,
        counted: &str,
        telling: &Telling<'_>,
        outcome: &Outcome,
        printed: Put,
    ) -> Put {
        let Some(reason) = printed.blocked.clone() else {
            self.blocks.remove(counted);
            return printed;
        };
        let cap = publishing.arrival.host.cap();
        let own = self.blocks.get(counted).copied().unwrap_or_default();
        let blocks = match publishing.incoming.loops {
            Some(loops) => u32::try_from(loops).unwrap_or(u32::MAX),
            // What continues once has done so, whatever is remembered of it (KI-5).
            None => own.max(u32::from(publishing.stop_active)),
        };
        if blocks < cap {
            self.blocks.insert(counted.to_owned(), own + 1);
            self.printed.insert(counted.to_owned(), reason);
            return printed;
        }
        self.blocks.remove(counted);
        let notice = format!("lineside: stopping was allowed after {cap} blocks in a row: {reason}");
        let mut outcome = outcome.clone();
        outcome.verdict = Verdict::Continue;
        outcome.after.clone_from(&outcome.before);
        outcome.notices.push(notice);
        put(telling, &outcome)
    }

    /// What an event leaves for later ones.
    pub(super) fn take_in(&mut self, publishing: &Publishing, put: &Put) {
        let name = publishing.incoming.point.name;
        match name {
            "before_session" => {
                self.is_started = true;
                if put.hold.is_none() {
                    self.session_hold = None;
                }
            }
            "after_subagent" => {
                if let Some(child) = publishing.child.as_ref().filter(|_| put.blocked.is_none()) {
                    self.child_holds.remove(child);
                    self.open.retain(|(_, open)| open != child);
                }
            }
            _ => {}
        }
        let Some((scope, reason)) = put.hold.clone() else { return };
        match scope {
            Scope::Session => self.session_hold = Some(reason),
            Scope::Turn => self.turn_hold = Some(reason),
            Scope::Subagent | Scope::SubagentAtLarge => {
                let is_named = publishing.incoming.child.is_some();
                let at_large = scope == Scope::SubagentAtLarge || !is_named;
                if let Some(child) = &publishing.child {
                    self.child_holds.insert(child.clone(), ChildHold { reason, at_large });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
