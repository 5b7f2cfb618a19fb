//! Every kind of thing in every place where a format expects a file: no load waits for it, and none is silent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use lineside_core::hook::Standby;
use lineside_core::{Severity, SkipReason};
use lineside_dialects::{Loaded, Places, Trust, find};

/// Where a format reads a file, and one in which nothing is wrong.
struct Place {
    dialect: &'static str,
    file: &'static str,
    good: &'static str,
    /// How many hooks the good one has.
    hooks: usize,
}

const fn place(dialect: &'static str, file: &'static str, good: &'static str, hooks: usize) -> Place {
    Place { dialect, file, good, hooks }
}

const NATIVE: &str = "hooks: [{name: n, on: before_tool, command: 'true'}]\n";
const AGENT_HOOKS: &str = "---\nname: h\ndescription: d\ntrigger: before_tool\n---\n";
const CHORD: &str = "hooks: {on_tool_call: [{name: c, command: 'true'}]}\n";
const FLYTO: &str = "{\"hooks\": {\"stop\": [{\"command\": \"true\"}]}}";
const JCLI: &str = "events: [stop]\ncommand: x\non_error: stop\n";
const OPEN_CLAW: &str = "{}";

const CLAUDE: &str =
    "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}";
const CODEX_TOML: &str = "[[hooks.Stop]]\nhooks = [{type = 'command', command = 'true'}]\n";
const COPILOT: &str =
    "{\"version\": 1, \"hooks\": {\"sessionEnd\": [{\"type\": \"command\", \"bash\": \"true\"}]}}";
const CURSOR: &str = "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"true\"}]}}";
const GEMINI: &str =
    "{\"hooks\": {\"AfterAgent\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}";
const KIMI: &str = "[[hooks]]\nevent = 'Stop'\ncommand = 'true'\n";

const PLACES: [Place; 33] = [
    place("native", "home/.config/lineside/hooks.yaml", NATIVE, 1),
    place("native", "project/.lineside/hooks.yaml", NATIVE, 1),
    place("agenthooks", "home/.config/agents/hooks/h/HOOK.md", AGENT_HOOKS, 1),
    place("agenthooks", "project/.agents/hooks/h/HOOK.md", AGENT_HOOKS, 1),
    place("chord", "home/.config/chord/config.yaml", CHORD, 1),
    place("chord", "project/.chord/config.yaml", CHORD, 1),
    place("flyto", "home/.flyto/settings.json", FLYTO, 1),
    place("flyto", "project/.flyto/settings.json", FLYTO, 1),
    place("flyto", "project/.flyto/settings.local.json", FLYTO, 1),
    place("flyto", "project/.flyto/plugins/p/hooks.json", FLYTO, 1),
    place("jcli", "home/.jdata/agent/hooks/h/HOOK.yaml", JCLI, 1),
    place("jcli", "project/.jcli/hooks/h/HOOK.yaml", JCLI, 1),
    place("openclaw", "home/.openclaw/lineside.json", OPEN_CLAW, 0),
    place("openclaw", "project/.openclaw/lineside.json", OPEN_CLAW, 0),
    place("claude", "home/.claude/settings.json", CLAUDE, 1),
    place("claude", "project/.claude/settings.json", CLAUDE, 1),
    place("claude", "project/.claude/settings.local.json", CLAUDE, 1),
    place("codex", "home/.codex/hooks.json", CLAUDE, 1),
    place("codex", "home/.codex/config.toml", CODEX_TOML, 1),
    place("codex", "project/.codex/hooks.json", CLAUDE, 1),
    place("codex", "project/.codex/config.toml", CODEX_TOML, 1),
    place("copilot", "home/.copilot/hooks/h.json", COPILOT, 1),
    place("copilot", "home/.copilot/settings.json", COPILOT, 1),
    place("copilot", "project/.github/hooks/h.json", COPILOT, 1),
    place("copilot", "project/.github/copilot/settings.json", COPILOT, 1),
    place("copilot", "project/.github/copilot/settings.local.json", COPILOT, 1),
    place("cursor", "home/.cursor/hooks.json", CURSOR, 3),
    place("cursor", "project/.cursor/hooks.json", CURSOR, 3),
    place("gemini", "home/.gemini/settings.json", GEMINI, 1),
    place("gemini", "project/.gemini/settings.json", GEMINI, 1),
    place("gemini", "home/.gemini/extensions/e/hooks/hooks.json", GEMINI, 1),
    place("kimi", "home/.kimi/config.toml", KIMI, 1),
    place("kimi", "home/.kimi-code/config.toml", KIMI, 1),
];

