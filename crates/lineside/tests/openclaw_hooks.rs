//! Every hook that a release of OpenClaw has fires when it is published, under OpenClaw's name for it, and in the order in
//! which events are published.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lineside::Assembly;
use lineside::core::Outcome;
use lineside::dialects::{self, Places, Trust};
use lineside::json::Map;
use lineside::prelude::*;

/// The names, with the version of the release in the file's own.
const NAMES: &str = include_str!("../../../tests/plugins/openclaw-2026.9.6.hooks.txt");

/// Registers a handler for each name, as plugins and hook packs do.
const PLUGIN: &str = "const { appendFileSync } = require('node:fs');
module.exports = { register(api) {
  for (const name of NAMES) {
    const fire = () => appendFileSync(`${api.rootDir}/fired`, `${name}\\n`);
    if (name.includes(':')) api.registerHook(name, fire, { name });
    else api.on(name, fire);
  }
} };";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A bus with the plugins of a project.
async fn loaded(project: &Path) -> Assembly {
    let openclaw = dialects::find("openclaw").unwrap();
    let assembly = Assembly::new(Bus::new()).only([openclaw]);
    assembly.load(&places(project)).await.unwrap();
    assembly
}

fn places(project: &Path) -> Places {
    let path = std::env::var("PATH").unwrap();
    Places {
        environment: BTreeMap::from([("PATH".to_owned(), path)]),
        project_root: Some(project.to_owned()),
        cwd: project.to_owned(),
        trust: Trust::Granted,
    }
}

/// What an event of any point needs.
fn payload() -> Map {
    let json = json!({
        "source": "startup", "reason": "clear", "prompt": "p", "messages": [], "model": "m", "output": "o",
        "tool_name": "exec", "tool_input": {}, "tool_output": "out", "success": true, "kind": "auto",
        "child_session": "c", "agent_type": "worker", "to": "u", "from": "u", "content": "c",
        "stop_active": false,
    });
    json.as_object().unwrap().clone()
}

#[tokio::test]
async fn each_name_of_the_release_has_a_point_and_fires_there() {
    let names: Vec<&str> = NAMES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(names.len(), 57);
    let room = tempfile::tempdir().unwrap();
    let plugin = PLUGIN.replace("NAMES", &json!(names).to_string());
    write(room.path(), ".openclaw/plugins/all/index.cjs", &plugin);
    write(room.path(), ".openclaw/plugins/all/openclaw.plugin.json", "{ id: 'all', configSchema: {} }");
    let openclaw = dialects::find("openclaw").unwrap();
    let assembly = loaded(room.path()).await;
    for (number, name) in names.iter().enumerate() {
        let session = assembly.bus().session(format!("s{number}")).open().await.unwrap();
        let point = openclaw.point(name, &payload()).unwrap_or_else(|| panic!("{name} has no point"));
        let event = (point.decode)(point, payload()).unwrap();
        session.any_event(event).publish_any().await.unwrap();
        session.close().await;
    }
    assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
    let fired = fs::read_to_string(room.path().join(".openclaw/plugins/all/fired")).unwrap();
    let missing: Vec<&&str> = names.iter().filter(|name| !fired.lines().any(|line| line == **name)).collect();
    assert_eq!(missing, [&""; 0]);
}

