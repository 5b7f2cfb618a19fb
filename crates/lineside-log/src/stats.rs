//! What many decisions come to: by hook, by session, and over time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use lineside_core::{Strength, Timestamp};
use rusqlite::{Row, params_from_iter};

use crate::look::{Look, LookError, micros};
use crate::query::Query;

/// What the decisions that a query asks for come to.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// How many events.
    pub events: u64,
    /// How many of them were refused.
    pub refused: u64,
    /// How many records were lost in the time.
    pub lost: u64,
    /// The times of the first and the last event.
    pub from: Option<Timestamp>,
    /// See [`from`](Self::from).
    pub to: Option<Timestamp>,
    /// Of equal parts of that time, how many events each had, and how many were refused.
    pub over_time: Vec<(u64, u64)>,
    /// By hook, the one that ran most first.
    pub hooks: Vec<HookStats>,
    /// By session, the one with most events first; at most as many as were asked for.
    pub sessions: Vec<SessionStats>,
}

/// What a hook did.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct HookStats {
    /// Its name.
    pub hook: String,
    /// The file that declares it. Hooks of one name in several files are several hooks.
    pub file: Option<String>,
    /// How often it ran.
    pub calls: u64,
    /// What it said, weakest first.
    pub verdicts: BTreeMap<Strength, u64>,
    /// How often it failed, by kind.
    pub failures: BTreeMap<String, u64>,
    /// How often it ran in shadow, and what it would have said then, where that is known.
    pub shadows: u64,
    /// See [`shadows`](Self::shadows).
    pub would: BTreeMap<Strength, u64>,
    /// How many events it would have changed.
    pub would_amend: u64,
    /// Half of its runs in shadow of which the end is known took at most this, and 99 of 100.
    pub shadow_p50: Duration,
    /// See [`shadow_p50`](Self::shadow_p50).
    pub shadow_p99: Duration,
    /// Half of its runs took at most this.
    pub p50: Duration,
    /// 99 of 100 of its runs took at most this.
    pub p99: Duration,
    /// How many of its runs took at most 1, 2, 4, … microseconds and more than the one before; the last one has all longer ones.
    pub histogram: [u64; DOUBLINGS],
}

/// How many doublings of a microsecond times are counted by: the last one ends at 16 seconds.
pub const DOUBLINGS: usize = 25;

/// What happened in a session.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionStats {
    /// The session.
    pub session: String,
    /// The agent program.
    pub host: Option<String>,
    /// How many events it had.
    pub events: u64,
    /// How many of them were refused.
    pub refused: u64,
    /// How long its agent waited for decisions.
    pub waited: Duration,
    /// How long its hooks ran, added up; more than was waited where they ran at the same time or in the background.
    pub in_hooks: Duration,
}

const REFUSED: &str = "coalesce(e.verdict IN ('block', 'stop'), 0)";

