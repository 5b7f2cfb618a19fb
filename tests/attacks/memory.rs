//! What a client can make the daemon keep.

use crate::ground::{AGENTS, Daemon, Ground};

/// What a process has in memory, in KiB.
fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.0.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn what_is_kept_is_weighed() {
    let ground = Ground::new();
    std::fs::remove_file(ground.path("home/.config/lineside/hooks.yaml")).unwrap();
    let daemon = ground.daemon(&[]);
    let agent = AGENTS[0];
    let text = "x".repeat(256 << 10);
    let call = |session: usize, number: usize| {
        let document = lineside::json::json!({"session_id": format!("s{session}"), "hook_event_name": "PostToolUse",
            "tool_use_id": format!("t{number}"), "tool_name": "Bash", "tool_input": {"command": format!("{number} {text}")},
            "tool_response": format!("{number} {text}"), "unknown": format!("{number} {text}")});
        ground.call_with(ground.hook(agent), &document.to_string())
    };
    for session in 0..8 {
        call(session, 0);
    }
    let before = resident(&daemon);
    // 240 MiB in inputs, results and fields that are not known.
    for number in 1..=320 {
        let answer = call(number % 8, number);
        assert!(answer.lets_pass(), "{answer:?}");
    }
    let more = resident(&daemon).saturating_sub(before) / 1024;
    assert!(more <= 96, "{more} MiB more are resident");
}
