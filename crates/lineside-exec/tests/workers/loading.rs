//! Plugins that load, that do not, and that take the worker with them.

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::PluginLoaded;

use crate::room::millis;
use crate::set::{failed, returned, spec, with, with_spec};

const FINE: &str =
    "module.exports = (api) => { api.on('before_tool_call', () => ({ params: { ok: 1 } })); };";

// OC-18.
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
                plugin.load.insert("standalone".to_owned(), true.into());
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
            spec.bounds.load = millis(2500);
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
    let late = "await new Promise((done) => setTimeout(done, 3000)); console.log('imported');
        export default (api) => { console.log('registered'); api.on('agent_end', () => {}); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("late.mjs", late), ("fine", FINE)]);
            spec.bounds.load = millis(1500);
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

// OC-54, OC-62.
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
