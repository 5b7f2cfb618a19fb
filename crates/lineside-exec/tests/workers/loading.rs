//! Plugins that load, that do not, and that take the worker with them.

use lineside_core::failure::FailureKind;
use lineside_core::worker::{PluginLoad, PluginLoaded};
use serde_json::{Map, json};

use crate::room::millis;
use crate::set::{failed, returned, spec, with, with_spec};

const FINE: &str =
    "module.exports = (api) => { api.on('before_tool_call', () => ({ params: { ok: 1 } })); };";

/// OC-18.
#[test]
fn a_plugin_is_found_in_each_shape_of_a_module() {
    let on = "api.on('before_tool_call', () => {})";
    let shapes = [
        ("a", format!("module.exports = (api) => {{ {on}; }};")),
        ("b", format!("exports.register = (api) => {{ {on}; }};")),
        ("c", format!("exports.default = {{ default: {{ register(api) {{ {on}; }} }} }};")),
        ("d.mjs", format!("export function activate(api) {{ {on}; }}")),
        ("e.mjs", format!("const x = await 1; export default (api) => {{ {on}; }};")),
        ("f", format!("exports.module = {{ default: {{ name: 'F', register(api) {{ {on}; }} }} }};")),
        ("g", format!("module.exports = {{ h: 1, register(api) {{ if (this.h) {on}; }} }};")),
    ];
    let shapes: Vec<(&str, &str)> = shapes.iter().map(|(id, source)| (*id, source.as_str())).collect();
    with(&shapes, async |_, set| {
        for place in 0..shapes.len() {
            assert_eq!(set.loaded(place)["registrations"][0]["handler"], json!(place + 1), "{place}");
        }
        assert_eq!(set.loaded(5)["plugin"]["name"], json!("F"));
    });
}

/// OC-9, OC-18, OC-20, OC-21: each is refused with its message, and withdraws what it had registered.
#[test]
fn a_plugin_that_fails_to_load_leaves_nothing_and_hinders_nobody() {
    let command = "api.registerCommand({ name: 'x', description: 'd', handler() {} })";
    let throws = format!(
        "module.exports = (api) => {{ {command}; api.on('agent_end', () => {{}}); throw Error('half'); }};"
    );
    let late = "module.exports = async (api) => { await 1; throw Error('later'); };";
    let fine = format!("module.exports = (api) => {{ {command}; api.on('agent_end', () => {{}}); }};");
    let plugins = [
        ("a", throws.as_str()),
        ("b", late),
        ("c", "throw new Error('import');"),
        ("d", "module.exports = 5;"),
        ("e", "exports.id = 'other'; exports.register = () => {};"),
        ("f.mjs", "import 'not-there';"),
        ("g", "module.exports = () => process.exit(1);"),
        ("z", fine.as_str()),
    ];
    with(&plugins, async |_, set| {
        assert_eq!(set.error(0), "plugin failed during register: half");
        assert_eq!(set.loaded(0)["registrations"], json!([]));
        assert_eq!(set.error(1), "plugin failed during register: plugin register must be synchronous");
        assert_eq!(set.error(2), "plugin failed during load: import");
        assert_eq!(set.loaded(2)["error"]["phase"], json!("load"));
        assert_eq!(set.error(3), "plugin export missing register/activate");
        assert_eq!(set.error(4), "plugin id mismatch (config uses \"e\", export uses \"other\")");
        assert!(
            set.error(5).starts_with("plugin failed during load: Cannot find package"),
            "{}",
            set.error(5)
        );
        assert_eq!(set.error(6), "plugin failed during register: process.exit is not available to plugins");
        assert_eq!(set.diagnostics(7), [""; 0], "the command is free again");
        assert_eq!(set.loaded(7)["registrations"][1]["handler"], json!(1));
    });
}

/// OC-9: a standalone plugin takes the id that it exports, unless it is taken.
#[test]
fn a_standalone_plugin_takes_its_exported_id() {
    let named = "exports.id = 'x'; exports.register = (api) => { api.on('before_tool_call', () => ({ block: true })); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", named), ("b", named)]);
            for plugin in &mut spec.plugins {
                if let PluginLoad::Plain(load) = &mut plugin.load {
                    load.insert("standalone".to_owned(), true.into());
                }
            }
            spec
        },
        async |_, set| {
            assert_eq!(set.loaded(0)["plugin"]["id"], json!("x"));
            assert_eq!(set.guard("x", json!({})).await, returned(json!({ "block": true })));
            let error = set.error(1);
            assert!(error.starts_with("duplicate plugin id detected: x; "), "{error}");
            assert!(error.contains("b.cjs is overridden by "), "{error}");
        },
    );
}

/// OC-22: the ones before it are loaded again, and then the rest.
#[test]
fn a_plugin_that_hangs_or_kills_the_worker_while_loading_is_refused() {
    let again = format!("require('fs').appendFileSync('$ROOM/loads', 'a'); {FINE}");
    let plugins = [
        ("a", again.as_str()),
        ("b", "for (;;) {}"),
        ("c", "process.kill(process.pid, 'SIGKILL');"),
        ("d.mjs", "await new Promise(() => {});"),
        ("e", FINE),
    ];
    with_spec(
        |room| {
            let mut spec = spec(room, &plugins);
            spec.bounds.load = millis(1500);
            spec.bounds.cancel = millis(300);
            spec
        },
        async |room, set| {
            assert_eq!(*set.plugin(1), PluginLoaded::TimedOut);
            let why = "the worker was ended by signal 9".to_owned();
            assert_eq!(*set.plugin(2), PluginLoaded::Died { why });
            assert_eq!(*set.plugin(3), PluginLoaded::TimedOut);
            for plugin in ["a", "e"] {
                let answer = set.guard(plugin, json!({})).await;
                assert_eq!(answer, returned(json!({ "params": { "ok": 1 } })), "{plugin}");
            }
            let loads = std::fs::read_to_string(room.path("loads")).unwrap();
            assert_eq!(loads, "aaa", "one start each for the hanging and the killing one");
        },
    );
}

