//! Automations whose key holds on all machines.

use std::fs;

use lineside::client::Session;
use lineside::prelude::*;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::machine::Machine;
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many sessions end on each machine.
const SESSIONS: usize = 6;

/// The automation of the page, in a project on a machine: it says with its fencing token when it begins and ends.
fn deploys(machine: &Machine, name: &str, log: &str) -> std::path::PathBuf {
    let page = include_str!("../../../../docs/cluster.md");
    let hooks = page.split("```yaml\n").filter_map(|block| block.split_once("```")).map(|(block, _)| block);
    let hooks = hooks.filter(|block| block.contains("concurrency: deploy")).collect::<String>();
    let root = machine.project(name, "#!/bin/sh\n");
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let script = format!(
        "#!/bin/sh\nfence=$(grep -o '\"fence\":[0-9]*' | head -1 | tr -dc 0-9)\n\
         echo \"begin $fence\" >>{log}\nsleep 0.05\necho \"end $fence\" >>{log}\n"
    );
    fs::copy(root.join(".lineside/guard.sh"), root.join("deploy.sh")).unwrap();
    fs::write(root.join("deploy.sh"), script).unwrap();
    machine.trust(&root);
    root
}

#[tokio::test]
async fn the_automation_of_the_page_runs_on_one_machine_at_a_time() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&proxy.url(), "b").await);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let log_path = log.to_str().unwrap();
    // A project of the name lies at another place on each.
    let mut ends = JoinSet::new();
    for (machine, name) in [(&a, "x/repo"), (&b, "y/repo")] {
        let root = deploys(machine, name, log_path);
        for number in 0..SESSIONS {
            let session: Session = machine
                .client()
                .session(format!("s{number}"))
                .cwd(root.to_string_lossy())
                .open()
                .await
                .unwrap();
            ends.spawn(async move { session.publish(AfterSession::new("over")).await });
        }
    }
    let mut over = 0;
    while let Some(ended) = timeout(LONG * 2, ends.join_next()).await.expect("they end in time") {
        assert!(!ended.unwrap().unwrap().is_refused());
        over += 1;
        if over == 2 {
            proxy.cut();
            b.until(|status| status["cluster"]["together"] == json!(false)).await;
            proxy.heal();
        }
    }
    for machine in [&a, &b] {
        let status = machine.until(|status| status["live_jobs"] == json!(0)).await;
        assert_eq!(status["dead_jobs"], json!(0), "{status}");
    }
    let said = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = said.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let mut last = 0;
    for pair in lines.chunks(2) {
        let [("begin", fence), ("end", of)] = pair else { panic!("two run at once: {said}") };
        let fence: u64 = fence.parse().unwrap();
        assert!(of == &fence.to_string() && fence > last, "{said}");
        last = fence;
    }
    assert_eq!(lines.len(), 2 * 2 * SESSIONS, "{said}");
}
