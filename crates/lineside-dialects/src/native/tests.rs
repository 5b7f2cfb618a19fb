//! Files to hooks: where they are, in which order they run, what they take part in, and trust.

use std::fs;
use std::path::Path;

use lineside_core::Part;
use lineside_core::SkipReason;
use lineside_core::hook::Selected;
use lineside_core::hook::Standby;
use lineside_core::invocation::Inherit;
use lineside_core::json::json;
use tempfile::TempDir;

use super::*;
use crate::dialect::Why;
use crate::handler::Call;

struct Room {
    root: TempDir,
}

impl Room {
    fn with(files: &[(&str, &str)]) -> Self {
        let room = Self { root: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = room.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        room
    }

    fn load(&self, trust: Trust, variables: &[(&str, &str)]) -> Loaded {
        let at = |path: &str| self.root.path().join(path).to_str().unwrap().to_owned();
        let mut environment = std::collections::BTreeMap::from([("HOME".to_owned(), at("home"))]);
        for (name, value) in variables {
            environment.insert((*name).to_owned(), value.replace("ROOM", self.root.path().to_str().unwrap()));
        }
        let project = self.root.path().join("project");
        Native.load(&Places { environment, project_root: Some(project.clone()), cwd: project, trust })
    }
}

fn one(name: &str) -> String {
    format!("hooks:\n- {{name: {name}, on: before_tool, command: 'true'}}\n")
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
}

fn project(text: &str) -> Loaded {
    Room::with(&[("project/.lineside/hooks.yaml", text)]).load(Trust::Granted, &[])
}

#[test]
fn the_users_file_comes_before_that_of_the_project() {
    let room = Room::with(&[
        ("project/.lineside/hooks.yaml", &one("project")),
        ("home/.config/lineside/hooks.yaml", &one("user")),
        ("xdg/lineside/hooks.yaml", &one("xdg")),
        ("project/xdg/lineside/hooks.yaml", &one("planted")),
        ("project/sub/.lineside/hooks.yaml", &one("below")),
        (".lineside/hooks.yaml", &one("above")),
    ]);
    for (variable, user) in [("", "user"), ("xdg", "user"), ("ROOM/xdg", "xdg")] {
        let loaded = room.load(Trust::Granted, &[("XDG_CONFIG_HOME", variable)]);
        assert_eq!(names(&loaded), [user, "project"], "{variable}");
        assert_eq!(loaded.diagnostics, []);
        let layers: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.layer).collect();
        assert_eq!(layers, [Layer::User, Layer::Project]);
        let origin = loaded.hooks[1].hook.origin.as_ref().unwrap();
        assert_eq!(
            (origin.file.ends_with(Path::new("project/.lineside/hooks.yaml")), origin.line),
            (true, 2)
        );
    }
    let bare = Room::with(&[]).load(Trust::Granted, &[]);
    assert!(bare.hooks.is_empty() && bare.diagnostics.is_empty() && bare.inert.is_empty());
}

#[test]
fn what_the_project_declares_waits_for_trust() {
    let room = Room::with(&[
        ("project/.lineside/hooks.yaml", &one("project")),
        ("home/.config/lineside/hooks.yaml", &one("user")),
    ]);
    let loaded = room.load(Trust::Withheld, &[]);
    let standby: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.standby.clone()).collect();
    assert_eq!(standby, [Standby::Ready, Standby::Off(SkipReason::Untrusted)]);
}

#[test]
fn a_hook_is_registered_at_each_of_its_points_with_what_it_may_do_there() {
    let told = |keys: &str| -> Vec<(&'static str, Part, OnFailure)> {
        let loaded = project(&format!(
            "hooks: [{{name: h, on: [before_tool, after_tool, before_stop, on_idle], command: 'true'{keys}}}]"
        ));
        let hook = |found: &ForeignHook| (found.points[0].name, found.hook.part, found.hook.on_failure);
        loaded.hooks.iter().map(hook).collect()
    };
    use {OnFailure as F, Part as P};
    assert_eq!(
        told(""),
        [
            ("before_tool", P::Gate, F::Block),
            ("after_tool", P::Gate, F::Block),
            ("before_stop", P::Gate, F::Block),
            ("on_idle", P::PostDecision, F::Continue),
        ]
    );
    assert!(told(", on_failure: continue").iter().all(|(.., on_failure)| *on_failure == F::Continue));
    let parts =
        |keys| told(keys).into_iter().map(|(_, part, on_failure)| (part, on_failure)).collect::<Vec<_>>();
    assert_eq!(parts(", async: true"), [(P::Detached, F::Continue); 4]);
    assert_eq!(parts(", amends: true")[0], (P::Amender, F::Block));
    assert_eq!(parts(", amends: true")[3], (P::PostDecision, F::Continue));
}

