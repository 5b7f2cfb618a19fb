//! Trying an installed entry: one event through its own command, and what came back.

use std::path::Path;
use std::time::Duration;

use lineside::hosts::Host;
use lineside::hosts::install::{Act, Trial, trials};
use lineside::json::{Value, json};

use crate::child::{Answered, End, Question};
use crate::painter::in_passing;
use crate::style::{Style, Tone};

/// How long an entry may take: a daemon that has to be started reads all hook files first.
const LIMIT: Duration = Duration::from_secs(10);

/// What every refusal says that no daemon has made.
const UNDECIDED: &str = ", so this was denied";

/// What came of it.
pub(crate) struct Tried {
    host: Host,
    event: &'static str,
    command: String,
    ended: Answered,
}

/// Tries the entries of a file; nothing if it has none for a tool.
pub(crate) async fn try_entry(act: &Act, cwd: &Path) -> Option<Tried> {
    let mut trials = trials(act, cwd).into_iter();
    let first = trials.next()?;
    let command = match &first.argv[..] {
        [_, dash, line] if dash == "-c" => line.clone(),
        words => words.join(" "),
    };
    let event = first.event;
    let ended = call(first, cwd).await;
    // The session of the event ends as well.
    for trial in trials {
        call(trial, cwd).await;
    }
    Some(Tried { host: act.host, event, command, ended })
}

async fn call(trial: Trial, cwd: &Path) -> Answered {
    let set = Vec::new();
    Question { argv: &trial.argv, stdin: &trial.stdin, set, cwd, limit: LIMIT }.ask().await
}

impl Tried {
    /// Whether it answered as an entry does: with words of the host, and not because nothing can be decided.
    pub(crate) fn works(&self) -> bool {
        let is_answer = match self.ended.end {
            End::Code(0) => true,
            // One host knows no other word for a refusal.
            End::Code(2) => self.host == Host::Kimi,
            _ => false,
        };
        is_answer && !self.text().contains(UNDECIDED)
    }

    fn text(&self) -> String {
        let (out, err) = (self.ended.stdout.trim(), self.ended.stderr.trim());
        if out.is_empty() { err } else { out }.to_owned()
    }

    /// One line for people.
    pub(crate) fn line(&self, style: Style) -> String {
        let text = in_passing(&self.text());
        let came = match (&self.ended.end, text.as_str()) {
            (End::Code(0), "" | "{}") => "nothing, so the call runs".to_owned(),
            (End::Code(0), text) => text.to_owned(),
            (End::Code(2), text) => format!("a refusal: {text}"),
            (End::Code(code), text) => format!("exit status {code}: {text}"),
            (End::Signal(signal), _) => format!("signal {signal}"),
            (End::Late, _) => format!("nothing within {} s", LIMIT.as_secs()),
            (End::NotStarted(why), _) => format!("not started: {}", in_passing(why)),
        };
        let tone = if self.works() { Tone::Good } else { Tone::Bad };
        let label = style.paint(tone, if self.works() { "works" } else { "fails" });
        let time = self.ended.took.as_millis();
        format!("{label}  {} through `{}` gave, in {time} ms: {came}", self.event, in_passing(&self.command))
    }

    /// The same for programs.
    pub(crate) fn object(&self) -> Value {
        let exit = match &self.ended.end {
            End::Code(code) => json!(code),
            _ => Value::Null,
        };
        json!({
            "event": self.event, "command": self.command, "works": self.works(), "exit": exit,
            "stdout": self.ended.stdout, "stderr": self.ended.stderr,
            "took_ms": u64::try_from(self.ended.took.as_millis()).unwrap_or(u64::MAX),
        })
    }
}
