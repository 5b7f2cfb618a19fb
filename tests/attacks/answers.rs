//! What answers in the place of the daemon: every cut and change of an answer, and listeners that are none.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use crate::ground::{AGENTS, Answer, Ground};

/// An answer that lets a call pass, as this version of the daemon gives it.
fn passes() -> String {
    "HTTP/1.1 200 OK\r\nlineside-protocol: 1\r\nlineside-exit: 0\r\nlineside-stdout-bytes: 0\r\ncontent-length: 0\r\n\r\n"
        .to_owned()
}

/// What a call comes to when something answers so.
fn answered(ground: &Ground, listener: &UnixListener, bytes: &[u8]) -> Answer {
    let agent = AGENTS[0];
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            take(&mut stream);
            // A call that has seen enough goes away.
            stream.write_all(bytes).ok();
        });
        ground.call(agent, ground.hook(agent), "rm x")
    })
}

/// Reads a request to its end.
fn take(stream: &mut UnixStream) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap();
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if count == 0 || body.len() >= length.parse().unwrap() {
            return;
        }
    }
}

#[test]
fn no_answer_that_was_cut_or_changed_opens_a_gate() {
    let ground = Ground::new();
    let listener = UnixListener::bind(ground.socket()).unwrap();
    let whole = passes();
    assert!(answered(&ground, &listener, whole.as_bytes()).lets_pass(), "the answer itself is one");
    let mut opened = Vec::new();
    let mut tries: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole.as_bytes()[..end].to_vec()).collect();
    // Without a line, and with a line twice.
    let lines: Vec<&str> = whole.split_inclusive("\r\n").collect();
    for at in 0..lines.len() - 1 {
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| *line).collect();
        tries.push(without.concat().into_bytes());
        if at > 0 {
            let twice: Vec<&str> = lines[..=at].iter().chain(&lines[at..]).copied().collect();
            tries.push(twice.concat().into_bytes());
        }
    }
    // A byte is another one; what only spells a name or a phrase differently is the same answer.
    for at in 0..whole.len() {
        for byte in [b'x', b'7', 0, b' '] {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = byte;
            let is_phrase = (13..15).contains(&at);
            let same = bytes.trim_ascii() == whole.as_bytes().trim_ascii();
            if !is_phrase && !same && !is_blank_in_a_header(&whole, at, byte) {
                tries.push(bytes);
            }
        }
    }
    for bytes in &tries {
        if answered(&ground, &listener, bytes).lets_pass() {
            opened.push(String::from_utf8_lossy(bytes).into_owned());
        }
    }
    assert!(opened.is_empty(), "{} of {}: {opened:#?}", opened.len(), tries.len());
}

/// Whether a change leaves the blank between a header's name and its value another blank.
fn is_blank_in_a_header(whole: &str, at: usize, byte: u8) -> bool {
    whole.as_bytes()[at] == b' ' && byte == b' '
}

#[test]
fn a_listener_of_another_user_or_in_an_open_folder_is_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = Ground::new();
    let listener = UnixListener::bind(ground.socket()).unwrap();
    listener.set_nonblocking(true).unwrap();
    for mode in [0o750, 0o705, 0o777, 0o701] {
        std::fs::set_permissions(ground.path("run"), std::fs::Permissions::from_mode(mode)).unwrap();
        let answer = ground.call(AGENTS[0], ground.hook(AGENTS[0]), "ls");
        assert!(!answer.lets_pass(), "{mode:o} {answer:?}");
        assert!(
            listener.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
            "{mode:o}: nothing was sent"
        );
    }
}
