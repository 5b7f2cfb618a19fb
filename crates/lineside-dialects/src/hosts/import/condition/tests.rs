//! The tables of patterns, and what a condition looks at.

use std::path::Path;

use lineside_core::AnyEvent;
use lineside_core::envelope::Source;
use lineside_core::json::{Value, json};

use super::{Condition, covers, file, shell};
use crate::hosts::tools::{Column, Seen};
use crate::samples::event;

#[test]
fn the_table_of_shell_patterns_holds() {
    for (pattern, command, runs) in [
        ("git *", "FOO=bar git push", true),
        ("git *", "npm test && git push", true),
        ("git *", "echo git push", false),
        ("git *", "git", true),
        ("rm *", "echo $(rm -rf x)", true),
        ("rm *", "echo $(date)", false),
        ("git push *", "echo $(date)", true),
        ("rm *", "echo \"open", true),
        ("rm *", "echo 'a; rm b'", false),
        ("rm *", "(cd x; rm b)", true),
        ("rm *", "echo `rm b`", true),
        ("git push *", "git pull $REMOTE", true),
        ("rm *", "A=\"b c\" rm d", true),
        ("rm *", "A='b c' B=\\ x rm d", true),
        ("rm *", "A=$(date +'%F %T') rm d", true),
        ("rm *", "A=`date -u` B=1 rm d", true),
        ("rm *", "A=\"b rm c\" ls", false),
        // Quotes and backslashes.
        ("rm *", "echo \\; rm x", false),
        ("rm *", "echo 'a\\'; rm b", true),
        ("rm *", "echo \"a\\\"; rm b\"", false),
        ("rm *", "echo \"a'\"; rm b", true),
        ("rm *", "echo \"$(rm x)\"", true),
        ("rm *", "echo '$(rm x)'", false),
        ("rm *", "echo \"`rm b`\"", true),
        ("rm *", "echo '`rm b`'", false),
        ("rm *", "echo \\`; rm b", true),
        // What stands between commands.
        ("rm *", "ls & rm x", true),
        ("rm *", "ls | rm x", true),
        ("rm *", "ls\nrm x", true),
        ("rm *", "ls\rrm x", true),
        ("rm *", "{ rm x; }", true),
        // What cannot be split fits.
        ("rm *", "echo `ls", true),
        ("rm *", "echo $(ls", true),
        ("rm *", "(ls", true),
        ("rm *", "ls )", true),
        ("rm *", "{ ls", true),
        ("rm *", "echo 'ls", true),
        ("rm *", "echo $(ls 'x)", true),
        ("rm *", "(ls) ", false),
        // Substitutions within one another.
        ("rm *", "echo $(echo $(rm x))", true),
        ("rm *", "echo $(echo ')'; rm x)", true),
        ("rm *", "echo $(echo \")\"; rm x)", true),
        ("rm *", "echo $(echo '('; rm x)", true),
        ("rm *", "echo $(echo \\); rm x)", true),
        ("rm *", "echo $(echo \"\\\")\"; rm x)", true),
        ("rm *", "echo $(echo ')'; ls)", false),
        ("rm *", "echo $(echo \\); ls)", false),
        ("rm *", "echo $(echo \"\\\")\"; ls)", false),
        ("rm *", "echo $( (ls) ; rm x)", true),
        ("rm *", "echo $( (ls) ) rm x", false),
        ("rm *", "echo $(echo 'rm x')", false),
        // Assignments.
        ("rm *", "_A1=2 rm x", true),
        ("rm *", "1A=2 rm x", false),
        ("rm *", "A-B=2 rm x", false),
        ("rm *", "=2 rm x", false),
        ("rm *", "A=1", false),
        ("rm *", "A=(b c) rm x", true),
        ("rm *", "A=\"\\\" b\" rm x", true),
        ("rm *", "A='\\' rm x", true),
        // What a substitution may come to.
        ("git push *", "git pull $1", false),
        ("git push *", "git pull", false),
        ("git push *", "git pull `x`", true),
        ("git push *", "git pull ${X}", true),
        ("git push *", "git pull $_x", true),
        ("git push", "git pull $X", true),
        ("git *", "echo $X", false),
        ("git", "echo $X", false),
        // Patterns.
        ("git *", "gitx", false),
        ("rm", "rm", true),
        ("rm", "rm x", false),
        ("*", "ls", true),
    ] {
        assert_eq!(shell(pattern, command), runs, "{pattern}: {command}");
    }
}

