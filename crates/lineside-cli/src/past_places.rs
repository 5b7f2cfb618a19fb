//! In which places daemons have run: written into the state folder of each and beside its socket, so that a command which
//! knows one of the two finds the other.
//!
//! What stands below an agent may name another state folder for the socket of its daemon; the records of that daemon's agents
//! are in the one that is written down here.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use lineside::json::{Value, from_str, json};
use lineside_account::Places;
use rustix::fs::OFlags;
use rustix::process::geteuid;

/// The file in the state folder; beside the socket it has the name of that in front.
const FILE: &str = "places.json";
/// No longer file is read.
const LONGEST: u64 = 64 << 10;

/// Writes down in which places a daemon runs. Where that cannot be written, a call below an agent starts it in the account's
/// own and in those of entries alone.
pub(crate) fn remember(places: &Places) {
    let Some(text) = text(places) else { return };
    for file in [Some(places.state.join(FILE)), beside(&places.socket)].into_iter().flatten() {
        if read(&file).as_ref() == Some(&text) {
            continue;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let opened = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&file);
        drop(opened.and_then(|mut opened| opened.write_all(text.as_bytes())));
    }
}

/// Whether a daemon with this state has run in these places last.
pub(crate) fn are_past(places: &Places) -> bool {
    read(&places.state.join(FILE)).is_some_and(|known| Some(known) == text(places))
}

/// The places of the daemon that was last at a socket, if they are known.
pub(crate) fn at(socket: &Path) -> Option<Places> {
    let known: Value = from_str(&read(&beside(socket)?)?).ok()?;
    let place =
        |name| Some(Path::new(known.get(name)?.as_str()?).to_path_buf()).filter(|path| path.is_absolute());
    let (home, config, state) = (place("home")?, place("config")?, place("state")?);
    Some(Places { home, config, state, socket: socket.to_path_buf() })
}

/// The places of the daemons of this account that listen now, as far as the system shows sockets.
pub(crate) fn listening() -> Vec<Places> {
    // One name that is no text hides no other.
    let shown = fs::read("/proc/net/unix").unwrap_or_default();
    let shown = String::from_utf8_lossy(&shown);
    let sockets: BTreeSet<&str> = shown.lines().filter_map(|line| line.get(line.find(" /")? + 1..)).collect();
    sockets.into_iter().filter_map(|socket| at(Path::new(socket))).collect()
}

fn beside(socket: &Path) -> Option<PathBuf> {
    let mut name = socket.file_name()?.to_owned();
    name.push(".");
    name.push(FILE);
    Some(socket.with_file_name(name))
}

/// What this user has written there: the folder of a socket may be one of all users.
fn read(file: &Path) -> Option<String> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    let found = opened.metadata().ok().filter(|found| found.is_file() && found.uid() == geteuid().as_raw());
    let mut text = String::new();
    opened.take(found.map(|_| LONGEST)?).read_to_string(&mut text).ok()?;
    Some(text)
}

fn text(Places { home, config, state, socket }: &Places) -> Option<String> {
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let [home, config, state, socket] = [text(home)?, text(config)?, text(state)?, text(socket)?];
    Some(format!("{}\n", json!({"home": home, "config": config, "state": state, "socket": socket})))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_places_of_a_daemon_are_found_by_its_socket_and_nothing_else_is_read_there() {
        let folder = tempfile::tempdir().unwrap();
        let [home, config, state] = ["home", "config", "state"].map(|name| folder.path().join(name));
        let [one, other] = ["one.sock", "other.sock"].map(|name| folder.path().join(name));
        let places = Places { home, config, state, socket: one.clone() };
        fs::create_dir(&places.state).unwrap();
        assert!(!are_past(&places) && at(&one).is_none());
        remember(&places);
        assert!(are_past(&places));
        assert_eq!((at(&one).as_ref(), at(&other)), (Some(&places), None));
        assert!(!listening().contains(&places));
        let listens = UnixListener::bind(&one).unwrap();
        assert_eq!(listening().contains(&places), cfg!(target_os = "linux"));
        drop(listens);
        assert!(!are_past(&Places { socket: other.clone(), ..places }));
        std::os::unix::fs::symlink(beside(&one).unwrap(), beside(&other).unwrap()).unwrap();
        assert_eq!(at(&other), None, "a link");
        fs::write(beside(&one).unwrap(), r#"{"home": "/h", "config": "/c", "state": "relative"}"#).unwrap();
        assert_eq!(at(&one), None);
    }
}
