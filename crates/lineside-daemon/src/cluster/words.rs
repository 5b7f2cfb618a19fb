//! What machines say to each other, and what they write into the registry: JSON, in a call and its answer with a text
//! behind the first line.

use std::sync::Arc;

use lineside::core::Agent;
use lineside::core::failure::FailureKind;
use lineside::core::worker::WorkerEnded;
use lineside::json;
use lineside::trust::Guard;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::shapes::Collect;
use crate::attachments::Declared;
use crate::projects::Held;

/// A session as the registry has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionEntry {
    /// Which state of it, from 1.
    #[serde(rename = "v")]
    pub(super) version: u64,
    pub(super) id: String,
    /// The name of the entry of the session above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) above: Option<String>,
    pub(super) agent: Agent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) traceparent: Option<String>,
    /// The SHA-256 of the secret of its grant, in hexadecimal; nothing can be opened below it without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verifier: Option<String>,
    /// The hooks of programs on it that hold below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hooks: Vec<Declared>,
    /// Its hooks are not among these, because they do not fit: what they would judge stands closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) untold: bool,
    /// The projects that it is in on its machine, whose hooks hold below it. A single one is written as that, which is all
    /// that earlier versions know; a list is none of their entries, so that nothing of theirs stands in for it.
    #[serde(rename = "project", default, skip_serializing_if = "Vec::is_empty")]
    #[serde(serialize_with = "one_or_list", deserialize_with = "of_one_or_list")]
    pub(super) projects: Vec<ProjectEntry>,
}

fn one_or_list<S: Serializer>(projects: &[ProjectEntry], to: S) -> Result<S::Ok, S::Error> {
    match projects {
        [one] => one.serialize(to),
        list => list.serialize(to),
    }
}

fn of_one_or_list<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<ProjectEntry>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(ProjectEntry),
        List(Vec<ProjectEntry>),
    }
    Ok(match Written::deserialize(from)? {
        Written::One(one) => vec![one],
        Written::List(list) => list,
    })
}

impl SessionEntry {
    /// What the registry has of it: who needs the guards of its projects asks its machine.
    pub(super) fn registered(&self) -> Self {
        let without = |project: &ProjectEntry| ProjectEntry { guards: None, ..project.clone() };
        Self { projects: self.projects.iter().map(without).collect(), ..self.clone() }
    }
}

/// A project whose hooks are in force on its machine, or stand closed there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProjectEntry {
    /// Where it lies there.
    pub(super) root: String,
    /// The digest of its content, which a person has trusted there; none while its guards stand closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    /// Its guards; nothing where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) guards: Option<Arc<[Guard]>>,
}

impl ProjectEntry {
    pub(super) fn of(held: &Held) -> Self {
        let Held { root, digest, guards, .. } = held;
        Self { root: root.clone(), digest: digest.clone(), guards: guards.clone() }
    }
}

/// What one machine says to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Word {
    /// Ask a hook; its event stands behind.
    Call { from: String, id: u64, session: String, hook: u64, timeout_ms: u64, tree: Option<String> },
    /// Its answer is not waited for any more.
    Cancel { from: String, id: u64 },
    /// Something is below this session here from now on.
    Stands { from: String, life: String, session: String },
    /// Nothing is below it here any more.
    Left { from: String, session: String },
    /// This is what the session is now; nothing, when it has ended.
    Apply { session: String, entry: Option<SessionEntry> },
    /// Take messages out of the mailbox of this session.
    Collect { session: String, asked: Collect },
    /// They are in the agent's context.
    Accept { session: String, delivery: String },
    /// Look into the log: for decisions that a query finds, or for one event.
    Log { query: Option<String>, most: Option<usize>, event: Option<String> },
    /// A job of that life of the machine may run here: begin it.
    Begin { from: String, life: String, job: u64, hook: String },
    /// It runs still.
    Running { from: String, job: u64, fence: u64 },
    /// It has ended; how, stands behind.
    Ran { from: String, job: u64, fence: u64 },
    /// A job of this machine that runs there is to be given up.
    GiveUp { from: String, job: u64, fence: u64 },
    /// Give what has happened after this position; without one, where that is.
    Signals { query: String, after: Option<String> },
}

