//! The client of NATS as a member has it: it connects by itself, again and again, and tells of that.

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};
use tokio::sync::watch;

use crate::settings::{JoinClusterError, JoinSettings, Kind};

/// How often the server is asked whether it is there; two answers that do not come are the end of a connection.
const PING: Duration = Duration::from_secs(3);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How many messages of a subscription wait.
const WAITING: usize = 16_384;

/// What the client has told of its connection.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// How often the connection came or went.
    changes: u64,
    /// What went wrong last, one line.
    pub(crate) wrong: String,
}

/// The client, which connects by itself.
pub(crate) async fn client(
    settings: &JoinSettings,
    told: watch::Sender<Told>,
) -> Result<Client, JoinClusterError> {
    let has_tls = settings.servers.contains("tls://");
    let mut options = ConnectOptions::new()
        .name(format!("lineside {}", settings.machine))
        .retry_on_initial_connect()
        .max_reconnects(None)
        .ping_interval(PING)
        .connection_timeout(CONNECT)
        .subscription_capacity(WAITING)
        .reconnect_delay_callback(|attempt| {
            let pause = Duration::from_millis(50).saturating_mul(1 << attempt.min(6));
            if attempt <= 1 { Duration::ZERO } else { pause.min(LONGEST_PAUSE) }
        })
        .event_callback(move |event| {
            match event {
                Event::Connected | Event::Disconnected | Event::Closed => {
                    told.send_modify(|told| told.changes += 1);
                }
                Event::ServerError(error) => told.send_modify(|told| told.wrong = error.to_string()),
                Event::ClientError(error) => {
                    told.send_modify(|told| told.wrong = wrong(&error.to_string(), has_tls));
                }
                _ => {}
            }
            async {}
        });
    options = match settings.credentials.as_ref().map(|credentials| &credentials.0) {
        None => options,
        Some(Kind::Jwt(text)) => options.credentials(text).map_err(JoinClusterError::Credentials)?,
        Some(Kind::Seed(seed)) => options.nkey(seed.clone()),
        Some(Kind::User(user, password)) => options.user_and_password(user.clone(), password.clone()),
    };
    if let Some(roots) = &settings.roots {
        options = options.add_root_certificates(roots.clone());
    }
    let servers: Result<Vec<async_nats::ServerAddr>, _> =
        settings.servers.split(',').map(|server| server.trim().parse()).collect();
    let Ok(servers) = servers else {
        return Err(JoinClusterError::Servers { servers: without_secrets(&settings.servers) });
    };
    if servers.iter().any(async_nats::ServerAddr::has_user_pass) {
        return Err(JoinClusterError::UserInAddress);
    }
    options.connect(servers).await.map_err(JoinClusterError::Client)
}

/// What the client says of a connection that has not come, which is no more than of which kind its error is.
fn wrong(says: &str, has_tls: bool) -> String {
    match (says.ends_with("IO error"), has_tls) {
        (true, true) => {
            "no server answers, or its certificate comes from no root that is known here".to_owned()
        }
        (true, false) => "no server answers".to_owned(),
        (false, _) => says.to_owned(),
    }
}

/// Addresses without users and passwords.
fn without_secrets(servers: &str) -> String {
    let plain = servers.split(',').map(|server| match server.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
        }
        None => server.to_owned(),
    });
    plain.collect::<Vec<_>>().join(",")
}