#[test]
fn file_patterns_are_those_of_ignore_files() {
    for (pattern, path, fits) in [
        ("*.ts", "/p/src/app.ts", true),
        ("src/**", "/p/src/a/b.py", true),
        ("src/**", "/p/lib/src/a.py", false),
        ("**/src/**", "/p/lib/src/a.py", true),
        ("//etc/**", "/etc/passwd", true),
        ("~/notes/*", "/home/u/notes/a", true),
        ("src/*", "src/a.rs", true),
        ("src/**", "/p/x/../src/a", true),
        ("/a.rs", "/p/a.rs", true),
        ("/a.rs", "/p/x/a.rs", false),
        ("/a.rs", "/q/a.rs", false),
        ("*.ts", "/p/a.tsx", false),
        ("a.ts", "/p/axts", false),
        ("**", "/p/a", true),
        ("src/**/x.rs", "/p/src/x.rs", true),
        ("src/**/x.rs", "/p/src/a/b/x.rs", true),
        ("src/**/x.rs", "/p/src/a/yx.rs", false),
        ("src/*", "/p/src/a/b", false),
        ("src/?.rs", "/p/src/a.rs", true),
        ("src/?.rs", "/p/src/ab.rs", false),
        ("src?a", "/p/src/a", false),
        ("./src/*", "/p/src/a", true),
        ("src/*", "/q/src/a", false),
        ("src/*", "/pp/src/a", false),
        ("a b-c_d/*", "/p/a b-c_d/x", true),
        ("*.[ch]", "/p/src/a.h", true),
        ("*.[ch]", "/p/src/a.s", false),
        ("*.[!a-c]", "/p/a.d", true),
        ("*.[!a-c]", "/p/a.b", false),
        ("a[b", "/p/a[b", true),
        (r"a\*", "/p/a*", true),
        (r"a\*", "/p/ab", false),
        ("src/", "/p/lib/src/a", true),
        ("src/", "/p/src", false),
        ("lib/src/", "/p/lib/src/x/a", true),
        ("x[^a].rs", "/p/xb.rs", true),
        ("x[^a].rs", "/p/xa.rs", false),
        ("x[!a]y/*", "/p/x/y/z", false),
        ("x[]a].rs", "/p/x].rs", true),
        (r"x[\]].rs", "/p/x].rs", true),
        ("x[.+].rs", "/p/x+.rs", true),
        ("x[.+].rs", "/p/xa.rs", false),
        ("x[a/]y", "/p/xay", false),
        ("x[[].rs", "/p/x[.rs", true),
        ("x[[].rs", "/p/xa.rs", false),
        (r"\d", "/p/d", true),
        (r"\d", "/p/7", false),
        ("x[é].rs", "/p/xé.rs", true),
        ("**/b.rs", "/x/a/b.rs", true),
        ("**/b.rs", "/x/a/cb.rs", false),
        ("//etc/**", "/p/etc/passwd", false),
        ("~/notes/*", "/home/ux/notes/a", false),
        ("~/notes/*", "/p/notes/a", false),
        ("/a.rs", "/p/x/../../p/./a.rs", true),
        ("/a.rs", "./a.rs", true),
        ("//a.rs", "/../a.rs", true),
    ] {
        assert_eq!(file(pattern, path, "/p", Some("/home/u")), fits, "{pattern}: {path}");
    }
}

#[test]
fn a_home_and_a_directory_may_end_in_a_slash_and_without_a_home_nothing_is_below_it() {
    assert!(file("~/a", "/home/u/a", "/p", Some("/home/u/")));
    assert!(!file("~/a", "/home/u/a", "/p", None));
    assert!(file("src/a", "/p/src/a", "/p/", None));
    assert!(file("src/a", "/src/a", "/", None));
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text, expected) in [
        ("a*b*c", "axbyc", true),
        ("a*b*c", "acb", false),
        ("a*b*c", "abc", true),
        ("a*b*b", "ab", false),
        ("a*a", "a", false),
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a*", "ba", false),
        ("*a", "ab", false),
        ("*bb*b", "abbb", true),
        ("*bb*b", "abb", false),
    ] {
        assert_eq!(covers(pattern, text), expected, "{pattern}: {text}");
    }
}

