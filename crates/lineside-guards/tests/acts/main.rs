//! Filters over what calls do, against events as they are.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_core::envelope::{Envelope, EventId, Source};
use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::{Map, Value, json};
use lineside_core::matcher::{Condition as _, tool};
use lineside_core::{AnyEvent, Payload, Strength};
use lineside_guards::{Account, Acts, Change, Ruling, WhenUnclear, Wording, deletes, reads, runs, writes};
use lineside_points::parts::ToolCall;
use lineside_points::{AfterToolBatch, BeforeTool, OnIdle};

mod carried;
mod unusual;

fn event(payload: impl Payload) -> AnyEvent {
    let source = Source { project_root: Some("/p".into()), cwd: Some("/p/sub".into()), ..Source::root("s") };
    let envelope = Envelope {
        id: EventId::from_u128(0),
        time: lineside_core::Timestamp::UNIX_EPOCH,
        seq: 1,
        source: Arc::new(source),
        cause: None,
        turn: None,
        extra: None,
    };
    AnyEvent::new(envelope, Arc::new(payload))
}

fn call(tool: &str, input: Value) -> AnyEvent {
    event(BeforeTool::new(tool, input))
}

fn shell(command: &str) -> AnyEvent {
    call("Bash", json!({"command": command}))
}

fn read(written: Value, unclear: WhenUnclear) -> Acts {
    let Value::Object(written) = written else { panic!("{written}") };
    let account = Arc::new(Account { wrappers: vec!["mywrap".to_owned()], ..Account::at("/home/dev/") });
    Acts::read(&written, unclear, &account).unwrap().unwrap()
}

fn acts(written: Value) -> Acts {
    read(written, WhenUnclear::Match)
}

fn check(acts: &Acts, event: &AnyEvent, expected: bool) {
    let found = acts.find(event);
    assert_eq!(found.is_some(), expected, "{} of {:?}: {found:?}", acts.describe(), event.payload_json());
}

#[test]
fn one_filter_holds_for_the_shell_and_for_tools() {
    let filter = acts(json!({"deletes": "migrations/**", "unclear": "skip"}));
    for (event, expected) in [
        (shell("rm ../migrations/1.sql"), true),
        (shell("cd .. && git rm -r migrations"), true),
        (shell("mv ../migrations/1.sql /tmp"), true),
        (shell("rm migrations/1.sql"), false),
        (shell("echo rm ../migrations/1.sql"), false),
        (call("exec_command", json!({"cmd": "rm migrations/1.sql", "workdir": "/p"})), true),
        (call("local_shell", json!({"command": ["bash", "-lc", "rm ../migrations/1.sql"]})), true),
        (call("local_shell", json!({"command": ["echo", "$(rm ../migrations/1.sql)"]})), false),
        (
            call(
                "apply_patch",
                json!({"command": "*** Begin Patch\n*** Delete File: ../migrations/1.sql\n"}),
            ),
            true,
        ),
        (call("apply_patch", json!({"command": "*** Begin Patch\n*** Delete File: ../1.sql\n"})), false),
        (call("Write", json!({"file_path": "/p/migrations/1.sql"})), false),
        (call("Glob", json!({"path": "/p/migrations/1.sql"})), false),
        (event(OnIdle::new()), false),
    ] {
        check(&filter, &event, expected);
    }
    let secret = acts(json!({"reads": {"secret": true, "not": "config/.env.ci"}}));
    check(&secret, &call("Read", json!({"file_path": "/p/.env"})), true);
    check(&secret, &call("Read", json!({"file_path": "../config/.env.ci"})), false);
    check(&secret, &call("Read", json!({"file_path": "~/.ssh/id_ed25519"})), true);
    check(&secret, &call("read_file", json!({"absolute_path": "/p/.env"})), true);
    check(&secret, &call("read_many_files", json!({"include": ["a", "/p/.env"]})), true);
    check(&secret, &shell("cat ../.env"), true);
    check(&secret, &call("Write", json!({"file_path": "/p/.env"})), false);
    let outside = acts(json!({"writes": {"outside": "project"}}));
    check(&outside, &call("Edit", json!({"file_path": "/etc/hosts"})), true);
    check(&outside, &call("Edit", json!({"file_path": "../a.rs"})), false);
    check(&outside, &call("write_file", json!({"path": "../../a.rs"})), true);
}

