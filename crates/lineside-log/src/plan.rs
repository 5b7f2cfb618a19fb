//! How a query is asked: which rows are looked at first, in an index where one has few of them, and what each of them has to
//! meet besides.

use lineside_core::EventId;
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::look::{Look, LookError, Order};
use crate::query::{FAILURES, Query};
use crate::words;

/// What an index is counted up to, and what counts for one that has as many rows.
const FEW: u64 = 4_096;
const MANY: u64 = 1 << 20;

/// With more keys than this an index is not asked for each of them; rows are looked through.
const KEYS: usize = 4_096;

/// How far the numbers of rows may be out of the order of time.
const DISORDER: i64 = 4_096;

/// How long an event has to have taken to be in the index of slow ones, in microseconds.
const SLOW: i64 = 1_000_000;

/// Where rows are looked for: the entries of an index with one of several keys. A key is the value `?1`, or two are `?1`
/// and `?2`.
#[derive(Debug, Clone)]
struct Begin {
    from: &'static str,
    row: &'static str,
    test: String,
    keys: Vec<[Value; 2]>,
    /// How many rows it has, where that is known.
    rows: Option<u64>,
    /// Whether the keys are in the order of rows, from the last, and no row has two of them.
    in_order: bool,
    /// The condition of the plan that every row meets that is found so.
    meets: Option<usize>,
}

impl Begin {
    fn of_event<K: Into<Value>>(test: impl Into<String>, keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter().map(|key| [key.into(), Value::Null]).collect();
        Self {
            from: "event e",
            row: "e.row",
            test: test.into(),
            keys,
            rows: None,
            in_order: false,
            meets: None,
        }
    }

    /// By the runs of hooks.
    fn of_run<K: Into<Value>>(test: impl Into<String>, keys: impl IntoIterator<Item = K>) -> Self {
        let begin = Self::of_event(test, keys);
        Self { from: "run r JOIN event e ON e.row = r.event", row: "r.event", ..begin }
    }

    /// All rows of these ranges that lie within another.
    fn of_ranges(ranges: &[(i64, i64)], (low, high): (i64, i64)) -> Self {
        let begin = Self::of_event::<i64>("e.row BETWEEN ?1 AND ?2", []);
        let within = ranges.iter().map(|(from, to)| (*from.max(&low), *to.min(&high)));
        let ranges: Vec<(i64, i64)> = within.filter(|(from, to)| from <= to).collect();
        let rows = ranges.iter().map(|(from, to)| to.abs_diff(*from)).sum();
        let keys = ranges.iter().map(|(from, to)| [(*from).into(), (*to).into()]).collect();
        Self { keys, rows: Some(rows), in_order: true, ..begin }
    }
}

/// How a query is asked.
#[derive(Debug)]
pub(crate) struct Plan {
    begin: Begin,
    /// What each row has to meet, that by which they are found included.
    wheres: Vec<String>,
    /// The values of `wheres`, from `?3` on.
    values: Vec<Value>,
}

/// What a plan is made of, before it is known with what it begins.
#[derive(Default)]
struct Draft {
    /// Between which rows all of them are.
    rows: (i64, i64),
    /// With what it may begin.
    begins: Vec<Begin>,
    wheres: Vec<String>,
    values: Vec<Value>,
    /// Of hooks those that may stand.
    hooks: Vec<Vec<i64>>,
}

impl Plan {
    /// The statement that selects rows, whose further parameters are those of a key.
    pub(crate) fn sql(&self, also: &str) -> String {
        let Begin { from, row, test, meets, .. } = &self.begin;
        // A statement has a place for both values of a key, whether its test has or not.
        let mut wheres = vec![&**test, "?1 IS ?1", "?2 IS ?2"];
        let besides = self.wheres.iter().enumerate().filter(|(index, _)| Some(*index) != *meets);
        wheres.extend(besides.map(|(_, condition)| condition.as_str()));
        wheres.extend((!also.is_empty()).then_some(also));
        format!("SELECT DISTINCT {row} AS row FROM {from} WHERE {}", wheres.join(" AND "))
    }

    /// The keys that it begins with.
    pub(crate) fn keys(&self) -> &[[Value; 2]] {
        &self.begin.keys
    }

    /// The parameters for a key.
    pub(crate) fn parameters(&self, key: &[Value; 2]) -> impl Iterator<Item = Value> {
        key.clone().into_iter().chain(self.values.iter().cloned())
    }
}

