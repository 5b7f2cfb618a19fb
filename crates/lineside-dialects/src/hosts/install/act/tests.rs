//! Installing on a disk: links, modes, changes of others, and the way back.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;
use crate::dialect::Trust;

mod orders;
mod refused;

struct Stage(TempDir);

impl Stage {
    fn new() -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        for folder in ["home", "project", "elsewhere"] {
            fs::create_dir(stage.path(folder)).unwrap();
        }
        stage
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    fn file(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn places(&self) -> Places {
        let home = self.path("home").to_str().unwrap().to_owned();
        Places {
            environment: BTreeMap::from([("HOME".to_owned(), home)]),
            project_root: Some(self.path("project")),
            cwd: self.path("project"),
            trust: Trust::Granted,
        }
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }

    fn install(&self, host: Host, level: Level, program: &str) -> Result<Vec<Act>, InstallError> {
        let program = Program::new(program).unwrap();
        let acts = install(host, level, &self.places(), &self.state(), &program, &[])?;
        acts.iter().try_for_each(|act| act.perform(&self.state()))?;
        Ok(acts)
    }

    fn uninstall(&self, host: Host, level: Level) -> Vec<Act> {
        let acts = uninstall(host, level, &self.places(), &self.state()).unwrap();
        acts.iter().for_each(|act| act.perform(&self.state()).unwrap());
        acts
    }

    fn refused(&self, host: Host, level: Level) -> String {
        chain(&self.install(host, level, "lineside").unwrap_err())
    }

    fn records(&self) -> usize {
        fs::read_dir(self.state().join("installed")).map_or(0, Iterator::count)
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

const SETTINGS: &str = "{\r\n\t\"mine\": 1,\r\n\t\"model\": \"x\"\r\n}";

#[test]
fn a_linked_file_is_edited_where_it_is_and_has_its_bytes_and_its_mode_again() {
    // HO-60 to HO-62
    let stage = Stage::new();
    let real = stage.file("elsewhere/dots/claude.json", SETTINGS);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(stage.path("home/.claude")).unwrap();
    let link = stage.path("home/.claude/settings.json");
    symlink("../../elsewhere/dots/claude.json", &link).unwrap();
    let acts = stage.install(Host::Claude, Level::User, "lineside").unwrap();
    assert_eq!((acts[0].leads_to(), acts[0].events.len()), (Some(real.as_path()), 20));
    assert!(link.is_symlink());
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .starts_with("{\r\n\t\"mine\": 1,\r\n\t\"model\": \"x\",\r\n\t\"hooks\": {\r\n")
    );
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    let again = stage.install(Host::Claude, Level::User, "lineside").unwrap();
    assert!(!again[0].is_change());
    // Another program, and back to what was there before either.
    assert!(stage.install(Host::Claude, Level::User, "/opt/a b/lineside").unwrap()[0].is_change());
    assert!(fs::read_to_string(&real).unwrap().contains("/opt/a b/lineside"));
    stage.uninstall(Host::Claude, Level::User);
    assert_eq!(fs::read_to_string(&real).unwrap(), SETTINGS);
    assert!(link.is_symlink());
    assert_eq!(stage.records(), 0);
}

#[test]
fn law_19_entries_are_taken_out_where_the_state_folder_cannot_be_written() {
    let stage = Stage::new();
    let file = stage.file("home/.claude/settings.json", SETTINGS);
    stage.install(Host::Claude, Level::User, "lineside").unwrap();
    let acts = uninstall(Host::Claude, Level::User, &stage.places(), &stage.state()).unwrap();
    // In place of a file system that is read-only, which a test cannot make.
    let unwritable = stage.file("file", "").join("state");
    acts.iter().for_each(|act| act.perform(&unwritable).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS);
    // The record that has stayed is of no harm to the next installation.
    stage.install(Host::Claude, Level::User, "lineside").unwrap();
    stage.uninstall(Host::Claude, Level::User);
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), stage.records()), (SETTINGS, 0));
}

