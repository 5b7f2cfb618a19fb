//! Filters that no call can meet, and how folders are written.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_commands::{Shell, Surroundings, analyse};
use lineside_core::json::{Value, json};
use lineside_guards::{Account, Acts, WhenUnclear};

#[test]
fn what_no_call_can_meet_is_told_with_what_to_write_instead() {
    let account = Arc::new(Account::at("/home/dev"));
    for (written, expected) in [
        (
            json!({"runs": "rm -rf"}),
            "`runs`: `rm -rf` matches nothing: a program is one word, write {program: rm, flags: [-rf]}",
        ),
        (
            json!({"runs": [{"program": "git push -f"}]}),
            "`runs[0].program`: `git push -f` matches nothing: a program is one word, write {program: git, subcommand: \
             push, flags: [-f]}",
        ),
        (
            json!({"runs": {"program": ["ls", "/bin/rm"]}}),
            "`runs.program`: `/bin/rm` matches nothing: a program is asked for by its name wherever it lies, write `rm`",
        ),
        (
            json!({"runs": "eval"}),
            "`runs`: `eval` matches nothing: a builtin of the shell starts no program, `argument: {command: …}` looks at \
             the text, and `sets` at variables",
        ),
        (
            json!({"runs": {"program": "git", "subcommand": "push --force"}}),
            "`runs.subcommand`: `push --force` matches nothing: options are no part of it, put `--force` into `flags`",
        ),
        (
            json!({"runs": {"program": "rm", "flags": "r"}}),
            "`runs.flags`: `r` matches nothing: an option begins with a sign, write `-r`",
        ),
        (
            json!({"runs": {"program": "rm", "flags": "rf"}}),
            "`runs.flags`: `rf` matches nothing: an option begins with a sign, write `-rf`",
        ),
        (
            json!({"runs": {"program": "git", "any_flag": ["-f|force"]}}),
            "`runs.any_flag`: `-f|force` matches nothing: an option begins with a sign, write `--force`",
        ),
        (
            json!({"runs": {"program": "rm", "flags": "-r, -f"}}),
            "`runs.flags`: `-r, -f` matches nothing: several options are a list, write [-r, -f]",
        ),
        (
            json!({"reads": "$HOME/.ssh/**"}),
            "`reads`: `$HOME/.ssh/**` matches nothing: no variable is put in its place, `~` is the home",
        ),
        (
            json!({"writes": {"path": "../**"}}),
            "`writes.path`: `../**` matches nothing: no path has `..` in it, write the whole path",
        ),
        (
            json!({"writes": ["!docs/**"]}),
            "`writes`: `!docs/**` matches nothing: a pattern cannot exclude, put what is not meant into `not`",
        ),
        (
            json!({"deletes": {"root": "~you/x"}}),
            "`deletes.root`: `~you/x` matches nothing: only the home of the account is known as `~`, write the whole path",
        ),
        (
            json!({"sets": "LD_PRELOAD"}),
            "`sets`: `LD_PRELOAD` matches nothing: it is compared with name and value, write `LD_PRELOAD=*`",
        ),
    ] {
        let Value::Object(fields) = written else { panic!("{written}") };
        let errors = Acts::read(&fields, WhenUnclear::Match, &account).unwrap_err();
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
    for written in [
        json!({"runs": {"program": "rm", "flags": ["-rf", "--message=a b", "-c=x"], "operand": "a b"}}),
        json!({"runs": "mkfs*"}),
        json!({"sets": ["*", "PATH=*"]}),
        json!({"deletes": {"root": ["/", "~", "~/", "."]}}),
    ] {
        let Value::Object(fields) = written else { panic!("{written}") };
        assert!(Acts::read(&fields, WhenUnclear::Match, &account).is_ok());
    }
}

#[test]
fn a_folder_is_written_as_shells_and_ignore_files_have_it() {
    let state = Surroundings::new("/p", "/home/dev");
    let check = |written: Value, command: &str, expected: bool| {
        let Value::Object(fields) = &written else { panic!("{written}") };
        let acts =
            Acts::read(fields, WhenUnclear::Match, &Arc::new(Account::at("/home/dev"))).unwrap().unwrap();
        let found = acts.matches(&analyse(command, Shell::Bash, &state), &state);
        assert_eq!(found.is_some(), expected, "{command} of {written}: {found:?}");
    };
    for glob in ["./migrations/**", "migrations/", "././migrations/"] {
        check(json!({"writes": glob}), "touch migrations/1.sql", true);
        check(json!({"writes": glob}), "touch src/1.sql", false);
        check(json!({"deletes": {"path": glob}}), "rm migrations/1.sql", true);
        check(json!({"deletes": {"path": glob}}), "rm -r migrations", true);
        check(json!({"deletes": {"path": glob}}), "rm -r src", false);
    }
    check(json!({"deletes": {"root": "~/work/"}}), "rm -r ~/work", true);
    check(json!({"deletes": {"root": "~/work/"}}), "rm -r ~/other", false);
}
