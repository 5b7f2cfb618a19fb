//! What can be wrong with a file or an entry, and where.

use std::error::Error as _;
use std::fmt;

use lineside_core::Strength;
use lineside_core::control::ControlError;
use lineside_core::matcher::CompileMatcherError;
use lineside_core::secret::{FillTemplateError, ReadTemplateError};
use lineside_guards::WordingError;

use crate::yaml::ReadYamlError;

pub(super) use crate::findings::Findings;

/// Why something is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("the file is not valid UTF-8")]
    NotUtf8,
    #[error("malformed YAML: {error}{}", remedy(.error))]
    Yaml { error: ReadYamlError },
    #[error("key `{0}` occurs twice in a mapping")]
    Duplicate(String),
    #[error("the file is not a mapping with the key `hooks`")]
    RootType,
    #[error("unknown key `{0}`, did you mean `hooks`?")]
    HooksKey(String),
    #[error("`hooks` is {0}, not a list of hooks, each of which begins with `- name:`")]
    HooksType(String),
    #[error(
        "`hooks` is a mapping with `{0}`, as an agent program has it, and here a list, each of which begins with `- name:`; `lineside \
         import` takes over what such a program has"
    )]
    HooksOfProgram(String),
    #[error("the entry is {0}, not a mapping")]
    EntryType(String),
    #[error("`use` is no key of a hook: it stands at the top of the file, beside `hooks`")]
    UseInEntry,
    #[error("there is no `{0}`, which every hook needs")]
    Missing(&'static str),
    #[error("a hook of this name stands on line {0} already")]
    SameName(u32),
    #[error("a policy that is used on line {0} has a hook of this name; give this one another name")]
    NameOfPolicy(u32),
    #[error("`{key}` is {found}, not {expected}")]
    Value { key: String, found: String, expected: String },
    #[error("`on` has no point `{wrong}`{}", nearest.map_or_else(String::new, |near| format!(", did you mean `{near}`?")))]
    Point { wrong: String, nearest: Option<&'static str> },
    #[error("`on` names `{0}` twice")]
    SamePoint(&'static str),
    #[error("there is nothing to run: one of `command`, `worker`, `post` and `verdict` is needed")]
    NothingToRun,
    #[error("there is `{0}` and no filter that it is about, such as `runs` or `deletes`")]
    NothingAsked(String),
    #[error("`{key}` is {found}, which is no such word{}", nearest.map_or_else(String::new, |near| format!(", did you mean `{near}`?")))]
    Word { key: String, found: String, nearest: Option<&'static str> },
    #[error("`{key}` is not a regular expression: {}", in_short(.detail))]
    Regex { key: String, detail: String },
    #[error("`{key}` is `{text}`, which matches nothing: {why}")]
    MatchesNothing { key: String, text: String, why: String },
    #[error("`{key}` looks at what no event of {points} has: the hook would never run")]
    NeverMatches { key: String, points: String },
    #[error("`verdict` is {verdict}, and at {point} a hook may say {allowed}")]
    VerdictAt { verdict: Strength, point: &'static str, allowed: &'static str },
    #[error(
        "`{0}` has no place beside `verdict`, `context` or `amend`: the hook answers at once and starts nothing"
    )]
    Started(&'static str),
    #[error("`{key}`: {error}")]
    Wording { key: String, error: WordingError },
    #[error(
        "an automation is not in shadow: its work has effects, and its result reaches the agent; say `mode: enforced`, or leave `automate` out"
    )]
    ShadowOfAutomation,
    #[error("`amend` has no place beside `verdict: {0}`: what is refused does not go on")]
    AmendsRefused(Strength),
    #[error("`amend` names `{field}`, and at {point} may be amended: {may}")]
    NotAmendable { field: String, point: &'static str, may: String },
    #[error("`use` has no policy `{wrong}`{}", nearest.map_or_else(String::new, |near| format!(", did you mean `{near}`?")))]
    Policy { wrong: String, nearest: Option<&'static str> },
    #[error("`use` names `{0}` twice")]
    PolicyTwice(String),
    #[error("`{0}` has no place here: the hook runs in the program that attaches")]
    RunsAttached(&'static str),
    #[error("`limit.at_once` counts what has an end, and nothing ends what {0} begins")]
    NoEnd(&'static str),
    #[error("there are both `{0}` and `{1}`, and a hook runs one thing")]
    TwoRuns(&'static str, &'static str),
    #[error(
        "`{key}` starts `{program}`, which in a file of the user would be a program of whatever project an event is \
         about: an absolute path is needed, or a name that is found in PATH"
    )]
    ProgramOfProject { key: &'static str, program: String },
    #[error(
        "`{key}` starts `{program}`, which no shell expands in a list: an absolute path is needed, or one line for the shell"
    )]
    NotExpanded { key: &'static str, program: String },
    #[error(
        "`{key}` is a list, and `{program}` its first item: each word is an item of its own, write [{words}]"
    )]
    OneItem { key: &'static str, program: String, words: String },
    #[error(transparent)]
    UnknownKey(#[from] UnknownKey),
    #[error("`{key}`: {error}")]
    Pattern { key: String, error: CompileMatcherError },
    #[error("`post.headers.{name}`: {error}; names of variables stand in `post.secrets`")]
    Template { name: String, error: ReadTemplateError },
    #[error("`post.headers.{name}`: {error}")]
    Fill { name: String, error: FillTemplateError },
    #[error("`post.secrets`: the variable `{0}` is not set")]
    Unset(String),
    #[error("`post.url` has a name or password in it, which belongs into `post.headers` as a secret")]
    UrlUser,
    #[error("there is no `{key}`, which `{of}` needs")]
    MissingIn { key: String, of: String },
    #[error("there are both `{0}` and `{1}`, of which one counts")]
    Both(&'static str, &'static str),
    #[error("{error}{}", .error.source().map(|source| format!(": {source}")).unwrap_or_default())]
    Control { error: ControlError },
    #[error("`amends` is true, but nothing can be amended at {0}")]
    NothingToAmend(String),
}

/// What does not keep a hook from loading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadWarning {
    #[error(transparent)]
    UnknownKey(#[from] UnknownKey),
    #[error("`{key}` has no effect: {why}")]
    NoEffect { key: &'static str, why: &'static str },
    #[error("`{key}` looks at what no event of {point} has: nothing ever matches there")]
    NeverMatches { key: String, point: &'static str },
    #[error(
        "`{key}` is `{pattern}`, which is compared as a name or a glob and not as a regular expression: several names are a list, such as [Shell, WriteFile]"
    )]
    NotAGlob { key: String, pattern: String },
    #[error("`{key}` is `{text}`, which is compared as a glob and not as a regular expression: {why}")]
    RegexAsGlob { key: String, text: String, why: &'static str },
    #[error(
        "`{key}` is `{pattern}`, which is no tool of an agent program that is known here, did you mean `{near}`?"
    )]
    NearTool { key: String, pattern: String, near: &'static str },
    #[error(
        "`{key}` is an argument that no agent program which is known here gives `{tool}`{}",
        nearest.map_or_else(|| ": nothing ever matches".to_owned(), |near| format!(", did you mean `{near}`?"))
    )]
    NoSuchArgument { key: String, tool: String, nearest: Option<&'static str> },
    #[error("`{key}` is `{pattern}`, which matches nothing: {why}")]
    NoSuchGlob { key: String, pattern: String, why: &'static str },
    #[error("`{key}` is {number}, which are milliseconds: {number} seconds are {number}000")]
    ShortTime { key: String, number: i128 },
    #[error("`post.secrets` lists `{0}`, which no header uses")]
    UnusedSecret(String),
    #[error(
        "`{key}` is refused: a lower layer only tightens, and this would loosen the hook of that name above"
    )]
    Loosens { key: &'static str },
    #[error(
        "`{key}` is refused: of a hook of a layer above only `timeout` can be shortened and `on_failure` become `block`; \
         a hook of your own has `on` and what it runs"
    )]
    Stays { key: &'static str },
}

