//! Plugins in TypeScript: which loader they are given, and what is said when there is none (OC-8).
//!
//! The loader here is made up and knows one rule; the real one is tried by `cargo xtask test`, step `plugins`.

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::{WorkerEnded, WorkerSpec};

use crate::room::{Room, millis};
use crate::set::{returned, spec, with_spec};

/// Something that loads a file after having taken one kind of type away.
const LOAD: &str = "const load = (file) => { const module = { exports: {} };
    new Function('module', 'require', require('fs').readFileSync(file, 'utf8').replace(/: any/g, ''))(module, require);
    return module.exports; };";

/// Wants `require`, which no module has that Node itself strips of its types.
const ENTRY: &str = "const fs = require('fs');
    module.exports = (api: any) => { api.on('before_tool_call', () => ({ params: { typed: Boolean(fs) } })); };";

fn typescript(room: &Room, plugins: &[(&str, &str)]) -> WorkerSpec {
    let mut spec = spec(room, plugins);
    for plugin in &mut spec.plugins {
        plugin.load.insert("loader".to_owned(), "typescript".into());
    }
    spec.hello.insert("cache".to_owned(), room.text("cache").into());
    spec
}

/// With an `npm` that is this script.
fn with_npm(room: &Room, script: &str) -> WorkerSpec {
    let mut spec = typescript(room, &[("a.ts", ENTRY)]);
    std::fs::create_dir_all(room.path("bin")).unwrap();
    room.file("bin/npm", &format!("#!/bin/sh\n{script}\n"), 0o755);
    let path = format!("{}:{}", room.text("bin"), std::env::var("PATH").unwrap());
    spec.environment.set.push(("PATH".into(), path.into()));
    spec
}

/// jiti 2 makes something that imports, jiti 1 something that requires.
#[test]
fn an_entry_is_loaded_by_the_jiti_beside_its_plugin() {
    for export in [
        "exports.createJiti = () => ({ import: async (file) => load(file) });",
        "module.exports = () => load;",
    ] {
        with_spec(
            |room| {
                std::fs::create_dir_all(room.path("node_modules/jiti")).unwrap();
                room.file("node_modules/jiti/index.js", &format!("{LOAD} {export}"), 0o644);
                typescript(room, &[("a.ts", ENTRY)])
            },
            async |_, set| {
                let answer = set.guard("a", json!({})).await;
                assert_eq!(answer, returned(json!({ "params": { "typed": true } })), "{export}");
                assert_eq!(set.diagnostics(0), [""; 0]);
            },
        );
    }
}

/// That of an OpenClaw beside the plugin, or of one that is installed for all users.
#[test]
fn an_entry_is_loaded_by_the_jiti_of_an_installed_openclaw() {
    for (folder, installed) in [("node_modules", false), ("all-users", true)] {
        with_spec(
            |room| {
                let at = |file: &str| format!("{folder}/openclaw/{file}");
                std::fs::create_dir_all(room.path(&at("node_modules/jiti"))).unwrap();
                room.file(&at("package.json"), "{}", 0o644);
                let export = "exports.createJiti = () => ({ import: async (file) => load(file) });";
                room.file(&at("node_modules/jiti/index.js"), &format!("{LOAD} {export}"), 0o644);
                let mut spec = typescript(room, &[("a.ts", ENTRY)]);
                if installed {
                    std::fs::create_dir_all(room.path("lib")).unwrap();
                    std::fs::rename(room.path(folder), room.path("lib/node_modules")).unwrap();
                    spec.hello.insert("installed".to_owned(), json!([room.text("lib/node_modules")]));
                }
                spec
            },
            async |_, set| {
                let answer = set.guard("a", json!({})).await;
                assert_eq!(answer, returned(json!({ "params": { "typed": true } })), "{folder}");
            },
        );
    }
}

/// It is pinned, runs no script, and may take longer than a plugin may; the next worker finds it.
#[test]
fn a_loader_is_taken_from_the_registry_once() {
    with_spec(
        |room| {
            let export = "exports.createJiti = (_, options) => ({ import: async (file) => {
                require('fs').writeFileSync('$ROOM/options', JSON.stringify(options)); return load(file); } });";
            let loader = format!("{LOAD} {}", export.replace("$ROOM/", &room.text("")));
            room.file("loader.cjs", &loader, 0o644);
            let here = room.text("");
            let mut spec = with_npm(
                room,
                &format!(
                    "echo \"$@\" >> {here}/calls; cp package-lock.json {here}/lock; sleep 1.2
                    mkdir -p node_modules/jiti/lib; echo '{{}}' > node_modules/jiti/package.json
                    cp {here}/loader.cjs node_modules/jiti/lib/jiti.cjs"
                ),
            );
            spec.bounds.load = millis(1000);
            spec
        },
        async |room, set| {
            let answer = set.guard("a", json!({})).await;
            assert_eq!(answer, returned(json!({ "params": { "typed": true } })));
            let said = set.diagnostics(0).join("");
            assert!(
                said.starts_with("warning: jiti 2.7.0, which OpenClaw loads TypeScript through, was taken"),
                "{said}"
            );
            let read = |name: &str| std::fs::read_to_string(room.path(name)).unwrap();
            assert!(read("calls").starts_with("ci --ignore-scripts "), "{}", read("calls"));
            assert!(read("lock").contains("\"integrity\":\"sha512-"), "{}", read("lock"));
            assert!(
                read("options").contains(&format!("\"fsCache\":\"{}\"", room.text("cache/jiti"))),
                "{}",
                read("options")
            );
            let left: Vec<_> = std::fs::read_dir(room.path("cache"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(left, ["jiti-2.7.0"]);
            let again = crate::set::Set::start(with_npm(room, "echo again >> $0.calls; exit 1")).await;
            assert_eq!(again.diagnostics(0), [""; 0]);
            again.worker.shutdown().await;
            assert!(!room.path("bin/npm.calls").exists());
        },
    );
}

/// The error names the file, why there is no loader, and what helps; nothing of the plugin runs.
#[test]
fn without_a_loader_the_error_says_what_helps() {
    let script = "echo 'npm error code ENOTFOUND' >&2; echo 'npm error network: no such host' >&2; exit 1";
    let enumerated = "enum Mode { A } module.exports = () => {};";
    for (download, why) in [
        (true, "jiti 2.7.0 cannot be taken from the npm registry: network: no such host"),
        (false, "`download` is false"),
    ] {
        with_spec(
            |room| {
                let mut spec = with_npm(room, script);
                room.file("a.ts", enumerated, 0o644);
                spec.hello.insert("download".to_owned(), download.into());
                spec
            },
            async |room, set| {
                let error = set.error(0);
                let begins = format!(
                    "plugin failed during load: cannot load TypeScript entry {}: Node ",
                    room.text("a.ts")
                );
                assert!(error.starts_with(&begins), "{error}");
                assert!(error.contains(why), "{error}");
                let helps = "; build it to JavaScript, install jiti or tsx beside the plugin, or use Node 22.18 or newer (";
                assert!(error.contains(helps) && error.contains("npm install jiti in "), "{error}");
                let gone = set.guard("a", json!({})).await;
                let WorkerEnded::Failed { kind, started, .. } = gone else { panic!() };
                assert_eq!((kind, started), (FailureKind::Closed, false));
            },
        );
    }
}