/// OC-78: what finishes after its load was cancelled registers nothing.
#[test]
fn a_cancelled_load_registers_nothing() {
    let late = "await new Promise((done) => setTimeout(done, 1500)); console.log('imported');
        export default (api) => { console.log('registered'); api.on('agent_end', () => {}); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("late.mjs", late), ("fine", FINE)]);
            spec.bounds.load = millis(700);
            spec
        },
        async |_, set| {
            assert_eq!(*set.plugin(0), PluginLoaded::TimedOut);
            assert_eq!(set.loaded(1)["registrations"][0]["handler"], json!(1));
            set.said(lineside_exec::LogSource::Frame, "imported").await;
            set.guard("fine", json!({})).await;
            assert!(!set.has_line(lineside_exec::LogSource::Frame, "registered"));
        },
    );
}

/// OC-8: natively where the worker says so, otherwise as given, otherwise not at all.
#[test]
fn a_typescript_entry_is_loaded_by_what_there_is() {
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", FINE), ("b", FINE)]);
            let load = |place: usize| match &spec.plugins[place].load {
                PluginLoad::Plain(load) => load.clone(),
                PluginLoad::TypeScript { .. } => unreachable!(),
            };
            let (a, b) = (load(0), load(1));
            let neither = Map::new();
            spec.plugins[0].load = PluginLoad::TypeScript { native: neither, otherwise: Some(a) };
            spec.plugins[1].load = PluginLoad::TypeScript { native: b, otherwise: None };
            spec
        },
        async |_, set| {
            if set.ready.as_ref().unwrap().hello["typescript"] == json!(false) {
                assert!(
                    matches!(set.plugin(0), PluginLoaded::Answered(frame) if !frame.contains_key("error"))
                );
                assert_eq!(*set.plugin(1), PluginLoaded::NoLoader);
            }
            let gone = set.guard("nobody", json!({})).await;
            let lineside_core::worker::WorkerEnded::Failed { kind, started, .. } = gone else { panic!() };
            assert_eq!((kind, started), (FailureKind::Closed, false));
        },
    );
}

/// OC-8: jiti 2 makes something that imports, jiti 1 something that requires.
#[test]
fn an_entry_is_loaded_by_the_jiti_of_its_plugin() {
    let strip = "const load = (file) => { const module = { exports: {} };
        new Function('module', require('fs').readFileSync(file, 'utf8').replace(/: any/g, ''))(module); return module.exports; };";
    let entry = "module.exports = (api: any) => { api.on('before_tool_call', () => ({ params: { typed: true } })); };";
    for export in [
        "exports.createJiti = () => ({ import: async (file) => load(file) });",
        "module.exports = () => load;",
    ] {
        with_spec(
            |room| {
                std::fs::create_dir_all(room.path("node_modules/jiti")).unwrap();
                room.file("node_modules/jiti/index.js", &format!("{strip} {export}"), 0o644);
                let mut spec = spec(room, &[("a.ts", entry)]);
                let PluginLoad::Plain(mut load) = spec.plugins[0].load.clone() else { panic!() };
                load.insert("loader".to_owned(), "jiti".into());
                spec.plugins[0].load = PluginLoad::Plain(load);
                spec
            },
            async |_, set| {
                let answer = set.guard("a", json!({})).await;
                assert_eq!(answer, returned(json!({ "params": { "typed": true } })), "{export}");
            },
        );
    }
}

/// OC-19: whatever is installed, for modules of both kinds.
#[test]
fn the_sdk_can_be_imported_and_required() {
    let imports = "import { definePluginEntry } from 'openclaw/plugin-sdk/plugin-entry';
        import { emptyPluginConfigSchema } from 'openclaw/plugin-sdk/core';
        export default definePluginEntry({ name: 'Sdk', register(api) {
            api.on('before_tool_call', () => ({ params: { name: api.name, schema: emptyPluginConfigSchema() } })); } });";
    let requires =
        "const sdk = require('openclaw/plugin-sdk'); module.exports = sdk.definePluginEntry((api) => {
        api.on('before_tool_call', () => ({ params: { names: Object.keys(sdk) } })); });";
    with(&[("a.mjs", imports), ("b", requires)], async |_, set| {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {} });
        let answer = set.guard("a", json!({})).await;
        assert_eq!(answer, returned(json!({ "params": { "name": "Sdk", "schema": schema } })));
        let names = json!(["definePluginEntry", "emptyPluginConfigSchema"]);
        assert_eq!(set.guard("b", json!({})).await, returned(json!({ "params": { "names": names } })));
    });
}

/// OC-54, OC-62.
#[test]
fn a_call_of_exit_fails_that_call_and_nothing_else() {
    let quits = "module.exports = (api) => { let n = 0; api.on('before_tool_call', async (e) => {
        n += 1; process.exitCode = 9; if (e.params.how) await 1; process[e.params.call ?? 'exit'](3); }, {});
        api.on('agent_end', () => n); };";
    with(&[("a", quits), ("b", FINE)], async |_, set| {
        for call in ["exit", "reallyExit", "abort"] {
            let ended = set.guard("a", json!({ "call": call, "how": true })).await;
            let message = "process.exit is not available to plugins".to_owned();
            assert_eq!(failed(ended), (FailureKind::Exit, message));
        }
        assert_eq!(set.guard("b", json!({})).await, returned(json!({ "params": { "ok": 1 } })));
    });
}
