//! `lineside install`, `uninstall`, `hosts` and `doctor`: what they change, and what they say.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use lineside::json::json;
use lineside_account::{Account, Named, Places};

use crate::stage::{Said, Stage, WRONG};

const SETTINGS: &str = "{\n  \"mine\": 1,\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"mine.sh\" }] }\n    ]\n  }\n}\n";

/// Runs it with programs of the stage alone on its path.
pub(crate) fn run(stage: &Stage, arguments: &[&str], more: &[(&str, &str)]) -> Said {
    let path = format!("{}:/usr/bin:/bin", stage.path("bin").display());
    let mut command = stage.command(arguments);
    let child = command.env("PATH", path).envs(more.iter().copied()).spawn().unwrap();
    let mut said = stage.said(child);
    let own = env!("CARGO_BIN_EXE_lineside");
    said.out = said.out.replace(own, "[own]");
    said.err = said.err.replace(own, "[own]");
    said
}

pub(crate) fn program(stage: &Stage, name: &str, script: &str) {
    let file = stage.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_would_change_is_shown_and_nothing_changes() {
    let stage = Stage::new();
    let file = stage.file("home/.gemini/settings.json", "{\n\t\"a\": 1\n}");
    let said = run(&stage, &["install", "gemini", "--dry-run"], &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    insta::assert_snapshot!(said.out);
    let not_on_path = "note: `lineside` is not on PATH, so the entries start [own]\n";
    assert!(said.err.starts_with(not_on_path), "{said:?}");
    assert_eq!(said.err.contains("note: [own] loads shared libraries: "), WRONG == 1, "{said:?}");
    assert!(said.err.ends_with("note: Gemini CLI was not found on this machine\n"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n\t\"a\": 1\n}");
    let json = run(&stage, &["install", "gemini", "--dry-run", "--json"], &[]).json();
    let diff = json[0]["hosts"][0]["files"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("\n+\t\"hooks\": {\n") && diff.contains("\\ No newline at end of file"), "{diff}");
}

#[test]
fn an_entry_names_the_path_of_the_program_and_leaves_nothing_to_the_path_of_an_agent() {
    let stage = Stage::new();
    let link = stage.path("home/bin/lineside");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lineside"), &link).unwrap();
    let path = format!("{}:/usr/bin:/bin", link.parent().unwrap().display());
    let child = stage.command(&["install", "claude", "--untried"]).env("PATH", path).spawn().unwrap();
    let said = stage.said(child);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.err.contains("PATH"), "{said:?}");
    let settings = fs::read_to_string(stage.path("home/.claude/settings.json")).unwrap();
    assert!(settings.contains(&format!("\"command\":\"{}\"", link.display())), "{settings}");
    assert!(!settings.contains("\"lineside"), "{settings}");
}

#[test]
fn a_program_whose_settings_switch_hooks_off_is_not_said_to_be_in_order() {
    let stage = Stage::new();
    let file = stage.file("home/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    let said = run(&stage, &["install", "claude", "--untried"], &[]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let note = "note: the settings of claude switch the hooks of ~/.claude/settings.json off, so claude asks no hook";
    assert!(said.err.contains(note), "{said:?}");
    run(&stage, &["uninstall", "claude"], &[]);
    fs::write(file, "{}").unwrap();
    assert_eq!(run(&stage, &["install", "claude", "--untried"], &[]).code, Some(0));
}

#[test]
fn what_lies_in_the_place_of_the_socket_is_named() {
    let stage = Stage::new();
    let state = stage.file("home/.local/state/lineside/lineside.sock", "").parent().unwrap().to_owned();
    fs::set_permissions(state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let said = run(&stage, &["doctor"], &[]);
    let socket = said.out.lines().find(|line| line.contains("lineside.sock is there and no socket"));
    assert!(socket.is_some() && said.out.contains("-> remove it: rm "), "{}", said.out);
}

#[test]
fn it_is_said_whose_hooks_judge_the_program_from_here_on() {
    let stage = Stage::new();
    stage.file("home/.claude/settings.json", SETTINGS);
    let said = run(&stage, &["install", "codex", "--untried"], &[]);
    let note =
        "note: 1 hook of ~/.claude/settings.json, written for Claude Code, judges Codex as well from here on";
    assert!(said.err.contains(note), "{said:?}");
    let said = run(&stage, &["install", "claude", "--untried"], &[]);
    assert!(!said.err.contains("written for"), "{said:?}");
}

#[test]
fn of_installations_at_once_one_changes_the_file_and_the_others_find_it_done() {
    let stage = Stage::new();
    let file = stage.file("home/.claude/settings.json", SETTINGS);
    let start = || stage.command(&["install", "claude", "--untried", "--json"]).spawn().unwrap();
    let children = [(); 4].map(|()| start());
    let mut changes: Vec<String> = children
        .map(|child| {
            let said = stage.said(child);
            assert_eq!(said.code, Some(0), "{said:?}");
            said.json()[0]["hosts"][0]["files"][0]["change"].as_str().unwrap().to_owned()
        })
        .to_vec();
    changes.sort();
    assert_eq!(changes, ["edited", "none", "none", "none"]);
    let said = run(&stage, &["uninstall", "claude"], &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS);
}

#[test]
fn an_installation_is_taken_back_byte_for_byte() {
    // HO-60, HO-62
    let stage = Stage::new();
    let file = stage.file("home/.claude/settings.json", SETTINGS);
    let said = run(&stage, &["install", "claude", "--untried"], &[]);
    assert_eq!(
        (said.code, said.out.lines().next()),
        (Some(0), Some("Claude Code  ~/.claude/settings.json  edited"))
    );
    let again = run(&stage, &["install", "claude", "--untried", "--json"], &[]).json();
    assert_eq!(again[0]["hosts"][0]["files"][0]["change"], "none");
    assert_eq!(again[0]["hosts"][0]["files"][0]["events"].as_array().unwrap().len(), 20);
    // The state folder is one that the daemon accepts.
    let state = stage.path("home/.local/state/lineside");
    assert_eq!(fs::metadata(state).unwrap().permissions().mode() & 0o777, 0o700);
    let said = run(&stage, &["uninstall", "claude"], &[]);
    assert_eq!((said.code, &*said.out), (Some(0), "Claude Code  ~/.claude/settings.json  taken out\n"));
    assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS);
    let said = run(&stage, &["uninstall", "claude"], &[]);
    assert_eq!(said.out, "Claude Code  ~/.claude/settings.json  has no entry of lineside\n");
}

#[test]
fn an_entry_names_the_places_that_are_not_those_of_the_account_and_asks_their_daemon_whatever_its_environment_is()
 {
    let stage = Stage::new();
    let guard = "hooks:\n  - {name: no, on: before_tool, command: 'echo from these places >&2; exit 2'}\n";
    stage.file("it's mine/lineside/hooks.yaml", guard);
    let (config, state) = (stage.path("it's mine"), stage.path("a state"));
    let variables =
        [("XDG_CONFIG_HOME", config.to_str().unwrap()), ("XDG_STATE_HOME", state.to_str().unwrap())];
    let said = run(&stage, &["install", "kimi"], &variables);
    let _stop = Stop(&stage, variables);
    assert!(said.code == Some(0) && said.out.contains("from these places"), "its entry was tried: {said:?}");
    let file = stage.path("home/.kimi/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("command = ")).unwrap();
    let line: String = lineside::json::from_str(line).unwrap();
    let (home, quoted) = (stage.path("home"), config.to_str().unwrap().replace('\'', r"'\''"));
    let arguments =
        format!("--home {} --config '{quoted}' --state '{}/lineside'", home.display(), state.display());
    assert_eq!(line, format!("{} hook kimi {arguments}", env!("CARGO_BIN_EXE_lineside")));
    // As the program starts it, whatever that has in its environment.
    let call = || {
        let mut shell = Command::new("/usr/bin/timeout");
        shell
            .args(["--foreground", "600", "/bin/sh", "-c", &line])
            .env_clear()
            .env("HOME", "/nowhere")
            .env("XDG_STATE_HOME", "/nowhere");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let document = json!({"hook_event_name": "PreToolUse", "session_id": "k", "tool_name": "Shell", "tool_input": {}});
        child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
        stage.said(child)
    };
    let said = call();
    assert_eq!((said.code, &*said.err), (Some(2), "from these places\n"));
    // A shell with other places is named by doctor, and installing from there changes the entry.
    program(&stage, "kimi", "echo 1.0.0");
    let doctor = |variables: &[(&str, &str)]| run(&stage, &["doctor"], variables).out;
    assert!(!doctor(&variables).contains("asks the daemon of"), "{}", doctor(&variables));
    assert!(doctor(&[]).contains("asks the daemon of --home [stage]/home --config"), "{}", doctor(&[]));
    assert_eq!(run(&stage, &["install", "kimi", "--untried"], &[]).code, Some(0));
    let line = format!("hook kimi --home {}\"", home.display());
    assert!(fs::read_to_string(&file).unwrap().contains(&line), "{}", fs::read_to_string(&file).unwrap());
    assert_eq!(run(&stage, &["uninstall", "kimi"], &[]).code, Some(0));
    assert!(!fs::read_to_string(&file).unwrap_or_default().contains("hook kimi"));
}

/// Ends the daemon of these places.
struct Stop<'a>(&'a Stage, [(&'a str, &'a str); 2]);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        run(self.0, &["stop"], &self.1);
    }
}

#[test]
fn where_no_variable_names_them_the_places_of_a_person_are_those_of_an_entry() {
    let stage = Stage::new();
    let mut doctor = stage.command(&["doctor", "--json"]);
    let said = stage.said(doctor.env_remove("HOME").env("PATH", "/usr/bin:/bin").spawn().unwrap());
    let places = Places::of(&Account::own(), &Named::default()).unwrap();
    let state = |what: &str| {
        let checks = said.json()[0]["checks"].clone();
        let check = checks.as_array().unwrap().iter().find(|check| check["what"] == what).unwrap();
        check["state"].as_str().unwrap().replace(" (not there yet)", "")
    };
    assert_eq!(state("state"), places.state.to_str().unwrap());
    assert_eq!(state("socket"), places.socket.to_str().unwrap());
    assert_eq!(places.named(&Account::own()), Named::default(), "its entry names nothing");
}

#[test]
fn a_project_is_named_or_the_current_folder() {
    let stage = Stage::new();
    for project in ["--project", "--project=../project"] {
        let said =
            run(&stage, &["install", "cursor", project, "--untried", "--event", "beforeShellExecution"], &[]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let file = stage.path("project/.cursor/hooks.json");
        assert!(fs::read_to_string(&file).unwrap().contains("beforeShellExecution"));
        assert!(
            said.err.contains("note: the entries start a program of this machine by its path"),
            "{said:?}"
        );
        assert_eq!(run(&stage, &["uninstall", "cursor", project], &[]).code, Some(0));
        assert!(!stage.path("project/.cursor").exists());
    }
    let said = run(&stage, &["install", "kimi", "--project"], &[]);
    assert_eq!(said.code, Some(2));
    let error = "\nlineside: kimi reads no hooks from a project; install them for the user\n";
    assert!(said.err.ends_with(error) && !said.err.contains("by its path"), "{said:?}");
    let said = run(&stage, &["install", "cursor", "--event", "beforeShellExec", "--untried"], &[]);
    let error = "\nlineside: cursor has no event `beforeShellExec`; the nearest is `beforeShellExecution`\n";
    assert!(said.err.ends_with(error), "{said:?}");
}

#[test]
fn an_entry_in_a_project_that_was_trusted_closes_it_and_what_to_do_is_said() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "exit 2");
    let trust = || {
        let shown = stage.run(&["trust", "--show"], "").out;
        let (_, digest) = shown.rsplit_once("digest ").unwrap();
        assert_eq!(stage.run(&["trust", "--yes", digest.trim()], "").code, Some(0));
    };
    let done = |words: &[&str]| {
        let said = run(&stage, &[words, &["gemini", "--project"]].concat(), &[]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let closed = "note: the guards of [stage]/project stand closed: it is not what was trusted: ";
        let remedy = "; look at it and say: lineside trust [stage]/project\n";
        said.err.lines().any(|line| line.starts_with(closed)) && said.err.ends_with(remedy)
    };
    assert!(!done(&["install", "--untried"]), "it was never trusted");
    assert!(!done(&["uninstall"]));
    trust();
    assert!(!done(&["install", "--dry-run"]));
    assert!(done(&["install", "--untried"]));
    assert!(!done(&["uninstall"]), "it is what was trusted again");
    assert!(done(&["install", "--untried"]));
    trust();
    assert!(!done(&["install", "--untried"]), "nothing has changed");
    assert!(done(&["uninstall"]));
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_with_the_reason() {
    let stage = Stage::new();
    stage.file("home/.qwen/settings.json", "{\n  \"a\" 1\n}");
    let said = run(&stage, &["install", "qwen"], &[]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.ends_with("[stage]/home/.qwen/settings.json was left alone: line 2: it is not JSON: Expected colon after the string or word in object property\n"), "{said:?}");
}

#[test]
fn a_file_that_is_read_only_is_left_alone_with_the_remedy() {
    let stage = Stage::new();
    let file = stage.file("home/.qwen/settings.json", "{}");
    let protect = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    protect(0o444);
    let error = "[stage]/home/.qwen/settings.json was left alone: it is read-only; if it may be changed: \
                 chmod u+w [stage]/home/.qwen/settings.json\n";
    for arguments in [&["install", "qwen", "--untried"][..], &["install", "qwen", "--dry-run"]] {
        let said = run(&stage, arguments, &[]);
        assert_eq!((said.code, said.err.ends_with(error)), (Some(2), true), "{said:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    }
    protect(0o644);
    assert_eq!(run(&stage, &["install", "qwen", "--untried"], &[]).code, Some(0));
    protect(0o444);
    assert_eq!(run(&stage, &["install", "qwen", "--untried"], &[]).code, Some(0), "nothing changes");
    assert_eq!(run(&stage, &["uninstall", "qwen"], &[]).code, Some(2));
    assert!(fs::read_to_string(&file).unwrap().contains("hooks"));
}

#[test]
fn a_program_without_hooks_of_projects_is_passed_over_where_all_are_installed() {
    let stage = Stage::new();
    for name in ["cursor", "kimi"] {
        program(&stage, name, "echo 1.0.0");
    }
    let said = run(&stage, &["install", "all", "--project", "--untried"], &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.err.ends_with(
            "\nnote: kimi reads no hooks from a project; install them for the user: until then its agents here are not covered\n"
        ),
        "{said:?}"
    );
    assert_eq!(run(&stage, &["install", "kimi", "--untried"], &[]).code, Some(0));
    let said = run(&stage, &["install", "all", "--project", "--untried"], &[]);
    assert!(said.err.ends_with("its entry of the user covers this one\n"), "{said:?}");
    assert!(stage.path("project/.cursor/hooks.json").exists());
    let said = run(&stage, &["install", "opencode", "--untried"], &[]);
    assert!(said.err.ends_with("\nnote: OpenCode was not found on this machine\n"), "{said:?}");
    assert!(!said.out.contains("opencode starts no daemon"), "{said:?}");
}

/// An `app-server` that answers as Codex does.
const CODEX: &str = r#"[ "$1" = --version ] && { echo codex-cli 0.169.0; exit; }
while read -r line; do
  case "$line" in *hooks/list*) cat <<END
{"method": "other"}
{"id": 2, "result": {"data": [{"hooks": [
{"command": "lineside hook codex", "sourcePath": "$HOME/.codex/hooks.json", "enabled": true, "isManaged": false, "trustStatus": "untrusted"},
{"command": "lineside hook codex", "sourcePath": "$HOME/.codex/hooks.json", "enabled": true, "isManaged": false, "trustStatus": "trusted"},
{"command": "mine.sh", "sourcePath": "$HOME/.codex/hooks.json", "enabled": true, "isManaged": false, "trustStatus": "untrusted"}]}]}}
END
  esac
done"#;

#[test]
fn the_programs_of_a_machine_are_listed_with_what_is_wrong_and_its_remedy() {
    // CX-24, HO-69, HO-70, HO-74
    let stage = Stage::new();
    program(&stage, "claude", "echo '2.1.330 (Claude Code)'");
    program(&stage, "codex", &CODEX.replace("[{\"hooks\": [\n", "[{\"hooks\": [").replace("},\n{", "}, {"));
    stage.file("bin/pkg/package.json", "{\"bin\": \"x\", \"version\": \"1.2.3-beta\"}");
    program(&stage, "pkg/gemini.js", "exit 1");
    std::os::unix::fs::symlink("pkg/gemini.js", stage.path("bin/gemini")).unwrap();
    stage.file("home/.claude/settings.json", SETTINGS);
    stage.file("home/.claude/skills/fmt/SKILL.md", "---\nname: fmt\nhooks:\n  Stop: []\n---\n");
    for host in ["claude", "codex"] {
        assert_eq!(run(&stage, &["install", host, "--untried"], &[]).code, Some(0));
    }
    insta::assert_snapshot!(run(&stage, &["hosts"], &[]).out);
    let doctor = run(&stage, &["doctor"], &[("LC_ALL", "C")]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.out.is_ascii());
    if WRONG == 1 {
        insta::assert_snapshot!(doctor.out);
    }
    let json = run(&stage, &["hosts", "--json"], &[]).json();
    assert_eq!(json[0]["hosts"][1]["findings"][0]["severity"], "error");
    assert_eq!(json[0]["hosts"][0]["installed"][0]["programs"], lineside::json::json!(["[own]"]));
}

#[test]
fn the_hooks_of_a_plugin_run_when_it_is_named() {
    let stage = Stage::new();
    let handler =
        r#"{"type": "command", "command": "exit 2", "if": 7}, {"type": "command", "command": "exit 2"}"#;
    let hooks = format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{handler}]}}]}}}}"#);
    stage.file("home/fmt/hooks/hooks.json", &hooks);
    let said = run(&stage, &["import", "claude", "--plugin", "../home"], &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let no_plugin = "[stage]/home is no folder of a plugin with hooks: it has no hooks/hooks.json\n";
    assert!(said.err.ends_with(no_plugin), "{said:?}");
    let named = ["import", "claude", "--plugin", "../home/fmt"];
    let said = run(&stage, &named, &[]);
    assert_eq!(said.code, Some(1), "one of them is wrong: {said:?}");
    assert_eq!(said.out, "1 hook of ~/fmt runs for all of your agents\n  plugin:fmt.PreToolUse.2\n");
    assert!(said.err.contains("hooks.json:1") && said.err.contains("`if` must be a text"), "{said:?}");
    let listed = run(&stage, &["list", "--dialect", "claude"], &[]);
    assert!(listed.out.contains("plugin:fmt.PreToolUse.2"), "{listed:?}");
    let said = run(&stage, &[&named[..], &["--remove", "--json"]].concat(), &[]);
    assert_eq!((said.code, &said.json()[0]["changed"]), (Some(0), &json!(true)), "{said:?}");
    assert!(!run(&stage, &["list", "--dialect", "claude"], &[]).out.contains("plugin:fmt"));
}

