//! What `register` is given.

use lineside_core::json::{Value, json};
use lineside_core::worker::CallClass;
use lineside_exec::{LogLevel, LogSource};

use crate::set::{call, fields, returned, spec, with, with_spec};

// OC-23.
#[test]
fn the_api_says_what_it_is_asked() {
    let plugin = "module.exports = { version: '2', register(api) {
        const refused = [typeof api.runtime.tools, typeof api.runtime.tools, typeof api.runtime.state.openKeyedStore];
        const told = { id: api.id, name: api.name, version: api.version, description: api.description,
            mode: api.registrationMode, config: api.config, own: api.pluginConfig, host: api.runtime.version,
            same: api.runtime.config.current() === api.config && api.runtime.config.loadConfig() === api.config,
            child: api.runtime.logging.getChildLogger() === api.logger, refused,
            paths: [api.resolvePath('/x'), api.resolvePath('~/x'), api.resolvePath('x')].map((p) => p.replace(api.rootDir.replace(/\\/$/, ''), 'ROOT')),
            source: api.source.endsWith('a.cjs') && api.source === api.runtimeSource };
        api.logger.warn('said', { x: 1 });
        api.on('before_tool_call', () => ({ params: told })); } };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", plugin)]);
            let more =
                json!({ "name": "Guard", "version": "1", "description": "d", "config": { "deny": [1] } });
            spec.plugins[0].load.extend(fields(more));
            spec
        },
        async |_, set| {
            let told = json!({
                "id": "a", "name": "Guard", "version": "2", "description": "d", "mode": "full",
                "config": { "a": { "b": 1 } }, "own": { "deny": [1] }, "host": "2026.9.6", "same": true,
                "child": true, "refused": ["undefined", "undefined", "undefined"],
                "paths": ["/x", "/h/x", "ROOT/x"], "source": true,
            });
            assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": told })));
            let missing = ["tools", "state.openKeyedStore"].map(|name| {
                format!("warning: api.runtime.{name} is not provided by lineside and is undefined")
            });
            assert_eq!(set.diagnostics(0), missing, "once for each name");
            let line = (Some("a".to_owned()), LogLevel::Warn, "said { x: 1 }".to_owned());
            assert!(set.lines(LogSource::Frame).contains(&line));
        },
    );
}

/// OC-23, OC-24: what of OpenClaw's runtime means something without it.
#[test]
fn what_a_plugin_keeps_and_runs_needs_no_openclaw() {
    let plugin = "module.exports = (api) => {
        const heard = []; api.runtime.events.onAgentEvent((event) => heard.push([event.stream, event.pluginId]));
        api.agent.events.registerAgentEventSubscription({ id: 's', streams: ['mine'], handle: (e) => heard.push(e.data) });
        api.on('before_tool_call', async (event) => {
            const kept = { runId: 'r', namespace: 'n' };
            const told = [api.setRunContext({ ...kept, value: { a: 1 } }), api.getRunContext(kept)];
            api.runContext.clearRunContext(kept); told.push(api.runContext.getRunContext(kept) === undefined);
            told.push(api.emitAgentEvent({ runId: 'r', stream: 'mine', data: 7 }).emitted, heard);
            told.push(api.runtime.state.resolveStateDir({ OPENCLAW_STATE_DIR: '~/x' }), api.runtime.state.resolveStateDir({}));
            const ran = await api.runtime.system.runCommandWithTimeout(['cat'], { timeoutMs: 9000, input: 'hi' });
            told.push(ran.stdout, ran.code, ran.termination, api.runtime.tts);
            return { params: { told } }; }); };";
    with(&[("a", plugin)], async |_, set| {
        let heard = json!([["mine", "a"], 7]);
        let told =
            json!([true, { "a": 1 }, true, true, heard, "/h/x", "/h/.openclaw", "hi", 0, "exit", null]);
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "told": told } })));
        assert!(
            set.has_line(LogSource::Frame, "api.runtime.tts is not provided by lineside and is undefined")
        );
    });
}

// OC-20.
#[test]
fn after_register_the_api_is_closed() {
    let plugin = "module.exports = (api) => { api.on('before_tool_call', () => {
        api.on('agent_end', () => {}); api.registerTool({ name: 't' }); api.registerThing({ id: 'x' });
        return { params: {} }; }); };";
    with(&[("a", plugin)], async |_, set| {
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": {} })));
        let lines = set.lines(LogSource::Frame);
        let ignored = lines.iter().filter(|(_, _, text)| text == "registration after register ignored");
        assert_eq!(ignored.count(), 3);
        let ended = set.ask(call("a", "agent_end", CallClass::Void, json!({}))).await;
        assert!(format!("{ended:?}").contains("Closed"), "{ended:?}");
    });
}

