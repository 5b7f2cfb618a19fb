//! Which plugins a worker is to load, and how.

use lineside_core::json::{Value, json};

use super::{Set, find};
use crate::dialect::Trust;
use crate::openclaw::config::Native;
use crate::openclaw::findings::Findings;
use crate::openclaw::samples::Room;

fn found(room: &Room, trust: Trust) -> (Set, Vec<String>) {
    let mut findings = Findings::default();
    let set = find(&room.places(trust), &Native::default(), &mut findings);
    let root = room.path("").to_string_lossy().into_owned();
    let texts = findings.diagnostics.iter().map(|found| found.text.replace(&root, ""));
    (set, texts.collect())
}

fn ids(set: &Set) -> Vec<&str> {
    set.plugins.iter().map(|plugin| plugin.id.as_str()).collect()
}

#[test]
fn a_lower_layer_replaces_nothing() {
    // OC-11
    let room = Room::new(&[]);
    for place in ["home/.openclaw/plugins", "home/.openclaw/extensions", "project/.openclaw/plugins"] {
        room.plugin(place, "a");
    }
    let (set, findings) = found(&room, Trust::Granted);
    assert_eq!(ids(&set), ["a"]);
    assert!(set.plugins[0].file.starts_with(room.path("home/.openclaw/plugins")));
    let refused = |place: &str| {
        format!(
            "plugin \"a\" ({place}/a/index.mjs): duplicate plugin id detected: a; {place}/a is overridden by \
             home/.openclaw/plugins/a"
        )
    };
    assert_eq!(findings, [refused("home/.openclaw/extensions"), refused("project/.openclaw/plugins")]);
}

#[test]
fn what_is_switched_off_says_nothing_and_what_is_not_trusted_says_so() {
    // OC-12, OC-14
    let room = Room::new(&[("home/.openclaw/lineside.json", "{ deny: ['off'] }")]);
    room.plugin("project/.openclaw/plugins", "on");
    room.write("project/.openclaw/plugins/off/openclaw.plugin.json", "{ id: 'off', configSchema: 7 }");
    room.plugin("home/.openclaw/plugins", "mine");
    let (set, findings) = found(&room, Trust::Granted);
    assert_eq!((ids(&set), findings), (vec!["mine", "on"], Vec::new()));
    let (set, findings) = found(&room, Trust::Withheld);
    assert_eq!(ids(&set), ["mine"]);
    assert_eq!(
        findings,
        [
            "plugin \"on\" (project/.openclaw/plugins/on/index.mjs): plugin \"on\" is not trusted: nothing of it was loaded"
        ]
    );
    room.write("home/.openclaw/lineside.json", "{ enabled: false }");
    room.write("project/.openclaw/plugins/broken/openclaw.plugin.json", "{");
    let (set, findings) = found(&room, Trust::Granted);
    assert_eq!((ids(&set), findings), (Vec::new(), Vec::new()));
}

#[test]
fn each_fault_is_told_of_its_plugin_and_costs_no_other() {
    // OC-3, OC-6, OC-15
    let room = Room::new(&[
        ("home/.openclaw/lineside.json", "{ entries: { cfg: { config: { n: 'x' } } } }"),
        (
            "home/.openclaw/plugins/cfg/openclaw.plugin.json",
            "{ id: 'cfg', configSchema: { properties: { n: { type: 'number' } } } }",
        ),
        ("home/.openclaw/plugins/cfg/index.mjs", ""),
        ("home/.openclaw/plugins/bare/index.mjs", ""),
        ("home/.openclaw/plugins/half/openclaw.plugin.json", "{ id: 'half' }"),
        (
            "home/.openclaw/plugins/needs/openclaw.plugin.json",
            "{ id: 'needs', configSchema: {}, requiresPlugins: ['ok', 'gone'] }",
        ),
        ("home/.openclaw/plugins/needs/index.mjs", ""),
    ]);
    room.plugin("home/.openclaw/plugins", "ok");
    let (set, findings) = found(&room, Trust::Granted);
    assert_eq!(ids(&set), ["needs", "ok"]);
    let place = "home/.openclaw/plugins";
    assert_eq!(
        findings[0],
        format!(
            "plugin directory {place}/bare: plugin manifest not found: {place}/bare/openclaw.plugin.json"
        )
    );
    assert!(
        findings[1].starts_with(&format!("plugin \"cfg\" ({place}/cfg/index.mjs): invalid config: /n: "))
    );
    assert_eq!(
        findings[2],
        format!("plugin \"half\" ({place}/half/openclaw.plugin.json): plugin manifest requires configSchema")
    );
    assert_eq!(
        findings[3],
        format!("plugin \"needs\" ({place}/needs/index.mjs): plugin \"needs\" requires plugin \"gone\"")
    );
    assert_eq!(findings.len(), 4);
}