/// How the text of a call begins.
pub(super) const CALL: &[u8] = br#"{"type":"call","#;

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Reply {
    /// The answer of a hook stands behind.
    Answered,
    Failed {
        kind: FailureKind,
        message: String,
        started: bool,
    },
    TooLarge,
    Dropped,
    /// How a session is now.
    Entry {
        entry: Option<Box<SessionEntry>>,
    },
    /// It is in force.
    Applied,
    /// Nothing is below it here.
    NotStanding,
    /// Messages stand behind, as they are handed over.
    Collected,
    Accepted {
        messages: usize,
        durability: String,
    },
    /// What was asked for is not done.
    Refused {
        status: u16,
        detail: String,
    },
    /// Decisions stand behind, as a JSON array, the oldest first; so many before them are left out, and so many were lost.
    Log {
        lost: u64,
        left_out: usize,
        unable: Option<String>,
    },
    /// The job is begun; what its events come to stands behind.
    Begun {
        fence: u64,
        attempt: u32,
        events: usize,
    },
    /// It is to go on.
    GoesOn,
    /// It is not to run there, or no longer.
    Over,
    /// How it has ended is on record.
    Kept,
    /// What has happened up to this position stands behind, as a JSON array of numbers and signals; so many were lost.
    Signals {
        last: String,
        lost: u64,
        unable: Option<String>,
    },
}

impl Reply {
    pub(super) fn of(ended: WorkerEnded) -> (Self, String) {
        match ended {
            WorkerEnded::Answered(text) => (Self::Answered, text),
            WorkerEnded::Returned(_) => (Self::Answered, String::new()),
            WorkerEnded::Failed { kind, message, started } => {
                (Self::Failed { kind, message, started }, String::new())
            }
            WorkerEnded::TooLarge => (Self::TooLarge, String::new()),
            WorkerEnded::Dropped => (Self::Dropped, String::new()),
        }
    }

    /// How a call has ended; `None` for what answers none.
    pub(super) fn ended(self, text: &str) -> Option<WorkerEnded> {
        Some(match self {
            Self::Answered => WorkerEnded::Answered(text.to_owned()),
            Self::Failed { kind, message, started } => WorkerEnded::Failed { kind, message, started },
            Self::TooLarge => WorkerEnded::TooLarge,
            Self::Dropped => WorkerEnded::Dropped,
            _ => return None,
        })
    }
}

/// A head, and a text behind it.
pub(super) fn written(head: &impl Serialize, text: &str) -> Vec<u8> {
    let mut all = json::to_vec(head).unwrap_or_default();
    all.push(b'\n');
    all.extend_from_slice(text.as_bytes());
    all
}

/// The same as it is read; `None` for what is none.
pub(super) fn read<'a, T: Deserialize<'a>>(all: &'a [u8]) -> Option<(T, &'a str)> {
    let end = all.iter().position(|byte| *byte == b'\n')?;
    let (head, text) = all.split_at(end);
    let head = json::from_slice(head).ok()?;
    Some((head, std::str::from_utf8(text.get(1..)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_in_one_project_is_written_as_earlier_versions_know_it_and_one_in_several_as_a_list() {
        let project = |root: &str| ProjectEntry { root: root.to_owned(), digest: None, guards: None };
        let earlier = r#"{"v":1,"id":"s","agent":{"id":"main","kind":"main"},"project":{"root":"/a"}}"#;
        let one: SessionEntry = json::from_str(earlier).unwrap();
        assert_eq!(one.projects, [project("/a")]);
        assert_eq!(json::to_string(&one).unwrap(), earlier);
        let several = SessionEntry { projects: vec![project("/a"), project("/b")], ..one.clone() };
        let text = json::to_string(&several).unwrap();
        assert!(text.contains(r#""project":[{"root":"/a"},{"root":"/b"}]"#), "{text}");
        assert_eq!(json::from_str::<SessionEntry>(&text).unwrap(), several);
        let none = SessionEntry { projects: Vec::new(), ..one };
        assert_eq!(json::from_str::<SessionEntry>(&json::to_string(&none).unwrap()).unwrap(), none);
    }

    #[test]
    fn what_is_written_is_read() {
        let call = Word::Call {
            from: "b".to_owned(),
            id: 7,
            session: "00000000000000a1".to_owned(),
            hook: u64::MAX,
            timeout_ms: 250,
            tree: None,
        };
        let text = written(&call, "{\"a\":\n1}");
        assert!(text.starts_with(CALL));
        assert_eq!(read::<Word>(&text), Some((call, "{\"a\":\n1}")));
        assert_eq!(read::<Word>(b"{}\n"), None);
        assert_eq!(read::<Word>(b"{}"), None);
        let ended = [
            WorkerEnded::Answered("{}".to_owned()),
            WorkerEnded::Failed { kind: FailureKind::Closed, message: "gone".to_owned(), started: false },
            WorkerEnded::TooLarge,
            WorkerEnded::Dropped,
        ];
        for ended in ended {
            let (reply, text) = Reply::of(ended.clone());
            let text = written(&reply, &text);
            let (reply, text) = read::<Reply>(&text).unwrap();
            assert_eq!(reply.ended(text), Some(ended));
        }
        assert_eq!(Reply::Applied.ended(""), None);
    }
}