/// The last line of what is wrong with a regular expression, which says it; those before it show where.
fn in_short(detail: &str) -> &str {
    let last = detail.trim_end().rsplit('\n').next().unwrap_or(detail);
    last.strip_prefix("error: ").unwrap_or(last)
}

/// What is as it should be, and may be meant otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadNote {
    #[error(
        "`{key}` is `{tool}`, the name of that tool in some agent programs; `{everywhere}` means it in all of them"
    )]
    ToolOfSome { key: String, tool: String, everywhere: &'static str },
}

/// What most likely helps against an error of the YAML.
fn remedy(error: &ReadYamlError) -> &'static str {
    if error.detail.contains("unknown escape") {
        "; in single quotes a backslash stands for itself"
    } else if error.detail.contains("tab") {
        "; indent with blanks"
    } else if ["did not find expected key", "mapping values are not allowed"]
        .iter()
        .any(|what| error.detail.contains(what))
    {
        "; a text that begins with `{` or has a colon and a blank in it stands in quotes"
    } else if error.detail.contains("anchor or alias") {
        "; a text that begins with `*` or `&` stands in quotes"
    } else {
        ""
    }
}

/// A key that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown key `{key}`{hint}", hint = .nearest.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
pub(super) struct UnknownKey {
    pub(super) key: String,
    pub(super) nearest: Option<&'static str>,
}

/// The hook that a finding is about.
pub(super) struct About<'a>(pub(super) &'a str);

impl fmt::Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook \"{}\"", self.0)
    }
}
