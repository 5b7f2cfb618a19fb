//! What a hook runs, right and wrong, with the words and the line of the finding.

use std::time::Duration;

use lineside_core::Layer;

use super::super::definition::Definition;
use super::super::samples::{hook, read_as, sound};
use super::*;

/// These lines below `on: on_idle`, the first of which is line 4.
fn told(lines: &str) -> (Option<Definition>, Vec<String>) {
    hook(&format!("on: on_idle\n{lines}"))
}

#[test]
fn exactly_one_thing_is_run() {
    for (lines, expected) in [
        (
            "timeout: 500",
            "2: hook \"h\": there is nothing to run: one of `command`, `worker`, `post` and `verdict` is needed",
        ),
        (
            "command:",
            "2: hook \"h\": there is nothing to run: one of `command`, `worker`, `post` and `verdict` is needed",
        ),
        (
            "command: x\nworker: {program: [x]}",
            "5: hook \"h\": there are both `command` and `worker`, and a hook runs one thing",
        ),
        (
            "post: {url: 'http://h/'}\nworker: {program: [x]}",
            "4: hook \"h\": there are both `worker` and `post`, and a hook runs one thing",
        ),
    ] {
        let (definition, told) = told(lines);
        assert_eq!(told, [expected]);
        assert!(definition.is_none());
    }
}

