//! A log as it is read: the decisions that a query asks for. Reads beside a writer, and without one.

use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use lineside_core::{EventId, Strength, Timestamp};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row};

use crate::query::Query;
use crate::schema::{self, VERSION};
use crate::store::regular;
use crate::words;

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
    /// The kind in which the first of them failed.
    pub failed: Option<String>,
    /// How many runs of hooks there were.
    pub runs: u32,
    /// How many hooks in shadow would have refused it, or have had a person asked.
    pub shadows: u32,
    /// What its hooks have decided, where the verdict is what came of that: a person's answer to their question, that there was
    /// none in time, or that the agent program can neither ask nor take what they have changed.
    pub of_hooks: Option<Strength>,
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
    (SELECT count(*) FROM run WHERE run.event = e.row AND run.what = 'shadow' AND run.verdict IN ('ask', 'block', 'stop')), \
    (SELECT kind FROM run WHERE run.event = e.row AND run.what = 'failed' ORDER BY place LIMIT 1), \
    CASE WHEN EXISTS (SELECT 1 FROM said WHERE said.event = e.row AND said.what = 'approval') THEN 'ask' \
    WHEN e.verdict IN ('block', 'stop') THEN (SELECT CASE max(CASE verdict WHEN 'allow' THEN 1 WHEN 'ask' THEN 2 WHEN 'block' \
    THEN 3 WHEN 'stop' THEN 3 ELSE 0 END) WHEN 0 THEN 'continue' WHEN 1 THEN 'allow' WHEN 2 THEN 'ask' END \
    FROM run WHERE run.event = e.row AND run.what IS NOT 'shadow') END";

/// What a [`Decision`] is read of; `+` keeps the planner from beginning with a name.
const JOINS: &str =
    "JOIN source s ON s.id = +e.source JOIN kind k ON k.id = +e.kind LEFT JOIN hook h ON h.id = e.by";

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

    /// The same, the latest first, each handed over before the next is read, until there is enough. Gives how many there are
    /// besides those that were taken: the one at which it ended is not.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn latest(
        &self,
        query: &Query,
        most: usize,
        mut take: impl FnMut(&Decision) -> ControlFlow<()>,
    ) -> Result<usize, LookError> {
        let Some(plan) = self.plan(query)? else { return Ok(0) };
        let rows = self.rows(&plan, "", Order::Last, most)?;
        let mut row = self.store.prepare(&one_by_row())?;
        for (taken, number) in rows.iter().rev().enumerate() {
            let found = row.query_row([number], decision).optional()?;
            if found.is_some_and(|found| take(&found).is_break()) {
                return Ok(rows.len() - taken);
            }
        }
        Ok(0)
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
        let Some(plan) = self.plan(query)? else { return Ok(Vec::new()) };
        let rows = self.rows(&plan, also, order, most)?;
        let mut row = self.store.prepare(&one_by_row())?;
        let mut found = Vec::with_capacity(rows.len());
        for number in rows {
            found.extend(row.query_row([number], decision).optional()?);
        }
        Ok(found)
    }
}

fn one_by_row() -> String {
    format!("SELECT {COLUMNS} FROM event e {JOINS} WHERE e.row = ?")
}

/// Which rows are wanted where there are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    First,
    Last,
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
        failed: row.get(25)?,
        of_hooks: row.get::<_, Option<String>>(26)?.and_then(|word| Strength::named(&word)),
    })
}

pub(crate) fn micros(number: i64) -> Duration {
    Duration::from_micros(number.unsigned_abs())
}

impl Look {
    /// The decisions whose ids begin or end with a text, at most two; of the whole id the latest.
    pub(crate) fn named(&self, id: &str) -> Result<Vec<Decision>, LookError> {
        let query = |wheres: &str, values: &[&dyn ToSql]| {
            let sql =
                format!("SELECT {COLUMNS} FROM event e {JOINS} WHERE {wheres} ORDER BY e.row DESC LIMIT 2");
            let mut rows = self.store.prepare(&sql)?;
            rows.query_map(values, decision)?.collect::<Result<Vec<_>, _>>()
        };
        if let Ok(whole) = EventId::from_str(id) {
            let mut found = query("e.id = ?", &[&whole.as_u128().to_be_bytes()])?;
            found.truncate(1);
            return Ok(found);
        }
        let digits: String = id.chars().filter(|char| *char != '-').collect::<String>().to_ascii_uppercase();
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) || digits.len() > 31 {
            return Ok(Vec::new());
        }
        let (low, high) = (filled(&digits, '0'), filled(&digits, 'F'));
        let mut found = query("e.id BETWEEN ? AND ?", &[&low, &high])?;
        if found.is_empty() {
            let ranges = words::of_end(&self.store, &digits.to_ascii_lowercase())?;
            for (from, to) in ranges.unwrap_or_else(|| vec![(0, i64::MAX)]) {
                let ends = "e.row BETWEEN ? AND ? AND hex(e.id) GLOB '*' || ?";
                found.extend(query(ends, &[&from, &to, &digits])?);
                if found.len() > 1 {
                    break;
                }
            }
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
