//! An agent that would change what decides about it, with the tools of its program: the files of hooks and settings, the
//! store of trust, the socket, and the entries that start us.

use std::fs;
use std::path::Path;

use lineside::json::{Value, json};

use crate::ground::{AGENTS, Agent, Answer, Ground, answer};

/// The state folder in the home, where it is not named.
const STATE: &str = "home/.local/state/lineside";

impl Ground {
    /// With entries in two agent programs, and a project that a person has trusted.
    fn installed() -> Self {
        let ground = Self::new();
        for host in ["claude", "gemini"] {
            assert_eq!(ground.says(&["install", host, "--untried"], "").code, Some(0));
        }
        fs::create_dir_all(ground.path("one/.git")).unwrap();
        let hook = "hooks:\n  - {name: of-one, on: before_tool, match: {runs: dd}, verdict: block}\n";
        ground.file("one/.lineside/hooks.yaml", hook);
        ground.file("one/src/a.rs", "");
        let shown = ground.says(&["trust", "--show"], "one");
        let digest = shown.out.lines().find_map(|line| line.strip_prefix("digest ")).unwrap().to_owned();
        assert_eq!(ground.says(&["trust", "--yes", &digest], "one").code, Some(0));
        ground
    }

    fn says(&self, arguments: &[&str], work: &str) -> Answer {
        let mut command = self.command(arguments);
        command.current_dir(self.path(if work.is_empty() { "project" } else { work }));
        answer(command.spawn().unwrap())
    }

    /// What comes of a call of a tool in the project.
    fn tool(&self, agent: Agent, tool: &str, input: &Value) -> Answer {
        let document = agent.document_of(agent.host, tool, input, &self.path("one"));
        self.call_with(self.hook(agent), &document.to_string())
    }

    /// What is written of the policy, its store and its entries.
    fn protected(&self) -> Vec<String> {
        let all = [
            "home/.config/lineside/hooks.yaml",
            "home/.config/lineside/config.yaml",
            "one/.lineside/hooks.yaml",
            "home/.claude/settings.json",
            "home/.gemini/settings.json",
            "run/s",
            "run/off",
            "home/.config/agents/hooks/mine/HOOK.md",
        ];
        let store =
            [format!("{STATE}/trusted-projects"), format!("{STATE}/off")].map(|path| self.path(&path));
        all.into_iter()
            .map(|path| self.path(path))
            .chain(store)
            .map(|path| path.display().to_string())
            .collect()
    }
}

/// A call of the host's own that writes a file.
fn write(agent: Agent, path: &str) -> (&'static str, Value) {
    match agent.host {
        "claude" | "cursor" => ("Write", json!({"file_path": path, "content": ""})),
        "codex" => {
            let patch = format!(
                "*** Begin Patch\n*** Add File: notes.md\n+a\n*** Update File: {path}\n*** End Patch"
            );
            ("apply_patch", json!({"command": patch}))
        }
        "copilot" => ("create", json!({"path": path, "file_text": ""})),
        "kimi" => ("WriteFile", json!({"path": path, "content": ""})),
        _ => ("write_file", json!({"file_path": path, "content": ""})),
    }
}

#[test]
fn t06_no_agent_changes_the_policy_its_store_or_the_entries_with_any_tool_of_its_program() {
    let ground = Ground::installed();
    let _daemon = ground.background();
    for agent in AGENTS {
        for path in ground.protected() {
            let (tool, input) = write(agent, &path);
            let written = ground.tool(agent, tool, &input);
            let shell =
                ground.tool(agent, agent.shell, &json!({"command": format!("mv '{path}' /tmp/gone")}));
            for answer in [written, shell] {
                let said = answer.out.clone() + &answer.err;
                assert!(!answer.lets_pass(), "{} {path}: {answer:?}", agent.host);
                assert!(
                    said.contains("no agent changes it") && said.contains("git diff > change.patch"),
                    "{said}"
                );
            }
        }
        let outside = ground.path("one/src/a.rs").display().to_string();
        let (tool, input) = write(agent, &outside);
        let passes = [
            ground.tool(agent, tool, &input),
            ground.tool(agent, agent.shell, &json!({"command": "cat .lineside/hooks.yaml"})),
        ];
        assert!(passes.iter().all(Answer::lets_pass), "{}: {passes:?}", agent.host);
    }
}

#[test]
fn t06_what_is_not_trusted_is_written_by_agents_and_does_nothing() {
    let ground = Ground::installed();
    let _daemon = ground.background();
    fs::create_dir_all(ground.path("new/.git")).unwrap();
    let path = ground.path("new/.lineside/hooks.yaml");
    let (tool, input) = write(AGENTS[0], path.to_str().unwrap());
    let asks = |cwd: &Path| {
        let document = AGENTS[0].document_of("new", tool, &input, cwd).to_string();
        ground.call_with(ground.hook(AGENTS[0]), &document)
    };
    assert!(asks(&ground.path("new")).lets_pass());
    ground.file("new/.lineside/hooks.yaml", "hooks:\n  - {name: mine, on: before_tool, verdict: block}\n");
    ground.says(&["reload"], "");
    assert!(asks(&ground.path("new")).lets_pass(), "nothing of it is in force");
}

#[test]
fn t06_the_protection_is_on_from_the_first_installation_on_and_is_taken_off_by_the_user_alone() {
    let ground = Ground::new();
    let settings = ground.path("home/.config/lineside/config.yaml").display().to_string();
    let refuses = |arguments: &[&str]| {
        let _daemon = ground.daemon(arguments);
        let (tool, input) = write(AGENTS[0], &settings);
        !ground.tool(AGENTS[0], tool, &input).lets_pass()
    };
    fs::create_dir(ground.path("one")).unwrap();
    assert!(!refuses(&[]), "nothing is installed");
    {
        // A daemon that runs takes notice of an installation.
        let _daemon = ground.daemon(&[]);
        assert_eq!(ground.says(&["install", "claude", "--untried"], "").code, Some(0));
        ground.says(&["reload"], "");
        let (tool, input) = write(AGENTS[0], &settings);
        assert!(!ground.tool(AGENTS[0], tool, &input).lets_pass());
        let doctor = ground.says(&["doctor"], "").out;
        assert!(doctor.contains("✓ policy    agents may not change it"), "{doctor}");
    }
    // A project has no settings, neither before it is trusted nor after.
    ground.file("one/.lineside/config.yaml", "protect-policy: off\n");
    assert!(refuses(&[]) && refuses(&["--project", ground.path("one").to_str().unwrap()]));
    ground.file("home/.config/lineside/config.yaml", "protect-policy: off\n");
    assert!(!refuses(&[]));
    let doctor = ground.says(&["doctor"], "").out;
    assert!(doctor.contains("config.yaml:1 switches `protect-policy` off"), "{doctor}");
    ground.file("home/.config/lineside/config.yaml", "protect-policy: on\n");
    assert!(refuses(&[]));
}
