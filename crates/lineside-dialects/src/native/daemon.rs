//! `config.yaml` of the machine and of the user: what the daemon and the hooks that it starts have in their environment,
//! what its log keeps, and which questions wait in it.

use std::path::PathBuf;
use std::time::Duration;

use lineside_core::nearest::suggestion;
use lineside_core::{Diagnostic, Layer, Origin};
use lineside_files::Boundary;

use super::PROTECT_POLICY;
use super::file::document;
use super::findings::{Findings, LoadError, LoadWarning, UnknownKey};
use super::values::shown;
use crate::dialect::{Places, absolute, at_home};
use crate::layers::Managed;
use crate::yaml::{self, Content, Document, Node};

mod approvals;
mod cluster;
mod observe;

pub use observe::{ObserveSettings, ObserveTo};

pub use cluster::{ClusterSettings, RemoteGrants};

pub use approvals::{ApprovalSettings, Unanswered, WhoseAsks};

/// What says which daemon it is and where its files are; a setting cannot.
const OF_PLACES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

/// What the administrator of the machine and the user have set for the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Folders that stand before those of its `PATH`.
    pub path: Vec<PathBuf>,
    /// Variables, by name.
    pub environment: Vec<(String, String)>,
    /// What the decision log keeps.
    pub log: LogSettings,
    /// Which questions of hooks wait in it; none unless a file says so.
    pub approvals: Option<ApprovalSettings>,
    /// Whether agents are kept from changing what decides about them; that is for whether anything is installed to say,
    /// when absent.
    pub protect_policy: Option<bool>,
    /// The cluster of machines that it joins; none unless a file says so.
    pub cluster: Option<ClusterSettings>,
    /// What hears everything that is decided.
    pub observe: Vec<ObserveSettings>,
    /// Each value that is set, with where.
    pub set: Vec<Setting>,
}

impl DaemonSettings {
    /// The value of a key, if a file sets it.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.set.iter().find(|setting| setting.key == key)
    }
}

/// A value that a file sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its key, with those above it before dots.
    pub key: String,
    /// The value as it is written.
    pub value: String,
    /// Whose file it is.
    pub layer: Layer,
    /// Where it stands.
    pub origin: Origin,
}

/// What is set for the decision log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Whether there is none.
    pub is_off: bool,
    /// For how long decisions are kept, where that is said.
    pub age: Option<Duration>,
    /// How many bytes it may have, where that is said.
    pub bytes: Option<u64>,
}

/// Reads `config.yaml` of the machine, then `lineside/config.yaml` in the folder of the user's settings, which leaves what the
/// machine sets as it is. A file with an error sets nothing at all, and what is wrong comes beside it.
#[must_use]
pub fn daemon_settings(places: &Places, managed: &Managed) -> (DaemonSettings, Vec<Diagnostic>) {
    let of_machine = (Layer::Managed, managed.folder.join("config.yaml"), Boundary::Of(managed.owner));
    let of_user = places
        .configuration()
        .map(|folder| (Layer::User, folder.join("lineside/config.yaml"), places.boundary(Layer::User)));
    let (mut settings, mut diagnostics) = (DaemonSettings::default(), Vec::new());
    for (layer, file, boundary) in [of_machine].into_iter().chain(of_user) {
        let mut findings = Findings::about(&file);
        let before = settings.clone();
        let mut reading =
            Reading { findings: &mut findings, places, layer, settings: &mut settings, is_sound: true };
        match lineside_files::read_if_there(&file, boundary, yaml::LONGEST) {
            None => {}
            Some(Ok(bytes)) => reading.file(&bytes),
            Some(Err(error)) => reading.error(1, LoadError::Unreadable(error.to_string())),
        }
        if !reading.is_sound {
            settings = before;
        }
        diagnostics.append(&mut findings.diagnostics);
    }
    (settings, diagnostics)
}

