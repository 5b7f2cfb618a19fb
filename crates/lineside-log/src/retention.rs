//! How long and how much is kept: the oldest goes, a few thousand rows at a time, so that no writing waits long for it.

use std::time::Duration;

use rusqlite::Connection;

use crate::words;

/// How many events are removed in one step.
const AT_ONCE: i64 = 5_000;

/// In how many steps at most; what is left is removed after the next batch.
const STEPS: usize = 16;

/// How many pages are given back to the system in one step.
const PAGES: i64 = 2_000;

/// What a log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// For how long a decision is kept; 30 days.
    pub age: Duration,
    /// How many bytes the file may have; 1 GiB. It may be over that by a few batches.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_hours(30 * 24), bytes: 1 << 30 }
    }
}

impl Retention {
    /// Removes what is over the bounds, in a few steps at most. `now` is the latest time in the store, in milliseconds.
    /// Returns whether names may be gone.
    pub(crate) fn prune(&self, store: &mut Connection, now: i64) -> rusqlite::Result<bool> {
        let mut steps = 0;
        while steps < STEPS && self.step(store, now)? {
            steps += 1;
        }
        Ok(steps > 0)
    }

    /// Removes some of it; returns whether there was any.
    fn step(&self, store: &mut Connection, now: i64) -> rusqlite::Result<bool> {
        let pragma = |name: &str| store.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (pages, free, size) = (pragma("page_count")?, pragma("freelist_count")?, pragma("page_size")?);
        let is_full = u64::try_from((pages - free) * size).unwrap_or_default() > self.bytes;
        let old = now.saturating_sub(i64::try_from(self.age.as_millis()).unwrap_or(i64::MAX));
        let oldest = "SELECT min(time) FROM (SELECT * FROM (SELECT time FROM event ORDER BY row LIMIT 1) UNION ALL \
                      SELECT * FROM (SELECT time FROM happened ORDER BY row LIMIT 1))";
        let oldest: Option<i64> = store.prepare_cached(oldest)?.query_row([], |row| row.get(0))?;
        if !is_full && oldest.is_none_or(|oldest| oldest >= old) {
            return Ok(false);
        }
        let up_to =
            oldest_of(store, "event", old)?.max(if is_full { tenth_of(store, "event")? } else { None });
        let news = match up_to {
            // News goes with the events of its time.
            Some(row) => {
                let time: i64 =
                    store.query_row("SELECT time FROM event WHERE row = ?", [row], |row| row.get(0))?;
                oldest_of(store, "happened", time.max(old))?
            }
            None => oldest_of(store, "happened", old)?.max(if is_full {
                tenth_of(store, "happened")?
            } else {
                None
            }),
        };
        if up_to.is_none() && news.is_none() {
            return Ok(false);
        }
        let transaction = store.transaction()?;
        if let Some(up_to) = up_to {
            transaction.execute("DELETE FROM event WHERE row <= ?", [up_to])?;
            transaction.execute("DELETE FROM run WHERE event <= ?", [up_to])?;
            transaction.execute("DELETE FROM said WHERE event <= ?", [up_to])?;
            words::prune(&transaction, up_to)?;
            transaction.execute("DELETE FROM text WHERE last <= ?", [up_to])?;
            transaction.execute("DELETE FROM hook WHERE last <= ?", [up_to])?;
            transaction.execute(
                "DELETE FROM kind WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.kind = kind.id)",
                [],
            )?;
            transaction.execute(
                "DELETE FROM source WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.source = source.id)",
                [],
            )?;
        }
        if let Some(news) = news {
            transaction.execute("DELETE FROM happened WHERE row <= ?", [news])?;
        }
        transaction.commit()?;
        store.execute_batch(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        Ok(true)
    }
}

/// The last of the oldest rows of a table that are from before a time.
fn oldest_of(store: &Connection, table: &str, before: i64) -> rusqlite::Result<Option<i64>> {
    let sql = format!(
        "SELECT max(row) FROM (SELECT row, time FROM {table} ORDER BY row LIMIT {AT_ONCE}) WHERE time < ?"
    );
    store.query_row(&sql, [before], |row| row.get(0))
}

/// The last row of the oldest tenth of a table, or of as many as are removed at once.
fn tenth_of(store: &Connection, table: &str) -> rusqlite::Result<Option<i64>> {
    let sql = format!("SELECT min(row) + min({AT_ONCE}, (max(row) - min(row)) / 10) FROM {table}");
    let upper: Option<i64> = store.query_row(&sql, [], |row| row.get(0))?;
    // Rows may be missing between.
    store.query_row(&format!("SELECT max(row) FROM {table} WHERE row <= ?"), [upper], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_its_age_goes() {
        let mut store = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut store).unwrap();
        let day = |day: i64| day * 86_400_000;
        for number in 1..=5 {
            let sql = "INSERT INTO happened (time, what, detail) VALUES (?1, 'step', ?2)";
            store.execute(sql, (day(number), number)).unwrap();
            let sql = "INSERT INTO event VALUES (?1, ?1, ?2, 1, 1, 1, NULL, NULL, NULL, 0, NULL, '', NULL)";
            store.execute(sql, (number, day(number))).unwrap();
        }
        let retention = Retention { age: Duration::from_hours(48), ..Retention::default() };
        assert!(retention.prune(&mut store, day(5)).unwrap());
        let left = |table: &str| -> Vec<i64> {
            let mut rows = store.prepare(&format!("SELECT time FROM {table} ORDER BY row")).unwrap();
            rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(left("event"), [3, 4, 5].map(day));
        assert_eq!(left("happened"), [3, 4, 5].map(day));
    }
}
