//! From the settings to a member.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use lineside::dialects::native::{ClusterSettings, RemoteGrants};
use lineside_nats::cluster::Questions;
use lineside_nats::{Clock, Cluster, Credentials, JoinClusterError, JoinSettings, Sync, Token};
use sha2::Digest as _;

use super::answering::take_call;
use super::joined::Joined;
use super::keys::ClusterKeys;
use super::windows::ClusterWindows;
use super::{Here, Membership};
use crate::random;

/// Why a daemon has not joined.
#[derive(Debug, thiserror::Error)]
enum NotJoinedError {
    #[error("{key}: {error}")]
    Name { key: &'static str, error: lineside_nats::settings::ParseTokenError },
    #[error("no server is named: `cluster.nats`, or --nats")]
    NoServer,
    #[error("the credentials in {} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} holds no credentials: what `nsc` writes, a seed, or USER:PASSWORD is", path.display())]
    NoCredentials { path: PathBuf },
    #[error(transparent)]
    Client(#[from] JoinClusterError),
}

/// Has the daemon join the cluster of its settings: what is wrong with these.
pub(crate) async fn begin<H: Here + 'static>(
    here: &Arc<H>,
    membership: impl Fn(&H) -> &Membership,
    settings: Option<&ClusterSettings>,
    state: &Path,
) -> Option<String> {
    match join(settings?, state).await {
        Ok((joined, questions)) => {
            membership(here).put(Arc::clone(&joined));
            let (weak, daemon) = (Arc::downgrade(&joined), Arc::downgrade(here));
            joined.cluster().answer_at_once(move |question| take_call(&weak, &daemon, question));
            let (cluster, draining) = (joined.cluster().clone(), joined.draining.clone());
            let ending = here.ending().clone();
            let parts = Arc::clone(&joined.windows);
            let windows =
                ClusterWindows { cluster: cluster.clone(), draining: draining.clone(), parts, ending };
            here.automations().share_windows(Arc::new(windows));
            here.automations().share_keys(Arc::new(ClusterKeys { cluster, draining }));
            let held: Arc<dyn Here> = Arc::<H>::clone(here);
            let (names, takes) = (Arc::clone(&joined), Arc::clone(&joined));
            let (naming, taking) = (Arc::clone(&held), Arc::clone(&held));
            here.tracker().spawn(async move { joined.run(&held, questions).await });
            here.tracker().spawn(async move { names.name_jobs(&*naming).await });
            here.tracker().spawn(async move { takes.take_jobs(&taking).await });
            None
        }
        Err(error) => {
            let why = format!("no cluster is joined: {error}");
            membership(here).fail(why.clone());
            Some(why)
        }
    }
}

/// Begins to join.
///
/// # Errors
/// The settings are wrong; a server that is away is none.
async fn join(settings: &ClusterSettings, state: &Path) -> Result<(Arc<Joined>, Questions), NotJoinedError> {
    let ClusterSettings { servers, credentials, roots, name, machine, grants, require_fsync } = settings;
    if servers.is_empty() {
        return Err(NotJoinedError::NoServer);
    }
    let token = |key, text: &str| Token::new(text).map_err(|error| NotJoinedError::Name { key, error });
    let cluster = token("cluster.name", name.as_deref().unwrap_or("default"))?;
    let machine = match machine {
        Some(machine) => token("cluster.machine", machine)?,
        None => token("cluster.machine", &own_name(state))?,
    };
    let life = random::hex(random::bytes::<8>().unwrap_or_default());
    let settings = JoinSettings {
        servers: servers.clone(),
        credentials: credentials.as_deref().map(read).transpose()?,
        roots: roots.clone(),
        cluster,
        machine,
        life: token("life", &life)?,
        sync: if *require_fsync { Sync::Always } else { Sync::AsSet },
        clock: Clock::default(),
    };
    let (cluster, questions) = Cluster::join(settings).await?;
    Ok((Arc::new(Joined::new(cluster, *grants == RemoteGrants::Proved)), questions))
}

fn read(path: &Path) -> Result<Credentials, NotJoinedError> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|source| NotJoinedError::Unreadable { path: path.to_owned(), source })?;
    Credentials::read(&text).ok_or_else(|| NotJoinedError::NoCredentials { path: path.to_owned() })
}

/// The name of the host, and what tells daemons of one host apart.
fn own_name(state: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().take(40).collect();
    let host = Token::like(&host).map_or_else(|| "machine".to_owned(), |host| host.to_string());
    let state = sha2::Sha256::digest(state.as_os_str().as_encoded_bytes());
    format!("{host}-{}", random::hex(state.iter().copied().take(4)))
}
