//! Which arrivals are one call, or one event of a program that runs several entries (HO-40 to HO-43).

use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::json::Value;
use lineside_core::plan::Generation;

use super::call::HostEvent;
use super::incoming::Incoming;
use super::known::{Digest, Known, Shared, digest_of_folder, digest_of_text};
use super::outcome::Decided;
use crate::hosts::program::Host;
use crate::hosts::quirks;
use crate::hosts::tools::in_any_words;

/// For how long an event that is no call may come through the other entry of one program.
const BESIDE: Duration = Duration::from_secs(5);

/// The program whose entry an arrival has come through, the name of its event there, and of an event that is no call whether
/// the entry states it: one in a project may, and one of the user not. So it is of a call where all entries state their events.
type Entry = (Host, Digest, bool);

/// How long an arrival may find its partner.
pub(super) const OPEN: Duration = Duration::from_secs(600);

/// How many calls of one session are remembered.
const MOST: usize = 1024;

/// What the calls of one session that were decided may take together, in bytes. The oldest of them are forgotten then: their
/// next arrivals are calls of their own.
const MOST_BYTES: usize = 1 << 20;

/// A call that is under way or was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(u64);

/// The calls of a session and its subagents, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    next: u64,
    weight: usize,
}

#[derive(Debug)]
struct Call {
    id: CallId,
    of: Arc<Arriving>,
    /// The other entries and events through which it came.
    partners: Vec<Entry>,
    since: Instant,
    is_open: bool,
    /// What was decided; nothing while it is under way.
    outcome: Option<Arc<Decided>>,
    /// The hooks by which it was.
    by: Option<Generation>,
}

/// What an arrival is known by: nothing in it is as long as its document may be, but for the name of its session.
#[derive(Debug, Clone)]
pub(super) struct Arriving {
    session: String,
    point: &'static str,
    /// Whether it is of a tool call.
    is_call: bool,
    /// The id of the call, or of the subagent that an event is about.
    call: Option<Digest>,
    tool: Option<Digest>,
    /// The input of the tool, or the payload of an event.
    input: Known,
    /// The result, at a review.
    output: Option<Known>,
    /// Where the agent works: the folder that the document names, else the root of the workspace.
    folder: Option<Digest>,
    /// Whether the document names it.
    names_folder: bool,
    entry: Entry,
    /// Whether the program runs entries of other programs beside its own.
    comes_twice: bool,
}

/// What an arrival is.
pub(super) enum Found {
    /// A call of its own.
    New(CallId),
    /// One that is under way.
    Undecided,
    /// One that was decided.
    Decided(Arc<Decided>),
}

impl Arriving {
    pub(super) fn of(incoming: &Incoming, session: &str, arrival: &HostEvent) -> Self {
        let point = incoming.point.name;
        let is_call =
            matches!(point, "before_tool" | "before_permission" | "after_tool" | "after_tool_error");
        let payload = &incoming.payload;
        let input = match is_call {
            true => Known::of(payload.value("tool_input").unwrap_or(&Value::Null)),
            false => Known::of(&Value::Object(payload.to_json())),
        };
        let (call, _) = incoming.subagent();
        // Those calls that may have an id are known by it.
        let is_told_apart = !is_call || quirks(arrival.entry).entries.names_event;
        let cwd = incoming.cwd.as_deref().filter(|cwd| !cwd.is_empty());
        let output = ["tool_output", "error"].into_iter().find_map(|field| payload.value(field));
        Self {
            session: session.to_owned(),
            point,
            is_call,
            call: payload.text("tool_call_id").or(call).map(digest_of_text),
            tool: payload.text("tool_name").map(|name| digest_of_text(in_any_words(name))),
            input,
            output: output.filter(|_| is_review(point)).map(Known::of),
            folder: cwd.or(incoming.project_root.as_deref()).map(digest_of_folder),
            names_folder: incoming.names_cwd,
            entry: (arrival.entry, digest_of_text(&arrival.event), is_told_apart && arrival.is_stated),
            comes_twice: incoming.host.comes_twice(),
        }
    }

    fn is_review(&self) -> bool {
        is_review(self.point)
    }

    /// Whether it is of a tool call.
    pub(super) fn is_call(&self) -> bool {
        self.is_call
    }
}

