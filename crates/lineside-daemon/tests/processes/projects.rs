//! Which projects the session of an agent is in, also where another process has called first under its id, and wherever its agent goes.

use std::fs;

use lineside::Assembly;
use lineside::prelude::*;
use lineside::trust::{Reach, Store};

use crate::ancestry::Host;
use crate::{AGENT, House};

/// A project that refuses what runs its name.
fn project(house: &House, name: &str) -> String {
    let root = house.folder.path().canonicalize().unwrap().join(name);
    fs::create_dir_all(root.join(".lineside")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    let hooks = format!(
        "hooks: [{{name: guard, on: before_tool, match: {{runs: {name}}}, verdict: block, reason: of {name}}}]"
    );
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    root.to_string_lossy().into_owned()
}

fn trusted(house: &House, name: &str) -> String {
    let root = project(house, name);
    let assembly = Assembly::new(Bus::new()).of_project(root.as_ref());
    let read = assembly.read_project(root.as_ref(), &house.settings.places, None);
    Store::of(&house.settings.state).trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    root
}

/// A call of an agent that works there.
fn calls(agent: &mut Host, id: &str, work: &str, command: &str) -> String {
    agent.calls(&format!("run HOOK_CWD={work} {AGENT} hook {id} {command}"))
}

#[test]
fn the_guards_of_a_project_hold_for_an_agent_in_it_whose_session_another_process_has_opened_elsewhere() {
    let house = House::new();
    let [one, other] = ["one", "other"].map(|name| trusted(&house, name));
    let (unknown, plain) = (project(&house, "unknown"), house.folder.path().display().to_string());
    for (id, first) in [("plain", &plain), ("unknown", &unknown), ("other", &other)] {
        let opened = house.agent(&["hook", id, "one"]).env("HOOK_CWD", first).output().unwrap();
        let told = String::from_utf8(opened.stdout).unwrap();
        assert!(told.starts_with("200") && !told.contains("deny"), "{told}");
        let mut agent = Host::start(&house, id, None);
        assert_eq!(calls(&mut agent, id, &one, "ls"), "200");
        for work in [&one, &plain] {
            let told = calls(&mut agent, id, work, "one");
            assert!(told.contains("of one"), "{id}: {told}");
            // What it was opened in stays.
            let told = calls(&mut agent, id, work, "other");
            assert_eq!(told.contains("of other"), id == "other", "{id}: {told}");
        }
        // A project that no person has trusted adds nothing.
        assert_eq!(calls(&mut agent, id, &unknown, "unknown"), "200");
        let session = house.server.bus().find(id).unwrap();
        assert_eq!(session.scopes().count(), if id == "plain" { 1 } else { 2 });
    }
    house.ends();
}

#[test]
fn a_forged_end_and_a_new_beginning_elsewhere_take_no_project_from_an_agent() {
    let house = House::new();
    let (one, plain) = (trusted(&house, "one"), house.folder.path().display().to_string());
    let mut agent = Host::start(&house, "s", None);
    assert_eq!([(); 2].map(|()| calls(&mut agent, "s", &one, "ls")), ["200", "200"]);
    assert_eq!(agent.calls(&format!("run {AGENT} end s; true")), "200");
    assert_eq!(calls(&mut agent, "s", &plain, "ls"), "200");
    for work in [&plain, &one] {
        let told = calls(&mut agent, "s", work, "one");
        assert!(told.contains("of one"), "{told}");
    }
    house.ends();
}

#[test]
fn a_session_is_in_its_projects_after_a_restart_wherever_its_agent_is_then() {
    let mut house = House::new();
    let (one, plain) = (trusted(&house, "one"), house.folder.path().display().to_string());
    let mut agent = Host::start(&house, "s", None);
    assert_eq!([(); 2].map(|()| calls(&mut agent, "s", &one, "ls")), ["200", "200"]);
    for work in [&plain, &one, &plain] {
        house = house.again();
        let told = calls(&mut agent, "s", work, "one");
        assert!(told.contains("of one"), "{told}");
    }
    // A subagent may be the first.
    house = house.again();
    let told = calls(&mut agent, "s/a", &plain, "one");
    assert!(told.contains("of one"), "{told}");
    assert_eq!(house.server.bus().find("s").unwrap().scopes().count(), 1);
    house.ends();
}