impl Look {
    /// The rows that a plan finds, at most so many, the first or the last; in their order.
    pub(crate) fn rows(
        &self,
        plan: &Plan,
        also: &str,
        order: Order,
        most: usize,
    ) -> Result<Vec<i64>, LookError> {
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let (way, beyond) = match order {
            Order::Last => ("DESC", ">"),
            Order::First => ("ASC", "<"),
        };
        // What cannot be among them any more is not looked for.
        let bound = plan.values.len() + 3;
        let also = [also, if also.is_empty() { "" } else { " AND " }].concat();
        let row = plan.begin.row;
        let sql = format!(
            "{} ORDER BY row {way} LIMIT {limit}",
            plan.sql(&format!("{also}{row} {beyond} ?{bound}"))
        );
        let mut statement = self.store.prepare(&sql)?;
        let mut found: Vec<i64> = Vec::new();
        let mut keys = plan.begin.keys.clone();
        if order == Order::First && plan.begin.in_order {
            keys.reverse();
        }
        for key in &keys {
            let last = found.get(most.saturating_sub(1)).copied();
            if last.is_some() && plan.begin.in_order {
                break;
            }
            let last = last.unwrap_or(if order == Order::Last { i64::MIN } else { i64::MAX });
            let values = plan.parameters(key).chain([Value::Integer(last)]);
            for row in statement.query_map(params_from_iter(values), |row| row.get(0))? {
                found.push(row?);
            }
            match order {
                Order::Last => found.sort_unstable_by(|one, other| other.cmp(one)),
                Order::First => found.sort_unstable(),
            }
            found.dedup();
            found.truncate(most);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// How a query is asked; `None` where nothing can fit.
    pub(crate) fn plan(&self, query: &Query) -> Result<Option<Plan>, LookError> {
        let rows = self.times(query)?;
        let mut draft = Draft { rows, ..Draft::default() };
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
            if ids.is_empty() {
                return Ok(None);
            }
            draft.narrow(table, ids);
        }
        draft.verdicts(query);
        draft.shadow(&query.shadow);
        draft.failed(query.failed.as_deref());
        for text in &query.texts {
            self.text(text, &mut draft)?;
        }
        draft.wheres.extend(query.since.map(|since| format!("e.time >= {since} AND e.row >= {}", rows.0)));
        draft.wheres.extend(query.until.map(|until| format!("e.time <= {until} AND e.row <= {}", rows.1)));
        draft.wheres.extend(query.longer.map(|span| format!("e.took > {span}")));
        draft.wheres.extend(query.shorter.map(|span| format!("e.took < {span}")));
        if let Some(span) = query.longer.filter(|span| *span >= SLOW) {
            // The index is used for what is written out alone.
            let slow = Begin::of_event(format!("e.took > {span} AND e.took >= {SLOW}"), [span]);
            draft.begins.push(Begin { from: "event e INDEXED BY event_slow", ..slow });
        }
        let begin = self.begin(draft.begins, rows)?;
        Ok(Some(Plan { begin, wheres: draft.wheres, values: draft.values }))
    }

    /// What has fewest rows; where all have many, what has fewest keys, and after that all rows from the last on.
    fn begin(&self, begins: Vec<Begin>, within: (i64, i64)) -> Result<Begin, LookError> {
        let mut ranked = Vec::with_capacity(begins.len());
        for begin in begins {
            let count = match begin.rows {
                Some(rows) => rows,
                None => self.count(&begin)?,
            };
            ranked.push(((count.min(MANY), begin.keys.len()), begin));
        }
        let best = ranked.into_iter().min_by_key(|(rank, _)| *rank);
        let best = best.filter(|((count, keys), _)| *count < MANY || *keys <= KEYS);
        Ok(best.map_or_else(|| Begin::of_ranges(&[within], within), |(_, begin)| begin))
    }

    /// How many rows it has.
    fn count(&self, begin: &Begin) -> Result<u64, LookError> {
        let table = if begin.row == "e.row" { "event e" } else { "run r" };
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {} AND ?1 IS ?1 LIMIT {FEW})",
            begin.test
        );
        let mut statement = self.store.prepare(&sql)?;
        let mut count = 0;
        for [key, _] in &begin.keys {
            count += statement.query_row([key], |row| row.get::<_, i64>(0))?.unsigned_abs();
            if count >= FEW {
                return Ok(MANY);
            }
        }
        Ok(count)
    }

    /// Rows that have a text in their payload or reason.
    fn text(&self, text: &str, draft: &mut Draft) -> Result<(), LookError> {
        let like =
            |text: &str| format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let quoted = lineside_core::json::to_string(text).unwrap_or_default();
        let quoted = quoted.trim_matches('"');
        draft.values.push(Value::Text(like(quoted)));
        draft.values.push(Value::Text(like(text)));
        let (payload, reason) = (draft.values.len() + 1, draft.values.len() + 2);
        draft.wheres.push(format!(
            "(CASE typeof(e.payload) WHEN 'integer' THEN (SELECT text FROM text WHERE id = e.payload) ELSE e.payload END \
             LIKE ?{payload} ESCAPE '\\' OR e.reason LIKE ?{reason} ESCAPE '\\')"
        ));
        if let Some(ranges) = words::ranges(&self.store, &[quoted, text])? {
            draft.begins.push(Begin::of_ranges(&ranges, draft.rows));
        }
        Ok(())
    }

    /// The rows that the bounds in time come to: ids of events sort by time, and rows nearly do.
    fn times(&self, query: &Query) -> Result<(i64, i64), LookError> {
        let id = |millis: i64| {
            EventId::from_u128(u128::from(millis.max(0).unsigned_abs()) << 80).as_u128().to_be_bytes()
        };
        let row = |sql: &str, millis: i64| -> Result<Option<i64>, LookError> {
            Ok(self.store.query_row(sql, (id(millis), DISORDER), |row| row.get(0))?)
        };
        let since = "SELECT min(row) FROM (SELECT row FROM event WHERE id >= ? ORDER BY id LIMIT ?)";
        let until = "SELECT max(row) FROM (SELECT row FROM event WHERE id < ? ORDER BY id DESC LIMIT ?)";
        let first = query.since.map(|time| row(since, time)).transpose()?;
        let last = query.until.map(|time| row(until, time + 1)).transpose()?;
        Ok((first.map_or(0, |row| row.unwrap_or(i64::MAX)), last.map_or(i64::MAX, Option::unwrap_or_default)))
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

impl Draft {
    fn narrow(&mut self, table: &'static str, ids: Vec<i64>) {
        let all = list(&ids);
        match table {
            "hook" => {
                self.wheres.push(format!(
                    "EXISTS (SELECT 1 FROM run WHERE run.event = e.row AND run.hook IN ({all}))"
                ));
                self.begins.push(Begin::of_run("r.hook = ?1", ids.iter().copied()));
                self.hooks.push(ids);
            }
            table => {
                let begin = Begin::of_event(format!("e.{table} = ?1"), ids);
                self.begins.push(Begin { meets: Some(self.wheres.len()), ..begin });
                self.wheres.push(format!("+e.{table} IN ({all})"));
            }
        }
    }

    fn verdicts(&mut self, query: &Query) {
        let words: Vec<&str> = query.verdicts.iter().map(|verdict| verdict.as_str()).collect();
        if words.is_empty() {
            return;
        }
        self.wheres.push(format!("coalesce(e.verdict, 'continue') IN ({})", quoted(&words)));
        // A verdict `continue` is in no index.
        if !words.contains(&"continue") {
            self.begins.push(Begin::of_event("e.verdict = ?1", words.into_iter().map(str::to_owned)));
        }
    }

    /// Of events for which a hook in shadow would have done one of these; where hooks are named, one of them.
    fn shadow(&mut self, words: &[&'static str]) {
        if words.is_empty() {
            return;
        }
        let said = |word: &&'static str| !matches!(*word, "any" | "amended");
        let verdicts: Vec<&'static str> = words.iter().copied().filter(|word| said(word)).collect();
        let hooks: String = self.hooks.iter().map(|ids| format!(" AND t.hook IN ({})", list(ids))).collect();
        let mut any = Vec::new();
        if !verdicts.is_empty() {
            any.push((
                "run",
                format!(" AND t.what = 'shadow' AND t.verdict IN ({}){hooks}", quoted(&verdicts)),
            ));
        }
        if words.contains(&"any") {
            any.push(("run", format!(" AND t.what = 'shadow'{hooks}")));
        }
        if words.contains(&"amended") {
            any.push(("said", format!(" AND t.what = 'shadow_change'{hooks}")));
        }
        let tests = any
            .iter()
            .map(|(table, test)| format!("EXISTS (SELECT 1 FROM {table} t WHERE t.event = e.row{test})"));
        self.wheres.push(format!("({})", tests.collect::<Vec<_>>().join(" OR ")));
        if verdicts.len() == words.len() {
            let keys = verdicts.into_iter().map(str::to_owned);
            self.begins.push(Begin::of_run("r.what = 'shadow' AND r.verdict = ?1", keys));
        }
    }

    /// Of events for which a hook failed, in one of these ways.
    fn failed(&mut self, kinds: Option<&[String]>) {
        let Some(kinds) = kinds else { return };
        let is_any = kinds.iter().any(|kind| kind == "any");
        let all: Vec<&str> =
            if is_any { FAILURES.to_vec() } else { kinds.iter().map(String::as_str).collect() };
        let words = quoted(&all);
        self.wheres
            .push(format!("EXISTS (SELECT 1 FROM run WHERE run.event = e.row AND run.kind IN ({words}))"));
        self.begins.push(Begin::of_run("r.kind = ?1", all.into_iter().map(str::to_owned)));
    }
}

fn list(ids: &[i64]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
}
