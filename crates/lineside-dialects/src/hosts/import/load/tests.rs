//! What a file is read as, and what is wrong with it.

use super::super::samples::Room;

const CLAUDE: &str = "home/.claude/settings.json";
const CURSOR: &str = "home/.cursor/hooks.json";
const GEMINI: &str = "home/.gemini/settings.json";
const KIMI: &str = "home/.kimi/config.toml";

/// The names of the hooks and the findings of a file.
fn read(file: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let dialect = file.trim_start_matches("home/.").split('/').next().unwrap();
    let loaded = Room::new(&[(file, text)]).loaded(dialect);
    let mut names: Vec<String> = loaded.hooks.iter().map(|hook| hook.hook.name.to_string()).collect();
    names.dedup();
    (names, loaded.diagnostics.into_iter().map(|finding| finding.text).collect())
}

fn check(file: &str, text: &str, names: &[&str], finding: Option<&str>) {
    let (found, findings) = read(file, text);
    assert_eq!(found, names, "{text}");
    match finding {
        None => assert!(findings.is_empty(), "{text}: {findings:?}"),
        Some(finding) => {
            assert!(findings.len() == 1 && findings[0].contains(finding), "{text}: {findings:?}");
        }
    }
}

fn group(fields: &str, handler: &str) -> String {
    format!("{{\"hooks\": {{\"PreToolUse\": [{{{fields}\"hooks\": [{handler}]}}]}}}}")
}

const HANDLER: &str = r#"{"type": "command", "command": "x"}"#;

#[test]
fn a_matcher_is_a_text_and_one_that_says_nothing_is_none() {
    let own = ["user.PreToolUse.1"];
    for none in
        ["", "\"matcher\": null, ", "\"matcher\": \"\", ", "\"matcher\": \" \", ", "\"matcher\": \"Bash\", "]
    {
        check(CLAUDE, &group(none, HANDLER), &own, None);
    }
    check(CLAUDE, &group("\"matcher\": 7, ", HANDLER), &[], Some("`matcher` must be a text, not 7"));
    check(CLAUDE, &group("\"matcher\": \"(\", ", HANDLER), &[], Some("the matcher `(` does not compile"));
    // Where the page says so, its hooks are there and run for nothing.
    let kimi = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'x'\nmatcher = '('\n";
    check(KIMI, kimi, &["kimi.PreToolUse.1"], Some("the matcher `(` does not compile"));
}

#[test]
fn ho_47_what_has_the_wrong_shape_is_told_and_costs_nothing_else() {
    let own = ["user.PreToolUse.1"];
    check(CLAUDE, "7", &[], Some("it must be an object, not 7"));
    check(CLAUDE, "{}", &[], None);
    check(CLAUDE, "{\"hooks\": null}", &[], None);
    check(CLAUDE, "{\"hooks\": []}", &[], Some("it has the wrong shape: […]"));
    check(CLAUDE, "{\"hooks\": {\"PreToolUse\": 7}}", &[], Some("it must be a list, not 7"));
    check(CLAUDE, "{\"hooks\": {\"PreToolUse\": [{}]}}", &[], Some("a group needs the list `hooks`"));
    check(CLAUDE, &group("", &format!("{HANDLER}, 7")), &own, Some("it must be an object, not 7"));
    let prompt = r#"{"type": "prompt", "prompt": "p"}"#;
    let second = ["user.PreToolUse.2"];
    check(
        CLAUDE,
        &group("", &format!("{prompt}, {HANDLER}")),
        &second,
        Some("type `prompt` are not run here"),
    );
    let cursor = |version: &str| format!("{{{version}\"hooks\": {{\"stop\": [{{\"command\": \"x\"}}]}}}}");
    check(CURSOR, &cursor("\"version\": 1, "), &["user.stop.1"], None);
    check(CURSOR, &cursor(""), &["user.stop.1"], None);
    check(CURSOR, &cursor("\"version\": 2, "), &[], Some("it must be 1, not 2"));
    check(KIMI, "[[hooks]]\ncommand = 'x'\n", &[], Some("the required field `event` is missing"));
    let unknown = "[[hooks]]\nevent = 'PreToolUs'\ncommand = 'x'\n";
    check(KIMI, unknown, &[], Some("the nearest is `PreToolUse`"));
}

