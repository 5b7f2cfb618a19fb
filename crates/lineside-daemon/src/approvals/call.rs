//! The questions about one call of an agent program, from the hooks to the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lineside::Session;
use lineside::bus::approver::{Approver, Asked, Question, Waiting};
use lineside::core::Approval;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::recorded::Recorded;
use super::view::View;
use super::{NoRoom, Taken, granted};
use crate::daemon::Daemon;
use crate::lineage::Process;
use crate::shares::Tree;

/// How long before the end of its call a question is over, so that the agent program receives what it came to.
const EARLIER: Duration = Duration::from_millis(500);
/// A question that a person has less time for is not put.
const SHORTEST: Duration = Duration::from_secs(1);

/// A call whose questions may wait.
pub(crate) struct OfCall {
    daemon: Arc<Daemon>,
    call: Option<Arc<str>>,
    until: Option<Instant>,
    root: Arc<str>,
    by: By,
    has_noted: AtomicBool,
    left: CancellationToken,
}

/// Who makes a call.
#[derive(Clone, Copy)]
enum By {
    /// An agent program: its process, and the tree that it is in.
    Agent(Option<Process>, Option<Tree>),
    /// A program that publishes events itself, by the number of its process. It is looked at only where hooks ask.
    Publisher(Option<Process>),
}

impl OfCall {
    /// A call in the session of this main agent and its process, which has to be answered until then.
    pub(crate) fn new(
        daemon: &Arc<Daemon>,
        (root, process, tree): (&str, Option<Process>, Option<Tree>),
        call: Option<&str>,
        until: Option<Instant>,
    ) -> Arc<Self> {
        let call = call.filter(|call| Recorded::is_name(call)).map(Arc::from);
        Self::by(daemon, (root, By::Agent(process, tree)), call, until)
    }

    /// An event that a program publishes in the tree of this session, which has to be decided until then.
    pub(crate) fn of_publisher(
        daemon: &Arc<Daemon>,
        (root, peer): (&str, Option<Process>),
        until: Option<Instant>,
    ) -> Arc<Self> {
        Self::by(daemon, (root, By::Publisher(peer)), None, until)
    }

    fn by(
        daemon: &Arc<Daemon>,
        (root, by): (&str, By),
        call: Option<Arc<str>>,
        until: Option<Instant>,
    ) -> Arc<Self> {
        let (daemon, root) = (Arc::clone(daemon), root.into());
        let (has_noted, left) = (AtomicBool::new(false), CancellationToken::new());
        Arc::new(Self { daemon, call, until, root, by, has_noted, left })
    }

    /// The process whose call it is, and its tree, noted as one below which nothing answers: what it has started meanwhile is
    /// known for that from here on.
    fn noted(&self, session: Option<&Session>) -> (Option<Process>, Option<Tree>) {
        let agents = &self.daemon.agents;
        match self.by {
            By::Agent(process, tree) => {
                if session.is_some() {
                    agents.note(&self.root, session, process);
                    self.has_noted.store(true, Ordering::Relaxed);
                }
                (process, tree)
            }
            By::Publisher(peer) => {
                let process = peer.filter(|peer| !peer.is_own() && peer.is_alive());
                // Before it is noted, by which it would not be known any more.
                let tree = agents.tree_as_agent(peer, process);
                // A helper may publish for the program that has opened the session.
                let opened = session.and_then(|session| agents.opened_by(session)).filter(|by| by.is_alive());
                for process in process.into_iter().chain(opened) {
                    agents.note_agent(&self.root, process, true);
                }
                (process, tree)
            }
        }
    }

    /// Whether the process of its agent is known already.
    pub(crate) fn has_noted(&self) -> bool {
        self.has_noted.load(Ordering::Relaxed)
    }

    /// Cancelled when it waits and the daemon ends: an agent program asks the next one.
    pub(crate) fn left(&self) -> &CancellationToken {
        &self.left
    }
}