/// OC-25 to OC-28, OC-30, OC-36: handlers, and what is wrong with them.
#[test]
fn handlers_are_registered_with_their_options() {
    let plugin = "module.exports = (api) => { const f = () => {};
        api.on('before_tool_call', f, { matcher: [' Exec ', 'b'], priority: -1.5, timeoutMs: 0, registrationId: 'r', eligibleTriggers: ['cron'], eligibleDispatchKinds: ['acp'] });
        api.on('before_install', f); api.on('before_reset', f); api.on('deactivate', f); api.on('before_toolcall', f); api.on(7, f);
        api.on('agent_end'); api.on('message_sending', f, { matcher: ['x'], priority: NaN });
        api.on('before_prompt_build', f, { requiresToolAuthority: true }); };";
    with(&[("a", plugin)], async |_, set| {
        assert_eq!(
            set.loaded(0)["registrations"],
            json!([
                { "kind": "hook", "handler": 1, "hook": "before_tool_call", "priority": -1.5, "matcher": ["exec", "b"],
                  "registrationId": "r", "eligibleTriggers": ["cron"], "eligibleDispatchKinds": ["acp"] },
                { "kind": "hook", "handler": 2, "hook": "before_install", "priority": 0 },
                { "kind": "hook", "handler": 3, "hook": "before_reset", "priority": 0 },
                { "kind": "hook", "hook": "deactivate", "fires": false },
                { "kind": "hook", "handler": 4, "hook": "message_sending", "priority": 0 },
                { "kind": "hook", "hook": "before_prompt_build", "fires": false },
            ])
        );
        let found = set.diagnostics(0);
        let unknown = found.iter().position(|one| one.contains("unknown typed hook \"7\" ignored")).unwrap();
        let mut rest = found.clone();
        rest.remove(unknown);
        assert_eq!(
            rest,
            [
                "warning: hook \"before_install\" is recorded but never fired; a program that has it publishes \
                 x.openclaw.before_install",
                "warning: hook \"before_reset\" is recorded but never fired; nearest: session_end; a program that has it \
                 publishes x.openclaw.before_reset",
                "warning: hook \"deactivate\" is recorded but never fired; nearest: gateway_stop",
                "warning: unknown typed hook \"before_toolcall\" ignored",
                "error: typed hook \"agent_end\" has no handler function",
                "warning: typed hook \"message_sending\" has an invalid priority; 0 is used",
                "warning: typed hook \"message_sending\" ignores tool matcher",
                "warning: hook \"before_prompt_build\" is recorded but never fired: it requires tool authority",
            ]
        );
    });
}

/// OC-25: what the configuration forbids is not registered.
#[test]
fn a_forbidden_hook_is_not_registered() {
    let plugin = "module.exports = (api) => { const f = () => {};
        for (const hook of ['before_agent_start', 'before_prompt_build', 'llm_input', 'llm_output', 'before_agent_finalize', 'agent_end', 'message_sent'])
            api.on(hook, f); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", plugin), ("b", plugin)]);
            for (plugin, option) in
                spec.plugins.iter_mut().zip(["allowPromptInjection", "allowConversationAccess"])
            {
                plugin.load.insert(option.to_owned(), false.into());
            }
            spec
        },
        async |_, set| {
            let hooks = |place: usize| -> Vec<String> {
                let all = set.loaded(place)["registrations"].as_array().unwrap();
                all.iter().map(|one| one["hook"].as_str().unwrap().to_owned()).collect()
            };
            assert_eq!(
                hooks(0),
                ["llm_input", "llm_output", "before_agent_finalize", "agent_end", "message_sent"]
            );
            assert_eq!(hooks(1), ["message_sent"]);
            let text = "warning: typed hook \"before_agent_start\" blocked by plugins.entries.a.hooks.allowPromptInjection=false";
            assert_eq!(set.diagnostics(0)[0], text);
            assert_eq!(set.diagnostics(1).len(), 6);
        },
    );
}

