//! What is a user's stays, in whichever order the user edits a file and lineside is put into it and taken out.

use std::collections::HashMap;

use lineside_core::json;

use super::*;
use crate::hosts::install::entry::needed;
use crate::native::{ApprovalSettings, WhoseAsks};

/// Installs; edits as a user; installs from another place, for questions that wait; uninstalls.
const STEPS: [char; 4] = ['i', 'e', 'm', 'u'];

/// Where an edit puts something.
#[derive(Debug, Clone, Copy)]
enum Edit {
    First,
    Last,
    Hook,
}

/// A text as a user edits it.
fn edited(text: Option<&str>, edit: Edit, syntax: Syntax, number: usize) -> String {
    if syntax == Syntax::Toml {
        let text = text.unwrap_or_default();
        return match edit {
            Edit::First => format!("mine{number} = 1\n{text}"),
            Edit::Last => format!("{text}\n[mine{number}]\nx = 1\n"),
            Edit::Hook => format!("{text}\n[[hooks]]\nevent = \"Stop\"\ncommand = \"mine {number}\"\n"),
        };
    }
    let text = text.unwrap_or("{}\n");
    let (edit, item) = match (edit, text.contains("\"hooks\"")) {
        (Edit::Hook, true) => (edit, format!("\"Mine{number}\": [{{\"command\": \"mine\"}}]")),
        (Edit::Hook, false) => {
            (Edit::Last, format!("\"hooks\": {{\"Mine{number}\": [{{\"command\": \"mine\"}}]}}"))
        }
        _ => (edit, format!("\"mine{number}\": 1")),
    };
    let (before, after) = match edit {
        Edit::First => text.split_once('{').unwrap(),
        Edit::Last => text.rsplit_once('}').unwrap(),
        Edit::Hook => text.split_at(text.find("\"hooks\"").unwrap()),
    };
    match edit {
        Edit::First if after.trim_start().starts_with('}') => format!("{before}{{{item}{after}"),
        Edit::First => format!("{before}{{{item},{after}"),
        Edit::Last if before.trim_end().ends_with('{') => format!("{before}{item}}}{after}"),
        Edit::Last => format!("{},\n{item}}}{after}", before.trim_end()),
        Edit::Hook => {
            let (name, rest) = after.split_once('{').unwrap();
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            format!("{before}{name}{{{item}{comma}{rest}")
        }
    }
}

/// What a text says, without the version of the format, which a created file has.
fn said(text: &str, syntax: Syntax) -> json::Value {
    let mut value: json::Value = match syntax {
        Syntax::Json => json::from_str(text).unwrap(),
        Syntax::Toml => json::to_value(&toml::from_str::<toml::Table>(text).unwrap()).unwrap(),
    };
    value.as_object_mut().unwrap().remove("version");
    value
}

struct Orders {
    stage: Stage,
    host: Host,
    file: PathBuf,
    syntax: Syntax,
    edit: Edit,
    /// How many steps are taken.
    most: usize,
    settings: ApprovalSettings,
    /// The states from which as many steps were taken.
    seen: HashMap<String, usize>,
}

impl Orders {
    /// Does what is planned, without waiting for the disk as an act does.
    fn done(&self, acts: Result<Vec<Act>, InstallError>) {
        for act in acts.unwrap() {
            self.put(act.after.as_deref());
            self.record(act.record.as_ref());
        }
    }

    fn install(&self, program: &Program) {
        self.done(install(self.host, Level::User, &self.stage.places(), &self.stage.state(), program, &[]));
    }

    fn put(&self, text: Option<&str>) {
        match text {
            Some(text) => fs::write(&self.file, text).unwrap(),
            None => drop(fs::remove_file(&self.file)),
        }
    }

    fn record(&self, record: Option<&Record>) {
        let file = record::path(&self.stage.state(), self.host, &self.file);
        match record {
            Some(record) => fs::write(file, json::to_string(record).unwrap()).unwrap(),
            None => drop(fs::remove_file(file)),
        }
    }