#[test]
fn ho_48_a_second_hook_of_a_name_has_a_number() {
    let named = |name: &str| format!("{{\"type\": \"command\", \"command\": \"x\", \"name\": \"{name}\"}}");
    let text = |handlers: &str| format!("{{\"hooks\": {{\"BeforeTool\": [{{\"hooks\": [{handlers}]}}]}}}}");
    let handlers = [named("a"), named(" "), named("a"), named("a")].join(", ");
    check(GEMINI, &text(&handlers), &["a", "user.BeforeTool.2", "a#2", "a#3"], None);
}

#[test]
fn ho_38_our_own_entry_is_no_hook_and_keeps_its_number() {
    let ours = r#"{"type": "command", "command": "/opt/lineside", "args": ["hook", "claude"]}"#;
    let room = Room::new(&[(CLAUDE, &group("", &format!("{ours}, {HANDLER}")))]);
    let loaded = room.loaded("claude");
    assert_eq!(loaded.served, Some("claude"));
    assert_eq!(&*loaded.hooks[0].hook.name, "user.PreToolUse.2");
    assert_eq!(Room::new(&[(CLAUDE, &group("", HANDLER))]).loaded("claude").served, None);
}

#[test]
fn ho_49_hooks_stand_in_the_order_of_hosts_files_and_handlers_behind_all_others() {
    let two = group("", &format!("{HANDLER}, {HANDLER}"));
    let priorities = |file: &str, dialect: &str| {
        let loaded = Room::new(&[(file, &two)]).loaded(dialect);
        loaded.hooks.iter().map(|hook| hook.hook.priority).collect::<Vec<_>>()
    };
    assert_eq!(priorities(CLAUDE, "claude"), [-1_000_000_000, -1_000_000_001]);
    assert_eq!(priorities("home/.codex/hooks.json", "codex"), [-1_010_000_000, -1_010_000_001]);
}

#[test]
fn for_which_events_a_hook_is_can_be_read() {
    let told = |file: &str, dialect: &str, text: &str| {
        let loaded = Room::new(&[(file, text)]).loaded(dialect);
        loaded.hooks[0].hook.select.as_ref().unwrap().describe()
    };
    let handler = r#"{"type": "command", "command": "x", "if": "Bash(git *)"}"#;
    let text = group("\"matcher\": \"Bash|Write\", ", handler);
    assert_eq!(
        told(CLAUDE, "claude", &text),
        "Bash|Write if Bash(git *), except for claude and cursor, which run it themselves"
    );
    let codex = group("", HANDLER);
    assert_eq!(told("home/.codex/hooks.json", "codex", &codex), "*, except for codex, which runs it itself");
}

#[test]
fn a_project_that_switches_off_hooks_of_the_user_is_told_of() {
    let project = |text: &str| {
        let files = [
            (CLAUDE, &*group("", &format!("{HANDLER}, {HANDLER}"))),
            ("project/.claude/settings.json", text),
        ];
        let loaded = Room::new(&files).loaded("claude");
        loaded.diagnostics.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
    };
    let findings = project("{\"disableAllHooks\": true}");
    assert_eq!(findings.len(), 1);
    let begins = "the project would switch off the hook \"user.PreToolUse.1\" of the user (";
    assert!(
        findings[0].starts_with(begins) && findings[0].contains(") and 1 more, but lineside runs"),
        "{findings:?}"
    );
    for none in ["{\"disableAllHooks\": false}", "{}", "{\"hooks\": {}}"] {
        assert_eq!(project(none), [""; 0], "{none}");
    }
    // Of two files of the project the one that does it is named, and its own hooks are its own business.
    let local = "project/.claude/settings.local.json";
    let files = [
        (CLAUDE, &*group("", HANDLER)),
        ("project/.claude/settings.json", "{}"),
        (local, "{\"disableAllHooks\": true}"),
    ];
    let loaded = Room::new(&files).loaded("claude");
    assert_eq!(loaded.diagnostics.len(), 1, "{:?}", loaded.diagnostics);
    assert!(loaded.diagnostics[0].origin.as_ref().unwrap().file.ends_with(local));
    let own = format!("{{\"disableAllHooks\": true, {}", group("", HANDLER).trim_start_matches('{'));
    let loaded = Room::new(&[("project/.claude/settings.json", &*own)]).loaded("claude");
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    // What the user has switched off is off without the project.
    let user = format!("{{\"disableAllHooks\": true, {}", group("", HANDLER).trim_start_matches('{'));
    let files = [(CLAUDE, &*user), ("project/.claude/settings.json", "{}")];
    assert!(Room::new(&files).loaded("claude").diagnostics.is_empty());
}
