//! What a host has of its own beside its tables: one constant of each, and no branch on a host's name where they are used.

use std::fmt;
use std::path::PathBuf;

use lineside_core::Layer;
use lineside_core::json::Map;

use super::import::Syntax;
use super::program::Host;
use super::table::Row;
use crate::dialect::Places;

/// What is a host's own.
pub(super) struct Quirks {
    pub(super) documents: Documents,
    pub(super) turns: Turns,
    pub(super) entries: Entries,
    pub(super) settings: Settings,
}

/// The documents that a host sends, and what it hears.
pub(super) struct Documents {
    /// Whether a document is of this host, by itself and the entry through which it came (HO-45).
    pub(super) is_own: fn(Host, &Map) -> bool,
    /// The table of an event, where it is not the first of the host.
    pub(super) table: fn(&str, &Map) -> Option<&'static [Row]>,
    /// The name by which the host knows an event that it calls by another program's (HO-45).
    pub(super) own_name: fn(&str) -> Option<String>,
    /// Whether the argument says which event it is, before the document.
    pub(super) is_named_by_argument: bool,
    /// The event of a document that names none (CX-3).
    pub(super) unnamed: fn(&Map) -> Option<String>,
    /// The fields that name the session.
    pub(super) session: &'static [&'static str],
    /// The fields that name the subagent that an event of its parent is about.
    pub(super) child: &'static [&'static str],
    /// Whether a subagent's session is below the one that `parent_agent_id` names.
    pub(super) names_parent: bool,
    /// Whether an event of this name has the model.
    pub(super) names_model: fn(&str) -> bool,
    /// Whether `timestamp` is when it happened.
    pub(super) names_time: bool,
    /// The field with the folders of the project, of which the first is its root.
    pub(super) project: Option<&'static str>,
    /// Whether an event that the catalogue has not, and of which no field is known, hands its fields on as they are.
    pub(super) hands_on_unknown: bool,
    /// The fields of a call: its tool's name, its input and its id.
    pub(super) call: [&'static str; 3],
    /// What is printed where there is nothing to say.
    pub(super) quiet: &'static str,
}

/// How a host tells of turns.
pub(super) struct Turns {
    /// Whether a prompt may overtake the start of its session (CP-9).
    pub(super) prompt_overtakes_start: bool,
    /// Whether the first prompt after a start begins with the context of that.
    pub(super) first_prompt_has_context: bool,
    /// Whether the reason of a block comes back as a prompt.
    pub(super) reasons_come_back: bool,
    /// Whether the reports of tasks come as prompts (CL-33).
    pub(super) reports_are_prompts: bool,
    /// Whether the events of a subagent are named as the main agent's, and which are by a document (KI-21).
    pub(super) is_subagents_prompt: Option<fn(&Map) -> bool>,
    /// How far it is to be believed whether an earlier block keeps an agent working.
    pub(super) active: Active,
}

/// Who knows whether an earlier block keeps an agent working (HO-9, HO-32).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Active {
    /// The host.
    Theirs,
    /// The host, where it says that one does.
    TheirsIfSo,
    /// Ourselves, at the end of the main agent.
    Ours,
}

/// Our entries, as a host reads them.
pub(super) struct Entries {
    /// What each handler begins with.
    pub(super) start: &'static str,
    /// Whether the program's arguments stand beside it, in a file of one program alone.
    pub(super) has_arguments: bool,
    /// Whether the event is one of the arguments.
    pub(super) names_event: bool,
    /// The field of the limit.
    pub(super) limit: &'static str,
    /// Whether the limit is in milliseconds.
    pub(super) in_milliseconds: bool,
    /// Points at which the host cuts the limit, and to how many seconds (HO-71).
    pub(super) cut: Option<(&'static [&'static str], u32)>,
    /// Whether the handler at the end of an agent has a `loop_limit`.
    pub(super) has_loop_limit: bool,
    /// Whether a handler stands in a group.
    pub(super) is_grouped: bool,
    pub(super) closing: Closing,
    /// Whether the handlers are one list, of which each names its event.
    pub(super) is_one_list: bool,
    /// The events of the files of this host that have not all.
    pub(super) of_usual: fn(&str) -> bool,
}

/// What keeps a gate closed when the program of an entry is gone, is killed or fails: what a host makes of that by itself
/// is to go on (HO-73).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// The host refuses by itself.
    Itself,
    /// A member of the handler, and its value.
    Member(&'static str, &'static str),
    /// The end of the shell line: the shell refuses in the program's place.
    Line(&'static str),
}

/// The files with our entries, and those that switch them off.
pub(super) struct Settings {
    /// The variables by which the program is led to another folder of settings of the user.
    pub(super) variables: &'static [&'static str],
    /// Those in which entries are written.
    pub(super) ours: &'static [OurFile],
    /// Settings that may switch all hooks off and are no files of hooks to the import, the strongest first.
    pub(super) switches: &'static [Place],
    pub(super) strictness: Strictness,
    /// A whole file that is the entry.
    pub(super) plugin: Option<&'static str>,
}