#[test]
fn a_created_file_is_removed_with_the_folders_that_were_made_for_it() {
    let stage = Stage::new();
    for (host, file, top) in [
        (Host::Copilot, "home/.copilot/hooks/lineside.json", "home/.copilot"),
        (Host::Kimi, "home/.kimi/config.toml", "home/.kimi"),
        (Host::Cursor, "home/.cursor/hooks.json", "home/.cursor"),
    ] {
        stage.install(host, Level::User, "lineside").unwrap();
        assert!(stage.path(file).is_file(), "{file}");
        assert!(!installed(host, Level::User, &stage.places()).unwrap().is_empty());
        stage.uninstall(host, Level::User);
        assert!(!stage.path(top).exists(), "{top}");
    }
    // Without the record too, where the file has nothing else in it.
    stage.install(Host::Copilot, Level::Project, "lineside").unwrap();
    fs::remove_dir_all(stage.state()).unwrap();
    let acts = stage.uninstall(Host::Copilot, Level::Project);
    assert_eq!(
        (acts[0].after.as_ref(), stage.path("project/.github/hooks/lineside.json").exists()),
        (None, false)
    );
}

#[test]
fn what_somebody_else_has_changed_meanwhile_stays() {
    let stage = Stage::new();
    let file = stage.file("project/.gemini/settings.json", "{\n  \"a\": 1\n}\n");
    stage.install(Host::Gemini, Level::Project, "lineside").unwrap();
    let text = fs::read_to_string(&file).unwrap().replacen("\"a\": 1", "\"a\": 2", 1);
    fs::write(&file, &text).unwrap();
    assert!(!stage.install(Host::Gemini, Level::Project, "lineside").unwrap()[0].is_change());
    stage.uninstall(Host::Gemini, Level::Project);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 2\n}\n");
    // Of a created file, what others have put in stays.
    let file = stage.path("home/.gemini/settings.json");
    stage.install(Host::Gemini, Level::User, "lineside").unwrap();
    let text = fs::read_to_string(&file).unwrap().replacen('{', "{ \"b\": 1,", 1);
    fs::write(&file, &text).unwrap();
    stage.uninstall(Host::Gemini, Level::User);
    assert_eq!(fs::read_to_string(&file).unwrap().split_whitespace().collect::<String>(), "{\"b\":1}");
}

#[test]
fn a_file_that_was_edited_elsewhere_has_the_rest_of_its_bytes_again() {
    let stage = Stage::new();
    let between = |before: &str, edit: &dyn Fn(&str) -> String| {
        let file = stage.file("home/.gemini/settings.json", before);
        stage.install(Host::Gemini, Level::User, "lineside").unwrap();
        fs::write(&file, edit(&fs::read_to_string(&file).unwrap())).unwrap();
        stage.uninstall(Host::Gemini, Level::User);
        fs::read_to_string(&file).unwrap()
    };
    let behind = |text: &str| format!("{text}\n// mine\n");
    let before = |text: &str| text.replacen('{', "{/* a, b */", 1);
    let member = |text: &str| text.replacen('{', "{ \"z\": 1,", 1);
    let edits: [&dyn Fn(&str) -> String; 3] = [&behind, &before, &member];
    for text in [
        "{\"b\": 1}",
        "{ \"a\": [1, 2] // x,\r\n}",
        "{\"hooks\": {\"Stop\": [ ]}, \"a\": 1}",
        "{\n\t\"a\": {\n\t}\n}\n",
    ] {
        for edit in edits {
            assert_eq!(between(text, edit), edit(text), "{text:?}");
        }
    }
    assert_eq!(between("{}", &behind), behind("{}"));
    // The comma behind the new member was there for our entries.
    assert_eq!(between("{}", &member), "{ \"z\": 1\n}");
}

