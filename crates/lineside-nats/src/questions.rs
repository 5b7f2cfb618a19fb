//! Questions from one machine to another: what is asked, and how an answer fails to come.

use async_nats::{Client, HeaderMap, Message, Subject};
use bytes::Bytes;

/// The header of an answer that is none: the machine has more questions than it takes.
const BUSY: &str = "Lineside-Busy";

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskMachineError {
    /// This machine is not connected. The question was not sent, or its answer can no longer come.
    #[error("this machine is not connected to its cluster")]
    NotConnected,
    /// The machine is not there.
    #[error("machine `{machine}` is not there")]
    Away {
        /// Its name.
        machine: String,
    },
    /// It has more questions than it takes.
    #[error("machine `{machine}` has too many questions")]
    Busy {
        /// Its name.
        machine: String,
    },
    /// No answer has come in time.
    #[error("machine `{machine}` has not answered in time")]
    TimedOut {
        /// Its name.
        machine: String,
    },
    /// The question is longer than the server takes.
    #[error("the question has {length} bytes; the server takes {most} at most")]
    TooLarge {
        /// Its length.
        length: usize,
        /// What the server takes.
        most: usize,
    },
}

/// A question to this machine.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub text: Bytes,
    reply: Option<(Client, Subject)>,
}

impl Question {
    pub(crate) fn of(client: &Client, message: Message) -> Self {
        let reply = message.reply.map(|to| (client.clone(), to));
        Self { text: message.payload, reply }
    }

    /// Whether an answer is expected: not so of what is only told.
    #[must_use]
    pub fn is_to_be_answered(&self) -> bool {
        self.reply.is_some()
    }

    /// Answers. Without a connection the answer is lost, as the question is then. Cancel safe; a dropped call may not have
    /// answered.
    pub async fn answer(self, answer: Bytes) {
        if let Some((client, to)) = self.reply {
            // The connection is gone, and with it who asks.
            client.publish(to, answer).await.ok();
        }
    }

    /// There is no room for it: the asker fails at once.
    pub(crate) async fn refuse(self) {
        if let Some((client, to)) = self.reply {
            let mut headers = HeaderMap::new();
            headers.insert(BUSY, "1");
            client.publish_with_headers(to, headers, Bytes::new()).await.ok();
        }
    }
}

/// The answer in a message.
pub(crate) fn answer(message: Message, machine: &str) -> Result<Bytes, AskMachineError> {
    let is_busy = message.headers.as_ref().is_some_and(|headers| headers.get(BUSY).is_some());
    if is_busy { Err(AskMachineError::Busy { machine: machine.to_owned() }) } else { Ok(message.payload) }
}
