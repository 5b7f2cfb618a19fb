//! Publishing over connections for events: a few, each with many events under way, and no request for each.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_core::json::{Map, Value, read_strict_within};
use tokio::sync::Mutex as AsyncMutex;

use crate::publish::connection::{Connection, Kind, Published};
use crate::request::RequestError;
use crate::wire::{Wire, problem, unreadable};

mod connection;

/// The path and the protocol of a connection for events.
const PATH: &str = "/v1/events/connection";
const PROTOCOL: &str = "lineside-events/1";

/// How many connections there are before events share one: the daemon decides those of different ones beside one another.
const FEW: usize = 4;
/// How many there are before those that have nothing to do are closed.
const MOST: usize = 64;

/// The connections for events of one client.
#[derive(Default)]
pub(crate) struct Publisher {
    pool: Mutex<Vec<Arc<Connection>>>,
    /// Held while a connection is made, so that those who wait for one share it.
    connecting: AsyncMutex<()>,
}

impl Publisher {
    /// Publishes an event, and gives its decision. It is sent once. Dropping the future has its hooks cancelled.
    ///
    /// # Errors
    /// There is no decision.
    pub(crate) async fn publish(
        &self,
        wire: &Wire,
        event: String,
        within_ms: Option<u128>,
    ) -> Result<Map, RequestError> {
        let published = self.begin(wire, event.as_bytes(), within_ms).await?;
        match published.await.map_err(|source| RequestError::Broken { source })? {
            (Kind::Decision, decision) => match read_strict_within(&decision, u8::MAX) {
                Ok(Value::Object(decision)) => Ok(decision),
                Ok(_) => Err(RequestError::Unreadable("a decision is an object".to_owned())),
                Err(error) => Err(unreadable(error)),
            },
            (Kind::Problem, document) => Err(problem(None, &document)),
        }
    }

    /// Sends an event over a connection that has room for it.
    async fn begin(
        &self,
        wire: &Wire,
        body: &[u8],
        within_ms: Option<u128>,
    ) -> Result<Published, RequestError> {
        if let Some(published) = self.over_one(body, within_ms) {
            return Ok(published);
        }
        let _alone = self.connecting.lock().await;
        if let Some(published) = self.over_one(body, within_ms) {
            return Ok(published);
        }
        let upgraded = wire.upgrade(PATH, PROTOCOL, &[]).await?;
        let connection = Arc::new(Connection::new(upgraded.stream, &upgraded.begun));
        let published = Connection::publish(&connection, body, within_ms);
        let mut pool = self.pool();
        if pool.len() >= MOST {
            pool.retain(|connection| connection.load() > 0);
        }
        pool.push(connection);
        // What is closed at once has taken nothing.
        published.ok_or_else(|| RequestError::Broken { source: ErrorKind::BrokenPipe.into() })
    }

    /// Sends it over one of the connections that there are: one that has nothing to do, or shared where there are a few.
    fn over_one(&self, body: &[u8], within_ms: Option<u128>) -> Option<Published> {
        let mut pool = self.pool();
        pool.retain(|connection| !connection.is_broken());
        let is_shared = pool.len() >= FEW;
        let send = |connection| Connection::publish(connection, body, within_ms);
        let idle = pool.iter().filter(|connection| connection.load() == 0).find_map(send);
        idle.or_else(|| pool.iter().filter(|_| is_shared).find_map(send))
    }

    fn pool(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
