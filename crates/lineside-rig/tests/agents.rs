//! Agents of rig with a scripted model, under hooks of a real daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use lineside_client::{Client, Session};
use lineside_core::json::{Map, json};
use lineside_core::{Agent, Reply, Verdict};
use lineside_points::{AfterTool, BeforePrompt, BeforeStop, BeforeTool};
use lineside_rig::Lineside;
use rig_agent::core::message::ToolName;
use rig_agent::core::test_utils::{MockCompletionModel, MockTurn};
use rig_agent::tool::{DynamicTool, ToolOutput};
use rig_agent::{Agent as RigAgent, AgentBuilder};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A daemon of the test alone, without hooks of files, and a session of it.
struct House {
    _folder: TempDir,
    daemon: Child,
    client: Client,
    session: Session,
    /// What the tool was called with.
    called: Arc<Mutex<Vec<String>>>,
}

impl House {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command =
            Command::new(std::env::var_os("LINESIDE_COMMAND").expect("the path of the command"));
        command.args(["serve", "--private", "--home"]).arg(folder.path()).current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut daemon = command.spawn().unwrap();
        let mut said = BufReader::new(daemon.stdout.take().unwrap()).lines();
        let socket = loop {
            let line = said.next_line().await.unwrap().expect("the daemon is ready");
            if let Some(socket) = line.strip_prefix("ready: ") {
                break socket.to_owned();
            }
        };
        let client = Client::new(socket);
        let session = client.session("main").agent(Agent::main("main")).open().await.unwrap();
        Self { _folder: folder, daemon, client, session, called: Arc::default() }
    }

    /// An agent with this hook, and a tool `Shell` that says what it was called with.
    fn agent(&self, hook: Lineside, model: &MockCompletionModel) -> RigAgent {
        self.builder(hook, model).build()
    }

    fn builder(
        &self,
        hook: Lineside,
        model: &MockCompletionModel,
    ) -> AgentBuilder<rig_agent::agent::WithBuilderTools> {
        let called = Arc::clone(&self.called);
        let shell = DynamicTool::new(
            ToolName::new("Shell").unwrap(),
            "Runs a command.",
            serde_json::json!({"type": "object", "properties": {"command": {"type": "string"}}}),
            move |arguments| {
                let command = arguments["command"].as_str().unwrap_or_default().to_owned();
                called.lock().unwrap().push(command.clone());
                Box::pin(async move { Ok(ToolOutput::text(format!("ran {command}"))) })
            },
        );
        AgentBuilder::new(model.clone()).default_max_turns(8).add_hook(hook).dynamic_tool(shell)
    }

    fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }
}

fn calls(command: &str) -> MockTurn {
    MockTurn::tool_call("c1", "Shell", serde_json::json!({"command": command}))
}

/// Everything that a call of the model was given, as text.
fn given(model: &MockCompletionModel, call: usize) -> String {
    serde_json::to_string(&model.requests()[call].chat_history).unwrap()
}

#[tokio::test]
async fn a_refused_call_does_not_run_and_the_model_reads_why() {
    let house = House::open().await;
    let gate = house.session.intercept::<BeforeTool>("no-deletions");
    gate.gate(async |event, _cx| match event.tool_input["command"].as_str() {
        Some("rm -rf /") => Verdict::block("refuses to delete /"),
        _ => Verdict::Continue,
    })
    .await
    .unwrap();
    let model = MockCompletionModel::from_turns([calls("rm -rf /"), calls("ls"), MockTurn::text("done")]);
    let answer = house.agent(Lineside::new(house.session.clone()), &model).prompt("tidy up").await.unwrap();
    assert_eq!(answer.output(), "done");
    assert_eq!(house.called(), ["ls"]);
    assert!(given(&model, 1).contains("refuses to delete /"), "{}", given(&model, 1));
    assert!(given(&model, 2).contains("ran ls"));
}

#[tokio::test]
async fn prompts_inputs_and_outputs_are_what_hooks_make_of_them_and_context_reaches_the_model() {
    let house = House::open().await;
    let session = &house.session;
    let prompt = session.intercept::<BeforePrompt>("polite").amend(async |event, _cx| {
        Reply::amend(BeforePrompt::amend().prompt(format!("please {}", event.prompt)))
    });
    let input = session.intercept::<BeforeTool>("dry").amend(async |_event, _cx| {
        Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls --dry"})))
    });
    let output = session.intercept::<AfterTool>("short").amend(async |event, _cx| {
        assert_eq!(event.tool_output, json!("ran ls --dry"));
        Reply::amend(AfterTool::amend().tool_output("short")).append("It was a dry run.")
    });
    drop((prompt.await.unwrap(), input.await.unwrap(), output.await.unwrap()));
    let model = MockCompletionModel::from_turns([calls("ls"), MockTurn::text("done")]);
    house.agent(Lineside::new(session.clone()), &model).prompt("look").await.unwrap();
    assert_eq!(house.called(), ["ls --dry"]);
    assert!(given(&model, 0).contains("please look"));
    assert!(given(&model, 1).contains("short") && !given(&model, 1).contains("ran ls"));
    assert!(given(&model, 1).contains("It was a dry run."), "{}", given(&model, 1));
}

