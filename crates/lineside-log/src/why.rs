//! One decision with everything that the log has of it.

use std::time::Duration;

use lineside_core::json::{self, Value};
use lineside_core::{EventId, Strength, Timestamp};

use crate::look::{Decision, Look, LookError, News, micros};
use crate::query::Query;

/// A decision and what led to it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Why {
    /// The decision.
    pub decision: Decision,
    /// The hooks that were considered, in plan order; one that judged twice stands twice.
    pub hooks: Vec<Considered>,
    /// What hooks gave beside verdicts, in order.
    pub given: Vec<Given>,
    /// What became of background work that the event began, and what else names the event.
    pub since: Vec<News>,
}

/// A hook that was considered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Considered {
    /// Its name.
    pub hook: String,
    /// The file and line that declare it.
    pub origin: Option<String>,
    /// The format it was written for.
    pub dialect: String,
    /// Its layer, part and priority.
    pub layer: String,
    /// See [`layer`](Self::layer).
    pub part: String,
    /// See [`layer`](Self::layer).
    pub priority: i32,
    /// Whether it is in shadow.
    pub is_shadow: bool,
    /// `answered`, `failed`, `detached`, `shadow`, what became of an offer, or why it did not run.
    pub what: String,
    /// Whether it did not run.
    pub is_skipped: bool,
    /// What it said, or is taken to have said.
    pub verdict: Option<Strength>,
    /// The kind of its failure.
    pub failed: Option<String>,
    /// How it failed, its reason, or the part of its filter that did not fit.
    pub detail: Option<String>,
    /// How long it ran.
    pub took: Option<Duration>,
}

impl Considered {
    /// Why it did not run, in a few words; of one that has run, what became of it.
    #[must_use]
    pub fn why_skipped(&self) -> &str {
        match &*self.what {
            "filter" => "its filter does not fit",
            "blocked" => "not asked: an earlier hook had refused",
            "disabled" => "switched off",
            "untrusted" => "its project is not trusted",
            "unproven" => "of a session that is not known to be above",
            "not_loaded" => "it did not load",
            "debounced" => "held, to be merged with later events",
            "superseded" => "a later event took its place",
            other => other,
        }
    }
}

/// Something that a hook gave.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Given {
    /// The hook.
    pub hook: Option<String>,
    /// `change`, `context`, `notice` or `remark`; with `shadow_` before it what a hook in shadow would have given, and `approval` for who
    /// has answered what it asks.
    pub what: String,
    /// The field of a change, and its value before as JSON.
    pub field: Option<String>,
    /// See [`field`](Self::field).
    pub before: Option<String>,
    /// The value after as JSON, or the text; of an approval a JSON object.
    pub text: String,
}

impl Look {
    /// The decision with this id, or with the only one that begins or ends so.
    ///
    /// # Errors
    /// The file cannot be read. `Ok` has nothing where no event has the id, and several decisions where its beginning is that
    /// of several.
    pub fn why(&self, id: &str) -> Result<Vec<Why>, LookError> {
        self.named(id)?.into_iter().map(|decision| self.explain(decision)).collect()
    }

