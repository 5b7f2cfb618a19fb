//! The tables, and how a store of an earlier version becomes one of this.
//!
//! What people query are the views `decisions`, `hooks_considered` and `news`; the tables below them are as short as they
//! can be, because there are millions of rows.

use rusqlite::Connection;

/// The version of the tables, which `PRAGMA user_version` has.
pub const VERSION: i64 = 7;

/// By which a file is known to be a log: `line`.
pub(crate) const APPLICATION: i64 = 0x6c69_6e65;

/// What makes a version of the one before.
const STEPS: [&str; 7] = [ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN];

/// Words that are usual stand as NULL: a verdict `continue`, and of a hook that it answered.
const ONE: &str = "
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL, tree TEXT NOT NULL, parent TEXT, depth INTEGER NOT NULL,
  agent TEXT NOT NULL, agent_kind TEXT NOT NULL, agent_type TEXT,
  host TEXT, project TEXT, cwd TEXT, model TEXT, attributed TEXT
);
CREATE INDEX source_session ON source(session);
CREATE INDEX source_tree ON source(tree);
CREATE TABLE kind (id INTEGER PRIMARY KEY, point TEXT NOT NULL, tool TEXT);
CREATE TABLE hook (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, origin TEXT, dialect TEXT NOT NULL, layer TEXT NOT NULL, part TEXT NOT NULL,
  priority INTEGER NOT NULL, on_failure TEXT NOT NULL, condition TEXT,
  last INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX hook_name ON hook(name);
CREATE TABLE text (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL, last INTEGER NOT NULL);
CREATE TABLE event (
  row INTEGER PRIMARY KEY, id BLOB NOT NULL, time INTEGER NOT NULL,
  source INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,
  verdict TEXT, by INTEGER, reason TEXT, took INTEGER NOT NULL, generation INTEGER,
  payload NOT NULL, considered INTEGER
);
CREATE UNIQUE INDEX event_id ON event(id);
CREATE INDEX event_source ON event(source);
CREATE INDEX event_verdict ON event(verdict) WHERE verdict IS NOT NULL;
CREATE TABLE run (
  event INTEGER NOT NULL, place INTEGER NOT NULL, hook INTEGER NOT NULL,
  what TEXT, verdict TEXT, took INTEGER NOT NULL, kind TEXT, detail TEXT,
  PRIMARY KEY (event, place)
) WITHOUT ROWID;
CREATE INDEX run_hook ON run(hook, event);
CREATE TABLE said (
  event INTEGER NOT NULL, hook INTEGER, what TEXT NOT NULL, field TEXT, before, after
);
CREATE INDEX said_event ON said(event);
CREATE TABLE happened (
  row INTEGER PRIMARY KEY, time INTEGER NOT NULL, what TEXT NOT NULL,
  session TEXT, event BLOB, hook TEXT, job INTEGER, took INTEGER, detail TEXT
);
CREATE INDEX happened_event ON happened(event) WHERE event IS NOT NULL;
CREATE VIEW decisions AS SELECT
  event.row, lower(hex(event.id)) AS id, event.time / 1000.0 AS unix_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', event.time / 1000.0, 'unixepoch') AS time,
  source.session, source.tree, source.parent, source.depth, source.agent, source.agent_type, source.host,
  source.project, source.cwd, source.model, event.seq, kind.point, kind.tool,
  coalesce(event.verdict, 'continue') AS verdict, hook.name AS by, hook.origin AS by_origin, event.reason,
  event.took / 1000.0 AS took_ms, event.generation,
  CASE typeof(event.payload) WHEN 'integer' THEN (SELECT text.text FROM text WHERE text.id = event.payload)
    ELSE event.payload END AS payload
FROM event JOIN source ON source.id = event.source JOIN kind ON kind.id = event.kind
LEFT JOIN hook ON hook.id = event.by;
CREATE VIEW hooks_considered AS SELECT
  run.event AS row, run.place, hook.name AS hook, hook.origin, hook.dialect, hook.layer,
  coalesce(run.what, 'answered') AS what, coalesce(run.verdict, CASE WHEN run.what IS NULL THEN 'continue' END) AS verdict,
  run.kind AS failed, run.detail, run.took / 1000.0 AS took_ms
FROM run JOIN hook ON hook.id = run.hook
UNION ALL SELECT
  event.row, NULL, hook.name, hook.origin, hook.dialect, hook.layer,
  skip.value ->> 1, NULL, NULL, skip.value ->> 2, NULL
FROM event JOIN text ON text.id = event.considered, json_each(text.text) AS skip JOIN hook ON hook.id = skip.value ->> 0
WHERE skip.value ->> 1 IS NOT NULL;
CREATE VIEW news AS SELECT
  happened.row, happened.time / 1000.0 AS unix_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', happened.time / 1000.0, 'unixepoch') AS time,
  happened.what, happened.session, lower(hex(happened.event)) AS event, happened.hook, happened.job,
  happened.took / 1000.0 AS took_ms, happened.detail
FROM happened;
";

/// Point and tool are looked for as often as sessions.
const TWO: &str = "CREATE INDEX event_kind ON event(kind);";

/// Whether a hook counts, absent where it does; and what those in shadow would have said, which is looked for as a verdict is.
const THREE: &str = "
ALTER TABLE hook ADD COLUMN mode TEXT;
CREATE INDEX run_shadow ON run(verdict, event) WHERE what = 'shadow';
";

/// How many records were settled: written, or said to be lost; NULL before the first.
const FOUR: &str = "
CREATE TABLE tally (settled INTEGER);
INSERT INTO tally VALUES (NULL);
";

/// What failed, what was slow, and the words of blocks of rows are looked for; up to which block these are indexed; and what
/// time it is for what is kept by its age.
const FIVE: &str = "
CREATE INDEX run_failed ON run(kind, event) WHERE kind IS NOT NULL;
CREATE INDEX event_slow ON event(took) WHERE took >= 1000000;
CREATE VIRTUAL TABLE words USING fts5(groups, content='', contentless_delete=1, detail=none, tokenize='ascii');
ALTER TABLE tally ADD COLUMN indexed INTEGER;
ALTER TABLE tally ADD COLUMN aged INTEGER;
";

/// From which block on the ends of ids are indexed too; NULL where that is so of all.
const SIX: &str = "
ALTER TABLE tally ADD COLUMN ends INTEGER;
UPDATE tally SET ends = indexed;
";

/// An event that is published once more under its id is one more decision.
const SEVEN: &str = "
DROP INDEX event_id;
CREATE INDEX event_id ON event(id);
";

/// Why the tables cannot be made or brought to this version.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    #[error(
        "the store has version {0}, and this program knows versions up to {VERSION}; a newer lineside wrote it"
    )]
    Newer(i64),
    #[error("the file is another program's database")]
    Foreign,
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Makes the tables of this version, of nothing or of those of an earlier one, all of it or none of it.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), MigrateError> {
    let version = version(connection)?;
    let is_empty: bool =
        connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if version > VERSION {
        return Err(MigrateError::Newer(version));
    }
    if version == 0 && !is_empty || version > 0 && application(connection)? != APPLICATION {
        return Err(MigrateError::Foreign);
    }
    let steps = STEPS.iter().skip(usize::try_from(version).unwrap_or_default());
    let transaction = connection.transaction()?;
    steps.into_iter().try_for_each(|step| transaction.execute_batch(step))?;
    if version < VERSION {
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    transaction.commit()?;
    Ok(())
}

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(crate) fn application(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables and indexes with what made them.
    fn schema(connection: &Connection) -> Vec<String> {
        let mut rows =
            connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_store_of_each_earlier_version_becomes_one_of_this_and_keeps_what_it_has() {
        let mut new = Connection::open_in_memory().unwrap();
        migrate(&mut new).unwrap();
        for version in 1..VERSION {
            let mut old = Connection::open_in_memory().unwrap();
            for step in &STEPS[..usize::try_from(version).unwrap()] {
                old.execute_batch(step).unwrap();
            }
            old.pragma_update(None, "user_version", version).unwrap();
            old.pragma_update(None, "application_id", APPLICATION).unwrap();
            old.execute_batch(
                "INSERT INTO source VALUES (1, 's', 's', NULL, 0, 'main', 'main', NULL, NULL, NULL, NULL, NULL, NULL);
                 INSERT INTO kind VALUES (1, 'before_tool', 'Shell');
                 INSERT INTO event VALUES (1, x'0123', 5, 1, 1, 1, 'block', NULL, 'no', 7, 1, '{}', NULL);",
            )
            .unwrap();
            migrate(&mut old).unwrap();
            assert_eq!(schema(&old), schema(&new));
            assert_eq!(super::version(&old).unwrap(), VERSION);
            let found: (String, String) = old
                .query_row("SELECT tool, reason FROM decisions", [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            assert_eq!(found, ("Shell".to_owned(), "no".to_owned()));
        }
    }

    #[test]
    fn a_newer_store_and_one_of_another_program_are_left_alone() {
        let mut newer = Connection::open_in_memory().unwrap();
        migrate(&mut newer).unwrap();
        newer.pragma_update(None, "user_version", VERSION + 1).unwrap();
        assert!(matches!(migrate(&mut newer), Err(MigrateError::Newer(_))));
        let mut foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(matches!(migrate(&mut foreign), Err(MigrateError::Foreign)));
    }
}
