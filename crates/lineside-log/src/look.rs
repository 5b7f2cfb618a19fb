//! A log as it is read: the decisions that a query asks for. Reads beside a writer, and without one.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use lineside_core::{EventId, Strength, Timestamp};
use rusqlite::types::{ToSql, Value};
use rusqlite::{Connection, OpenFlags, Row, params_from_iter};

use crate::query::Query;
use crate::schema::{self, VERSION};
use crate::store::regular;

/// A log that is open for reading.
#[derive(Debug)]
pub struct Look {
    pub(crate) store: Connection,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// There is no file.
    #[error("there is no decision log {0}")]
    NotThere(String),
    /// It is no file, or cannot be looked at.
    #[error("failed to read the decision log")]
    NoFile(#[source] std::io::Error),
    /// It is of another version, or none at all.
    #[error("{0} is not a decision log of a version that this program reads")]
    Version(String),
    /// It cannot be read.
    #[error("failed to read the decision log")]
    Sqlite(#[from] rusqlite::Error),
}

/// A decision, as a line has it. Texts are without secrets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// Its number in the log, which grows.
    pub row: i64,
    /// The event.
    pub id: EventId,
    /// When it was published.
    pub time: Timestamp,
    /// The session.
    pub session: String,
    /// The session at the root of its tree, and how far below that it is.
    pub tree: String,
    /// The session above it.
    pub parent: Option<String>,
    /// See [`tree`](Self::tree).
    pub depth: u32,
    /// The agent, and its type.
    pub agent: String,
    /// See [`agent`](Self::agent).
    pub agent_type: Option<String>,
    /// The agent program.
    pub host: Option<String>,
    /// The root of its project.
    pub project: Option<String>,
    /// Its number in its session.
    pub seq: u64,
    /// The point.
    pub point: String,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The verdict.
    pub verdict: Strength,
    /// The hook whose verdict stands, and where that is declared.
    pub by: Option<String>,
    /// See [`by`](Self::by).
    pub by_origin: Option<String>,
    /// The reason, which the agent was given.
    pub reason: Option<String>,
    /// From the publication to the decision.
    pub took: Duration,
    /// The generation of hooks that was in force when it was written down.
    pub generation: Option<u64>,
    /// The payload as the hooks have left it, as JSON.
    pub payload: String,
    /// How many fields hooks have changed.
    pub changes: u32,
    /// How many runs of hooks have failed.
    pub failures: u32,
    /// How many runs of hooks there were.
    pub runs: u32,
    /// How many hooks in shadow would have refused it, or have had a person asked.
    pub shadows: u32,
}

/// Something that happened beside decisions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct News {
    /// When.
    pub time: Timestamp,
    /// What.
    pub what: String,
    /// The hook.
    pub hook: Option<String>,
    /// The job.
    pub job: Option<u64>,
    /// How long it took.
    pub took: Option<Duration>,
    /// What there is to say of it.
    pub detail: Option<String>,
}

/// The columns of a [`Decision`], of an event `e` with its source `s` and its kind `k`.
const COLUMNS: &str = "e.row, e.id, e.time, s.session, s.tree, s.parent, s.depth, s.agent, s.agent_type, s.host, s.project, \
    e.seq, k.point, k.tool, e.verdict, h.name, h.origin, e.reason, e.took, e.generation, \
    CASE typeof(e.payload) WHEN 'integer' THEN (SELECT text FROM text WHERE id = e.payload) ELSE e.payload END, \
    (SELECT count(*) FROM said WHERE said.event = e.row AND said.what = 'change'), \
    (SELECT count(*) FROM run WHERE run.event = e.row AND run.what = 'failed'), \
    (SELECT count(*) FROM run WHERE run.event = e.row), \
    (SELECT count(*) FROM run WHERE run.event = e.row AND run.what = 'shadow' AND run.verdict IN ('ask', 'block', 'stop'))";

