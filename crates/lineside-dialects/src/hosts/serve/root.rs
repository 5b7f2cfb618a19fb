//! What is known of one session and its subagents: holds, counts, names (HO-8, HO-29 to HO-33, HO-64).

use std::sync::Arc;
use std::time::Instant;

use lineside_core::envelope::AgentKind;
use lineside_core::json::{Map, Value};
use lineside_core::{Agent, Verdict};

use super::call::HostEvent;
use super::calls::Calls;
use super::holds::{HeldSubagent, Holds};
use super::incoming::Incoming;
use super::known::{Digest, digest_of_text};
use super::recent::Recent;
use super::sessions::Publishing;
use super::words::Put;
use crate::hosts::quirks::Active;
use crate::hosts::table::{Context, Scope, Words, point_named};
use crate::hosts::{Host, SERVED, claude, quirks};

/// How much of the reason of a hold is kept, in bytes.
const LONGEST_REASON: usize = 1 << 10;

/// How much of the texts of held subagents is written down, in bytes: a name is as long as its host likes, and all of them
/// are written with each change of one.
const MOST_WRITTEN: usize = 32 << 10;

/// What is known of a session and its subagents. All of it is bounded, so that a session takes about 2 MiB at most.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) last: u64,
    /// When it was heard of last.
    pub(super) heard: Option<Instant>,
    /// What it took when that was looked at last, in bytes.
    pub(super) weight: usize,
    /// Whether everything but its holds was forgotten.
    pub(super) is_bare: bool,
    /// Whether it has ended, and its last events may come once more.
    pub(super) is_over: bool,
    /// In whose tree it is, where it is below another session.
    pub(super) tree: Option<Arc<str>>,
    pub(super) first_cwd: Option<String>,
    pub(super) session_hold: Option<String>,
    pub(super) turn_hold: Option<String>,
    /// By the session of the subagent.
    pub(super) child_holds: Recent<ChildHold>,
    /// Consecutive blocks that were printed, by session.
    pub(super) blocks: Recent<u32>,
    /// The reason of the last block that was printed, until the next prompt, by session.
    pub(super) printed: Recent<Digest>,
    pub(super) tasks: Recent<()>,
    /// How many subagents of a name were started.
    pub(super) counted: Recent<u32>,
    /// Subagents that were started and have not stopped: session and name.
    pub(super) open: Recent<Box<str>>,
    pub(super) calls: Calls,
    /// Whether the first prompt since the start is still to come.
    pub(super) is_started: bool,
    /// Starts of the session that are not decided yet.
    pub(super) starting: u32,
}

/// What a session makes of what looks like a prompt.
#[derive(Debug)]
pub(super) struct BeforePrompt {
    /// Whether it is the first one since a start of Gemini.
    is_first: bool,
    /// The reason of the block that was printed last.
    printed: Option<Digest>,
    /// Whether it reports on a task that is known.
    is_report: bool,
}

impl BeforePrompt {
    /// Reads a prompt, or makes an event of what only looks like one.
    pub(super) fn read(self, arrival: &HostEvent, incoming: &mut Incoming, words: &mut Words) {
        let host = arrival.host;
        let mut prompt = incoming.payload.text("prompt").unwrap_or_default().to_owned();
        if self.is_first
            && let Some((_, rest)) =
                prompt.strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>\n\n"))
        {
            let rest = rest.to_owned();
            incoming.extra.insert("prompt".to_owned(), prompt.into());
            set(incoming, "prompt", rest.as_str().into());
            prompt = rest;
        }
        let may_continue = quirks(host).turns.reasons_come_back;
        let other = if may_continue && self.printed.is_some_and(|printed| printed == digest_of_text(&prompt))
        {
            Some(continuation(host))
        } else if self.is_report {
            Some(TASK_NOTIFICATION.to_owned())
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
        }
    }
}

/// The point of a prompt that is a program's own report of a task.
const TASK_NOTIFICATION: &str = "x.claude.after_task_notification";

/// The point of a prompt that is a reason of ours, which a program gives back to itself.
fn continuation(host: Host) -> String {
    format!("x.{host}.after_continuation")
}

