//! What a format of a host says of itself.

use std::borrow::Cow;

use lineside_core::ensemble::{Pace, Sees};
use lineside_core::outcome::FromHook;
use lineside_core::{Amendment, Answer, AnyEvent, Failure};

use super::entry::{Entry, Handler};
use super::fields::{Fields, Refused};
use super::heard::Heard;
use super::matcher::Matcher;
use super::source::Source;
use crate::dialect::{Places, Watched};
use crate::handler::{HandedOn, Returned};
use crate::hosts::program::Host;
use crate::hosts::table::Row;
use crate::hosts::tools::Column;
use crate::tree::Node;

/// What is fixed of a format.
pub(crate) struct Profile {
    /// The host.
    pub(crate) host: Host,
    /// The tables of its events.
    pub(crate) tables: &'static [&'static [Row]],
    /// How hooks are listed.
    pub(crate) shape: Shape,
    /// Which hooks for one event with one key are one handler, of which the first runs.
    pub(crate) same: Same,
    /// Keys beside the events that are none.
    pub(crate) no_events: &'static [&'static str],
    /// The value that `version` must have.
    pub(crate) version: Option<u64>,
    /// The keys of an answer and of the object within it; none where unknown ones are refused.
    pub(crate) answer_keys: &'static [&'static str],
    /// The beginnings of the names of variables by which other hosts mark themselves.
    pub(crate) foreign_variables: &'static [&'static str],
    /// Whether its hooks hand variables on to later ones of the same session.
    pub(crate) shares_variables: bool,
    /// Whether the reason of a block is that of all hooks that block.
    pub(crate) joins_reasons: bool,
}

impl Profile {
    /// A format of which nothing else is to be said.
    pub(crate) const fn new(host: Host, tables: &'static [&'static [Row]], shape: Shape) -> Self {
        Self {
            host,
            tables,
            shape,
            same: Same::Never,
            no_events: &[],
            version: None,
            answer_keys: &[],
            foreign_variables: &[],
            shares_variables: false,
            joins_reasons: false,
        }
    }
}

/// Variables that a host gives to its hooks, with their values.
pub(crate) type Variables = [(&'static str, String)];

/// A format of hooks in the files of a host.
pub(crate) trait Format: Sync {
    /// What is fixed of it.
    fn profile(&self) -> &'static Profile;

    /// All rows of its tables.
    fn rows(&self) -> Box<dyn Iterator<Item = &'static Row>> {
        Box::new(self.profile().tables.iter().copied().flatten())
    }

    /// The table of a file.
    fn table(&self, source: &Source, event: &str) -> &'static [Row] {
        let _ = (source, event);
        self.profile().tables.first().copied().unwrap_or_default()
    }

    /// The files in plan order.
    fn sources(&self, places: &Places) -> Vec<Source>;

    /// Folders in which files may appear.
    fn folders(&self, places: &Places) -> Vec<Watched> {
        let _ = places;
        Vec::new()
    }

    /// Which hooks are switched off by these files.
    fn switches(&self, files: &[(Source, Node)]) -> Switches {
        let _ = files;
        Switches::default()
    }

    /// A warning about these files together.
    fn warning(&self, files: &[(Source, Node)], at: usize) -> Option<String> {
        let _ = (files, at);
        None
    }

    /// Reads a handler.
    ///
    /// # Errors
    /// It cannot be loaded, or is not to be.
    fn handler(&self, fields: Fields<'_>, at: &At<'_>) -> Result<Handler, Refused>;

    /// Changes what depends on all hooks of the host together.
    fn adjust(&self, entries: &mut [Entry]) {
        let _ = entries;
    }

    /// The matcher of a text that is not empty.
    ///
    /// # Errors
    /// It does not compile.
    fn matcher(&self, at: &At<'_>, text: &str) -> Result<Matcher, String>;

    /// What becomes of a matcher that does not compile; `None` for an error that costs its hooks.
    fn instead(&self, text: &str) -> Option<Matcher> {
        let _ = text;
        None
    }

    /// The words in which a hook knows tools.
    fn column(&self, at: &At<'_>) -> Column {
        let _ = at;
        Column::of(self.profile().host)
    }

    /// What a matcher is tested on at an event.
    fn subject<'a>(&self, entry: &Entry, row: &Row, event: &'a AnyEvent) -> Subject<'a>;

    /// Whether an event that this row stands for is one for the hook, apart from its matcher.
    fn is_for(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> bool {
        let _ = (entry, row, event);
        true
    }

    /// Hosts that read the file of a hook by themselves (HO-39).
    fn read_by(&self, source: &Source) -> &'static [Host] {
        let _ = source;
        std::slice::from_ref(&self.profile().host)
    }

    /// What its hooks run one after another; at once by default.
    fn pace(&self, point: &str, is_sequential: bool) -> Pace {
        let _ = (point, is_sequential);
        Pace::AtOnce
    }

    /// Which payload a hook is shown when they run one after another.
    fn sees(&self, point: &str) -> Sees {
        let _ = point;
        Sees::Amended
    }

    /// What amendments come to where they are merged into one.
    fn merged(&self, point: &str, event: &AnyEvent, given: &[FromHook<Answer>]) -> Option<Amendment> {
        let _ = (point, event, given);
        None
    }

    /// The groups of one event: hooks of a later one run after those of an earlier one.
    fn rank(&self, entry: &Entry) -> u8 {
        let _ = entry;
        0
    }

    /// What a hook reads on its standard input.
    fn document(&self, entry: &Entry, row: &Row, event: &AnyEvent) -> Vec<u8>;

    /// The variables that a hook has beside those of the runtime (HO-56).
    fn variables(&self, event: &AnyEvent) -> Vec<(&'static str, String)> {
        let _ = event;
        Vec::new()
    }

    /// Those of them that stand for the root of the project. For a hook of a project that is the one which has its file, in
    /// whatever folder of it an agent works: so it is known before there is an event which file they name.
    fn variables_of_project(&self) -> &'static [&'static str] {
        &[]
    }

    /// Those that stand for the folder in which an agent works: before there is an event, that is the root.
    fn variables_of_folder(&self) -> &'static [&'static str] {
        &[]
    }

    /// The line of a shell or an argument, with the references of the host to these variables replaced.
    fn expanded<'a>(&self, text: &'a str, is_line: bool, variables: &Variables) -> Cow<'a, str> {
        let _ = (is_line, variables);
        Cow::Borrowed(text)
    }

    /// The variable that names a file in which a hook may leave assignments for later ones.
    fn assignments_variable(&self, entry: &Entry) -> Option<&'static str> {
        let _ = entry;
        None
    }

    /// What a hook hands on to later ones, from what came of its run and from what it has left in its file.
    fn handed_on(&self, entry: &Entry, returned: &Returned, assignments: &str) -> HandedOn {
        let _ = (entry, returned, assignments);
        HandedOn::default()
    }

    /// What came of a run to what it says.
    ///
    /// # Errors
    /// The hook failed.
    fn read(&self, entry: &Entry, row: &Row, event: &AnyEvent, heard: &Heard) -> Result<Answer, Failure>;
}

