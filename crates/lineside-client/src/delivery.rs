//! Messages for the agent's context: handed over, and accepted.

use lineside_core::ContextMessage;
use lineside_core::json::{Map, Value, json};
use serde::Deserialize;

use crate::request::RequestError;
use crate::segment::segment;
use crate::session::Session;

/// A collection under way.
#[derive(Debug)]
pub struct Collect<'a> {
    session: &'a Session,
    fields: Map,
}

impl Session {
    /// Takes the messages for the agent's context.
    ///
    /// ```no_run
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let delivery = session.collect().before_next_model().await?;
    /// let prompt = format!("{}\n\nGo on.", delivery.text());
    /// assert!(prompt.ends_with("Go on."));
    /// // Only what is accepted leaves the mailbox.
    /// let accepted = delivery.accept().await?;
    /// println!("{} messages", accepted.len());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn collect(&self) -> Collect<'_> {
        Collect { session: self, fields: Map::new() }
    }
}

impl Collect<'_> {
    /// Everything that is there now and fits.
    ///
    /// Not cancel safe: what a dropped call has taken goes back within a minute.
    ///
    /// # Errors
    /// The session is not open, or there is no daemon.
    pub async fn ready(self) -> Result<Delivery, RequestError> {
        let path = self.session.path("/context/collect");
        let taken: Taken = self.session.client().post(&path, &self.fields).await?;
        Ok(Delivery { session: self.session.clone(), taken })
    }

    /// Everything that the next model call must have: waits for the hooks that say so.
    ///
    /// Not cancel safe, as [`ready`](Self::ready).
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub async fn before_next_model(mut self) -> Result<Delivery, RequestError> {
        self.fields.insert("before_next_model".to_owned(), json!(true));
        self.ready().await
    }
}

#[derive(Debug, Deserialize)]
struct Taken {
    delivery: Option<String>,
    messages: Vec<ContextMessage>,
    text: String,
    remaining: usize,
}

/// Messages handed over. They go back to their mailbox when they are not accepted within a minute.
#[must_use = "messages that are not accepted go back"]
#[derive(Debug)]
pub struct Delivery {
    session: Session,
    taken: Taken,
}

impl Delivery {
    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[ContextMessage] {
        &self.taken.messages
    }

    /// The messages as one text, each in an envelope of its own.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.taken.text
    }

    /// How many messages did not fit and wait for the next delivery.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.taken.remaining
    }

    /// They are in the agent's context now; they are not delivered again.
    ///
    /// # Errors
    /// They went back before, the acceptance cannot be kept, or there is no daemon.
    pub async fn accept(self) -> Result<Vec<ContextMessage>, RequestError> {
        if let Some(name) = &self.taken.delivery {
            let path = self.session.path(&format!("/context/{}/accept", segment(name)));
            let _accepted: Value = self.session.client().post(&path, &Map::new()).await?;
        }
        Ok(self.taken.messages)
    }
}
