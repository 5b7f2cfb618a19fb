//! A minimal agent loop under hooks.
//!
//! What a program owes its hooks is little, and all of it is in the function `turn` below:
//!
//! 1. **Publish** each moment before it happens and wait for the decision.
//! 2. **Obey**: a refused call does not run; its reason is what the model gets instead.
//! 3. **Run what was decided about.** Hooks may have changed the call, so the loop runs `decision.into_payload()` and
//!    nothing that it held before.
//! 4. **Collect** what hooks have to say before each model call, and accept it once it is in the context.
//! 5. **Keep working** when a stop is refused.
//!
//! The model is a script, so that the example needs no network; the hooks are real.
//!
//! ```sh
//! cargo run --example agent_loop
//! ```

use std::collections::VecDeque;
use std::error::Error;

use lineside::json::Value;
use lineside::prelude::*;

/// What a model may answer.
enum Step {
    Call(&'static str, Value),
    Done(&'static str),
}

/// A model that has made up its mind beforehand.
struct Script(VecDeque<Step>);

impl Script {
    fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(steps.into_iter().collect())
    }

    fn answer(&mut self, _context: &[String]) -> Step {
        self.0.pop_front().unwrap_or(Step::Done("Nothing more to do."))
    }
}

/// What there is to work with: a shell that only ever echoes.
fn run_tool(call: &BeforeTool) -> String {
    format!("$ {}\nok", call.command().unwrap_or_default())
}

/// What a person says when asked. This one is careful.
fn person_agrees(question: &str) -> bool {
    println!("  asked:   {question} -> no");
    false
}

/// One turn: from the prompt to a stop that no hook refuses.
async fn turn(session: &Session, model: &mut Script, prompt: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut context = Vec::new();

    let decision = session.publish(BeforePrompt::new(prompt)).await?;
    if decision.is_refused() {
        return Ok(context);
    }
    context.push(format!("user: {}", decision.into_payload().prompt));

    let mut stop_active = false;
    loop {
        // Whatever hooks had to say since the last call stands in the context before this one.
        for message in session.collect().before_next_model().await.accept() {
            println!("  context: {} says: {}", message.hook, message.text);
            context.push(format!("hook {}: {}", message.hook, message.text));
        }
        let request = BeforeModel::new("script").message_count(context.len() as u64);
        if session.publish(request).await?.is_refused() {
            return Ok(context);
        }

        match model.answer(&context) {
            Step::Call(tool, input) => {
                let result = call(session, BeforeTool::new(tool, input)).await?;
                context.push(format!("tool: {result}"));
            }
            Step::Done(text) => {
                let stop = session.publish(BeforeStop::new(stop_active).output(text)).await?;
                if !stop.is_refused() {
                    context.push(format!("agent: {text}"));
                    return Ok(context);
                }
                println!("  refused: the stop, by {}", name(&stop));
                stop_active = true;
            }
        }
    }
}

/// One tool call: what the model gets back from it.
async fn call(session: &Session, proposed: BeforeTool) -> Result<String, Box<dyn Error>> {
    let decision = session.publish(proposed).await?;
    let reason = decision.reason().map(ToString::to_string).unwrap_or_default();
    match decision.verdict() {
        Verdict::Continue | Verdict::Allow(_) => {}
        Verdict::Ask(_) if person_agrees(&reason) => {}
        _ => {
            println!(
                "  refused: {:?}, by {}",
                decision.payload().command().unwrap_or_default(),
                name(&decision)
            );
            return Ok(format!("Tool blocked: {reason}"));
        }
    }

    // The decision is about these bytes, so these are the ones that run.
    let call = decision.into_payload();
    let output = run_tool(&call);
    println!("  ran:     {}", call.command().unwrap_or_default());

    let review = session.publish(AfterTool::new(call.tool_name, output).tool_input(call.tool_input)).await?;
    Ok(match review.reason() {
        Some(reason) if review.is_refused() => format!("Output withheld: {reason}"),
        _ => review.into_payload().tool_output.as_str().unwrap_or_default().to_owned(),
    })
}

/// Whose decision it was.
fn name<P: lineside::core::Point>(decision: &Decision<P>) -> &str {
    decision.author().map_or("nobody", |hook| &*hook.name)
}

/// The rules of this house.
fn register(session: &Session) -> Result<(), Box<dyn Error>> {
    let deletes_all = runs("rm").flag("-r|-R|--recursive").operand("/");
    session
        .intercept::<BeforeTool>("no-rm-rf")
        .priority(900)
        .matching(deletes_all)
        .gate(async |_call, _cx| Verdict::block("refuses to delete /"))?;
    session
        .intercept::<BeforeTool>("ask-before-push")
        .matching(runs("git").subcommand("push"))
        .gate(async |_call, _cx| Verdict::ask("push to the world?"))?;
    // Amenders run before the gates here, because their priority is greater: gates judge what will run.
    session
        .intercept::<BeforeTool>("locked-tests")
        .priority(1000)
        .matching(tool("Shell").text("^cargo test$"))
        .amend(async |_call, _cx| {
            Reply::amend(BeforeTool::amend().tool_input(json!({"command": "cargo test --locked"})))
                .append("Tests run with --locked here.")
        })?;
    session.intercept::<BeforeStop>("one-more-look").gate(async |stop, _cx| {
        if stop.stop_active { Verdict::Continue } else { Verdict::block("run the tests before you stop") }
    })?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let bus = Bus::new();
    let session = bus.session("s1").agent(Agent::main("main")).open().await?;
    register(&session)?;

    let shell = |command: &str| Step::Call("Shell", json!({"command": command}));
    let mut model = Script::of([
        shell("rm -rf / --no-preserve-root"),
        shell("git push"),
        Step::Done("Finished!"),
        shell("cargo test"),
        Step::Done("Finished, and tested."),
    ]);
    println!("a turn of an agent under four hooks:");
    let context = turn(&session, &mut model, "Tidy up.").await?;

    println!("what the model has seen in the end:");
    context.iter().for_each(|line| println!("  {}", line.replace('\n', " | ")));
    assert_eq!(
        context,
        [
            "user: Tidy up.",
            "tool: Tool blocked: refuses to delete /",
            "tool: Tool blocked: push to the world?",
            "hook one-more-look: run the tests before you stop",
            "tool: $ cargo test --locked\nok",
            "hook locked-tests: Tests run with --locked here.",
            "agent: Finished, and tested.",
        ]
    );
    assert!(bus.drain(secs(1)).await.is_clean());
    Ok(())
}