#[test]
fn a_file_that_changes_between_the_look_and_the_edit_is_left_alone() {
    let stage = Stage::new();
    let file = stage.file("home/.codex/hooks.json", "{}");
    let program = Program::new("lineside").unwrap();
    let acts = install(Host::Codex, Level::User, &stage.places(), &stage.state(), &program, &[]).unwrap();
    fs::write(&file, "{\"a\": 1}").unwrap();
    let error = chain(&acts[0].perform(&stage.state()).unwrap_err());
    assert!(
        error.ends_with("hooks.json was left alone: it was changed by another program meanwhile; try again"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\": 1}");
    assert_eq!(stage.records(), 0);
}

#[test]
fn a_link_out_of_a_project_and_a_file_of_others_are_left_alone() {
    let stage = Stage::new();
    let outside = stage.file("elsewhere/settings.json", "{}");
    fs::create_dir(stage.path("project/.claude")).unwrap();
    symlink(&outside, stage.path("project/.claude/settings.json")).unwrap();
    let error = stage.refused(Host::Claude, Level::Project);
    assert!(error.contains(".claude/settings.json was left alone: it leads out of the project"), "{error}");
    symlink(stage.path("elsewhere"), stage.path("project/.codex")).unwrap();
    let error = stage.refused(Host::Codex, Level::Project);
    assert!(error.contains(".codex/hooks.json was left alone: it leads out of the project"), "{error}");
    let shared = stage.file("home/.claude/settings.json", "{}");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o666)).unwrap();
    let error = stage.refused(Host::Claude, Level::User);
    assert!(error.contains("all users may write it"), "{error}");
    fs::remove_file(&shared).unwrap();
    symlink("nowhere", &shared).unwrap();
    assert!(stage.install(Host::Claude, Level::User, "lineside").is_err());
    assert!(shared.is_symlink());
    for (file, bytes) in
        [("home/.cursor/hooks.json", &b"{ nope"[..]), ("home/.qwen/settings.json", b"{\"a\": \"\xff\"}")]
    {
        let file = stage.file(file, "");
        fs::write(&file, bytes).unwrap();
    }
    assert!(stage.install(Host::Cursor, Level::User, "lineside").is_err());
    assert!(stage.install(Host::Qwen, Level::User, "lineside").is_err());
    assert_eq!(fs::read(stage.path("home/.cursor/hooks.json")).unwrap(), b"{ nope");
    assert_eq!(stage.records(), 0);
}

#[test]
fn entries_that_were_asked_for_by_name_stay_when_the_others_are_installed_again() {
    let stage = Stage::new();
    let program = Program::new("lineside").unwrap();
    let more = ["BeforeModel".to_owned()];
    let acts = install(Host::Gemini, Level::User, &stage.places(), &stage.state(), &program, &more).unwrap();
    acts[0].perform(&stage.state()).unwrap();
    assert!(acts[0].events.contains(&more[0]));
    assert!(!stage.install(Host::Gemini, Level::User, "lineside").unwrap()[0].is_change());
}

#[test]
fn a_plugin_is_written_and_removed_unless_it_was_changed() {
    // OP-8
    let stage = Stage::new();
    let file = stage.path("home/.config/opencode/plugin/lineside.js");
    let acts = stage.install(Host::Opencode, Level::User, "lineside").unwrap();
    let events = "session.created chat.message tool.execute.before tool.execute.after session.idle permission.asked \
        permission.updated permission.replied";
    assert_eq!(acts[0].events, events.split_whitespace().collect::<Vec<_>>());
    assert!(!stage.install(Host::Opencode, Level::User, "lineside").unwrap()[0].is_change());
    stage.uninstall(Host::Opencode, Level::User);
    assert!(!stage.path("home/.config").exists());
    // What another version has written is exchanged; what a person has written is left alone.
    stage.install(Host::Opencode, Level::User, "lineside").unwrap();
    let mut record = record::read(&stage.state(), Host::Opencode, &file).unwrap();
    fs::write(&file, "// older").unwrap();
    assert!(stage.refused(Host::Opencode, Level::User).ends_with("look at it, and remove it by hand"));
    assert!(uninstall(Host::Opencode, Level::User, &stage.places(), &stage.state()).is_err());
    record.after = digest(b"// older");
    record::write(&stage.state(), Host::Opencode, &file, Some(&record)).unwrap();
    assert!(stage.install(Host::Opencode, Level::User, "lineside").unwrap()[0].is_change());
    stage.uninstall(Host::Opencode, Level::User);
    assert!(!file.exists());
}

