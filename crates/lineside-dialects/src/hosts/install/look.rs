//! What may undo our entries: entries of others that amend too, limits that the host cuts, switches, and their own form
//! (HO-69, HO-71).

use std::collections::BTreeSet;
use std::path::PathBuf;

use lineside_files::read_if_there;

use super::super::import::{Format, Source, Switches};
use super::super::program::Host;
use super::super::quirks::{FileKind, OurFile};
use super::super::table::Amend;
use super::super::{format, quirks};
use super::entry::{self, fails_open, is_our_handler, rows};
use super::piece::{self, Content, Piece};
use super::plan::handlers_of;
use super::strictness;
use crate::dialect::{CONFIGURATION as LONGEST, Places};

/// Something in a host's files that may undo what our entries do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interference {
    /// A command of others at an event at which ours can amend; of two amendments the host takes one.
    Rival {
        /// Its file.
        file: PathBuf,
        /// Its line.
        line: usize,
        /// The event.
        event: String,
        /// Its place among the handlers of the event in that file, from 1.
        position: usize,
    },
    /// An entry of ours asks for more time than the host gives.
    Cut {
        /// Its file.
        file: PathBuf,
        /// Its line.
        line: usize,
        /// The event.
        event: String,
        /// What the host gives, in seconds.
        seconds: u64,
    },
    /// An entry of ours at a gate, of an earlier version or changed by hand, that the host passes over when its program is
    /// gone or is killed.
    Open {
        /// Its file.
        file: PathBuf,
        /// Its line.
        line: usize,
        /// The event.
        event: String,
    },
    /// An entry of ours in a project, of an earlier version, that another program runs as well and without its arguments, so
    /// that this one refuses each call; the first of its file.
    Lost {
        /// Its file.
        file: PathBuf,
        /// Its line.
        line: usize,
    },
    /// The hooks of a file are switched off by the host's settings.
    Off {
        /// The file.
        file: PathBuf,
        /// The settings that do it, where they stand in a file of their own.
        by: Option<PathBuf>,
    },
    /// A file of the host cannot be read, so what stands in it is not known.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Looks through the files of a host. Gives nothing for a host without an entry of ours.
#[must_use]
pub fn look(host: Host, places: &Places) -> Vec<Interference> {
    let mut beside = Vec::new();
    let mut read = Vec::new();
    let of_format = format(host).map(|format| format.sources(places));
    let mut files = BTreeSet::new();
    for source in of_format.unwrap_or_else(|| settings(host, places)) {
        // In the home that of the project is that of the user.
        if !files.insert(source.file.clone()) {
            continue;
        }
        match handlers(host, &source, places) {
            Ok(Some(handlers)) => read.push((source, handlers)),
            Ok(None) => {}
            Err(reason) => beside.push(Interference::Unreadable { file: source.file, reason }),
        }
    }
    let ours = |event: &str| {
        read.iter().flat_map(|(_, handlers)| handlers).any(|found| found.is_ours && found.event == event)
    };
    if !read.iter().flat_map(|(_, handlers)| handlers).any(|found| found.is_ours) {
        return Vec::new();
    }
    let (files, switches) = format(host).map(|format| switches(format, places)).unwrap_or_default();
    let by = switched_off_by(host, places);
    // The host's own settings keep the hooks of a file from running, or ours by their name.
    let is_off = |file: &PathBuf| {
        by.is_some()
            || switches.names.iter().any(|name| name == "lineside")
            || switches.files.iter().any(|at| files[*at] == *file)
    };
    for (source, handlers) in &read {
        let file = &source.file;
        if handlers.iter().any(|found| found.is_ours) && is_off(file) {
            beside.push(Interference::Off { file: file.clone(), by: by.clone() });
        }
        let shared = |ours: &OurFile| ours.kind == FileKind::Shared && ours.level.name() == source.label;
        let is_shared = quirks(host).settings.ours.iter().any(shared);
        if let Some(lost) = handlers.iter().find(|found| is_shared && found.has_arguments) {
            beside.push(Interference::Lost { file: file.clone(), line: lost.line });
        }
        for Handler { event, line, position, is_ours, is_open, is_command, seconds, .. } in handlers {
            let (file, event, line) = (file.clone(), event.clone(), *line);
            if *is_open {
                beside.push(Interference::Open { file: file.clone(), line, event: event.clone() });
            }
            let cut = quirks(host).entries.cut.filter(|(points, _)| is_point(host, &event, points));
            let cut = cut.map(|(_, most)| u64::from(most));
            let cut = cut.filter(|most| *is_ours && seconds.is_none_or(|seconds| seconds > *most));
            if let Some(seconds) = cut {
                beside.push(Interference::Cut { file, line, event, seconds });
            } else if !is_ours && *is_command && ours(&event) && may_amend(host, &event) {
                beside.push(Interference::Rival { file, line, event, position: *position });
            }
        }
    }
    beside
}

