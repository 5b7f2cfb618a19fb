//! The hook of rig: each of its moments as an event, and the decision as its action.

use lineside_client::Session;
use lineside_core::{Agent, Verdict};
use lineside_points::{
    AfterSubagent, AfterTool, AfterToolError, BeforeModel, BeforePrompt, BeforeStop, BeforeSubagent,
    BeforeTool,
};
use rig_agent::agent::{
    AgentHook, DispatchAction, DispatchEvent, HookContext, ModelTurnAction, ModelTurnFinished, OutcomeAction,
    OutcomeEvent, RunSettled, RunStart, RunStartAction, SettledOutcome,
};
use rig_agent::core::completion::CompletionRequest;
use rig_agent::core::effect::EffectKind;
use rig_agent::core::message::{AssistantContent, Message, UserContent};
use rig_agent::tool::ToolOutput;

use crate::Lineside;
use crate::run::{Refused, Run, context, decide, failed, gate, ours, rigs, unasked, value};

impl AgentHook for Lineside {
    async fn on_run_start(&self, ctx: &HookContext, event: RunStart<'_>) -> RunStartAction {
        match self.start(ctx, event.prompt).await {
            Ok(None) => RunStartAction::continue_run(),
            Ok(Some(prompt)) => RunStartAction::rewrite(prompt.as_str()),
            Err(Refused::This(reason) | Refused::Agent(reason)) => RunStartAction::stop(reason),
        }
    }

    async fn on_dispatch(&self, ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        let Run { session, .. } = self.run_of(ctx);
        let decided = match event.kind {
            EffectKind::Completion { request, stream } => {
                let patched = model(&session, request).await;
                let patch = |request| EffectKind::Completion { request, stream: *stream };
                // Without the call there is nothing that the reason could be the result of.
                patched
                    .map(|request| request.map(patch))
                    .map_err(|(Refused::This(reason) | Refused::Agent(reason))| Refused::Agent(reason))
            }
            _ => self.tool(&session, event).await,
        };
        match decided {
            Ok(None) => DispatchAction::proceed(),
            Ok(Some(kind)) => DispatchAction::patch(kind),
            Err(Refused::This(reason)) => DispatchAction::skip(reason),
            Err(Refused::Agent(reason)) => DispatchAction::stop(reason),
        }
    }

    async fn on_outcome(&self, ctx: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        match after(&self.run_of(ctx).session, &event).await {
            Ok(None) => OutcomeAction::proceed(),
            Ok(Some(output)) => OutcomeAction::rewrite_tool_output(&event, output),
            Err(Refused::This(reason)) => OutcomeAction::rewrite_tool_result(&event, reason),
            Err(Refused::Agent(reason)) => OutcomeAction::stop(reason),
        }
    }

    async fn on_model_turn_finished(
        &self,
        ctx: &HookContext,
        event: ModelTurnFinished<'_>,
    ) -> ModelTurnAction {
        let calls = |content: &AssistantContent| matches!(content, AssistantContent::ToolCall(_));
        if event.content.iter().any(calls) {
            return ModelTurnAction::continue_run();
        }
        let mut run = self.run_of(ctx);
        let payload = BeforeStop::new(run.is_kept).output(ours(event.content));
        match gate(&run.session, payload).await {
            Ok(_) => ModelTurnAction::continue_run(),
            Err(Refused::Agent(reason)) => ModelTurnAction::stop(reason),
            Err(Refused::This(reason)) => {
                run.is_kept = true;
                ctx.scratchpad().insert(run);
                ModelTurnAction::retry_with_feedback(reason)
            }
        }
    }

    async fn on_run_settled(&self, ctx: &HookContext, event: RunSettled<'_>) {
        let (Some(agent_type), Some(run)) = (&self.agent_type, ctx.scratchpad().remove::<Run>()) else {
            return;
        };
        let ended = AfterSubagent::new(run.session.id().as_str()).agent_type(agent_type.as_str());
        let ended = match event.outcome {
            SettledOutcome::Response(response) => ended.output(response.output()),
            SettledOutcome::Error(error) => ended.error(error),
        };
        // The run is over: what hooks say of its output is asked again where that is the result of a tool.
        drop(self.session.publish(ended).await);
        drop(run.session.close().await);
    }
}