#[test]
fn a_command_is_a_line_or_a_list() {
    let program = |lines: &str| match &sound(&format!("on: on_idle\n{lines}")).definition.run {
        Run::Command(program, _) => program.argv.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(program("command: echo $HOME; exit 2"), ["/bin/sh", "-c", "echo $HOME; exit 2"]);
    assert_eq!(program("command: [./guard.sh, --level, 3, true]"), ["./guard.sh", "--level", "3", "true"]);
    for (line, expected) in [
        (
            "command: ' '",
            "4: hook \"h\": `command` is \" \", not a line for the shell or a list of program and arguments",
        ),
        (
            "command: []",
            "4: hook \"h\": `command` is an empty list, not a line for the shell or a list of program and arguments",
        ),
        (
            "command: {a: b}",
            "4: hook \"h\": `command` is a mapping, not a line for the shell or a list of program and arguments",
        ),
        (
            "command: [$HOME/guard.sh]",
            "4: hook \"h\": `command` starts `$HOME/guard.sh`, which no shell expands in a list: an absolute path is \
             needed, or one line for the shell",
        ),
        (
            "command: [python3 policy.py]",
            "4: hook \"h\": `command` is a list, and `python3 policy.py` its first item: each word is an item of its own, \
             write [python3, policy.py]",
        ),
        ("command: ['']", "4: hook \"h\": `command[]` is \"\", not the name of a program"),
        ("command: [a, [b]]", "4: hook \"h\": `command[]` is a list, not a text"),
        ("command: [\"a\\0b\"]", "4: hook \"h\": `command[]` is \"a\\0b\", not a text"),
    ] {
        let (definition, told) = told(line);
        assert_eq!(told, [expected]);
        assert!(definition.is_none());
    }
}

/// Otherwise a project that is not trusted would say what the user's own hook runs.
#[test]
fn a_program_of_the_users_file_is_not_one_of_the_project() {
    let user = |keys: &str| {
        let (entries, told) = read_as(Layer::User, &format!("hooks:\n- {{name: h, on: on_idle, {keys}}}"));
        assert_eq!(entries[0].definition.is_some(), told.is_empty());
        told
    };
    assert_eq!(
        user("command: [./guard.sh]"),
        [
            "2: hook \"h\": `command` starts `./guard.sh`, which in a file of the user would be a program of whatever project an event is about: an absolute path is needed, or a name that is found in PATH"
        ]
    );
    assert!(user("worker: {program: [bin/guard]}")[0].contains("`worker.program` starts `bin/guard`"));
    assert!(
        user("command: [~/guard.sh]")[0].contains("`command` starts `~/guard.sh`, which no shell expands")
    );
    assert_eq!(user("command: ~/guard.sh"), [""; 0]);
    assert_eq!(user("command: [guard]"), [""; 0]);
    assert_eq!(user("command: [/usr/bin/guard]"), [""; 0]);
    assert_eq!(user("command: [./guard.sh], dir: /opt/guards"), [""; 0]);
}

#[test]
fn a_worker_has_a_program_and_says_how_it_is_kept() {
    let warm = |lines: &str| match &sound(&format!("on: on_idle\n{lines}")).definition.run {
        Run::Worker(warm, room) => (warm.clone(), room.clone()),
        other => panic!("{other:?}"),
    };
    let (plain, _) = warm("worker: {program: [python3, guard.py]}");
    assert_eq!((plain.start, plain.idle), (WorkerStart::OnUse, None));
    assert_eq!(plain.program, ["python3", "guard.py"]);
    let (ahead, room) =
        warm("worker: {program: [x], start: ahead, idle: 5000}\ndir: sub\nenv: {LEVEL: 1, A: b}");
    assert_eq!((ahead.start, ahead.idle), (WorkerStart::Ahead, Some(Duration::from_secs(5))));
    assert_eq!(room.directory.as_deref(), Some(Path::new("sub")));
    assert_eq!(room.variables, [("LEVEL".to_owned(), "1".to_owned()), ("A".to_owned(), "b".to_owned())]);
    assert!(!format!("{room:?}").contains("\"b\""), "values are not shown: {room:?}");
    for (line, expected) in [
        ("worker: x", "4: hook \"h\": `worker` is \"x\", not a mapping with the key `program`"),
        ("worker: {start: use}", "4: hook \"h\": there is no `worker.program`, which `worker` needs"),
        (
            "worker: {program: x}",
            "4: hook \"h\": `worker.program` is \"x\", not a list of program and arguments",
        ),
        ("worker: {program: [x], start: now}", "4: hook \"h\": `worker.start` is \"now\", not use or ahead"),
        (
            "worker: {program: [x], idle: 999}",
            "4: hook \"h\": `worker.idle` is 999, not a whole number of milliseconds from 1000 to 86400000",
        ),
    ] {
        let (definition, told) = told(line);
        assert_eq!(told, [expected]);
        assert!(definition.is_none());
    }
    let (definition, told) = told("worker: {program: [x], idel: 5000}");
    assert_eq!(told, ["4: hook \"h\": unknown key `worker.idel`, did you mean `idle`?"]);
    assert!(definition.is_some());
}

fn target(hook: &super::super::handler::NativeHook) -> &Target {
    match &hook.definition.run {
        Run::Post(target) => target,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_post_has_its_secrets_by_name() {
    let hook = sound(
        "on: on_idle\npost:\n  url: https://h.example/x\n  headers: {Authorization: 'Bearer ${TOKEN}', X-A: '$${A}'}\n  secrets: [TOKEN]",
    );
    let target = target(&hook);
    let headers: Vec<_> =
        target.headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(headers, [("Authorization", "Bearer hunter2"), ("X-A", "${A}")]);
    assert_eq!(target.addresses, Addresses::AsWritten);
    assert!(!format!("{hook:?}").contains("hunter2"), "{hook:?}");
    let (entries, told) =
        read_as(Layer::User, "hooks:\n- {name: h, on: on_idle, post: {url: 'http://h/', secrets: []}}");
    assert_eq!(told, [""; 0]);
    match &entries[0].definition.as_ref().unwrap().run {
        Run::Post(target) => assert_eq!(target.addresses, Addresses::Any),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_post_may_not_say_is_an_error_with_its_line() {
    for (lines, expected) in [
        ("post: http://h/", "4: hook \"h\": `post` is \"http://h/\", not a mapping with the key `url`"),
        ("post: {}", "4: hook \"h\": there is no `post.url`, which `post` needs"),
        (
            "post: {url: 'ftp://h'}",
            "4: hook \"h\": `post.url` is \"ftp://h\", not an absolute http or https URL",
        ),
        (
            "post: {url: 'http://a:b@h/'}",
            "4: hook \"h\": `post.url` has a name or password in it, which belongs into `post.headers` as a secret",
        ),
        (
            "post:\n  url: http://h/\n  headers:\n    A: ${TOKEN}",
            "7: hook \"h\": `post.headers.A`: the variable `TOKEN` is not on the list of those that may be used here; names of variables stand in `post.secrets`",
        ),
        (
            "post:\n  url: http://h/\n  headers: {A: '${TOKEN'}\n  secrets: [TOKEN]",
            "6: hook \"h\": `post.headers.A`: `${` has to be followed by a name and `}`; names of variables stand in `post.secrets`",
        ),
        (
            "post:\n  url: http://h/\n  headers: {A: '${LINES}'}\n  secrets: [LINES]",
            "6: hook \"h\": `post.headers.A`: the variable `LINES` has a control character in it",
        ),
        (
            "post:\n  url: http://h/\n  headers: {A: '${NO}'}\n  secrets:\n  - NO",
            "8: hook \"h\": `post.secrets`: the variable `NO` is not set",
        ),
        (
            "post:\n  url: http://h/\n  headers: {A: '${EMPTY}'}\n  secrets: [EMPTY]",
            "7: hook \"h\": `post.secrets`: the variable `EMPTY` is not set",
        ),
        (
            "post: {url: 'http://h/', headers: {'a b': c}}",
            "4: hook \"h\": `post.headers` is \"a b\", not a mapping from names of headers to texts",
        ),
        (
            "post: {url: 'http://h/', headers: {a: [c]}}",
            "4: hook \"h\": `post.headers.a` is a list, not a text",
        ),
        (
            "post: {url: 'http://h/', secrets: TOKEN}",
            "4: hook \"h\": `post.secrets` is \"TOKEN\", not a list of names of variables",
        ),
    ] {
        let (definition, told) = told(lines);
        assert!(told.iter().any(|one| one == expected), "{lines}: {told:?}");
        assert!(definition.is_none());
        assert!(!told.join("").contains("hunter"), "{told:?}");
    }
    let (definition, told) = told("post: {url: 'http://h/', secrets: [TOKEN], header: {}}\ndir: x");
    assert_eq!(
        told,
        [
            "5: hook \"h\": `dir` has no effect: a post starts no process",
            "4: hook \"h\": unknown key `post.header`, did you mean `headers`?",
            "4: hook \"h\": `post.secrets` lists `TOKEN`, which no header uses",
        ]
    );
    assert!(definition.is_some());
}

#[test]
fn what_is_inherited_is_said_in_a_word_or_by_names() {
    let inherits = |lines: &str| match &sound(&format!("on: on_idle\ncommand: x\n{lines}")).definition.run {
        Run::Command(_, room) => room.inherit.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(inherits(""), Inherit::minimal_and([]));
    assert_eq!(inherits("environment: minimal"), Inherit::minimal_and([]));
    assert_eq!(inherits("environment: inherit"), Inherit::All);
    assert_eq!(inherits("environment: [API_KEY, A]"), Inherit::minimal_and(["API_KEY", "A"]));
    for (line, expected) in [
        (
            "environment: all",
            "4: hook \"h\": `environment` is \"all\", not inherit, minimal or a list of names of variables",
        ),
        (
            "environment: []",
            "4: hook \"h\": `environment` is an empty list, not inherit, minimal or a list of names of variables",
        ),
        ("environment: [A=b]", "4: hook \"h\": `environment[]` is \"A=b\", not the name of a variable"),
        ("environment:\n- A\n- 7", "6: hook \"h\": `environment[]` is 7, not the name of a variable"),
    ] {
        let (definition, told) = told(&format!("{line}\ncommand: x"));
        assert_eq!(told, [expected]);
        assert!(definition.is_none());
    }
    let (_, told) = told("post: {url: 'http://h/'}\nenvironment: minimal");
    assert_eq!(told, ["5: hook \"h\": `environment` has no effect: a post starts no process"]);
}
