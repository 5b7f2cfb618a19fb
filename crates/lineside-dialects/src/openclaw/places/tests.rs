//! Which directories and files are candidates, and in which order.

use lineside_core::Layer;

use super::{Candidate, CandidateKind, Found, find};
use crate::dialect::Trust;
use crate::openclaw::config::{self, Native};
use crate::openclaw::findings::Findings;
use crate::openclaw::samples::Room;

fn found(room: &Room) -> (Vec<Candidate>, Vec<String>) {
    let mut findings = Findings::default();
    let places = room.places(Trust::Granted);
    let config = config::read(&places, &Native::default(), &mut findings);
    let Found { candidates, .. } = find(&places, &config, &mut findings);
    (candidates, findings.diagnostics.into_iter().map(|found| found.text).collect())
}

fn shown(room: &Room, candidates: &[Candidate]) -> Vec<String> {
    let root = room.path("");
    let show = |candidate: &Candidate| {
        let kind = match candidate.kind {
            CandidateKind::Directory => "/",
            CandidateKind::Standalone => "",
        };
        format!("{} {}{kind}", candidate.layer, candidate.path.strip_prefix(&root).unwrap().display())
    };
    candidates.iter().map(show).collect()
}

#[test]
fn places_are_looked_into_in_load_order() {
    // OC-4
    let room = Room::new(&[
        ("home/.openclaw/lineside.json", "{ load: { paths: ['~/named/b', 'named/a'] } }"),
        ("home/.openclaw/openclaw.json", "{ plugins: { load: { paths: ['./named/c'] } } }"),
        ("project/.openclaw/lineside.json", "{ load: { paths: ['tools/x.mjs'] } }"),
        ("project/tools/x.mjs", ""),
    ]);
    for place in [
        "home/named",
        "home/.openclaw/plugins",
        "home/.openclaw/extensions",
        "project/.openclaw/plugins",
        "project/.openclaw/extensions",
    ] {
        for id in ["c", "a", "b"] {
            room.plugin(place, id);
        }
    }
    let (candidates, findings) = found(&room);
    assert_eq!(findings, Vec::<String>::new());
    let shown = shown(&room, &candidates);
    assert_eq!(
        shown[..4],
        ["user home/named/b/", "user home/named/a/", "user home/named/c/", "user home/.openclaw/plugins/a/"]
    );
    assert_eq!(shown[6], "user home/.openclaw/extensions/a/");
    assert_eq!(shown[9..11], ["project project/tools/x.mjs", "project project/.openclaw/plugins/a/"]);
    assert_eq!(shown.len(), 16);
}

#[test]
fn what_is_no_plugin_is_passed_over() {
    // OC-5
    let room = Room::new(&[("home/.openclaw/plugins/file.mjs", "")]);
    for name in ["Node_Modules", "dist", "a.bak", "b.backup-1", "c.disabled", "real"] {
        room.plugin("home/.openclaw/plugins", name);
    }
    let (candidates, findings) = found(&room);
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(shown(&room, &candidates), ["user home/.openclaw/plugins/real/"]);
}

#[test]
fn a_path_names_a_plugin_a_place_or_a_script() {
    // OC-5
    let paths = "['indexed', 'packed', 'many', 'one.cts', 'types.d.ts', 'gone', 'build']";
    let room = Room::new(&[
        ("home/.openclaw/lineside.json", &format!("{{ load: {{ paths: {paths} }} }}")),
        ("home/indexed/index.js", ""),
        ("home/packed/package.json", "{\"openclaw\": {}}"),
        ("home/many/x.mjs", ""),
        ("home/many/x.test.mjs", ""),
        ("home/many/y.d.ts", ""),
        ("home/many/README.md", ""),
        ("home/one.cts", ""),
        ("home/types.d.ts", ""),
    ]);
    room.plugin("home/many", "inner");
    room.plugin("home/many", "dist");
    // Who names a directory means it, whatever it is called.
    room.plugin("home", "build");
    let (candidates, findings) = found(&room);
    assert_eq!(
        shown(&room, &candidates),
        [
            "user home/indexed/", "user home/packed/", "user home/many/inner/", "user home/many/x.mjs",
            "user home/one.cts", "user home/build/",
        ]
    );
    assert_eq!(candidates.iter().filter(|candidate| candidate.layer != Layer::User).count(), 0);
    assert!(findings[0].contains("plugin path is not a supported file: "), "{findings:?}");
    assert!(findings[1].contains("plugin path not found: "), "{findings:?}");
    assert_eq!(findings.len(), 2);
}

#[test]
fn a_plugin_that_is_found_twice_is_one() {
    // OC-4
    let room = Room::new(&[("home/.openclaw/lineside.json", "{ load: { paths: ['.openclaw/plugins/a'] } }")]);
    room.plugin("home/.openclaw/plugins", "a");
    assert_eq!(found(&room).0.len(), 1);
}

#[test]
fn what_openclaw_has_installed_is_found() {
    // OC-4: as `openclaw plugins install` leaves it.
    let projects = "home/.openclaw/npm/projects";
    let package = |name: &str| format!("{{\"private\": true, \"dependencies\": {{\"{name}\": \"1.0.0\"}}}}");
    let room = Room::new(&[
        (&format!("{projects}/guard/package.json"), &package("guard")),
        (&format!("{projects}/scoped-thing-09729737ad/package.json"), &package("@scoped/thing")),
        (&format!("{projects}/planted/package.json"), &package("../../../elsewhere")),
        (&format!("{projects}/.openclaw-install-stage-x/y"), ""),
    ]);
    room.plugin(&format!("{projects}/guard/node_modules"), "guard");
    room.plugin(&format!("{projects}/guard/node_modules"), "dependency");
    room.plugin(&format!("{projects}/scoped-thing-09729737ad/node_modules/@scoped"), "thing");
    room.plugin("home/.openclaw", "elsewhere");
    let (candidates, findings) = found(&room);
    assert_eq!(findings, Vec::<String>::new());
    let expected = [
        format!("user {projects}/guard/node_modules/guard/"),
        format!("user {projects}/scoped-thing-09729737ad/node_modules/@scoped/thing/"),
    ];
    assert_eq!(shown(&room, &candidates), expected);
}