    /// Takes each step from a file as the user has it, with what was done to it so far; `alone` is what it would be
    /// without lineside.
    fn walk(&mut self, done: &str, alone: Option<&str>) {
        let text = fs::read_to_string(&self.file).ok();
        let record = record::read(&self.stage.state(), self.host, &self.file);
        let left = self.most - done.len();
        let state = format!("{text:?} {alone:?} {record:?} {}", done.contains('e'));
        if left == 0 || self.seen.get(&state).is_some_and(|seen| *seen >= left) {
            return;
        }
        self.seen.insert(state, left);
        for step in STEPS {
            let done = format!("{done}{step}");
            let number = done.matches(step).count();
            let mut alone = alone.map(str::to_owned);
            match step {
                'i' => self.install(&Program::new("/opt/lineside").unwrap()),
                'e' => {
                    let text = fs::read_to_string(&self.file).ok();
                    self.put(Some(&edited(text.as_deref(), self.edit, self.syntax, number)));
                    alone = Some(edited(alone.as_deref(), self.edit, self.syntax, number));
                }
                'm' => {
                    let program = Program::new(format!("/opt/{}/lineside", number % 2)).unwrap();
                    self.install(&program.waiting(&self.settings));
                }
                _ => self.done(uninstall(self.host, Level::User, &self.stage.places(), &self.stage.state())),
            }
            let at = format!("{} {:?} {done}", self.host, self.edit);
            self.look(&at, step, alone.as_deref(), done.contains('e'));
            self.walk(&done, alone.as_deref());
            self.put(text.as_deref());
            self.record(record.as_ref());
        }
    }

    fn look(&self, at: &str, step: char, alone: Option<&str>, is_edited: bool) {
        let now = fs::read_to_string(&self.file).ok();
        let files = installed(self.host, Level::User, &self.stage.places()).unwrap();
        if step == 'u' {
            assert_eq!(files, [], "{at}");
            match is_edited {
                false => assert_eq!(now.as_deref(), alone, "{at}"),
                true => assert_eq!(
                    now.map(|text| said(&text, self.syntax)),
                    alone.map(|text| said(text, self.syntax)),
                    "{at}"
                ),
            }
            return;
        }
        let mut now = said(&now.unwrap(), self.syntax);
        let mut alone = alone.map_or_else(|| json::json!({}), |text| said(text, self.syntax));
        let both = [&mut now, &mut alone].map(|value| value.as_object_mut().unwrap().remove("hooks"));
        assert_eq!(now, alone, "{at}");
        let [now, alone] =
            both.map(|hooks| hooks.map_or(0, |hooks| hooks.to_string().matches("mine").count()));
        assert_eq!(now, alone, "{at}");
        if step == 'm' {
            assert_eq!(files[0].missing, [""; 0], "{at}");
            for (event, time) in &files[0].times {
                let needed = needed(self.host, event, &self.settings);
                assert!(needed.is_none_or(|needed| needed <= *time), "{at}: {event} {time:?} {needed:?}");
            }
        }
    }
}

#[test]
fn what_is_a_users_stays_in_every_order_of_installing_editing_and_uninstalling() {
    // HO-60 to HO-62
    let json = "{\n  \"own\": 1,\n  \"hooks\": {\n    \"Own\": [{\"command\": \"mine\"}]\n  }\n}\n";
    let toml = "own = 1\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n";
    for (host, file, there) in [
        (Host::Gemini, ".gemini/settings.json", json),
        (Host::Copilot, ".copilot/hooks/lineside.json", json),
        (Host::Kimi, ".kimi/config.toml", toml),
    ] {
        for (edit, most) in [(Edit::First, 3), (Edit::Last, 5), (Edit::Hook, 4)] {
            for there in [None, Some(there)] {
                let stage = Stage::new();
                let file = stage.path("home").join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::create_dir_all(stage.state().join("installed")).unwrap();
                let syntax = if host == Host::Kimi { Syntax::Toml } else { Syntax::Json };
                let settings = ApprovalSettings {
                    wait: Duration::from_secs(600),
                    of: WhoseAsks::All,
                    ..ApprovalSettings::default()
                };
                let mut orders =
                    Orders { stage, host, file, syntax, edit, most, settings, seen: HashMap::new() };
                orders.put(there);
                orders.walk("", there);
            }
        }
    }
}
