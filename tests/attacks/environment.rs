//! What an agent's process brings along: variables, a working directory, a `PATH`, the files of a workspace.

use crate::ground::{AGENTS, Agent, Ground, answer};

/// Names that choose something somewhere, with values that would have it chosen wrongly.
const HOSTILE: [(&str, &str); 22] = [
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("XDG_STATE_HOME", "$PROJECT/.s"),
    ("XDG_RUNTIME_DIR", "$PROJECT/.r"),
    ("XDG_DATA_HOME", "/nonexistent"),
    ("USER", "another"),
    ("LOGNAME", "another"),
    ("PATH", "$PROJECT/node_modules/.bin:/usr/bin:/bin"),
    ("LINESIDE_SOCKET", "$PROJECT/.r/lineside/lineside.sock"),
    ("LINESIDE_SESSION", "another"),
    ("LINESIDE_GRANT", "lsg_0000000000000000"),
    ("COPILOT_CLI", "1"),
    ("CURSOR_VERSION", "2.0.0"),
    ("CURSOR_PROJECT_DIR", "/nonexistent"),
    ("QWEN_PROJECT_DIR", "/nonexistent"),
    ("GEMINI_PROJECT_DIR", "/nonexistent"),
    ("CLAUDE_PROJECT_DIR", "/nonexistent"),
    ("CODEX_HOME", "/nonexistent"),
    ("BASH_ENV", "$PROJECT/env.sh"),
    ("ENV", "$PROJECT/env.sh"),
    ("LD_PRELOAD", "$PROJECT/none.so"),
    ("TMPDIR", "/nonexistent"),
];

/// A clone whose files lie where a relative or chosen place would find them.
fn hostile() -> Ground {
    let ground = Ground::new();
    // Switched off, in a state folder of the clone; a `grep` that finds nothing; a shell that ends before it begins.
    ground.file("project/.s/lineside/off", "");
    ground.program("project/node_modules/.bin/grep", "#!/bin/sh\nexit 1\n");
    ground.program("project/node_modules/.bin/sh", "#!/bin/sh\nexit 0\n");
    ground.program("project/node_modules/.bin/lineside", "#!/bin/sh\nexit 0\n");
    ground.file("project/env.sh", "exit 0\n");
    ground
}

fn of(ground: &Ground, value: &str) -> String {
    value.replace("$PROJECT", ground.path("project").to_str().unwrap())
}

/// Each variable alone, all of them, and all but those that close by themselves.
fn sets() -> Vec<Vec<(&'static str, &'static str)>> {
    let closes = ["LINESIDE_SOCKET", "LINESIDE_GRANT"];
    let mut sets: Vec<Vec<_>> = HOSTILE.iter().map(|one| vec![*one]).collect();
    sets.push(HOSTILE.to_vec());
    sets.push(HOSTILE.iter().filter(|(name, _)| !closes.contains(name)).copied().collect());
    sets
}

#[test]
fn an_agents_environment_only_closes() {
    let ground = hostile();
    let daemon = ground.daemon(&[]);
    for agent in AGENTS {
        let plain = ground.call(agent, ground.hook(agent), "ls");
        assert!(plain.lets_pass(), "{agent:?} {plain:?}");
        for set in sets() {
            let mut command = ground.hook(agent);
            command.envs(set.iter().map(|(name, value)| (name, of(&ground, value))));
            let answer = ground.call(agent, command, "rm x");
            assert!(!answer.lets_pass(), "{agent:?} {set:?} {answer:?}");
        }
    }
    drop(daemon);
}

#[test]
fn a_daemon_that_a_call_starts_takes_nothing_of_its_environment() {
    let agent = AGENTS[0];
    for set in sets() {
        let ground = hostile();
        let _background = ground.background();
        let mut command = ground.hook(agent);
        command.envs(set.iter().map(|(name, value)| (name, of(&ground, value))));
        let first = ground.call(agent, command, "rm x");
        assert!(!first.lets_pass(), "{set:?} {first:?}");
        // The daemon that is there now is that of all agents.
        let next = ground.call(agent, ground.hook(agent), "rm x");
        assert!(!next.lets_pass() && next.out.contains("not rm"), "{set:?} {next:?}");
        let next = ground.call(agent, ground.hook(agent), "ls");
        assert!(next.lets_pass(), "{set:?} {next:?}");
    }
}

#[test]
fn a_daemon_that_a_call_starts_is_bound_by_no_limit_of_that() {
    let agent = AGENTS[0];
    for limit in
        ["ulimit -n 12", "ulimit -f 0", "ulimit -t 5", "ulimit -S -n 12", "ulimit -S -f 0", "umask 0"]
    {
        let ground = hostile();
        let _background = ground.background();
        let plain = ground.hook(agent);
        let mut command = std::process::Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("{limit}; exec \"$0\" \"$@\""))
            .arg(plain.get_program())
            .args(plain.get_args());
        command.env_clear().current_dir(ground.path("project")).stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let first = ground.call(agent, command, "rm x");
        assert!(!first.lets_pass(), "{limit} {first:?}");
        let next = ground.call(agent, ground.hook(agent), "rm x");
        assert!(!next.lets_pass() && next.out.contains("not rm"), "{limit} {next:?}");
        let next = ground.call(agent, ground.hook(agent), "ls");
        assert!(next.lets_pass(), "{limit} {next:?}");
        // Neither the daemon nor what it starts has the limits of the first call.
        let status = answer(ground.command(&["status", "--json"]).spawn().unwrap());
        let status: lineside::json::Value = lineside::json::from_str(&status.out).unwrap();
        let process = format!("/proc/{}", status["pid"]);
        let limits = std::fs::read_to_string(format!("{process}/limits")).unwrap();
        let soft = |name: &str| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().next().unwrap().parse().unwrap_or(u64::MAX)
        };
        for (name, least) in [("Max open files", 256), ("Max file size", 1 << 30), ("Max cpu time", 3_600)] {
            assert!(soft(name) >= least, "{limit} {name}\n{limits}");
        }
        let umask = std::fs::read_to_string(format!("{process}/status")).unwrap();
        assert!(umask.contains("Umask:\t0077"), "{limit}");
    }
}

#[test]
fn a_gate_of_another_program_is_no_fact_of_this_one() {
    let ground = Ground::new();
    let daemon = ground.daemon(&[]);
    for entry in AGENTS {
        for Agent { gate, shell, .. } in AGENTS {
            let document = lineside::json::json!({"session_id": "s1", "hook_event_name": gate, "tool_name": shell,
                "tool_input": {"command": "rm x"}, "cwd": ground.path("project").to_str()});
            let mut command = ground.hook(Agent { host: entry.host, gate, shell });
            command.env("COPILOT_CLI", "1");
            let answer = ground.call_with(command, &document.to_string());
            assert!(!answer.lets_pass(), "{} {gate} {answer:?}", entry.host);
        }
    }
    drop(daemon);
}