#[test]
fn several_programs_are_installed_at_once_under_the_names_of_the_demo_as_well() {
    let stage = Stage::new();
    let said =
        stage.run(&["install", "claude-code", "codex", "gemini-cli", "claude", "--untried", "--json"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    let hosts: Vec<_> =
        said.json()[0]["hosts"].as_array().unwrap().iter().map(|host| host["host"].clone()).collect();
    assert_eq!(hosts, ["claude", "codex", "gemini"], "each once");
    let said = stage.run(&["uninstall", "codex", "claude-code"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        !stage.path("home/.codex/hooks.json").exists() && stage.path("home/.gemini/settings.json").exists()
    );
    let said = stage.run(&["install", "nano"], "");
    assert_eq!(said.code, Some(2), "{said:?}");
}

#[test]
fn what_was_installed_is_found_by_its_entries_whatever_the_state_folder_of_the_shell_is() {
    let stage = Stage::new();
    let before = "{\"hooks\": {},   \"model\": \"m\"}";
    let file = stage.file("home/.gemini/settings.json", before);
    let of_shell = [("XDG_STATE_HOME", stage.path("elsewhere").display().to_string())];
    let of_shell = of_shell.each_ref().map(|(name, value)| (*name, value.as_str()));
    let said = run(&stage, &["install", "gemini", "--untried"], &of_shell);
    assert_eq!(said.code, Some(0), "{said:?}");
    let records = stage.path("elsewhere/lineside/installed");
    assert_eq!(std::fs::read_dir(&records).unwrap().count(), 1);
    let said = run(&stage, &["uninstall", "gemini"], &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), before);
    assert_eq!(std::fs::read_dir(&records).unwrap().count(), 0, "nothing of it is left");
}

#[test]
fn what_qwen_code_does_not_take_is_named_by_check_once_it_has_our_entries_and_these_are_no_format() {
    let stage = Stage::new();
    let hooks = "hooks:
  - {name: redact, on: after_tool, amend: {tool_output: {redact: 'sk-[a-z]+', with: '[key]'}}}
";
    stage.file("home/.config/lineside/hooks.yaml", hooks);
    let check = || run(&stage, &["check", "--json"], &[]).json().remove(0);
    assert_eq!((check()["errors"].clone(), check()["warnings"].clone()), (json!(0), json!(0)));
    assert_eq!(run(&stage, &["install", "qwen", "--untried"], &[]).code, Some(0));
    let found = check();
    let texts: Vec<_> =
        found["diagnostics"].as_array().unwrap().iter().map(|one| one["text"].to_string()).collect();
    assert!(
        matches!(&texts[..], [one] if one.contains("hook \\\"redact\\\" may change tool_output, and Qwen Code shows")),
        "{found}"
    );
}
