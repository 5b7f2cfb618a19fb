//! The store while it is written: records become rows, and everything of one batch is one transaction.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::receipt::Given;
use lineside_core::{Acceptance, Hook, Outcome, Receipt, Run, SkipReason, Strength, Verdict};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, params};

use crate::names::Names;
use crate::queue::Batch;
use crate::record::{Happened, LEFT, Record, Shadowed};
use crate::redacted;
use crate::retention::Retention;
use crate::schema::{MigrateError, migrate};
use crate::words::{self, Groups};

/// A payload that is longer has its text once in the store, however many rows name it.
const INLINE: usize = 512;

/// How many bytes may be written and not in the store itself, however little that keeps; else a quarter of what it keeps.
const LEAST: u64 = 16 << 20;

/// How long a writer waits for a lock of the file.
const PATIENCE: Duration = std::time::Duration::from_secs(2);

/// How many records are appended between two looks at what has come meanwhile.
const OFTEN: usize = 32;

/// What is done again and again while a batch is appended.
pub(crate) type Note<'n> = &'n mut dyn FnMut();

/// A store that is open for writing.
pub(crate) struct Store {
    connection: Connection,
    names: Names,
    groups: Groups,
    retention: Retention,
    next: i64,
    /// The latest time that was written, in milliseconds.
    latest: i64,
    /// The time by which what is kept is old, and when it was that.
    aged: Option<(i64, Instant)>,
    /// Which file it is: its device and its number there.
    file: (u64, u64),
}

/// Why a store cannot be opened, or a batch not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("another process writes it")]
    Taken,
    #[error("its `-wal` has {0} MiB, because another process reads a state of it and does not end")]
    Held(u64),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl StoreError {
    /// Whether the file is no sound store any more.
    pub(crate) fn is_damage(&self) -> bool {
        let (Self::Sqlite(error) | Self::Migrate(MigrateError::Sqlite(error))) = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }
}

