//! What an interceptor gives back: a verdict, an amendment, messages for the context and for the user.
//!
//! A gate gives a [`Judgement`], which has no place for an amendment; an amender gives a [`Reply`], whose amendment is
//! that of its point. Both become an [`Answer`], which is what the chain folds.

use std::borrow::Cow;
use std::time::Duration;

use crate::json::{Map, Value, json};

use crate::amendment::Amendment;
use crate::context::{Append, Notice};
use crate::failure::Failure;
use crate::payload::Amend;
use crate::verdict::Verdict;

/// What an interceptor says of one event, its point forgotten.
///
/// ```
/// use lineside_core::{Answer, Append, Verdict};
///
/// let answer = Answer { context: vec![Append::system("main is protected")], ..Answer::from(Verdict::block("no push")) };
/// assert_eq!(answer.verdict, Verdict::block("no push"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// New values for fields of the payload.
    pub amendment: Amendment,
    /// Messages for the agent's context, in order.
    pub context: Vec<Append>,
    /// Messages for the user.
    pub notices: Vec<Notice>,
    /// Things that the receipt should tell, e.g. what the hook asked for and had no right to.
    pub remarks: Vec<Cow<'static, str>>,
    /// How a block that has the agent try again is put to it. The blocks of `before_stop` and `after_subagent` always
    /// do, and the bus has a text of its own for them.
    pub keep_working: Option<Box<KeepWorking>>,
    /// The hooks of its ensemble after it do not run, and what those before it gave is dropped, whatever the verdict.
    pub ends_chain: bool,
    /// What the hook said in its own format, for the ensemble that it is a member of.
    pub own: Option<Box<Value>>,
    /// What the hook has for the publisher beside the verdict, under names of its format.
    pub extra: Map,
    /// The attempts before the one that answered, all of which failed.
    pub earlier: Vec<Failure>,
}

impl Answer {
    /// What it says, as a hook of lineside's own format writes it. The levels of notices, and what only formats of others
    /// have, do not travel.
    ///
    /// ```
    /// use lineside_core::json::json;
    /// use lineside_core::{Answer, Verdict};
    ///
    /// let answer = Answer::from(Verdict::block("no push"));
    /// assert_eq!(json!(answer.to_json()), json!({"verdict": "block", "reason": "no push"}));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Map {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("verdict", json!(self.verdict.strength()));
        if let Some(reason) = self.verdict.reason() {
            put("reason", json!(reason.as_str()));
        }
        if !self.amendment.is_empty() {
            put("amend", Value::Object(self.amendment.fields().clone()));
        }
        if !self.context.is_empty() {
            put("context", self.context.iter().map(|append| Value::Object(message(append))).collect());
        }
        if !self.notices.is_empty() {
            let texts: Vec<&str> = self.notices.iter().map(|notice| notice.text.as_str()).collect();
            put("notice", json!(texts.join("\n")));
        }
        map
    }
}

fn message(append: &Append) -> Map {
    let mut map = Map::new();
    map.insert("text".to_owned(), json!(append.text));
    map.insert("role".to_owned(), json!(append.role));
    if let Some(key) = &append.key {
        map.insert("key".to_owned(), json!(key));
    }
    if let Some(expires) = append.expires {
        map.insert("expires_ms".to_owned(), json!(millis(expires).max(1)));
    }
    map
}

/// A time in whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A block that has the agent try again, which it may do only so often in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepWorking {
    /// Appended to the agent's context while the block stands.
    pub append: Append,
    /// What one block too many in a row becomes.
    pub beyond: Beyond,
    /// How many blocks in a row stand; as many as the bus lets stand when the format has no number of its own.
    pub at_most: Option<u32>,
}

/// What one block too many in a row becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// It is overridden, and the user receives this notice.
    Continue(Notice),
    /// It is a stop.
    Stop,
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, ..Self::default() }
    }
}

/// An answer as it travels: most are a verdict and nothing else, and those stay small.
///
/// ```
/// use lineside_core::{Answer, Append, Response, Verdict};
///
/// let said = Response::from(Verdict::block("no push"));
/// assert_eq!(said.verdict(), &Verdict::block("no push"));
///
/// let answer = Answer { context: vec![Append::system("main is protected")], ..said.into() };
/// assert!(matches!(Response::from(answer), Response::Answer(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// A verdict and nothing else.
    Verdict(Verdict),
    /// More than that.
    Answer(Box<Answer>),
}

impl Response {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Verdict(verdict) => verdict,
            Self::Answer(answer) => &answer.verdict,
        }
    }

    /// The answer, to be added to.
    fn answer(&mut self) -> &mut Answer {
        if let Self::Verdict(verdict) = self {
            *self = Self::Answer(Box::new(std::mem::take(verdict).into()));
        }
        match self {
            Self::Answer(answer) => answer,
            Self::Verdict(_) => unreachable!("it was just made an answer"),
        }
    }
}

