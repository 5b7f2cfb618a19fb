//! Other users, and requests that only look like those of this one.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use lineside::json::json;

use crate::ground::{AGENTS, Ground, answer};

/// A user who owns nothing.
const ANOTHER: u32 = 65_534;

/// A place that the other user may come into, where they have a folder of their own; `None` without the right to become
/// another user: there is none to attack.
fn beside_another() -> Option<Ground> {
    Command::new("true").uid(ANOTHER).status().ok()?;
    let ground = Ground::new();
    let all = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(ground.path(""), all).unwrap();
    for folder in ["theirs", "theirs/run"] {
        std::fs::create_dir(ground.path(folder)).unwrap();
        std::os::unix::fs::chown(ground.path(folder), Some(ANOTHER), Some(ANOTHER)).unwrap();
        std::fs::set_permissions(ground.path(folder), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    Some(ground)
}

#[test]
fn a_daemon_of_another_user_is_not_believed() {
    let Some(ground) = beside_another() else { return };
    let socket = ground.path("theirs/run/s");
    let (home, theirs) = (ground.path("theirs"), socket.to_str().unwrap().to_owned());
    let mut serve = ground.command(&["serve", "--socket", &theirs]);
    serve.env("HOME", &home).uid(ANOTHER).gid(ANOTHER).current_dir("/");
    let mut child = serve.spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(&ready, b"ready:");
    let _daemon = crate::ground::Daemon(child);
    let mut hook = Command::new(env!("CARGO_BIN_EXE_lineside"));
    hook.args(["hook", "claude", "--socket", &theirs]).arg("--home").arg(ground.path("home")).env_clear();
    hook.stdin(Stdio::piped()).stdout(Stdio::piped());
    hook.stderr(Stdio::piped()).current_dir("/");
    let told = ground.call(AGENTS[0], hook, "ls");
    assert!(!told.lets_pass(), "{told:?}");
}

#[test]
fn another_user_does_not_reach_the_daemon() {
    let Some(ground) = beside_another() else { return };
    let _daemon = ground.daemon(&[]);
    let shut = |folder: &str, mode| {
        std::fs::set_permissions(ground.path(folder), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let socket = ground.socket();
    let stop = || {
        let mut stop = ground.command(&["stop", "--socket", socket.to_str().unwrap()]);
        drop(answer(stop.uid(ANOTHER).gid(ANOTHER).current_dir("/").spawn().unwrap()));
        let status = answer(ground.command(&["status", "--json"]).spawn().unwrap());
        assert_eq!(status.code, Some(0), "{status:?}");
    };
    stop();
    // Even with folder and socket wide open; the daemon's own user shuts them before they ask.
    let mut stream = {
        shut("run", 0o777);
        shut("run/s", 0o777);
        let mut other = Command::new("python3");
        other.args(["-c", ASKS]).arg(&socket).uid(ANOTHER).gid(ANOTHER).current_dir("/");
        other.stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut told = String::new();
    stream.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    stream.wait().unwrap();
    assert_eq!(told, "connected\n", "no byte of an answer");
    shut("run", 0o700);
    stop();
}

/// Connects, asks for an end of the daemon, and prints what comes back.
const ASKS: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected')
try:
    s.sendall(b'POST /v1/stop HTTP/1.1\\r\\nhost: l\\r\\ncontent-type: application/json\\r\\ncontent-length: 2\\r\\n\\r\\n{}')
    print(s.recv(4096).decode(), end='')
except OSError:
    pass
";

#[test]
fn an_address_of_the_dashboard_is_worth_nothing_to_another_user() {
    let Some(ground) = beside_another() else { return };
    let _daemon = ground.daemon(&[]);
    let printed = answer(ground.command(&["dashboard", "--print"]).spawn().unwrap());
    let url = printed.out.trim().to_owned();
    assert!(url.contains("/dashboard/open?token="), "{printed:?}");
    let opens = |user: Option<u32>, url: &str, cookie: &str| {
        let mut opens = Command::new("python3");
        opens.args(["-c", OPENS, url, cookie]).current_dir("/").stdout(Stdio::piped());
        if let Some(user) = user {
            opens.uid(user).gid(user);
        }
        let out = answer(opens.spawn().unwrap()).out;
        let (status, cookie) = out.trim().split_once(' ').unwrap();
        (status.to_owned(), cookie.to_owned())
    };
    assert_eq!(opens(Some(ANOTHER), &url, "").0, "403");
    let (status, cookie) = opens(None, &url, "");
    assert_eq!(status, "303", "it is worth something still");
    // A browser sends the cookie to servers of the other user as well.
    let (base, _) = url.split_once("/open").unwrap();
    let pages = ["", "/decisions", "/approvals", "/lineage", "/events", "/assets/app.js"];
    for page in pages.map(|page| format!("{base}{page}")) {
        assert_eq!(opens(None, &page, &cookie).0, "200", "{page}");
        assert_eq!(opens(Some(ANOTHER), &page, &cookie).0, "403", "{page}");
    }
}

/// Opens an address with a cookie, and prints the status and the cookie that comes back.
const OPENS: &str = "
import http.client, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
c = http.client.HTTPConnection(url.netloc)
c.request('GET', f'{url.path}?{url.query}', headers={'cookie': sys.argv[2]})
r = c.getresponse(); print(r.status, (r.getheader('set-cookie') or '-').split(';')[0])
";

#[test]
fn what_a_web_page_can_send_changes_nothing() {
    let ground = Ground::new();
    let _daemon = ground.daemon(&[]);
    for path in ["/v1/stop", "/v1/reload", "/v1/sessions", "/v1/events", "/v1/hosts/claude"] {
        for headers in ["origin: http://localhost\r\n", "origin: null\r\n"] {
            let text = ground.asked(path, headers, &json!({}));
            assert_eq!(text.split(' ').nth(1), Some("403"), "{path} {headers}");
        }
    }
    let status = answer(ground.command(&["status", "--json"]).spawn().unwrap());
    assert_eq!(status.code, Some(0), "{status:?}");
}
