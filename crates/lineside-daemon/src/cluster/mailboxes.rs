//! Messages for the context of a session, taken on another machine than its own: the mailbox stays with the session, and what
//! is out is out there, until it is accepted or goes back.

use std::time::Duration;

use axum::http::StatusCode;
use lineside::Session;
use lineside::json;
use lineside_nats::EntryName;

use super::Here;
use super::joined::Joined;
use super::words::{Reply, Word, read, written};
use crate::api::context::{accept_one, hand_over};
use crate::api::shapes::{Accepted, Collect, Delivery};
use crate::problem::Problem;

/// How long a machine may take for an answer, and for one that waits for hooks.
const ASKED: Duration = Duration::from_secs(5);
const WAITING: Duration = Duration::from_secs(60);
/// What an acceptance may survive.
const DURABILITIES: [&str; 3] = ["memory", "process", "disk"];

impl Joined {
    /// Takes messages of a session of another machine.
    pub(crate) async fn collect(&self, session: &Session, asked: &Collect) -> Result<Delivery, Problem> {
        let within = if asked.before_next_model { WAITING } else { ASKED };
        let word = |name: EntryName| Word::Collect { session: name.to_string(), asked: asked.clone() };
        let (reply, text) = self.asked(session, word, within).await?;
        match (reply, json::from_str(&text)) {
            (Reply::Collected, Ok(delivery)) => Ok(delivery),
            (reply, _) => Err(refused(session, reply)),
        }
    }

    /// Accepts them.
    pub(crate) async fn accept(&self, session: &Session, delivery: &str) -> Result<Accepted, Problem> {
        let word =
            |name: EntryName| Word::Accept { session: name.to_string(), delivery: delivery.to_owned() };
        match self.asked(session, word, ASKED).await?.0 {
            Reply::Accepted { messages, durability } => {
                let known = DURABILITIES.into_iter().find(|known| *known == durability);
                Ok(Accepted { messages, durability: known.unwrap_or(DURABILITIES[0]) })
            }
            reply => Err(refused(session, reply)),
        }
    }

    /// Asks the machine of a session that something here stands in for.
    async fn asked(
        &self,
        session: &Session,
        word: impl FnOnce(EntryName) -> Word,
        within: Duration,
    ) -> Result<(Reply, String), Problem> {
        let Some((name, machine)) = self.stand_ins().standing_for(session) else {
            return Err(Problem::no_session(session.id().as_str()));
        };
        let answer = self.cluster().ask(&machine, written(&word(name), "").into(), within).await;
        let answer = answer.map_err(|error| unreachable(session, &error.to_string()))?;
        let read = read::<Reply>(&answer).map(|(reply, text)| (reply, text.to_owned()));
        read.ok_or_else(|| unreachable(session, "its answer cannot be read"))
    }

    /// A session of this machine, by the name of its entry.
    fn known(&self, session: &str) -> Option<Session> {
        let name = EntryName::parse(session)?;
        self.own().named(name).map(|own| own.session.clone())
    }

    /// Takes messages of a session of this machine for another one.
    pub(super) async fn collect_for_another(
        &self,
        daemon: &dyn Here,
        session: &str,
        asked: &Collect,
    ) -> Vec<u8> {
        let Some(session) = self.known(session) else { return of_problem(&Problem::no_session(session)) };
        let (deliveries, within) = (daemon.deliveries(), daemon.delivery_limit());
        match hand_over(deliveries, within, (&session, asked), None).await {
            Ok(delivery) => {
                let text = json::to_string(&delivery).unwrap_or_default();
                let answer = written(&Reply::Collected, &text);
                let server = self.cluster().health().borrow().server.as_ref().map(|server| server.longest);
                if answer.len() <= server.unwrap_or_default() {
                    return answer;
                }
                // Dropped, they are back in their mailbox.
                drop(delivery.delivery.and_then(|name| deliveries.take(&name)));
                let detail = format!(
                    "the messages have {} bytes, which is more than the server takes; ask for less",
                    answer.len()
                );
                of_problem(&Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too-large",
                    "It is too large",
                    detail,
                ))
            }
            Err(problem) => of_problem(&problem),
        }
    }

    /// Accepts messages of a session of this machine for another one.
    pub(super) async fn accept_for_another(
        &self,
        daemon: &dyn Here,
        session: &str,
        delivery: &str,
    ) -> Vec<u8> {
        if self.known(session).is_none() {
            return of_problem(&Problem::no_session(session));
        }
        match accept_one(daemon.deliveries(), delivery).await {
            Ok(Accepted { messages, durability }) => {
                written(&Reply::Accepted { messages, durability: durability.to_owned() }, "")
            }
            Err(problem) => of_problem(&problem),
        }
    }
}

fn of_problem(problem: &Problem) -> Vec<u8> {
    written(&Reply::Refused { status: problem.status, detail: problem.detail.clone() }, "")
}

fn refused(session: &Session, reply: Reply) -> Problem {
    let Reply::Refused { status, detail } = reply else {
        return unreachable(session, "its answer is another one");
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::CONFLICT);
    Problem::new(status, "refused-elsewhere", "The machine of the session refuses it", detail)
}

fn unreachable(session: &Session, why: &str) -> Problem {
    let detail = format!("the machine of session `{}` cannot be asked for its messages: {why}", session.id());
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "session-elsewhere",
        "The session is on another machine",
        detail,
    )
}
