//! What stands below an agent whose daemon is in places of its own.

use std::fs;
use std::process::{Command, Stdio};

use crate::daemon::Daemon;
use crate::hook::{given, tool};
use crate::stage::Stage;

#[test]
fn an_agent_of_a_daemon_with_its_state_elsewhere_changes_nothing_that_is_that_daemons() {
    let stage = Stage::new();
    stage.file("run/.keep", "");
    let [home, state, socket, other] =
        ["home", "st", "run/l.sock", "other"].map(|below| stage.path(below).to_str().unwrap().to_owned());
    fs::create_dir(&other).unwrap();
    let private = Command::new("chmod").arg("700").arg(stage.path("run")).status().unwrap();
    assert!(private.success());
    let places = ["--state", &state, "--socket", &socket];
    let entries = stage.run(&[&["install", "claude", "--project=.", "--untried"], &places[..]].concat(), "");
    assert_eq!(entries.code, Some(0), "{entries:?}");
    let settings = stage.path("project/.claude/settings.json");
    let before = fs::read(&settings).unwrap();
    let _daemon = Daemon::at(&stage, &[&["serve", "--home", &home], &places[..]].concat(), &socket);
    let program = env!("CARGO_BIN_EXE_lineside");
    let call =
        format!("echo '{}' | {program} hook claude --home {home} {}", tool("s", "ls"), places.join(" "));
    // The commands that find nothing of that daemon in the places that they name; the last two are with another home.
    let below = "init\nnew hook x\nuntrust .\ninstall claude --untried\nuninstall claude\nuninstall claude --project=.";
    let agent = format!(
        "{call}\n{call}\nsay() {{ \"$@\" >/dev/null 2>&1; echo \"$? $*\"; }}\n{}\nHOME={other} say {program} uninstall \
         claude --project=.\nHOME={other} say {program} install claude --project=. --untried",
        below.lines().map(|line| format!("say {program} {line}\n")).collect::<String>()
    );
    // The agent program is the one that waits for the shell of its call.
    let mut agent = {
        let mut command = Command::new("timeout");
        command.args(["60", "sh", "-c", &agent]);
        command
    };
    agent.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &home);
    agent
        .current_dir(stage.path("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let said = given(&stage, agent, b"");
    let ends: Vec<&str> = said.out.lines().filter(|line| line.contains("lineside ")).collect();
    assert_eq!(ends.len(), 8, "{said:?}");
    assert!(ends.iter().all(|end| end.starts_with("2 ")), "{said:?}");
    assert_eq!(fs::read(&settings).unwrap(), before);
    assert!(!stage.path("home/.config/lineside/hooks.yaml").exists());
    // A person does all of it.
    let said = stage.run(&["uninstall", "claude", "--project=."], "");
    assert_eq!(said.code, Some(0), "{said:?}");
}