/// A file in which entries are written.
pub(super) struct OurFile {
    pub(super) level: Level,
    pub(super) place: Place,
    pub(super) kind: FileKind,
    pub(super) syntax: Syntax,
    /// The version that the file begins with.
    pub(super) version: Option<u32>,
    /// Whether no other program writes it.
    pub(super) is_ours: bool,
}

/// Where a file of a host is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Where the import finds it, among the sources with the name of the level.
    Imported,
    /// In the folder of the user that a variable names, or else in this one of the home.
    Home { variable: &'static str, folder: &'static str, file: &'static str },
    /// In the folder of the user's configuration.
    Configuration(&'static str),
    /// In the project.
    Project(&'static str),
    /// On the machine.
    Machine(&'static str),
}

/// Whose agents an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All of the user.
    User,
    /// Those of a project.
    Project,
}

/// A file's kind, where a host has files with different events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// The only one of its host, or that of Kimi CLI.
    Usual,
    /// That of Kimi Code.
    KimiCode,
    /// One whose entries another program runs as well: that of Claude Code in a project, of whose entries Copilot passes no
    /// arguments on, and names some of its events in the entry alone (CP-26).
    Shared,
    /// That of a project of a program that runs the entry of the user as well, and gives its calls no id (CP-27).
    Beside,
}

/// What stands behind the event in an entry of [`FileKind::Beside`].
pub(super) const OF_PROJECT: &str = "@project";

/// What a program makes of a file that we could edit.
pub(super) struct Strictness {
    /// Whether it passes over comments in JSON. None passes over a comma behind the last item.
    pub(super) comments: bool,
    /// Whether it passes over a byte order mark.
    pub(super) mark: bool,
    /// Settings whose type it checks, each at the price of the file.
    pub(super) types: &'static [(&'static str, Type)],
    /// Whether a hook of a wrong type costs the file, and not that hook alone.
    pub(super) whole: bool,
    /// What stands among the events and is none.
    pub(super) no_event: &'static [&'static str],
}

/// The type of a setting.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Type {
    Boolean,
    Number,
    Object,
    Text,
}

/// A refusal with a reason, without which some hosts go on. Every shell reads it, also one of a person's own choice; the
/// braces and variables of `sh` are not known to all.
pub(super) const REFUSAL: &str = r#" || sh -c 'echo "lineside hook failed, so this was denied; repair it with: lineside doctor" >&2; exit 2'"#;

impl Closing {
    /// By a refusal with a reason.
    pub(super) const REFUSAL: Self = Self::Line(REFUSAL);
}

impl Level {
    /// Its name, as the argument of the command has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Place {
    /// The file; nothing where the home is not known, and for what the import alone finds.
    pub(super) fn file(self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Imported => None,
            Self::Home { variable, folder, file } => Some(places.folder(variable, folder)?.join(file)),
            Self::Configuration(file) => Some(places.configuration()?.join(file)),
            Self::Project(file) => Some(places.work_dir().join(file)),
            Self::Machine(file) => Some(file.into()),
        }
    }

    pub(super) fn layer(self) -> Layer {
        match self {
            Self::Imported | Self::Home { .. } | Self::Configuration(_) => Layer::User,
            Self::Project(_) => Layer::Project,
            Self::Machine(_) => Layer::Managed,
        }
    }
}

impl Documents {
    /// As most hosts have them.
    pub(super) const USUAL: Self = Self {
        is_own: |_, _| false,
        table: |_, _| None,
        own_name: |_| None,
        is_named_by_argument: false,
        unnamed: |_| None,
        session: &["session_id", "sessionId"],
        child: &["agent_id", "agentId"],
        names_parent: false,
        names_model: |_| true,
        names_time: true,
        project: None,
        hands_on_unknown: true,
        call: ["tool_name", "tool_input", "tool_use_id"],
        quiet: "",
    };
}

impl Turns {
    /// As most hosts have them.
    pub(super) const USUAL: Self = Self {
        prompt_overtakes_start: false,
        first_prompt_has_context: false,
        reasons_come_back: false,
        reports_are_prompts: false,
        is_subagents_prompt: None,
        active: Active::Theirs,
    };
}

impl Entries {
    /// As most hosts have them.
    pub(super) const USUAL: Self = Self {
        start: r#""type":"command","#,
        has_arguments: false,
        names_event: false,
        limit: "timeout",
        in_milliseconds: false,
        cut: None,
        has_loop_limit: false,
        is_grouped: true,
        closing: Closing::Itself,
        is_one_list: false,
        of_usual: |_| true,
    };
}

impl Strictness {
    /// As most hosts have it.
    pub(super) const USUAL: Self =
        Self { comments: false, mark: false, types: &[], whole: true, no_event: &[] };
}

impl OurFile {
    /// The one that the import reads at a level, in JSON.
    pub(super) const fn imported(level: Level) -> Self {
        Self {
            level,
            place: Place::Imported,
            kind: FileKind::Usual,
            syntax: Syntax::Json,
            version: None,
            is_ours: false,
        }
    }

    /// Those that the import reads at both levels.
    pub(super) const IMPORTED: &'static [Self] =
        &[Self::imported(Level::User), Self::imported(Level::Project)];
}
