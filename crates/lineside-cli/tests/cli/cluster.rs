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
    let block = |language: &str| {
        page.split(&format!("```{language}\n")).nth(1).unwrap().split_once("```").unwrap().0.to_owned()
    };
    // What it does not know is named, the first of it alone.
    let line = block("sh").replace('~', "/home");
    let words: Vec<_> = line.split_whitespace().skip(1).chain(["--what-there-is-not"]).collect();
    let said = stage.run(&words, "");
    assert!(said.code == Some(2) && said.err.contains("'--what-there-is-not'"), "{said:?}");
    stage.file("home/.config/lineside/config.yaml", &block("yaml"));
    let _daemon = Daemon::start(&stage);
    let status = stage.run(&["status", "--json"], "").json().remove(0);
    let findings: Vec<_> = status["findings"].as_array().unwrap().iter().collect();
    assert!(findings.len() == 1 && findings[0].to_string().contains("cluster"), "{findings:?}");
}
