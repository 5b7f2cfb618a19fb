//! The answer while nothing can be decided: gates are closed in the words of the host, everything else passes.

use crate::document::{Document, LONGEST};
use crate::gates::{self, Gate, Host, Passes, Unless, Words};
use crate::{Answer, Call};

/// Why nothing can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// No daemon answers.
    Unreachable,
    /// A daemon is there, and gives no sign of life.
    Silent,
    /// The daemon speaks another version of the protocol.
    OtherProtocol,
    /// What listens where the daemon should may be another user's.
    Foreign,
    /// The document cannot be read, or is too large to be.
    Unreadable,
}

impl Closed {
    fn text(self) -> &'static str {
        match self {
            Self::Unreachable => {
                "lineside: the runtime cannot be reached, so this was denied; repair it with: lineside doctor"
            }
            Self::Silent => {
                "lineside: the daemon does not answer, so this was denied; end its process, which lineside doctor names"
            }
            Self::OtherProtocol => {
                "lineside: the running daemon is of another version than this program, so this was denied; end it \
                 with: lineside stop"
            }
            Self::Foreign => {
                "lineside: the socket of the daemon, its folder or what listens there may be another user's, so this was \
                 denied; repair it with: lineside doctor"
            }
            Self::Unreadable => {
                "lineside: the hook input could not be read, so this was denied; check it with: lineside doctor"
            }
        }
    }
}

/// The answer while nothing can be decided.
///
/// A gate of the host is closed with a text that says why; another event gets what [`silent`] gives. A document that is
/// no JSON object counts as [`Closed::Unreadable`] whatever `why` is: it closes the gate that `--event` names, and without
/// that name the answer is exit status 2, which every host takes for a refusal at a gate. Of one that is longer than is
/// read, its beginning may name the event.
///
/// ```
/// use lineside_shim::{Call, Closed, Environment, Host, closed};
///
/// let environment = Environment::default();
/// let stdin = br#"{"hook_event_name": "PreToolUse", "tool_name": "Bash"}"#;
/// let call = Call { host: Host::Claude, event: None, stdin, environment: &environment };
/// let answer = closed(&call, Closed::Unreachable);
/// assert!(String::from_utf8_lossy(&answer.stdout).contains(r#""permissionDecision":"deny""#));
/// ```
#[must_use]
pub fn closed(call: &Call<'_>, why: Closed) -> Answer {
    match Event::of(call) {
        Event::Gate(gate) => refusal(gate, why),
        Event::GateByName(gate) => refusal(gate, Closed::Unreadable),
        Event::Other => quiet(call),
        Event::Unknown => exit_2(Closed::Unreadable.text()),
    }
}

/// The answer that lets a call pass, as while hooks are switched off: nothing, or for Cursor its word for that.
#[must_use]
pub fn silent(call: &Call<'_>) -> Answer {
    let (Event::Gate(gate) | Event::GateByName(gate)) = Event::of(call) else { return quiet(call) };
    match gate.passes {
        Passes::Silently => quiet(call),
        Passes::Saying(word) => Answer { stdout: format!("{word}\n").into_bytes(), ..Answer::default() },
        Passes::Failing(text) => exit_2(text),
    }
}

fn quiet(call: &Call<'_>) -> Answer {
    let stdout = if spoken(call) == Host::Cursor { b"{}\n".to_vec() } else { Vec::new() };
    Answer { stdout, ..Answer::default() }
}

/// The host in whose words a call is answered.
fn spoken(call: &Call<'_>) -> Host {
    if call.environment.get("QWEN_PROJECT_DIR").is_some() { Host::Qwen } else { call.host }
}

/// Which event a call is.
enum Event {
    /// A gate of the host in whose words it is answered.
    Gate(&'static Gate),
    /// The same, by the name that the entry states, with a document that is none.
    GateByName(&'static Gate),
    /// No gate.
    Other,
    /// It has no name.
    Unknown,
}

impl Event {
    fn of(call: &Call<'_>) -> Self {
        let has = |name: &str| call.environment.get(name).is_some();
        let spoken = spoken(call);
        let of_beginning = || (call.stdin.len() > LONGEST).then(|| Document::of_beginning(call.stdin));
        let Some(document) = Document::read(call.stdin).or_else(of_beginning) else {
            // Of the events of one name the strictest counts, as nothing tells them apart.
            return match call.event.map(|event| named_by(spoken, event)) {
                None => Self::Unknown,
                Some(gate) => gate.map_or(Self::Other, Self::GateByName),
            };
        };
        let running = if has("QWEN_PROJECT_DIR") {
            Host::Qwen
        } else if document.has_cursor_version || has("CURSOR_VERSION") {
            Host::Cursor
        } else if has("COPILOT_CLI") || document.has_session_id {
            Host::Copilot
        } else {
            call.host
        };
        let of_entry = call.event.filter(|_| running == Host::Copilot);
        let Some(event) = of_entry.or(document.event.as_deref()).or(call.event) else {
            return Self::Unknown;
        };
        if let Some(gate) = named_by(spoken, event) {
            let is_gate = match gate.unless {
                Unless::Never => true,
                Unless::NoPrompt => document.has_prompt,
                Unless::OfPolicy => !document.is_of_policy,
            };
            return if is_gate { Self::Gate(gate) } else { Self::Other };
        }
        let of_point = |point| gates::of(spoken, event).iter().find(|gate| gate.point == point);
        let gate = named_by(running, event).and_then(|gate| of_point(gate.point));
        gate.map_or(Self::Other, Self::Gate)
    }
}

fn named(host: Host, event: &str) -> Option<&'static Gate> {
    gates::of(host, event).iter().find(|gate| gate.event == event)
}

/// The gate of a name, which Cursor may spell as Claude Code does.
fn named_by(host: Host, event: &str) -> Option<&'static Gate> {
    named(host, event).or_else(|| match (host, event) {
        (Host::Cursor, "UserPromptSubmit") => named(host, "beforeSubmitPrompt"),
        (Host::Cursor, _) => {
            let mut characters = event.chars();
            let first = characters.next()?;
            named(host, &first.to_lowercase().chain(characters).collect::<String>())
        }
        _ => None,
    })
}

fn refusal(gate: &Gate, why: Closed) -> Answer {
    match gate.words {
        Words::Json(template) => {
            let text = template.replace("$E", gate.event).replace("$R", why.text());
            Answer { stdout: (text + "\n").into_bytes(), ..Answer::default() }
        }
        Words::Exit2 => exit_2(why.text()),
    }
}

fn exit_2(text: &str) -> Answer {
    Answer { stderr: format!("{text}\n").into_bytes(), exit: 2, ..Answer::default() }
}
