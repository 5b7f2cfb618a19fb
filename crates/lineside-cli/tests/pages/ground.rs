//! Where the snippets of a page run: a project with the files that the page declares, or one with hooks of all formats.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::root;
use crate::snippet::Snippet;

/// Stands for `cargo`, which would build everything again.
const CARGO: &str = r#"#!/bin/sh
set -e
case "$1" in
  run)
    shift
    while [ $# -gt 0 ]; do
      case "$1" in
        --release) shift ;;
        --example) test -f "$ROOT/examples/$2.rs" || { echo "there is no example $2" >&2; exit 1; }; exit 0 ;;
        --) shift; exec lineside "$@" ;;
        *) echo "cargo run $1?" >&2; exit 1 ;;
      esac
    done
    ;;
  xtask) grep -q "^  $2 " "$ROOT/crates/xtask/src/main.rs" || { echo "there is no cargo xtask $2" >&2; exit 1; } ;;
  install) test "$2" = --path && test -f "$ROOT/$3/Cargo.toml" ;;
  new) test "$2" = --bin && mkdir "$3" ;;
  *) echo "cargo $1?" >&2; exit 1 ;;
esac
"#;

/// A case for pages that keep theirs in `tests/hooks`.
const CASE: &str = r#"{"dialect": "agenthooks", "cases": [{"id": "none", "title": "without hooks all goes on",
  "steps": [{"publish": {"point": "on_idle", "payload": {}}, "expect": {"verdict": "continue"}}]}]}"#;

/// Programs that pages name and do not show.
const PROGRAMS: [&str; 5] = [
    "bin/notify-send",
    "project/guard.sh",
    "project/.agents/hooks/block-dangerous-commands/scripts/run.sh",
    "project/.agents/hooks/no-deletions/scripts/run.sh",
    "project/.jcli/hooks/tests-first/check.sh",
];

/// How long a command may take, in seconds, on a loaded machine.
const LIMIT: &str = "120";

pub(crate) struct Ground {
    folder: TempDir,
}

impl Ground {
    /// The ground of a page.
    pub(crate) fn of(snippets: &[Snippet]) -> Self {
        let ground = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "bin", "project"] {
            fs::create_dir(ground.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lineside"), ground.path("bin/lineside")).unwrap();
        ground.write("bin/cargo", CARGO);
        copy(&root().join("examples"), &ground.path("project/examples"));
        let files: Vec<_> = snippets.iter().filter_map(|snippet| Some((snippet.file()?, snippet))).collect();
        if files.is_empty() {
            copy(&root().join("examples/hooks"), &ground.path("project"));
        }
        for program in PROGRAMS.iter().filter(|_| !files.is_empty()) {
            // Beside the file that names it.
            let folder = program.split_once("/scripts/").map_or(*program, |(folder, _)| folder);
            let is_named = folder == *program
                || files.iter().any(|(path, _)| format!("project/{path}").starts_with(folder));
            if is_named && !ground.path(program).exists() {
                ground.write(program, "#!/bin/sh\ncat > /dev/null\n");
            }
        }
        for (path, snippet) in files {
            ground.write(&format!("project/{path}"), &snippet.text);
        }
        fs::copy(root().join("examples/sessions/demo.jsonl"), ground.path("project/events.jsonl")).unwrap();
        copy(&root().join("tests/conformance"), &ground.path("project/tests/conformance"));
        ground.write("project/tests/hooks/none.cases.json", CASE);
        // The journal that pages call PATH.
        assert!(ground.sh("lineside run --quiet --journal PATH < /dev/null").status.success());
        ground
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Writes a file; one that begins with `#!` may be executed.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Runs shell text in the project.
    pub(crate) fn sh(&self, text: &str) -> Output {
        self.sh_in("project", text)
    }

    /// Runs shell text in a folder.
    pub(crate) fn sh_in(&self, folder: &str, text: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        // What does not end by itself fails with 124.
        Command::new("timeout")
            .args(["--kill-after=5", LIMIT, "bash", "-e", "-o", "pipefail", "-c", text])
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("ROOT", root())
            .env("AUDIT_TOKEN", "of the page")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }
}

/// Copies a folder with everything below it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
