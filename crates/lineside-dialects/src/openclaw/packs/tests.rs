//! Where hook packs are found, and which are chosen.

use lineside_core::Layer;

use super::{Found, find};
use crate::dialect::{Trust, Why};
use crate::openclaw::findings::Findings;
use crate::openclaw::json5;
use crate::openclaw::samples::Room;

fn pack(room: &Room, place: &str, metadata: &str) {
    room.write(&format!("{place}/HOOK.md"), &format!("---\nmetadata:\n  {metadata}\n---\n# Text\n"));
    room.write(&format!("{place}/handler.js"), "");
}

const EVENTS: &str = "{ openclaw: { events: ['command:new'] } }";

/// The names of the chosen ones with their layers, those that are left with why, and what was found.
fn check(room: &Room, configuration: &str, chosen: &[(&str, Layer)], left: &[(&str, Why)], told: &[&str]) {
    let mut findings = Findings::default();
    let upstream = json5::parse(configuration).unwrap().as_object().unwrap().clone();
    let (mut got, mut rest) = (Vec::new(), Vec::new());
    for found in find(&room.places(Trust::Granted), &upstream, &mut findings) {
        match found {
            Found::Chosen(pack) => got.push((pack.id(), pack.layer)),
            Found::Left(inert) => rest.push((inert.name, inert.why)),
        }
    }
    let root = room.path("").to_string_lossy().into_owned();
    let texts: Vec<_> = findings.diagnostics.iter().map(|found| found.text.replace(&root, "")).collect();
    let named = |name: &&str| format!("hooks/{name}");
    assert_eq!(
        got,
        chosen.iter().map(|(name, layer)| (named(name), *layer)).collect::<Vec<_>>(),
        "{configuration}"
    );
    assert_eq!(
        rest,
        left.iter().map(|(name, why)| (named(name), *why)).collect::<Vec<_>>(),
        "{configuration}"
    );
    assert_eq!(texts, told, "{configuration}");
}

#[test]
fn the_configuration_of_openclaw_chooses_among_those_of_the_user() {
    let room = Room::new(&[]);
    pack(&room, "home/.openclaw/hooks/a", EVENTS);
    pack(&room, "home/.openclaw/hooks/b", EVENTS);
    let (user, off) = (Layer::User, Why::Disabled);
    check(&room, "{}", &[], &[("a", off), ("b", off)], &[]);
    check(&room, "{ hooks: { internal: { enabled: true } } }", &[("a", user), ("b", user)], &[], &[]);
    let named = "{ hooks: { internal: { enabled: true, entries: { a: {} } } } }";
    check(&room, named, &[("a", user)], &[("b", off)], &[]);
    let one = "{ hooks: { internal: { entries: { a: { enabled: false }, b: { enabled: true } } } } }";
    check(&room, one, &[("b", user)], &[("a", off)], &[]);
    let none = "{ hooks: { internal: { enabled: false, entries: { a: { enabled: true } } } } }";
    check(&room, none, &[], &[("a", off), ("b", off)], &[]);
}

#[test]
fn those_of_a_project_replace_none_of_the_user() {
    let room = Room::new(&[]);
    pack(&room, "home/.openclaw/hooks/a", EVENTS);
    for place in
        ["project/.openclaw/hooks/a", "project/.openclaw/hooks/b", "project/hooks/c", "project/hooks/d"]
    {
        pack(&room, place, EVENTS);
    }
    let configuration = "{ hooks: { internal: { entries: { a: {}, c: { enabled: true } } } } }";
    let chosen = [("a", Layer::User), ("b", Layer::Project), ("c", Layer::Project)];
    let told = "project/.openclaw/hooks/a/HOOK.md: hook pack \"a\" is overridden by home/.openclaw/hooks/a";
    check(&room, configuration, &chosen, &[("d", Why::Disabled)], &[told]);
}

#[test]
fn a_package_names_its_packs_and_a_further_folder_may_be_one() {
    let room = Room::new(&[
        ("home/library/package.json", "{\"openclaw\": {\"hooks\": [\"./hooks/x\", \"../y\"]}}"),
        ("home/y/HOOK.md", ""),
    ]);
    pack(&room, "home/library/hooks/x", EVENTS);
    pack(&room, "home/library/hooks/unlisted", EVENTS);
    pack(&room, "home/alone", EVENTS);
    let configuration = "{ hooks: { internal: { load: { extraDirs: ['~/library', 'alone'] } } } }";
    let told = "home/library/package.json: openclaw.hooks: \"../y\" is not in the package";
    check(&room, configuration, &[("alone", Layer::User), ("x", Layer::User)], &[], &[told]);
}

#[test]
fn what_a_pack_requires_and_is_not_there_keeps_it_out() {
    let room = Room::new(&[]);
    let requiring = |name: &str, requires: &str| {
        let metadata = format!("{{ openclaw: {{ events: [x], {requires} }} }}");
        pack(&room, &format!("project/.openclaw/hooks/{name}"), &metadata);
    };
    requiring("a", "requires: { bins: [no-such-program] }");
    requiring("b", "requires: { env: [LABEL] }");
    requiring("c", "requires: { config: [workspace.dir] }");
    requiring("d", "requires: { config: [workspace.other] }");
    requiring("e", "always: true, requires: { bins: [no-such-program] }");
    requiring("f", "os: [plan9]");
    let chosen = [("b", Layer::Project), ("c", Layer::Project), ("e", Layer::Project)];
    let left = [("a", Why::Disabled), ("d", Why::Disabled), ("f", Why::Disabled)];
    let told = |name: &str, what: &str| {
        format!(
            "project/.openclaw/hooks/{name}/HOOK.md: hook pack \"{name}\" is not loaded: it requires {what}"
        )
    };
    let told = [
        told("a", "the program no-such-program"),
        told("d", "workspace.other in openclaw.json"),
        told("f", "the system plan9"),
    ];
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let configuration = "{ hooks: { internal: { entries: { b: { env: { LABEL: 'x' } } } } } }";
    check(&room, configuration, &chosen, &left, &told);
}

#[test]
fn what_is_wrong_with_a_pack_is_told() {
    let room = Room::new(&[
        ("project/.openclaw/hooks/a/HOOK.md", "no front matter"),
        (
            "project/.openclaw/hooks/b/HOOK.md",
            "---\nmetadata: {\"openclaw\": {\"events\": [\"command\"]}}\n---\n",
        ),
    ]);
    pack(&room, "project/.openclaw/hooks/c", "{}");
    let told = [
        "project/.openclaw/hooks/a/HOOK.md: HOOK.md must start with YAML frontmatter (---)",
        "project/.openclaw/hooks/b/HOOK.md: hook pack \"b\" has no handler.ts, handler.js, index.ts, index.js",
        "project/.openclaw/hooks/c/HOOK.md: hook pack \"c\" names no event in metadata.openclaw.events",
    ];
    check(&room, "{}", &[], &[("b", Why::Error), ("c", Why::Error)], &told);
}