/// A finding for each thing that a project would set, which it cannot.
pub(super) fn refused_of_project(places: &Places) -> Vec<Diagnostic> {
    let file = absolute(places.work_dir()).join(".lineside/config.yaml");
    let Some(read) = lineside_files::read_if_there(&file, places.boundary(Layer::Project), yaml::LONGEST)
    else {
        return Vec::new();
    };
    let mut of_file = Findings::about(&file);
    let document = read.ok().and_then(|bytes| document(&bytes, &mut of_file));
    let keys = match document.map(|document| document.root.content) {
        Some(Content::Mapping(keys)) => keys,
        _ => Vec::new(),
    };
    let text = |what: &str| {
        format!(
            "{what} is refused: settings are those of the machine and of the user, and a project has none"
        )
    };
    if keys.is_empty() {
        return vec![Diagnostic::warning(Origin::new(&file, 1), text("this file"))];
    }
    let refused = keys.iter().map(|(key, _)| {
        Diagnostic::warning(Origin::new(&file, key.line), text(&format!("`{}`", key.label())))
    });
    refused.collect()
}

/// The file as a finding names it, and keys that stand in another one.
const FILE: &str = "the file";
const OF_HOOKS: [&str; 3] = ["hooks", "use", "wrappers"];

struct Reading<'a> {
    findings: &'a mut Findings,
    places: &'a Places,
    layer: Layer,
    settings: &'a mut DaemonSettings,
    is_sound: bool,
}