#[test]
fn a_plugin_has_its_places_written_into_it_and_is_known_with_any_of_them() {
    let stage = Stage::new();
    let install = |socket: &str| {
        let program =
            Program::new("lineside").unwrap().of_daemon(Vec::new(), socket.to_owned(), "/s".to_owned());
        let acts =
            install(Host::Opencode, Level::User, &stage.places(), &stage.state(), &program, &[]).unwrap();
        acts[0].perform(&stage.state()).unwrap();
        acts[0].is_change()
    };
    assert!(install("/run/\"a\"") && !install("/run/\"a\""));
    let file = stage.path("home/.config/opencode/plugin/lineside.js");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\nconst SOCKET = \"/run/\\\"a\\\"\"\nconst STATE = \"/s\"\n"), "{text}");
    let found = installed(Host::Opencode, Level::User, &stage.places()).unwrap();
    assert_eq!(found[0].places, [["--state", "/s", "--socket", "/run/\"a\""]]);
    assert!(install("/run/b"), "another place is written");
    record::write(&stage.state(), Host::Opencode, &file, None).unwrap();
    assert!(install("/run/c"), "without a record it is known too");
}

#[test]
fn what_an_entry_is_tried_on_ends_its_session_again_in_every_program() {
    let stage = Stage::new();
    for host in crate::hosts::HOSTS {
        let acts = stage.install(host, Level::User, "lineside").unwrap();
        let calls = super::super::trial::trials(acts.last().unwrap(), &stage.path("project"));
        let points: Vec<_> = calls
            .iter()
            .map(|call| {
                let mut rows = super::super::entry::rows(host);
                rows.find(|row| row.event == call.event).map(|row| row.point)
            })
            .collect();
        assert_eq!(points, [Some("before_tool"), Some("after_session")], "{host}");
        assert!(calls.iter().all(|call| call.argv.join(" ").contains("lineside")), "{host}: {calls:?}");
    }
}

#[test]
fn a_file_of_blanks_has_its_bytes_again() {
    let stage = Stage::new();
    let file = stage.file("home/.gemini/settings.json", " \n");
    stage.install(Host::Gemini, Level::User, "lineside").unwrap();
    stage.uninstall(Host::Gemini, Level::User);
    assert_eq!(fs::read_to_string(file).unwrap(), " \n");
}

