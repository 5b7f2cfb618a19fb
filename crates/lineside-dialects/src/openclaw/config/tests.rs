//! What the carriers say, joined.

use std::collections::BTreeSet;
use std::time::Duration;

use lineside_core::Layer;
use lineside_core::json::json;

use super::{Config, Native, read};
use crate::dialect::Trust;
use crate::openclaw::catalogue;
use crate::openclaw::findings::Findings;
use crate::openclaw::samples::{Room, object};

const USER: &str = "home/.openclaw/lineside.json";
const UPSTREAM: &str = "home/.openclaw/openclaw.json";
const PROJECT: &str = "project/.openclaw/lineside.json";

fn configured(files: &[(&str, &str)]) -> (Config, Vec<String>) {
    let room = Room::new(files);
    let mut findings = Findings::default();
    let config = read(&room.places(Trust::Granted), &Native::default(), &mut findings);
    let root = room.path("").to_string_lossy().into_owned();
    let texts = findings
        .diagnostics
        .iter()
        .map(|found| format!("{} {}", found.severity.as_str(), found.text.replace(&root, "")));
    (config, texts.collect())
}

#[test]
fn nothing_is_needed() {
    // OC-13, OC-16
    let (config, findings) = configured(&[]);
    assert_eq!(findings, Vec::<String>::new());
    assert!(config.upstream.is_empty());
    assert!(config.is_on() && config.catches_errors());
    assert_eq!((config.node(), config.memory_mb()), ("node", 512));
    let bounds = config.bounds();
    assert_eq!(
        (bounds.load.as_millis(), bounds.cancel.as_millis(), bounds.shutdown.as_millis(), bounds.frame),
        (10_000, 1000, 2000, 33_554_432)
    );
    // OC-43
    assert_eq!(bounds.untold, 1024);
    assert_eq!(config.reserved(), json!({ "commands": [], "gatewayMethods": [] }));
}

#[test]
fn the_nearer_carrier_wins_key_by_key_and_lists_are_joined() {
    // OC-13
    let (config, findings) = configured(&[
        (
            USER,
            "{ deny: ['a'], node: '~/bin/node', memoryMb: 64.9, entries: { p: { config: { x: 1, l: [1], o: { a: 1 } } } },
               reserved: { commands: ['mine'] } }",
        ),
        (
            UPSTREAM,
            "{ agents: {}, plugins: { deny: ['b'], slots: {}, entries: { p: { enabled: false, apiKey: 'x',
               config: { x: 2, y: 3, l: [2], o: { a: 2, b: 2 } } } } } }",
        ),
    ]);
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(config.upstream.keys().collect::<Vec<_>>(), ["agents", "plugins"]);
    let entry = config.entry("p", Layer::User);
    assert_eq!(entry.enabled, Some(false));
    assert_eq!(
        entry.config.map(lineside_core::json::Value::from),
        Some(json!({ "x": 1, "l": [1, 2], "o": { "a": 1, "b": 2 }, "y": 3 }))
    );
    assert!(config.node().ends_with("/home/bin/node"));
    assert_eq!(config.memory_mb(), 64);
    assert_eq!(config.reserved(), json!({ "commands": ["mine"], "gatewayMethods": [] }));
    for (id, enabled) in [("a", false), ("b", false), ("p", false), ("c", true)] {
        assert_eq!(config.enables(id, Layer::User), enabled, "{id}");
    }
}

#[test]
fn sections_of_the_native_configuration_come_first() {
    // OC-4, OC-13
    let room = Room::new(&[(USER, "{ memoryMb: 1, load: { paths: ['b'] } }")]);
    let native = Native {
        managed: object(json!({ "load": { "paths": ["/opt/plugins"] }, "catchErrors": false })),
        user: object(json!({ "memoryMb": 2, "catchErrors": true, "load": { "paths": ["~/a"] } })),
        file: "/etc/lineside.toml".into(),
    };
    let mut findings = Findings::default();
    let config = read(&room.places(Trust::Granted), &native, &mut findings);
    assert!(findings.diagnostics.is_empty());
    assert_eq!(config.memory_mb(), 2);
    assert!(!config.catches_errors());
    assert_eq!(config.paths(Layer::Managed), ["/opt/plugins"].map(std::path::PathBuf::from));
    assert_eq!(config.paths(Layer::User), [room.path("home/a"), room.path("home/b")]);
}

