//! What the hooks of one event have given so far, apart from verdicts.

use std::borrow::Cow;

use lineside_core::receipt::By;
use lineside_core::{Append, Change, Failure, KeepWorking, Notice};
use serde_json::{Map, Value};

/// Changes, messages, notices and remarks, each with its author's place in plan order.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) changes: Vec<By<Change>>,
    pub(crate) context: Vec<By<Append>>,
    pub(crate) notices: Vec<By<Notice>>,
    pub(crate) remarks: Vec<By<Cow<'static, str>>>,
    pub(crate) keep_working: Vec<By<Box<KeepWorking>>>,
    pub(crate) extra: Map<String, Value>,
    /// The failed attempts of the hook that is being taken in.
    pub(crate) earlier: Vec<Failure>,
}

impl Gathered {
    pub(crate) fn remark(&mut self, hook: u16, what: impl Into<Cow<'static, str>>) {
        self.remarks.push(By { hook, what: what.into() });
    }

    /// Takes back what a hook gave beside its verdict when it judged for the first time.
    pub(crate) fn forget(&mut self, hook: u16) {
        self.context.retain(|by| by.hook != hook);
        self.notices.retain(|by| by.hook != hook);
        self.keep_working.retain(|by| by.hook != hook);
    }

    pub(crate) fn notice(&mut self, hook: u16, what: Notice) {
        self.notices.push(By { hook, what });
    }
}

/// Adds what one hook gave to a list.
pub(crate) fn extend<T>(list: &mut Vec<By<T>>, hook: u16, given: Vec<T>) {
    list.extend(given.into_iter().map(|what| By { hook, what }));
}
