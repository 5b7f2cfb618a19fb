//! What many rows name and the store has once: sessions, hooks, points with tools, and texts.
//!
//! The numbers are kept in memory as well, as far as there is room; one that is forgotten is looked up again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use lineside_core::{Hook, Source};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

/// How many of each are kept in memory.
const MOST: usize = 16_384;

#[derive(Default)]
pub(crate) struct Names {
    /// By address; what is gone gives its address to nothing else as long as it is held weakly.
    sources: HashMap<usize, (Weak<Source>, i64)>,
    hooks: HashMap<usize, (Weak<Hook>, i64)>,
    kinds: HashMap<(&'static str, Option<Box<str>>), i64>,
    texts: HashMap<[u8; 16], i64>,
    /// The texts and the hooks that were named in this transaction, each with the last row that did.
    named: HashMap<i64, i64>,
    named_hooks: HashMap<i64, i64>,
}

fn keep<K: Eq + Hash, V>(map: &mut HashMap<K, V>, key: K, value: V) {
    if map.len() >= MOST {
        map.clear();
    }
    map.insert(key, value);
}

impl Names {
    pub(crate) fn source(&mut self, store: &Connection, source: &Arc<Source>) -> rusqlite::Result<i64> {
        let address = Arc::as_ptr(source).addr();
        if let Some((_, id)) = self.sources.get(&address) {
            return Ok(*id);
        }
        let agent = &source.agent;
        let model =
            source.model.as_ref().and_then(|model| model.running.as_ref().or(model.selected.as_ref()));
        let attributed = source.attribution.map(|attribution| attribution.by.as_str());
        let parent = source.parent_session.as_ref().map(lineside_core::SessionId::as_str);
        let fields: [&dyn ToSql; 12] = [
            &source.session.as_str(),
            &source.root_session.as_str(),
            &parent,
            &source.depth,
            &&*agent.id,
            &agent.kind.as_str(),
            &agent.role.as_deref(),
            &source.host.as_deref(),
            &source.project_root.as_deref(),
            &source.cwd.as_deref(),
            &model.map(|model| &**model),
            &attributed,
        ];
        const COLUMNS: [&str; 12] = [
            "session", "tree", "parent", "depth", "agent", "agent_kind", "agent_type", "host", "project",
            "cwd", "model", "attributed",
        ];
        let id = row(store, "source", &COLUMNS, &fields)?;
        keep(&mut self.sources, address, (Arc::downgrade(source), id));
        Ok(id)
    }

    /// The number of a hook, which this row names.
    pub(crate) fn hook(&mut self, store: &Connection, hook: &Arc<Hook>, by: i64) -> rusqlite::Result<i64> {
        let address = Arc::as_ptr(hook).addr();
        let id = match self.hooks.get(&address) {
            Some((_, id)) => *id,
            None => {
                let id = hook_row(store, hook)?;
                keep(&mut self.hooks, address, (Arc::downgrade(hook), id));
                id
            }
        };
        self.named_hooks.insert(id, by);
        Ok(id)
    }

    pub(crate) fn kind(
        &mut self,
        store: &Connection,
        point: &'static str,
        tool: Option<&str>,
    ) -> rusqlite::Result<i64> {
        let key = (point, tool.map(Box::from));
        if let Some(id) = self.kinds.get(&key) {
            return Ok(*id);
        }
        let id = row(store, "kind", &["point", "tool"], &[&point, &tool])?;
        keep(&mut self.kinds, key, id);
        Ok(id)
    }

    /// The number of a text, which this row names.
    pub(crate) fn text(&mut self, store: &Connection, text: &str, by: i64) -> rusqlite::Result<i64> {
        let digest = Sha256::digest(text);
        let mut key = [0; 16];
        key.iter_mut().zip(digest).for_each(|(byte, other)| *byte = other);
        let known = self.texts.get(&key).copied();
        let id = match known {
            Some(id) => id,
            None => {
                let mut find = store.prepare_cached("SELECT id FROM text WHERE digest = ?")?;
                let id = match find.query_row([&key], |row| row.get(0)).optional()? {
                    Some(id) => id,
                    None => {
                        let mut insert =
                            store.prepare_cached("INSERT INTO text (digest, text, last) VALUES (?, ?, ?)")?;
                        insert.insert(params![key, text, by])?
                    }
                };
                keep(&mut self.texts, key, id);
                id
            }
        };
        self.named.insert(id, by);
        Ok(id)
    }

    /// Writes down which rows were the last to name the texts and hooks of this transaction.
    pub(crate) fn note_last(&mut self, store: &Connection) -> rusqlite::Result<()> {
        let mut update = store.prepare_cached("UPDATE text SET last = ?2 WHERE id = ?1")?;
        for (id, by) in self.named.drain() {
            update.execute([id, by])?;
        }
        let mut update = store.prepare_cached("UPDATE hook SET last = ?2 WHERE id = ?1")?;
        for (id, by) in self.named_hooks.drain() {
            update.execute([id, by])?;
        }
        Ok(())
    }

    /// Forgets all numbers: a transaction that had given some was undone, or rows were removed.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// The number of the row with these fields, which is added where there is none.
fn row(store: &Connection, table: &str, columns: &[&str], fields: &[&dyn ToSql]) -> rusqlite::Result<i64> {
    let same: Vec<String> = columns.iter().map(|column| format!("{column} IS ?")).collect();
    let find = format!("SELECT id FROM {table} WHERE {}", same.join(" AND "));
    if let Some(id) = store.prepare_cached(&find)?.query_row(fields, |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let places = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
    store.prepare_cached(&insert)?.insert(fields)
}

fn hook_row(store: &Connection, hook: &Hook) -> rusqlite::Result<i64> {
    let origin = hook.origin.as_ref().map(ToString::to_string);
    let on_failure = match hook.on_failure {
        lineside_core::OnFailure::Block => "block",
        lineside_core::OnFailure::Continue => "continue",
    };
    let condition = hook.select.as_ref().map(|select| select.describe()).filter(|text| !text.is_empty());
    let mode = hook.is_shadow().then(|| hook.mode.as_str());
    let fields: [&dyn ToSql; 9] = [
        &&*hook.name,
        &origin,
        &hook.dialect,
        &hook.layer.as_str(),
        &hook.part.as_str(),
        &hook.priority,
        &on_failure,
        &condition,
        &mode,
    ];
    const COLUMNS: [&str; 9] =
        ["name", "origin", "dialect", "layer", "part", "priority", "on_failure", "condition", "mode"];
    row(store, "hook", &COLUMNS, &fields)
}
