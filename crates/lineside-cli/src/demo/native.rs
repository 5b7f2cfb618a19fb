//! The native hooks of the demo: closures, an actor and an observer, beside the hook folders of the project.
//!
//! Some are registered on the bus and hold for all sessions; two are registered on the session of the main agent, and its
//! subagents are under them because they are its subagents.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use lineside::core::{Point, SessionId};
use lineside::kameo::Actor;
use lineside::kameo::actor::{ActorRef, Spawn as _};
use lineside::kameo::message::{Context, Message};
use lineside::prelude::*;

/// How many shell commands each agent may run in one session.
const BUDGET: u32 = 2;

/// What the observer has heard, and the losses that were reported to it.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) heard: AtomicU64,
    pub(super) lost: AtomicU64,
}

/// Registers what holds for every session.
///
/// # Errors
/// A hook that cannot be registered.
pub(super) fn on_bus(bus: &Bus) -> Result<Arc<Tally>> {
    bus.intercept::<BeforeTool>("locked-tests")
        .source("closure")
        .priority(1000)
        .matching(tool("Shell").text("^cargo test"))
        .amend(async |call, _cx| match call.command().as_deref() {
            Some(command) if !command.contains("--locked") => {
                let mut input = call.tool_input.clone();
                input["command"] = command.replacen("cargo test", "cargo test --locked", 1).into();
                Reply::amend(BeforeTool::amend().tool_input(input))
            }
            _ => Verdict::Continue.into(),
        })?;
    bus.intercept::<AfterTool>("redact-tokens")
        .source("closure")
        .priority(1000)
        .matching(text("tok_live_"))
        .amend(async |result, _cx| match result.tool_output.as_str() {
            Some(output) => Reply::amend(AfterTool::amend().tool_output(without_tokens(output))),
            None => Verdict::Continue.into(),
        })?;
    bus.intercept::<AfterToolBatch>("changed-files").source("closure").gate(async |batch, _cx| {
        let paths: Vec<_> = batch.changed_files.iter().map(|file| file.path.as_str()).collect();
        let text = format!("Changed in this step: {}.", paths.join(", "));
        Judgement::from(Verdict::Continue).append(text)
    })?;
    bus.intercept::<AfterToolBatch>("style-score")
        .source("closure")
        .priority(-10)
        .on_failure(OnFailure::Continue)
        .try_gate(async |_batch, _cx| Err::<Verdict, _>("no scoring service is set up"))?;
    let tally = Arc::new(Tally::default());
    count::<BeforeTool>(bus, &tally)?;
    count::<AfterTool>(bus, &tally)?;
    count::<BeforeStop>(bus, &tally)?;
    Ok(tally)
}

/// Registers what holds for one session and everything below it.
///
/// # Errors
/// A hook that cannot be registered.
pub(super) fn on_session(session: &Session) -> Result<()> {
    session
        .intercept::<BeforeTool>("ask-before-push")
        .source("closure")
        .priority(500)
        .matching(tool("Shell").text("git push"))
        .gate(async |_call, _cx| Verdict::ask("a push leaves this machine; a person decides"))?;
    session
        .intercept::<BeforeTool>("shell-budget")
        .source("actor")
        .matching(tool("Shell"))
        .actor(ShellBudget::spawn(ShellBudget::default()))?;
    Ok(())
}

fn count<P: Point>(bus: &Bus, tally: &Arc<Tally>) -> Result<()> {
    let tally = Arc::clone(tally);
    bus.observe::<P>("tally").source("observer").run(move |heard| {
        tally.heard.fetch_add(1, Ordering::Relaxed);
        tally.lost.fetch_add(heard.lost().0, Ordering::Relaxed);
        std::future::ready(())
    })?;
    Ok(())
}

/// The text with every token replaced by how long it was.
fn without_tokens(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::new();
    while let Some((before, from)) = rest.find("tok_live_").map(|start| rest.split_at(start)) {
        let end = from.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(from.len());
        clean.push_str(before);
        clean.push_str(&format!("[a token of {end} characters]"));
        rest = &from[end..];
    }
    clean + rest
}

/// An actor as policy: it alone knows how many commands each session has run, and needs no lock to know it.
///
/// It runs after the amenders, so that it is asked once for each command.
#[derive(Default)]
struct ShellBudget {
    used: HashMap<SessionId, u32>,
}

impl Actor for ShellBudget {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(budget: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(budget)
    }
}

impl Message<Intercept<BeforeTool>> for ShellBudget {
    type Reply = Result<Verdict, Infallible>;

    async fn handle(
        &mut self,
        call: Intercept<BeforeTool>,
        _: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        let source = &call.event.envelope().source;
        let used = self.used.entry(source.session.clone()).or_default();
        if *used >= BUDGET {
            return Ok(Verdict::block(format!("{} has run its {BUDGET} shell commands", source.agent.id)));
        }
        *used += 1;
        Ok(Verdict::Continue)
    }
}

#[cfg(test)]
mod tests {
    use super::without_tokens;

    #[test]
    fn only_the_token_is_taken_out() {
        assert_eq!(
            without_tokens("a = \"tok_live_12\"\nb = tok_live_x"),
            "a = \"[a token of 11 characters]\"\nb = [a token of 10 characters]"
        );
        assert_eq!(without_tokens("none"), "none");
    }
}