#[test]
fn of_a_batch_one_call_meets_all_filters() {
    let of = |command: &str| ToolCall {
        tool_name: "Bash".to_owned(),
        tool_input: Some(json!({"command": command})),
        ..ToolCall::default()
    };
    let both = acts(json!({"runs": "git", "deletes": "**"}));
    let batch = |commands: &[&str]| {
        event(AfterToolBatch::new(commands.iter().map(|one| of(one)).collect::<Vec<_>>(), Vec::new()))
    };
    check(&both, &batch(&["git status", "rm a"]), false);
    check(&both, &batch(&["ls", "git status; rm a"]), true);
}

#[test]
fn filters_are_combined_as_they_are_written() {
    for (written, command, expected) in [
        (
            json!({"runs": {"program": "git", "subcommand": "push", "operand": ["main", "*:main"]}}),
            "git -C x push origin HEAD:main",
            true,
        ),
        (
            json!({"runs": {"program": "git", "subcommand": "push", "operand": "main"}}),
            "git push origin next",
            false,
        ),
        (json!({"runs": [{"program": "mkfs*"}, "dd"]}), "sudo mkfs.ext4 /dev/sda1", true),
        (json!({"runs": {"program": "rm", "flags": ["-r|-R|--recursive", "-f"]}}), "rm -fr a", true),
        (json!({"runs": {"program": "rm", "flags": ["-r|-R|--recursive", "-f"]}}), "rm -r a", false),
        (json!({"runs": {"program": "psql", "text": "(?i)drop table"}}), "psql -c 'DROP TABLE a'", true),
        (json!({"runs": {"text": "(?i)drop table"}}), "echo 'drop table a' | psql", true),
        (json!({"not": {"runs": "git"}}), "ls", true),
        (json!({"not": {"runs": "git"}}), "git log", false),
        (json!({"any": [{"runs": "a"}, {"runs": "b"}]}), "b", true),
        (json!({"all": [{"runs": "a"}, {"runs": "b"}]}), "b", false),
        (json!({"does": "destroys_data"}), "psql -c 'drop table a'", true),
        (json!({"sets": "HUSKY=0"}), "HUSKY=0 git commit", true),
        (json!({"runs": "rm", "except": {"program": "rm", "operand": "a"}}), "rm a", false),
        (json!({"deletes": "**", "except": ["/p/sub/a"]}), "rm a", false),
        (json!({"runs": "rm"}), "mywrap -x rm a", true),
        (json!({"cannot_tell": "program"}), "$X", true),
        (json!({"cannot_tell": ["program", "paths"]}), "ls", false),
    ] {
        check(&acts(written), &shell(command), expected);
    }
}