#[test]
fn what_is_declared_reaches_the_hook() {
    let loaded = project(
        "hooks:\n- name: h\n  on: [before_tool, before_stop]\n  match: {tool: [Shell, 'mcp__*']}\n  priority: -7\n  timeout: 200\n  command: x\n",
    );
    let texts: Vec<_> = loaded.diagnostics.iter().map(|one| &*one.text).collect();
    assert_eq!(
        texts,
        ["hook \"h\": `match.tool` looks at what no event of before_stop has: nothing ever matches there"]
    );
    let [tool, stop] = &loaded.hooks[..] else { panic!() };
    assert_eq!((tool.hook.priority, tool.hook.timeout.as_millis(), tool.hook.dialect), (-7, 1700, "native"));
    assert_eq!((tool.can_fire, stop.can_fire), (true, false));
    let event = |tool: &str| samples::event("before_tool", json!({"tool_name": tool, "tool_input": {}}));
    assert_eq!(tool.hook.select(&event("Shell")), Selected::Runs);
    assert_eq!(tool.hook.select(&event("mcp__x")), Selected::Runs);
    // What an agent program calls its shell is one, and a name is otherwise read as it is written.
    assert_eq!(tool.hook.select(&event("shell")), Selected::Runs);
    assert_eq!(tool.hook.select(&event("SHELL")), Selected::Skipped(SkipReason::Filter));
    assert_eq!(tool.hook.select.as_ref().unwrap().describe(), "tool=Shell|mcp__*");
}

#[test]
fn a_file_that_cannot_be_used_costs_no_other() {
    let file = "project/.lineside/hooks.yaml";
    for (text, expected) in [
        (
            "hooks: {a: b}\n",
            "1: `hooks` is a mapping, not a list of hooks, each of which begins with `- name:`",
        ),
        (
            "hooks:\n  PreToolUse:\n    - matcher: Bash\n",
            "1: `hooks` is a mapping with `PreToolUse`, as an agent program has it",
        ),
        ("hook: [{name: b}]\n", "1: unknown key `hook`, did you mean `hooks`?"),
        ("- a\n", "1: the file is not a mapping with the key `hooks`"),
        ("hooks:\n  - a: [\n", "malformed YAML: "),
        ("hooks:\n\t- name: a\n", "; indent with blanks"),
        ("hooks:\n- reason: {program} is bad\n", "has a colon and a blank in it stands in quotes"),
        ("hooks:\n- reason: no: never\n", "has a colon and a blank in it stands in quotes"),
        ("hooks:\n- on: *\n", "; a text that begins with `*` or `&` stands in quotes"),
        (
            "hooks:\n- name: \"rm\\s\"\n",
            "found unknown escape character; in single quotes a backslash stands for itself",
        ),
        ("hooks: []\nhooks: []\n", "2: key `hooks` occurs twice in a mapping"),
    ] {
        let room = Room::with(&[(file, text), ("home/.config/lineside/hooks.yaml", &one("kept"))]);
        let loaded = room.load(Trust::Granted, &[]);
        let closed: Vec<_> = loaded.hooks.iter().filter(|hook| hook.closed).collect();
        assert!(closed.iter().all(|hook| &*hook.hook.name == "hooks.yaml"), "{text}");
        let gates = CATALOGUE.iter().filter(|point| point.phase.may_intercept()).count();
        assert_eq!((closed.len(), loaded.hooks.len()), (gates, gates + 1), "{text}");
        let told = loaded.diagnostics[0].to_string();
        assert!(told.starts_with(room.root.path().join(file).to_str().unwrap()), "{told}");
        assert!(told.contains(expected), "{told}");
        assert_eq!(loaded.diagnostics.len(), 1);
    }
    for text in ["", "hooks:\n", "hooks: []\n", "# nothing\n"] {
        let loaded = project(text);
        assert!(loaded.hooks.is_empty() && loaded.diagnostics.is_empty(), "{text}");
    }
    let directory = Room::with(&[("project/.lineside/hooks.yaml/x", "")]).load(Trust::Granted, &[]);
    let told = directory.diagnostics[0].to_string();
    assert!(told.contains(":1: the file cannot be read: it is a folder; "), "{told}");
    let large = project(&format!("# {}\n", "y".repeat(1 << 20)));
    assert!(large.diagnostics[0].to_string().ends_with("malformed YAML: longer than 1048576 bytes"));
}