/// What a [`Decision`] is read of; `+` keeps the planner from beginning with a name.
const JOINS: &str =
    "JOIN source s ON s.id = +e.source JOIN kind k ON k.id = +e.kind LEFT JOIN hook h ON h.id = e.by";

/// With so many sessions, hooks or kinds an index is asked for each of them; with more, rows are looked through.
const FEW: usize = 64;

/// How far the numbers of rows may be out of the order of time.
const DISORDER: i64 = 4_096;

impl Look {
    /// Opens a log for reading.
    ///
    /// # Errors
    /// There is none, it is none, or it is of another version.
    pub fn open(path: &Path) -> Result<Self, LookError> {
        let name = path.display().to_string();
        match regular(path) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(LookError::NotThere(name)),
            Err(error) => return Err(LookError::NoFile(error)),
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let opened = |uri: &str| -> rusqlite::Result<Connection> {
            let store = Connection::open_with_flags(uri, flags)?;
            store.busy_timeout(Duration::from_secs(2))?;
            schema::version(&store)?;
            Ok(store)
        };
        let uri = format!("file:{}", escaped(&name));
        // Where nothing can be written beside it, a file that is not being written is read as it is.
        let store = opened(&uri).or_else(|error| opened(&format!("{uri}?immutable=1")).map_err(|_| error))?;
        if schema::version(&store)? != VERSION || schema::application(&store)? != schema::APPLICATION {
            return Err(LookError::Version(name));
        }
        Ok(Self { store })
    }