impl Approver for OfCall {
    fn ask(&self, question: Question) -> Asked {
        let approvals = &self.daemon.approvals;
        let Some(settings) = approvals.settings() else { return Asked::Left };
        let session = self.daemon.bus().find(&self.root);
        let of = granted::Of::new(&question, session.clone());
        if let Some(approval) = approvals.granted(&of) {
            return Asked::Answered(approval);
        }
        let (process, tree) = self.noted(session.as_ref());
        // What has its connection by now may have been started by it, and would answer.
        if matches!(self.by, By::Publisher(peer) if process.is_none() && !peer.is_some_and(Process::is_own)) {
            return Asked::Left;
        }
        let now = Instant::now();
        let end = self.until.map(|until| until.checked_sub(EARLIER).unwrap_or(now));
        let until = end.map_or(now + settings.wait, |end| end.min(now + settings.wait));
        if until < now + SHORTEST {
            return Asked::Left;
        }
        let view = View::of(&question, self.call.clone(), process.map(|process| process.pid));
        match approvals.take(view, of, self.call.as_ref(), (until, tree)) {
            Ok(Err(answered)) => Asked::Answered(*answered),
            Err(NoRoom) => {
                let text =
                    "a person has to approve this, and too many questions wait already, so it was denied";
                Asked::Answered(approvals.refused(text))
            }
            Ok(Ok(taken)) => {
                let within = taken.until.saturating_duration_since(now);
                let id = Arc::clone(&taken.id);
                let waits = Waits {
                    daemon: Arc::clone(&self.daemon),
                    id: Arc::clone(&id),
                    call: taken.call.clone(),
                    process,
                    is_kept: false,
                };
                let left = self.left.clone();
                Asked::Waits(Waiting { id, within, answer: Box::pin(waits.answer(taken, left)) })
            }
        }
    }
}

/// Why a question without an answer is over.
fn over(process: Option<Process>) -> &'static str {
    match process {
        Some(process) if !process.is_alive() => "its agent has ended",
        _ => "its time was over",
    }
}

/// How often is looked whether an agent is there still for whose call a person is asked.
const LOOKS: Duration = Duration::from_secs(1);

/// Resolves when a process has ended, about a second later; of one that is not known never.
async fn gone(process: Option<Process>) {
    let Some(process) = process else { return std::future::pending().await };
    while process.is_alive() {
        sleep(LOOKS).await;
    }
}

/// A question that waits. Dropping it before its end gives it up.
struct Waits {
    daemon: Arc<Daemon>,
    id: Arc<str>,
    call: Option<Arc<str>>,
    /// That of its agent.
    process: Option<Process>,
    /// Whether its record stays for the next daemon.
    is_kept: bool,
}

