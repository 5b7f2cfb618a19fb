//! Hook files that change while the daemon runs.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lineside::json::Value;
use lineside::prelude::*;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use crate::house::House;
use crate::signals::Reader;

fn hooks(names: &[&str]) -> String {
    let hook = |name: &&str| format!("  - {{name: {name}, on: before_tool, command: [\"true\"]}}\n");
    format!("hooks:\n{}", names.iter().map(hook).collect::<String>())
}

/// The names of the hooks that decide an event now.
async fn deciding(house: &House) -> Vec<String> {
    let event = json!({"point": "before_tool", "session": "probe",
        "payload": {"tool_name": "Shell", "tool_input": {}}});
    names(&house.post("/v1/events?open=true&receipt=true", &event).await.1)
}

fn names(decision: &Value) -> Vec<String> {
    let hooks = decision["hooks"].as_array().into_iter().flatten();
    hooks.map(|hook| hook["hook"].as_str().unwrap().to_owned()).collect()
}

/// Waits until these hooks decide; each load is signalled.
async fn until(house: &House, reader: &mut Reader, expected: &[&str]) {
    while deciding(house).await != expected {
        reader.until("announced").await;
    }
}

#[tokio::test]
async fn a_change_is_noticed_however_it_is_made() {
    let house = House::new().await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let project = house.folder.path().join("project");
    let file = project.join(".lineside/hooks.yaml");
    fs::create_dir(project.join(".lineside")).unwrap();
    fs::write(&file, hooks(&["in-a-new-folder"])).unwrap();
    until(&house, &mut reader, &["in-a-new-folder"]).await;
    fs::write(&file, hooks(&["in-place"])).unwrap();
    until(&house, &mut reader, &["in-place"]).await;
    fs::write(project.join(".lineside/.hooks.yaml.swp"), hooks(&["renamed"])).unwrap();
    fs::rename(project.join(".lineside/.hooks.yaml.swp"), &file).unwrap();
    until(&house, &mut reader, &["renamed"]).await;
    fs::rename(project.join(".lineside"), project.join("away")).unwrap();
    until(&house, &mut reader, &[]).await;
    fs::create_dir_all(project.join("dotfiles")).unwrap();
    fs::write(project.join("dotfiles/hooks.yaml"), hooks(&["linked"])).unwrap();
    std::os::unix::fs::symlink("dotfiles", project.join(".lineside")).unwrap();
    until(&house, &mut reader, &["linked"]).await;
    fs::write(project.join("dotfiles/hooks.yaml"), hooks(&["behind-the-link"])).unwrap();
    until(&house, &mut reader, &["behind-the-link"]).await;
    fs::remove_dir_all(project.join("dotfiles")).unwrap();
    fs::create_dir(project.join("dotfiles")).unwrap();
    fs::write(project.join("dotfiles/hooks.yaml"), hooks(&["made-again"])).unwrap();
    until(&house, &mut reader, &["made-again"]).await;
    let user = house.folder.path().join("home/.config/lineside");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("hooks.yaml"), hooks(&["users"])).unwrap();
    until(&house, &mut reader, &["users", "made-again"]).await;
}

#[tokio::test]
async fn a_reload_that_is_asked_for_waits_for_no_file_that_is_still_written() {
    let house = House::new().await;
    let folder = house.folder.path().join("project/.lineside");
    fs::create_dir(&folder).unwrap();
    let mut generation = house.post("/v1/reload", &json!({})).await.1["generation"].as_u64().unwrap();
    let written = File::create(folder.join("hooks.yaml")).unwrap();
    for round in 0..3 {
        let name = format!("round-{round}");
        written.set_len(0).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&written, hooks(&[&name]).as_bytes(), 0).unwrap();
        // The watcher notices it meanwhile, and waits for the end of the writing.
        for _ in 0..200 {
            assert_eq!(house.get("/v1/health").await.0, 200);
        }
        let (_, loaded) = house.post("/v1/reload", &json!({})).await;
        generation += 1;
        assert_eq!(loaded["generation"], json!(generation), "nothing was loaded before it");
        assert_eq!(deciding(&house).await, [name]);
    }
}