#[test]
fn what_is_not_known_counts_as_is_said() {
    let push = || json!({"runs": {"program": "git", "subcommand": "push"}});
    let (block, skip) = (acts(push()), read(push(), WhenUnclear::Skip));
    for (event, why) in [
        (shell("$CMD push"), "`$CMD` is not set within the command"),
        (shell(&"$(".repeat(32_768)), ""),
        (shell("git 'push"), ""),
        (call("PowerShell", json!({"command": "git status"})), ""),
        (call("Bash", json!({"command": "ls", "shell": "/usr/bin/fish"})), "neither bash, sh nor zsh"),
        (call("write_bash", json!({"input": "git push\n"})), "no command that is known here"),
        (shell("a\0b"), ""),
    ] {
        let Selected::InDoubt(told) = block.select(&event) else { panic!("{:?}", event.payload_json()) };
        assert!(told.starts_with("cannot tell which program runs: ") && told.contains(why), "{told}");
        check(&skip, &event, false);
    }
    check(&block, &shell("git commit -m \"$(date)\" \"$FILE\""), false);
    check(&skip, &shell("git push $REMOTE"), true);
    check(&acts(json!({"runs": {"program": "git", "unclear": "skip"}})), &shell("$CMD"), false);
    check(&acts(json!({"deletes": {"path": "db/**", "unclear": "skip"}})), &shell("rm \"$FILE\""), false);
    check(&acts(json!({"deletes": {"unclear": "skip", "path": "db/**"}})), &shell("rm \"$FILE\""), false);
    check(&acts(json!({"deletes": "db/**"})), &shell("rm \"$FILE\""), true);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let errors = |written: Value| {
        let Value::Object(written) = written else { panic!("{written}") };
        let account = Arc::new(Account::at("/home/dev"));
        let errors = Acts::read(&written, WhenUnclear::Match, &account).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    for (written, expected) in [
        (
            json!({"runs": {"programm": "git"}}),
            "`runs.programm`: there is no such key, did you mean `program`?",
        ),
        (json!({"runs": [{"program": "a"}, {"text": "("}]}), "`runs[1].text`: not a regular expression"),
        (json!({"runs": []}), "`runs`: not the name of a program"),
        (
            json!({"deletes": {"not": "a"}}),
            "`deletes`: not a mapping with `path`, `outside`, `root` or `secret`",
        ),
        (json!({"deletes": {"outside": "home"}}), "`deletes.outside`: not `project`"),
        (json!({"does": "destroy_data"}), "`does`: there is no such word, did you mean `destroys_data`?"),
        (json!({"not": {"run": "a"}}), "`not.run`: there is no such key, did you mean `runs`?"),
        (json!({"any": [{"runs": "a"}, {}]}), "`any[1]`: not a mapping with filters"),
        (json!({"runs": "a", "unclear": "mach"}), "`unclear`: there is no such word, did you mean `match`?"),
    ] {
        let told = errors(written);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn an_event_is_read_once_and_an_amended_one_anew() {
    let account = Arc::new(Account::at("/home/dev"));
    let of = |written: Value| {
        let Value::Object(written) = written else { panic!("{written}") };
        Acts::read(&written, WhenUnclear::Match, &account).unwrap().unwrap()
    };
    let (rm, ls) = (of(json!({"runs": "rm"})), of(json!({"runs": "ls"})));
    let first = shell("rm a");
    check(&rm, &first, true);
    check(&ls, &first, false);
    let fields = Map::from_iter([("tool_input".to_owned(), json!({"command": "ls"}))]);
    let second = first.amended(first.payload().with_fields(&fields).unwrap());
    check(&rm, &second, false);
    check(&ls, &second, true);
    check(&rm, &first, true);
    // One for another account is read by itself.
    check(&acts(json!({"runs": "rm"})), &shell("mywrap rm a"), true);
    let wrapped = shell("mywrap rm a");
    check(&rm, &wrapped, false);
    check(&acts(json!({"runs": "rm"})), &wrapped, true);
}

#[test]
fn a_program_builds_the_same_filters() {
    let push = runs("git").subcommand("push").any_flag("-f|--force").no_flag("-n");
    let matcher = tool("Shell").and(push.clone()).compile().unwrap();
    assert_eq!(matcher.select(&shell("git push --forc")), Selected::Runs);
    assert!(matches!(matcher.select(&shell("git push")), Selected::Skipped(_)));
    assert!(matches!(matcher.select(&shell("$GIT push -f")), Selected::InDoubt(_)));
    assert_eq!(
        Value::Object(tool("Shell").and(push).to_json()),
        json!({"tool": ["Shell"], "runs": {"program": ["git"], "subcommand": "push", "any_flag": ["-f|--force"], "no_flag": ["-n"]}})
    );
    let any = [reads("a").into(), writes("b").into(), deletes("c").not("d").into()];
    let any = lineside_guards::ActsDraft::any(any).acts().unwrap();
    check(&any, &call("Read", json!({"path": "/p/a"})), true);
    check(&any, &call("Read", json!({"path": "/p/b"})), false);
    check(&any, &shell("touch ../b"), true);
    let error = tool("Shell").and(runs("a").text("(")).compile().unwrap_err();
    assert!(error.to_string().starts_with("`runs.text`: not a regular expression"), "{error}");
}

#[test]
fn an_answer_says_what_matched() {
    let point = [lineside_points::find("before_tool").unwrap()];
    let ruling = |written: Value, reason: Option<&str>| Ruling {
        strength: Strength::Block,
        reason: reason.map(|text| Wording::read(text, &point).unwrap()),
        context: None,
        amend: Vec::new(),
        limit: None,
        acts: Some(acts(written)),
    };
    let reason = |ruling: &Ruling, command: &str| ruling.answer(&shell(command)).verdict.to_string();
    let rm = json!({"runs": "rm"});
    let command = "sudo bash -c 'rm -r /etc'";
    assert_eq!(reason(&ruling(rm.clone(), Some("keep it")), command), "block: keep it (rm, by sudo → bash)");
    assert_eq!(reason(&ruling(rm.clone(), None), command), "block: rm, by sudo → bash");
    assert_eq!(
        reason(&ruling(rm.clone(), Some("{program} by {way} of {agent}: {{{command}}}")), command),
        "block: rm by sudo → bash of main: {sudo bash -c 'rm -r /etc'}"
    );
    assert_eq!(reason(&ruling(json!({"deletes": "/etc"}), Some("keep {path}")), command), "block: keep /etc");
    assert_eq!(
        reason(&ruling(json!({"deletes": "/etc"}), Some("keep it")), command),
        "block: keep it (rm, by sudo → bash: /etc is deleted)"
    );
    let doubt = "cannot tell which program runs: `$X` is not set within the command";
    assert_eq!(
        reason(&ruling(rm.clone(), Some("keep {path}")), "$X"),
        format!("block: keep a path that is not known ({doubt})")
    );
    assert_eq!(reason(&ruling(rm.clone(), Some("{why}!")), "$X"), format!("block: {doubt}!"));
    let answer = ruling(rm, None).answer(&shell(command));
    assert_eq!(answer.remarks, ["rm, by sudo → bash"]);
}

#[test]
fn fields_are_set_and_redacted() {
    let point = [lineside_points::find("before_tool").unwrap()];
    let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
    let set = |text: &str| Change::Set(Wording::read(text, &point).unwrap());
    let redact = Change::Redact { pattern: "k-[0-9]+".parse().unwrap(), with: "$0".to_owned() };
    let ruling = Ruling {
        strength: Strength::Continue,
        reason: None,
        context: Some(Wording::read("{program} was made dry in {session}", &point).unwrap()),
        amend: vec![
            (path("tool_input.command"), set("{payload.tool_input.command} --dry-run")),
            (path("tool_input.more.note"), set("x")),
            (path("tool_input"), redact),
        ],
        limit: None,
        acts: Some(acts(json!({"runs": "git"}))),
    };
    let event = call("Bash", json!({"command": "git push k-1", "list": ["k-22", 1]}));
    let answer = ruling.answer(&event);
    assert_eq!(
        answer.amendment.apply(event.payload()).unwrap().unwrap().payload.value("tool_input"),
        Some(&json!({"command": "git push $0 --dry-run", "list": ["$0", 1], "more": {"note": "x"}}))
    );
    assert_eq!(answer.context[0].text, "git was made dry in s");
}

#[test]
fn paths_are_those_that_links_lead_to_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("secret")).unwrap();
    std::os::unix::fs::symlink("secret", root.join("plain")).unwrap();
    let filter = acts(json!({"reads": format!("{}/secret/**", root.display())}));
    for event in [
        call("Read", json!({"file_path": root.join("plain/a").to_str()})),
        shell(&format!("cat {}/plain/a", root.display())),
    ] {
        check(&filter, &event, true);
    }
    check(&filter, &shell(&format!("cat {}/other/a", root.display())), false);
}

#[test]
fn each_command_and_folder_that_an_input_has_counts() {
    let filter = acts(json!({"deletes": "migrations/**", "unclear": "skip"}));
    let rm = "rm -r /p/migrations";
    for input in [
        json!({"command": rm, "cmd": ["ls"]}),
        json!({"command": "ls", "cmd": rm}),
        json!({"command": ["ls"], "cmd": rm}),
        json!({"command": "", "script": ["rm", "-r", "/p/migrations"]}),
        json!({"command": [rm]}),
        json!({"commands": ["ls", rm]}),
        json!({"command": "ls", "bash_command": rm}),
        json!({"Command": rm}),
        json!({"command": "rm -r migrations", "cwd": "/q", "workdir": "/p"}),
        json!({"command": "rm -r migrations", "cwd": "/p", "workdir": "/q"}),
        json!({"command": "rm -r /p/migrations\0x"}),
        json!({"command": "rm -r /p/migra\0tions"}),
    ] {
        check(&filter, &call("exec_command", input), true);
    }
    check(&filter, &call("exec_command", json!({"command": "ls", "cmd": ["ls"], "workdir": "/p"})), false);
    // What is meant otherwise has to hold for each of them alone.
    let others = acts(json!({"not": {"runs": "git"}, "unclear": "skip"}));
    check(&others, &call("Brand new", json!({"command": "git status", "cmd": "rm x"})), true);
    check(&others, &call("Brand new", json!({"command": "git status", "cmd": "git log"})), false);
}

#[test]
fn a_folder_that_the_tool_may_pay_no_heed_to_does_not_hide_that_of_the_session() {
    let filter = acts(json!({"deletes": "migrations/**", "unclear": "skip"}));
    let rm = "rm -r ../migrations";
    for (tool, input, expected) in [
        ("Bash", json!({"command": rm, "cwd": "/tmp/x"}), true),
        ("Bash", json!({"command": rm, "workdir": "/tmp/x", "directory": "/q/x"}), true),
        ("exec_command", json!({"cmd": rm, "cwd": "/tmp/x"}), true),
        ("exec_command", json!({"cmd": rm, "workdir": ["/tmp/x"]}), true),
        ("exec_command", json!({"cmd": rm, "workdir": "/tmp/x"}), false),
        ("run_shell_command", json!({"command": rm, "dir_path": "/tmp/x"}), false),
    ] {
        check(&filter, &call(tool, input), expected);
    }
}

#[test]
fn an_allowance_rests_on_nothing_that_the_tool_may_not_take() {
    let allows = Ruling {
        strength: Strength::Allow,
        reason: None,
        context: None,
        amend: Vec::new(),
        limit: None,
        acts: Some(read(json!({"runs": "git"}), WhenUnclear::Skip)),
    };
    let verdict = |input| allows.answer(&call("Bash", input)).verdict.strength();
    assert_eq!(verdict(json!({"command": "git status"})), Strength::Allow);
    assert_eq!(verdict(json!({"command": "rm -rf /", "cmd": "git status"})), Strength::Continue);
    assert_eq!(verdict(json!({"command": "git status", "path": "a", "file_path": "b"})), Strength::Continue);
}

#[test]
fn a_patch_is_read_as_those_read_it_that_apply_it() {
    let filter = acts(json!({"deletes": "migrations/**", "unclear": "skip"}));
    let moves = acts(json!({"writes": "migrations/**", "unclear": "skip"}));
    let patch = "*** Begin Patch\n  *** delete File: /p/migrations/1.sql\n*** Update File: /p/a\n*** Move to: /p/migrations/2.sql\n*** End Patch";
    for event in [
        call("apply_patch", json!({"command": patch})),
        call("apply_patch", json!({"command": "", "input": patch})),
        call("apply_patch", json!(patch)),
        call("shell", json!({"command": ["apply_patch", patch]})),
        shell(&format!("cd /q && apply_patch <<'EOF'\n{patch}\nEOF")),
        shell(&format!("apply_patch '{patch}'")),
    ] {
        check(&filter, &event, true);
        check(&moves, &event, true);
    }
    check(&filter, &shell(&format!("cat <<'EOF'\n{patch}\nEOF")), false);
}

#[test]
fn what_searches_in_files_reads_them() {
    let filter = acts(json!({"reads": "keys/**"}));
    for tool in ["Grep", "search_file_content", "grep"] {
        check(&filter, &call(tool, json!({"pattern": "x", "path": "/p/keys/a"})), true);
        check(&filter, &call(tool, json!({"pattern": "x"})), false);
    }
}

#[test]
fn a_command_that_is_too_long_to_be_read_is_no_way_around_a_guard_that_skips_what_is_unclear() {
    let refuses = acts(json!({"deletes": "migrations/**", "unclear": "skip"}));
    let allows = read(json!({"runs": "ls", "unclear": "skip"}), WhenUnclear::Skip);
    let rm = "rm -r /p/migrations";
    let many = |text: &str| text.repeat(5_000);
    for command in [
        format!("{rm} # {}", many("0123456789abcdef")),
        format!(": {}; {rm}", many("a ")),
        format!("{}{rm}", "true; ".repeat(300)),
        format!(": {}; {rm}", "$(true) ".repeat(600)),
    ] {
        let found = refuses.find(&shell(&command));
        assert!(found.is_some(), "{}", &command[..40]);
        check(&allows, &shell(&command), false);
    }
    check(&refuses, &shell("$CMD x"), false);
    check(&refuses, &shell("true; true"), false);
}
