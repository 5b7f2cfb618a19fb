//! `lineside cluster` where there is none; with others it is tested beside their server.

use crate::daemon::Daemon;
use crate::stage::Stage;

#[test]
fn without_a_cluster_it_says_how_one_is_joined() {
    let stage = Stage::new();
    let said = stage.run(&["cluster"], "");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("`lineside serve` starts one"), "{said:?}");
    let _daemon = Daemon::start(&stage);
    for arguments in [&["cluster"][..], &["cluster", "members", "--json"]] {
        let said = stage.run(arguments, "");
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("in no cluster") && said.err.contains("--nats"), "{said:?}");
    }
}

#[test]
fn the_page_of_clusters_says_what_the_command_and_the_settings_take() {
    let stage = Stage::new();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cluster.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = |language: &str| -> Vec<String> {
        let begins = format!("```{language}\n");
        page.split(&begins).skip(1).map(|block| block.split_once("```").unwrap().0.to_owned()).collect()
    };
    // What it does not know is named, the first of it alone.
    let lines = blocks("sh").concat().replace('~', "/home");
    for line in lines.lines() {
        let words: Vec<_> = line.split_whitespace().skip(1).chain(["--what-there-is-not"]).collect();
        let said = stage.run(&words, "");
        assert!(said.code == Some(2) && said.err.contains("'--what-there-is-not'"), "{said:?}");
    }
    stage.file("home/.config/lineside/config.yaml", &blocks("yaml")[0]);
    let _daemon = Daemon::start(&stage);
    let status = stage.run(&["status", "--json"], "").json().remove(0);
    let findings: Vec<_> = status["findings"].as_array().unwrap().iter().collect();
    assert!(findings.len() == 1 && findings[0].to_string().contains("cluster"), "{findings:?}");
}

#[test]
fn what_is_asked_of_all_machines_is_refused_where_there_is_no_cluster() {
    let stage = Stage::new();
    let said = stage.run(&["log", "--cluster"], "");
    assert!(said.code == Some(2) && said.out.is_empty(), "{said:?}");
    let _daemon = Daemon::start(&stage);
    for arguments in [&["log", "--cluster"][..], &["why", "--cluster", "01a2"], &["tap", "--cluster"]] {
        let said = stage.run(arguments, "");
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("in no cluster"), "{said:?}");
    }
}

#[test]
fn a_key_of_the_scope_cluster_holds_on_this_machine_without_one_and_is_named() {
    let stage = Stage::new();
    let hooks = "hooks: [{name: deploy, on: after_session, command: [date], automate: {concurrency: k, scope: cluster}}]\n";
    stage.file("home/.config/lineside/hooks.yaml", hooks);
    let _daemon = Daemon::start(&stage);
    let status = stage.run(&["status", "--json"], "").json().remove(0);
    let findings = status["findings"].to_string();
    let says = "automation \\\"deploy\\\" says `scope: cluster`, and this daemon is in no cluster: it holds on this machine only";
    assert!(findings.contains(says), "{findings}");
}