#[tokio::test]
async fn a_file_that_breaks_keeps_its_last_good_hooks_and_says_so() {
    let house = House::hooked(&hooks(&["guard"])).await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let file = house.folder.path().join("project/.lineside/hooks.yaml");
    fs::write(&file, "hooks: [").unwrap();
    let told = loop {
        let notice = reader.until("announced").await["notice"].clone();
        if notice["level"] == "warning" {
            break notice["text"].as_str().unwrap().to_owned();
        }
    };
    assert!(told.contains(".lineside/hooks.yaml:"), "{told}");
    assert_eq!(deciding(&house).await, ["guard"]);
    let (_, status) = house.get("/v1/status").await;
    let findings: Vec<_> =
        status["findings"].as_array().unwrap().iter().map(|finding| &finding["severity"]).collect();
    assert_eq!(findings, ["error", "warning"], "{status}");
    let kept = status["findings"][1]["text"].as_str().unwrap();
    assert!(kept.contains("1 hook from before the error in force"), "{kept}");
    let (_, reloaded) = house.post("/v1/reload", &json!({})).await;
    assert_eq!((&reloaded["hooks"], deciding(&house).await), (&json!(1), vec!["guard".to_owned()]));
    fs::write(&file, hooks(&["mended"])).unwrap();
    until(&house, &mut reader, &["mended"]).await;
    assert_eq!(house.get("/v1/status").await.1["findings"], json!([]));
}

#[tokio::test]
async fn a_file_that_goes_and_comes_in_quick_turn_keeps_its_hooks() {
    let house = House::hooked(&hooks(&["guard"])).await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let file = house.folder.path().join("project/.lineside/hooks.yaml");
    for _ in 0..60 {
        let begun = Instant::now();
        fs::remove_file(&file).unwrap();
        let decided = deciding(&house).await;
        fs::write(&file, hooks(&["guard"])).unwrap();
        if begun.elapsed() > Duration::from_millis(40) {
            // It was away for long enough to count as gone.
            until(&house, &mut reader, &["guard"]).await;
            continue;
        }
        assert_eq!(decided, ["guard"]);
        while begun.elapsed() < Duration::from_millis(44) {
            assert_eq!(deciding(&house).await, ["guard"]);
        }
    }
}

#[tokio::test]
async fn what_is_read_and_written_beside_hooks_is_no_change() {
    let house = House::hooked(&hooks(&["guard"])).await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let folder = house.folder.path().join("project/.lineside");
    let file = folder.join("hooks.yaml");
    fs::read(&file).unwrap();
    fs::write(folder.join("hook.log"), "a line\n").unwrap();
    fs::write(house.folder.path().join("project/notes.txt"), "a line\n").unwrap();
    fs::write(&file, hooks(&["changed"])).unwrap();
    until(&house, &mut reader, &["changed"]).await;
    assert_eq!(house.get("/v1/status").await.1["generation"], json!(2));
}