fn is_review(point: &str) -> bool {
    matches!(point, "after_tool" | "after_tool_error")
}

impl Call {
    fn is_same(&self, arriving: &Arriving, now: Instant) -> bool {
        let Arriving { session, point, tool, .. } = arriving;
        if self.of.session != *session || self.of.point != *point || self.of.tool != *tool {
            return false;
        }
        if !self.has_output_of(arriving) || !self.is_where(arriving) {
            return false;
        }
        let is_young = now.saturating_duration_since(self.since) <= OPEN;
        let is_open = self.is_open || arriving.is_review();
        if !arriving.is_call {
            let is_of_other = self.of.entry.0 != arriving.entry.0 || self.of.entry.1 != arriving.entry.1;
            // Of two entries of one program the second one comes beside the first; what comes later may be of anything below.
            let is_beside = now.saturating_duration_since(self.since) <= BESIDE || self.outcome.is_none();
            let may_be = arriving.comes_twice || !is_of_other && is_beside;
            return is_open
                && is_young
                && may_be
                && self.of.call == arriving.call
                && self.is_through_another(arriving)
                && self.any_input(|input| input.has_all_of(&arriving.input));
        }
        if let (Some(own), Some(other)) = (&self.of.call, &arriving.call) {
            // Some models number their calls anew in each answer, so an id alone does not name what was judged.
            let is_current = is_open && (is_young || self.outcome.is_none());
            return own == other && is_current && self.has_input_of(arriving);
        }
        is_open
            && is_young
            && self.is_through_another(arriving)
            && self.any_input(|input| {
                arriving.input.shared(input) == Shared::Equal && self.covers(input, arriving)
            })
    }

    /// Whether an arrival came through an entry and event through which this one did not.
    fn is_through_another(&self, arriving: &Arriving) -> bool {
        self.of.entry != arriving.entry && !self.partners.contains(&arriving.entry)
    }

    /// Whether an arrival names no other folder than the one for which the call was judged: what is harmless in one is
    /// not in another. Of the two events of one program for a call one may name the folder that the other does not.
    fn is_where(&self, arriving: &Arriving) -> bool {
        let is_of_program = || {
            self.of.entry.0 == arriving.entry.0 && self.of.entry != arriving.entry && !self.of.names_folder
        };
        !arriving.names_folder || self.of.folder == arriving.folder || is_of_program()
    }

    /// Whether an arrival has nothing in its input that was not in this one, nor another folder.
    fn covers(&self, input: &Known, arriving: &Arriving) -> bool {
        let folder = if arriving.names_folder { &arriving.folder } else { &self.of.folder };
        input.covers(&arriving.input, folder.as_ref())
    }

    fn amended(&self) -> Option<&Known> {
        self.outcome.as_ref()?.amended_input()
    }

    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let of = size_of::<Self>() + size_of::<Arriving>() + self.of.session.len() + self.of.input.weight();
        let output = self.of.output.as_ref().map_or(0, Known::weight);
        let partners = size_of_val(&*self.partners);
        of + output + partners + self.outcome.as_ref().map_or(0, |outcome| outcome.weight())
    }

    /// Whether an arrival with the same id has this call's input. One event of a host says it in full; another event may
    /// show less of it. What it shows beyond was not judged: a program that shows the harmless part of a call first would
    /// have the rest pass.
    fn has_input_of(&self, arriving: &Arriving) -> bool {
        self.any_input(|input| {
            if self.of.entry == arriving.entry {
                arriving.input == *input
            } else {
                arriving.input.shared(input) != Shared::Differs && self.covers(input, arriving)
            }
        })
    }

    /// Whether nothing is in the result that arrives that was not in the one of this call, so that what was withheld of
    /// this one, or was not, is so for that one.
    fn has_output_of(&self, arriving: &Arriving) -> bool {
        match (&self.of.output, &arriving.output) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(other)) => own.has_all_of(other),
        }
    }

    /// Whether its input is such, as it came or as it was amended.
    fn any_input(&self, is_such: impl Fn(&Known) -> bool) -> bool {
        is_such(&self.of.input) || self.amended().is_some_and(is_such)
    }
}