    /// The last decision that a query asks for.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn why_last(&self, query: &Query) -> Result<Option<Why>, LookError> {
        self.decisions(query, 1)?.pop().map(|decision| self.explain(decision)).transpose()
    }

    fn explain(&self, decision: Decision) -> Result<Why, LookError> {
        let row = decision.row;
        Ok(Why {
            hooks: self.considered(row)?,
            given: self.given(row)?,
            since: self.since(decision.id)?,
            decision,
        })
    }

    fn considered(&self, row: i64) -> Result<Vec<Considered>, LookError> {
        const OF_HOOK: &str = "name, origin, dialect, layer, part, priority, mode";
        let sql = format!(
            "SELECT {OF_HOOK}, hook, what, verdict, kind, detail, took FROM run JOIN hook ON hook.id = run.hook \
             WHERE event = ? ORDER BY place"
        );
        let mut rows = self.store.prepare(&sql)?;
        let ran = rows.query_map([row], |row| {
            let (what, verdict): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
            let verdict = match (&what, &verdict) {
                (_, Some(word)) => Strength::named(word),
                (None, None) => Some(Strength::Continue),
                (Some(_), None) => None,
            };
            let considered = Considered {
                what: what.unwrap_or_else(|| "answered".to_owned()),
                verdict,
                failed: row.get(10)?,
                detail: row.get(11)?,
                took: Some(micros(row.get(12)?)),
                ..of_hook(row)?
            };
            Ok((row.get::<_, i64>(7)?, considered))
        })?;
        let mut ran = ran.collect::<Result<Vec<_>, _>>()?;
        let sql = "SELECT text FROM text JOIN event ON event.considered = text.id WHERE event.row = ?";
        let order: Option<String> = self.store.query_row(sql, [row], |row| row.get(0)).ok();
        let mut all = Vec::with_capacity(ran.len());
        let order = order.and_then(|text| json::from_str::<Value>(&text).ok());
        for entry in order.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = entry.get(0).and_then(Value::as_i64) else { continue };
            match entry.get(1).and_then(Value::as_str) {
                None => {
                    let (own, others) = ran.into_iter().partition(|(hook, _)| *hook == id);
                    ran = others;
                    let own: Vec<(i64, Considered)> = own;
                    all.extend(own.into_iter().map(|(_, considered)| considered));
                }
                Some(why) => {
                    let sql = format!("SELECT {OF_HOOK} FROM hook WHERE id = ?");
                    let skipped = self.store.prepare_cached(&sql)?.query_row([id], of_hook)?;
                    let detail = entry.get(2).and_then(Value::as_str).map(str::to_owned);
                    all.push(Considered { what: why.to_owned(), is_skipped: true, detail, ..skipped });
                }
            }
        }
        all.extend(ran.into_iter().map(|(_, considered)| considered));
        Ok(all)
    }

    fn given(&self, row: i64) -> Result<Vec<Given>, LookError> {
        let sql = "SELECT hook.name, what, field, before, after FROM said LEFT JOIN hook ON hook.id = said.hook \
                   WHERE event = ? ORDER BY said.rowid";
        let mut rows = self.store.prepare(sql)?;
        let given = rows.query_map([row], |row| {
            let [hook, field, before] = [row.get(0)?, row.get(2)?, row.get(3)?];
            Ok(Given { hook, what: row.get(1)?, field, before, text: row.get(4)? })
        })?;
        Ok(given.collect::<Result<_, _>>()?)
    }

    /// What became of an event after it was decided, the oldest first; at most the first 1,000.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn since(&self, event: EventId) -> Result<Vec<News>, LookError> {
        let sql = format!("SELECT {NEWS} FROM happened WHERE event = ? ORDER BY row LIMIT 1000");
        let mut rows = self.store.prepare_cached(&sql)?;
        let news = rows.query_map([event.as_u128().to_be_bytes()], news_of)?;
        Ok(news.collect::<Result<_, _>>()?)
    }

    /// What was announced to people in the time that a query asks for, and after a time, the oldest first; of more than 1,000 the latest.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn announced(&self, query: &Query, after: Option<Timestamp>) -> Result<Vec<News>, LookError> {
        let after = after.map_or(i64::MIN, |after| after.as_millisecond().saturating_add(1));
        let since = query.since.unwrap_or(i64::MIN).max(after);
        let sql = format!(
            "SELECT {NEWS} FROM happened WHERE what = 'announced' AND time BETWEEN ? AND ? ORDER BY row DESC LIMIT 1000"
        );
        let mut rows = self.store.prepare_cached(&sql)?;
        let news = rows.query_map([since, query.until.unwrap_or(i64::MAX)], news_of)?;
        let mut news = news.collect::<Result<Vec<_>, _>>()?;
        news.reverse();
        Ok(news)
    }
}

/// The columns of [`News`].
const NEWS: &str = "time, what, hook, job, took, detail";

fn news_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<News> {
    Ok(News {
        time: Timestamp::from_millisecond(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH),
        what: row.get(1)?,
        hook: row.get(2)?,
        job: row.get::<_, Option<i64>>(3)?.map(i64::unsigned_abs),
        took: row.get::<_, Option<i64>>(4)?.map(micros),
        detail: row.get(5)?,
    })
}

fn of_hook(row: &rusqlite::Row<'_>) -> rusqlite::Result<Considered> {
    Ok(Considered {
        hook: row.get(0)?,
        origin: row.get(1)?,
        dialect: row.get(2)?,
        layer: row.get(3)?,
        part: row.get(4)?,
        priority: row.get(5)?,
        is_shadow: row.get::<_, Option<String>>(6)?.is_some(),
        what: String::new(),
        is_skipped: false,
        verdict: None,
        failed: None,
        detail: None,
        took: None,
    })
}