#[tokio::test]
async fn an_event_under_way_ends_as_it_began() {
    let house = House::hooked("hooks: []").await;
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    let (root, pipe) = (house.folder.path(), house.folder.path().join("gate"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let waits =
        format!("hooks:\n  - {{name: waits, on: before_prompt, command: [cat, {}]}}\n", pipe.display());
    let file = root.join("project/.lineside/hooks.yaml");
    fs::write(&file, format!("{waits}{}", hooks(&["one"]).replace("hooks:\n", ""))).unwrap();
    until(&house, &mut reader, &["one"]).await;
    let prompt = json!({"point": "before_prompt", "session": "probe", "payload": {"prompt": "x"}});
    let publish = house.post("/v1/events?receipt=true", &prompt);
    let meanwhile = async {
        // The opening ends when the hook has opened its end.
        let gate = tokio::task::spawn_blocking(move || File::create(pipe).unwrap()).await.unwrap();
        fs::write(&file, hooks(&["two"])).unwrap();
        until(&house, &mut reader, &["two"]).await;
        drop(gate);
    };
    let ((_, decision), ()) = tokio::join!(publish, meanwhile);
    assert_eq!((names(&decision), &decision["verdict"]), (vec!["waits".to_owned()], &json!("continue")));
    assert!(decision.get("failed").is_none(), "{decision}");
}

#[tokio::test]
async fn a_reload_whose_client_leaves_comes_to_its_end_and_leaves_no_automation_behind() {
    let folder = crate::house::folder();
    let settings = crate::house::settings(&folder);
    // There is no `node` at first. When it is there, no watched file has changed, and the request alone loads.
    let (bin, gate) = (folder.path().join("bin"), folder.path().join("gate"));
    let project = folder.path().join("project");
    let plugin = project.join(".openclaw/plugins/any");
    let user = folder.path().join("home/.openclaw");
    for made in [&bin, &plugin, &user, &project.join(".lineside")] {
        fs::create_dir_all(made).unwrap();
    }
    let lint = "hooks: [{name: lint, on: on_idle, command: 'true', automate: {}}]";
    fs::write(project.join(".lineside/hooks.yaml"), lint).unwrap();
    fs::write(plugin.join("openclaw.plugin.json"), "{ id: 'any', configSchema: {} }").unwrap();
    fs::write(plugin.join("index.cjs"), "module.exports = () => {};").unwrap();
    fs::write(user.join("lineside.json"), json!({"node": bin.join("node")}).to_string()).unwrap();
    let server = lineside_daemon::Server::start(settings).await.unwrap();
    let house = House { folder, server };
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;

    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    fs::write(bin.join("node"), format!("#!/bin/sh\nread -r _ < {}\n", gate.display())).unwrap();
    fs::set_permissions(bin.join("node"), fs::Permissions::from_mode(0o755)).unwrap();
    // The opening ends when the worker of the plugins has opened its end, and the load waits for the worker.
    let opening = tokio::task::spawn_blocking(move || File::create(gate).unwrap());
    let nothing = json!({});
    let gate = tokio::select! {
        (_, reloaded) = house.post("/v1/reload", &nothing) => panic!("the worker waits: {reloaded}"),
        gate = opening => gate.unwrap(),
    };
    let idle = json!({"point": "on_idle", "session": "probe", "payload": {}});
    let accepted = async || {
        let (_, decision) = house.post("/v1/events?open=true", &idle).await;
        assert_eq!(decision["accepted"][0]["hook"], "lint", "{decision}");
        assert_ne!(decision["accepted"][0]["as"], "refused", "{decision}");
    };
    accepted().await;
    drop(gate);
    while house.get("/v1/status").await.1["generation"] == json!(1) {
        reader.until("announced").await;
    }
    accepted().await;
}

/// Puts one version of the files of two formats in the place of another, in one step.
fn swap(root: &Path, version: usize) {
    let folder = root.join(format!("v{version}"));
    for made in ["lineside", "flyto"] {
        fs::create_dir_all(folder.join(made)).unwrap();
    }
    let two = [format!("a-{version}"), format!("b-{version}")];
    fs::write(folder.join("lineside/hooks.yaml"), hooks(&[&two[0], &two[1]])).unwrap();
    let flyto = json!({"hooks": {"pre_tool_use": [{"name": format!("c-{version}"), "command": "true"}]}});
    fs::write(folder.join("flyto/settings.json"), flyto.to_string()).unwrap();
    std::os::unix::fs::symlink(&folder, root.join("next")).unwrap();
    fs::rename(root.join("next"), root.join("current")).unwrap();
    if version > 0 {
        fs::remove_dir_all(root.join(format!("v{}", version - 1))).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_storm_of_edits_every_decision_is_by_one_whole_generation() {
    const EDITS: usize = 1_000;
    let house = Arc::new(House::new().await);
    let root = house.folder.path().join("project");
    let mut reader = Reader::open(&house, "/v1/signals?after=0", None).await;
    swap(&root, 0);
    std::os::unix::fs::symlink("current/lineside", root.join(".lineside")).unwrap();
    std::os::unix::fs::symlink("current/flyto", root.join(".flyto")).unwrap();
    until(&house, &mut reader, &["a-0", "b-0", "c-0"]).await;
    let (decided, mut seen) = watch::channel(0_usize);
    let (decided, over) = (Arc::new(decided), Arc::new(AtomicBool::new(false)));
    let publishers = (0..4).map(|_| {
        let (house, decided, over) = (Arc::clone(&house), Arc::clone(&decided), Arc::clone(&over));
        tokio::spawn(async move {
            let mut last = 0;
            while !over.load(Ordering::Relaxed) {
                let names = deciding(&house).await;
                let versions: Vec<usize> =
                    names.iter().map(|name| name.split_once('-').unwrap().1.parse().unwrap()).collect();
                assert_eq!(versions, [versions[0]; 3], "{names:?}");
                assert!(versions[0] >= last, "{versions:?} after {last}");
                last = versions[0];
                decided.send_modify(|decided| *decided += 1);
            }
        })
    });
    let publishers: Vec<_> = publishers.collect();
    for version in 1..=EDITS {
        let before = *seen.borrow_and_update();
        let folder = root.clone();
        tokio::task::spawn_blocking(move || swap(&folder, version)).await.unwrap();
        seen.wait_for(|decided| *decided > before).await.unwrap();
    }
    let last = [format!("a-{EDITS}"), format!("b-{EDITS}"), format!("c-{EDITS}")];
    until(&house, &mut reader, &[&last[0], &last[1], &last[2]]).await;
    over.store(true, Ordering::Relaxed);
    for publisher in publishers {
        publisher.await.unwrap();
    }
}
