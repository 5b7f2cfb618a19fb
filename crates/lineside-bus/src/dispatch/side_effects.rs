//! What the hooks of one event have given so far, beside verdicts.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use lineside_core::answer::Beyond;
use lineside_core::json::Map;
use lineside_core::outcome::FromHook;
use lineside_core::receipt::Given;
use lineside_core::{Append, Change, Failure, MessageId, Notice};

/// Changes, messages, notices and remarks, each with its author's place in plan order. Made when the first hook gives
/// something, since most give nothing.
#[derive(Default)]
pub(crate) struct SideEffects(Option<Box<Lists>>);

#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) changes: Vec<FromHook<Change>>,
    pub(crate) context: Vec<Message>,
    pub(crate) notices: Vec<FromHook<Notice>>,
    pub(crate) remarks: Vec<FromHook<Cow<'static, str>>>,
    /// What one block too many in a row becomes, by who blocked.
    pub(crate) beyond: Vec<FromHook<(Beyond, Option<u32>)>>,
    /// The messages of the mailbox that keep the agent working, by whose they are in the receipt.
    pub(crate) results: Option<FromHook<Vec<MessageId>>>,
    pub(crate) extra: Map,
    /// The failed attempts of the hook that is being taken in.
    pub(crate) earlier: Vec<Failure>,
}

/// A message for the context.
pub(crate) struct Message {
    pub(crate) by: FromHook<Append>,
    /// It keeps the agent working, and goes to the context only while the block stands that it belongs to.
    pub(crate) keeps_working: bool,
}

static NOTHING: LazyLock<Lists> = LazyLock::new(Lists::default);

impl Deref for SideEffects {
    type Target = Lists;

    fn deref(&self) -> &Lists {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for SideEffects {
    fn deref_mut(&mut self) -> &mut Lists {
        self.0.get_or_insert_default()
    }
}

impl SideEffects {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// Converts them for the receipt.
    #[inline]
    pub(crate) fn into_given(self) -> Option<Box<Given>> {
        let Lists { changes, context, notices, remarks, results, extra, .. } = *self.0?;
        let results = results.map(|by| by.what).unwrap_or_default();
        let context = context.into_iter().map(|message| message.by).collect();
        Some(Box::new(Given { changes, context, notices, results, remarks, extra }))
    }

    /// Keeps the failed attempts of the hook that is being taken in.
    pub(crate) fn keep_earlier(&mut self, earlier: Vec<Failure>) {
        if !earlier.is_empty() {
            self.earlier = earlier;
        }
    }

    /// The failed attempts of the hook that is being taken in, which are not here afterwards.
    #[inline]
    pub(crate) fn take_earlier(&mut self) -> Vec<Failure> {
        self.0.as_mut().map(|lists| std::mem::take(&mut lists.earlier)).unwrap_or_default()
    }

    pub(crate) fn remark(&mut self, hook: u32, what: impl Into<Cow<'static, str>>) {
        self.remarks.push(FromHook { hook, what: what.into() });
    }

    /// Removes what a hook gave beside its verdict in the first round.
    pub(crate) fn forget(&mut self, hook: u32) {
        let Some(lists) = &mut self.0 else { return };
        lists.context.retain(|message| message.by.hook != hook);
        lists.notices.retain(|by| by.hook != hook);
        lists.beyond.retain(|by| by.hook != hook);
    }

    /// Removes the messages that keep the agent working, except those of these hooks.
    pub(crate) fn keep_working(&mut self, of: impl Fn(u32) -> bool) {
        let Some(lists) = &mut self.0 else { return };
        lists.context.retain(|message| !message.keeps_working || of(message.by.hook));
    }

    pub(crate) fn notice(&mut self, hook: u32, what: Notice) {
        self.notices.push(FromHook { hook, what });
    }

    pub(crate) fn append(&mut self, hook: u32, what: Append, keeps_working: bool) {
        self.context.push(Message { by: FromHook { hook, what }, keeps_working });
    }
}

/// Adds what one hook gave to a list.
pub(crate) fn extend<T>(list: &mut Vec<FromHook<T>>, hook: u32, given: Vec<T>) {
    list.extend(given.into_iter().map(|what| FromHook { hook, what }));
}
