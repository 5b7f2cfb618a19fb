//! Two registrations that conflict: the first stays, and a diagnostic says so (OC-32 to OC-34).

use crate::set::{fields, spec, with, with_spec};

fn check(first: &str, second: &str, expected: &[&str]) {
    let of = |body: &str| format!("module.exports = (api) => {{ const handler = () => {{}}; {body} }};");
    let (a, b) = (of(first), of(second));
    with(&[("a", &a), ("b", &b)], async |room, set| {
        let found: Vec<String> = [set.diagnostics(0), set.diagnostics(1)].concat();
        let found: Vec<String> = found.iter().map(|text| text.replace(&room.text(""), "")).collect();
        assert_eq!(found, expected);
    });
}

// OC-34.
#[test]
fn commands() {
    check(
        "api.registerCommand({ name: 'fix', description: 'd', handler, nativeNames: ['mend'] });",
        "api.registerCommand({ name: ' FIX ', description: 'd', handler });
         api.registerCommand({ name: 'other', description: 'd', handler, aliases: ['mend'] });
         api.registerCommand({ name: 'status', description: 'd', handler });
         api.registerCommand({ name: 'nohand', description: 'd' });
         api.registerCommand({ name: 'mute', description: ' ', handler });
         api.registerCommand({ name: '9lives', description: 'd', handler });",
        &[
            "error: command registration failed: Command \"fix\" already registered by plugin \"a\"",
            "error: command registration failed: Command \"mend\" already registered by plugin \"a\"",
            "error: command registration failed: Command name \"status\" is reserved by a built-in command",
            "error: command registration failed: Command handler must be a function",
            "error: command registration failed: Command description cannot be empty",
            "error: command registration failed: Command name must start with a letter and contain only letters, \
             numbers, hyphens, and underscores",
        ],
    );
}

// OC-34.
#[test]
fn gateway_methods() {
    check(
        "api.registerGatewayMethod('memo.get', handler);",
        "for (const name of [' memo.get ', 'health', 'config.set', 'exec.approvals.x', 'fine']) api.registerGatewayMethod(name, handler);",
        &[
            "error: gateway method already registered: memo.get",
            "error: gateway method already registered: health",
            "error: gateway method already registered: config.set",
            "error: gateway method already registered: exec.approvals.x",
        ],
    );
}

/// OC-16, OC-34: names that the configuration adds.
#[test]
fn reserved_names() {
    let plugin =
        "module.exports = (api) => { api.registerCommand({ name: 'mine', description: 'd', handler() {} });
        api.registerGatewayMethod('own.x', () => {}); api.registerGatewayMethod('own', () => {}); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", plugin)]);
            let reserved = lineside_core::json::json!({ "reserved": { "commands": ["mine"], "gatewayMethods": ["own."] } });
            spec.hello.extend(fields(reserved));
            spec
        },
        async |_, set| {
            assert_eq!(
                set.diagnostics(0),
                [
                    "error: command registration failed: Command name \"mine\" is reserved by a built-in command",
                    "error: gateway method already registered: own.x",
                ]
            );
        },
    );
}

/// OC-34: paths are compared after decoding and without a `/` at the end.
#[test]
fn routes() {
    check(
        "api.registerHttpRoute({ path: '/hook', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/hook', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/own', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/own', handler, auth: 'gateway', replaceExisting: true });
         api.registerHttpRoute({ path: '/p', handler, auth: 'gateway', match: 'prefix' });",
        "api.registerHttpRoute({ path: 'h%6Fok/', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/hook', handler, auth: 'plugin', replaceExisting: true });
         api.registerHttpRoute({ path: '/p/x', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/p/y', handler, auth: 'gateway' });
         api.registerHttpRoute({ path: '/pq', handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/own', handler, auth: 'plugin', match: 'prefix' });
         api.registerHttpRoute({ handler, auth: 'plugin' });
         api.registerHttpRoute({ path: '/open', handler });",
        &[
            "error: http route already registered: /hook (exact) by a (a.cjs)",
            "error: http route already registered: /h%6Fok/ (exact) by a (a.cjs)",
            "error: http route replacement rejected: /hook (exact) owned by a (a.cjs)",
            "error: http route overlap rejected: /p/x (exact, plugin) overlaps /p (prefix, gateway) owned by a (a.cjs)",
            "error: http route overlap rejected: /own (prefix, plugin) overlaps /own (exact, gateway) owned by a (a.cjs)",
            "warning: http route registration missing path",
            "warning: http route registration missing or invalid auth: /open",
        ],
    );
}

// OC-34.
#[test]
fn tools_and_other_kinds() {
    check(
        "api.registerTool({ name: 'search' }); api.registerService({ id: 'index' }); api.registerHook('x', handler, { name: 'h' });",
        "api.registerTool(handler, { names: ['search', 'find'] }); api.registerService({ id: 'index' });
         api.registerProvider({ id: 'index' }); api.registerHook('x', handler, { name: 'h' });",
        &[
            "warning: internal hook \"h\" is recorded but never fired",
            "error: plugin tool name conflict (b): search",
            "error: service already registered: index (a)",
            "error: hook already registered: h (a)",
        ],
    );
}

/// OC-32: two handlers on one hook are no conflict.
#[test]
fn hooks_never_conflict() {
    check(
        "api.on('agent_end', handler); api.on('agent_end', handler);",
        "api.on('agent_end', handler);",
        &[],
    );
}