/// The points of prompts that are no user's.
pub(in crate::hosts) fn of_prompts() -> impl Iterator<Item = String> {
    let come_back = SERVED.into_iter().filter(|host| quirks(*host).turns.reasons_come_back);
    come_back.map(continuation).chain([TASK_NOTIFICATION.to_owned()])
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
    pub(super) fn attribute(&self, arrival: &HostEvent, incoming: &mut Incoming) {
        let Some(is_subagents) = quirks(arrival.host).turns.is_subagents_prompt else { return };
        let is_its_own = match incoming.point.name {
            "before_stop" => true,
            "before_prompt" => is_subagents(&arrival.document),
            _ => false,
        };
        if !is_its_own {
            return;
        }
        if let Some((session, name)) = self.open.iter().next_back() {
            let below = session.strip_prefix(incoming.root.as_str()).and_then(|id| id.strip_prefix('/'));
            let id = below.unwrap_or(session);
            let role = Some(Arc::from(&**name));
            incoming.agent = Some(Agent { id: id.into(), kind: AgentKind::Subagent, role });
        }
    }

    /// What is to be known about what looks like a prompt.
    pub(super) fn before_prompt(
        &mut self,
        arrival: &HostEvent,
        incoming: &Incoming,
        session: &str,
    ) -> BeforePrompt {
        let prompt = incoming.payload.text("prompt").unwrap_or_default();
        let quirks = &quirks(arrival.host).turns;
        BeforePrompt {
            is_first: quirks.first_prompt_has_context && std::mem::take(&mut self.is_started),
            printed: self.printed.remove(session),
            is_report: quirks.reports_are_prompts && self.is_report(prompt),
        }
    }

    /// A prompt begins a turn.
    pub(super) fn prompted(&mut self, incoming: &Incoming, session: &str) {
        self.blocks.remove(session);
        if incoming.agent.is_none() {
            self.turn_hold = None;
        }
    }

    /// Whether a prompt is the report of a task that the session has named (CL-33).
    pub(super) fn is_report(&self, prompt: &str) -> bool {
        let rest = prompt.strip_prefix("<task-notification>").map(str::trim_start);
        let rest = rest.and_then(|rest| rest.strip_prefix("<task-id>"));
        let id = rest.and_then(|rest| Some(rest.split_once("</task-id>")?.0));
        id.is_some_and(|id| self.tasks.get(id.trim()).is_some())
    }

    /// The session of the subagent that an event is about (HO-8).
    pub(super) fn subagent(&mut self, root: &str, incoming: &Incoming) -> Option<String> {
        let starts = match incoming.point.name {
            "before_subagent" => true,
            "after_subagent" => false,
            _ => return None,
        };
        let name = incoming.child_name.clone().unwrap_or_else(|| "subagent".to_owned());
        let open = self.open.iter().rfind(|(_, known)| ***known == *name).map(|(session, _)| session);
        let session = match (&incoming.child, open) {
            (Some(id), _) => format!("{root}/{id}"),
            (None, Some(open)) if !starts => open.to_owned(),
            (None, _) => {
                let count = self.counted.get(&name).copied().unwrap_or_default() + 1;
                self.counted.insert(&name, count);
                format!("{root}/{name}#{count}")
            }
        };
        if starts {
            self.open.insert(&session, name.into());
        }
        Some(session)
    }

    /// Whether an earlier block keeps the agent working (HO-9, HO-32).
    pub(super) fn stop_active(&mut self, arrival: &HostEvent, incoming: &Incoming, counted: &str) -> bool {
        let is_stop = incoming.point.name == "before_stop";
        let own = self.blocks.get(counted).copied().unwrap_or_default() > 0;
        match (incoming.stop_flag, incoming.loops, quirks(arrival.host).turns.active) {
            (_, Some(loops), _) => loops > 0,
            (_, None, Active::Ours) if is_stop => own,
            (Some(true), None, _) => true,
            (Some(false), None, Active::TheirsIfSo) => own,
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
            let at_large = || self.child_holds.iter().map(|(_, hold)| hold).find(|hold| hold.at_large);
            own.or_else(at_large).map(|hold| &hold.reason)
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

    /// Counts a block that keeps an agent working; of one too many, which is to be taken back, it returns the notice
    /// (HO-32, HO-33).
    pub(super) fn count(
        &mut self,
        publishing: &Publishing,
        counted: &str,
        blocked: Option<&str>,
    ) -> Option<String> {
        let Some(reason) = blocked else {
            self.blocks.remove(counted);
            return None;
        };
        let cap = publishing.arrival.host.cap();
        let own = self.blocks.get(counted).copied().unwrap_or_default();
        let blocks = match publishing.incoming.loops {
            Some(loops) => u32::try_from(loops).unwrap_or(u32::MAX),
            // What continues once has done so, whatever is remembered of it (KI-5).
            None => own.max(u32::from(publishing.stop_active)),
        };
        if blocks < cap {
            self.blocks.insert(counted, own + 1);
            self.printed.insert(counted, digest_of_text(reason));
            return None;
        }
        self.blocks.remove(counted);
        Some(format!("lineside: stopping was allowed after {cap} blocks in a row: {reason}"))
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
                    self.open.remove(child);
                }
            }
            _ => {}
        }
        let Some((scope, reason)) = &put.hold else { return };
        let reason = clipped(reason);
        match scope {
            Scope::Session => self.session_hold = Some(reason),
            Scope::Turn => self.turn_hold = Some(reason),
            Scope::Subagent | Scope::SubagentAtLarge => {
                let is_named = publishing.incoming.child.is_some();
                let at_large = *scope == Scope::SubagentAtLarge || !is_named;
                match &publishing.child {
                    Some(child) if self.child_holds.has_room_for(child) => {
                        self.child_holds.insert(child, ChildHold { reason, at_large });
                    }
                    // No hold gives way to another one: all of the turn is held.
                    Some(_) => self.turn_hold = Some(reason),
                    None => {}
                }
            }
        }
    }

    /// What holds it, to be written down.
    pub(super) fn holds(&self) -> Holds {
        let (mut turn, mut subagents, mut room) = (self.turn_hold.clone(), Vec::new(), MOST_WRITTEN);
        for (session, ChildHold { reason, at_large }) in self.child_holds.iter() {
            let name = self.open.get(session);
            let texts = session.len() + name.map_or(0, |name| name.len()) + reason.len();
            let Some(left) = room.checked_sub(texts) else {
                // No hold gives way to another one: all of the turn is held.
                turn.get_or_insert_with(|| reason.clone());
                continue;
            };
            room = left;
            let (session, name) = (session.to_owned(), name.map(ToString::to_string));
            subagents.push(HeldSubagent { session, name, reason: reason.clone(), at_large: *at_large });
        }
        Holds { session: self.session_hold.clone(), turn, subagents }
    }

    /// It is held as it was before, and nothing else is known of it.
    pub(super) fn hold_again(&mut self, holds: Holds) {
        (self.session_hold, self.turn_hold) = (holds.session, holds.turn);
        for HeldSubagent { session, name, reason, at_large } in holds.subagents {
            if let Some(name) = name {
                // A further one of its name has another number, and its own stop is found.
                let number = session.rsplit_once('#').and_then(|(_, number)| number.parse().ok());
                let number = number.max(self.counted.get(&name).copied());
                number.into_iter().for_each(|number| self.counted.insert(&name, number));
                self.open.insert(&session, name.into());
            }
            self.child_holds.insert(&session, ChildHold { reason, at_large });
        }
    }

    /// Forgets everything but that it is held.
    pub(super) fn bare(&mut self) {
        let child = self.child_holds.iter().next().map(|(_, hold)| hold.reason.clone());
        let Self { last, heard, weight, starting, .. } = *self;
        *self = Self {
            first_cwd: self.first_cwd.take(),
            session_hold: self.session_hold.take(),
            turn_hold: self.turn_hold.take().or(child),
            is_started: self.is_started,
            is_bare: true,
            last,
            heard,
            weight,
            starting,
            ..Self::default()
        };
    }

    pub(super) fn is_held(&self) -> bool {
        self.session_hold.is_some() || self.turn_hold.is_some() || !self.child_holds.is_empty()
    }

    /// About how many bytes it takes.
    pub(super) fn weigh(&self) -> usize {
        let texts = [&self.first_cwd, &self.session_hold, &self.turn_hold];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let none = |_: &u32| 0;
        size_of::<Self>()
            + texts
            + self.child_holds.weight(|hold| hold.reason.len())
            + self.blocks.weight(none)
            + self.printed.weight(|_| 0)
            + self.tasks.weight(|()| 0)
            + self.counted.weight(none)
            + self.open.weight(|name| name.len())
            + self.calls.weight()
    }
}

/// As much of a reason as is kept.
fn clipped(reason: &str) -> String {
    let mut end = reason.len().min(LONGEST_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_owned()
}

#[cfg(test)]
mod tests;
