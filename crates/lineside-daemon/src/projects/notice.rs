//! What an agent hears once in a project that no person has trusted, and in such a folder within one that was: that its
//! hooks do not run, and what to do.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside::bus::interceptor::{BoxFuture, Interceptor};
use lineside::bus::{Cx, Installed};
use lineside::core::envelope::Source;
use lineside::core::payload::Point as _;
use lineside::core::{Answer, AnyEvent, Failure, Hook, Layer, Notice, OnFailure, Part, Response, SessionId};
use lineside::points::{BeforePrompt, BeforeSession, BeforeTool};
use lineside::trust::command;

/// What it is installed as.
pub(super) const NAME: &str = "trust";

/// What the hooks about folders within it are installed as.
pub(super) const WITHIN: &str = "trust-within";

/// How many sessions are remembered that have heard it; beyond that, all may hear it once more.
const SESSIONS: usize = 4_096;

/// The hooks that say so.
pub(super) fn of(root: &Path) -> Vec<Installed> {
    let once = Arc::new(Once { text: text(root), heard: Mutex::default() });
    installed(&(once as Arc<dyn Interceptor>))
}

/// The hooks that say so of folders within a trusted project.
pub(super) fn within(told: &Arc<Within>) -> Vec<Installed> {
    installed(&(Arc::clone(told) as Arc<dyn Interceptor>))
}

fn installed(run: &Arc<dyn Interceptor>) -> Vec<Installed> {
    let installed = |point| {
        let hook = Hook::native(NAME, Part::Gate)
            .source(Arc::from("lineside"))
            .layer(Layer::Project)
            // Before anything that may end the event.
            .priority(i32::MAX)
            .on_failure(OnFailure::Continue)
            .timeout(Duration::from_secs(1));
        Installed { point, hook, run: Arc::clone(run) }
    };
    [BeforeSession::INFO, BeforePrompt::INFO, BeforeTool::INFO].map(installed).into()
}

/// The name of a folder, which may be a stranger's.
fn shown(root: &Path) -> String {
    root.display().to_string().chars().map(visible).collect()
}

/// How a person trusts it.
fn says(root: &Path) -> String {
    command(root).chars().map(visible).collect()
}

/// What is said of such a project.
pub(super) fn text(root: &Path) -> String {
    let (root, says) = (shown(root), says(root));
    format!("the hooks of {root} do not run: no person has trusted them; look at them and say: {says}")
}

/// A character of a name, where one that cannot be seen stands as its escape.
fn visible(sign: char) -> String {
    if sign.is_control()
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    {
        sign.escape_default().to_string()
    } else {
        sign.to_string()
    }
}

/// Sessions that are to hear of a folder within their project, each with the text.
#[derive(Default)]
pub(super) struct Within(Mutex<Told>);

#[derive(Default)]
struct Told {
    waiting: HashMap<SessionId, String>,
    /// The folders of which the sessions of a tree have heard.
    heard: HashSet<(SessionId, PathBuf)>,
}

impl Within {
    /// Has a session hear of a folder within this project, unless one of its tree has heard of it.
    pub(super) fn tell(&self, source: &Source, inner: &Path, outer: &Path) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.heard.len() >= SESSIONS {
            *told = Told::default();
        }
        if told.heard.insert((source.root_session.clone(), inner.to_path_buf())) {
            let (inner, outer, says) = (shown(inner), shown(outer), says(inner));
            let text = format!(
                "the hooks of {inner} do not run: no person has trusted them, and what works there is under those of \
                 {outer}; look at them and say: {says}"
            );
            told.waiting.insert(source.session.clone(), text);
        }
    }
}

impl Interceptor for Within {
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = told.waiting.remove(&event.envelope().source.session);
        let notices = text.into_iter().map(Notice::warning).collect();
        Box::pin(std::future::ready(Ok(Answer { notices, ..Answer::default() }.into())))
    }
}

struct Once {
    text: String,
    heard: Mutex<HashSet<SessionId>>,
}

impl Interceptor for Once {
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() >= SESSIONS {
            heard.clear();
        }
        let is_first = heard.insert(event.envelope().source.root_session.clone());
        let notices = if is_first { vec![Notice::warning(self.text.clone())] } else { Vec::new() };
        Box::pin(std::future::ready(Ok(Answer { notices, ..Answer::default() }.into())))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_of_a_folder_breaks_no_line_and_turns_no_text() {
        let told = super::text(std::path::Path::new("/a\nlineside off\u{1b}[2J\u{202e}b"));
        assert!(told.contains(r"/a\nlineside off\u{1b}[2J\u{202e}b do not run"), "{told}");
    }

    use lineside::Bus;
    use lineside::json::json;

    use super::*;

    #[tokio::test]
    async fn what_a_session_has_heard_once_it_hears_again_after_many_others() {
        let bus = Bus::new();
        let scope = bus.scope();
        scope.install_all([(NAME, of(Path::new("/p")))]).unwrap();
        let session = async |id: usize| bus.session(id.to_string()).scope(&scope).open().await.unwrap();
        let hears = async |session: lineside::Session| {
            let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
            !decision.notices().is_empty()
        };
        let first = session(0).await;
        assert!(hears(first.clone()).await && !hears(first.clone()).await);
        for id in 1..=SESSIONS {
            assert!(hears(session(id).await).await);
        }
        assert!(hears(first).await);
    }
}
