//! Policies that files use, right and wrong.

use lineside_core::hook::Mode;
use lineside_core::{Layer, Strength};

use super::super::definition::Run;
use super::super::entry::Entry;
use super::super::samples::{read, read_as, shell_of as shell};
use super::*;

fn strength(entry: &Entry) -> Strength {
    match &entry.definition.as_ref().unwrap().run {
        Run::Rule(ruling) => ruling.strength,
        other => panic!("{other:?}"),
    }
}

fn matches(entry: &Entry, command: &str) -> bool {
    entry.definition.as_ref().unwrap().matcher.as_ref().unwrap().matches(&shell(command))
}

#[test]
fn every_policy_is_hooks_that_load_without_a_word_and_is_named_as_its_file_says() {
    for policy in ALL {
        let (entries, told) = read(&format!("use: [{}]", policy.name));
        assert_eq!(told, [""; 0], "{}", policy.name);
        assert!(!entries.is_empty(), "{}", policy.name);
        for entry in &entries {
            assert_eq!(entry.line, 1, "{}", entry.name);
            assert!(entry.definition.is_some(), "{}", entry.name);
            let is_named = entry.name == policy.name || entry.name.starts_with(&format!("{}/", policy.name));
            assert!(is_named, "{} of {}", entry.name, policy.name);
        }
        let document = yaml::read(policy.text, 1, UnknownEscapes::Refuse).unwrap();
        let Content::Mapping(keys) = document.root.content else { panic!("{}", policy.name) };
        let of =
            |name: &str| keys.iter().find(|(key, _)| key.written() == Some(name)).map(|(_, value)| value);
        assert_eq!(of("policy").and_then(Node::text), Some(policy.name));
        assert!(matches!(of("version").map(|version| &version.content), Some(Content::Integer(1..))));
    }
    for name in STANDARD {
        assert!(named(name).is_some(), "{name}");
    }
}

#[test]
fn a_policy_has_another_verdict_and_leaves_out_what_is_excepted() {
    let force = "git push --force origin main";
    let (entries, told) = read("use: standard\nhooks: []");
    assert_eq!(told, [""; 0]);
    let of = |entries: &[Entry]| entries.iter().position(|entry| entry.name == "no-force-push").unwrap();
    assert_eq!(strength(&entries[of(&entries)]), Strength::Block);
    assert!(matches(&entries[of(&entries)], force));
    for (text, asked, excepted) in [
        ("use: [no-force-push: ask]", Strength::Ask, false),
        ("use: [standard, no-force-push: ask]", Strength::Ask, false),
        ("use: [no-force-push: ask, standard]", Strength::Ask, false),
        ("use:\n  - no-force-push: {verdict: stop}", Strength::Stop, false),
        ("use:\n  - no-force-push: {except: [{program: git, operand: origin}]}", Strength::Block, true),
    ] {
        let (entries, told) = read(text);
        assert_eq!(told, [""; 0], "{text}");
        let entry = &entries[of(&entries)];
        assert_eq!(strength(entry), asked, "{text}");
        assert_eq!(matches(entry, force), !excepted, "{text}");
        assert!(matches(entry, "git push -f other"), "{text}");
        assert!(!matches(entry, "git push"), "{text}");
    }
}

#[test]
fn a_policy_is_in_shadow_where_the_file_says_so() {
    for (text, shadow) in [
        ("use: [no-force-push: shadow]", true),
        ("use: [standard, no-force-push: shadow]", true),
        ("use: [standard: shadow]", true),
        ("use:\n  - no-force-push: {mode: shadow, verdict: ask}", true),
        ("mode: shadow\nuse: [no-force-push: enforced]", false),
        ("use: [no-force-push]", false),
    ] {
        let (entries, told) = read(text);
        assert_eq!(told, [""; 0], "{text}");
        let of = |name: &str| entries.iter().filter(|entry| entry.name == name).collect::<Vec<_>>();
        let [entry] = of("no-force-push")[..] else { panic!("{text}") };
        assert_eq!(entry.definition.as_ref().unwrap().mode == Mode::Shadow, shadow, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_stands_closed() {
    for (text, expected) in [
        ("use: [no-forse-push]", "1: `use` has no policy `no-forse-push`, did you mean `no-force-push`?"),
        (
            "use:\n  - no-force-push: allow",
            "2: `use[].no-force-push` is \"allow\", not block, ask, stop or shadow",
        ),
        ("use:\n  - no-force-push: {mode: off}", "2: `use[].mode` is \"off\", not enforced or shadow"),
        ("use: [no-force-push, no-force-push: ask]", "1: `use` names `no-force-push` twice"),
        ("use:\n  - 7", "2: `use[]` is 7, not the name of a policy"),
        (
            "use:\n  - no-force-push: {excep: a}",
            "2: unknown key `use[].no-force-push.excep`, did you mean `except`?",
        ),
        (
            "use:\n  - no-force-push:\n      except: [{programm: git}]",
            "3: hook \"no-force-push\": unknown key `match.except[0].programm`, did you mean `program`?",
        ),
        ("us: [standard]", "1: unknown key `us`, did you mean `use`?"),
    ] {
        let (_, told) = read(text);
        assert!(told.iter().any(|told| told.starts_with(expected)), "{text}: {told:#?}");
    }
}

#[test]
fn wrappers_are_the_users_to_name() {
    let text = "wrappers: [mywrap]\nuse: [no-force-push]";
    let wrapped = "mywrap --fast git push -f";
    let (entries, told) = read_as(Layer::User, text);
    assert_eq!(told, [""; 0]);
    assert!(matches(&entries[0], wrapped));
    let (entries, told) = read(text);
    assert!(told[0].starts_with("1: `wrappers` has no effect"), "{told:?}");
    assert!(!matches(&entries[0], wrapped));
    let (_, told) = read_as(Layer::User, "wrappers: [a/b]");
    assert!(told[0].starts_with("1: `wrappers` is a list, not a list of names of programs"), "{told:?}");
}

#[test]
fn a_policy_that_is_used_within_a_hook_is_said_to_stand_elsewhere_and_nothing_else_is_said_of_it() {
    let (entries, told) = read("hooks:\n  - use: standard\n  - {name: a, on: on_idle, command: a}");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].ends_with("`use` is no key of a hook: it stands at the top of the file, beside `hooks`"),
        "{told:?}"
    );
    let are_whole: Vec<bool> = entries.iter().map(|entry| entry.definition.is_some()).collect();
    assert_eq!(are_whole, [false, true]);
}

#[test]
fn a_key_that_stands_twice_takes_no_policy_away() {
    for text in ["use: [standard]\nuse: []", "use: [standard]\nuse:\n", "use: []\nuse: standard"] {
        let (entries, told) = read(text);
        assert_eq!(told, ["2: key `use` occurs twice in a mapping"], "{text}");
        assert_eq!(entries.iter().filter(|entry| entry.definition.is_some()).count(), 10, "{text}");
    }
}
