//! The policies that the pages show, as their readers would try them.

use lineside::json::{Value, json};

use crate::stage::Stage;

/// The YAML of a page that declares hooks.
fn policy(page: &str) -> &str {
    let snippets = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    snippets.into_iter().find(|snippet| snippet.starts_with("use:")).expect("the page has a policy")
}

#[test]
fn the_policies_of_the_pages_do_what_they_say() {
    let readme = policy(include_str!("../../../../README.md"));
    let install = policy(include_str!("../../../../docs/install.md"));
    for (policy, hooks) in [(readme, 1), (install, 3)] {
        let stage = Stage::new();
        stage.file("home/.config/lineside/hooks.yaml", policy);
        let said = stage.run(&["check"], "");
        assert!(said.out.ends_with(" ready, 0 errors, 0 warnings\n"), "{said:?}");
        for (commands, verdict) in
            [(REFUSED, "block"), (LET_THROUGH, "continue"), (EVERYDAY_UNCLEAR, "continue")]
        {
            let calls =
                commands.iter().map(|command| tool_call("before_tool", "Bash", &json!({"command": command})));
            let said = stage.run(&["run"], calls.collect::<Vec<_>>().join("\n"));
            let verdicts = said.field("verdict");
            for (command, said) in commands.iter().zip(&verdicts) {
                assert_eq!(*said, json!(verdict), "{command}");
            }
            assert_eq!(verdicts.len(), commands.len(), "{said:?}");
        }
        let reason = stage
            .run(&["run"], tool_call("before_tool", "run_shell_command", &json!({"command": "rm -rf x"})));
        assert_eq!(reason.field("reason"), [json!("name the files that are to go (rm)")], "{reason:?}");
        let explained = stage.run(&["explain", "sudo sh -c 'rm -r x'"], "");
        assert!(explained.out.contains("runs: rm, by sudo → sh"), "{explained:?}");
        // What is not known is named, and a person is asked where the policy for that is in use.
        let explained = stage.run(&["explain", "$CMD x"], "");
        assert!(explained.out.contains("Cannot tell\n  ? `$CMD` is not set"), "{explained:?}");
        stage.file(
            "home/.config/lineside/hooks.yaml",
            &policy.replace("use: [standard]", "use: [standard, legible-commands]"),
        );
        let asked = EVERYDAY_UNCLEAR
            .iter()
            .map(|command| tool_call("before_tool", "Bash", &json!({"command": command})));
        let said = stage.run(&["run"], asked.collect::<Vec<_>>().join("\n"));
        assert_eq!(said.field("verdict"), vec![json!("ask"); EVERYDAY_UNCLEAR.len()], "{said:?}");
        stage.file("home/.config/lineside/hooks.yaml", policy);
        let logged = std::fs::read_to_string(stage.path("home/agents.jsonl")).unwrap_or_default();
        for command in ["ls", "rm -rf build"] {
            let of_it = logged.lines().filter(|line| line.contains(&format!("\"{command}\"")));
            assert_eq!(of_it.count(), usize::from(hooks == 3), "{command}: {logged}");
        }
        let edited = tool_call("after_tool", "Write", &json!({"file_path": "a.rs"}));
        let explained = stage.run(&["explain", "--json"], edited).json();
        let runs = |hook: &&Value| hook["runs"] == json!(true);
        let names =
            explained[0]["hooks"].as_array().into_iter().flatten().filter(runs).map(|hook| &hook["hook"]);
        assert_eq!(names.collect::<Vec<_>>(), if hooks == 3 { vec!["log", "tests"] } else { vec![] });
    }
}

/// What deletes folders.
const REFUSED: &[&str] = &[
    "rm -rf build", "rm  -fr /", "rm -r -f x", "rm -f -r x", "rm -Rf x", "rm --recursive --force x",
    "rm --force --recursive x", "rm x -rf", "rm -v -i -r x", "rm -r x", "cd a && rm -rf b", "true\nrm -rf x",
    "(rm -rf x)", "echo $(rm -rf x)", "{ rm -rf x; }", "if true; then rm -rf x; fi", "sudo -u root rm -rf /",
    "ls | xargs -0 rm -rf", "find . -exec rm -rf {} +", "FOO=1 rm -rf x", "/bin/rm -rf x", "\\rm -rf x",
    "bash -c 'rm -rf x'", "sh -lc \"rm -rf x\"", "nohup rm -rf x &", "r''m -r x", "$'\\x72m' -r x",
    "eval 'rm -r x'", "echo 'rm -r x' | sh", "X=rm; $X -r x", "rm --rec x",
];

/// What does not, whatever it looks like.
const LET_THROUGH: &[&str] = &[
    "ls",
    "rm x",
    "rm -f x",
    "rm --force x",
    "rm --preserve-root x",
    "git rm -r --cached docs",
    "echo rm -r x",
    "cat <<'E'\nrm -r x\nE",
    "# rm -r x",
    "man rm -r",
    "git commit -m \"rm -rf docs\"",
    "git commit -m 'rm -rf docs'",
    "echo \"rm -rf is refused\"",
    "grep 'rm -rf' notes",
    "grep -rf pattern file",
    "confirm -rf x",
    "sudo confirm -rf x",
    "bin/alarm -rf x",
    "rm a; ls -r",
    "find . -name '*.pyc' -exec rm {} +",
    "rm -f \"$F\"",
    "eval 'set -e' && make",
];