/// A handler of any author.
struct Handler {
    event: String,
    line: usize,
    position: usize,
    is_ours: bool,
    is_open: bool,
    has_arguments: bool,
    is_command: bool,
    seconds: Option<u64>,
}

/// The handlers of a file; `None` if there is none.
fn handlers(host: Host, source: &Source, places: &Places) -> Result<Option<Vec<Handler>>, String> {
    let Some(bytes) = read_if_there(&source.file, places.boundary(source.layer), LONGEST) else {
        return Ok(None);
    };
    let bytes = bytes.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = piece::read(&text, source.syntax).map_err(|error| error.to_string())?;
    strictness::check(host, &text, source.syntax, &root).map_err(|error| error.to_string())?;
    let Some(hooks) = root.member("hooks") else { return Ok(None) };
    let mut found = Vec::new();
    let mut add = |event: &str, handler: &Piece| {
        let position = found.iter().filter(|other: &&Handler| other.event == event).count() + 1;
        found.push(Handler {
            event: event.to_owned(),
            line: text[..handler.span.start].matches('\n').count() + 1,
            position,
            is_ours: is_our_handler(handler),
            is_open: is_our_handler(handler) && fails_open(host, event, handler),
            has_arguments: entry::has_arguments(handler),
            is_command: handler.text("type").is_none_or(|kind| kind == "command"),
            seconds: handler.member("timeout").and_then(|timeout| match &timeout.value.content {
                Content::Other(number) => number.parse().ok(),
                _ => None,
            }),
        });
    };
    for member in hooks.value.members() {
        for handler in handlers_of(&member.value) {
            add(&member.key, handler);
        }
    }
    if quirks(host).entries.is_one_list {
        for handler in hooks.value.elements() {
            add(handler.text("event").unwrap_or_default(), handler);
        }
    }
    Ok(Some(found))
}

fn is_point(host: Host, event: &str, points: &[&str]) -> bool {
    rows(host).any(|row| row.event == event && points.contains(&row.point))
}

/// Whether an amendment is printed at an event, so that one of others could take its place.
fn may_amend(host: Host, event: &str) -> bool {
    let is_printed = |amend: &Amend| !matches!(amend, Amend::Refuse(_) | Amend::Withhold | Amend::Line(_));
    let of_event = rows(host).filter(|row| row.event == event);
    of_event.flat_map(|row| row.words.amend).any(|(_, amend)| is_printed(amend))
}

/// The files of a host that can be read, and what its settings switch off of them by their place among those.
fn switches(format: &dyn Format, places: &Places) -> (Vec<PathBuf>, Switches) {
    let sources = format.sources(places).into_iter();
    let read = sources.filter_map(|source| {
        let node = source.read(places.boundary(source.layer))?.ok()?;
        Some((source, node))
    });
    let files: Vec<_> = read.collect();
    let switches = format.switches(&files);
    (files.into_iter().map(|(source, _)| source.file).collect(), switches)
}

/// The settings of a host that are no files of hooks to the import, the strongest first: those of a program whose hooks are
/// not imported, and those of another program that it reads too.
fn settings(host: Host, places: &Places) -> Vec<Source> {
    let switches = quirks(host).settings.switches.iter();
    switches
        .filter_map(|place| Some(Source::json(place.layer().as_str(), place.file(places)?, place.layer())))
        .collect()
}

