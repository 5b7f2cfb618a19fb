//! From where a call of an agent program comes, and who answers what hooks ask about it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_bus::Session;
use lineside_bus::approver::Approver;
use lineside_bus::session::Quota;
use lineside_core::envelope::Attribution;
use lineside_dialects::hosts::serve::Holds;

/// Whose an open session is that no call has opened.
type Owns = dyn Fn(&Session) -> Ownership + Send + Sync;

/// From where a call comes, as far as its document does not say so.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOrigin {
    /// The session whose process has started the host: new sessions of the host are children of it, under its hooks.
    pub parent: Option<Session>,
    /// Whether the host may act below that session alone.
    pub confined: Confinement,
    /// The time in which the call has to be decided, from its arrival; that of the bus without it.
    pub within: Option<Duration>,
    /// The connection that it came over.
    pub connection: Option<Arc<str>>,
    /// Where the process of the call works, where that is known.
    pub work: Option<PathBuf>,
    /// Folders of projects that the host's session was in before, where it is opened anew.
    pub projects: Vec<PathBuf>,
    /// What has held the host's session before, where that is no longer known.
    pub holds: Option<Holds>,
    /// How the place of new sessions was found.
    pub attribution: Option<Attribution>,
    /// What the sessions of the host count in, where they are below none.
    pub quota: Option<Quota>,
    /// Who answers what hooks ask about it, and of which questions that is asked.
    pub asks: Option<(Arc<dyn Approver>, WhichAsks)>,
    /// Whose an open session under the host's id, or under that of a subagent, is that no call has opened; without this each
    /// is the host's.
    pub owns: Option<Arc<Owns>>,
}

/// Which questions are put to another one than the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhichAsks {
    /// Those that the host cannot put to a person.
    #[default]
    Unattended,
    /// All of them.
    All,
}

/// Whose an open session is that stands under an id of a host, and that no call has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The host's; under the id of a subagent it is ended, and the host has one of its own.
    OfHost,
    /// A stranger's: it is ended, and the host has one of its own.
    OfStranger,
    /// Another program's, which it stays: the call is refused.
    OfOther,
}

/// How far a host reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confinement {
    /// To every session of the bus.
    #[default]
    No,
    /// To sessions below its parent.
    ToParent,
}
