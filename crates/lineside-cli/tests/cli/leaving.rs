//! `lineside update` and `lineside uninstall --everything`: how the command came, and how it goes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stage::{Said, Stage};

/// Has a terminal of its own for a command, and types a word there.
const TERMINAL: &str = "\
import os, pty, sys
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode() + b'\\n')
try:
    while said := os.read(terminal, 4096):
        os.write(1, said)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
";

/// The command as a tarball lays it out.
struct Unpacked {
    stage: Stage,
    command: PathBuf,
}

impl Unpacked {
    fn new() -> Self {
        let stage = Stage::new();
        let listed = r#"{"from": "tarball", "files": ["bin/lineside", "share/man/man1/lineside.1"]}"#;
        stage.file("opt/share/lineside/installed.json", listed);
        stage.file("opt/share/man/man1/lineside.1", "");
        let command = stage.path("opt/bin/lineside");
        fs::create_dir(command.parent().unwrap()).unwrap();
        let built = env!("CARGO_BIN_EXE_lineside");
        fs::hard_link(built, &command).or_else(|_| fs::copy(built, &command).map(drop)).unwrap();
        Self { stage, command }
    }

    fn run(&self, arguments: &[&str]) -> Said {
        self.started(Command::new(&self.command).args(arguments))
    }

    /// Runs it at a terminal, where this is typed.
    fn types(&self, word: &str, arguments: &[&str]) -> Said {
        let mut python = Command::new("python3");
        self.started(python.args(["-c", TERMINAL, word]).arg(&self.command).args(arguments))
    }

    fn started(&self, command: &mut Command) -> Said {
        let path = format!("{}:/usr/bin:/bin", std::env::var("PATH").unwrap());
        command.env_clear().env("PATH", path).env("HOME", self.stage.path("home"));
        command.current_dir(self.stage.path("project")).stdin(Stdio::null());
        self.stage.said(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

/// Every file, link and folder below a folder, with the bytes of the files.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(contents(&path));
        }
        found.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
    found
}

#[test]
fn a_command_says_how_it_was_installed_and_what_brings_a_newer_one() {
    let unpacked = Unpacked::new();
    let said = unpacked.run(&["update"]);
    assert_eq!(
        said.out,
        "lineside 0.1.0, of tarball, in [stage]/opt\n  newest  not known: tarball has nothing that could be asked\n  \
         update  tar -C [stage]/opt --strip-components=1 -xf, and the newer tarball\n          \
         lineside stop, and the next event starts another\nnothing was downloaded\n"
            .replace("0.1.0", env!("CARGO_PKG_VERSION"))
    );
    let said = unpacked.run(&["update", "--json", "--offline"]).json();
    assert_eq!(
        (said[0]["from"].as_str(), &said[0]["newest"]),
        (Some("tarball"), &lineside::json::Value::Null)
    );
    // A copy that no installer knows.
    let copy = unpacked.stage.path("copy/lineside");
    fs::create_dir(copy.parent().unwrap()).unwrap();
    // By another process: a file that this one has open for writing may be in the hands of what other tests start.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_lineside")).arg(&copy).status();
    assert!(copied.unwrap().success());
    let given =
        std::process::Command::new(&copy).arg("update").env("HOME", unpacked.stage.path("home")).output();
    let said = String::from_utf8(given.unwrap().stdout).unwrap();
    assert!(said.contains(", a copy, in ") && said.contains("no installer has put this copy here"), "{said}");
    assert!(said.contains("update  this copy cannot be updated\n"), "{said}");
}

#[test]
fn nothing_is_left_when_a_person_removes_everything() {
    let unpacked = Unpacked::new();
    let stage = &unpacked.stage;
    stage.file("home/.claude/settings.json", "{\"model\": \"opus\"}\n");
    stage.file("home/.config/other/settings", "mine");
    stage.file("home/audit.jsonl", "{}\n");
    let (home, project) = (stage.path("home"), stage.path("project"));
    let before = [contents(&home), contents(&project)];
    for arguments in [
        &["install", "claude"][..],
        &["install", "gemini", "--project", "--untried"],
        &["init"],
        &["serve", "--install-unit"],
    ] {
        let said = unpacked.run(arguments);
        assert!(matches!(said.code, Some(0 | 1)), "{arguments:?}: {said:?}");
    }
    let wanted = stage.path("home/.config/systemd/user/default.target.wants");
    fs::create_dir(&wanted).unwrap();
    std::os::unix::fs::symlink("../lineside.service", wanted.join("lineside.service")).unwrap();
    assert!(
        unpacked.run(&["status"]).out.starts_with("running"),
        "the entry that was tried has started a daemon"
    );

    stage.file("home/.config/lineside/config.yaml", "observe: [{name: audit, file: ~/audit.jsonl}]\n");

    let all = contents(&home);
    assert_eq!(unpacked.types("yes", &["uninstall", "--everything"]).code, Some(1));
    let said = unpacked.run(&["uninstall", "--everything"]);
    assert!(said.code == Some(2) && said.err.contains("at a terminal"), "{said:?}");
    assert!(all.keys().eq(contents(&home).keys()), "what was not agreed to stays");

    let said = unpacked.types("everything", &["uninstall", "--everything"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for named in
        ["~/.claude/settings.json", "project/.gemini/settings.json", "lineside.service", "man1/lineside.1"]
    {
        assert!(said.out.contains(named), "{named}: {said:?}");
    }
    assert!(said.out.contains("all of this was removed"), "{said:?}");
    assert!(said.out.contains("what stays is yours to remove: [stage]/home/audit.jsonl"), "{said:?}");
    let after = [contents(&home), contents(&project)];
    assert_eq!(before, after);
    assert!(
        !stage.path("opt/bin").exists() && !stage.path("opt/share").exists(),
        "{:?}",
        contents(&stage.path("opt"))
    );
}

#[test]
fn where_an_entry_cannot_be_taken_out_what_it_starts_stays() {
    let unpacked = Unpacked::new();
    let stage = &unpacked.stage;
    assert!(matches!(unpacked.run(&["install", "claude", "--untried"]).code, Some(0 | 1)));
    let settings = stage.path("home/.claude/settings.json");
    let broken = fs::read_to_string(&settings).unwrap().replacen('{', "{ \"a\": ,", 1);
    fs::write(&settings, &broken).unwrap();
    let said = unpacked.types("everything", &["uninstall", "--everything"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("because of that, the rest stays"), "{said:?}");
    assert!(unpacked.command.exists() && stage.path("home/.local/state/lineside").exists());
    assert_eq!(fs::read_to_string(&settings).unwrap(), broken);
}