fn holds(condition: &str, event: &AnyEvent) -> bool {
    let seen = Seen::by(Column::Claude, event).unwrap();
    Condition::read(condition, Some(Path::new("/home/u"))).holds(seen, event)
}

#[test]
fn cl_19_a_condition_names_a_tool_and_what_it_does() {
    let tool = |name: &str, input: Value| {
        let source = Source { cwd: Some("/p".into()), ..Source::root("s") };
        event("before_tool", json!({"tool_name": name, "tool_input": input}), source)
    };
    let shell = tool("Bash", json!({"command": "git push"}));
    for (condition, expected) in [
        ("Bash", true),
        (" Bash ", true),
        ("Write", false),
        ("Bash(git *)", true),
        (" Bash (git *) ", true),
        ("Bash(git *", true),
        ("Bash(rm *)", false),
        ("Write(git *)", false),
    ] {
        assert_eq!(holds(condition, &shell), expected, "{condition}");
    }
    let two = tool("Bash", json!({"command": "ls; git push"}));
    assert!(holds("Bash(git *)", &two));
    let write = tool("Write", json!({"file_path": "src/a.ts", "content": "x"}));
    assert!(holds("Write(src/**)", &write) && !holds("Write(lib/**)", &write));
    let two = tool("Edit", json!({"file_path": "/q/b", "path": "/p/src/a"}));
    assert!(holds("Edit(src/**)", &two));
    // Of an input that is about no file each text counts.
    let fetch = tool("WebFetch", json!({"n": 1, "prompt": "x", "url": "https://a.b/c"}));
    assert!(holds("WebFetch(https://a.b/*)", &fetch) && !holds("WebFetch(https://c*)", &fetch));
    let none = tool("WebFetch", json!({}));
    assert!(holds("WebFetch(*)", &none) && !holds("WebFetch(a)", &none));
}

#[test]
fn a_condition_looks_at_each_command_that_the_tool_may_take() {
    for (name, input) in [
        ("Bash", json!({"command": "ls", "cmd": "rm -rf x"})),
        ("Bash", json!({"cmd": "ls", "command": "rm -rf x"})),
        ("exec_command", json!({"cmd": "rm -rf x"})),
        ("shell", json!({"command": ["rm", "-rf", "x"]})),
        ("shell", json!({"command": ["bash", "-lc", "cd y && rm -rf x"]})),
    ] {
        let payload = json!({"tool_name": name, "tool_input": input});
        let event = event("before_tool", payload, Source::root("s"));
        assert!(holds("Bash(rm *)", &event) && !holds("Bash(git *)", &event), "{name} {input}");
    }
}

#[test]
fn a_path_is_below_the_directory_of_its_event_or_its_project() {
    let write = |source: Source| {
        let payload = json!({"tool_name": "Write", "tool_input": {"file_path": "a", "content": ""}});
        holds("Write(//x/a)", &event("before_tool", payload, source))
    };
    let project = || Some("/x".into());
    assert!(write(Source { project_root: project(), ..Source::root("s") }));
    assert!(!write(Source { project_root: project(), cwd: Some("/y".into()), ..Source::root("s") }));
    assert!(!write(Source::root("s")));
}

#[test]
fn a_condition_is_told_as_it_was_written() {
    for text in ["Bash", "Bash(git *)"] {
        assert_eq!(Condition::read(text, None).describe(), text);
    }
}

#[test]
fn of_substitutions_within_one_another_as_many_are_looked_at_as_a_stack_has_room_for() {
    let nested = |levels: usize| format!("echo {}date{}", "$(".repeat(levels), ")".repeat(levels));
    for (command, fits) in [(nested(64), false), (nested(65), true), (nested(20_000), true)] {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        let found = small.spawn(move || shell("rm *", &command)).unwrap().join().unwrap();
        assert_eq!(found, fits);
    }
}

#[test]
fn a_path_that_is_longer_than_any_fits_without_a_look_at_each_of_its_parts() {
    let path = |bytes: usize| "/a".repeat(bytes / 2);
    assert!(!file("**/b", &path(4_096), "/", None));
    assert!(file("**/b", &path(4_098), "/", None));
}