impl Look {
    /// What the decisions come to that a query asks for, in so many parts of time, with at most so many sessions.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn stats(&self, query: &Query, parts: usize, sessions: usize) -> Result<Stats, LookError> {
        let Some(plan) = self.plan(query)? else { return Ok(Stats::default()) };
        self.store.execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS chosen (row INTEGER PRIMARY KEY); DELETE FROM chosen",
        )?;
        let mut insert = self.store.prepare(&format!("INSERT OR IGNORE INTO chosen {}", plan.sql("")))?;
        for key in plan.keys() {
            insert.execute(params_from_iter(plan.parameters(key)))?;
        }
        let mut stats = Stats { lost: self.lost(query)?, ..Stats::default() };
        let sql = format!(
            "SELECT count(*), coalesce(sum({REFUSED}), 0), min(e.time), max(e.time) FROM chosen JOIN event e USING (row)"
        );
        let (from, to): (Option<i64>, Option<i64>) = self.store.query_row(&sql, [], |row| {
            stats.events = row.get::<_, i64>(0)?.unsigned_abs();
            stats.refused = row.get::<_, i64>(1)?.unsigned_abs();
            Ok((row.get(2)?, row.get(3)?))
        })?;
        let (Some(from), Some(to)) = (from, to) else { return Ok(stats) };
        (stats.from, stats.to) = (Timestamp::from_millisecond(from), Timestamp::from_millisecond(to));
        stats.over_time = self.over_time(from, to, parts)?;
        stats.hooks = self.hooks()?;
        stats.sessions = self.sessions(sessions)?;
        Ok(stats)
    }

    /// The sessions in which a decision is that a query asks for.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sessions_of(&self, query: &Query) -> Result<HashSet<String>, LookError> {
        let Some(plan) = self.plan(query)? else { return Ok(HashSet::new()) };
        let mut sessions = HashSet::new();
        let mut rows = self.store.prepare(&format!(
            "SELECT DISTINCT s.session FROM ({}) JOIN event e USING (row) JOIN source s ON s.id = +e.source",
            plan.sql("")
        ))?;
        for key in plan.keys() {
            for session in rows.query_map(params_from_iter(plan.parameters(key)), |row| row.get(0))? {
                sessions.insert(session?);
            }
        }
        Ok(sessions)
    }

    fn over_time(&self, from: i64, to: i64, parts: usize) -> Result<Vec<(u64, u64)>, LookError> {
        let mut over_time = vec![(0, 0); parts.max(1)];
        let width = ((to - from + 1) / i64::try_from(over_time.len()).unwrap_or(1) + 1).max(1);
        let sql = format!(
            "SELECT (e.time - ?) / ? AS part, count(*), coalesce(sum({REFUSED}), 0) FROM chosen JOIN event e USING (row) GROUP BY part"
        );
        let mut rows = self.store.prepare(&sql)?;
        let mut rows = rows.query([from, width])?;
        while let Some(row) = rows.next()? {
            let part = usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
            if let Some(counts) = over_time.get_mut(part) {
                *counts = (row.get::<_, i64>(1)?.unsigned_abs(), row.get::<_, i64>(2)?.unsigned_abs());
            }
        }
        Ok(over_time)
    }

    fn hooks(&self) -> Result<Vec<HookStats>, LookError> {
        let sql = "SELECT run.hook, run.what, run.verdict, run.kind, run.took FROM chosen JOIN run ON run.event = chosen.row";
        let mut hooks: HashMap<i64, Counted> = HashMap::new();
        let mut rows = self.store.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let counted = hooks.entry(row.get(0)?).or_default();
            let (what, verdict, kind) = (word(row, 1)?, word(row, 2)?, word(row, 3)?);
            let (stats, took) = (&mut counted.stats, row.get(4)?);
            stats.calls += 1;
            counted.times.push(took);
            if what == Some("shadow") {
                stats.shadows += 1;
                if verdict.is_some() || kind.is_some() {
                    counted.in_shadow.push(took);
                }
                if let Some(strength) = verdict.and_then(Strength::named) {
                    *stats.would.entry(strength).or_default() += 1;
                }
            }
            if let Some(kind) = kind {
                *stats.failures.entry(kind.to_owned()).or_default() += 1;
            } else if what.is_none() {
                let verdict = verdict.and_then(Strength::named).unwrap_or(Strength::Continue);
                *stats.verdicts.entry(verdict).or_default() += 1;
            }
        }
        let sql = "SELECT said.hook, count(DISTINCT said.event) FROM chosen JOIN said ON said.event = chosen.row \
                   WHERE said.what = 'shadow_change' GROUP BY said.hook";
        let mut rows = self.store.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let counted = hooks.entry(row.get(0)?).or_default();
            counted.stats.would_amend = row.get::<_, i64>(1)?.unsigned_abs();
        }
        let mut named: BTreeMap<(String, Option<String>), Counted> = BTreeMap::new();
        for (id, counted) in hooks {
            let sql = "SELECT name, origin FROM hook WHERE id = ?";
            let (name, origin): (String, Option<String>) =
                self.store.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            // One that was loaded again stands on another line of the same file.
            let file = origin.map(|origin| match origin.rsplit_once(':') {
                Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => file.to_owned(),
                _ => origin,
            });
            named.entry((name, file)).or_default().add(counted);
        }
        let finished = named.into_iter().map(|((hook, file), counted)| {
            let Counted { stats, mut times, mut in_shadow } = counted;
            let (p50, p99) = middle_and_most(&mut times);
            let (shadow_p50, shadow_p99) = middle_and_most(&mut in_shadow);
            let mut histogram = [0; DOUBLINGS];
            for time in &times {
                let doublings = time.max(&1).unsigned_abs().next_power_of_two().trailing_zeros() as usize;
                if let Some(count) = histogram.get_mut(doublings.min(DOUBLINGS - 1)) {
                    *count += 1;
                }
            }
            HookStats { hook, file, p50, p99, shadow_p50, shadow_p99, histogram, ..stats }
        });
        let mut hooks: Vec<HookStats> = finished.collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.calls));
        Ok(hooks)
    }

    fn sessions(&self, most: usize) -> Result<Vec<SessionStats>, LookError> {
        let sql = format!(
            "SELECT s.session, max(s.host), count(*) AS events, coalesce(sum({REFUSED}), 0), sum(e.took), \
             sum((SELECT coalesce(sum(run.took), 0) FROM run WHERE run.event = e.row)) FROM chosen JOIN event e USING (row) JOIN source s ON s.id = e.source GROUP BY s.session ORDER BY events DESC LIMIT ?"
        );
        let mut rows = self.store.prepare(&sql)?;
        let sessions = rows.query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| {
            Ok(SessionStats {
                session: row.get(0)?,
                host: row.get(1)?,
                events: row.get::<_, i64>(2)?.unsigned_abs(),
                refused: row.get::<_, i64>(3)?.unsigned_abs(),
                waited: micros(row.get(4)?),
                in_hooks: micros(row.get(5)?),
            })
        })?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }
}

/// What was counted of a hook so far.
#[derive(Default)]
struct Counted {
    stats: HookStats,
    /// How long its runs took.
    times: Vec<i64>,
    /// The same of those in shadow of which the end is known.
    in_shadow: Vec<i64>,
}

impl Counted {
    fn add(&mut self, other: Self) {
        let (all, stats) = (&mut self.stats, other.stats);
        all.calls += stats.calls;
        all.shadows += stats.shadows;
        all.would_amend += stats.would_amend;
        stats.would.into_iter().for_each(|(would, count)| *all.would.entry(would).or_default() += count);
        stats
            .verdicts
            .into_iter()
            .for_each(|(verdict, count)| *all.verdicts.entry(verdict).or_default() += count);
        stats.failures.into_iter().for_each(|(kind, count)| *all.failures.entry(kind).or_default() += count);
        self.times.extend(other.times);
        self.in_shadow.extend(other.in_shadow);
    }
}

/// What half of the times are at most, and 99 of 100; the times are in order afterwards.
fn middle_and_most(times: &mut [i64]) -> (Duration, Duration) {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    let at =
        |share: usize| micros(times.get((times.len() * share / 100).min(last)).copied().unwrap_or_default());
    (at(50), at(99))
}

fn word<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<Option<&'r str>> {
    Ok(row.get_ref(column)?.as_str_or_null()?)
}
