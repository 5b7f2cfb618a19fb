//! What an agent does not get, so that the next delivery can name it.

use std::borrow::Cow;
use std::sync::Arc;

use lineside_core::ContextMessage;
use serde::Serialize;

/// Messages of one hook that the agent does not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The hook; `None` for those of further hooks when there are very many.
    pub hook: Option<Arc<str>>,
    /// The format of that hook.
    pub dialect: Cow<'static, str>,
    /// Why they are missing.
    pub why: WhyMissing,
    /// How many.
    pub messages: u64,
}

/// Why an agent does not get a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyMissing {
    /// The mailbox was full.
    NoRoom,
    /// It was too old when its turn came.
    Expired,
    /// A later one took its place; that one is not missing, so a delivery does not name this.
    Replaced,
}

/// How many hooks are named one by one.
const NAMED: usize = 64;

/// What is to be named in the next delivery.
#[derive(Debug, Default)]
pub(super) struct Losses(pub(super) Vec<Missing>);

impl Losses {
    pub(super) fn note(&mut self, message: &ContextMessage, why: WhyMissing) {
        let hook = Some(Arc::clone(&message.hook));
        self.add(Missing { hook, dialect: message.dialect.clone(), why, messages: 1 });
    }

    /// Those of another delivery that was not accepted, too.
    pub(super) fn join(&mut self, earlier: Self) {
        let later = std::mem::replace(self, earlier);
        later.0.into_iter().for_each(|missing| self.add(missing));
    }

    fn add(&mut self, mut new: Missing) {
        if self.0.len() >= NAMED && !self.0.iter().any(|known| known.is_like(&new)) {
            (new.hook, new.dialect) = (None, Cow::Borrowed(""));
        }
        match self.0.iter_mut().find(|known| known.is_like(&new)) {
            Some(known) => known.messages += new.messages,
            None => self.0.push(new),
        }
    }
}

impl Missing {
    fn is_like(&self, other: &Self) -> bool {
        self.hook == other.hook && self.dialect == other.dialect && self.why == other.why
    }
}
