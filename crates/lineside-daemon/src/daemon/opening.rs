//! A session that is to be opened: what is asked for, and whether that may be kept.

use std::path::PathBuf;
use std::sync::Arc;

use lineside::core::envelope::Source;
use lineside::core::{Agent, Attribution, Model};
use lineside::{Bus, Session};

use crate::closed::OpenedBy;
use crate::elsewhere::machine;
use crate::problem::Problem;
use crate::shares::Tree;

/// A session that is to be opened.
#[derive(Clone, Default)]
pub(crate) struct Opening {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// The parent where it was found above the caller; it may have ended.
    pub(crate) above: Option<Session>,
    pub(crate) agent: Option<Agent>,
    pub(crate) project_root: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<Model>,
    pub(crate) host: Option<String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) connection: Option<Arc<str>>,
    pub(crate) attribution: Option<Attribution>,
    /// Where the process works that asks for it, for a session that does not say so of itself.
    pub(crate) work: Option<PathBuf>,
    /// The tree of processes that asks for it.
    pub(crate) tree: Option<Tree>,
    pub(crate) by: OpenedBy,
}

impl Opening {
    /// The id of its parent, if that is to be opened first.
    pub(super) fn parent_to_open(&self, bus: &Bus) -> Option<String> {
        let parent = self.parent.as_ref().filter(|_| self.above.is_none())?;
        bus.find(parent).is_none().then(|| parent.clone())
    }

    /// Whether everything of it is short: it is kept for as long as the session is open.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.id.is_empty() {
            return Err(Problem::bad_request("the `id` of a session must not be empty").blocks());
        }
        let agent = self.agent.as_ref();
        let model = self.model.as_ref();
        let texts = [
            ("id", Some(self.id.as_str()), Source::LONGEST_NAME),
            ("parent", self.parent.as_deref(), Source::LONGEST_NAME),
            ("agent.id", agent.map(|agent| &*agent.id), Source::LONGEST_NAME),
            ("agent.type", agent.and_then(|agent| agent.role.as_deref()), Source::LONGEST_NAME),
            ("model.selected", model.and_then(|model| model.selected.as_deref()), Source::LONGEST_NAME),
            ("model.running", model.and_then(|model| model.running.as_deref()), Source::LONGEST_NAME),
            ("host", self.host.as_deref(), Source::LONGEST_NAME),
            ("traceparent", self.traceparent.as_deref(), Source::LONGEST_NAME),
            ("project_root", self.project_root.as_deref(), Source::LONGEST_PATH),
            ("cwd", self.cwd.as_deref(), Source::LONGEST_PATH),
        ];
        for (name, text, most) in texts {
            if let Some(length) = text.map(str::len).filter(|length| *length > most) {
                let detail =
                    format!("`{name}` of the session has {length} bytes, at most {most} are possible");
                return Err(Problem::bad_request(detail).blocks());
            }
        }
        Ok(())
    }

    /// What is below a session of another machine works here, and nothing above it says where.
    pub(super) fn works_here_below(&mut self, parent: &Session) {
        if machine(parent).is_some() && self.project_root.is_none() && self.cwd.is_none() {
            self.cwd = self.work.as_ref().map(|work| work.to_string_lossy().into_owned());
        }
    }
}