#[tokio::test]
async fn an_agent_that_may_not_stop_goes_on_with_the_reason() {
    let house = House::open().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&seen);
    let gate = house.session.intercept::<BeforeStop>("tests-first").gate(move |event, _cx| {
        let active = event.stop_active;
        heard.lock().unwrap().push(active);
        async move { if active { Verdict::Continue } else { Verdict::block("run the tests first") } }
    });
    drop(gate.await.unwrap());
    let model = MockCompletionModel::from_turns([MockTurn::text("done"), MockTurn::text("tested")]);
    let answer = house.agent(Lineside::new(house.session.clone()), &model).prompt("fix it").await.unwrap();
    assert_eq!(answer.output(), "tested");
    assert!(given(&model, 1).contains("run the tests first"));
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}

#[tokio::test]
async fn an_agent_within_a_tool_has_a_session_below_and_is_under_the_same_hooks() {
    let house = House::open().await;
    let sessions = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&sessions);
    let gate = house.session.intercept::<BeforeTool>("no-shell").gate(move |event, _cx| {
        heard.lock().unwrap().push(event.session().to_string());
        let verdict = if event.tool_name == "Shell" { Verdict::block("no shell") } else { Verdict::Continue };
        async move { verdict }
    });
    drop(gate.await.unwrap());
    let hook = Lineside::new(house.session.clone());
    let below = MockCompletionModel::from_turns([calls("ls"), MockTurn::text("reviewed")]);
    let reviewer =
        house.builder(hook.subagent("reviewer"), &below).name("reviewer").build().into_tool().unwrap();
    let delegates = MockTurn::tool_call("c2", "reviewer", serde_json::json!({"prompt": "review it"}));
    let above = MockCompletionModel::from_turns([delegates, MockTurn::text("done")]);
    house.builder(hook, &above).dynamic_tool(reviewer).build().prompt("go").await.unwrap();
    assert_eq!(house.called(), [""; 0]);
    assert!(given(&below, 1).contains("no shell"), "{}", given(&below, 1));
    assert!(given(&above, 1).contains("reviewed"));
    let sessions = sessions.lock().unwrap().clone();
    assert_eq!(sessions[0], "main");
    assert!(sessions[1].starts_with("main/reviewer-"), "{sessions:?}");
    let left = house.client.get::<Map>(&format!("/v1/sessions/{}", sessions[1])).await;
    assert!(left.is_err() || left.unwrap()["closed"] == json!(true), "its session has ended");
}

#[tokio::test]
async fn the_program_of_the_page() -> Result<(), Box<dyn std::error::Error>> {
    let House { client, session: _other, .. } = &House::open().await;
    let calls = |agent: &str| MockTurn::tool_call("c1", agent, serde_json::json!({"prompt": "look"}));
    let model = MockCompletionModel::from_turns([calls("reviewer"), MockTurn::text("tidy")]);
    let small = MockCompletionModel::from_turns([MockTurn::text("reviewed")]);
    #[rustfmt::skip]
    let answer = {
        let session = client.session("fix-the-tests").agent(Agent::main("main")).open().await?;
        let hook = Lineside::new(session.clone());
        let reviewer = AgentBuilder::new(small).default_max_turns(8).name("reviewer").add_hook(hook.subagent("reviewer")).build();
        let agent = AgentBuilder::new(model).default_max_turns(8).add_hook(hook).dynamic_tool(reviewer.into_tool()?).build();
        let answer = agent.prompt("Tidy up.").await?;
        session.close().await?;
        answer
    };
    assert_eq!(answer.output(), "tidy");
    let page = include_str!("../../../docs/adapters/rig.md").split("```rust\n").nth(1).ok_or("no program")?;
    for line in page.lines().take_while(|line| *line != "```") {
        assert!(include_str!("agents.rs").contains(line), "the page has another line: {line}");
    }
    Ok(())
}

#[tokio::test]
async fn a_question_is_refused_unless_a_person_answers_it() {
    let house = House::open().await;
    let gate = house
        .session
        .intercept::<BeforeTool>("careful")
        .gate(async |_event, _cx| Verdict::ask("is it fine?"));
    drop(gate.await.unwrap());
    let turns = || MockCompletionModel::from_turns([calls("ls"), MockTurn::text("done")]);
    let (refused, agreed) = (turns(), turns());
    house.agent(Lineside::new(house.session.clone()), &refused).prompt("look").await.unwrap();
    assert!(given(&refused, 1).contains("a person has to agree to this, and none has: is it fine?"));
    let hook = Lineside::new(house.session.clone())
        .asks(|tool, reason| tool == "Shell" && reason.as_str() == "is it fine?");
    house.agent(hook, &agreed).prompt("look").await.unwrap();
    assert_eq!(house.called(), ["ls"]);
}

#[tokio::test]
async fn without_a_daemon_nothing_happens() {
    let mut house = House::open().await;
    let model = MockCompletionModel::from_turns([calls("ls")]);
    let agent = house.agent(Lineside::new(house.session.clone()), &model);
    house.daemon.kill().await.unwrap();
    let error = agent.prompt("look").await.unwrap_err().to_string();
    assert!(error.contains("no hook has decided about this"), "{error}");
    assert_eq!((model.request_count(), house.called.lock().unwrap().len()), (0, 0));
}
