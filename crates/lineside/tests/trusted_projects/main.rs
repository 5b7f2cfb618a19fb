//! What holds for the sessions of a project that a person has trusted: its guards where it has changed, what of it is
//! protected, what is loaded of its plugins, and what its hooks have counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside::Assembly;
use lineside::dialects::native::daemon_settings;
use lineside::dialects::{self, Managed, Places, Trust};
use lineside::prelude::*;
use lineside::project::{self, Project};
use lineside::protection::Protection;
use lineside::trust::{Item, Reach, Store};

mod lines;
mod variables;

/// A home, a project in it and a store of trust.
struct Room {
    folder: tempfile::TempDir,
    root: PathBuf,
    user: Places,
    store: Store,
    assembly: Assembly,
}

impl Room {
    fn new() -> Self {
        Self::with(&[])
    }

    /// One whose user has further variables, in which `HOME` stands for the home and `ROOT` for the project.
    fn with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (path, name) = (std::env::var("PATH").unwrap(), home.display().to_string());
        let root = home.join("project").display().to_string();
        let of_user = variables.iter().map(|(variable, value)| {
            ((*variable).to_owned(), value.replace("ROOT", &root).replace("HOME", &name))
        });
        let usual = [("HOME".to_owned(), name.clone()), ("PATH".to_owned(), path)];
        let environment: BTreeMap<_, _> = usual.into_iter().chain(of_user).collect();
        let user = Places { environment, project_root: None, cwd: home.clone(), trust: Trust::Withheld };
        let (root, store) = (home.join("project"), Store::of(&home.join("state")));
        fs::create_dir(&root).unwrap();
        let assembly = Assembly::new(Bus::new()).environment(user.environment.clone()).of_project(&root);
        Self { folder, root, user, store, assembly }
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root.join(path), text);
    }

    /// A plugin of OpenClaw that refuses every tool with this reason.
    fn write_plugin(&self, reason: &str) {
        let code = format!(
            "module.exports = (api) => {{ api.on('before_tool_call', () => ({{ block: true, blockReason: '{reason}' }})); }};"
        );
        self.write(".openclaw/plugins/guard/index.cjs", &code);
        self.write(".openclaw/plugins/guard/openclaw.plugin.json", "{ id: 'guard', configSchema: {} }");
    }

    fn read(&self) -> Project {
        self.assembly.read_project(&self.root, &self.user, None)
    }

    fn trusted(&self) -> Project {
        let read = self.read();
        let content = read.content.as_ref().unwrap();
        self.store.trust(content, read.guards.clone(), Reach::Project).unwrap();
        read
    }

    async fn session(&self) -> Session {
        self.session_of("s").await
    }

    async fn session_of(&self, id: &str) -> Session {
        let scope = self.assembly.scope().unwrap();
        self.assembly.bus().session(id).cwd(&*self.root.to_string_lossy()).scope(scope).open().await.unwrap()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn tool(session: &Session) -> Verdict {
    session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap().verdict().clone()
}

#[tokio::test]
async fn the_guards_of_plugins_stand_closed_where_their_project_is_another_one() {
    let room = Room::new();
    room.write_plugin("no");
    let guards = room.trusted().guards;
    room.write(".openclaw/plugins/guard/README", "changed");
    let closed = room.read().closed(Some(&guards), "it has changed");
    room.assembly.install(closed).await.unwrap();
    let verdict = tool(&room.session().await).await;
    assert!(matches!(&verdict, Verdict::Block { .. }), "{verdict:?}");
    assert!(format!("{verdict:?}").contains("it has changed"), "{verdict:?}");
}

#[tokio::test]
async fn a_plugin_that_cannot_refuse_closes_nothing() {
    let room = Room::new();
    let heard =
        "---\nname: heard\ndescription: Hears.\nmetadata: {openclaw: {events: [\"command:new\"]}}\n---\n";
    room.write(".openclaw/hooks/heard/HOOK.md", heard);
    room.write(".openclaw/hooks/heard/handler.js", "module.exports = () => {};");
    assert_eq!(room.read().guards, []);
}

#[tokio::test]
async fn a_trusted_project_of_plugins_alone_is_protected_and_so_is_one_whose_guards_are_not_known() {
    let room = Room::new();
    write(&room.folder.path().join(".config/lineside/config.yaml"), "protect-policy: on\n");
    room.write_plugin("no");
    let (settings, _) = daemon_settings(&room.user, &Managed::default());
    let protection = Protection::of(&settings, &room.folder.path().join("state"), Path::new("/run/x/socket"));
    let native = [dialects::find("native").unwrap()];
    for files in [room.trusted().sealed(&room.store).unwrap(), room.read().closed(None, "its record is gone")]
    {
        let files = files.only(&native).protected_within(&room.root, &protection);
        let report = room.assembly.install(files).await.unwrap();
        assert!(report.hooks.iter().any(|found| found.hook.name.contains("protect-policy")));
    }
}

#[tokio::test]
async fn the_plugins_of_a_trusted_project_are_loaded_from_what_was_trusted() {
    let room = Room::new();
    room.write_plugin("trusted");
    let files = room.trusted().sealed(&room.store).unwrap();
    // It is exchanged after the look at the project, and put back before the next one.
    room.write_plugin("exchanged");
    room.assembly.install(files).await.unwrap();
    room.write_plugin("trusted");
    let files = room.read().sealed(&room.store).unwrap();
    room.assembly.install(files).await.unwrap();
    assert_eq!(tool(&room.session().await).await, Verdict::block("trusted"));
    assert!(room.assembly.drain(Duration::from_secs(20)).await.is_clean());
}

#[tokio::test]
async fn what_a_limit_has_counted_outlasts_a_load_without_its_hook() {
    let room = Room::new();
    let hooks =
        "hooks: [{name: few, on: before_tool, verdict: block, reason: no, limit: {at_most: 1, per: 1h}}]\n";
    room.write(".lineside/hooks.yaml", hooks);
    let guards = room.trusted().guards;
    room.assembly.install(room.read().files).await.unwrap();
    let session = room.session().await;
    assert_eq!(tool(&session).await, Verdict::Continue);
    room.assembly.install(room.read().closed(Some(&guards), "it has changed")).await.unwrap();
    room.assembly.install(room.read().files).await.unwrap();
    let verdict = tool(&session).await;
    assert!(matches!(&verdict, Verdict::Block { .. }), "{verdict:?}");
}

#[tokio::test]
async fn what_hooks_hand_on_is_nothing_to_another_session_of_the_same_id() {
    let room = Room::new();
    let leaked = room.folder.path().join("leaked");
    let command = format!(
        "test -z \"$TOKEN\" || touch {}; echo 'export TOKEN=x' >> \"$CLAUDE_ENV_FILE\"",
        leaked.display()
    );
    let hook = json!({"type": "command", "command": command});
    let settings = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
    write(&room.folder.path().join(".claude/settings.json"), &settings.to_string());
    let assembly = Assembly::new(Bus::new()).only([dialects::find("claude").unwrap()]);
    assert_eq!(assembly.load(&room.user).await.unwrap().in_force(), 1);
    let mut leaks = Vec::new();
    for _ in 0..2 {
        let session = assembly.bus().session("main").open().await.unwrap();
        for _ in 0..2 {
            assert!(!session.publish(BeforeSession::new("startup")).await.unwrap().is_refused());
            leaks.push(leaked.exists());
            fs::remove_file(&leaked).ok();
        }
        session.close().await;
    }
    assert_eq!(leaks, [false, true, false, true], "within a session, and not from one to the next");
}

/// A script that refuses.
const GUARD: &str = "#!/bin/sh\necho guarded >&2\nexit 2\n";

impl Room {
    fn write_program(&self, path: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, text);
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// With one hook that runs a line.
    fn write_hook(&self, line: &str) {
        let hook = json!({"name": "g", "on": "before_tool", "command": line, "on_failure": "block"});
        self.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
    }

    /// With one hook of Claude Code that runs a line.
    fn write_claude(&self, line: &str) {
        let hooks = json!([{"matcher": "*", "hooks": [{"type": "command", "command": line}]}]);
        self.write(".claude/settings.json", &json!({"hooks": {"PreToolUse": hooks}}).to_string());
    }

    fn content(&self) -> Vec<String> {
        let read = self.read();
        read.content.as_ref().unwrap().items().iter().map(|item| item.path.clone()).collect()
    }

    /// What a tool comes to under the hooks of the project, once they are trusted, and what is said at their load.
    async fn outcome(&self) -> (Verdict, String, usize) {
        let mut would = self.read().unsealed(&self.store);
        would.retain(|finding| finding.severity == lineside::core::Severity::Error);
        let files = self.trusted().sealed(&self.store).unwrap();
        let report = self.assembly.install(files).await.unwrap();
        let said: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(would.is_empty(), said.is_empty(), "{would:?} {said:?}");
        (tool(&self.session().await).await, said.join("\n"), report.in_force())
    }
}