impl Default for Response {
    fn default() -> Self {
        Self::Verdict(Verdict::Continue)
    }
}

impl From<Verdict> for Response {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Self {
        Self::Answer(Box::new(answer))
    }
}

impl From<Response> for Answer {
    fn from(said: Response) -> Self {
        match said {
            Response::Verdict(verdict) => verdict.into(),
            Response::Answer(answer) => *answer,
        }
    }
}

/// What a gate says: everything but an amendment.
///
/// ```
/// use lineside_core::{Answer, Judgement, Notice, Response, Verdict};
///
/// let judgement = Judgement::from(Verdict::Continue)
///     .append("the formatter changed 2 files")
///     .notify(Notice::info("formatted"));
/// let answer = Answer::from(Response::from(judgement));
/// assert_eq!(answer.context[0].text, "the formatter changed 2 files");
/// assert_eq!(answer.notices, [Notice::info("formatted")]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement(Response);

impl Judgement {
    /// Adds a message for the agent's context; a text stands beside the conversation.
    #[must_use]
    pub fn append(mut self, message: impl Into<Append>) -> Self {
        self.0.answer().context.push(message.into());
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn notify(mut self, notice: Notice) -> Self {
        self.0.answer().notices.push(notice);
        self
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self(verdict.into())
    }
}

impl From<Judgement> for Response {
    fn from(judgement: Judgement) -> Self {
        judgement.0
    }
}

/// What an amender of the point `P` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<P> {
    said: Response,
    point: std::marker::PhantomData<fn() -> P>,
}

impl<P: Amend> Reply<P> {
    /// No objection and these changes.
    #[must_use]
    pub fn amend(amendment: P::Amendment) -> Self {
        Self::from(Answer { amendment: amendment.into(), ..Answer::default() }.into())
    }
}

impl<P> Reply<P> {
    /// Adds a message for the agent's context; a text stands beside the conversation.
    #[must_use]
    pub fn append(mut self, message: impl Into<Append>) -> Self {
        self.said.answer().context.push(message.into());
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn notify(mut self, notice: Notice) -> Self {
        self.said.answer().notices.push(notice);
        self
    }

    fn from(said: Response) -> Self {
        Self { said, point: std::marker::PhantomData }
    }
}

impl<P> From<Verdict> for Reply<P> {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict.into())
    }
}

impl<P> From<Judgement> for Reply<P> {
    fn from(judgement: Judgement) -> Self {
        Self::from(judgement.into())
    }
}

impl<P> From<Reply<P>> for Response {
    fn from(reply: Reply<P>) -> Self {
        reply.said
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Judgement, Reply, Response};
    use crate::context::{Append, Notice};
    use crate::verdict::Verdict;

    #[test]
    fn a_verdict_stays_small_and_is_the_same_as_an_answer() {
        let verdict = Verdict::block("no");
        let small = Response::from(Judgement::from(verdict.clone()));
        assert_eq!(small, Response::Verdict(verdict.clone()));
        assert_eq!(small.verdict(), &verdict);
        assert_eq!(Answer::from(small), Answer { verdict, ..Answer::default() });
    }

    #[test]
    fn what_is_added_stands_beside_the_verdict_in_order() {
        let judgement = Judgement::from(Verdict::ask("sure?"))
            .append("first")
            .append("second")
            .notify(Notice::info("seen"));
        let said = Response::from(judgement);
        assert_eq!(said.verdict(), &Verdict::ask("sure?"));
        let answer = Answer::from(said);
        assert_eq!(answer.verdict, Verdict::ask("sure?"));
        assert_eq!(answer.context, ["first", "second"].map(Append::from));
        assert_eq!(answer.notices, [Notice::info("seen")]);
    }

    #[test]
    fn an_answer_travels_whole() {
        let answer = Answer { verdict: Verdict::allow(), ends_chain: true, ..Answer::default() };
        let said = Response::from(answer.clone());
        assert_eq!(said.verdict(), &Verdict::allow());
        assert_eq!(Answer::from(said), answer);
    }

    #[test]
    fn a_reply_says_what_was_put_into_it() {
        struct OfNoPoint;
        let of = |judgement: Judgement| -> Reply<OfNoPoint> { judgement.into() };
        let judged = Judgement::from(Verdict::block("no")).append("why");
        assert_eq!(Response::from(of(judged.clone())), Response::from(judged));
        let told = of(Judgement::default()).append("first").notify(Notice::info("seen"));
        let answer = Answer::from(Response::from(told));
        assert_eq!(
            (answer.context, answer.notices),
            (vec![Append::from("first")], vec![Notice::info("seen")])
        );
    }

    #[test]
    fn nothing_said_is_no_objection() {
        assert_eq!(Response::default(), Response::from(Verdict::Continue));
        assert_eq!(Response::from(Judgement::default()), Response::default());
    }
}