/// Which of these settings switches all hooks of the host off; the first that has a word for it counts.
fn switched_off_by(host: Host, places: &Places) -> Option<PathBuf> {
    let said = settings(host, places).into_iter().find_map(|source| {
        let node = source.read(places.boundary(source.layer))?.ok()?;
        Some((node.value("disableAllHooks")?.boolean()?, source.file))
    });
    said.filter(|(is_off, _)| *is_off).map(|(_, file)| file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::dialect::Trust;

    /// A home with a trusted project in it.
    struct Home {
        folder: TempDir,
        places: Places,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path().canonicalize().unwrap();
            let project = home.join("project");
            let environment = BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]);
            let trust = Trust::Granted;
            let places = Places { environment, project_root: Some(project.clone()), cwd: project, trust };
            Self { folder, places }
        }

        /// Writes a file below the home and returns its path.
        fn write(&self, file: &str, text: &str) -> PathBuf {
            let file = self.folder.path().canonicalize().unwrap().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            file
        }

        fn look(&self, host: Host) -> Vec<Interference> {
            look(host, &self.places)
        }
    }

    #[test]
    fn what_may_undo_our_entries_is_found_with_file_event_and_position() {
        // HO-69
        let home = Home::new();
        let other = r#"{"hooks": {"PreToolUse": [{"hooks": [
            {"type": "prompt"},
            {"type": "command", "command": "mine"}]}], "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}],
            "PostToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}"#;
        let of_project = home.write("project/.claude/settings.json", other);
        assert_eq!(home.look(Host::Claude), [], "nothing of ours stands there");
        let user = home.write(
            ".claude/settings.json",
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "lineside", "args": ["hook", "claude"], "onFailure": "block"}]}]}}"#,
        );
        let rival = Interference::Rival {
            file: of_project.clone(),
            line: 3,
            event: "PreToolUse".to_owned(),
            position: 2,
        };
        assert_eq!(home.look(Host::Claude), std::slice::from_ref(&rival));
        home.write("project/.claude/settings.json", &other.replacen('{', r#"{"disableAllHooks": true, "#, 1));
        assert_eq!(home.look(Host::Claude), [Interference::Off { file: user, by: None }, rival]);

        // Of Codex alone a limit is cut, and one that is short enough is not.
        home.write(
            ".gemini/settings.json",
            r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "lineside hook gemini"}]}]}}"#,
        );
        assert_eq!(home.look(Host::Gemini), []);
        let end = |timeout: u64| {
            format!(
                "{{\"hooks\": {{\"SessionEnd\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"lineside hook codex\", \"timeout\": {timeout}}}]}}]}}}}"
            )
        };
        home.write(".codex/hooks.json", &end(3));
        assert_eq!(home.look(Host::Codex), []);
        let codex = home.write(
            ".codex/hooks.json",
            r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "lineside hook codex", "timeout": 60}]}]}}"#,
        );
        home.write(".codex/config.toml", "a = = 1");
        let found = home.look(Host::Codex);
        let cut = Interference::Cut { file: codex, line: 1, event: "SessionEnd".to_owned(), seconds: 3 };
        assert!(matches!(&found[..], [Interference::Unreadable { .. }, found] if *found == cut), "{found:?}");
    }

    #[test]
    fn an_entry_at_a_gate_that_opens_when_its_program_is_gone_is_found() {
        let home = Home::new();
        let event = "PreToolUse".to_owned();
        for (host, name, old) in [
            (Host::Codex, ".codex/hooks.json", r#"{"command": "lineside hook codex"}"#),
            (Host::Claude, ".claude/settings.json", r#"{"command": "lineside", "args": ["hook", "claude"]}"#),
        ] {
            let at = |event: &str| format!(r#"{{"hooks": {{"{event}": [{{"hooks": [{old}]}}]}}}}"#);
            let file = home.write(name, &at("PreToolUse"));
            assert_eq!(home.look(host), [Interference::Open { file, line: 1, event: event.clone() }]);
            // An agent that may not stop would be lost.
            home.write(name, &at("Stop"));
            assert_eq!(home.look(host), []);
        }
    }

    #[test]
    fn an_entry_of_a_project_whose_arguments_another_program_drops_is_found_once() {
        let home = Home::new();
        let old =
            r#"[{"hooks": [{"command": "lineside", "args": ["hook", "claude"], "onFailure": "block"}]}]"#;
        let text = format!("{{\"hooks\": {{\n\"PreToolUse\": {old},\n\"PostToolUse\": {old}}}}}");
        let file = home.write("project/.claude/settings.json", &text);
        assert_eq!(home.look(Host::Claude), [Interference::Lost { file, line: 2 }]);
        let new = r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "lineside hook claude --event PreToolUse", "onFailure": "block"}]}]}}"#;
        home.write("project/.claude/settings.json", new);
        assert_eq!(home.look(Host::Claude), []);
        // Those of the user are read by Claude Code alone.
        home.write(".claude/settings.json", &text);
        assert_eq!(home.look(Host::Claude), []);
        // Also where one works in the home.
        let mut at_home = home;
        let root = at_home.places.home().unwrap().to_path_buf();
        (at_home.places.project_root, at_home.places.cwd) = (Some(root.clone()), root);
        assert_eq!(at_home.look(Host::Claude), []);
    }

    #[test]
    fn what_is_off_is_off_by_its_file_or_by_its_name() {
        let home = Home::new();
        home.write(
            ".copilot/hooks/lineside.json",
            r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "", "command": "lineside hook copilot"}]}}"#,
        );
        home.write(".copilot/hooks/other.json", r#"{"version": 1, "disableAllHooks": true, "hooks": {}}"#);
        assert_eq!(home.look(Host::Copilot), [], "another file is off");
        let ours = r#""hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": "lineside hook gemini"}]}]}"#;
        let of = |disabled: &str| {
            let text = format!("{{\"hooksConfig\": {{\"disabled\": [\"{disabled}\"]}}, {ours}}}");
            let file = home.write(".gemini/settings.json", &text);
            (home.look(Host::Gemini), file)
        };
        assert_eq!(of("other").0, []);
        let (found, file) = of("lineside");
        assert_eq!(found, [Interference::Off { file, by: None }]);
        // Of Kimi each handler names its event.
        home.write(".kimi/config.toml", "[[hooks]]\nevent = \"Stop\"\ncommand = \"lineside hook kimi\"\n");
        assert_eq!(home.look(Host::Kimi), []);
        home.write(".kimi-code/config.toml", "a = = 1");
        assert!(matches!(home.look(Host::Kimi)[..], [Interference::Unreadable { .. }]));
    }

    #[test]
    fn a_project_that_switches_all_hooks_off_is_named_also_where_its_hooks_are_not_imported() {
        let home = Home::new();
        let of_qwen = home.write(
            ".qwen/settings.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lineside hook qwen"}]}]}}"#,
        );
        let of_copilot = home.write(
            ".copilot/hooks/lineside.json",
            r#"{"version": 1, "hooks": {"agentStop": [{"type": "command", "command": "lineside hook copilot"}]}}"#,
        );
        for (host, file, folder) in [(Host::Qwen, of_qwen, ".qwen"), (Host::Copilot, of_copilot, ".claude")] {
            assert_eq!(home.look(host), [], "{host}");
            let by = home.write(&format!("project/{folder}/settings.json"), r#"{"disableAllHooks": true}"#);
            assert_eq!(home.look(host), [Interference::Off { file, by: Some(by) }], "{host}");
            // What a person says of their own copy outranks it.
            home.write(&format!("project/{folder}/settings.local.json"), r#"{"disableAllHooks": false}"#);
            assert_eq!(home.look(host), [], "{host}");
        }
    }

    #[test]
    fn what_an_event_is_and_may_change_stands_in_the_table_of_its_host() {
        assert!(is_point(Host::Claude, "PreToolUse", &["before_stop", "before_tool"]));
        assert!(!is_point(Host::Claude, "PreToolUse", &["before_stop"]));
        assert!(!is_point(Host::Claude, "Stop", &["before_tool"]));
        assert!(may_amend(Host::Claude, "PreToolUse"));
        for event in ["Stop", "SessionEnd", "Unknown"] {
            assert!(!may_amend(Host::Claude, event), "{event}");
        }
    }
}