impl Calls {
    /// An arrival comes to a session that is under these hooks now. What was decided by others is not the decision.
    pub(super) fn arrive(
        &mut self,
        arriving: &Arc<Arriving>,
        under: Option<Generation>,
        now: Instant,
    ) -> Found {
        // A session that has ended is under none.
        if arriving.point != "after_session" {
            self.forget(|call| call.outcome.is_some() && call.by != under && call.is_same(arriving, now));
        }
        if let Some(call) = self.calls.iter_mut().find(|call| call.is_same(arriving, now)) {
            return match &call.outcome {
                None => Found::Undecided,
                Some(outcome) => {
                    let outcome = Arc::clone(outcome);
                    if !call.partners.contains(&arriving.entry) {
                        call.partners.push(arriving.entry);
                        self.weight += size_of_val(&arriving.entry);
                        self.forget_the_oldest();
                    }
                    Found::Decided(outcome)
                }
            };
        }
        if !arriving.is_call {
            self.close_events(arriving);
        } else if arriving.is_review() {
            self.close(arriving);
        } else {
            self.forget_results(arriving);
        }
        self.expire(now);
        if self.calls.len() >= MOST {
            // One that is under way may be asked for at any moment.
            let decided = self.calls.iter().position(|call| call.outcome.is_some());
            self.remove(decided.unwrap_or_default());
        }
        let id = CallId(self.next);
        self.next += 1;
        let call = Call {
            id,
            of: Arc::clone(arriving),
            partners: Vec::new(),
            since: now,
            is_open: true,
            outcome: None,
            by: None,
        };
        self.weight += call.weight();
        self.calls.push(call);
        Found::New(id)
    }

    /// About how many bytes all of them take.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Forgets what was decided so long ago that no arrival is the same call.
    pub(super) fn expire(&mut self, now: Instant) {
        self.forget(|call| now.saturating_duration_since(call.since) > OPEN && call.outcome.is_some());
    }

    fn forget(&mut self, is_forgotten: impl Fn(&Call) -> bool) {
        let weight = &mut self.weight;
        self.calls.retain(|call| {
            let is_forgotten = is_forgotten(call);
            *weight -= if is_forgotten { call.weight() } else { 0 };
            !is_forgotten
        });
    }

    fn forget_the_oldest(&mut self) {
        while self.weight > MOST_BYTES
            && let Some(decided) = self.calls.iter().position(|call| call.outcome.is_some())
        {
            self.remove(decided);
        }
    }

    fn remove(&mut self, place: usize) {
        self.weight -= self.calls.remove(place).weight();
    }

    /// A result ends the call that it is of, at each gate that the call has passed.
    fn close(&mut self, review: &Arriving) {
        for point in ["before_tool", "before_permission"] {
            let gate = self.calls.iter_mut().find(|call| {
                let same = match (&call.of.call, &review.call) {
                    (Some(own), Some(other)) => own == other,
                    _ => {
                        let is_shared = |input: &Known| review.input.shared(input) == Shared::Equal;
                        call.of.tool == review.tool && call.any_input(is_shared)
                    }
                };
                call.is_open && call.of.point == point && call.of.session == review.session && same
            });
            if let Some(gate) = gate {
                gate.is_open = false;
            }
        }
    }

    /// An event that comes anew ends the earlier one at its point.
    fn close_events(&mut self, event: &Arriving) {
        let is_earlier =
            |of: &Arriving| of.point == event.point && of.session == event.session && of.call == event.call;
        self.calls.iter_mut().filter(|call| is_earlier(&call.of)).for_each(|call| call.is_open = false);
    }

    /// A new call ends what is known of the results of an earlier one with the same id.
    fn forget_results(&mut self, gate: &Arriving) {
        let is_earlier = |of: &Arriving| {
            of.is_review() && of.session == gate.session && of.call.is_some() && of.call == gate.call
        };
        self.forget(|call| call.outcome.is_some() && is_earlier(&call.of));
    }

    /// A call was decided by these hooks.
    pub(super) fn decide(&mut self, id: CallId, outcome: &Arc<Decided>, by: Option<Generation>) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else { return };
        self.weight -= call.weight();
        (call.outcome, call.by) = (Some(Arc::clone(outcome)), by);
        self.weight += call.weight();
        self.forget_the_oldest();
    }

    /// A call was given up before it was decided.
    pub(super) fn abandon(&mut self, id: CallId) {
        self.forget(|call| call.id == id && call.outcome.is_none());
    }
}

#[cfg(test)]
mod tests;
