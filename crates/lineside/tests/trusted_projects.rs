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
use lineside::project::Project;
use lineside::protection::Protection;
use lineside::trust::{Reach, Store};

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
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (path, name) = (std::env::var("PATH").unwrap(), home.display().to_string());
        let environment = BTreeMap::from([("HOME".to_owned(), name), ("PATH".to_owned(), path)]);
        let user = Places { environment, project_root: None, cwd: home.clone(), trust: Trust::Withheld };
        let (root, store) = (home.join("project"), Store::of(&home.join("state")));
        fs::create_dir(&root).unwrap();
        let assembly = Assembly::new(Bus::new()).of_project(&root);
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
        self.assembly.bus().session(id).scope(scope).open().await.unwrap()
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

#[tokio::test]
async fn a_guard_that_is_named_by_the_variable_of_its_format_is_shown_and_runs() {
    let claude = |line: &str, rest: &str| {
        let hook = json!({"type": "command", "command": line});
        let mut hook = hook.as_object().unwrap().clone();
        if !rest.is_empty() {
            hook.insert("args".to_owned(), json!([]));
        }
        let file = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}});
        (".claude/settings.json", file.to_string())
    };
    let gemini = |line: &str| {
        let hook = json!({"type": "command", "command": line});
        (
            ".gemini/settings.json",
            json!({"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}}).to_string(),
        )
    };
    let script = ".claude/hooks/guard.sh";
    for (path, text) in [
        claude(r#""$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh"#, ""),
        claude("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh", ""),
        claude(r#""$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh""#, ""),
        claude(r#""${CLAUDE_PROJECT_DIR}"/.claude/hooks/guard.sh"#, ""),
        claude(r#"bash "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh"#, ""),
        claude(r#"cd "$CLAUDE_PROJECT_DIR" && .claude/hooks/guard.sh"#, ""),
        claude("cd $CLAUDE_PROJECT_DIR && sh .claude/hooks/guard.sh", ""),
        claude(r#"cd "$CLAUDE_PROJECT_DIR"/.claude && hooks/guard.sh"#, ""),
        claude("${CLAUDE_PROJECT_DIR}/.claude/hooks/guard.sh", "args"),
        gemini("$GEMINI_PROJECT_DIR/.claude/hooks/guard.sh"),
        gemini("bash \"${GEMINI_PROJECT_DIR}\"/.claude/hooks/guard.sh"),
    ] {
        let room = Room::new();
        room.write_program(script, GUARD);
        room.write(path, &text);
        assert!(room.content().iter().any(|path| path == script), "{text}: {:?}", room.content());
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{text}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{text}");
    }
}

#[tokio::test]
async fn no_line_runs_a_file_of_the_project_that_was_not_trusted() {
    for (line, runs) in [
        ("cd sub && ./g.sh", true),
        ("cd sub; ./g.sh", true),
        (r#"cd "$PWD"/sub && ./g.sh"#, true),
        (r#"bash -c "cd sub; ./g.sh""#, true),
        ("sh -c 'cd sub && ./g.sh'", true),
        ("(cd sub && ./g.sh)", true),
        ("env -C sub ./g.sh", true),
        ("D=sub; cd $D && ./g.sh", true),
        ("pushd sub >/dev/null; sh g.sh", true),
        ("cd \"$(pwd)\"/sub && ./g.sh", true),
        ("cd \"$(cat where)\" && ./sub/g.sh", false),
        ("\"$(cat where)\"/sub/g.sh", false),
        ("cd ${FOLDER:-.} && sub/g.sh", true),
        (r"find sub -name g.sh -exec sh {} \;", false),
        ("ls sub/*.sh | xargs sh", false),
        (r#"find . -name "*.sh" | xargs -n1 sh"#, false),
        ("PATH=sub:$PATH g.sh", false),
        ("export PATH=\"$PWD/sub:$PATH\"; g.sh", false),
        ("cat sub/g.sh | sh", true),
        ("bash -c '. <(cat sub/g.sh)'", false),
        ("T=$(cat sub/g.sh); eval \"$T\"", true),
        ("X='./sub/g.sh'; eval \"$X\"", false),
        ("D=$(pwd); sh -c \"cd $D/sub && ./g.sh\"", false),
        (r#"python3 -c "import subprocess; subprocess.run(['./sub/g.sh'])""#, false),
        (r#"node -e "require('child_process').execSync('sub/g.sh')""#, true),
        (r#"awk 'BEGIN { exit system("sh sub/g.sh") }'"#, true),
    ] {
        let room = Room::new();
        room.write_program("sub/g.sh", GUARD);
        write(&room.root.join("where"), &room.root.to_string_lossy());
        let hook = json!({"name": "g", "on": "before_tool", "command": line, "on_failure": "block"});
        room.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
        let content = room.content();
        let (verdict, said, in_force) = room.outcome().await;
        let verdict = format!("{verdict:?}");
        if runs {
            assert!(content.iter().any(|path| path == "sub/g.sh"), "{line}: {content:?}");
            assert!(verdict.contains("guarded") && said.is_empty(), "{line}: {verdict} {said}");
        } else {
            assert!(!verdict.contains("guarded") && verdict.contains("it is not run"), "{line}: {verdict}");
            assert!(said.contains("is not run") && in_force == 0, "{line}: {said} {in_force}");
        }
        // Another file in its place is not run, whatever the line.
        let mark = room.folder.path().join("mark");
        room.write_program("sub/g.sh", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        tool(&room.session_of("other").await).await;
        assert!(!mark.exists(), "{line}");
    }
}

#[tokio::test]
async fn what_a_variable_of_a_hook_has_a_shell_run_is_content() {
    let room = Room::new();
    room.write("late.sh", "echo guarded >&2; exit 2\n");
    let hook = json!({
        "name": "g", "on": "before_tool", "command": ["bash", "-c", "true"], "env": {"BASH_ENV": "./late.sh"}
    });
    room.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
    assert!(room.content().iter().any(|path| path == "late.sh"), "{:?}", room.content());
}

#[tokio::test]
async fn a_line_that_may_run_more_than_it_names_runs_where_the_project_says_what_that_is() {
    for (line, holds) in [
        (r"find sub -name g.sh -exec sh {} \;", true),
        ("cat sub/g.sh | sh", true),
        (r"find . -name g.sh -exec sh {} \;", false),
    ] {
        let room = Room::new();
        room.write_program("sub/g.sh", GUARD);
        let hook = json!({"name": "g", "on": "before_tool", "command": line});
        room.write(".lineside/hooks.yaml", &json!({"trusts": ["sub"], "hooks": [hook]}).to_string());
        assert!(room.content().iter().any(|path| path == "sub/g.sh"));
        let (_, said, in_force) = room.outcome().await;
        assert_eq!((said.is_empty(), in_force), (holds, usize::from(holds)), "{line}: {said}");
    }
}

#[tokio::test]
async fn a_line_that_enters_an_environment_of_python_is_trusted_with_that_file_alone() {
    let room = Room::new();
    room.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    room.write(".venv/bin/activate", "A=b\n");
    std::os::unix::fs::symlink("/usr/bin/env", room.root.join(".venv/bin/python")).unwrap();
    let line = ". .venv/bin/activate && echo guarded >&2; exit 2";
    let hook = json!({"name": "g", "on": "before_tool", "command": line, "on_failure": "block"});
    room.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
    assert_eq!(room.content(), [".lineside/hooks.yaml", ".venv/bin/activate"]);
    let (verdict, said, in_force) = room.outcome().await;
    assert!(format!("{verdict:?}").contains("guarded"), "{verdict:?} {said}");
    assert_eq!((&*said, in_force), ("", 1));
}

#[tokio::test]
async fn lines_that_start_nothing_of_the_project_are_left_alone() {
    for line in [
        "cat >/dev/null; echo guarded >&2; exit 2",
        "jq -r .tool.name | { read f; case $f in *.ts) prettier --check \"$f\";; esac; }; echo guarded >&2; exit 2",
        "F=$(jq -r .x 2>/dev/null); [ -n \"$F\" ] && grep -q x \"$F\"; echo guarded >&2; exit 2",
        r#"python3 -c "import sys, json; json.load(sys.stdin); sys.stderr.write('guarded'); sys.exit(2)""#,
        "git diff --quiet -- '*.rs' || true; ls *.md >/dev/null 2>&1; echo guarded >&2; exit 2",
        "[ -f \"$HOME/env\" ] && . \"$HOME/env\"; echo guarded >&2; exit 2",
        "make -n x >/dev/null 2>&1; npx --no-install x >/dev/null 2>&1; echo guarded >&2; exit 2",
        "if [ \"$CI\" ]; then exit 0; fi; echo guarded >&2; exit 2",
        // Nothing of the project is known to be run.
        "if [[ \"$F\" == *.ts ]]; then npx tsc; fi; echo guarded >&2; exit 2",
        "PATH=$HOME/.local/bin:$PATH; export PATH=\"$PWD/bin:$PATH\"; echo guarded >&2; exit 2",
        "false && npx -y @biomejs/biome check; echo guarded >&2; exit 2",
        "false && eval \"$(direnv hook sh)\"; echo guarded >&2; exit 2",
    ] {
        let room = Room::new();
        write(&room.folder.path().join("env"), "A=b\n");
        let hook = json!({"name": "g", "on": "before_tool", "command": line, "on_failure": "block"});
        room.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{line}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{line}");
    }
}
