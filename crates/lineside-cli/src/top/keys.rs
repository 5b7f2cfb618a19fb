//! The keys: one table, from which a key is understood, the footer is made and the help is written.

use crossterm::event::KeyCode;

/// What is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sessions,
    Timeline,
    Decision,
    Approvals,
    Question,
    Jobs,
    Hooks,
    Help,
}

impl Kind {
    /// The word for it, in the path at the top and after `:`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Timeline => "timeline",
            Self::Decision => "decision",
            Self::Approvals => "approvals",
            Self::Question => "question",
            Self::Jobs => "jobs",
            Self::Hooks => "hooks",
            Self::Help => "help",
        }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Do {
    Move(isize),
    Page(isize),
    First,
    Last,
    Open,
    Back,
    Quit,
    Filter,
    Command,
    Go(Kind),
    Sort,
    Reverse,
    Tree,
    Allow,
    AllowSession,
    Deny,
    Retry,
    Drop,
}

/// A key.
pub(crate) struct Key {
    code: KeyCode,
    /// How it is written in the help; further keys for the same have none.
    shown: &'static str,
    pub(crate) what: &'static str,
    pub(crate) does: Do,
    /// Where it counts; everywhere when nothing is named.
    on: &'static [Kind],
    /// Whether the footer has it.
    is_usual: bool,
}

const LISTS: &[Kind] = &[Kind::Sessions, Kind::Timeline, Kind::Approvals, Kind::Jobs];
const ASKED: &[Kind] = &[Kind::Question];
const FILTERED: &[Kind] = &[Kind::Sessions, Kind::Timeline, Kind::Hooks];

const fn key(
    code: KeyCode,
    shown: &'static str,
    what: &'static str,
    does: Do,
    on: &'static [Kind],
    is_usual: bool,
) -> Key {
    Key { code, shown, what, does, on, is_usual }
}

use KeyCode::Char;

/// All of them, in the order of the help.
pub(crate) const KEYS: [Key; 33] = [
    key(KeyCode::Enter, "enter", "open", Do::Open, LISTS, true),
    key(Char('l'), "", "", Do::Open, LISTS, false),
    key(KeyCode::Esc, "esc", "back", Do::Back, &[], true),
    key(Char('h'), "", "", Do::Back, &[], false),
    key(KeyCode::Down, "↓ j", "down", Do::Move(1), &[], false),
    key(Char('j'), "", "", Do::Move(1), &[], false),
    key(KeyCode::Up, "↑ k", "up", Do::Move(-1), &[], false),
    key(Char('k'), "", "", Do::Move(-1), &[], false),
    key(KeyCode::PageDown, "pgdn space", "a page down", Do::Page(1), &[], false),
    key(Char(' '), "", "", Do::Page(1), &[], false),
    key(KeyCode::PageUp, "pgup", "a page up", Do::Page(-1), &[], false),
    key(KeyCode::Home, "home g", "the first", Do::First, &[], false),
    key(Char('g'), "", "", Do::First, &[], false),
    key(KeyCode::End, "end G", "the last", Do::Last, &[], false),
    key(Char('G'), "", "", Do::Last, &[], false),
    key(Char('/'), "/", "filter", Do::Filter, FILTERED, true),
    key(Char('s'), "s", "sort by the next column", Do::Sort, &[Kind::Sessions], true),
    key(Char('S'), "S", "the other way round", Do::Reverse, &[Kind::Sessions], false),
    key(Char('t'), "t", "the whole tree of the session", Do::Tree, &[Kind::Timeline], true),
    key(Char('y'), "y", "allow, this once", Do::Allow, ASKED, true),
    key(Char('Y'), "Y", "allow, in this session", Do::AllowSession, ASKED, true),
    key(Char('n'), "n", "deny", Do::Deny, ASKED, true),
    key(Char('r'), "r", "retry a dead job", Do::Retry, &[Kind::Jobs], true),
    key(Char('x'), "x", "drop a job", Do::Drop, &[Kind::Jobs], true),
    key(Char('1'), "1", "sessions", Do::Go(Kind::Sessions), &[], false),
    key(Char('2'), "2", "approvals", Do::Go(Kind::Approvals), &[], true),
    key(Char('3'), "3", "jobs", Do::Go(Kind::Jobs), &[], true),
    key(Char('4'), "4", "hooks", Do::Go(Kind::Hooks), &[], true),
    key(Char(':'), ":", "a command: sessions, approvals, jobs, hooks, quit", Do::Command, &[], false),
    key(Char('?'), "?", "help", Do::Go(Kind::Help), &[], true),
    key(KeyCode::F(1), "", "", Do::Go(Kind::Help), &[], false),
    key(Char('q'), "q", "quit", Do::Quit, &[], true),
    key(KeyCode::Backspace, "", "", Do::Back, &[], false),
];

impl Key {
    fn counts(&self, on: Kind) -> bool {
        self.on.is_empty() || self.on.contains(&on)
    }
}

/// What a key does there.
pub(crate) fn meaning(code: KeyCode, on: Kind) -> Option<Do> {
    KEYS.iter().find(|key| key.code == code && key.counts(on)).map(|key| key.does)
}

/// The keys that the footer names there, each with what it does in a word or two.
pub(crate) fn usual(on: Kind) -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_view = move |key: &&Key| key.is_usual && key.counts(on) && key.does != Do::Go(on);
    let short = |what: &'static str| match what {
        "sort by the next column" => "sort",
        "the whole tree of the session" => "tree",
        "retry a dead job" => "retry",
        "drop a job" => "drop",
        what => what,
    };
    KEYS.iter().filter(of_view).map(move |key| (key.shown, short(key.what)))
}

/// The keys of the help, each with where it counts.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let place = |key: &Key| key.on.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ");
    KEYS.iter().filter(|key| !key.shown.is_empty()).map(move |key| (key.shown, key.what, place(key)))
}

/// What a command after `:` does: the word of a view, or so much of it that it is the first of these.
pub(crate) fn command(word: &str) -> Option<Do> {
    let views = [Kind::Sessions, Kind::Approvals, Kind::Jobs, Kind::Hooks, Kind::Help].into_iter();
    let goes = views.map(|kind| (kind.word(), Do::Go(kind)));
    let quits = [("quit", Do::Quit)].into_iter();
    goes.chain(quits).find(|(known, _)| !word.is_empty() && known.starts_with(word)).map(|(_, does)| does)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_thing_on_each_view() {
        for kind in [Kind::Sessions, Kind::Timeline, Kind::Approvals, Kind::Question, Kind::Jobs, Kind::Hooks]
        {
            for key in KEYS.iter().filter(|key| key.counts(kind)) {
                assert_eq!(meaning(key.code, kind), Some(key.does), "{:?} on {kind:?}", key.code);
            }
        }
        assert_eq!(meaning(Char('y'), Kind::Approvals), None, "a question is read before it is answered");
    }

    #[test]
    fn a_command_is_the_beginning_of_a_word() {
        assert_eq!(command("ap"), Some(Do::Go(Kind::Approvals)));
        assert_eq!(command("q"), Some(Do::Quit));
        assert_eq!((command(""), command("x")), (None, None));
    }
}