impl Reading<'_> {
    fn error(&mut self, line: u32, error: LoadError) {
        self.findings.error(line, error);
        self.is_sound = false;
    }

    fn wrong(&mut self, key: &str, found: &Node, expected: &str) {
        let (key, found_as, expected) = (key.to_owned(), shown(found), expected.to_owned());
        self.error(found.line, LoadError::Value { key, found: found_as, expected });
    }

    fn file(&mut self, bytes: &[u8]) {
        let Some(Document { root, duplicates, .. }) = document(bytes, self.findings) else {
            self.is_sound = false;
            return;
        };
        for twice in duplicates {
            self.error(twice.line, LoadError::Duplicate(twice.key));
        }
        let known = ["daemon", "log", "approvals", "cluster", PROTECT_POLICY, "observe"];
        for (key, value) in self.mapping(FILE, &root, &known) {
            match &*key {
                "log" => self.log(value),
                "approvals" => self.approvals(value),
                "cluster" => self.cluster(value),
                PROTECT_POLICY => self.protect_policy(value),
                "observe" => self.observers(value),
                _ => self.daemon(value),
            }
        }
    }

    fn daemon(&mut self, value: &Node) {
        for (key, value) in self.mapping("daemon", value, &["path", "environment"]) {
            if key == "path" { self.path(value) } else { self.environment(value) }
        }
    }

    /// The keys of a mapping that are known, with their values; nothing for null.
    fn mapping<'n>(&mut self, of: &str, node: &'n Node, known: &[&'static str]) -> Vec<(String, &'n Node)> {
        let keys = match &node.content {
            Content::Null => return Vec::new(),
            Content::Mapping(keys) => keys,
            _ => {
                self.wrong(of, node, "a mapping");
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for (key, value) in keys {
            let name = key.label();
            if known.contains(&name.as_str()) {
                found.push((name, value));
            } else if let Some(of_hooks) =
                OF_HOOKS.into_iter().find(|own| *own == name).filter(|_| of == FILE)
            {
                let why = "what says something about hooks stands in hooks.yaml, beside this file";
                self.findings.warning(key.line, LoadWarning::NoEffect { key: of_hooks, why });
            } else {
                let nearest = suggestion(&name, known.iter().copied());
                let nearest = nearest.and_then(|near| known.iter().copied().find(|key| *key == near));
                self.findings.warning(key.line, LoadWarning::UnknownKey(UnknownKey { key: name, nearest }));
            }
        }
        found
    }

    /// Whether a key is set here: not where the machine has set it, or another one for the same.
    fn sets(&mut self, key: &str, value: &Node) -> bool {
        let text = written_out(value);
        let is_one = |fixed: &str| fixed == key || is_whole(fixed, key) || is_whole(key, fixed);
        let fixed = self.settings.set.iter().find(|set| set.layer < self.layer && is_one(&set.key)).cloned();
        match fixed {
            Some(fixed) if fixed.key == key && fixed.value == text => false,
            Some(fixed) => {
                let text =
                    format!("`{key}` is refused: {} sets `{}` to {}", fixed.origin, fixed.key, fixed.value);
                self.findings.warning(value.line, text);
                false
            }
            None => {
                let origin = self.findings.origin(value.line);
                self.settings.set.push(Setting {
                    key: key.to_owned(),
                    value: text,
                    layer: self.layer,
                    origin,
                });
                true
            }
        }
    }

    /// A layer below may switch it on that is off above, and not off.
    fn protect_policy(&mut self, value: &Node) {
        let is_on = match value.written() {
            Some("on" | "true") => true,
            Some("off" | "false") => false,
            _ => return self.wrong(PROTECT_POLICY, value, "on or off"),
        };
        match (is_on, self.settings.protect_policy) {
            (true, Some(true)) => return,
            (true, _) => self.settings.set.retain(|set| set.key != PROTECT_POLICY),
            _ => {}
        }
        if self.sets(PROTECT_POLICY, value) {
            self.settings.protect_policy = Some(is_on);
        }
    }

    fn log(&mut self, value: &Node) {
        if matches!(value.written(), Some("off" | "false")) {
            if self.sets("log", value) {
                self.settings.log.is_off = true;
            }
            return;
        }
        if !matches!(value.content, Content::Mapping(_) | Content::Null) {
            return self.wrong("log", value, "off, or a mapping");
        }
        for (key, value) in self.mapping("log", value, &["age", "size"]) {
            let name = format!("log.{key}");
            let (measured, expected) = match &*key {
                "age" => (measured(value, &[("h", 3_600), ("d", 86_400)]), "a span such as 30d or 12h"),
                _ => {
                    (measured(value, &[("MiB", 1 << 20), ("GiB", 1 << 30)]), "a size such as 1GiB or 500MiB")
                }
            };
            let Some(measured) = measured else {
                self.wrong(&name, value, expected);
                continue;
            };
            if !self.sets(&name, value) {
                continue;
            }
            match &*key {
                "age" => self.settings.log.age = Some(Duration::from_secs(measured)),
                _ => self.settings.log.bytes = Some(measured),
            }
        }
    }

    fn path(&mut self, value: &Node) {
        let Content::List(folders) = &value.content else {
            return self.wrong("daemon.path", value, "a list of folders");
        };
        for folder in folders {
            let named =
                folder.text().map(|text| at_home(text, self.places.home()).unwrap_or_else(|| text.into()));
            match named
                .filter(|path: &PathBuf| path.is_absolute() && !path.to_string_lossy().contains([':', '\0']))
            {
                Some(path) => {
                    let origin = self.findings.origin(folder.line);
                    let (key, value) = ("daemon.path".to_owned(), path.display().to_string());
                    self.settings.set.push(Setting { key, value, layer: self.layer, origin });
                    self.settings.path.push(path);
                }
                None => self.wrong("daemon.path", folder, "an absolute path, or one that begins with `~/`"),
            }
        }
    }

    fn environment(&mut self, value: &Node) {
        let Content::Mapping(variables) = &value.content else {
            return self.wrong("daemon.environment", value, "a mapping of names to texts");
        };
        for (name, value) in variables {
            let key = format!("daemon.environment.{}", name.label());
            let Some(variable) = name.text().filter(|name| !name.is_empty() && !name.contains(['=', '\0']))
            else {
                self.wrong(&key, name, "the name of a variable");
                continue;
            };
            if variable == "PATH" {
                self.wrong(&key, value, "a list, as `daemon.path`");
            } else if OF_PLACES.contains(&variable) || variable.starts_with("LINESIDE_") {
                self.wrong(&key, value, "an argument of `serve`, or where the entry was installed");
            } else if let Some(text) = value.written().filter(|text| !text.contains('\0')) {
                if self.sets(&key, value) {
                    self.settings.environment.push((variable.to_owned(), text.to_owned()));
                }
            } else {
                self.wrong(&key, value, "a text");
            }
        }
    }
}

/// Whether the first key, of the file itself, is for all of what the second one is for a part of.
fn is_whole(key: &str, part: &str) -> bool {
    !key.contains('.') && part.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
}

/// A value as a row of what is set has it: a list with what is in it.
fn written_out(value: &Node) -> String {
    match &value.content {
        Content::List(items) => {
            let items: Vec<_> = items.iter().map(|item| item.written().unwrap_or_default()).collect();
            format!("[{}]", items.join(", "))
        }
        Content::Mapping(keys) if keys.is_empty() => "{}".to_owned(),
        _ => shown(value),
    }
}

/// A whole number greater than 0 with one of these units.
fn measured(value: &Node, units: &[(&str, u64)]) -> Option<u64> {
    let text = value.written()?;
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(*unit).filter(|product| *product > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use lineside_core::exchange::Addresses;

    use super::*;
    use crate::dialect::Trust;
    use crate::hosts::Host;

    fn read(text: &str) -> (DaemonSettings, Vec<String>) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".config/lineside/config.yaml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let home_text = home.path().to_str().unwrap().to_owned();
        let places = Places {
            environment: BTreeMap::from([("HOME".to_owned(), home_text.clone())]),
            project_root: None,
            cwd: home.path().to_owned(),
            trust: Trust::Withheld,
        };
        let (mut settings, findings) = daemon_settings(&places, &Managed::default());
        settings.set.clear();
        for path in &mut settings.path {
            if let Ok(below) = path.strip_prefix(home.path()) {
                *path = Path::new("~").join(below);
            }
        }
        (settings, findings.iter().map(|finding| finding.to_string().replace(&home_text, "~")).collect())
    }

    /// What a file of the machine and one of the user come to, and what is found.
    fn layered(machine: &str, user: &str) -> (DaemonSettings, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("home/.config/lineside")).unwrap();
        fs::create_dir_all(at("etc")).unwrap();
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(root.path()).unwrap());
        let managed = Managed { folder: at("etc"), owner };
        let home = at("home").to_str().unwrap().to_owned();
        let places = Places {
            environment: BTreeMap::from([("HOME".to_owned(), home)]),
            project_root: None,
            cwd: at("home"),
            trust: Trust::Withheld,
        };
        fs::write(at("etc/config.yaml"), machine).unwrap();
        fs::write(at("home/.config/lineside/config.yaml"), user).unwrap();
        let (settings, findings) = daemon_settings(&places, &managed);
        let strip = |text: String| text.replace(root.path().to_str().unwrap(), "");
        (settings, findings.into_iter().map(|finding| strip(finding.to_string())).collect())
    }

    #[test]
    fn folders_and_variables_of_the_daemon_are_read() {
        let text = "daemon:\n  path: [/opt/tools, ~/go/bin]\n  environment: {A: 1, B: \"x y\"}\n";
        let (settings, findings) = read(text);
        assert_eq!(
            (settings.path, findings),
            (vec!["/opt/tools".into(), "~/go/bin".into()], Vec::<String>::new())
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.environment, [pair("A", "1"), pair("B", "x y")]);
        assert_eq!(read(""), Default::default());
        assert_eq!(read("daemon:\n"), Default::default());
    }

    #[test]
    fn what_the_log_keeps_is_read() {
        let (settings, findings) = read("log: {age: 12h, size: 500 MiB}\n");
        let kept = LogSettings { age: Some(Duration::from_hours(12)), bytes: Some(500 << 20), is_off: false };
        assert_eq!((settings.log, findings), (kept, Vec::new()));
        assert!(read("log: off\n").0.log.is_off);
        assert_eq!(read("log:\n").0.log, LogSettings::default());
    }

    #[test]
    fn what_the_machine_sets_stays_and_each_value_has_its_place() {
        let machine = "log: {age: 30d}\ndaemon: {path: [/opt/a], environment: {A: 1}}\n";
        let user = "log: {age: 1h, size: 2GiB}\ndaemon: {path: [/opt/b], environment: {A: 2, B: 3}}\n";
        let (settings, findings) = layered(machine, user);
        let log = LogSettings { age: Some(Duration::from_hours(720)), bytes: Some(2 << 30), is_off: false };
        assert_eq!((settings.log, settings.path), (log, vec!["/opt/a".into(), "/opt/b".into()]));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.environment, [pair("A", "1"), pair("B", "3")]);
        let refused = |key: &str, line: u32, value: &str, by: u32| {
            format!(
                "/home/.config/lineside/config.yaml:{line}: `{key}` is refused: /etc/config.yaml:{by} sets `{key}` to {value}"
            )
        };
        assert_eq!(
            findings,
            [refused("log.age", 1, "\"30d\"", 1), refused("daemon.environment.A", 2, "1", 2)]
        );
        let layers: Vec<_> = settings.set.iter().map(|set| (set.layer, &*set.key, set.origin.line)).collect();
        assert_eq!(layers[..2], [(Layer::Managed, "log.age", 1), (Layer::Managed, "daemon.path", 2)]);
        assert_eq!(layers.len(), 6, "{layers:?}");
        // What the log keeps is not switched off below, and a file with an error sets nothing.
        let (settings, findings) = layered("log: {age: 30d}\n", "log: off\n");
        assert!(!settings.log.is_off && findings[0].contains("`log` is refused"), "{findings:?}");
        let (settings, _) = layered("log: {age: 30d}\n", "log: {size: 1GiB}\ndaemon: [\n");
        assert_eq!((settings.log.age, settings.log.bytes), (Some(Duration::from_hours(720)), None));
    }

    #[test]
    fn a_layer_below_switches_the_protection_of_the_policy_on_and_not_off() {
        for (machine, user, is_on, found) in [
            ("", "", None, ""),
            ("", "protect-policy: off\n", Some(false), ""),
            ("", "protect-policy: false\n", Some(false), ""),
            ("protect-policy: off\n", "", Some(false), ""),
            ("protect-policy: off\n", "protect-policy: on\n", Some(true), ""),
            ("protect-policy: on\n", "protect-policy: on\n", Some(true), ""),
            ("protect-policy: on\n", "protect-policy: off\n", Some(true), "`protect-policy` is refused"),
            ("protect-policy: on\n", "protect-policy: maybe\n", Some(true), "on or off"),
        ] {
            let (settings, findings) = layered(machine, user);
            assert_eq!(settings.protect_policy, is_on, "{machine}{user}");
            assert_eq!(findings.len(), usize::from(!found.is_empty()), "{machine}{user}: {findings:?}");
            assert!(findings.iter().all(|finding| finding.contains(found)), "{findings:?}");
            let set = settings.setting(PROTECT_POLICY).map(|set| (set.layer, set.origin.line));
            let layer = if machine.is_empty() || is_on == Some(true) && machine.contains("off") {
                Layer::User
            } else {
                Layer::Managed
            };
            assert_eq!(set, is_on.map(|_| (layer, 1)), "{machine}{user}");
        }
    }

    #[test]
    fn which_questions_wait_is_read() {
        let of = |text: &str| read(text).0.approvals;
        assert_eq!(of("approvals: off\n"), None);
        assert_eq!(of("approvals: {}\n"), Some(ApprovalSettings::default()));
        let text = "approvals:\n  wait: 90 s\n  default: ask\n  for: [codex, claude]\n  notify: {command: [tell, 1], post: \"http://127.0.0.1:9/\"}\n";
        let (settings, findings) = read(text);
        let expected = ApprovalSettings {
            wait: Duration::from_secs(90),
            default: Unanswered::Ask,
            of: WhoseAsks::Of(vec![Host::Codex, Host::Claude]),
            command: vec!["tell".to_owned(), "1".to_owned()],
            post: Some(("http://127.0.0.1:9/".to_owned(), Addresses::AsWritten)),
        };
        assert_eq!((settings.approvals, findings), (Some(expected.clone()), Vec::new()));
        assert!(expected.of.all_of(Host::Claude) && !expected.of.all_of(Host::Gemini));
        assert_eq!(of("approvals: {for: all}\n").unwrap().of, WhoseAsks::All);
        assert_eq!(of("approvals: {notify: {}}\n"), Some(ApprovalSettings::default()));
    }

    #[test]
    fn what_the_machine_says_of_questions_stands() {
        let (settings, findings) = layered(
            "approvals: {wait: 90s, for: [codex]}\n",
            "approvals: {wait: 1h, for: [claude], default: ask}\n",
        );
        let approvals = settings.approvals.unwrap();
        assert_eq!((approvals.wait, approvals.default), (Duration::from_secs(90), Unanswered::Ask));
        assert_eq!(approvals.of, WhoseAsks::Of(vec![Host::Codex]));
        let rows: Vec<_> = settings.set.iter().map(|set| (set.layer, &*set.key, &*set.value)).collect();
        assert_eq!(
            rows,
            [
                (Layer::Managed, "approvals.wait", "\"90s\""),
                (Layer::Managed, "approvals.for", "[codex]"),
                (Layer::User, "approvals.default", "\"ask\""),
            ]
        );
        let user = "/home/.config/lineside/config.yaml:1";
        let machine = "/etc/config.yaml:1";
        assert_eq!(
            findings,
            [
                format!("{user}: `approvals.wait` is refused: {machine} sets `approvals.wait` to \"90s\""),
                format!("{user}: `approvals.for` is refused: {machine} sets `approvals.for` to [codex]"),
            ]
        );
        // One that the machine has on is not switched off, one that it has off not switched on.
        for (machine, user, is_on, found) in [
            ("approvals: {wait: 90s}\n", "approvals: off\n", true, "`approvals` is refused"),
            ("approvals: {}\n", "approvals: off\n", true, "`approvals` is refused"),
            ("approvals: {}\n", "approvals: {wait: 1h}\n", true, "`approvals.wait` is refused"),
            ("approvals: off\n", "approvals: {wait: 1h}\n", false, "`approvals` is refused"),
            ("approvals: off\n", "approvals: {}\n", false, "`approvals` is refused"),
        ] {
            let (settings, findings) = layered(machine, user);
            assert_eq!(settings.approvals.is_some(), is_on, "{machine}{user}");
            assert!(settings.approvals.is_none_or(|approvals| approvals.wait != Duration::from_hours(1)));
            assert!(findings.len() == 1 && findings[0].contains(found), "{machine}{user}: {findings:?}");
        }
        for machine in ["", "approvals: {wait: 90s}\n"] {
            let (settings, findings) = layered(machine, "approvals: {}\n");
            assert!(settings.approvals.is_some() && findings.is_empty(), "{machine}: {findings:?}");
        }
    }

    #[test]
    fn observers_are_a_file_a_command_a_worker_or_a_post() {
        let (settings, findings) = read(
            "observe:\n  - {name: audit, file: ~/a.jsonl}\n  - {name: b, query: 'verdict:refused tool:Shell', command: [logger, -t, x]}\n  \
             - name: c\n    file: {path: /var/log/c, size: 1GiB, keep: 9}\n  - name: d\n    post: {url: 'https://e/f', \
             headers: {X-Home: '${HOME}'}, secrets: [HOME]}\n  - {name: e, worker: [/opt/follow, -v]}\n",
        );
        assert!(findings.is_empty(), "{findings:?}");
        let [audit, command, file, post, worker] = &settings.observe[..] else { panic!("{settings:?}") };
        let ObserveTo::File { path, bytes, keep } = &audit.to else { panic!("{audit:?}") };
        assert!(
            path.is_absolute() && path.ends_with("a.jsonl") && (*bytes, *keep) == (64 << 20, 5),
            "{audit:?}"
        );
        assert_eq!(command.query, "verdict:refused tool:Shell");
        assert_eq!(command.to, ObserveTo::Command(["logger", "-t", "x"].map(str::to_owned).to_vec()));
        assert_eq!(file.to, ObserveTo::File { path: "/var/log/c".into(), bytes: 1 << 30, keep: 9 });
        assert_eq!(worker.to, ObserveTo::Worker(["/opt/follow", "-v"].map(str::to_owned).to_vec()));
        let ObserveTo::Post(url, headers) = &post.to else { panic!("{post:?}") };
        assert!(url == "https://e/f" && headers[0].1.reveal().starts_with('/'), "{post:?}");
        let page = include_str!("../../../../docs/watching.md").split("```yaml\n").nth(2).unwrap();
        let page = page.split_once("```").unwrap().0.replace("SIEM_TOKEN", "HOME");
        let (settings, findings) = read(&page);
        assert!(settings.observe.len() == 4 && findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_sets_nothing() {
        let (settings, findings) = read("daemon:\n  pathh: [/a]\n  environment: {A: 1}\n");
        assert_eq!(settings.environment.len(), 1, "an unknown key is a warning");
        assert!(
            findings[0].contains("config.yaml:2") && findings[0].contains("did you mean `path`?"),
            "{findings:?}"
        );
        let (_, findings) = read("approvals: {wait: 10m}\nhooks: []\n");
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert!(finding.contains("config.yaml:2") && finding.contains("stands in hooks.yaml"), "{finding}");
        for (text, line, told) in [
            ("daemon:\n  path: [/a, bin]\n", 2, "an absolute path"),
            ("daemon:\n  path: /a\n", 2, "a list of folders"),
            ("daemon:\n  environment:\n    PATH: /a\n", 3, "daemon.path"),
            ("daemon:\n  environment:\n    HOME: /a\n", 3, "serve"),
            ("daemon:\n  environment:\n    LINESIDE_GRANT: a\n", 3, "serve"),
            ("daemon:\n  environment:\n    A: [1]\n", 3, "a text"),
            ("daemon:\n  environment: {A: 1, A: 2}\n", 2, "twice"),
            ("log: on\n", 1, "off, or a mapping"),
            ("log:\n  age: 30\n", 2, "a span such as 30d"),
            ("log:\n  size: 0GiB\n", 2, "a size such as 1GiB"),
            ("approvals: on\n", 1, "off, or a mapping"),
            ("approvals:\n  wait: 10\n", 2, "a span such as 10min"),
            ("approvals:\n  wait: 25h\n", 2, "at most 24h"),
            ("approvals:\n  default: allow\n", 2, "block or ask"),
            ("approvals:\n  for: [cladue]\n", 2, "did you mean `claude`?"),
            ("approvals:\n  for: [vim]\n", 2, "unattended, all, or a list of claude"),
            ("approvals:\n  notify: {command: tell}\n", 2, "a list of a program"),
            ("approvals:\n  notify: {post: example.com}\n", 2, "a URL that begins"),
            ("observe: {name: a}\n", 1, "a list of observers"),
            ("observe:\n  - {file: /a}\n", 2, "a name of letters"),
            ("observe:\n  - {name: a}\n", 2, "one of `file`"),
            ("observe:\n  - {name: a, file: /a, command: [b]}\n", 2, "one of `file`"),
            ("observe:\n  - {name: a, file: b}\n", 2, "an absolute path"),
            ("observe:\n  - {name: a, file: {path: /a, keep: 0}}\n", 2, "a number from 1"),
            ("observe:\n  - {name: a, file: {path: /a, size: 3}}\n", 2, "a size such as"),
            ("observe:\n  - {name: a, command: [./b]}\n", 2, "its absolute path"),
            ("observe:\n  - {name: a, worker: tell}\n", 2, "a list of a program"),
            ("observe:\n  - {name: a, worker: [b], command: [b]}\n", 2, "one of `file`"),
            ("observe:\n  - {name: a, post: example.com}\n", 2, "an absolute http"),
            (
                "observe:\n  - name: a\n    post: {url: 'https://a', headers: {B: '${NOT_SET}'}}\n",
                3,
                "listed in `secrets`",
            ),
            ("observe:\n  - {name: a, file: /a}\n  - {name: a, file: /b}\n", 3, "no other observer"),
            ("daemon: [\n", 1, "malformed YAML"),
            ("- daemon\n", 1, "a mapping"),
        ] {
            let (settings, findings) = read(text);
            assert_eq!(settings, DaemonSettings::default(), "{text}");
            let place = format!("config.yaml:{line}");
            assert!(findings[0].contains(&place) && findings[0].contains(told), "{text}: {findings:?}");
        }
    }
}