#[test]
fn a_key_that_stands_twice_in_a_policy_that_is_used_closes_the_file() {
    let loaded = project("use:\n  - no-force-push: {verdict: block, verdict: ask}\n");
    assert!(loaded.hooks.iter().any(|hook| hook.closed && &*hook.hook.name == "hooks.yaml"));
    let told: Vec<_> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("2: key `verdict` occurs twice"), "{told:?}");
}

#[test]
fn a_broken_hook_costs_no_other_and_stands_closed_where_it_may_have_judged() {
    let loaded = project(
        "hooks:\n- {name: a, on: before_tool, command: x}\n- {name: b, on: before_tool, comand: x}\n- {name: c, on: on_idle, command: x}\n",
    );
    assert_eq!(names(&loaded), ["b", "a", "c"]);
    let closed = &loaded.hooks[0];
    assert!(closed.closed && loaded.inert.is_empty());
    assert_eq!((closed.trigger.as_str(), closed.hook.on_failure), ("before_tool", OnFailure::Block));
    assert_eq!(closed.hook.origin.as_ref().unwrap().line, 3);
}

#[test]
fn a_broken_hook_that_guards_nothing_is_missing_where_it_is_known_to_listen() {
    for (text, points) in [
        ("- {name: b, on: before_tool, on_failure: continue, comand: x}", &["before_tool"][..]),
        ("- {name: b, on: [before_tol, on_idl], async: true}", &["before_tool", "on_idle"]),
        ("- {name: b, on: on_idl, command: x}", &["on_idle"]),
        ("- {name: b, on: PreToolUse, async: true, command: x}", &["before_tool"]),
    ] {
        let loaded = project(&format!("hooks:\n{text}\n"));
        assert_eq!(names(&loaded), [""; 0], "{text}");
        let [broken] = &loaded.inert[..] else { panic!("{text}") };
        let missed = broken.missed.as_ref().unwrap();
        assert_eq!(missed.points.iter().map(|point| point.name).collect::<Vec<_>>(), points, "{text}");
        assert_eq!((broken.why, broken.point.is_some()), (Why::Error, points.len() == 1));
    }
    let untrusted = Room::with(&[("project/.lineside/hooks.yaml", "hooks: x")]).load(Trust::Withheld, &[]);
    assert!(untrusted.hooks.iter().all(|hook| hook.hook.standby == Standby::Off(SkipReason::Untrusted)));
}

#[test]
fn the_dialect_knows_the_catalogue() {
    assert_eq!(Native.point("before_tool", &Map::new()).unwrap().name, "before_tool");
    assert_eq!(Native.point("pre_tool_use", &Map::new()), None);
    assert_eq!(Native.names().len(), CATALOGUE.len());
    assert_eq!(crate::find("native").unwrap().name(), "native");
}

