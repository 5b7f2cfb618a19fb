//! Files and folders: the socket, the state, one daemon each (FAULTS N3, W6).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Barrier;
use std::thread;

use lineside_daemon::socket::{BindSocketError, Socket};
use lineside_daemon::{ServeError, Server};

use crate::house::{House, folder, settings};

fn mode(path: &std::path::Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn n03_the_socket_and_its_folder_are_the_users_alone() {
    let house = House::new().await;
    assert_eq!(mode(&house.folder.path().join("run")), 0o700);
    assert_eq!(mode(&house.folder.path().join("state")), 0o700);
    assert_eq!(mode(&house.socket()), 0o600);
}

#[tokio::test]
async fn n03_what_stands_in_the_way_is_refused_or_replaced() {
    let folder = folder();
    let run = folder.path().join("run");
    let socket = run.join("s.sock");
    // Others may enter the folder.
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(Socket::bind(&socket), Err(BindSocketError::OpenFolder { mode: 0o755, .. })));
    fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).unwrap();
    // A stale socket is replaced.
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let bound = Socket::bind(&socket).unwrap();
    // One that is listened on is not.
    assert!(matches!(Socket::bind(&socket), Err(BindSocketError::InUse(_))));
    drop(bound);
    assert!(!socket.exists());
    // A file and a link are refused, and stay.
    fs::write(&socket, "precious").unwrap();
    assert!(matches!(Socket::bind(&socket), Err(BindSocketError::Occupied(_))));
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
    fs::remove_file(&socket).unwrap();
    symlink(folder.path().join("elsewhere"), &socket).unwrap();
    assert!(matches!(Socket::bind(&socket), Err(BindSocketError::Occupied(_))));
    // So is a folder that is a link.
    let linked = folder.path().join("linked");
    symlink(&run, &linked).unwrap();
    assert!(matches!(Socket::bind(&linked.join("s.sock")), Err(BindSocketError::NotAFolder(_))));
}

#[tokio::test]
async fn n03_a_path_that_does_not_fit_is_refused_with_the_remedy() {
    let folder = folder();
    let long = folder.path().join("x".repeat(100)).join("s.sock");
    let error = Socket::bind(&long).unwrap_err();
    assert!(
        error.to_string().contains("at most 107 fit") && error.to_string().contains("--socket"),
        "{error}"
    );
}

#[tokio::test]
async fn w06_a_second_daemon_of_one_state_folder_is_told_who_has_it() {
    let house = House::new().await;
    let mut second = settings(&house.folder);
    second.socket = house.folder.path().join("run/other.sock");
    let error = Server::start(second).await.unwrap_err();
    let ServeError::Journal(error) = error else { panic!("{error}") };
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains(&std::process::id().to_string()), "{why}");
    assert_eq!(house.get("/v1/health").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w06_of_many_daemons_that_start_at_one_socket_one_has_it() {
    let folder = folder();
    let path = folder.path().join("run/lineside.sock");
    drop(Socket::bind(&path).unwrap());
    let runtime = tokio::runtime::Handle::current();
    for round in 0..200 {
        // What an earlier daemon has left that was killed.
        drop(UnixListener::bind(&path).unwrap());
        let start = Barrier::new(8);
        let bind = || {
            let _within = runtime.enter();
            start.wait();
            Socket::bind(&path).ok()
        };
        let bound: Vec<Socket> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(bind)).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(bound.len(), 1, "in round {round}");
        assert!(std::os::unix::net::UnixStream::connect(&path).is_ok(), "in round {round}");
    }
}
