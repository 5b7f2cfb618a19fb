//! The answer while nothing can be decided: gates are closed in the words of the host, everything else passes.

use crate::document::{Document, LONGEST};
use crate::gates::{self, Gate, Host, Passes, Unless, Words};
use crate::{Answer, Call};

/// Why nothing can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// No daemon answers.
    Unreachable,
    /// The system knows no home of the account, and the entry names none.
    NoHome,
    /// The environment names another daemon than the entry.
    OtherDaemon,
    /// A daemon is there, and gives no sign of life.
    Silent,
    /// The daemon speaks another version of the protocol.
    OtherProtocol,
    /// What listens where the daemon should may be another user's.
    Foreign,
    /// The document cannot be read, or is too large to be.
    Unreadable,
    /// The agent program has no such event, under the name of a gate.
    NoSuchEvent,
}

impl Closed {
    fn text(self) -> &'static str {
        match self {
            Self::Unreachable => {
                "lineside: the runtime cannot be reached, so this was denied; repair it with: lineside doctor"
            }
            Self::NoHome => {
                "lineside: the system knows no home of this user, so this was denied; set HOME and run: lineside install"
            }
            Self::OtherDaemon => {
                "lineside: LINESIDE_SOCKET names another daemon than the entry of this agent program, so this was denied; \
                 unset it, or install with it set"
            }
            Self::Silent => {
                "lineside: the daemon does not answer, so this was denied; look at it with: lineside doctor"
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
            Self::NoSuchEvent => {
                "lineside: the agent program of this entry has no such event, so this was denied; check the entry with: lineside doctor"
            }
        }
    }
}

/// The answer while nothing can be decided.
///
/// A gate of the host is closed with a text that says why; another event gets what [`silent`] gives. A document that is
/// no JSON object counts as [`Closed::Unreadable`] whatever `why` is: it closes the gate that `--event` names, and without
/// that name the answer is exit status 2, which every host takes for a refusal at a gate. Of one that is longer than is
/// read, its beginning may name the event. So is an event that the host does not have and whose name is like that of a
/// gate ([`Closed::NoSuchEvent`]).
///
/// ```
/// use lineside_shim::{Call, Closed, Host, closed};
///
/// let stdin = br#"{"hook_event_name": "PreToolUse", "tool_name": "Bash"}"#;
/// let call = Call { host: Host::Claude, event: None, stdin, grant: None };
/// let answer = closed(&call, Closed::Unreachable);
/// assert!(String::from_utf8_lossy(&answer.stdout).contains(r#""permissionDecision":"deny""#));
/// ```
#[must_use]
pub fn closed(call: &Call<'_>, why: Closed) -> Answer {
    let (speaks, event) = Event::of(call);
    match event {
        Event::Gate(gate) => refusal(gate, why),
        Event::GateByName(gate) => refusal(gate, Closed::Unreadable),
        Event::Other => quiet(speaks),
        Event::Unknown => exit_2(Closed::Unreadable.text()),
        Event::Foreign => exit_2(Closed::NoSuchEvent.text()),
    }
}

/// The answer that lets a call pass, as while hooks are switched off: nothing, or for Cursor its word for that.
#[must_use]
pub fn silent(call: &Call<'_>) -> Answer {
    let (speaks, event) = Event::of(call);
    let gate = match event {
        Event::Gate(gate) | Event::GateByName(gate) => Some(gate),
        Event::Foreign => call.event.and_then(|event| named_by(call.host, event)),
        Event::Other | Event::Unknown => None,
    };
    let Some(gate) = gate else { return quiet(speaks) };
    match gate.passes {
        Passes::Silently => quiet(speaks),
        Passes::Saying(word) => Answer { stdout: format!("{word}\n").into_bytes(), ..Answer::default() },
        Passes::Failing(text) => exit_2(text),
    }
}

fn quiet(host: Host) -> Answer {
    let stdout = if host == Host::Cursor { b"{}\n".to_vec() } else { Vec::new() };
    Answer { stdout, ..Answer::default() }
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
    /// Its host does not have it, or the entry has no words for it, and it may be a gate.
    Foreign,
}

impl Event {
    /// The event, and the host in whose words it is answered.
    fn of(call: &Call<'_>) -> (Host, Self) {
        // That the entry is a project's says nothing of its event.
        let stated = call.event.map(|event| event.strip_suffix("@project").unwrap_or(event));
        let of_beginning = || (call.stdin.len() > LONGEST).then(|| Document::of_beginning(call.stdin));
        let Some(document) = Document::read(call.stdin).or_else(of_beginning) else {
            // Of the events of one name the strictest counts, as nothing tells them apart.
            let event = match stated.map(|event| (named_by(call.host, event), event)) {
                Some((Some(gate), _)) => Self::GateByName(gate),
                Some((None, event)) if !is_foreign(call.host, event) => Self::Other,
                Some(_) | None => Self::Unknown,
            };
            return (call.host, event);
        };
        let running = if document.has_cursor_version {
            Host::Cursor
        } else if document.has_session_id || call.host == Host::Claude && document.is_pascal() {
            Host::Copilot
        } else {
            call.host
        };
        // The words of Copilot contain those of Claude Code.
        let is_both = running == Host::Copilot && call.host == Host::Claude;
        let speaks = if is_both { running } else { call.host };
        let of_entry = stated.filter(|_| running == Host::Copilot);
        let event = of_entry.or(document.event.as_deref()).or(stated);
        (speaks, event.map_or(Self::Unknown, |event| Self::named(event, running, speaks, &document)))
    }

    fn named(event: &str, running: Host, speaks: Host, document: &Document) -> Self {
        let of_host = named_by(running, event);
        if of_host.is_none() && is_foreign(running, event) {
            return Self::Foreign;
        }
        if let Some(gate) = named_by(speaks, event) {
            let is_gate = match gate.unless {
                Unless::Never => true,
                Unless::NoPrompt => document.has_prompt,
                Unless::OfPolicy => !document.is_of_policy,
            };
            return match of_host {
                _ if is_gate => Self::Gate(gate),
                Some(_) if running != speaks => Self::Foreign,
                _ => Self::Other,
            };
        }
        let Some(of_host) = of_host else { return Self::Other };
        let answers = gates::of(speaks, event).iter().find(|gate| gate.point == of_host.point);
        answers.map_or(Self::Foreign, Self::Gate)
    }
}

/// Whether an event that is no gate of a host is none of its events either, and has a name like a gate.
fn is_foreign(host: Host, event: &str) -> bool {
    let is_open = |name: &str| gates::open(host).contains(&name);
    gates::is_like_one(event) && !is_open(event) && !(host == Host::Cursor && is_open(&own_name(event)))
}

fn named(host: Host, event: &str) -> Option<&'static Gate> {
    gates::of(host, event).iter().find(|gate| gate.event == event)
}

/// The gate of a name, which Cursor may spell as Claude Code does.
fn named_by(host: Host, event: &str) -> Option<&'static Gate> {
    named(host, event).or_else(|| if host == Host::Cursor { named(host, &own_name(event)) } else { None })
}

/// What Cursor calls the event of Claude Code.
fn own_name(event: &str) -> String {
    let mut characters = event.chars();
    match (event, characters.next()) {
        ("UserPromptSubmit", _) => "beforeSubmitPrompt".to_owned(),
        (_, Some(first)) => first.to_lowercase().chain(characters).collect(),
        (_, None) => String::new(),
    }
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