#[test]
fn the_page_shows_a_file_that_loads() {
    let page = include_str!("../../../../docs/dialects/native.md");
    let examples = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let examples: Vec<&str> = examples.filter(|example| example.contains("hooks:")).collect();
    let verdicts = ["no-force-push", "no-push-to-main", "migrations-stay", "no-keys-in-output"];
    let expected = [&["no-deletions", "policy", "policy", "audit"][..], &verdicts, &["no-push"], &["lint"]];
    assert_eq!(examples.len(), expected.len());
    for (example, expected) in examples.into_iter().zip(expected) {
        let room = Room::with(&[("project/.lineside/hooks.yaml", example)]);
        let loaded = room.load(Trust::Granted, &[("AUDIT_TOKEN", "x")]);
        assert_eq!(loaded.diagnostics, []);
        assert_eq!(names(&loaded), expected);
    }
}

/// What each hook inherits, and what was found.
fn inherited(user: &str, project: &str) -> (Vec<Inherit>, Vec<String>) {
    let one = "hooks:\n- {name: h, on: before_tool, command: 'true', dir: /";
    let room = Room::with(&[
        ("home/.config/lineside/hooks.yaml", &user.replace("hooks:", one)),
        ("project/.lineside/hooks.yaml", &project.replace("hooks:", one)),
    ]);
    let loaded = room.load(Trust::Granted, &[]);
    let event = samples::event("before_tool", json!({"tool_name": "Shell", "tool_input": {}}));
    let inherit = |hook: &ForeignHook| match hook.handler.prepare(&event).unwrap() {
        Call::Command(invocation) => invocation.environment.inherit,
        other => panic!("{other:?}"),
    };
    let hooks = loaded.hooks.iter().map(inherit).collect();
    (hooks, loaded.diagnostics.into_iter().map(|one| one.text).collect())
}

#[test]
fn hooks_of_a_project_inherit_the_least_unless_they_or_the_user_say_otherwise() {
    let (least, named) = (Inherit::minimal_and([]), Inherit::minimal_and(["A"]));
    let told = |user: &str, project: &str, expected: [&Inherit; 2]| {
        assert_eq!(
            inherited(user, project),
            (expected.map(Clone::clone).to_vec(), Vec::new()),
            "{user}, {project}"
        );
    };
    told("hooks:}", "hooks:}", [&Inherit::All, &least]);
    told("hooks:, environment: minimal}", "hooks:, environment: inherit}", [&least, &Inherit::All]);
    told("environment: minimal\nhooks:}", "hooks:}", [&least, &least]);
    told("environment: [A]\nhooks:, environment: inherit}", "hooks:}", [&Inherit::All, &named]);
    told("hooks:}\nenvironment: inherit\n", "hooks:}", [&Inherit::All, &Inherit::All]);
    told("environment:\nhooks:}", "hooks:}", [&Inherit::All, &least]);
}

#[test]
fn a_word_for_all_hooks_that_means_nothing_is_the_least() {
    let least = || vec![Inherit::minimal_and([]), Inherit::minimal_and([])];
    for (user, expected) in [
        (
            "environment: none\nhooks:}",
            "`environment` is \"none\", not inherit, minimal or a list of names of variables",
        ),
        (
            "environment: inherit\nhooks:}\nenvironment: inherit",
            "key `environment` occurs twice in a mapping",
        ),
    ] {
        assert_eq!(inherited(user, "hooks:}"), (least(), vec![expected.to_owned()]));
    }
    let (hooks, told) = inherited("hooks:}", "environment: inherit\nhooks:}");
    assert_eq!(hooks, [Inherit::All, Inherit::minimal_and([])]);
    assert_eq!(
        told,
        ["`environment` has no effect: only the user's file has one for all hooks; here it stands in a hook"]
    );
}

/// The page and the table in the code name the same variables.
#[test]
fn the_page_names_the_variables_of_the_minimum() {
    let page = include_str!("../../../../docs/dialects/native.md");
    let line = page.lines().find(|line| line.starts_with("| `minimal` |")).unwrap();
    let cell = line.split('|').nth(2).unwrap();
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    assert_eq!(names, Inherit::MINIMAL);
}