#[test]
fn what_is_wrong_is_told_with_the_nearest_right_key() {
    // OC-3, OC-13, OC-56
    let (_, findings) = configured(&[
        (
            USER,
            "{ catchError: true, entries: { p: { hooks: { timeout: 1, timeouts: { before_toolcall: 5 } } } },
               memoryMb: 0, allow: [7], failClosed: ['agent_end', 'before_tool_call'], load: { path: [] } }",
        ),
        (UPSTREAM, "{ plugins: "),
    ]);
    let expected = [
        "warning home/.openclaw/lineside.json: unknown key `catchError`; did you mean `catchErrors`?",
        "error home/.openclaw/lineside.json: `allow[0]` must be a non-empty string",
        "error home/.openclaw/lineside.json: `memoryMb` must be a number above 0",
        "warning home/.openclaw/lineside.json: unknown key `load.path`; did you mean `paths`?",
        "warning home/.openclaw/lineside.json: unknown key `entries.p.hooks.timeout`; did you mean `timeouts`?",
        "warning home/.openclaw/lineside.json: unknown key `entries.p.hooks.timeouts.before_toolcall`; did you \
         mean `before_tool_call`?",
        "warning home/.openclaw/lineside.json: failClosed has no effect on agent_end",
    ];
    assert_eq!(findings[..7], expected);
    assert!(findings[7].starts_with("error home/.openclaw/openclaw.json: failed to read the configuration:"));
}

#[test]
fn the_project_only_adds_restrictions() {
    // OC-16
    let (config, findings) = configured(&[
        (USER, "{ entries: { theirs: { config: { a: 1 } } } }"),
        (
            PROJECT,
            "{ enabled: false, catchErrors: true, allow: ['x'], memoryMb: 9, deny: ['mine', 'theirs'], failclosed: [],
               failClosed: ['message_sending'], entries: { theirs: { enabled: false, config: { a: 2, b: 3 } } } }",
        ),
    ]);
    let file = "project/.openclaw/lineside.json";
    let ignored = |key: &str| format!("warning {file}: ignored in the project layer: {key}");
    assert_eq!(
        findings,
        [
            format!("warning {file}: unknown key `failclosed`; did you mean `failClosed`?"),
            ignored("enabled"),
            ignored("catchErrors"),
            ignored("allow"),
            ignored("memoryMb"),
        ]
    );
    assert_eq!(config.memory_mb(), 512);
    for (id, layer, enabled) in [
        ("mine", Layer::Project, false),
        ("mine", Layer::User, true),
        ("theirs", Layer::User, true),
        ("theirs", Layer::Project, false),
    ] {
        assert_eq!(config.enables(id, layer), enabled, "{id} {layer}");
    }
    let of_project = config.entry("theirs", Layer::Project);
    assert_eq!(of_project.config.map(lineside_core::json::Value::from), Some(json!({ "a": 1, "b": 3 })));
    assert_eq!(config.entry("theirs", Layer::User).enabled, None);
    assert!(config.closes(catalogue::find("message_sending").unwrap()));
    assert!(!config.closes(catalogue::find("before_tool_call").unwrap()));
}

#[test]
fn ids_that_nobody_has_are_told() {
    // OC-14, OC-16
    let room =
        Room::new(&[(USER, "{ deny: ['gone'], entries: { gone: {} } }"), (PROJECT, "{ deny: ['guard'] }")]);
    let mut findings = Findings::default();
    let config = read(&room.places(Trust::Granted), &Native::default(), &mut findings);
    let known = BTreeSet::from([("guard".to_owned(), Layer::User)]);
    config.check_ids(&known, &room.path(PROJECT), &mut findings);
    let texts: Vec<_> =
        findings.diagnostics.iter().map(|found| found.text.rsplit(": ").next().unwrap()).collect();
    assert_eq!(texts, ["gone", "deny.guard"]);
    assert!(findings.diagnostics[0].text.contains("plugin not found: gone"));
}

#[test]
fn an_empty_allow_list_allows_everybody() {
    // OC-14
    for (text, a, b) in [
        ("{ allow: [] }", true, true),
        ("{ allow: ['a'] }", true, false),
        ("{ enabled: false }", false, false),
    ] {
        let (config, _) = configured(&[(USER, text)]);
        assert_eq!((config.enables("a", Layer::User), config.enables("b", Layer::Project)), (a, b), "{text}");
    }
}

#[test]
fn the_first_time_that_is_given_counts() {
    // OC-57
    let row = catalogue::find("before_tool_call").unwrap();
    let time = |entry: &str, registered| {
        let text = format!("{{ entries: {{ p: {{ hooks: {entry} }} }} }}");
        configured(&[(USER, &text)]).0.entry("p", Layer::User).time(row, registered)
    };
    let both = "{ timeoutMs: 2000, timeouts: { before_tool_call: 1000 } }";
    assert_eq!(time(both, Some(3000)), Duration::from_secs(1));
    assert_eq!(time("{ timeoutMs: 2000, timeouts: { agent_end: 1 } }", Some(3000)), Duration::from_secs(2));
    assert_eq!(time("{}", Some(3000)), Duration::from_secs(3));
    assert_eq!(time("{}", None), Duration::from_secs(15));
    assert_eq!(time("{}", Some(u64::MAX)), Duration::from_secs(600));
}

#[test]
fn without_catching_everything_that_is_awaited_closes() {
    // OC-56
    let (config, _) = configured(&[(USER, "{ catchErrors: false }")]);
    for (name, closes) in [
        ("before_agent_start", true),
        ("before_agent_finalize", false),
        ("agent_end", false),
        ("tool_result_persist", true),
    ] {
        assert_eq!(config.closes(catalogue::find(name).unwrap()), closes, "{name}");
    }
}
