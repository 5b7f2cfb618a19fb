//! Hooks that do what a script says: for each payload a reaction, after a number of polls.

use std::future::poll_fn;
use std::task::Poll;

use lineside_bus::register::RegisterHookError;
use lineside_bus::{Cx, Session};
use lineside_core::hook::Mode;
use lineside_core::json::{Value, json};
use lineside_core::{Event, Judgement, OnFailure, Part, Reply, Verdict};
use lineside_points::BeforeTool;

/// How many payloads a script knows; payload `n` is the tool input `{"n": n}`.
pub const PAYLOADS: u8 = 3;

/// What a scripted hook does with one payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// It says this.
    Says(Verdict),
    /// It has no objection and makes this payload of it. Gates do not do that; theirs counts as a failure.
    Makes(u8),
    /// It has no objection and gives this to the context.
    Tells(u8),
    /// It returns an error.
    Fails,
    /// It panics.
    Panics,
}

/// A hook with a script.
#[derive(Debug, Clone)]
pub struct ScriptedHook {
    /// Its name.
    pub name: String,
    /// Greater runs first.
    pub priority: i32,
    /// [`Part::Gate`] or [`Part::Amender`].
    pub part: Part,
    /// Whether it counts.
    pub mode: Mode,
    /// What its failure means.
    pub on_failure: OnFailure,
    /// What it does with each payload.
    pub script: [Reaction; PAYLOADS as usize],
    /// How many times it is polled before it answers.
    pub polls: u8,
}

impl ScriptedHook {
    /// What it does with a payload; beyond the script it starts again.
    #[must_use]
    pub fn reaction(&self, payload: u8) -> &Reaction {
        &self.script[usize::from(payload % PAYLOADS)]
    }

    /// Registers it on a session.
    ///
    /// # Errors
    /// Its name is blank.
    pub fn register(&self, session: &Session) -> Result<(), RegisterHookError> {
        let builder = session
            .intercept::<BeforeTool>(self.name.clone())
            .priority(self.priority)
            .on_failure(self.on_failure);
        let builder = if self.mode == Mode::Shadow { builder.shadow() } else { builder };
        let hook = self.clone();
        match self.part {
            Part::Amender => builder.try_amend(move |call, _cx: Cx| hook.clone().reply(call))?,
            _ => builder.try_gate(move |call, _cx: Cx| hook.clone().judge(call))?,
        };
        Ok(())
    }

    async fn judge(self, call: Event<BeforeTool>) -> Result<Judgement, String> {
        patience(self.polls).await;
        match self.reaction(number(&call.tool_input)) {
            Reaction::Says(verdict) => Ok(verdict.clone().into()),
            Reaction::Tells(text) => Ok(Judgement::from(Verdict::Continue).append(text.to_string())),
            Reaction::Makes(_) | Reaction::Fails => Err("as scripted".to_owned()),
            Reaction::Panics => std::panic::resume_unwind(Box::new("as scripted")),
        }
    }

    async fn reply(self, call: Event<BeforeTool>) -> Result<Reply<BeforeTool>, String> {
        patience(self.polls).await;
        match self.reaction(number(&call.tool_input)) {
            Reaction::Says(verdict) => Ok(verdict.clone().into()),
            Reaction::Tells(text) => Ok(Reply::from(Verdict::Continue).append(text.to_string())),
            Reaction::Makes(payload) => Ok(Reply::amend(BeforeTool::amend().tool_input(input(*payload)))),
            Reaction::Fails => Err("as scripted".to_owned()),
            Reaction::Panics => std::panic::resume_unwind(Box::new("as scripted")),
        }
    }
}

/// The tool input that stands for a payload.
#[must_use]
pub fn input(payload: u8) -> Value {
    json!({ "n": payload })
}

/// The payload that a tool input stands for.
#[must_use]
pub fn number(input: &Value) -> u8 {
    input.get("n").and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok()).unwrap_or_default()
}

/// Ready when it has been polled so many times.
async fn patience(mut polls: u8) {
    poll_fn(|cx| {
        if polls == 0 {
            return Poll::Ready(());
        }
        polls -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