/// OC-28: a wrong matcher throws, which a plugin may catch.
#[test]
fn a_wrong_matcher_throws() {
    let plugin = "module.exports = (api) => { const said = [];
        for (const matcher of ['exec', [], ['exec', ' '], ['*'], [,'x'], null])
            try { api.on('after_tool_call', () => {}, { matcher }); } catch (e) { said.push(e.constructor.name + ' ' + e.message); }
        api.on('before_tool_call', () => ({ params: { said } })); };";
    with(&[("a", plugin)], async |_, set| {
        let said = json!([
            "TypeError tool hook matcher must be an array of tool names",
            "TypeError tool hook matcher must contain at least one tool name",
            "TypeError tool hook matcher entries must be non-empty strings",
            "TypeError tool hook matcher wildcard entries are not supported",
            "TypeError tool hook matcher entries must be non-empty strings",
            "TypeError tool hook matcher must be an array of tool names",
        ]);
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "said": said } })));
    });
}

/// OC-1, OC-24: everything else is recorded without a word.
#[test]
fn other_registrations_are_recorded() {
    let plugin = "module.exports = (api) => { const never = () => { throw Error('called'); };
        api.registerTool({ name: 'lookup', execute: never }); api.registerTool(never, { names: ['made', 'too'] });
        api.registerGatewayMethod(' full.ping ', never); api.registerHttpRoute({ path: 'full', auth: 'plugin', handler: never });
        api.registerCommand({ name: 'Full', description: 'd', handler: never, nativeNames: { x: 'also' } });
        api.registerCliBackend({ id: 'c' }); api.registerChannel({ plugin: { id: 'chan' } }); api.registerCli(never, {});
        api.session.state.registerSessionExtension({ id: 'ext' }); api.onConversationBindingResolved(never);
        const answers = [api.agent.events.emitAgentEvent({}), api.runContext.setRunContext({}), String(api.session.workflow.enqueue({}))];
        api.on('before_tool_call', () => ({ params: { answers } })); };";
    with(&[("a", plugin)], async |_, set| {
        let recorded = set.loaded(0)["registrations"].as_array().unwrap();
        assert_eq!(
            Value::from(&recorded[..10]),
            json!([
                { "kind": "tool", "name": "lookup" },
                { "kind": "tool", "name": "made" },
                { "kind": "tool", "name": "too" },
                { "kind": "gatewayMethod", "name": "full.ping" },
                { "kind": "httpRoute", "path": "/full", "match": "exact", "auth": "plugin" },
                { "kind": "command", "name": "full", "aliases": ["also"] },
                { "kind": "cli backend", "id": "c" },
                { "kind": "channel", "id": "chan" },
                { "kind": "cli" },
                { "kind": "session extension", "id": "ext" },
            ])
        );
        assert_eq!(set.diagnostics(0), [""; 0]);
        let answers =
            json!([{ "emitted": false, "reason": "runId and stream are required" }, false, "undefined"]);
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "answers": answers } })));
    });
}

// OC-31.
#[test]
fn internal_hooks_are_registered_and_those_that_only_openclaw_fires_with_a_warning() {
    let plugin = "module.exports = (api) => { const f = () => {};
        api.registerHook('command:new', f, { name: 'greet' }); api.registerHook(['before_tool_call'], f, { name: 'guard' });
        api.registerHook('command:new', f, { name: 'greet' }); api.registerHook(['message:received'], f, { name: 'seen' });
        api.registerHook('command:nwe', f, { name: 'typo' });
        try { api.registerHook('command:new', f); } catch (error) { api.logger.info(error.message); } };";
    with(&[("a", plugin)], async |_, set| {
        assert_eq!(
            set.diagnostics(0),
            [
                "warning: internal hook \"greet\" is recorded but never fired; a program that has it publishes \
                 x.openclaw.on_command_new",
                "warning: hook event \"before_tool_call\" is dispatched by the typed hook runner only; api.registerHook \
                 registrations for it are not invoked. Use api.on(\"before_tool_call\", ...) instead.",
                "error: hook already registered: greet (a)",
                "warning: internal hook \"typo\" is recorded but never fired",
            ]
        );
        let handlers = set.loaded(0)["registrations"].as_array().unwrap().iter();
        let handlers: Vec<_> = handlers.filter(|one| one.get("handler").is_some()).cloned().collect();
        assert_eq!(
            Value::from(handlers),
            json!([
                { "kind": "hook", "handler": 1, "hook": "command:new", "priority": 0, "own": true },
                { "kind": "hook", "handler": 2, "hook": "message:received", "priority": 0 },
            ])
        );
        assert!(set.has_line(LogSource::Frame, "hook registration missing name"));
    });
}
