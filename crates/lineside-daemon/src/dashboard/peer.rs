//! Who is at the other end of a loopback connection, as the system shows it: whose its socket is, and which processes have it
//! open.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;

/// What is at the far end of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The system does not show connections.
    Unknown,
    /// A process of another user, or nothing any more.
    Stranger,
    /// These processes of the user.
    Processes(Vec<u32>),
    /// One of the user that hides what it has open: one of these, or one that is not shown either, as in a container.
    Hidden(Vec<u32>),
}

/// Who has the far end of a connection.
///
/// It reads what the system has of every process of the user, which takes some milliseconds.
pub(crate) fn of(near: SocketAddr, far: SocketAddr) -> Peer {
    let own = user(std::process::id());
    let socket = match own_socket(near, far, own) {
        Some(Some(socket)) => socket,
        Some(None) => return Peer::Stranger,
        None => return Peer::Unknown,
    };
    let wanted = format!("socket:[{}]", socket.number);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let (mut holders, mut hidden) = (Vec::new(), Vec::new());
    for process in processes {
        match fs::read_dir(format!("/proc/{process}/fd")) {
            Ok(open) => {
                let mut open = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
                if open.any(|link| link.as_os_str().as_bytes() == wanted.as_bytes()) {
                    holders.push(process);
                }
            }
            Err(_) if user(process) == own => hidden.push(process),
            Err(_) => {}
        }
    }
    if holders.is_empty() { Peer::Hidden(hidden) } else { Peer::Processes(holders) }
}

/// Whether the far end of a connection is known to be another user's, or nothing any more.
///
/// Root, which may read all that is shown, is none: it carries forwarded ports.
pub(crate) fn is_stranger(near: SocketAddr, far: SocketAddr) -> bool {
    let known = |own| own_socket(near, far, own).is_some_and(|socket| socket.is_none());
    far.is_ipv4() && known(user(std::process::id())) && known(Some(0))
}

/// The socket at the far end where it is this user's; nothing where the system does not show connections.
fn own_socket(near: SocketAddr, far: SocketAddr, own: Option<u32>) -> Option<Option<Socket>> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    Some(socket(&table, near, far).filter(|socket| Some(socket.user) == own))
}

/// The user whose rights a process has.
fn user(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The far end of a connection.
struct Socket {
    number: u64,
    user: u32,
}

fn socket(table: &str, near: SocketAddr, far: SocketAddr) -> Option<Socket> {
    let (near, far) = (written(near)?, written(far)?);
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = *fields.get(1)? == far && *fields.get(2)? == near;
        let found =
            || Some(Socket { number: fields.get(9)?.parse().ok()?, user: fields.get(7)?.parse().ok()? });
        is_it.then(found).flatten().filter(|socket| socket.number != 0)
    })
}

/// An address as the table has it: the number in the order of the machine, and the port.
fn written(address: SocketAddr) -> Option<String> {
    match address.ip() {
        IpAddr::V4(ip) => Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port())),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_process_at_the_other_end_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (near, far) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
        assert_eq!(of(near, far), Peer::Processes(vec![std::process::id()]));
        assert_eq!(of(near, near), Peer::Stranger);
        assert!(is_stranger(near, near) && !is_stranger(near, far));
    }
}