#[tokio::test]
async fn what_is_published_before_a_call_is_known_to_the_plugin_that_is_called() {
    let room = tempfile::tempdir().unwrap();
    let plugin = "module.exports = (api) => {
      const heard = [];
      for (const hook of ['gateway_start', 'session_start', 'llm_input']) api.on(hook, () => { heard.push(hook); });
      api.on('llm_input', () => { heard.push('again'); });
      api.on('before_tool_call', () => ({ block: true, blockReason: heard.join() }));
    };";
    write(room.path(), ".openclaw/plugins/order/index.cjs", plugin);
    write(room.path(), ".openclaw/plugins/order/openclaw.plugin.json", "{ id: 'order', configSchema: {} }");
    let assembly = loaded(room.path()).await;
    let session = assembly.bus().session("s1").open().await.unwrap();
    assert!(!session.publish(OnServiceStart::new()).await.unwrap().is_refused());
    assert!(!session.publish(BeforeSession::new("startup")).await.unwrap().is_refused());
    assert!(!session.publish(BeforeModel::new("m")).await.unwrap().is_refused());
    let decision = session.publish(BeforeTool::new("exec", json!({}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("gateway_start,session_start,llm_input,again"));
    assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
}

#[tokio::test]
async fn a_load_whose_caller_leaves_leaves_the_hooks_before_in_force_and_their_automations_running() {
    let room = tempfile::tempdir().unwrap();
    let lint = "hooks:\n- {name: lint, on: on_idle, command: 'true', automate: {}}\n";
    write(room.path(), ".lineside/hooks.yaml", lint);
    let places = Places {
        environment: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
        project_root: Some(room.path().to_owned()),
        cwd: room.path().to_owned(),
        trust: Trust::Granted,
    };
    let dialects = ["native", "openclaw"].map(|name| dialects::find(name).unwrap());
    let assembly = Assembly::new(Bus::new()).only(dialects);
    assembly.load(&places).await.unwrap();
    let session = assembly.bus().session("s1").open().await.unwrap();
    let accepted = async || {
        let decision = session.publish(OnIdle::new()).await.unwrap();
        let outcome = decision.receipt().unwrap().runs[0].outcome.clone();
        assert!(matches!(&outcome, Outcome::Offered(taken) if taken.is_accepted()), "{outcome:?}");
    };
    let gate = room.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let waits = "module.exports = (api) => { require('node:fs').readFileSync('GATE'); };";
    write(room.path(), ".openclaw/plugins/waits/index.cjs", &waits.replace("GATE", gate.to_str().unwrap()));
    write(room.path(), ".openclaw/plugins/waits/openclaw.plugin.json", "{ id: 'waits', configSchema: {} }");
    // The opening ends when the plugin has opened its end, and the load waits for the plugin.
    let loading = tokio::task::spawn_blocking({
        let gate = gate.clone();
        move || fs::File::create(gate).unwrap()
    });
    tokio::select! {
        _ = assembly.load(&places) => panic!("the plugin waits"),
        gate = loading => drop(gate),
    }
    accepted().await;
    fs::remove_file(&gate).unwrap();
    fs::write(&gate, "").unwrap();
    assembly.load(&places).await.unwrap();
    accepted().await;
    assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
}

/// Has a call wait for a file before it comes to the handler that refuses it.
const WAITS: &str = "const { existsSync, writeFileSync } = require('node:fs');
module.exports = { register(api) {
  api.on('before_tool_call', async () => {
    writeFileSync(`${api.rootDir}/begun`, '');
    while (!existsSync(`${api.rootDir}/go`)) await new Promise((done) => setTimeout(done, 1));
  }, { priority: 10 });
  api.on('before_tool_call', () => ({ block: true, blockReason: 'of the first load' }));
} };";

#[tokio::test]
async fn an_event_under_way_ends_with_the_plugins_that_it_began_with() {
    let room = tempfile::tempdir().unwrap();
    let plugin = room.path().join(".openclaw/plugins/all");
    write(&plugin, "index.cjs", WAITS);
    write(&plugin, "openclaw.plugin.json", "{ id: 'all', configSchema: {} }");
    let assembly = loaded(room.path()).await;
    let session = assembly.bus().session("s").open().await.unwrap();
    let reload = async {
        while !plugin.join("begun").exists() {
            tokio::task::yield_now().await;
        }
        write(&plugin, "index.cjs", "module.exports = { register() {} };");
        assembly.load(&places(room.path())).await.unwrap();
        write(&plugin, "go", "");
    };
    let call = session.publish(BeforeTool::new("exec", json!({})));
    let (decision, ()) = tokio::join!(biased; call, reload);
    let decision = decision.unwrap();
    assert!(
        matches!(decision.verdict(), Verdict::Block(why) if why.to_string().contains("of the first load")),
        "{decision:?}"
    );
    assert!(!session.publish(BeforeTool::new("exec", json!({}))).await.unwrap().is_refused());
    assert!(assembly.drain(Duration::from_secs(20)).await.is_clean());
}
