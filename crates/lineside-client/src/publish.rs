//! Publishing over connections for events: a few, each with many events under way, and no request for each.
//!
//! A daemon of an earlier version has no such connections; it is published to over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::Method;
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

/// What a daemon answers that knows no such path, no such method there, or another version of the protocol.
const OLDER: [u16; 3] = [404, 405, 426];

/// The connections for events of one client.
#[derive(Default)]
pub(crate) struct Publisher {
    pool: Mutex<Pool>,
    /// Held while a connection is made, so that those who wait for one share it.
    connecting: AsyncMutex<()>,
}

#[derive(Default)]
struct Pool {
    connections: Vec<Arc<Connection>>,
    /// The daemon has none.
    is_older: bool,
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
        match self.begin(wire, event.as_bytes(), within_ms).await? {
            Some(published) => match published.await.map_err(|source| RequestError::Broken { source })? {
                (Kind::Decision, decision) => match read_strict_within(&decision, u8::MAX) {
                    Ok(Value::Object(decision)) => Ok(decision),
                    Ok(_) => Err(RequestError::Unreadable("a decision is an object".to_owned())),
                    Err(error) => Err(unreadable(error)),
                },
                (Kind::Problem, document) => Err(problem(None, &document)),
            },
            None => {
                let path = match within_ms {
                    Some(time) => format!("/v1/events?within_ms={time}"),
                    None => "/v1/events".to_owned(),
                };
                wire.ask(Method::POST, &path, event.into_bytes()).await
            }
        }
    }

    /// Sends an event over a connection that has room for it; nothing where the daemon has no such connections.
    async fn begin(
        &self,
        wire: &Wire,
        body: &[u8],
        within_ms: Option<u128>,
    ) -> Result<Option<Published>, RequestError> {
        if let Some(published) = self.over_one(body, within_ms) {
            return Ok(Some(published));
        }
        let _alone = self.connecting.lock().await;
        if self.pool().is_older {
            return Ok(None);
        }
        if let Some(published) = self.over_one(body, within_ms) {
            return Ok(Some(published));
        }
        let upgraded = match wire.upgrade(PATH, PROTOCOL, &[]).await {
            Ok(upgraded) => upgraded,
            Err(RequestError::Refused { status, .. }) if OLDER.contains(&status) => {
                self.pool().is_older = true;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let connection = Arc::new(Connection::new(upgraded.stream, &upgraded.begun));
        let published = Connection::publish(&connection, body, within_ms);
        let mut pool = self.pool();
        if pool.connections.len() >= MOST {
            pool.connections.retain(|connection| connection.load() > 0);
        }
        pool.connections.push(connection);
        Ok(published)
    }

    /// Sends it over one of the connections that there are: one that has nothing to do, or shared where there are a few.
    fn over_one(&self, body: &[u8], within_ms: Option<u128>) -> Option<Published> {
        let mut pool = self.pool();
        pool.connections.retain(|connection| !connection.is_broken());
        let is_shared = pool.connections.len() >= FEW;
        let send = |connection| Connection::publish(connection, body, within_ms);
        let idle = pool.connections.iter().filter(|connection| connection.load() == 0).find_map(send);
        idle.or_else(|| pool.connections.iter().filter(|_| is_shared).find_map(send))
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
