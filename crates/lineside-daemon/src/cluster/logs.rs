//! What was decided on all machines: the log stays where its decisions fell, and each daemon is asked for its own.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::future::join_all;
use lineside::json::{self, Map, Value};
use lineside::log::Query;

use super::Here;
use super::joined::Joined;
use super::words::{Reply, Word, read, written};
use crate::api::shapes::{ClusterLog, ClusterLogOf, ClusterLogQuery};
use crate::logged;

/// How long a machine may take to look into its log.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many decisions a machine gives at most, and when nothing is said.
const MOST: usize = 10_000;
const USUAL: usize = 50;
/// The longest answer of a machine, in bytes, and what of the longest message of the server is left for its head.
pub(super) const LONGEST: usize = 8 << 20;
const HEAD: usize = 4 << 10;

impl Joined {
    /// What all machines have in their logs; each that does not answer is named, with why.
    ///
    /// # Errors
    /// The query is none.
    pub(crate) async fn logs(
        &self,
        daemon: &dyn Here,
        asked: &ClusterLogQuery,
    ) -> Result<ClusterLog, String> {
        parsed(daemon, asked)?;
        // As many answers are in memory at once.
        let _room = self.answering.own_looks.acquire().await;
        let members = self.cluster().members();
        let others = members.into_iter().filter(|member| !member.is_self).map(|member| member.machine);
        let others = join_all(others.map(|machine| self.log_of(machine, asked)));
        let (own, others) = tokio::join!(found(daemon, asked, LONGEST), others);
        let own = of_reply(self.ways.machine().to_owned(), own);
        let mut machines: Vec<_> = others.into_iter().chain([own]).collect();
        machines.sort_by(|one, other| one.machine.cmp(&other.machine));
        Ok(ClusterLog { machines })
    }

    async fn log_of(&self, machine: String, asked: &ClusterLogQuery) -> ClusterLogOf {
        let ClusterLogQuery { query, most, event } = asked.clone();
        let word = written(&Word::Log { query, most, event }, "");
        let answer = match self.cluster().ask(&machine, word.into(), PATIENCE).await {
            Ok(answer) => answer,
            Err(error) => return unanswered(machine, error.to_string()),
        };
        match read::<Reply>(&answer) {
            Some((reply, text)) => of_reply(machine, (reply, text.to_owned())),
            None => unanswered(machine, "its answer cannot be read".to_owned()),
        }
    }

    /// How long the text behind the head of an answer may be, in bytes.
    pub(super) fn longest_answer(&self) -> usize {
        let server = self.cluster().health().borrow().server.as_ref().map(|server| server.longest);
        server.unwrap_or_default().saturating_sub(HEAD).min(LONGEST)
    }

    /// What this machine has, for another one.
    pub(super) async fn log_for_another(&self, daemon: &dyn Here, asked: &ClusterLogQuery) -> Vec<u8> {
        let (reply, text) = found(daemon, asked, self.longest_answer()).await;
        written(&reply, &text)
    }
}

fn parsed(daemon: &dyn Here, asked: &ClusterLogQuery) -> Result<Query, String> {
    let text = asked.query.as_deref().unwrap_or_default();
    Query::parse(text, daemon.bus().wall_clock()).map_err(|error| error.to_string())
}

/// What the log here has, in at most so many bytes: the latest of it.
async fn found(daemon: &dyn Here, asked: &ClusterLogQuery, longest: usize) -> (Reply, String) {
    let unable = |why: String| (Reply::Log { lost: 0, left_out: 0, unable: Some(why) }, "[]".to_owned());
    let query = match parsed(daemon, asked) {
        Ok(query) => query,
        Err(error) => return unable(error),
    };
    if daemon.log().is_none() {
        return unable("it keeps no decision log".to_owned());
    }
    let (event, most) = (asked.event.clone(), asked.most.unwrap_or(USUAL).min(MOST));
    let asked = logged::ask(daemon.log(), move |look| {
        let mut latest = Latest { longest, length: 1, texts: Vec::new() };
        let left_out = match event {
            Some(event) => {
                let all = look.why(&event)?;
                let all = all.iter().rev().map(lineside::log::Why::to_json);
                all.skip_while(|one| latest.take(one).is_continue()).count()
            }
            None => look.latest(&query, most, |decision| latest.take(&decision.to_json()))?,
        };
        Ok((latest.array(), left_out, look.lost(&query)?))
    });
    match asked.await {
        Ok(Some((text, left_out, lost))) => (Reply::Log { lost, left_out, unable: None }, text),
        Ok(None) => (Reply::Log { lost: 0, left_out: 0, unable: None }, "[]".to_owned()),
        Err(error) => unable(error),
    }
}

/// Decisions, the latest first, as far as they fit into so many bytes of a JSON array.
struct Latest {
    longest: usize,
    length: usize,
    texts: Vec<String>,
}

impl Latest {
    /// Takes one, unless it does not fit.
    fn take(&mut self, one: &Map) -> ControlFlow<()> {
        let text = json::to_string(one).unwrap_or_default();
        self.length += text.len() + 1;
        if self.length > self.longest {
            return ControlFlow::Break(());
        }
        self.texts.push(text);
        ControlFlow::Continue(())
    }

    /// All of them, the oldest first.
    fn array(mut self) -> String {
        self.texts.reverse();
        format!("[{}]", self.texts.join(","))
    }
}

fn of_reply(machine: String, (reply, text): (Reply, String)) -> ClusterLogOf {
    let Reply::Log { lost, left_out, unable } = reply else {
        return unanswered(machine, "it does not know the question".to_owned());
    };
    let decisions = json::from_str::<Value>(&text).ok();
    let decisions = decisions.as_ref().and_then(Value::as_array).into_iter().flatten();
    let decisions = decisions.filter_map(|decision| decision.as_object().cloned()).collect();
    ClusterLogOf { machine, unanswered: unable, lost, left_out, decisions }
}

fn unanswered(machine: String, why: String) -> ClusterLogOf {
    ClusterLogOf { machine, unanswered: Some(why), lost: 0, left_out: 0, decisions: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_does_not_fit_the_latest_is_given() {
        let one = |number: u64| Map::from_iter([("n".to_owned(), Value::from(number))]);
        let latest = |longest: usize| {
            let mut latest = Latest { longest, length: 1, texts: Vec::new() };
            let all = [one(3), one(2), one(1)];
            let left_out = all.iter().skip_while(|one| latest.take(one).is_continue()).count();
            (latest.array(), left_out)
        };
        assert_eq!(latest(usize::MAX), (r#"[{"n":1},{"n":2},{"n":3}]"#.to_owned(), 0));
        assert_eq!(latest(17), (r#"[{"n":2},{"n":3}]"#.to_owned(), 1));
        assert_eq!(latest(16), (r#"[{"n":3}]"#.to_owned(), 2));
        assert_eq!(latest(8), ("[]".to_owned(), 3));
    }
}