/// What agents write every day, of which it is not known what they run.
const EVERYDAY_UNCLEAR: &[&str] = &[
    "source venv/bin/activate && python -m pytest",
    ". \"$HOME/.cargo/env\" && cargo build",
    "${PYTHON:-python3} -m pytest",
    "\"$CMD\" -r x",
];

#[test]
fn the_tests_of_the_page_run_where_there_are_some_and_say_so_where_not() {
    let install = policy(include_str!("../../../../docs/install.md"));
    let (_, rest) = install.split_once("- name: tests").expect("a hook");
    let (_, rest) = rest.split_once("command: |\n").expect("a command");
    let line: String =
        rest.lines().take_while(|line| line.starts_with("      ")).flat_map(|line| [line, "\n"]).collect();
    let stage = Stage::new();
    stage.file("bin/cargo", "#!/bin/sh\necho one test is red\nexit 101\n");
    let cargo = stage.path("bin/cargo");
    std::fs::set_permissions(&cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is there");
    let run = || {
        let path = format!("{}:/usr/bin:/bin", stage.path("bin").display());
        let mut shell = std::process::Command::new("/bin/sh");
        let ended = shell.args(["-c", &line]).env("PATH", path).current_dir(stage.path("")).output();
        let ended = ended.expect("a shell");
        (String::from_utf8_lossy(&ended.stdout).into_owned(), ended.status.code())
    };
    let (said, status) = run();
    assert!(said.starts_with("tests: not run, there is no Cargo.toml"), "{said}");
    assert_eq!(status, Some(0));
    stage.file("Cargo.toml", "");
    let (said, status) = run();
    assert!(said.starts_with("tests: cargo test in /") && said.contains("one test is red"), "{said}");
    assert_eq!(status, Some(1), "it has run, and something is not in order");
}

fn tool_call(point: &str, tool: &str, input: &Value) -> String {
    let mut payload = json!({"tool_name": tool, "tool_input": input});
    if point == "after_tool" {
        payload["tool_output"] = json!("");
    }
    json!({"point": point, "payload": payload}).to_string()
}

#[test]
fn why_calls_no_policy_too_strict_that_asks_or_has_not_judged_the_call() {
    let stage = Stage::new();
    let said = |command: &str| {
        let event = tool_call("before_tool", "Bash", &json!({"command": command}));
        let said = stage.run(&["run", "--log", "log.sqlite"], event);
        (said.field("verdict").remove(0), stage.run(&["why", "--log", "log.sqlite", "--last"], "").out)
    };
    stage.file("home/.config/lineside/hooks.yaml", "use: [git-safety: ask]\n");
    let (verdict, page) = said("git checkout -- a");
    assert_eq!(verdict, "ask");
    assert!(page.contains("a policy, which asks") && !page.contains("too strict"), "{page}");
    stage.file("home/.config/lineside/hooks.yaml", "");
    stage.file("project/.lineside/hooks.yaml", "use: [git-safety]\n");
    let shown = stage.run(&["trust", "--show"], "").out;
    let digest = shown.lines().find_map(|line| line.strip_prefix("digest ")).unwrap();
    assert_eq!(stage.run(&["trust", "--yes", digest], "").code, Some(0));
    stage.file("project/.lineside/hooks.yaml", "use: [git-safety]\n# Changed.\n");
    let (verdict, page) = said("ls");
    assert_eq!(verdict, "block");
    assert!(page.contains("by git-safety") && page.contains("has failed"), "{page}");
    assert!(!page.contains("too strict"), "{page}");
}

#[test]
fn what_a_policy_is_too_strict_about_is_let_through_as_the_page_says_and_why_points_there() {
    let page = include_str!("../../../../docs/guards.md");
    let (_, section) = page.split_once("## When a policy is too strict").unwrap();
    let stage = Stage::new();
    let hooks = "home/.config/lineside/hooks.yaml";
    let said = |command: &str| {
        let said = stage.run(
            &["run", "--log", "log.sqlite"],
            tool_call("before_tool", "Bash", &json!({"command": command})),
        );
        said.field("verdict").remove(0)
    };
    let commands = [
        "git checkout -- a", "cat .env.local", "docker compose down -v", "psql -c 'DROP TABLE a'", "cat .env",
    ];
    stage.file(hooks, "use: standard\n");
    for command in commands {
        assert_eq!(said(command), json!("block"), "{command}");
    }
    stage.file(hooks, policy(section));
    let verdicts: Vec<_> = commands.iter().map(|command| said(command)).collect();
    assert_eq!(verdicts, ["ask", "continue", "continue", "continue", "block"]);
    let said = stage.run(&["why", "--log", "log.sqlite", "--refused"], "");
    assert!(
        said.out.contains("by protect-secrets") && said.out.contains("where it is too strict"),
        "{said:?}"
    );
}
