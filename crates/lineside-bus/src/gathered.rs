//! What the hooks of one event have given so far, apart from verdicts.

use std::borrow::Cow;

use lineside_core::answer::Beyond;
use lineside_core::receipt::By;
use lineside_core::{Append, Change, Failure, Notice};
use serde_json::{Map, Value};

/// Changes, messages, notices and remarks, each with its author's place in plan order.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) changes: Vec<By<Change>>,
    pub(crate) context: Vec<Message>,
    pub(crate) notices: Vec<By<Notice>>,
    pub(crate) remarks: Vec<By<Cow<'static, str>>>,
    /// What one block too many in a row becomes, by who blocked.
    pub(crate) beyond: Vec<By<Beyond>>,
    pub(crate) extra: Map<String, Value>,
    /// The failed attempts of the hook that is being taken in.
    pub(crate) earlier: Vec<Failure>,
}

/// A message for the context.
pub(crate) struct Message {
    pub(crate) by: By<Append>,
    /// It keeps the agent working, and goes to the context only while the block stands that it belongs to.
    pub(crate) keeps_working: bool,
}

impl Gathered {
    pub(crate) fn remark(&mut self, hook: u32, what: impl Into<Cow<'static, str>>) {
        self.remarks.push(By { hook, what: what.into() });
    }

    /// Takes back what a hook gave beside its verdict when it judged for the first time.
    pub(crate) fn forget(&mut self, hook: u32) {
        self.context.retain(|message| message.by.hook != hook);
        self.notices.retain(|by| by.hook != hook);
        self.beyond.retain(|by| by.hook != hook);
    }

    pub(crate) fn notice(&mut self, hook: u32, what: Notice) {
        self.notices.push(By { hook, what });
    }

    pub(crate) fn append(&mut self, hook: u32, what: Append, keeps_working: bool) {
        self.context.push(Message { by: By { hook, what }, keeps_working });
    }
}

/// Adds what one hook gave to a list.
pub(crate) fn extend<T>(list: &mut Vec<By<T>>, hook: u32, given: Vec<T>) {
    list.extend(given.into_iter().map(|what| By { hook, what }));
}