/// The regular file at a path: its device and its number there; nothing where there is none. A pipe is not opened, which
/// would wait for its other end.
pub(crate) fn regular(path: &Path) -> io::Result<Option<(u64, u64)>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(Some((found.dev(), found.ino()))),
        Ok(_) => Err(io::Error::other(format!("{} is no regular file", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the regular file at a path for reading and writing; makes it with mode 0600 where there is none.
pub(crate) fn made(path: &Path) -> io::Result<File> {
    regular(path)?;
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// The files that belong to the one at a path.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

impl Store {
    /// Opens a store or makes one, with mode 0600.
    pub(crate) fn open(path: &Path, retention: Retention) -> Result<Self, StoreError> {
        // SQLite gives its other files the mode of this one.
        let made = made(path)?.metadata()?;
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Has an effect in an empty file alone.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")?;
        connection.query_row("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))?;
        migrate(&mut connection)?;
        let last = |table| {
            let sql = format!("SELECT row, time FROM {table} ORDER BY row DESC LIMIT 1");
            let last = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            Ok::<(i64, i64), rusqlite::Error>(last.unwrap_or_default())
        };
        let ((row, time), (_, news)) = (last("event")?, last("happened")?);
        let (names, groups, file) = (Names::default(), Groups::new(), (made.dev(), made.ino()));
        let latest = time.max(news);
        let aged: Option<i64> = connection.query_row("SELECT aged FROM tally", [], |row| row.get(0))?;
        let aged = aged.or((latest > 0).then_some(latest)).map(|aged| (aged, Instant::now()));
        Ok(Self { connection, names, groups, retention, next: row + 1, latest, aged, file })
    }

    /// How many records are in it or said to be lost there; `None` for one that is new.
    pub(crate) fn settled(&self) -> rusqlite::Result<Option<u64>> {
        let settled: Option<i64> =
            self.connection.query_row("SELECT settled FROM tally", [], |row| row.get(0))?;
        Ok(settled.map(i64::unsigned_abs))
    }

    /// Whether its file is still the one at this path.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        regular(path).is_ok_and(|file| file == Some(self.file))
    }

    /// Writes a batch, all of it or none of it, with which so many records are settled. Nothing is written where the file of
    /// what is not in the store yet has grown too long, because a reader holds a state before that. Between records
    /// `note` is called again and again.
    pub(crate) fn append(&mut self, batch: &Batch, settled: u64, note: Note<'_>) -> Result<(), StoreError> {
        self.put_into_store()?;
        let done = self.append_all(batch, settled, note);
        if done.is_err() {
            // Numbers that were given are undone with the rows.
            self.names.forget();
        }
        Ok(done?)
    }

    /// Has what was written be in the store itself where a lot of it is not.
    fn put_into_store(&self) -> Result<(), StoreError> {
        let waiting = self.connection.path().map(|path| beside(Path::new(path), "-wal"));
        let bytes = waiting.and_then(|waiting| fs::metadata(waiting).ok()).map_or(0, |found| found.len());
        let most = (self.retention.bytes / 4).max(LEAST);
        if bytes > most {
            // The reader may go on for hours: it is not waited for.
            self.connection.busy_timeout(Duration::ZERO)?;
            let is_held = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            self.connection.busy_timeout(PATIENCE)?;
            if is_held? {
                return Err(StoreError::Held(bytes >> 20));
            }
        }
        Ok(())
    }

    fn append_all(&mut self, batch: &Batch, settled: u64, note: Note<'_>) -> rusqlite::Result<()> {
        let aged = self.aged.is_some().then(|| self.now());
        let Self { connection, names, groups, next, latest, .. } = self;
        let transaction = connection.transaction()?;
        let mut writing = Writing { to: &transaction, names, next: *next, latest: *latest };
        let mut lost = batch.lost;
        for (number, (record, generation)) in batch.records.iter().enumerate() {
            if number % OFTEN == 0 {
                note();
            }
            match record {
                Record::Decided(receipt) => writing.decided(receipt, None, *generation)?,
                Record::Left(receipt) => writing.decided(receipt, Some(LEFT), *generation)?,
                Record::Shadowed(shadowed) => writing.shadowed(shadowed)?,
                Record::Happened(happened) => writing.happened(happened)?,
                Record::Lost(more) => lost += more,
            }
        }
        if lost > 0 {
            writing.lost(lost)?;
        }
        writing.names.note_last(&transaction)?;
        words::index(&transaction, writing.next, groups)?;
        let (after, seen) = (writing.next, writing.latest);
        let mut tally = transaction.prepare_cached("UPDATE tally SET settled = ?, aged = ?")?;
        tally.execute([Some(integer(settled)), aged])?;
        drop(tally);
        transaction.commit()?;
        (*next, *latest) = (after, seen);
        Ok(())
    }

    /// Removes some of what is over the bounds.
    pub(crate) fn prune(&mut self) -> Result<(), StoreError> {
        let now = self.now();
        if self.retention.prune(&mut self.connection, now)? {
            self.names.forget();
        }
        Ok(())
    }

    /// The time by which what is kept is old: the latest that was written, but of a clock that jumps ahead no more than a
    /// few times what has passed. A month that was never there takes no month of the log with it at once.
    fn now(&mut self) -> i64 {
        const FASTER: u32 = 4;
        let (aged, since) = *self.aged.get_or_insert_with(|| (self.latest, Instant::now()));
        let passed = since.elapsed().saturating_mul(FASTER);
        self.latest.min(aged.saturating_add(integer(passed.as_millis()))).max(aged)
    }
}

struct Writing<'a> {
    to: &'a Transaction<'a>,
    names: &'a mut Names,
    next: i64,
    latest: i64,
}

fn integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

impl Writing<'_> {
    fn decided(&mut self, receipt: &Receipt, left: Option<&str>, generation: u64) -> rusqlite::Result<()> {
        let event = &receipt.event;
        let envelope = event.envelope();
        let row = self.next;
        // The time of the id is that of the bus; what the publisher says of its event may be of any day.
        let time = integer(envelope.id.as_u128() >> 80);
        self.latest = self.latest.max(time);
        let source = self.names.source(self.to, &envelope.source)?;
        let tool = event.payload().text("tool_name").map(redacted::name);
        let kind = self.names.kind(self.to, event.point().name, tool)?;
        let by = self.hook(receipt, receipt.author, row)?;
        let strength = receipt.verdict.strength();
        let verdict = (strength != Strength::Continue).then(|| strength.as_str());
        let reason = receipt.verdict.reason().map(|reason| redacted::remark(reason.as_str()));
        let reason = reason.or_else(|| left.map(str::to_owned));
        let payload = redacted::payload(event.payload_text());
        let long = if payload.len() > INLINE { Some(self.names.text(self.to, &payload, row)?) } else { None };
        let considered = self.considered(receipt, row)?;
        let mut insert = self.to.prepare_cached(
            "INSERT INTO event (row, id, time, source, seq, kind, verdict, by, reason, took, generation, payload, \
             considered) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, ?), ?)",
        )?;
        let id = envelope.id.as_u128().to_be_bytes();
        insert.execute(params![
            row,
            id,
            time,
            source,
            integer(envelope.seq),
            kind,
            verdict,
            by,
            reason,
            integer(receipt.took.as_micros()),
            (generation > 0).then(|| integer(generation)),
            long,
            long.is_none().then_some(&*payload),
            considered,
        ])?;
        self.next += 1;
        self.runs(receipt, row)?;
        self.said(receipt, row)
    }

    fn hook(&mut self, receipt: &Receipt, index: Option<u32>, row: i64) -> rusqlite::Result<Option<i64>> {
        let hook = index.and_then(|index| receipt.hooks.get(usize::try_from(index).ok()?));
        hook.map(|hook| self.names.hook(self.to, hook, row)).transpose()
    }

    fn runs(&mut self, receipt: &Receipt, row: i64) -> rusqlite::Result<()> {
        for (place, run) in receipt.runs.iter().enumerate() {
            // Those that their filters left out stand with the others that did not run.
            if matches!(run.outcome, Outcome::Skipped(_)) {
                continue;
            }
            let Some(hook) = self.hook(receipt, Some(run.hook), row)? else { continue };
            let (what, kind, detail) = match &run.outcome {
                Outcome::Answered(_) | Outcome::Skipped(_) => (None, None, None),
                Outcome::Failed { failure, .. } => {
                    (Some("failed"), Some(failure.kind.as_str()), Some(redacted::remark(&failure.detail)))
                }
                Outcome::Detached if receipt.hook(run.hook).is_some_and(Hook::is_shadow) => {
                    (Some(SHADOW), None, None)
                }
                Outcome::Detached => (Some("detached"), None, None),
                Outcome::Offered(acceptance) => (Some(acceptance.as_str()), None, refusal(acceptance)),
            };
            let verdict = run.outcome.verdict().map(Verdict::strength);
            let verdict = verdict.filter(|verdict| what.is_some() || *verdict != Strength::Continue);
            let detail = detail.or_else(|| {
                let reason = run.outcome.verdict().and_then(Verdict::reason)?;
                (receipt.author != Some(run.hook)).then(|| redacted::remark(reason.as_str()))
            });
            let mut insert = self.to.prepare_cached(
                "INSERT INTO run (event, place, hook, what, verdict, took, kind, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?;
            insert.execute(params![
                row,
                integer(place),
                hook,
                what,
                verdict.map(Strength::as_str),
                integer(run.took.as_micros()),
                kind,
                detail,
            ])?;
        }
        Ok(())
    }

    /// The hooks that were considered, in plan order, each that did not run with why: one text for all events for which it
    /// is the same. Nothing where all have run.
    fn considered(&mut self, receipt: &Receipt, row: i64) -> rusqlite::Result<Option<i64>> {
        let skipped = |run: &&Run| matches!(run.outcome, Outcome::Skipped(_));
        let mut hooks: Vec<(Arc<Hook>, Option<SkipReason>)> =
            receipt.left_out().into_iter().map(|(hook, why)| (hook, Some(why))).collect();
        if hooks.is_empty() && !receipt.runs.iter().any(|run| skipped(&run)) {
            return Ok(None);
        }
        for run in &receipt.runs {
            let Some(hook) = usize::try_from(run.hook).ok().and_then(|index| receipt.hooks.get(index)) else {
                continue;
            };
            let why = match run.outcome {
                Outcome::Skipped(why) => Some(why),
                _ => None,
            };
            hooks.push((Arc::clone(hook), why));
        }
        hooks.sort_by_key(|(hook, _)| hook.order());
        // One that has run and was to judge again stands once for each.
        hooks.dedup_by_key(|(hook, why)| (hook.order(), *why));
        let mut rows = Vec::with_capacity(hooks.len());
        for (hook, why) in &hooks {
            let id = self.names.hook(self.to, hook, row)?;
            let select = hook.select.as_ref().filter(|_| *why == Some(SkipReason::Filter));
            let misfit = select.map(|select| select.misfit(&receipt.event)).filter(|text| !text.is_empty());
            rows.push(match (why, misfit) {
                (None, _) => json!([id]),
                (Some(why), None) => json!([id, why]),
                (Some(why), Some(misfit)) => json!([id, why, misfit]),
            });
        }
        self.names.text(self.to, &Value::Array(rows).to_string(), row).map(Some)
    }

    /// What hooks gave beside verdicts.
    fn said(&mut self, receipt: &Receipt, row: i64) -> rusqlite::Result<()> {
        for (place, said) in said(receipt, &COUNTED) {
            let hook = self.hook(receipt, Some(place), row)?;
            self.say(row, hook, said)?;
        }
        let Some(approval) = &receipt.approval else { return Ok(()) };
        let hook = self.hook(receipt, receipt.author, row)?;
        let after = redacted::value(&json!({
            "id": approval.id, "answer": approval.verdict.strength(), "by": approval.by, "scope": approval.scope,
            "at": approval.at.to_string(), "waited_ms": integer(approval.waited.as_millis()),
        }));
        self.say(row, hook, Said { what: "approval", field: None, before: None, after })
    }

    /// What a hook in shadow would have come to, where its run stands. Nothing where its event is not here: it was lost, and
    /// is counted as that.
    fn shadowed(&mut self, shadowed: &Shadowed) -> rusqlite::Result<()> {
        let Shadowed { event, hook, outcome, given, took } = shadowed;
        let mut find = self.to.prepare_cached("SELECT max(row) FROM event WHERE id = ?")?;
        let row: Option<i64> = find.query_row([event.as_u128().to_be_bytes()], |row| row.get(0))?;
        let Some(row) = row else { return Ok(()) };
        let hook = self.names.hook(self.to, hook, row)?;
        let (kind, detail) = match outcome {
            Outcome::Failed { failure, .. } => {
                (Some(failure.kind.as_str()), Some(redacted::remark(&failure.detail)))
            }
            other => {
                let reason = other.verdict().and_then(Verdict::reason);
                (None, reason.map(|reason| redacted::remark(reason.as_str())))
            }
        };
        let verdict = outcome.verdict().map_or(Strength::Continue, Verdict::strength).as_str();
        let mut update = self.to.prepare_cached(
            "UPDATE run SET what = ?, verdict = ?, took = ?, kind = ?, detail = ? \
             WHERE event = ? AND hook = ? AND verdict IS NULL",
        )?;
        let took = integer(took.as_micros());
        update.execute(params![SHADOW, verdict, took, kind, detail, row, hook])?;
        let given = given.as_deref().map(|given| said(given, &WOULD)).unwrap_or_default();
        given.into_iter().try_for_each(|(_, said)| self.say(row, Some(hook), said))
    }

    fn say(&mut self, row: i64, hook: Option<i64>, said: Said) -> rusqlite::Result<()> {
        let Said { what, field, before, after } = said;
        {
            let mut insert = self.to.prepare_cached(
                "INSERT INTO said (event, hook, what, field, before, after) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            insert.execute(params![row, hook, what, field, before, after])?;
        }
        Ok(())
    }

    fn happened(&mut self, happened: &Happened) -> rusqlite::Result<()> {
        let Happened { at, what, session, event, hook, job, took, detail } = happened;
        let time = at.as_millisecond();
        self.latest = self.latest.max(time);
        let mut insert = self.to.prepare_cached(
            "INSERT INTO happened (time, what, session, event, hook, job, took, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        insert.execute(params![
            time,
            what,
            session.as_ref().map(lineside_core::SessionId::as_str),
            event.map(|event| event.as_u128().to_be_bytes()),
            hook.as_deref(),
            job.map(integer),
            took.map(|took| integer(took.as_micros())),
            (!detail.is_empty()).then(|| redacted::remark(detail)),
        ])?;
        Ok(())
    }

    /// The gap itself is a row.
    fn lost(&mut self, lost: u64) -> rusqlite::Result<()> {
        let mut insert =
            self.to.prepare_cached("INSERT INTO happened (time, what, detail) VALUES (?, 'lost', ?)")?;
        insert.execute(params![self.latest, lost.to_string()])?;
        Ok(())
    }
}

/// What a run of a hook in shadow is.
const SHADOW: &str = "shadow";

/// The words for what hooks gave, of those that count and of those in shadow: a change, context, a notice, a remark.
const COUNTED: [&str; 4] = ["change", "context", "notice", "remark"];
const WOULD: [&str; 4] = ["shadow_change", "shadow_context", "shadow_notice", "shadow_remark"];

/// One thing that a hook gave.
struct Said {
    what: &'static str,
    field: Option<String>,
    before: Option<String>,
    after: String,
}

/// What was given, each by the hook at a place.
fn said(given: &Given, [change, context, notice, remark]: &[&'static str; 4]) -> Vec<(u32, Said)> {
    let text = |what, text: &str| Said { what, field: None, before: None, after: redacted::remark(text) };
    let changes = given.changes.iter().map(|FromHook { hook, what }| {
        let (before, after) = (Some(redacted::value(&what.before)), redacted::value(&what.after));
        (*hook, Said { what: change, field: Some(what.field.to_string()), before, after })
    });
    let context = given.context.iter().map(|FromHook { hook, what }| (*hook, text(context, &what.text)));
    let notices = given.notices.iter().map(|FromHook { hook, what }| (*hook, text(notice, &what.text)));
    let remarks = given.remarks.iter().map(|FromHook { hook, what }| (*hook, text(remark, what)));
    changes.chain(context).chain(notices).chain(remarks).collect()
}

/// Why background work was not accepted.
fn refusal(acceptance: &Acceptance) -> Option<String> {
    match acceptance {
        Acceptance::Refused(why) => Some(redacted::remark(why)),
        Acceptance::Unavailable(why) => Some(redacted::remark(&why.to_string())),
        _ => None,
    }
}