impl Place {
    fn is_of_project(&self) -> bool {
        self.file.starts_with("project/")
    }
}

/// What stands there instead of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    Pipe,
    Folder,
    Socket,
    Device,
    StandardInput,
    Circle,
    Dangling,
    Out,
    TooLarge,
    Unreadable,
}

const ALL: [Planted; 10] = [
    Planted::Pipe,
    Planted::Folder,
    Planted::Socket,
    Planted::Device,
    Planted::StandardInput,
    Planted::Circle,
    Planted::Dangling,
    Planted::Out,
    Planted::TooLarge,
    Planted::Unreadable,
];

impl Planted {
    fn put(self, file: &Path, good: &Path) {
        match self {
            Self::Pipe => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
            Self::Folder => fs::create_dir(file).unwrap(),
            // What is bound stays when the listener goes.
            Self::Socket => drop(UnixListener::bind(file).unwrap()),
            Self::Device => symlink("/dev/zero", file).unwrap(),
            Self::StandardInput => symlink("/dev/stdin", file).unwrap(),
            Self::Circle => symlink(file, file).unwrap(),
            Self::Dangling => symlink("nothing", file).unwrap(),
            Self::Out => symlink(good, file).unwrap(),
            Self::TooLarge => {
                fs::copy(good, file).unwrap();
                File::options().append(true).open(file).unwrap().set_len(100 << 20).unwrap();
            }
            // Its reading fails also for a user who may read every file.
            Self::Unreadable => symlink("/proc/self/mem", file).unwrap(),
        }
    }

    /// The finding about it in this place, if there is one.
    fn told(self, place: &Place) -> Option<&'static str> {
        Some(match self {
            Self::Pipe => "it is a named pipe; replace it",
            Self::Folder => "it is a folder; replace it",
            Self::Socket => "it is a socket; replace it",
            Self::Circle => "leads to itself; remove it",
            Self::Dangling => "leads nowhere; remove it",
            Self::TooLarge => "er than ",
            Self::Device | Self::StandardInput | Self::Out | Self::Unreadable if place.is_of_project() => {
                "it leads out of the project, to /"
            }
            Self::Device => "it is a device; replace it",
            Self::Unreadable => "error",
            // Users keep their files where they like, and the standard input of a test may be anything.
            Self::Out | Self::StandardInput => return None,
        })
    }
}

struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The path of a file whose folder is there.
    fn file(&self, file: &str) -> PathBuf {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn folder(&self, folder: &str) -> PathBuf {
        let path = self.0.path().join(folder);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn load(&self, dialect: &str, trust: Trust) -> Loaded {
        let project = self.folder("project");
        find(dialect).unwrap().load(&Places {
            environment: BTreeMap::from([("HOME".to_owned(), self.folder("home").display().to_string())]),
            project_root: Some(project.clone()),
            cwd: project,
            trust,
        })
    }
}

fn errors(loaded: &Loaded) -> Vec<String> {
    let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error);
    errors.map(ToString::to_string).collect()
}