#[test]
fn a_file_of_nearly_the_right_name_is_named_because_it_is_not_read() {
    let room = Room::with(&[
        ("project/.lineside/hooks.yml", &one("a")),
        ("home/.lineside/hooks.yaml", &one("b")),
        ("home/.config/lineside/hooks.yml", &one("c")),
    ]);
    let loaded = room.load(Trust::Granted, &[]);
    assert_eq!(names(&loaded), [""; 0]);
    let told: Vec<_> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (file, instead) in [
        ("project/.lineside/hooks.yml", "project/.lineside/hooks.yaml"),
        ("home/.lineside/hooks.yaml", "home/.config/lineside/hooks.yaml"),
        ("home/.config/lineside/hooks.yml", "home/.config/lineside/hooks.yaml"),
    ] {
        let is_of = |told: &&String| told.contains(&format!("{file}:1: ")) && told.ends_with(instead);
        assert_eq!(told.iter().filter(is_of).count(), 1, "{file}: {told:?}");
    }
}

#[test]
fn what_hooks_load_is_named_in_the_file_of_a_project_and_lies_in_it() {
    let of = |trusts: &str| project(&format!("trusts: {trusts}\n{}", one("g")));
    let loaded = of("[lib/**/*.py, data/words.txt]");
    assert_eq!(
        (&*loaded.trusts, &*loaded.diagnostics),
        (&["lib/**/*.py".to_owned(), "data/words.txt".to_owned()][..], &[][..])
    );
    assert_eq!(of("lib").trusts, ["lib"]);
    for wrong in ["/etc/passwd", "../other", "~/lib", "lib/../..", "'lib/[a'", "'!lib'", "[[a]]", "./lib"] {
        let loaded = of(wrong);
        assert!(loaded.trusts.is_empty() && names(&loaded) == ["g"], "{wrong}");
        let [finding] = &loaded.diagnostics[..] else { panic!("{wrong}: {:?}", loaded.diagnostics) };
        assert!(finding.to_string().contains("hooks.yaml:1: `trusts` is"), "{finding}");
    }
    let user = Room::with(&[("home/.config/lineside/hooks.yaml", "trusts: lib\n")]).load(Trust::Granted, &[]);
    assert!(user.trusts.is_empty() && user.diagnostics[0].text.contains("`trusts` has no effect"));
}

#[test]
fn what_a_file_has_compiled_is_bounded_and_a_gate_beyond_that_stands_closed() {
    let gate = |number| {
        format!(
            "- {{name: g{number}, on: before_tool, match: {{text: '\\w{{9}}'}}, verdict: block, reason: no}}\n"
        )
    };
    let hooks: String = (0..100).map(gate).collect();
    let (loaded, compiled) = lineside_search::within(usize::MAX, || project(&format!("hooks:\n{hooks}")));
    assert!(compiled <= 16 << 20, "{compiled}");
    let first = &loaded.diagnostics[0].text;
    assert!(first.contains("`match.text`") && first.contains("too large together"), "{first}");
    // Each is there: what it would have refused stays refused.
    assert_eq!(loaded.hooks.len(), 100);
    let broken = loaded.diagnostics.len();
    assert!((10..90).contains(&broken), "{broken}");
}

#[test]
fn the_programs_that_start_others_are_known_while_the_users_file_is_broken() {
    let guard = "hooks:\n- {name: g, on: before_tool, verdict: block, reason: r, match: {runs: rm}}\n";
    let command = json!({"tool_name": "Shell", "tool_input": {"command": "with-env rm x"}});
    let event = samples::event("before_tool", command);
    let selected = |user: &str| {
        let files = [("home/.config/lineside/hooks.yaml", user), ("project/.lineside/hooks.yaml", guard)];
        let loaded = Room::with(&files).load(Trust::Granted, &[]);
        loaded.hooks.iter().find(|found| &*found.hook.name == "g").unwrap().hook.select(&event)
    };
    assert_eq!(selected("hooks: [\n"), Selected::Skipped(SkipReason::Filter));
    for user in [
        "wrappers: [with-env]\nhooks: []\n",
        "wrappers: [with-env]\nhooks: [\n",
        "wrappers:\n# Ours.\n- with-env\n\nhooks: {\n",
        "hooks: [\nwrappers: [\n  with-env\n]\nuse: []\n",
    ] {
        assert_eq!(selected(user), Selected::Runs, "{user}");
    }
}