impl Waits {
    /// Waits for the answer. Resolves never where the daemon ends meanwhile, which it cancels `left` for.
    async fn answer(mut self, taken: Taken, left: CancellationToken) -> Approval {
        let Taken { id, answer: mut receiver, asked, until, .. } = taken;
        let (daemon, process) = (Arc::clone(&self.daemon), self.process);
        let approvals = &daemon.approvals;
        let given = tokio::select! {
            biased;
            given = &mut receiver => given.ok(),
            () = sleep_until(until) => None,
            // What waits at the other end is the command of an entry, which outlives an agent that was killed.
            () = gone(process) => None,
            () = approvals.ending.cancelled() => {
                self.is_kept = true;
                drop(self);
                left.cancel();
                std::future::pending().await
            }
        };
        // One that came at the same moment counts.
        let given = match given {
            None if approvals.kept().end(&id, over(process)).is_none() => receiver.await.ok(),
            given => given,
        };
        let now = approvals.bus.wall_clock();
        match given {
            Some(answer) => approvals.approval(Arc::clone(&id), answer, asked, now),
            None => {
                let waited = now.as_millisecond().saturating_sub(asked);
                let waited = Duration::from_millis(u64::try_from(waited).unwrap_or_default());
                approvals.unanswered(Arc::clone(&id), waited)
            }
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let approvals = &self.daemon.approvals;
        let pending = approvals.kept().end(&self.id, "its agent no longer waits");
        drop(pending);
        if let Some(call) = self.call.as_ref().filter(|_| !self.is_kept) {
            approvals.recorded.remove(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside::dialects::native::ApprovalSettings;
    use lineside::dialects::{Places, Trust};
    use lineside::points::BeforeTool;
    use lineside::{Verdict, json::json};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::approvals::MOST;
    use crate::serve::Server;
    use crate::settings::Settings;
    use crate::shares::PART;

    async fn served(folder: &std::path::Path) -> Server {
        let places = Places {
            environment: [].into(),
            project_root: None,
            cwd: folder.to_path_buf(),
            trust: Trust::Withheld,
        };
        let mut settings = Settings::new(folder.join("run/lineside.sock"), folder.join("state"), places);
        settings.approvals = Some(ApprovalSettings::default());
        let server = Server::start(settings).await.unwrap();
        server.bus().intercept::<BeforeTool>("asks").gate(async |_, _| Verdict::ask("may it?")).unwrap();
        server
    }

    /// A call with a name, in a session of that name.
    fn call(server: &Server, name: &str, command: &'static str, tree: Option<Tree>) -> JoinHandle<Verdict> {
        let (daemon, name) = (Arc::clone(&server.daemon), name.to_owned());
        tokio::spawn(async move {
            let session = match daemon.bus().find(&name) {
                Some(session) => session,
                None => daemon.bus().session(name.as_str()).open().await.unwrap(),
            };
            let waits = OfCall::new(&daemon, (&name, None, tree), Some(&name), None);
            let event = session.event(BeforeTool::new("Shell", json!({"command": command})));
            let left = waits.left().clone();
            let decided = left.run_until_cancelled(event.answered_by(waits).publish()).await;
            decided.map_or(Verdict::Continue, |decided| decided.unwrap().verdict().clone())
        })
    }

    fn said(scope: lineside::core::ApprovalScope) -> crate::approvals::Said {
        let by = "a person".to_owned();
        crate::approvals::Said { is_allowed: true, scope, pattern: None, reason: None, by }
    }

    /// So many calls at once, each of another session.
    fn flood(server: &Server, name: &str, number: usize, tree: Option<Tree>) -> Vec<JoinHandle<Verdict>> {
        (0..number).map(|number| call(server, &format!("{name}-{number}"), "x", tree)).collect()
    }

    #[tokio::test]
    async fn questions_have_a_bound_in_all_and_in_one_tree_and_one_too_many_is_denied() {
        let folder = tempfile::tempdir().unwrap();
        let server = served(folder.path()).await;
        let approvals = &server.daemon.approvals;
        let tree = Process::of(std::process::id()).map(Tree::Agent);
        let denied = async |calls: Vec<JoinHandle<Verdict>>, waiting: usize| {
            let mut left = calls;
            while left.len() > waiting {
                let (verdict, _, others) = futures_util::future::select_all(left).await;
                let verdict = verdict.unwrap();
                assert!(verdict.reason().unwrap().as_str().contains("too many"), "{verdict}");
                left = others;
            }
            left
        };
        let share = MOST / PART;
        let of_tree = denied(flood(&server, "tree", 10 * share, tree), share).await;
        let others = denied(flood(&server, "other", 10 * MOST, None), MOST - share).await;
        assert_eq!(approvals.list().len(), MOST);
        let files = || std::fs::read_dir(folder.path().join("state/approvals/waiting")).unwrap().count();
        assert_eq!(files(), MOST, "one record for each that waits");
        for (view, _) in approvals.list() {
            let id = view.text("id").to_owned();
            approvals.answer(&id, &said(lineside::core::ApprovalScope::Session)).unwrap();
        }
        for waited in of_tree.into_iter().chain(others) {
            assert_eq!(waited.await.unwrap().strength(), lineside::core::Strength::Allow);
        }
        assert_eq!((approvals.list().len(), files()), (0, 0));
        server.end().await;
    }

    #[tokio::test]
    async fn a_question_is_over_when_its_agent_has_ended_although_the_call_waits() {
        let folder = tempfile::tempdir().unwrap();
        let server = served(folder.path()).await;
        let mut agent =
            std::process::Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let process = Process::of(agent.id());
        let session = server.bus().session("s").open().await.unwrap();
        let waits = OfCall::new(&server.daemon, ("s", process, None), Some("c"), None);
        let event = session.event(BeforeTool::new("Shell", json!({"command": "x"})));
        let mut decided = tokio::spawn(event.answered_by(waits).publish());
        let mut signals = server.bus().signals();
        let waiting = async {
            while server.daemon.approvals.count() == 0 {
                tokio::task::yield_now().await;
            }
        };
        waiting.await;
        assert!(futures_util::poll!(&mut decided).is_pending());
        drop(agent.stdin.take());
        agent.wait().unwrap();
        let decided = decided.await.unwrap().unwrap();
        assert!(decided.verdict().strength().is_final(), "{:?}", decided.verdict());
        assert_eq!(server.daemon.approvals.count(), 0);
        assert!(signals.try_next().is_some());
        server.end().await;
    }

    #[tokio::test]
    async fn an_answer_that_nobody_waits_for_is_none_for_a_later_call() {
        let folder = tempfile::tempdir().unwrap();
        let server = served(folder.path()).await;
        let mut signals = server.bus().signals();
        let waits = flood(&server, "c", 1, None);
        let id = asked(&mut signals).await;
        let approvals = &server.daemon.approvals;
        // The agent leaves while a person answers.
        let (gone, _) = tokio::sync::oneshot::channel();
        approvals.kept().waiting.get_mut(&*id).unwrap().answer = gone;
        let record = folder.path().join("state/approvals/waiting/c-0");
        assert!(record.exists());
        assert!(approvals.answer(&id, &said(lineside::core::ApprovalScope::Once)).is_err());
        assert!(!record.exists());
        waits.into_iter().for_each(|wait| wait.abort());
        server.end().await;
    }

    #[tokio::test]
    async fn what_was_answered_before_the_daemon_was_killed_holds_for_that_call_alone() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("state/approvals/waiting/c-0");
        for (command, is_answered) in [("x", true), ("y", false)] {
            let server = served(folder.path()).await;
            let mut signals = server.bus().signals();
            let waits = flood(&server, "c", 1, None);
            let asked = asked(&mut signals).await;
            // What is left behind is as a kill leaves it: the end of a daemon keeps the records of what waits.
            server.end().await;
            for wait in waits {
                assert_eq!(wait.await.unwrap(), Verdict::Continue, "nothing was decided");
            }
            let text = std::fs::read_to_string(&record).unwrap();
            let answer =
                r#""answer":{"is_allowed":true,"by":"a person","at":1,"scope":"once","reason":null}"#;
            std::fs::write(&record, text.replace(r#""answer":null"#, answer)).unwrap();
            let server = served(folder.path()).await;
            let mut signals = server.bus().signals();
            let mut again = call(&server, "c-0", command, None);
            if is_answered {
                assert_eq!(again.await.unwrap().strength(), lineside::core::Strength::Allow);
                let receipt = server.daemon.feed().receipts(None, 1).pop().unwrap();
                assert_eq!(*receipt.approval.as_ref().unwrap().id, *asked);
                // It is used up: the same call is asked about once more.
                again = call(&server, "c-0", command, None);
            }
            assert_ne!(self::asked(&mut signals).await, asked);
            server.end().await;
            assert_eq!(again.await.unwrap(), Verdict::Continue);
            std::fs::remove_file(&record).ok();
        }
    }

    /// The id of the next question.
    async fn asked(signals: &mut lineside::Signals) -> String {
        loop {
            match signals.next().await {
                Some(lineside::bus::signal::Watched::Signal(lineside::Signal::ApprovalAsked {
                    id, ..
                })) => {
                    return id.to_string();
                }
                _ => continue,
            }
        }
    }
}
