//! A daemon that is started below an agent: only the one that a call of an agent program starts by itself, in the places
//! that it has had, or that are the account's or those of an entry.
//!
//! Which hooks hold is decided by the home and the settings of the daemon. One that an agent had begin with others, at the
//! socket that its calls go to, would take its guards off.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use lineside::hosts::SERVED;
use lineside::hosts::install::Level;
use lineside_account::{Account, Named, Places};

use crate::daemon_paths::DaemonArgs;
use crate::hosts::machine;
use crate::past_places;
use crate::person::refuse_seen;
use crate::places::environment;
use crate::project::of_user;

/// Variables of an environment.
pub(super) type Variables = Vec<(&'static str, OsString)>;

/// Below whom a daemon is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// Below a person, or a supervisor.
    Person,
    /// Below an agent, by a call of its program.
    Agent,
}

impl Below {
    /// The environment that it is to begin with, where that is not the one at hand.
    pub(super) fn login(self, home: &Path) -> Option<Variables> {
        (self == Self::Agent).then(|| lineside_shim::login(&Account::own(), home))
    }
}

/// Below whom this process starts a daemon in these places.
///
/// # Errors
/// It is below an agent, and no call would start this daemon: it is given more than places, or none that are known.
pub(super) async fn judge(
    daemon: &DaemonArgs,
    is_of_a_call: bool,
    named: &Named,
    places: &Places,
) -> Result<Below> {
    let Err(refused) = refuse_seen(daemon).await else { return Ok(Below::Person) };
    // A call has the places from the account and its entry alone.
    let of_call = daemon.of_entry(named)?.filter(|of_call| of_call == places);
    match of_call.filter(|_| is_of_a_call) {
        Some(places) if is_known(&places) => Ok(Below::Agent),
        _ => Err(refused),
    }
}

/// Whether these are the places of the account's daemon, those of an entry, or those that a daemon with this state has had.
fn is_known(places: &Places) -> bool {
    let account = Account::own();
    let is_own = Places::of(&account, &Named::default()).as_ref() == Some(places);
    is_own || past_places::are_past(places) || {
        let home = account.home.map(|home| home.to_string_lossy().into_owned());
        let of_account: BTreeMap<_, _> =
            environment().into_iter().chain(home.map(|home| ("HOME".to_owned(), home))).collect();
        let user = of_user(of_account);
        SERVED.into_iter().any(|host| machine::recorded(host, Level::User, &user).as_ref() == Some(places))
    }
}