impl Lineside {
    /// The run in force, which begins with its first event.
    fn run_of(&self, ctx: &HookContext) -> Run {
        let begun = || Run { session: self.session.clone(), is_kept: false };
        ctx.scratchpad().get::<Run>().unwrap_or_else(begun)
    }

    /// Begins a run; gives another prompt where hooks have changed it.
    async fn start(&self, ctx: &HookContext, prompt: &Message) -> Result<Option<String>, Refused> {
        let text = text_of(prompt);
        let (session, decided) = match (&self.agent_type, text) {
            (None, None) => (self.session.clone(), None),
            (None, Some(text)) => {
                let decision = gate(&self.session, BeforePrompt::new(text)).await?;
                (self.session.clone(), Some(decision.into_payload().prompt))
            }
            (Some(agent_type), _) => {
                let id = format!("{}/{agent_type}-{}", self.session.id(), ctx.run_id());
                let mut below = BeforeSubagent::new(id.as_str()).agent_type(agent_type.as_str());
                below.prompt = text.map(str::to_owned);
                let decided = gate(&self.session, below).await?.into_payload().prompt;
                let opening = self.session.subagent(id).agent(Agent::subagent(agent_type.as_str()));
                let opened = opening.open().await.map_err(failed("no session was opened for the agent"));
                (opened?, decided.filter(|_| text.is_some()))
            }
        };
        ctx.scratchpad().insert(Run { session, is_kept: false });
        Ok(decided.filter(|decided| Some(decided.as_str()) != text))
    }

    /// The gate of a tool; gives another call where hooks have changed its input.
    async fn tool(&self, session: &Session, event: DispatchEvent<'_>) -> Result<Option<EffectKind>, Refused> {
        let (Some(name), Some(args)) = (event.tool_name(), event.tool_args()) else { return Ok(None) };
        let given = value(args);
        let mut call = BeforeTool::new(name, given.clone());
        if let Some(id) = event.call_id {
            call = call.tool_call_id(id.to_string());
        }
        let decision = decide(session, call).await?;
        if let Verdict::Ask(reason) = decision.verdict()
            && !self.ask.as_ref().is_some_and(|ask| ask(name, reason))
        {
            return Err(unasked(reason));
        }
        let decided = decision.into_payload().tool_input;
        let call = |args: String| EffectKind::ToolCall { name: name.to_owned(), args };
        Ok((decided != given).then(|| call(decided.to_string())))
    }
}

/// The gate of a call of a model; gives the request with what hooks add to the context.
async fn model(session: &Session, request: &CompletionRequest) -> Result<Option<CompletionRequest>, Refused> {
    let (model, count) = (request.model.as_deref().unwrap_or("default"), request.chat_history.len());
    let call = BeforeModel::new(model).message_count(u64::try_from(count).unwrap_or(u64::MAX));
    // What a hook would change of it is the framework's own to build.
    drop(gate(session, call).await?);
    let text = context(session).await?;
    Ok((!text.is_empty()).then(|| {
        let mut request = request.clone();
        request.chat_history.push(Message::user(text));
        request
    }))
}

/// What a tool has brought; gives another output where hooks have changed it.
async fn after(session: &Session, event: &OutcomeEvent<'_>) -> Result<Option<ToolOutput>, Refused> {
    // What was refused here has not run.
    let result = event.tool_result().filter(|result| !result.is_skipped());
    let (Some(name), Some(args), Some(result)) = (event.tool_name(), event.tool_args(), result) else {
        return Ok(None);
    };
    let output = result.output();
    let shown = match (output.as_text(), output.as_json()) {
        (Some(text), _) => text.into(),
        (None, Some(json)) => ours(json),
        (None, None) => ours(&output.as_content()),
    };
    let decided = if result.error().is_some() {
        let failed = AfterToolError::new(name, shown.clone()).tool_input(value(args));
        gate(session, failed).await?.into_payload().error
    } else {
        let done = AfterTool::new(name, shown.clone()).tool_input(value(args));
        gate(session, done).await?.into_payload().tool_output
    };
    Ok((decided != shown).then(|| match decided.as_str() {
        Some(text) => ToolOutput::text(text),
        None => ToolOutput::json(rigs(&decided)),
    }))
}

/// The text of a prompt; one that is more than a text is not published.
fn text_of(prompt: &Message) -> Option<&str> {
    let Message::User { content } = prompt else { return None };
    match &content[..] {
        [UserContent::Text(text)] => Some(&text.text),
        _ => None,
    }
}