#[test]
fn a_worker_is_told_everything_it_needs() {
    // OC-60, OC-72, OC-73
    let room = Room::new(&[
        (
            "home/.openclaw/openclaw.json",
            "{ theme: 'dark', plugins: { entries: { a: { hooks: { allowPromptInjection: false } } } } }",
        ),
        (
            "home/.openclaw/lineside.json",
            "{ node: '/opt/node', memoryMb: 64, reserved: { commands: ['x'] }, load: { paths: ['s.mts'] } }",
        ),
        ("home/s.mts", ""),
        (
            "home/.openclaw/plugins/a/openclaw.plugin.json",
            "{ id: 'a', name: 'A', configSchema: { properties: { w: { default: 1 } } } }",
        ),
        ("home/.openclaw/plugins/a/index.mjs", ""),
    ]);
    let (set, findings) = found(&room, Trust::Granted);
    assert_eq!(findings, Vec::<String>::new());
    let spec = set.worker(&room.places(Trust::Granted));
    // The path of the script comes behind.
    assert_eq!(spec.program.argv, ["/opt/node", "--max-old-space-size=64"]);
    assert_eq!(spec.working_directory, Some(room.path("project")));
    let removed: Vec<_> = spec.environment.remove.iter().map(|name| name.to_str().unwrap()).collect();
    assert!(removed.contains(&"LINESIDE_SOCKET") && removed.contains(&"LINESIDE_SESSION"));
    assert_eq!(
        Value::from(spec.hello),
        json!({
            "projectRoot": room.path("project"), "home": room.path("home"),
            "cache": room.path("home/.cache/lineside"), "installed": [], "download": true,
            "config": { "theme": "dark", "plugins": { "entries": { "a": { "hooks": { "allowPromptInjection": false } } } } },
            "reserved": { "commands": ["x"], "gatewayMethods": [] },
        })
    );
    // OC-8
    assert_eq!(
        Value::from(spec.plugins[0].load.clone()),
        json!({
            "id": "s", "root": room.path("home"), "entry": room.path("home/s.mts"), "loader": "typescript", "config": {},
            "standalone": true, "allowPromptInjection": true, "allowConversationAccess": true,
        })
    );
    let root = room.path("home/.openclaw/plugins/a");
    assert_eq!(
        Value::from(spec.plugins[1].load.clone()),
        json!({
            "id": "a", "root": root, "entry": root.join("index.mjs"), "loader": "import", "name": "A",
            "config": { "w": 1 }, "standalone": false, "allowPromptInjection": false, "allowConversationAccess": true,
        })
    );
}

#[test]
fn the_same_plugins_make_the_same_worker() {
    // OC-12, OC-60
    let room = Room::new(&[]);
    room.plugin("project/.openclaw/plugins", "a");
    let spec = || found(&room, Trust::Granted).0.worker(&room.places(Trust::Granted));
    let first = spec();
    assert_eq!(first, spec());
    room.write("project/.openclaw/plugins/a/other.mjs", "");
    let second = spec();
    assert_ne!(first, second);
    room.write("project/.openclaw/lineside.json", "{ entries: { a: { hooks: { timeoutMs: 5 } } } }");
    assert_ne!(second, spec());
}

#[test]
fn a_slot_is_for_one_plugin() {
    // OC-14
    let chosen = |slots: &str| {
        let config =
            format!("{{ plugins: {{ slots: {slots}, entries: {{ anthropic: {{ enabled: true }} }} }} }}");
        let room = Room::new(&[("home/.openclaw/openclaw.json", &config)]);
        for (id, kind) in [("m", "kind: 'memory',"), ("n", "kind: ['memory', 'context-engine'],"), ("o", "")]
        {
            room.plugin("home/.openclaw/plugins", id);
            let manifest = format!("{{ id: '{id}', {kind} configSchema: {{}} }}");
            room.write(&format!("home/.openclaw/plugins/{id}/openclaw.plugin.json"), &manifest);
        }
        let (set, findings) = found(&room, Trust::Granted);
        assert_eq!(findings, Vec::<String>::new(), "what OpenClaw ships is not missed");
        ids(&set).join(" ")
    };
    assert_eq!(chosen("{}"), "m n o");
    assert_eq!(chosen("{ memory: 'm' }"), "m n o", "one of its kinds is free");
    assert_eq!(chosen("{ memory: 'm', contextEngine: 'legacy' }"), "m o");
    assert_eq!(chosen("{ memory: 'none', contextEngine: 'n' }"), "n o");
    assert_eq!(chosen("{ memory: 'none', contextEngine: 'none' }"), "o");
}