/// What is wrong with what is planted there, if something is.
fn wrong(place: &Place, planted: Planted) -> Option<String> {
    let told = planted.told(place)?;
    let room = Room::new();
    let (file, good) = (room.file(place.file), room.file("elsewhere/good"));
    fs::write(&good, place.good).unwrap();
    planted.put(&file, &good);
    let loaded = room.load(place.dialect, Trust::Granted);
    let errors = errors(&loaded);
    let [error] = &errors[..] else { return Some(format!("{errors:?}")) };
    if !error.starts_with(&*file.to_string_lossy()) || !error.contains(told) {
        return Some(error.clone());
    }
    if loaded.hooks.is_empty() || !loaded.hooks.iter().all(|hook| hook.closed) {
        return Some("it does not stand closed".to_owned());
    }
    // What an untrusted project plants refuses nothing.
    let withheld = room.load(place.dialect, Trust::Withheld);
    let untrusted = |hook: &lineside_dialects::ForeignHook| {
        matches!(hook.hook.standby, Standby::Off(SkipReason::Untrusted))
    };
    (!withheld.hooks.iter().all(|hook| untrusted(hook) == place.is_of_project()))
        .then(|| "trust is not kept".to_owned())
}

#[test]
fn what_is_no_file_is_told_and_may_have_been_a_guard() {
    let kinds = ALL.iter().filter(|kind| cfg!(target_os = "linux") || **kind != Planted::Unreadable);
    let wrong: Vec<_> = kinds
        .flat_map(|kind| PLACES.iter().map(move |place| (*kind, place)))
        .filter_map(|(kind, place)| Some(format!("{kind:?} as {}: {}", place.file, wrong(place, kind)?)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_link_within_the_project_and_any_link_of_the_user_are_followed() {
    for place in PLACES {
        let room = Room::new();
        let good = room.file(if place.is_of_project() { "project/kept/good" } else { "dotfiles/good" });
        fs::write(&good, place.good).unwrap();
        Planted::Out.put(&room.file(place.file), &good);
        let loaded = room.load(place.dialect, Trust::Granted);
        assert_eq!(errors(&loaded), [""; 0], "{}", place.file);
        assert_eq!(loaded.hooks.iter().filter(|hook| !hook.closed).count(), place.hooks, "{}", place.file);
    }
}

#[test]
fn a_folder_of_a_project_that_lies_elsewhere_is_told() {
    for place in PLACES.iter().filter(|place| place.is_of_project()) {
        let room = Room::new();
        let mut steps = Path::new(place.file).strip_prefix("project").unwrap().components();
        let (top, below) = (steps.next().unwrap(), steps.as_path());
        fs::write(room.file(&format!("elsewhere/{}", below.display())), place.good).unwrap();
        symlink(room.folder("elsewhere"), room.folder("project").join(top)).unwrap();
        let loaded = room.load(place.dialect, Trust::Granted);
        let errors = errors(&loaded);
        let is_told = errors.len() == 1 && errors[0].contains("it leads out of the project, to /");
        assert!(is_told, "{}: {errors:?}", place.file);
        assert!(!loaded.hooks.is_empty() && loaded.hooks.iter().all(|hook| hook.closed), "{}", place.file);
    }
}

#[test]
fn a_place_of_folders_that_is_none_is_told() {
    for (dialect, folder) in [
        ("agenthooks", "home/.config/agents/hooks"),
        ("agenthooks", "project/.agents/hooks"),
        ("agenthooks", "project/.agents/hooks/h"),
        ("jcli", "home/.jdata/agent/hooks"),
        ("jcli", "project/.jcli/hooks"),
        ("jcli", "project/.jcli/hooks/h"),
        ("flyto", "home/.flyto/plugins"),
        ("flyto", "project/.flyto/plugins"),
        ("flyto", "project/.flyto/plugins/p"),
    ] {
        let room = Room::new();
        Planted::Circle.put(&room.file(folder), Path::new(""));
        let loaded = room.load(dialect, Trust::Granted);
        let errors = errors(&loaded);
        let [error] = &errors[..] else { panic!("{folder}: {errors:?}") };
        assert!(error.contains(folder) && error.contains("leads to itself; remove it"), "{error}");
        assert!(!loaded.hooks.is_empty() && loaded.hooks.iter().all(|hook| hook.closed), "{folder}");
    }
}
