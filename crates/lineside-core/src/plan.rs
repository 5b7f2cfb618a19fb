//! The immutable, compiled list of hooks in force for one session and one point.
//!
//! A plan is made when hooks change. The hot path only walks it.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::event::AnyEvent;
use crate::hook::{Hook, Part};
use crate::receipt::SkipReason;

/// Hooks in their declared order, with what runs them.
#[derive(Debug, Clone)]
pub struct Plan<H> {
    hooks: Arc<[Arc<Hook>]>,
    handlers: Box<[H]>,
    groups: Box<[Range<u16>]>,
}

/// More hooks for one point than a plan can number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{count} hooks at one point, at most {most} are possible", most = u16::MAX)]
pub struct CompilePlanError {
    /// How many there are.
    pub count: usize,
}

impl<H> Plan<H> {
    /// Orders hooks by priority, layer, session and registration, and groups the gates that run at the same time.
    ///
    /// # Errors
    /// More than 65,535 hooks.
    pub fn compile(mut entries: Vec<(Arc<Hook>, H)>) -> Result<Self, CompilePlanError> {
        if u16::try_from(entries.len()).is_err() {
            return Err(CompilePlanError { count: entries.len() });
        }
        entries.sort_by_key(|(hook, _)| hook.order());
        let (hooks, handlers): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Ok(Self { groups: groups(&hooks), hooks: hooks.into(), handlers: handlers.into() })
    }

    /// The hooks in order.
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        &self.hooks
    }

    /// The runs of hooks that start at the same time, in order; together they cover every hook once.
    #[must_use]
    pub fn groups(&self) -> &[Range<u16>] {
        &self.groups
    }

    /// The hook at a place and what runs it.
    #[must_use]
    pub fn entry(&self, index: u16) -> Option<(&Arc<Hook>, &H)> {
        let index = usize::from(index);
        Some((self.hooks.get(index)?, self.handlers.get(index)?))
    }

    /// Which hooks would run for an event as it stands, in order, and why the others would not.
    pub fn explain<'a>(&'a self, event: &'a AnyEvent) -> impl Iterator<Item = Explained<'a>> {
        self.hooks.iter().map(move |hook| Explained { hook, skipped: hook.skip(event) })
    }
}

/// A hook and whether it would run.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    /// The hook.
    pub hook: &'a Arc<Hook>,
    /// Why it would not run; `None` when it would.
    pub skipped: Option<SkipReason>,
}

fn groups(hooks: &[Arc<Hook>]) -> Box<[Range<u16>]> {
    let mut groups: Vec<Range<u16>> = Vec::new();
    for (index, hook) in (0u16..).zip(hooks) {
        let joins = hook.part == Part::Gate
            && index > 0
            && hooks
                .get(usize::from(index) - 1)
                .is_some_and(|before| before.part == Part::Gate && before.priority == hook.priority);
        match groups.last_mut() {
            Some(last) if joins => last.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups.into()
}

/// A digest of which hooks are in force at which points, in hexadecimal: two sessions with the same one are under the
/// same hooks in the same order.
pub fn coverage<'a>(points: impl IntoIterator<Item = (&'static str, &'a [Arc<Hook>])>) -> String {
    let mut digest = Sha256::new();
    for (point, hooks) in points {
        for hook in hooks {
            digest.update(describe(point, hook).to_string());
            digest.update(b"\n");
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn describe(point: &str, hook: &Hook) -> Value {
    let mut map = Map::new();
    map.insert("point".into(), json!(point));
    map.insert("name".into(), json!(hook.name));
    map.insert("dialect".into(), json!(hook.dialect));
    map.insert("source".into(), json!(hook.source));
    map.insert("layer".into(), json!(hook.layer));
    map.insert("priority".into(), json!(hook.priority));
    map.insert("part".into(), json!(hook.part));
    map.insert("on_failure".into(), json!(hook.on_failure));
    map.insert("timeout_ms".into(), json!(u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX)));
    map.insert("select".into(), json!(hook.select.as_ref().map(|select| select.describe())));
    map.insert("origin".into(), json!(hook.origin.as_ref().map(ToString::to_string)));
    Value::Object(map)
}
