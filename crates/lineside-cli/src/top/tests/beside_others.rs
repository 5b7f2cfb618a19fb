//! What stands on the screen is what the log has, and the model is that of the signals.

use super::*;

#[tokio::test]
async fn timelines_decisions_and_filters_are_those_of_the_log() {
    use lineside::log::{FILE, Follower, Log, Options};
    use lineside::prelude::*;

    let folder = tempfile::tempdir().unwrap();
    let bus = Bus::new();
    let log = Log::open(&folder.path().join(FILE), Options::default()).unwrap();
    let mut follower = Follower::new(&bus, log);
    for name in ["s1", "s2"] {
        let session = bus.session(name).open().await.unwrap();
        let policy = session.intercept::<BeforeTool>("no-rm").matching(tool("Shell").text("rm"));
        policy.gate(async |_call, _cx| Verdict::block("name the files")).unwrap();
        let command = if name == "s1" { "rm -rf x" } else { "ls" };
        let _decided = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    }
    follower.end();
    let paths = crate::daemon_paths::DaemonPaths {
        socket: folder.path().join("none.sock"),
        state: folder.path().to_path_buf(),
    };
    let asked = crate::top::ask::Asked { daemon: crate::daemon_paths::DaemonArgs::default(), paths };
    let mut stage = Stage::new((100, 40));
    let answers = async |stage: &mut Stage| {
        for ask in stage.due() {
            let (ask, told) = asked.clone().ask(ask).await;
            stage.told(&ask, told);
        }
    };
    for name in ["s1", "s2"] {
        stage.hear(decided(name, "continue", NOW));
    }
    stage.press("/verdict:refused⏎");
    answers(&mut stage).await;
    let text = stage.text();
    assert!(text.contains("s1") && !text.contains("s2"), "{text}");
    stage.press("⏎");
    answers(&mut stage).await;
    assert!(stage.text().contains("no-rm: name the files"), "{}", stage.text());
    stage.press("⏎");
    answers(&mut stage).await;
    let text = stage.text();
    assert!(
        text.contains("✗ block  before_tool  Shell rm -rf x") && text.contains("Every hook, in order"),
        "{text}"
    );
}

#[tokio::test]
async fn the_model_is_the_same_of_signals_and_of_lines() {
    use lineside::bus::signal::Watched;
    use lineside::core::envelope::Source;
    use lineside::fleet::Model;
    use lineside::log;
    use lineside::prelude::*;

    let bus = Bus::new();
    let mut signals = bus.signals();
    bus.intercept::<BeforeTool>("gate")
        .gate(async |call, _| match call.command().as_deref() {
            Some(command) if command.contains("rm") => Verdict::block("no password=hunter2hunter2"),
            Some(command) if command.contains("push") => Verdict::ask("a person"),
            _ => Verdict::Continue,
        })
        .unwrap();
    bus.intercept::<BeforeTool>("late")
        .matching(tool("Shell").text("sleep"))
        .on_failure(OnFailure::Continue)
        .try_gate(async |_, _| Err::<Verdict, _>("the server is away"))
        .unwrap();
    let session = bus.session("s1").host("codex").project_root("/repo/importer").open().await.unwrap();
    let child = session.subagent("s1/x").agent(Agent::subagent("reviewer")).open().await.unwrap();
    let closed = bus.session("s2").open().await.unwrap();
    for command in ["ls", "rm x", "push", "sleep 1", "ls", "ls", "ls", "ls", "ls", "ls"] {
        let _decided = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
    }
    let _decided = child.publish(BeforeTool::new("Shell", json!({"command": "rm y"}))).await.unwrap();
    let _decided = closed.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
    closed.close().await;
    let (mut of_signals, mut of_lines) = (Model::default(), Model::default());
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        of_signals
            .hear(&signal, NOW, |id| bus.find(id.as_str()).map(|session| Source::clone(session.source())));
        of_lines.hear_line(&log::line(&log::record(&signal, bus.wall_clock())).1, NOW);
    }
    let seen = |model: &mut Model| {
        model.settle(NOW);
        let agents: Vec<String> = model
            .agents()
            .map(|a| {
                format!(
                    "{} {:?} {} {} {} {} {} {:?} {:?} {} {} {}",
                    a.session,
                    a.parent,
                    a.root,
                    a.depth,
                    a.label,
                    a.host,
                    a.project,
                    a.state,
                    a.verdicts,
                    a.failures,
                    a.signs(),
                    a.doing()
                )
            })
            .collect();
        let notable: Vec<String> = model
            .notable()
            .map(|one| {
                format!(
                    "{} {} {:?} {} {:?} {}",
                    one.agent,
                    one.project,
                    one.by.as_ref().filter(|_| !one.has_failed),
                    one.verdict,
                    one.tool,
                    one.has_failed
                )
            })
            .collect();
        (agents, notable, model.counts(), model.rates(NOW))
    };
    let lines = seen(&mut of_lines);
    assert_eq!(seen(&mut of_signals), lines);
    assert!(lines.0.len() == 2 && lines.0[0].contains("codex importer"), "{lines:?}");
}
