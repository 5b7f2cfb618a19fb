//! Programs and files that lie where a hook file might be taken to mean them.

use crate::ground::{AGENTS, Ground};

/// A guard of a project that refuses; beside it, under the same names in another project, programs that agree and say that
/// they have run.
const GUARDS: [(&str, &str, &str); 4] = [
    (
        ".lineside/hooks.yaml",
        "hooks:\n  - {name: own, on: before_tool, command: [./guard.sh]}\n",
        "lineside's own file, a command",
    ),
    (
        ".lineside/hooks.yaml",
        "hooks:\n  - {name: own, on: before_tool, command: \"./guard.sh\"}\n",
        "lineside's own file, a line for the shell",
    ),
    (
        ".lineside/hooks.yaml",
        "hooks:\n  - {name: own, on: before_tool, command: [sh, guard.sh]}\n",
        "lineside's own file, a script of an interpreter",
    ),
    (
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}}"#,
        "Claude Code's settings",
    ),
];

#[test]
fn a_program_beside_the_work_is_never_the_program_of_a_hook() {
    for (file, text, what) in GUARDS {
        let ground = Ground::new();
        std::fs::remove_file(ground.path("home/.config/lineside/hooks.yaml")).unwrap();
        ground.file(&format!("project/{file}"), text);
        ground.program("project/guard.sh", "#!/bin/sh\necho 'not here' >&2\nexit 2\n");
        ground.program("clone/guard.sh", "#!/bin/sh\ntouch \"${0%/*}/ran\"\ntouch ran\nexit 0\n");
        let _daemon = ground.daemon(&["--project", "."]);
        // Codex reads nothing of Claude Code, so that the hooks of its settings are run here.
        let codex = AGENTS[1];
        let (own, clone) = (ground.path("project"), ground.path("clone"));
        // The session is one of the project, and goes on elsewhere.
        for work in [own, clone] {
            let document = codex.document("s1", "rm x", &work).to_string();
            let answer = ground.call_with(ground.hook(codex), &document);
            assert!(!answer.lets_pass(), "{what}: {answer:?}");
        }
        assert!(!ground.path("clone/ran").exists(), "{what}: a program of the clone has run");
    }
}
