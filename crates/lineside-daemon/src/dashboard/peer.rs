//! Which processes are at the other end of a loopback connection, as the system shows it: those that have its socket open.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;

/// The processes that have the far end of a connection; empty where the system does not show it.
///
/// It reads what the system has of every process of the user, which takes some milliseconds.
pub(crate) fn of(near: SocketAddr, far: SocketAddr) -> Vec<u32> {
    let Some(socket) = socket(near, far) else { return Vec::new() };
    let wanted = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_it = |process: &u32| {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        open.any(|link| link.as_os_str().as_bytes() == wanted.as_bytes())
    };
    processes.filter(has_it).collect()
}

/// The number of the socket at the far end.
fn socket(near: SocketAddr, far: SocketAddr) -> Option<u64> {
    let (near, far) = (written(near)?, written(far)?);
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = *fields.get(1)? == far && *fields.get(2)? == near;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten().filter(|socket| *socket != 0)
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
        assert_eq!(of(near, far), [std::process::id()]);
        assert_eq!(of(near, near), Vec::<u32>::new());
    }
}
