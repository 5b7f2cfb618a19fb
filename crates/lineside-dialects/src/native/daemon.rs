//! `config.yaml` of the user: what the daemon and the hooks that it starts have in their environment, and what its log keeps.

use std::path::PathBuf;
use std::time::Duration;

use lineside_core::nearest::suggestion;
use lineside_core::{Diagnostic, Layer};

use super::file::document;
use super::findings::{Findings, LoadError, LoadWarning, UnknownKey};
use super::values::shown;
use crate::dialect::{Places, at_home};
use crate::yaml::{self, Content, Document, Node};

/// What says which daemon it is and where its files are; a setting cannot.
const OF_PLACES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

/// What the user has set for the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DaemonSettings {
    /// Folders that stand before those of its `PATH`.
    pub path: Vec<PathBuf>,
    /// Variables, by name.
    pub environment: Vec<(String, String)>,
    /// What the decision log keeps.
    pub log: LogSettings,
}

/// What the user has set for the decision log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Whether there is none.
    pub is_off: bool,
    /// For how long decisions are kept, where that is said.
    pub age: Option<Duration>,
    /// How many bytes it may have, where that is said.
    pub bytes: Option<u64>,
}

/// Reads `lineside/config.yaml` in the folder of the user's settings. A file with an error sets nothing at all, and what
/// is wrong comes beside it.
#[must_use]
pub fn daemon_settings(places: &Places) -> (DaemonSettings, Vec<Diagnostic>) {
    let Some(file) = places.configuration().map(|folder| folder.join("lineside/config.yaml")) else {
        return Default::default();
    };
    let mut findings = Findings::about(&file);
    let mut reading =
        Reading { findings: &mut findings, places, settings: DaemonSettings::default(), is_sound: true };
    match lineside_files::read_if_there(&file, places.boundary(Layer::User), yaml::LONGEST) {
        None => {}
        Some(Ok(bytes)) => reading.file(&bytes),
        Some(Err(error)) => reading.error(1, LoadError::Unreadable(error.to_string())),
    }
    let settings = if reading.is_sound { reading.settings } else { DaemonSettings::default() };
    (settings, findings.diagnostics)
}

struct Reading<'a> {
    findings: &'a mut Findings,
    places: &'a Places,
    settings: DaemonSettings,
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
        for (key, daemon) in self.mapping("the file", &root, &["daemon", "log"]) {
            if key == "log" {
                self.log(daemon);
                continue;
            }
            for (key, value) in self.mapping("daemon", daemon, &["path", "environment"]) {
                if key == "path" { self.path(value) } else { self.environment(value) }
            }
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
            } else {
                let nearest = suggestion(&name, known.iter().copied());
                let nearest = nearest.and_then(|near| known.iter().copied().find(|key| *key == near));
                self.findings.warning(key.line, LoadWarning::UnknownKey(UnknownKey { key: name, nearest }));
            }
        }
        found
    }

    fn log(&mut self, value: &Node) {
        if matches!(value.written(), Some("off" | "false")) {
            self.settings.log.is_off = true;
            return;
        }
        if !matches!(value.content, Content::Mapping(_) | Content::Null) {
            return self.wrong("log", value, "off, or a mapping");
        }
        for (key, value) in self.mapping("log", value, &["age", "size"]) {
            let log = &mut self.settings.log;
            let is_sound = match &*key {
                "age" => {
                    log.age = measured(value, &[("h", 3_600), ("d", 86_400)]).map(Duration::from_secs);
                    log.age.is_some()
                }
                _ => {
                    log.bytes = measured(value, &[("MiB", 1 << 20), ("GiB", 1 << 30)]);
                    log.bytes.is_some()
                }
            };
            if !is_sound {
                let expected =
                    if key == "age" { "a span such as 30d or 12h" } else { "a size such as 1GiB or 500MiB" };
                self.wrong(&format!("log.{key}"), value, expected);
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
                Some(path) => self.settings.path.push(path),
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
                self.settings.environment.push((variable.to_owned(), text.to_owned()));
            } else {
                self.wrong(&key, value, "a text");
            }
        }
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

    use super::*;
    use crate::dialect::Trust;

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
        let (mut settings, findings) = daemon_settings(&places);
        for path in &mut settings.path {
            if let Ok(below) = path.strip_prefix(home.path()) {
                *path = Path::new("~").join(below);
            }
        }
        (settings, findings.iter().map(|finding| finding.to_string().replace(&home_text, "~")).collect())
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
    fn what_is_wrong_is_named_with_its_line_and_sets_nothing() {
        let (settings, findings) = read("daemon:\n  pathh: [/a]\n  environment: {A: 1}\n");
        assert_eq!(settings.environment.len(), 1, "an unknown key is a warning");
        assert!(
            findings[0].contains("config.yaml:2") && findings[0].contains("did you mean `path`?"),
            "{findings:?}"
        );
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
