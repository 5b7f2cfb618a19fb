//! What `openclaw/plugin-sdk` and its subpaths are (OC-19).

use lineside_core::failure::FailureKind;
use lineside_core::json::json;

use crate::room::Room;
use crate::set::{failed, returned, spec, with, with_spec};

/// For modules of both kinds, and for any subpath.
#[test]
fn the_stand_in_has_what_plugins_with_hooks_use() {
    let imports = "import { definePluginEntry } from 'openclaw/plugin-sdk/plugin-entry';
        import * as core from 'openclaw/plugin-sdk/core';
        import { readStringParam, jsonResult } from 'openclaw/plugin-sdk/anything/at/all';
        import { createPluginRuntimeStore } from '@openclaw/plugin-sdk/runtime-store.js';
        const store = createPluginRuntimeStore({ pluginId: 'a', errorMessage: 'not set' });
        export default definePluginEntry({ name: 'Sdk', register(api) { let said; try { store.getRuntime(); } catch (error) { said = error.message; }
            store.setRuntime(api.runtime);
            api.on('before_tool_call', () => ({ params: { name: api.name, schema: core.emptyPluginConfigSchema(), said,
                version: store.getRuntime().version, text: readStringParam({ a: ' x ' }, 'a'), details: jsonResult({ b: 1 }).details } })); } });";
    let requires = "const { definePluginEntry } = require('openclaw/plugin-sdk'); module.exports = definePluginEntry((api) => {
        api.on('before_tool_call', () => ({ params: { ok: true } })); });";
    with(&[("a.mjs", imports), ("b", requires)], async |_, set| {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {} });
        let params = json!({ "name": "Sdk", "schema": schema, "said": "not set", "version": "2026.9.6", "text": "x", "details": { "b": 1 } });
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": params })));
        assert_eq!(set.guard("b", json!({})).await, returned(json!({ "params": { "ok": true } })));
    });
}

/// A plugin loads that imports what there is not, and what uses it says which name of which module it was.
#[test]
fn what_the_stand_in_lacks_says_so_by_name_and_subpath() {
    let imports = "import { definePluginEntry, unheardOf as other, type Shape } from 'openclaw/plugin-sdk/deep-runtime';
        export class Extended extends other {}
        export default definePluginEntry({ register(api) { api.on('before_tool_call', () => other(1)); } });";
    // A type in an import is for a loader of TypeScript.
    let imports = imports.replace(", type Shape", "");
    let requires =
        "const { unheardOf } = require('openclaw/plugin-sdk/core'); module.exports = () => new unheardOf();";
    with(&[("a.mjs", &imports), ("b", requires)], async |_, set| {
        let lacks = |module: &str| {
            format!(
                "unheardOf of openclaw/plugin-sdk/{module} is not provided by lineside; install openclaw beside the plugin (npm install openclaw)"
            )
        };
        assert_eq!(failed(set.guard("a", json!({})).await), (FailureKind::Panic, lacks("deep-runtime")));
        assert_eq!(set.error(1), format!("plugin failed during register: {}", lacks("core")));
    });
}

/// It is used whole, unless it is not for this Node.
#[test]
fn an_openclaw_beside_the_plugin_is_used_whole() {
    let install = |room: &Room, node: &str| {
        std::fs::create_dir_all(room.path("node_modules/openclaw")).unwrap();
        let package = json!({
            "name": "openclaw", "version": "2026.9.6", "engines": { "node": node },
            "exports": { "./plugin-sdk/*": "./sdk.cjs", "./package.json": "./package.json" },
        });
        room.file("node_modules/openclaw/package.json", &package.to_string(), 0o644);
        room.file(
            "node_modules/openclaw/sdk.cjs",
            "exports.definePluginEntry = (d) => d; exports.whole = () => 'whole';",
            0o644,
        );
    };
    let imports = "import { definePluginEntry, whole } from 'openclaw/plugin-sdk/core';
        export default definePluginEntry({ register(api) { api.on('before_tool_call', () => ({ params: { whole: whole() } })); } });";
    for (node, is_used) in [(">=18 <19 || >=20.0.0", true), (">=999.1.0", false)] {
        with_spec(
            |room| {
                install(room, node);
                spec(
                    room,
                    &[
                        ("a.mjs", imports),
                        (
                            "b",
                            "const { whole } = require('openclaw/plugin-sdk/core'); module.exports = (api) =>
                    api.on('before_tool_call', () => ({ params: { whole: whole() } }));",
                        ),
                    ],
                )
            },
            async |_, set| {
                for plugin in ["a", "b"] {
                    let answer = set.guard(plugin, json!({})).await;
                    if is_used {
                        assert_eq!(answer, returned(json!({ "params": { "whole": "whole" } })), "{plugin}");
                    } else {
                        let (kind, message) = failed(answer);
                        assert_eq!(kind, FailureKind::Panic);
                        assert!(
                            message.starts_with("whole of openclaw/plugin-sdk/core is not provided"),
                            "{message}"
                        );
                    }
                }
            },
        );
    }
}