/// How hooks are listed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// By event, in groups with a matcher.
    Groups,
    /// By event.
    Flat,
    /// By event, with or without groups.
    Either,
    /// In one list; each names its event.
    List,
}

/// Where hooks with one key are one handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    /// Nowhere.
    Never,
    /// In one file.
    InOneFile,
    /// In different files.
    AcrossFiles,
    /// Anywhere.
    Anywhere,
}

impl Same {
    /// Whether two hooks that match an event are the same handler, the later one of which does not run.
    pub(super) fn holds(self, earlier: &Entry, later: &Entry) -> bool {
        let of_place = match self {
            Self::Never => false,
            Self::InOneFile => earlier.file == later.file,
            Self::AcrossFiles => earlier.file != later.file,
            Self::Anywhere => true,
        };
        of_place && earlier.event == later.event && earlier.handler.key == later.handler.key
    }
}

/// Where a handler stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) places: &'a Places,
    pub(crate) source: &'a Source,
    pub(crate) event: &'a str,
}

/// What a matcher is tested on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    /// Nothing: the hook runs.
    Ignored,
    /// One of these texts; one hit is enough.
    Any(Vec<Cow<'a, str>>),
}

impl<'a> Subject<'a> {
    /// A text.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Any(vec![text.into()])
    }

    /// The names of the tool of an event, as a format knows it (HO-16).
    pub(crate) fn tool(column: Column, event: &'a AnyEvent) -> Self {
        let Some(seen) = crate::hosts::tools::Seen::by(column, event) else { return Self::Any(Vec::new()) };
        Self::Any(std::iter::once(seen.name).chain(seen.host_name).map(Cow::Borrowed).collect())
    }

    /// A field of the payload, else one that the host has sent beside it.
    pub(crate) fn field(event: &'a AnyEvent, ours: &str, theirs: &str) -> Self {
        let beside = || event.envelope().extra.as_ref().and_then(|extra| extra.get(theirs)?.as_str());
        let kind = || event.payload_json().get(ours).and_then(lineside_core::json::Value::as_str);
        Self::text(event.payload().text(ours).or_else(kind).or_else(beside).unwrap_or_default())
    }
}

/// Which hooks are switched off.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    /// Those of these files, by their place in plan order.
    pub(crate) files: Vec<usize>,
    /// Those of these names, and those without a name of these commands.
    pub(crate) names: Vec<String>,
}

impl Switches {
    /// All files for which this holds.
    pub(crate) fn files(files: &[(Source, Node)], mut off: impl FnMut(&Source, &Node) -> bool) -> Self {
        let all = files.iter().enumerate().filter(|(_, (source, node))| off(source, node));
        Self { files: all.map(|(at, _)| at).collect(), names: Vec::new() }
    }
}