#[test]
fn a_file_says_which_events_have_an_entry_and_which_have_none() {
    let stage = Stage::new();
    let file = stage.file(
        "home/.cursor/hooks.json",
        r#"{"version": 1, "hooks": {"stop": [{"command": "lineside hook cursor"}]}}"#,
    );
    let found = installed(Host::Cursor, Level::User, &stage.places()).unwrap();
    assert_eq!((found.len(), &found[0].file, &found[0].events), (1, &file, &vec!["stop".to_owned()]));
    let usual = usual(Host::Cursor, crate::hosts::quirks::FileKind::Usual);
    let others: Vec<&str> = usual.into_iter().filter(|event| *event != "stop").collect();
    assert_eq!(found[0].missing, others);
    // It is not ours alone: what is known of it is what stands there.
    stage.uninstall(Host::Cursor, Level::User);
    assert_eq!(fs::read_to_string(file).unwrap(), r#"{"version": 1, "hooks": {"stop": []}}"#);
}

#[test]
fn a_file_that_is_read_only_is_not_changed() {
    let stage = Stage::new();
    let file = stage.file("home/.gemini/settings.json", "{}");
    let set = |mode: u32| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    set(0o444);
    assert!(stage.refused(Host::Gemini, Level::User).contains("read-only"));
    set(0o644);
    stage.install(Host::Gemini, Level::User, "lineside").unwrap();
    set(0o444);
    assert!(!stage.install(Host::Gemini, Level::User, "lineside").unwrap()[0].is_change());
}

#[test]
fn a_file_has_a_bound() {
    let stage = Stage::new();
    let of = |length: usize| {
        let file = stage.file("long.json", &" ".repeat(length));
        text(&file, Level::User, &stage.places())
    };
    assert_eq!(of(LONGEST).unwrap().map(|text| text.len()), Some(LONGEST));
    assert!(matches!(of(LONGEST + 1), Err(InstallError::Long { .. })));
}

#[test]
fn folders_are_made_unless_a_file_stands_in_their_place() {
    let stage = Stage::new();
    let file = stage.file("f", "");
    assert!(make_folders(&stage.path("a/b/c")).is_ok() && stage.path("a/b").is_dir());
    // Of the folder itself the error is that of the file in it.
    assert!(make_folders(&file.join("x")).is_ok());
    assert!(make_folders(&file.join("x/y")).is_err());
    assert_eq!(
        missing_folders(Path::new("no-such-folder/below/f")),
        [Path::new("no-such-folder/below"), Path::new("no-such-folder")]
    );
    assert_eq!(missing_folders(&stage.path("a/x/f")), [stage.path("a/x")]);
}

#[test]
fn a_record_that_is_not_there_is_taken_away_and_one_that_cannot_be_is_told() {
    let stage = Stage::new();
    let file = stage.path("f");
    record::write(&stage.state(), Host::Claude, &file, None).unwrap();
    fs::create_dir_all(record::path(&stage.state(), Host::Claude, &file)).unwrap();
    assert!(record::write(&stage.state(), Host::Claude, &file, None).is_err());
}

#[test]
fn of_two_installations_one_has_the_state_folder() {
    let stage = Stage::new();
    let state = stage.state();
    assert!(record::alone(&state, false).unwrap().is_none() && !state.exists());
    let own = record::alone(&state, true).unwrap();
    assert!(own.is_some() && fs::File::open(&state).unwrap().try_lock().is_err());
    drop(own);
    assert!(record::alone(&state, false).unwrap().is_some());
    let below = stage.file("f", "").join("state");
    assert!(record::alone(&below, false).is_err());
}

#[test]
fn the_files_of_a_host_are_known_before_anything_is_written() {
    let stage = Stage::new();
    let of = |host, level: Level| {
        super::super::target::files(host, level, &stage.places()).map_err(|e| e.to_string())
    };
    assert_eq!(of(Host::Claude, Level::User), Ok(vec![stage.path("home/.claude/settings.json")]));
    assert_eq!(
        of(Host::Copilot, Level::Project),
        Ok(vec![stage.path("project/.github/hooks/lineside.json")])
    );
    assert!(of(Host::Qwen, Level::Project).unwrap_err().contains("reads no hooks from a project"));
    assert_eq!([Level::User, Level::Project].map(|level| level.to_string()), ["user", "project"]);
    // Of Kimi's two programs the one that has a folder has a file, with the events of its own.
    fs::create_dir(stage.path("home/.kimi-code")).unwrap();
    assert_eq!(of(Host::Kimi, Level::User), Ok(vec![stage.path("home/.kimi-code/config.toml")]));
    assert_eq!(stage.install(Host::Kimi, Level::User, "lineside").unwrap()[0].events.len(), 17);
    assert_eq!(Program::new("/a/lineside").unwrap().as_str(), "/a/lineside");
}

#[test]
fn entries_of_a_project_by_an_earlier_version_are_exchanged_and_taken_out() {
    // HO-61, CP-26
    let stage = Stage::new();
    let earlier = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/bin/lineside","args":["hook","claude"],"timeout":60,"onFailure":"block"}]},{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
    let file = stage.file("project/.claude/settings.json", earlier);
    stage.install(Host::Claude, Level::Project, "/opt/lineside").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("args") && !text.contains("/bin/lineside"), "{text}");
    assert!(text.contains("\"/opt/lineside hook claude --event PreToolUse\""), "{text}");
    let known = installed(Host::Claude, Level::Project, &stage.places()).unwrap();
    assert_eq!(known[0].programs, ["/opt/lineside"]);
    assert_eq!(known[0].missing, [""; 0]);
    let again = stage.install(Host::Claude, Level::Project, "/opt/lineside").unwrap();
    assert!(!again[0].is_change());
    stage.uninstall(Host::Claude, Level::Project);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("lineside") && text.contains("mine"), "{text}");
    // One that was never touched by this version goes as well.
    fs::write(&file, earlier).unwrap();
    stage.uninstall(Host::Claude, Level::Project);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("lineside") && text.contains("mine"), "{text}");
}