    /// The latest decisions that a query asks for, the oldest of them first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn decisions(&self, query: &Query, most: usize) -> Result<Vec<Decision>, LookError> {
        self.found(query, "", Order::Last, most)
    }

    /// The decisions after a row, for a reader that follows; the oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn after(&self, row: i64, query: &Query) -> Result<Vec<Decision>, LookError> {
        const AT_ONCE: usize = 10_000;
        self.found(query, &format!("e.row > {row}"), Order::First, AT_ONCE)
    }

    /// The number of the last row; 0 without one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last(&self) -> Result<i64, LookError> {
        Ok(self.store.query_row("SELECT coalesce(max(row), 0) FROM event", [], |row| row.get(0))?)
    }

    /// How many records were lost in the time that a query asks for.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn lost(&self, query: &Query) -> Result<u64, LookError> {
        let (since, until) = (query.since.unwrap_or(i64::MIN), query.until.unwrap_or(i64::MAX));
        let sql =
            "SELECT coalesce(sum(detail), 0) FROM happened WHERE what = 'lost' AND time BETWEEN ? AND ?";
        Ok(self.store.query_row(sql, [since, until], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    pub(crate) fn found(
        &self,
        query: &Query,
        also: &str,
        order: Order,
        most: usize,
    ) -> Result<Vec<Decision>, LookError> {
        let Some(mut plan) = self.plan(query)? else { return Ok(Vec::new()) };
        plan.wheres.extend((!also.is_empty()).then(|| also.to_owned()));
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        for (from, first) in plan.begins() {
            let wheres = [&[first], &plan.wheres[..]].concat().join(" AND ");
            // A hook may have run twice for an event.
            let sql = format!(
                "SELECT DISTINCT {COLUMNS} FROM {from} {JOINS} WHERE {wheres} ORDER BY e.row {} LIMIT {limit}",
                if order == Order::Last { "DESC" } else { "ASC" }
            );
            let mut rows = self.store.prepare(&sql)?;
            let rows = rows.query_map(params_from_iter(&plan.values), decision)?;
            for row in rows {
                found.push(row?);
            }
        }
        found.sort_by_key(|decision| decision.row);
        found.dedup_by_key(|decision| decision.row);
        let over = found.len().saturating_sub(most);
        match order {
            Order::Last => drop(found.drain(..over)),
            Order::First => found.truncate(most),
        }
        Ok(found)
    }

    /// How a query is asked; `None` where nothing can fit.
    pub(crate) fn plan(&self, query: &Query) -> Result<Option<Plan>, LookError> {
        let mut plan = Plan::default();
        for (key, values) in &query.names {
            let (table, columns): (_, &[&str]) = match *key {
                "point" => ("kind", &["point"]),
                "tool" => ("kind", &["tool"]),
                "hook" => ("hook", &["name"]),
                "agent" => ("source", &["agent", "agent_type"]),
                key => (
                    "source",
                    std::slice::from_ref(match key {
                        "tree" => &"tree",
                        "host" => &"host",
                        "project" => &"project",
                        _ => &"session",
                    }),
                ),
            };
            let ids = self.ids(table, columns, values)?;
            plan.narrow(table, ids);
        }
        if plan.sets.iter().any(|(_, ids)| ids.is_empty()) {
            return Ok(None);
        }
        plan.verdicts = query.verdicts.iter().map(|verdict| verdict.as_str()).collect();
        if !plan.verdicts.is_empty() {
            let words: Vec<String> = plan.verdicts.iter().map(|word| format!("'{word}'")).collect();
            plan.wheres.push(format!("coalesce(e.verdict, 'continue') IN ({})", words.join(", ")));
        }
        plan.shadow(&query.shadow);
        if let Some(kinds) = &query.failed {
            let words: Vec<String> = kinds.iter().map(|word| format!("'{word}'")).collect();
            let kinds = if kinds.iter().any(|kind| kind == "any") {
                String::new()
            } else {
                format!(" AND run.kind IN ({})", words.join(", "))
            };
            plan.wheres.push(format!(
                "EXISTS (SELECT 1 FROM run WHERE run.event = e.row AND run.kind IS NOT NULL{kinds})"
            ));
        }
        for text in &query.texts {
            let like = |text: &str| {
                format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
            };
            let quoted = lineside_core::json::to_string(text).unwrap_or_default();
            plan.values.push(Value::Text(like(quoted.trim_matches('"'))));
            plan.values.push(Value::Text(like(text)));
            let (payload, reason) = (plan.values.len() - 1, plan.values.len());
            plan.wheres.push(format!(
                "(CASE typeof(e.payload) WHEN 'integer' THEN (SELECT text FROM text WHERE id = e.payload) ELSE e.payload END \
                 LIKE ?{payload} ESCAPE '\\' OR e.reason LIKE ?{reason} ESCAPE '\\')"
            ));
        }
        self.times(query, &mut plan)?;
        plan.wheres.extend(query.longer.map(|span| format!("e.took > {span}")));
        plan.wheres.extend(query.shorter.map(|span| format!("e.took < {span}")));
        Ok(Some(plan))
    }

    /// The bounds in time, and the rows that they come to: ids of events sort by time, and rows nearly do.
    fn times(&self, query: &Query, plan: &mut Plan) -> Result<(), LookError> {
        let id = |millis: i64| {
            EventId::from_u128(u128::from(millis.max(0).unsigned_abs()) << 80).as_u128().to_be_bytes()
        };
        if let Some(since) = query.since {
            let sql = "SELECT min(row) FROM (SELECT row FROM event WHERE id >= ? ORDER BY id LIMIT ?)";
            let first: Option<i64> = self.store.query_row(sql, (id(since), DISORDER), |row| row.get(0))?;
            plan.wheres.push(format!("e.time >= {since} AND e.row >= {}", first.unwrap_or(i64::MAX)));
        }
        if let Some(until) = query.until {
            let sql = "SELECT max(row) FROM (SELECT row FROM event WHERE id < ? ORDER BY id DESC LIMIT ?)";
            let last: Option<i64> = self.store.query_row(sql, (id(until + 1), DISORDER), |row| row.get(0))?;
            plan.wheres.push(format!("e.time <= {until} AND e.row <= {}", last.unwrap_or_default()));
        }
        Ok(())
    }

    /// The rows of a table of names one of whose columns fits one of these.
    fn ids(&self, table: &str, columns: &[&str], values: &[String]) -> Result<Vec<i64>, LookError> {
        let mut ids = Vec::new();
        for value in values {
            let is_glob = value.contains(['*', '?', '[']);
            let test = |column: &&str| match (is_glob, *column) {
                (true, column) => format!("{column} GLOB ?1"),
                (false, "project") => "(project = ?1 OR project GLOB '*/' || ?1)".to_owned(),
                (false, column) => format!("{column} = ?1"),
            };
            let tests: Vec<String> = columns.iter().map(test).collect();
            let mut rows =
                self.store.prepare(&format!("SELECT id FROM {table} WHERE {}", tests.join(" OR ")))?;
            for id in rows.query_map([value], |row| row.get(0))? {
                ids.push(id?);
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

/// Which rows are wanted where there are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    First,
    Last,
}

/// How a query is asked.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Of `hook`, `source` and `kind` those that may stand.
    sets: Vec<(&'static str, Vec<i64>)>,
    verdicts: Vec<&'static str>,
    /// What hooks in shadow would have said, where an index has it.
    shadows: Vec<&'static str>,
    pub(crate) wheres: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Plan {
    fn narrow(&mut self, table: &'static str, ids: Vec<i64>) {
        match self.sets.iter_mut().find(|(known, _)| *known == table && table != "hook") {
            Some((_, known)) => known.retain(|id| ids.contains(id)),
            None => self.sets.push((table, ids)),
        }
    }

    /// Of events for which a hook in shadow would have done one of these; where hooks are named, one of them.
    fn shadow(&mut self, words: &[&'static str]) {
        if words.is_empty() {
            return;
        }
        let said = |word: &&'static str| !matches!(*word, "any" | "amended");
        let verdicts: Vec<&'static str> = words.iter().copied().filter(|word| said(word)).collect();
        let hooks = self.sets.iter().filter(|(table, _)| *table == "hook");
        let hooks: String = hooks.map(|(_, ids)| format!(" AND t.hook IN ({})", list(ids))).collect();
        let mut any = Vec::new();
        if !verdicts.is_empty() {
            let words: Vec<String> = verdicts.iter().map(|word| format!("'{word}'")).collect();
            any.push((
                "run",
                format!(" AND t.what = 'shadow' AND t.verdict IN ({}){hooks}", words.join(", ")),
            ));
        }
        if words.contains(&"any") {
            any.push(("run", format!(" AND t.what = 'shadow'{hooks}")));
        }
        if words.contains(&"amended") {
            any.push(("said", format!(" AND t.what = 'shadow_change'{hooks}")));
        }
        let is_indexed = verdicts.len() == words.len() && !words.contains(&"continue");
        self.shadows = if is_indexed { verdicts } else { Vec::new() };
        let tests = any
            .iter()
            .map(|(table, test)| format!("EXISTS (SELECT 1 FROM {table} t WHERE t.event = e.row{test})"));
        self.wheres.push(format!("({})", tests.collect::<Vec<_>>().join(" OR ")));
    }

    /// What the rows are looked for with, each with its condition: the entries of one index, or all rows from the last.
    /// What is not begun with becomes a condition.
    pub(crate) fn begins(&mut self) -> Vec<(&'static str, String)> {
        let rank = |(table, ids): &(&str, Vec<i64>)| {
            (["hook", "source", "kind"].iter().position(|known| known == table), ids.len())
        };
        self.sets.sort_by_key(rank);
        // Refusals are few, but those of a session are fewer.
        let has_few_verdicts = !self.verdicts.is_empty() && !self.verdicts.contains(&"continue");
        let has_few = has_few_verdicts || !self.shadows.is_empty();
        let may_begin = |table: &str| table == "source" || !has_few;
        let few = self.sets.iter().position(|(table, ids)| ids.len() <= FEW && may_begin(table));
        let begun = few.map(|at| self.sets.remove(at));
        for (table, ids) in &self.sets {
            self.wheres.push(match *table {
                "hook" => format!(
                    "EXISTS (SELECT 1 FROM run WHERE run.event = e.row AND run.hook IN ({}))",
                    list(ids)
                ),
                table => format!("+e.{table} IN ({})", list(ids)),
            });
        }
        match begun {
            Some(("hook", ids)) => ids
                .iter()
                .map(|id| ("run r JOIN event e ON e.row = r.event", format!("r.hook = {id}")))
                .collect(),
            Some((table, ids)) => ids.iter().map(|id| ("event e", format!("e.{table} = {id}"))).collect(),
            None if !self.shadows.is_empty() => {
                let said = |word| format!("r.what = 'shadow' AND r.verdict = '{word}'");
                self.shadows
                    .iter()
                    .map(|word| ("run r JOIN event e ON e.row = r.event", said(word)))
                    .collect()
            }
            None if has_few_verdicts => {
                self.verdicts.iter().map(|word| ("event e", format!("e.verdict = '{word}'"))).collect()
            }
            None => vec![("event e", "e.row > 0".to_owned())],
        }
    }
}

fn list(ids: &[i64]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The path in a URI.
fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// The columns of `COLUMNS`.
pub(crate) fn decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    let verdict: Option<String> = row.get(14)?;
    Ok(Decision {
        row: row.get(0)?,
        id: EventId::from_u128(u128::from_be_bytes(row.get(1)?)),
        time: Timestamp::from_millisecond(row.get(2)?).unwrap_or(Timestamp::UNIX_EPOCH),
        session: row.get(3)?,
        tree: row.get(4)?,
        parent: row.get(5)?,
        depth: row.get(6)?,
        agent: row.get(7)?,
        agent_type: row.get(8)?,
        host: row.get(9)?,
        project: row.get(10)?,
        seq: row.get::<_, i64>(11)?.unsigned_abs(),
        point: row.get(12)?,
        tool: row.get(13)?,
        verdict: verdict.and_then(|word| Strength::named(&word)).unwrap_or(Strength::Continue),
        by: row.get(15)?,
        by_origin: row.get(16)?,
        reason: row.get(17)?,
        took: micros(row.get(18)?),
        generation: row.get::<_, Option<i64>>(19)?.map(i64::unsigned_abs),
        payload: row.get::<_, Option<String>>(20)?.unwrap_or_default(),
        changes: row.get(21)?,
        failures: row.get(22)?,
        runs: row.get(23)?,
        shadows: row.get(24)?,
    })
}

pub(crate) fn micros(number: i64) -> Duration {
    Duration::from_micros(number.unsigned_abs())
}

impl Look {
    /// The decisions whose ids begin or end with a text, at most two; those of the whole id come at once.
    pub(crate) fn named(&self, id: &str) -> Result<Vec<Decision>, LookError> {
        let query = |wheres: &str, values: &[&dyn ToSql]| {
            let sql =
                format!("SELECT {COLUMNS} FROM event e {JOINS} WHERE {wheres} ORDER BY e.row DESC LIMIT 2");
            let mut rows = self.store.prepare(&sql)?;
            rows.query_map(values, decision)?.collect::<Result<Vec<_>, _>>()
        };
        if let Ok(whole) = EventId::from_str(id) {
            return Ok(query("e.id = ?", &[&whole.as_u128().to_be_bytes()])?);
        }
        let digits: String = id.chars().filter(|char| *char != '-').collect::<String>().to_ascii_uppercase();
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) || digits.len() > 31 {
            return Ok(Vec::new());
        }
        let (low, high) = (filled(&digits, '0'), filled(&digits, 'F'));
        let mut found = query("e.id BETWEEN ? AND ?", &[&low, &high])?;
        if found.is_empty() {
            found = query("hex(e.id) GLOB '*' || ?", &[&digits])?;
        }
        Ok(found)
    }
}

/// The number whose digits begin so and go on with others of these.
fn filled(digits: &str, fill: char) -> [u8; 16] {
    let mut all = digits.to_owned();
    all.extend(std::iter::repeat_n(fill, 32 - digits.len()));
    u128::from_str_radix(&all, 16).unwrap_or_default().to_be_bytes()
}
